//! The notification stream of a legacy HTTP session (GET), its subscriptions, and the end of a session (DELETE).
//!
//! Any node may answer `resources/subscribe`, but the stream is open on one. So the stream polls the session store; on
//! the same node a command makes a subscription take effect at once.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use http::HeaderMap;
use quad_auth::SessionError;
use quad_core::limits::SUBSCRIPTION_URIS;
use quad_core::{Error, EventDraft, Principal, Result};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::dispatch::RequestContext;
use crate::request::{names_modern_revision, session_from_headers};
use crate::server_state::SessionStreamGuard;
use crate::session_store::SessionStore;
use crate::stream_limit::StreamPermit;
use crate::subscription::{self, SubscriptionCommand, SubscriptionStream};
use crate::{Endpoint, Era, MessageStream, Method, RpcError, limits, params};

/// Whether a request with these headers can have a session: modern requests have none.
pub fn sessions_supported(endpoint: &Endpoint, headers: &HeaderMap) -> bool {
    endpoint.server.sessions.is_some() && !names_modern_revision(headers)
}

/// Ends the session that a request names.
pub async fn end(endpoint: &Endpoint, caller: &Principal, headers: &HeaderMap) -> Result<(), RpcError> {
    match try_end(endpoint, caller, headers).await {
        Err(rpc_error) => Err(endpoint.audit_error(caller, "session/end", None, rpc_error).await),
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
        Err(rpc_error) => Err(endpoint.audit_error(caller, "stream", None, rpc_error).await),
        stream => stream,
    }
}

async fn start(endpoint: &Endpoint, caller: &Principal, id: String) -> Result<MessageStream> {
    let Some(sessions) = endpoint.server.sessions.clone() else {
        return Err(Error::internal("there is no session store"));
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
                    let message = subscription::notification_json(&notification?);
                    return Some((message, self));
                }
                () = sleep_until(self.next_poll) => self.poll_session().await?,
            }
        }
    }

    /// Reads the session's subscriptions, which another node may have changed. `None` when the session has ended.
    async fn poll_session(&mut self) -> Option<()> {
        let commands_before = self.subscriptions.commands_applied();
        let session = self.sessions.check(&self.caller, &self.id).await;
        if matches!(session, Err(SessionError::NotFound)) {
            return None;
        }
        match self.sessions.subscriptions(&self.caller, &self.id).await {
            // A command that was applied during the read is newer than what was read.
            Ok(uris) if self.subscriptions.commands_applied() == commands_before => {
                self.subscriptions.reconcile(uris).await
            }
            Ok(_) => {}
            Err(error) => {
                tracing::warn!(cause = error.cause_chain(), "subscriptions of a session could not be read")
            }
        }
        self.next_poll = next_poll_time();
        Some(())
    }
}

fn next_poll_time() -> Instant {
    Instant::now() + Duration::from_millis(limits::SESSION_POLL_MS)
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
            subscription::audit(context, method, &uri).await?;
            server.send_to_session(id, SubscriptionCommand::Remove(uri));
            return Ok(());
        }
        if sessions.subscriptions(context.caller, id).await?.len() >= SUBSCRIPTION_URIS {
            return Err(subscription::too_many());
        }
        let (uri, read_set) = subscription::authorize(context).await?;
        sessions.subscribe(context.caller, id, &uri).await?;
        subscription::audit(context, method, &uri).await?;
        server.send_to_session(id, SubscriptionCommand::Add(uri, read_set));
        Ok(())
    };
    change.await.map_err(|error| context.rpc_error(error))?;
    Ok(context.empty_result())
}
