//! What a client talks to: the schemes that it shows, and what all endpoints of a process share.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::event::shorten;
use quad_core::resolver::View;
use quad_core::{BoxFuture, EventDraft, Principal, Resolver};
use serde_json::value::RawValue;
use tokio::sync::{mpsc, watch};

use crate::envelope::text_of;
use crate::params::Params;
use crate::sessions::Sessions;
use crate::streams::Streams;
use crate::watcher::Command;
use crate::{Era, Fault, limits};

/// What all endpoints of a process share.
pub struct Hub {
    pub(crate) resolver: Arc<Resolver>,
    pub(crate) sessions: Option<Arc<dyn Sessions>>,
    pub(crate) name: &'static str,
    pub(crate) version: &'static str,
    /// `"io.modelcontextprotocol/serverInfo":{…}`, as every modern result carries it.
    pub(crate) server_info: String,
    pub(crate) streams: Streams,
    /// The open stream of each session in this process, so that a subscription takes effect at once.
    session_streams: Mutex<HashMap<String, (u64, mpsc::Sender<Command>)>>,
    closing: watch::Sender<bool>,
}

/// What a hub is made from.
pub struct HubOptions {
    /// What is served.
    pub resolver: Arc<Resolver>,
    /// Who keeps legacy sessions; without, legacy HTTP clients are served but cannot subscribe.
    pub sessions: Option<Arc<dyn Sessions>>,
    /// The server's name, as clients see it.
    pub name: &'static str,
    /// The server's version, as clients see it.
    pub version: &'static str,
}

impl Hub {
    /// A hub.
    pub fn new(options: HubOptions) -> Arc<Hub> {
        let HubOptions { resolver, sessions, name, version } = options;
        let info = serde_json::json!({"name": name, "version": version});
        Arc::new(Hub {
            resolver,
            sessions,
            name,
            version,
            server_info: format!(r#""io.modelcontextprotocol/serverInfo":{info}"#),
            streams: Streams::default(),
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
        self.streams.count()
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

    pub(crate) fn closing(&self) -> watch::Receiver<bool> {
        self.closing.subscribe()
    }

    /// Makes a stream the one of its session. An older one ends, since its sender is dropped: messages go to one
    /// stream only.
    pub(crate) fn enter_session(self: &Arc<Hub>, id: &str, commands: mpsc::Sender<Command>) -> SessionPlace {
        let mut streams = self.session_streams();
        let number = streams.get(id).map_or(0, |(number, _)| number + 1);
        streams.insert(id.to_owned(), (number, commands));
        SessionPlace { hub: self.clone(), id: id.to_owned(), number }
    }

    /// Tells a session's stream in this process, if there is one.
    pub(crate) fn tell_session(&self, id: &str, command: Command) {
        if let Some((_, commands)) = self.session_streams().get(id) {
            // What does not fit is found when the stream next looks at its session.
            let _ = commands.try_send(command);
        }
    }

    /// Ends a session's stream in this process, if there is one.
    pub(crate) fn end_session(&self, id: &str) {
        self.session_streams().remove(id);
    }

    fn session_streams(&self) -> MutexGuard<'_, HashMap<String, (u64, mpsc::Sender<Command>)>> {
        self.session_streams.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A stream's place as the one of its session; left when dropped.
pub(crate) struct SessionPlace {
    hub: Arc<Hub>,
    id: String,
    number: u64,
}

impl Drop for SessionPlace {
    fn drop(&mut self) {
        let mut streams = self.hub.session_streams();
        if streams.get(&self.id).is_some_and(|(number, _)| *number == self.number) {
            streams.remove(&self.id);
        }
    }
}

/// One door: a view of the schemes, and which tools it lists.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) hub: Arc<Hub>,
    pub(crate) view: View,
    pub(crate) all_tools: bool,
}

impl Endpoint {
    /// The door to a view; it lists the core tools, or all.
    pub fn new(hub: Arc<Hub>, view: View, all_tools: bool) -> Endpoint {
        Endpoint { hub, view, all_tools }
    }

    /// What all endpoints share.
    pub fn hub(&self) -> &Arc<Hub> {
        &self.hub
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.hub.resolver
    }

    /// Writes down that a message of `caller` was refused, unless the resolver has done so already: what is refused before
    /// it gets there must leave its trace, too. `method` is what the message calls it.
    pub(crate) async fn refuse(&self, caller: &Principal, method: &str, fault: Fault) -> Fault {
        self.refuse_call(caller, method, None, fault).await
    }

    /// The same for a request, whose address is part of the trace. In a box, so that what is seldom refused does not carry it.
    pub(crate) fn refuse_call<'a>(
        &'a self,
        caller: &'a Principal,
        method: &'a str,
        params: Option<&'a RawValue>,
        fault: Fault,
    ) -> BoxFuture<'a, Fault> {
        Box::pin(self.refuse_and_record(caller, method, params, fault))
    }

    async fn refuse_and_record(
        &self,
        caller: &Principal,
        method: &str,
        params: Option<&RawValue>,
        fault: Fault,
    ) -> Fault {
        if fault.asks_for_credential() || !fault.error.is_owed() {
            return fault;
        }
        let Fault { code, status, error } = fault;
        let shown: String = method.chars().take(limits::METHOD_CHARS_SHOWN).collect();
        let mut event = EventDraft::call_named(caller, &shown);
        let uri = Params::read(params).ok().and_then(|params| text_of(params.uri?));
        if let Some(uri) = uri {
            event = event.input("uri", shorten(&uri));
        }
        let error = self.resolver().refuse(caller, event, error).await;
        if error.is_recorded() { Fault { code, status, error } } else { Fault::of(error, Era::Legacy) }
    }
}
