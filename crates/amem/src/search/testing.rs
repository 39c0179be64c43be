//! Nodes in memory, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use quad_core::{Result, TenantId};

use super::corpus::{Ask, Corpus, Doc, Extract, Source};

/// Some nodes, as of a moment.
#[derive(Clone, Default)]
pub(crate) struct Nodes {
    docs: BTreeMap<u64, Doc>,
    next: u64,
    erased: Vec<(i64, u64)>,
    hidden: Vec<u64>,
}

impl Nodes {
    pub fn add(&mut self, content: &str) {
        self.add_doc(content, 0, 0, None);
    }

    pub fn add_with_vector(&mut self, content: &str, vector: Vec<f32>) {
        self.add_doc(content, 0, 0, Some(vector));
    }

    pub fn add_doc(&mut self, content: &str, event_type: u8, session_id: u32, vector: Option<Vec<f32>>) {
        let id = self.next;
        self.next += 1;
        let created_at = 1_000 + id as i64;
        let doc = Doc { id, event_type, session_id, created_at, content: content.to_owned(), vector };
        self.docs.insert(id, doc);
    }

    pub fn forget(&mut self, id: u64) {
        if self.docs.remove(&id).is_some() {
            self.erased.push((self.erased.len() as i64 * 2, id));
        }
    }

    pub fn hide(&mut self, id: u64) {
        self.hidden.push(id);
    }

    pub fn docs(&self) -> impl Iterator<Item = &Doc> {
        self.docs.values()
    }
}

impl Corpus for Nodes {
    fn after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let from = id.map_or(0, |id| id.saturating_add(1));
        Ok(self.docs.range(from..).take(limit).map(|(_, doc)| doc.clone()).collect())
    }

    fn erased(&mut self, after_mark: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        Ok(self.erased.iter().filter(|(mark, _)| *mark > after_mark).take(limit).copied().collect())
    }

    /// Keeps what was forgotten, unlike a real graph: the engine has to know by itself.
    fn keep(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        Ok(ids.iter().map(|id| !self.hidden.contains(id)).collect())
    }
}

/// Nodes that change under an engine's eyes.
#[derive(Clone, Default)]
pub(crate) struct Shared(pub Arc<Mutex<Nodes>>);

impl Shared {
    /// The nodes as of now.
    pub fn now(&self) -> Nodes {
        self.0.lock().unwrap().clone()
    }

    pub fn change(&self, change: impl FnOnce(&mut Nodes)) {
        change(&mut self.0.lock().unwrap());
    }
}

impl Source for Shared {
    fn extract(&self, _: &TenantId, ask: Ask) -> Result<Extract> {
        Extract::of(&mut self.now(), ask)
    }
}
