//! What a client talks to: the schemes that it shows, and what all endpoints of a process share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::event::truncate_for_audit;
use quad_core::resolver::View;
use quad_core::{BoxFuture, EventDraft, Principal, Resolver};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::envelope::raw_str;
use crate::params::Params;
use crate::session_store::SessionStore;
use crate::stream_limit::StreamLimiter;
use crate::subscription::SubscriptionCommand;
use crate::{Era, RpcError, limits};

/// What all endpoints of a process share.
pub struct ServerState {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) sessions: Option<Arc<dyn SessionStore>>,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// `"io.modelcontextprotocol/serverInfo":{…}`, as every modern result carries it.
    pub(crate) server_info: String,
    pub(crate) streams: StreamLimiter,
    /// The open stream of each session in this process, so that a subscription takes effect at once.
    session_streams: Mutex<HashMap<String, (u64, mpsc::Sender<SubscriptionCommand>)>>,
    closing: watch::Sender<bool>,
}

/// What a hub is made from.
pub struct ServerOptions {
    /// What is served.
    pub resolver: Arc<Resolver>,
    /// Who keeps legacy sessions; without, legacy HTTP clients are served but cannot subscribe.
    pub sessions: Option<Arc<dyn SessionStore>>,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

impl ServerState {
    /// A hub.
    pub fn new(options: ServerOptions) -> Arc<ServerState> {
        let ServerOptions { resolver, sessions, name, version } = options;
        let info = serde_json::json!({"name": name, "version": version});
        Arc::new(ServerState {
            resolver,
            sessions,
            name,
            version,
            server_info: format!(r#""io.modelcontextprotocol/serverInfo":{info}"#),
            streams: StreamLimiter::default(),
            session_streams: Mutex::default(),
            closing: watch::Sender::new(false),
        })
    }

    /// Ends every stream with its closing message, for a shutdown.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// How many streams are open.
    pub fn open_streams(&self) -> usize {
        self.streams.open_count()
    }

    /// What is served.
    pub fn resolver(&self) -> &Arc<Resolver> {
        &self.resolver
    }

    /// The server's name.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The server's version.
    pub fn version(&self) -> &'static str {
        self.version
    }

    pub(crate) fn closing_receiver(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Makes a stream the one of its session. An older one ends, since its sender is dropped: messages go to one
    /// stream only.
    pub(crate) fn register_session_stream(
        self: &Arc<ServerState>,
        id: &str,
        commands: mpsc::Sender<SubscriptionCommand>,
    ) -> SessionStreamGuard {
        let mut streams = self.lock_session_streams();
        let generation = streams.get(id).map_or(0, |(old_generation, _)| old_generation + 1);
        streams.insert(id.to_owned(), (generation, commands));
        SessionStreamGuard { server: self.clone(), id: id.to_owned(), generation }
    }

    /// Tells a session's stream in this process, if there is one.
    pub(crate) fn send_to_session(&self, id: &str, command: SubscriptionCommand) {
        if let Some((_, commands)) = self.lock_session_streams().get(id) {
            // What does not fit is found when the stream next looks at its session.
            let _ = commands.try_send(command);
        }
    }

    /// Ends a session's stream in this process, if there is one.
    pub(crate) fn end_session_stream(&self, id: &str) {
        self.lock_session_streams().remove(id);
    }

    fn lock_session_streams(
        &self,
    ) -> MutexGuard<'_, HashMap<String, (u64, mpsc::Sender<SubscriptionCommand>)>> {
        self.session_streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream's place as the one of its session; left when dropped.
pub(crate) struct SessionStreamGuard {
    server: Arc<ServerState>,
    id: String,
    generation: u64,
}

impl Drop for SessionStreamGuard {
    fn drop(&mut self) {
        let mut streams = self.server.lock_session_streams();
        if streams.get(&self.id).is_some_and(|(current, _)| *current == self.generation) {
            streams.remove(&self.id);
        }
    }
}

/// One door: a view of the schemes, and which tools it lists.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) server: Arc<ServerState>,
    pub(crate) view: View,
    pub(crate) all_tools: bool,
}

impl Endpoint {
    /// The door to a view; it lists the core tools, or all.
    pub fn new(server: Arc<ServerState>, view: View, all_tools: bool) -> Endpoint {
        Endpoint { server, view, all_tools }
    }

    /// What all endpoints share.
    pub fn server(&self) -> &Arc<ServerState> {
        &self.server
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.server.resolver
    }

    /// Writes down that a message of `caller` was refused, unless the resolver has done so already: what is refused before
    /// it gets there must leave its trace, too. `method` is what the message calls it.
    pub(crate) async fn audit_error(
        &self,
        caller: &Principal,
        method: &str,
        rpc_error: RpcError,
    ) -> RpcError {
        self.audit_request_error(caller, method, None, rpc_error).await
    }

    /// The same for a request, whose address is part of the trace. In a box, so that what is seldom refused does not carry it.
    pub(crate) fn audit_request_error<'a>(
        &'a self,
        caller: &'a Principal,
        method: &'a str,
        params: Option<&'a RawValue>,
        rpc_error: RpcError,
    ) -> BoxFuture<'a, RpcError> {
        Box::pin(self.append_error_event(caller, method, params, rpc_error))
    }

    async fn append_error_event(
        &self,
        caller: &Principal,
        method: &str,
        params: Option<&RawValue>,
        rpc_error: RpcError,
    ) -> RpcError {
        if rpc_error.needs_reauth() || !rpc_error.error.needs_audit_event() {
            return rpc_error;
        }
        let RpcError { code, status, error } = rpc_error;
        let method_text: String = method.chars().take(limits::METHOD_CHARS_MAX).collect();
        let mut event = EventDraft::call_with_raw_method(caller, &method_text);
        let uri = Params::read(params).ok().and_then(|params| raw_str(params.uri?));
        if let Some(uri) = uri {
            event = event.input("uri", truncate_for_audit(&uri));
        }
        let error = self.resolver().record_refusal(caller, event, error).await;
        if error.is_recorded() {
            RpcError { code, status, error }
        } else {
            RpcError::from_error(error, Era::Legacy)
        }
    }
}
