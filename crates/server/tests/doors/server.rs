//! A running server for one test, and who may come in.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use quad_core::{ReadSet, Version};
use quad_core::{BoxFuture, Principal, Result, Tag, TenantId, Timestamp};
use quad_gate::RateLimit;
use quad_server::http::{HttpOptions, serve};
use quad_server::{Denial, Door, Keeper, TimeLimits};
use quad_wire::{SessionStoreError, SessionStore};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::toy::World;

pub struct Running {
    pub address: SocketAddr,
    pub world: Arc<World>,
    pub keeper: Arc<Tokens>,
    pub stop: Option<oneshot::Sender<()>>,
    pub done: JoinHandle<()>,
}

/// Guarded, with sessions. The tokens are `reader`, `writer` and `all`, and `other` of another tenant.
pub async fn start() -> Running {
    start_with(true, true).await
}

pub async fn start_with(guarded: bool, sessions: bool) -> Running {
    start_within(guarded, sessions, None, TimeLimits::default()).await
}

/// Guarded, with limits that a test can reach.
pub async fn start_limited(rate_limit: Option<RateLimit>, times: TimeLimits) -> Running {
    start_within(true, true, rate_limit, times).await
}

async fn start_within(
    guarded: bool,
    sessions: bool,
    rate_limit: Option<RateLimit>,
    times: TimeLimits,
) -> Running {
    let world = World::new();
    let keeper = Arc::new(Tokens {
        world: world.clone(),
        until: Mutex::new(None),
        versions: Mutex::default(),
        noted: Mutex::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = if guarded { Door::Guarded(keeper.clone()) } else { Door::Open(local().into()) };
    let options = HttpOptions {
        listener,
        resolver: world.resolver(),
        door,
        sessions: sessions.then(|| Arc::new(Memory::default()) as Arc<dyn SessionStore>),
        allowed_hosts: vec!["quad.example.com".to_owned()],
        public_url: None,
        authorization_servers: vec!["https://auth.example.com".to_owned()],
        all_tools: false,
        rate_limit,
        times,
        ready: Arc::new(|| Box::pin(async { true })),
        name: "quadrivium",
        version: "0.0.1",
    };
    let (stop, stopped) = oneshot::channel();
    let done = tokio::spawn(async move {
        serve(options, async {
            let _ = stopped.await;
        })
        .await
        .unwrap();
    });
    Running { address, world, keeper, stop: Some(stop), done }
}

impl Running {
    pub fn client(&self) -> Client {
        Client::new(self.address, "all")
    }

    pub fn client_with(&self, token: &str) -> Client {
        Client::new(self.address, token)
    }
}

pub fn local() -> Principal {
    Principal::local_agent(TenantId::new("t"), ["toy:read", "toy:write", "toy:secret"])
}

/// Knows a few tokens; each rests on a tag of its own, so that a test can withdraw it.
pub struct Tokens {
    world: Arc<World>,
    pub until: Mutex<Option<Timestamp>>,
    /// The version at which a token was last looked up, as a real keeper remembers its verdicts.
    versions: Mutex<HashMap<String, i64>>,
    /// Refusals that the door told of: subject and code.
    pub noted: Mutex<Vec<(String, &'static str)>>,
}

impl Keeper for Tokens {
    fn authenticate<'a>(
        &'a self,
        authorization: Option<&'a str>,
    ) -> BoxFuture<'a, Result<Principal, Denial>> {
        Box::pin(async move {
            let Some(token) = authorization.and_then(|text| text.strip_prefix("Bearer ")) else {
                return Err(Denial::Missing {
                    code: "auth_token_missing",
                    reason: "missing",
                    message: "A token is needed".into(),
                });
            };
            let scopes: &[&str] = match token {
                "reader" => &["toy:read"],
                "writer" => &["toy:read", "toy:write"],
                "all" | "other" => &["toy:read", "toy:write", "toy:secret"],
                _ => {
                    return Err(Denial::Invalid {
                        code: "auth_token_invalid",
                        reason: "malformed",
                        message: "Not a token".into(),
                    });
                }
            };
            let mut versions = self.versions.lock().unwrap();
            let version = *versions.entry(token.to_owned()).or_insert_with(|| self.world.version());
            let tenant = if token == "other" { "u" } else { "t" };
            let mut principal = Principal::local_agent(TenantId::new(tenant), scopes.iter().copied());
            principal.subject = token.into();
            principal.credential_read_set =
                Some(Arc::new(ReadSet::at_version(Version(version)).with_tag(Tag::new(format!("token:{token}")))));
            principal.expires_at = *self.until.lock().unwrap();
            Ok(principal)
        })
    }

    fn forget(&self, authorization: &str) {
        let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
        self.versions.lock().unwrap().remove(token);
    }

    fn key_set(&self) -> BoxFuture<'_, Result<Value>> {
        Box::pin(async { Ok(json!({"keys": [{"kid": "k1"}]})) })
    }

    fn note_refusal(&self, caller: &Principal, code: &'static str) {
        self.noted.lock().unwrap().push((caller.subject.to_string(), code));
    }
}

/// Sessions in memory.
#[derive(Default)]
struct Memory(Mutex<HashMap<String, Kept>>);

struct Kept {
    owner: Arc<str>,
    revision: String,
    uris: Vec<String>,
}

impl Memory {
    fn with<T>(
        &self,
        caller: &Principal,
        id: &str,
        work: impl FnOnce(&mut Kept) -> T,
    ) -> Result<T, SessionStoreError> {
        let mut sessions = self.0.lock().unwrap();
        let kept = sessions.get_mut(id).filter(|kept| kept.owner == caller.subject);
        kept.map(work).ok_or(SessionStoreError::Unknown)
    }
}

fn gone<T>(found: Result<T, SessionStoreError>) -> Result<T> {
    found.map_err(|_| quad_core::Error::bad_input("no such session"))
}

impl SessionStore for Memory {
    fn open(&self, caller: &Principal, revision: &str) -> Result<String> {
        let mut sessions = self.0.lock().unwrap();
        let id = format!("session-{}", sessions.len());
        let kept = Kept { owner: caller.subject.clone(), revision: revision.to_owned(), uris: Vec::new() };
        sessions.insert(id.clone(), kept);
        Ok(id)
    }

    fn check<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
    ) -> BoxFuture<'a, Result<String, SessionStoreError>> {
        Box::pin(async move { self.with(caller, id, |kept| kept.revision.clone()) })
    }

    fn end<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            gone(self.with(caller, id, |_| ()))?;
            self.0.lock().unwrap().remove(id);
            Ok(())
        })
    }

    fn subscribe<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { gone(self.with(caller, id, |kept| kept.uris.push(uri.to_owned()))) })
    }

    fn unsubscribe<'a>(
        &'a self,
        caller: &'a Principal,
        id: &'a str,
        uri: &'a str,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { gone(self.with(caller, id, |kept| kept.uris.retain(|kept| kept != uri))) })
    }

    fn subscriptions<'a>(&'a self, caller: &'a Principal, id: &'a str) -> BoxFuture<'a, Result<Vec<String>>> {
        Box::pin(async move { gone(self.with(caller, id, |kept| kept.uris.clone())) })
    }
}
