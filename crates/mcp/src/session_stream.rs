//! What a legacy session hears, and how it says what it wants to hear.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http::HeaderMap;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, EventDraft, Kind, Principal, ReadSet, Result};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::dispatch::RequestContext;
use crate::endpoint::SessionStreamGuard;
use crate::headers::{self, PROTOCOL_VERSION, SESSION_ID};
use crate::session_store::{SessionStore, SessionStoreError};
use crate::stream_limit::StreamPermit;
use crate::subscription::{ChangeNotification, SubscriptionCommand, SubscriptionStream};
use crate::{Endpoint, Era, MessageStream, Method, RpcError, limits, params};

/// The session that a request names, checked: its id, its revision. `None` when it names none.
pub(crate) async fn session_from_headers(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<Option<(String, String)>, RpcError> {
    let Some(id) = headers::single_value(headers, &SESSION_ID)? else { return Ok(None) };
    let Some(sessions) = &endpoint.server.sessions else { return Err(RpcError::session_unknown()) };
    match sessions.check(caller, &id).await {
        Ok(revision) => Ok(Some((id.into_owned(), revision))),
        Err(SessionStoreError::Unknown) => Err(RpcError::session_unknown()),
        Err(SessionStoreError::Failed(error)) => Err(RpcError::from_error(error, Era::Legacy)),
    }
}

/// Whether there are sessions here for a request with these headers: the modern era has none.
pub fn sessions_supported(endpoint: &Endpoint, headers: &HeaderMap) -> bool {
    endpoint.server.sessions.is_some()
        && !headers.get(&PROTOCOL_VERSION).is_some_and(headers::is_modern_version)
}

/// Ends the session that a request names.
pub async fn end(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap) -> Result<(), RpcError> {
    match try_end(endpoint, caller, headers).await {
        Err(rpc_error) => Err(endpoint.audit_error(caller, "session/end", rpc_error).await),
        result => result,
    }
}

async fn try_end(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap) -> Result<(), RpcError> {
    let (id, _) =
        session_from_headers(endpoint, caller, headers).await?.ok_or_else(RpcError::session_missing)?;
    if let Some(sessions) = &endpoint.server.sessions {
        sessions.end(caller, &id).await.map_err(|error| RpcError::from_error(error, Era::Legacy))?;
    }
    endpoint.server.end_session_stream(&id);
    Ok(())
}

/// Opens the stream of the session that a request names.
pub async fn open(
    endpoint: &Endpoint,
    caller: &Principal,
    headers: &HeaderMap,
) -> Result<MessageStream, RpcError> {
    let start_stream = async {
        let (id, _) =
            session_from_headers(endpoint, caller, headers).await?.ok_or_else(RpcError::session_missing)?;
        start(endpoint, caller, id).await.map_err(|error| RpcError::from_error(error, Era::Legacy))
    };
    match start_stream.await {
        Err(rpc_error) => Err(endpoint.audit_error(caller, "stream", rpc_error).await),
        stream => stream,
    }
}

async fn start(endpoint: &Endpoint, caller: &Principal, id: String) -> Result<MessageStream> {
    let Some(sessions) = endpoint.server.sessions.clone() else {
        return Err(Error::internal("no sessions are kept"));
    };
    let permit = endpoint.server.streams.acquire(caller)?;
    let (sender, commands) = mpsc::channel(limits::SUBSCRIPTION_COMMANDS_MAX);
    let mut subscriptions = SubscriptionStream::open(endpoint, caller).await?;
    subscriptions.set_commands(commands);
    subscriptions.subscribe_list();
    let guard = endpoint.server.register_session_stream(&id, sender);
    for uri in sessions.subscriptions(caller, &id).await? {
        if let Ok(read_set) = endpoint.resolver().read_set_of(caller, endpoint.view, &uri).await {
            subscriptions.subscribe(uri, read_set);
        }
    }
    let receipt = endpoint.resolver().record_success(caller, EventDraft::call(caller, "stream")).await?;
    subscriptions.mark_verified_at(receipt.version);
    let next_poll = next_poll_time();
    let stream = SessionStream {
        sessions,
        caller: caller.clone(),
        id,
        subscriptions,
        next_poll,
        _guard: guard,
        _permit: permit,
    };
    Ok(Box::pin(stream::unfold(stream, SessionStream::next)))
}

struct SessionStream {
    sessions: Arc<dyn SessionStore>,
    caller: Principal,
    id: String,
    subscriptions: SubscriptionStream,
    next_poll: Instant,
    _guard: SessionStreamGuard,
    _permit: StreamPermit,
}

impl SessionStream {
    async fn next(mut self) -> Option<(Vec<u8>, SessionStream)> {
        loop {
            tokio::select! {
                notification = self.subscriptions.next() => {
                    let message = notification_json(&notification?);
                    return Some((message, self));
                }
                () = sleep_until(self.next_poll) => self.poll_session().await?,
            }
        }
    }

    /// Looks at the session, which another node may have changed. `None` when it has ended.
    async fn poll_session(&mut self) -> Option<()> {
        let commands_before = self.subscriptions.commands_applied();
        let session = self.sessions.check(&self.caller, &self.id).await;
        if matches!(session, Err(SessionStoreError::Unknown)) {
            return None;
        }
        match self.sessions.subscriptions(&self.caller, &self.id).await {
            // A command that came meanwhile is newer than what was read.
            Ok(uris) if self.subscriptions.commands_applied() == commands_before => {
                self.subscriptions.reconcile(uris).await
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(cause = error.cause_chain(), "a session's subscriptions could not be read")
            }
        }
        self.next_poll = next_poll_time();
        Some(())
    }
}

fn next_poll_time() -> Instant {
    Instant::now() + Duration::from_millis(limits::SESSION_POLL_MS)
}

/// A notice as legacy clients know it.
pub(crate) fn notification_json(notification: &ChangeNotification) -> Vec<u8> {
    match notification {
        ChangeNotification::Updated(uri) => {
            let uri = Value::from(uri.as_str());
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            )
            .into_bytes()
        }
        ChangeNotification::ListChanged => {
            br#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#.to_vec()
        }
    }
}

/// Answers `resources/subscribe` and `resources/unsubscribe` of a session.
pub(crate) async fn change_subscription(
    context: &RequestContext<'_>,
    method: Method,
    session: Option<&str>,
) -> Result<Vec<u8>, RpcError> {
    let server = &context.endpoint.server;
    let (Some(sessions), Some(id)) = (&server.sessions, session) else {
        return Err(RpcError::session_missing());
    };
    let change = async {
        if method == Method::Unsubscribe {
            let uri = params::required_str(context.params.uri, "uri")?.into_owned();
            sessions.unsubscribe(context.caller, id, &uri).await?;
            audit_subscription(context, method, &uri).await?;
            server.send_to_session(id, SubscriptionCommand::Remove(uri));
            return Ok(());
        }
        if sessions.subscriptions(context.caller, id).await?.len() >= SUBSCRIPTION_URIS {
            return Err(too_many_subscriptions());
        }
        let (uri, read_set) = authorize(context).await?;
        sessions.subscribe(context.caller, id, &uri).await?;
        audit_subscription(context, method, &uri).await?;
        server.send_to_session(id, SubscriptionCommand::Add(uri, read_set));
        Ok(())
    };
    change.await.map_err(|error| context.rpc_error(error))?;
    Ok(context.empty_result())
}

/// The address that a subscription names, if the caller may read it, and what it rests on.
pub(crate) async fn authorize(context: &RequestContext<'_>) -> Result<(String, Arc<ReadSet>)> {
    let uri = params::required_str(context.params.uri, "uri")?.into_owned();
    let endpoint = context.endpoint;
    match endpoint.resolver().read_set_of(context.caller, endpoint.view, &uri).await {
        Ok(read_set) => Ok((uri, read_set)),
        Err(error) => {
            // The same envelope and the same trace as a read of it would leave.
            let error = if error.uri().is_some() { error } else { error.with_uri(&uri) };
            let event = subscription_event(context, Method::Subscribe, &uri);
            Err(endpoint.resolver().record_refusal(context.caller, event, error).await)
        }
    }
}

/// Writes a subscription down.
pub(crate) async fn audit_subscription(
    context: &RequestContext<'_>,
    method: Method,
    uri: &str,
) -> Result<()> {
    let event = subscription_event(context, method, uri);
    context.endpoint.resolver().record_success(context.caller, event).await.map(|_| ())
}

fn subscription_event(context: &RequestContext<'_>, method: Method, uri: &str) -> EventDraft {
    let truncated_uri: String = uri.chars().take(512).collect();
    EventDraft::call(context.caller, method.as_str()).input("uri", truncated_uri)
}

/// One subscription too many.
pub(crate) fn too_many_subscriptions() -> Error {
    Error::new(Kind::Limit, "TOO_MANY_SUBSCRIPTIONS", "This connection subscribes to too many addresses")
        .hint("Unsubscribe from some first")
        .with_detail("limit", SUBSCRIPTION_URIS)
}
