//! Test support: the scheme behind a real resolver on every available backend.

use std::sync::Arc;

use quad_core::prompt::Message;
use quad_core::resolver::View;
use quad_core::scheme::{CompletionQuery, CompletionTarget};
use quad_core::tool::NoProgress;
use quad_core::{Principal, PrincipalKind, ReadSet, Resolver, Result, Scheme, ScopeSet, TenantId};
use quad_store::Store;
use quad_store::testing::{TestStore, stores};
use serde_json::{Value, json};

use crate::{Amem, COMPONENT};

/// The scheme on one backend, with a caller.
pub(crate) struct TestEnv {
    pub test_store: Arc<TestStore>,
    pub resolver: Resolver,
    /// The scheme itself, for functions without a URI.
    pub amem: Arc<Amem>,
    pub caller: Principal,
    /// The folder of the search indexes.
    folder: Arc<tempfile::TempDir>,
}

/// A caller with these scopes.
pub(crate) fn caller(tenant: &TenantId, subject: &str, scopes: &str) -> Principal {
    Principal {
        tenant: tenant.clone(),
        subject: subject.into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse(scopes),
        credential_read_set: None,
        expires_at: None,
    }
}

/// An empty memory on each backend.
pub(crate) async fn test_envs() -> Vec<TestEnv> {
    stores(&[COMPONENT]).await.unwrap().into_iter().map(TestEnv::new).collect()
}

/// A memory with four nodes on each backend: a fact, a decision, an inference and a correction of the fact.
pub(crate) async fn test_envs_with_data() -> Vec<TestEnv> {
    let envs = test_envs().await;
    for env in &envs {
        for arguments in [
            json!({"event_type": "fact", "content": "The API rate limit is 100 requests per minute", "confidence": 0.95}),
            json!({"event_type": "decision", "content": "Use PostgreSQL for the main database",
                "edges": [{"target_id": 0, "edge_type": "caused_by", "weight": 0.9}]}),
            json!({"event_type": "inference", "content": "Traffic spikes correlate with cron jobs", "confidence": 0.5,
                "edges": [{"target_id": 0, "edge_type": "supports", "weight": 0.7}, {"target_id": 1, "edge_type": "related_to"}]}),
        ] {
            env.call("memory_add", arguments).await.unwrap();
        }
        let correction =
            json!({"old_node_id": 0, "new_content": "The API rate limit is 200 requests per minute"});
        env.call("memory_correct", correction).await.unwrap();
    }
    envs
}

fn open_amem(store: &Store, folder: &std::path::Path) -> (Arc<Amem>, Resolver) {
    let amem = Arc::new(Amem::new(store.clone(), folder));
    let store = Arc::new(store.clone());
    let resolver = Resolver::new(vec![amem.clone() as Arc<dyn Scheme>], store.clone(), store).unwrap();
    (amem, resolver)
}

impl TestEnv {
    fn new(test_store: TestStore) -> TestEnv {
        let caller = caller(&test_store.tenant, "agent_1", "*:*");
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let (amem, resolver) = open_amem(&test_store.store, folder.path());
        TestEnv { resolver, amem, caller, test_store: Arc::new(test_store), folder }
    }

    /// The same data and index folder in another process.
    pub(crate) async fn reopen_same_dir(&self) -> TestEnv {
        self.reopen_in(self.folder.clone()).await
    }

    /// The same data on another machine, with an index folder of its own.
    pub(crate) async fn reopen_other_dir(&self) -> TestEnv {
        self.reopen_in(Arc::new(tempfile::tempdir().unwrap())).await
    }

    async fn reopen_in(&self, folder: Arc<tempfile::TempDir>) -> TestEnv {
        let store = Store::open(self.test_store.location.clone(), &[COMPONENT]).await.unwrap();
        let (amem, resolver) = open_amem(&store, folder.path());
        TestEnv { resolver, amem, caller: self.caller.clone(), test_store: self.test_store.clone(), folder }
    }

    /// The violations that the integrity check finds.
    pub(crate) async fn violations(&self) -> Vec<String> {
        let report = self.amem.check_integrity(&self.test_store.tenant).await.unwrap();
        report.violations.into_iter().chain(report.index_violations).collect()
    }

    /// Whether a text index has been written.
    pub(crate) fn has_index(&self) -> bool {
        self.folder.path().join(self.test_store.tenant.as_str()).join("meta.json").exists()
    }

    /// Deletes the search indexes.
    pub(crate) fn delete_indexes(&self) {
        for entry in std::fs::read_dir(self.folder.path()).unwrap() {
            let path = entry.unwrap().path();
            let removed =
                if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
            removed.unwrap();
        }
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value> {
        let answer = self.resolver.read(&self.caller, View::All, uri).await?;
        Ok(serde_json::from_slice(answer.read.contents[0].bytes()).unwrap())
    }

    /// The read set of a resource.
    pub(crate) async fn read_set(&self, uri: &str) -> ReadSet {
        let basis = self.resolver.read_set_of(&self.caller, View::All, uri).await.unwrap();
        basis.as_ref().clone()
    }

    pub(crate) async fn call_as(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<Value> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = self.resolver.call_tool(caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.structured_value().unwrap())
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.call_as(&self.caller, tool, arguments).await
    }

    pub(crate) async fn complete(&self, template: &str, variable: &str, prefix: &str) -> Vec<String> {
        let empty = serde_json::Map::new();
        let query = CompletionQuery {
            target: CompletionTarget::Template(template),
            variable,
            prefix,
            context: &empty,
        };
        self.resolver.complete(&self.caller, View::All, query).await.unwrap().values
    }

    pub(crate) async fn prompt(&self, name: &str, arguments: Value) -> Result<Vec<Message>> {
        let arguments = arguments.as_object().unwrap().clone();
        self.resolver
            .get_prompt(&self.caller, View::All, name, &arguments)
            .await
            .map(|(_, messages)| messages)
    }
}
