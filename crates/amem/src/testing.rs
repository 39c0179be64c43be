//! Test support: the scheme behind a real resolver on every available backend.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use quad_core::{Resolver, Result, Scheme};
use quad_store::testing::{TestEnv, TestStore, stores};
use quad_store::{Component, Store};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::tools::result_tests::assert_matches_schema;
use crate::{Amem, COMPONENT};

/// The shared test environment with the folder of the search indexes.
pub(crate) struct MemoryEnv {
    pub(crate) env: TestEnv<Amem>,
    folder: Arc<TempDir>,
}

impl Deref for MemoryEnv {
    type Target = TestEnv<Amem>;

    fn deref(&self) -> &TestEnv<Amem> {
        &self.env
    }
}

impl DerefMut for MemoryEnv {
    fn deref_mut(&mut self) -> &mut TestEnv<Amem> {
        &mut self.env
    }
}

/// An empty memory on each backend.
pub(crate) async fn test_envs() -> Vec<MemoryEnv> {
    test_envs_of(COMPONENT).await
}

/// An empty memory with the tables of another version on each backend.
pub(crate) async fn test_envs_of(component: Component) -> Vec<MemoryEnv> {
    stores(&[component]).await.unwrap().into_iter().map(MemoryEnv::new).collect()
}

/// A memory with four nodes on each backend: a fact, a decision, an inference and a correction of the fact.
pub(crate) async fn test_envs_with_data() -> Vec<MemoryEnv> {
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

impl MemoryEnv {
    fn new(test_store: TestStore) -> MemoryEnv {
        let folder = Arc::new(tempfile::tempdir().unwrap());
        let amem = Amem::new(test_store.store.clone(), folder.path());
        MemoryEnv { env: TestEnv::new(test_store, amem).unwrap(), folder }
    }

    /// Calls a tool; its structured result, which has to match the output schema of the tool.
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        let result = self.env.call(tool, arguments).await?;
        assert_matches_schema(tool, &result);
        Ok(result)
    }

    /// The same data and index folder in another process.
    pub(crate) async fn reopen_same_dir(&self) -> MemoryEnv {
        self.reopen_in(self.folder.clone()).await
    }

    /// The same data on another machine, with an index folder of its own.
    pub(crate) async fn reopen_other_dir(&self) -> MemoryEnv {
        self.reopen_in(Arc::new(tempfile::tempdir().unwrap())).await
    }

    async fn reopen_in(&self, folder: Arc<TempDir>) -> MemoryEnv {
        let store = Store::open(self.test_store.location.clone(), &[COMPONENT]).await.unwrap();
        let (scheme, store) = (Arc::new(Amem::new(store.clone(), folder.path())), Arc::new(store));
        let resolver = Resolver::new(vec![scheme.clone() as Arc<dyn Scheme>], store.clone(), store).unwrap();
        let (test_store, caller) = (self.test_store.clone(), self.caller.clone());
        MemoryEnv { env: TestEnv { test_store, scheme, resolver, caller }, folder }
    }

    /// The violations that the integrity check finds.
    pub(crate) async fn violations(&self) -> Vec<String> {
        let report = self.scheme.check_integrity(&self.test_store.tenant).await.unwrap();
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
}
