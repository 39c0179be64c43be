//! A running server for one test, its tokens and its sessions.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use prometheus_client::registry::Registry;
use quad_auth::{AuthError, AuthErrorKind, RateLimit, SessionError};
use quad_core::{Principal, Result, Tag, TenantId, Timestamp};
use quad_core::{ReadSet, Version};
use quad_mcp::{SessionStore, ToolNames};
use quad_server::http::{HttpOptions, serve};
use quad_server::{AuthPolicy, CredentialVerifier, Timeouts};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::Client;
use crate::fixture::TestServerState;

pub struct TestServer {
    pub address: SocketAddr,
    pub state: Arc<TestServerState>,
    pub tokens: Arc<StubTokens>,
    pub stop: Option<oneshot::Sender<()>>,
    pub task: JoinHandle<()>,
}

/// The external issuer of most test servers.
const AUTHORIZATION_SERVER: &str = "https://auth.example.com";

/// Requires tokens, has sessions. The tokens are `reader`, `writer` and `all`, and `other` of another tenant.
pub async fn start() -> TestServer {
    start_with(true, true).await
}

pub async fn start_with(requires_token: bool, sessions: bool) -> TestServer {
    let customize = |options: &mut HttpOptions| {
        if !sessions {
            options.sessions = None;
        }
    };
    start_customized(requires_token, customize).await
}

/// Requires tokens or not, and has no authorization server.
pub async fn start_without_issuer(requires_token: bool) -> TestServer {
    start_customized(requires_token, |options| options.authorization_servers.clear()).await
}

/// Requires tokens, with limits that a test can reach.
pub async fn start_limited(rate_limit: Option<RateLimit>, timeouts: Timeouts) -> TestServer {
    let customize = |options: &mut HttpOptions| {
        options.rate_limit = rate_limit;
        options.timeouts = timeouts;
    };
    start_customized(true, customize).await
}

/// A server whose options a test changes before the start.
pub async fn start_customized(requires_token: bool, customize: impl FnOnce(&mut HttpOptions)) -> TestServer {
    let state = TestServerState::new();
    let tokens = Arc::new(StubTokens {
        state: state.clone(),
        expires_at: Mutex::new(None),
        versions: Mutex::default(),
        counted_refusals: Mutex::default(),
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let auth_policy = if requires_token {
        AuthPolicy::Token(tokens.clone())
    } else {
        AuthPolicy::LocalOnly { principal: local_principal().into(), refusals: Some(tokens.clone()) }
    };
    let mut options = HttpOptions {
        listener,
        resolver: state.resolver(),
        auth_policy,
        sessions: Some(Arc::new(MemorySessions::default())),
        allowed_hosts: vec!["quad.example.com".to_owned()],
        public_url: None,
        authorization_servers: vec![AUTHORIZATION_SERVER.to_owned()],
        all_tools: false,
        tool_names: ToolNames::Portable,
        rate_limit: None,
        timeouts: Timeouts::default(),
        ready: Arc::new(|| Box::pin(async { Ok(()) })),
        metrics: Registry::default(),
        access_log: false,
        name: "quadrivium",
        version: "0.0.1",
    };
    customize(&mut options);
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(async move {
        serve(options, async {
            let _ = stopped.await;
        })
        .await
        .unwrap();
    });
    TestServer { address, state, tokens, stop: Some(stop), task }
}

impl TestServer {
    pub fn client(&self) -> Client {
        Client::new(self.address, "all")
    }

    pub fn client_with(&self, token: &str) -> Client {
        Client::new(self.address, token)
    }
}

pub fn local_principal() -> Principal {
    Principal::local_agent(TenantId::new("t"), ["toy:read", "toy:write", "toy:secret"])
}

/// Verifies four fixed tokens. Each has a tag of its own, so that a test can invalidate it.
pub struct StubTokens {
    state: Arc<TestServerState>,
    pub expires_at: Mutex<Option<Timestamp>>,
    /// The version at which each token was last verified: the real verifier caches its verdicts, too.
    versions: Mutex<HashMap<String, i64>>,
    /// The rejections that the server counted: subject, or reason if the subject is unknown, and code.
    pub counted_refusals: Mutex<Vec<(String, &'static str)>>,
}

#[async_trait::async_trait]
impl CredentialVerifier for StubTokens {
    async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, AuthError> {
        let Some(token) = authorization.and_then(|text| text.strip_prefix("Bearer ")) else {
            return Err(AuthErrorKind::Missing.into());
        };
        let scopes: &[&str] = match token {
            "reader" => &["toy:read"],
            "writer" => &["toy:read", "toy:write"],
            "all" | "other" => &["toy:read", "toy:write", "toy:secret"],
            _ => return Err(AuthErrorKind::Malformed.into()),
        };
        let mut versions = self.versions.lock().unwrap();
        let version = *versions.entry(token.to_owned()).or_insert_with(|| self.state.version());
        let tenant = if token == "other" { "u" } else { "t" };
        let mut principal = Principal::local_agent(TenantId::new(tenant), scopes.iter().copied());
        principal.subject = token.into();
        principal.credential_read_set = Some(Arc::new(
            ReadSet::at_version(Version(version)).with_tag(Tag::new(format!("token:{token}"))),
        ));
        principal.expires_at = *self.expires_at.lock().unwrap();
        Ok(principal)
    }

    fn evict(&self, authorization: &str) {
        let token = authorization.strip_prefix("Bearer ").unwrap_or_default();
        self.versions.lock().unwrap().remove(token);
    }

    async fn key_set(&self) -> Result<Value> {
        Ok(json!({"keys": [{"kid": "k1"}]}))
    }

    fn count_refusal(&self, caller: &Principal, code: &'static str) {
        self.counted_refusals.lock().unwrap().push((caller.subject.to_string(), code));
    }

    fn count_anonymous_refusal(&self, reason: &'static str, code: &'static str) {
        self.counted_refusals.lock().unwrap().push((reason.to_owned(), code));
    }
}

/// Sessions in memory.
#[derive(Default)]
struct MemorySessions(Mutex<HashMap<String, StoredSession>>);

struct StoredSession {
    owner: Arc<str>,
    revision: String,
    uris: Vec<String>,
}

impl MemorySessions {
    fn with_session<T>(
        &self,
        caller: &Principal,
        id: &str,
        f: impl FnOnce(&mut StoredSession) -> T,
    ) -> Result<T, SessionError> {
        let mut sessions = self.0.lock().unwrap();
        let session = sessions.get_mut(id).filter(|session| session.owner == caller.subject);
        session.map(f).ok_or(SessionError::NotFound)
    }
}

fn unknown_session<T>(result: Result<T, SessionError>) -> Result<T> {
    result.map_err(|_| quad_core::Error::bad_input("no such session"))
}

#[async_trait::async_trait]
impl SessionStore for MemorySessions {
    fn open(&self, caller: &Principal, revision: &str) -> Result<String> {
        let mut sessions = self.0.lock().unwrap();
        let id = format!("session-{}", sessions.len());
        let session =
            StoredSession { owner: caller.subject.clone(), revision: revision.to_owned(), uris: Vec::new() };
        sessions.insert(id.clone(), session);
        Ok(id)
    }

    async fn check(&self, caller: &Principal, id: &str) -> Result<String, SessionError> {
        self.with_session(caller, id, |session| session.revision.clone())
    }

    async fn end(&self, caller: &Principal, id: &str) -> Result<()> {
        unknown_session(self.with_session(caller, id, |_| ()))?;
        self.0.lock().unwrap().remove(id);
        Ok(())
    }

    async fn subscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        unknown_session(self.with_session(caller, id, |session| session.uris.push(uri.to_owned())))
    }

    async fn unsubscribe(&self, caller: &Principal, id: &str, uri: &str) -> Result<()> {
        unknown_session(
            self.with_session(caller, id, |session| session.uris.retain(|subscribed| subscribed != uri)),
        )
    }

    async fn subscriptions(&self, caller: &Principal, id: &str) -> Result<Vec<String>> {
        unknown_session(self.with_session(caller, id, |session| session.uris.clone()))
    }
}
