//! What a legacy session hears, and how it says what it wants to hear.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http::HeaderMap;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Basis, Error, EventDraft, Kind, Principal, Result};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::dispatch::Exchange;
use crate::endpoint::SessionPlace;
use crate::headers::{self, PROTOCOL_VERSION, SESSION_ID};
use crate::sessions::{SessionFault, Sessions};
use crate::streams::Ticket;
use crate::watcher::{Command, Notice, Watcher};
use crate::{Endpoint, Era, Fault, MessageStream, Method, limits, params};

/// The session that a request names, checked: its id, its revision. `None` when it names none.
pub(crate) async fn named(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<Option<(String, String)>, Fault> {
    let Some(id) = headers::single(headers, &SESSION_ID)? else { return Ok(None) };
    let Some(sessions) = &endpoint.hub.sessions else { return Err(Fault::session_unknown()) };
    match sessions.check(caller, &id).await {
        Ok(revision) => Ok(Some((id.into_owned(), revision))),
        Err(SessionFault::Unknown) => Err(Fault::session_unknown()),
        Err(SessionFault::Failed(error)) => Err(Fault::of(error, Era::Legacy)),
    }
}

/// Whether there are sessions here for a request with these headers: the modern era has none.
pub fn are_served(endpoint: &Endpoint, headers: &HeaderMap) -> bool {
    endpoint.hub.sessions.is_some() && !headers.get(&PROTOCOL_VERSION).is_some_and(headers::names_modern)
}

/// Ends the session that a request names.
pub async fn end(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap) -> Result<(), Fault> {
    match try_end(endpoint, caller, headers).await {
        Err(fault) => Err(endpoint.refuse(caller, "session/end", fault).await),
        ended => ended,
    }
}

async fn try_end(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap) -> Result<(), Fault> {
    let (id, _) = named(endpoint, caller, headers).await?.ok_or_else(Fault::session_missing)?;
    if let Some(sessions) = &endpoint.hub.sessions {
        sessions.end(caller, &id).await.map_err(|error| Fault::of(error, Era::Legacy))?;
    }
    endpoint.hub.end_session(&id);
    Ok(())
}

/// Opens the stream of the session that a request names.
pub async fn open(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<MessageStream, Fault> {
    let opened = async {
        let (id, _) = named(endpoint, caller, headers).await?.ok_or_else(Fault::session_missing)?;
        begin(endpoint, caller, id).await.map_err(|error| Fault::of(error, Era::Legacy))
    };
    match opened.await {
        Err(fault) => Err(endpoint.refuse(caller, "stream", fault).await),
        stream => stream,
    }
}

async fn begin(endpoint: &Endpoint, caller: &Principal, id: String) -> Result<MessageStream> {
    let Some(sessions) = endpoint.hub.sessions.clone() else {
        return Err(Error::internal("no sessions are kept"));
    };
    let ticket = endpoint.hub.streams.open(caller)?;
    let (sender, commands) = mpsc::channel(limits::WATCH_COMMANDS);
    let mut watcher = Watcher::open(endpoint, caller).await?;
    watcher.obey(commands);
    watcher.watch_list();
    let place = endpoint.hub.enter_session(&id, sender);
    for uri in sessions.subscriptions(caller, &id).await? {
        if let Ok(basis) = endpoint.resolver().basis_of(caller, endpoint.view, &uri).await {
            watcher.watch(uri, basis);
        }
    }
    let receipt = endpoint.resolver().note(caller, EventDraft::call(caller, "stream")).await?;
    watcher.vouch(receipt.version);
    let next_look = next_look();
    let stream = SessionStream {
        sessions,
        caller: caller.clone(),
        id,
        watcher,
        next_look,
        _place: place,
        _ticket: ticket,
    };
    Ok(Box::pin(stream::unfold(stream, SessionStream::next)))
}

struct SessionStream {
    sessions: Arc<dyn Sessions>,
    caller: Principal,
    id: String,
    watcher: Watcher,
    next_look: Instant,
    _place: SessionPlace,
    _ticket: Ticket,
}

impl SessionStream {
    async fn next(mut self) -> Option<(Vec<u8>, SessionStream)> {
        loop {
            tokio::select! {
                notice = self.watcher.next() => {
                    let message = notification(&notice?);
                    return Some((message, self));
                }
                () = sleep_until(self.next_look) => self.look().await?,
            }
        }
    }

    /// Looks at the session, which another node may have changed. `None` when it has ended.
    async fn look(&mut self) -> Option<()> {
        let before = self.watcher.commands_done();
        let checked = self.sessions.check(&self.caller, &self.id).await;
        if matches!(checked, Err(SessionFault::Unknown)) {
            return None;
        }
        match self.sessions.subscriptions(&self.caller, &self.id).await {
            // A command that came meanwhile is newer than what was read.
            Ok(wanted) if self.watcher.commands_done() == before => self.watcher.reconcile(wanted).await,
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(cause = error.causes(), "a session's subscriptions could not be read")
            }
        }
        self.next_look = next_look();
        Some(())
    }
}

fn next_look() -> Instant {
    Instant::now() + Duration::from_millis(limits::SESSION_LOOK_MS)
}

/// A notice as legacy clients know it.
pub(crate) fn notification(notice: &Notice) -> Vec<u8> {
    match notice {
        Notice::Updated(uri) => {
            let uri = Value::from(uri.as_str());
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            )
            .into_bytes()
        }
        Notice::ListChanged => {
            br#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#.to_vec()
        }
    }
}

/// Answers `resources/subscribe` and `resources/unsubscribe` of a session.
pub(crate) async fn alter(
    exchange: &Exchange<'_>,
    method: Method,
    session: Option<&str>,
) -> Result<Vec<u8>, Fault> {
    let hub = &exchange.endpoint.hub;
    let (Some(sessions), Some(id)) = (&hub.sessions, session) else { return Err(Fault::session_missing()) };
    let altered = async {
        if method == Method::Unsubscribe {
            let uri = params::text(exchange.params.uri, "uri")?.into_owned();
            sessions.unsubscribe(exchange.caller, id, &uri).await?;
            note(exchange, method, &uri).await?;
            hub.tell_session(id, Command::Unwatch(uri));
            return Ok(());
        }
        if sessions.subscriptions(exchange.caller, id).await?.len() >= SUBSCRIPTION_URIS {
            return Err(too_many());
        }
        let (uri, basis) = authorize(exchange).await?;
        sessions.subscribe(exchange.caller, id, &uri).await?;
        note(exchange, method, &uri).await?;
        hub.tell_session(id, Command::Watch(uri, basis));
        Ok(())
    };
    altered.await.map_err(|error| exchange.fault(error))?;
    Ok(exchange.nothing())
}

/// The address that a subscription names, if the caller may read it, and what it rests on.
pub(crate) async fn authorize(exchange: &Exchange<'_>) -> Result<(String, Arc<Basis>)> {
    let uri = params::text(exchange.params.uri, "uri")?.into_owned();
    let endpoint = exchange.endpoint;
    match endpoint.resolver().basis_of(exchange.caller, endpoint.view, &uri).await {
        Ok(basis) => Ok((uri, basis)),
        Err(error) => {
            // The same envelope and the same trace as a read of it would leave.
            let error = if error.uri().is_some() { error } else { error.at(&uri) };
            let event = subscription_event(exchange, Method::Subscribe, &uri);
            Err(endpoint.resolver().refuse(exchange.caller, event, error).await)
        }
    }
}

/// Writes a subscription down.
pub(crate) async fn note(exchange: &Exchange<'_>, method: Method, uri: &str) -> Result<()> {
    let event = subscription_event(exchange, method, uri);
    exchange.endpoint.resolver().note(exchange.caller, event).await.map(|_| ())
}

fn subscription_event(exchange: &Exchange<'_>, method: Method, uri: &str) -> EventDraft {
    let shown: String = uri.chars().take(512).collect();
    EventDraft::call(exchange.caller, method.as_str()).input("uri", shown)
}

/// One subscription too many.
pub(crate) fn too_many() -> Error {
    Error::new(Kind::Limit, "TOO_MANY_SUBSCRIPTIONS", "This connection subscribes to too many addresses")
        .hint("Unsubscribe from some first")
        .fact("limit", SUBSCRIPTION_URIS)
}
