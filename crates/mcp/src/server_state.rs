//! The state that all endpoints of a process share: the resolver, the session store and the open streams.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::Resolver;
use quad_core::lock::MutexExt as _;
use tokio::sync::{mpsc, watch};

use crate::session_store::SessionStore;
use crate::stream_limit::StreamLimiter;
use crate::subscription::SubscriptionCommand;

/// The open stream of a session: its generation, and where its commands go.
type SessionStreamEntry = (u64, mpsc::Sender<SubscriptionCommand>);

/// State shared by all endpoints of a process.
pub struct ServerState {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) sessions: Option<Arc<dyn SessionStore>>,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// The member `"io.modelcontextprotocol/serverInfo":{…}` of every modern result's `_meta`.
    pub(crate) server_info: String,
    pub(crate) streams: StreamLimiter,
    /// The open stream of each session in this process, by session id, so that a subscription takes effect at once.
    session_streams: Mutex<HashMap<String, SessionStreamEntry>>,
    closing: watch::Sender<bool>,
}

/// The parts of a [`ServerState`].
pub struct ServerOptions {
    /// Answers reads, lists, tool calls and prompts.
    pub resolver: Arc<Resolver>,
    /// Stores legacy sessions. Without one, legacy HTTP clients are served but cannot subscribe.
    pub sessions: Option<Arc<dyn SessionStore>>,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

impl ServerState {
    /// Creates the state, without open streams.
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

    /// Ends every stream with its closing message. For shutdown.
    pub fn close(&self) {
        self.closing.send_replace(true);
    }

    /// The number of open streams.
    pub fn open_streams(&self) -> usize {
        self.streams.open_count()
    }

    /// The resolver.
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

    /// Becomes true when the server closes.
    pub(crate) fn closing_receiver(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Makes a stream the only one of its session. An older one ends, because its sender is dropped: the protocol
    /// allows a message on one stream only.
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

    /// Sends a command to the session's stream in this process, if there is one.
    pub(crate) fn send_to_session(&self, id: &str, command: SubscriptionCommand) {
        if let Some((_, commands)) = self.lock_session_streams().get(id) {
            // A command that does not fit is not lost: the stream polls its session every second.
            let _ = commands.try_send(command);
        }
    }

    /// Ends a session's stream in this process, if there is one.
    pub(crate) fn end_session_stream(&self, id: &str) {
        self.lock_session_streams().remove(id);
    }

    fn lock_session_streams(&self) -> MutexGuard<'_, HashMap<String, SessionStreamEntry>> {
        self.session_streams.lock_unpoisoned()
    }
}

/// The registration of a session's stream; removed when dropped, unless a newer stream has replaced it.
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
