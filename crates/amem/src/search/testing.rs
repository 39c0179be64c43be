//! Nodes in memory, for tests.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use quad_core::{Result, TenantId};

use super::docs::{Doc, DocPage, DocSnapshot, DocSource, PageRequest, SessionPlace};

/// The nodes of one snapshot.
#[derive(Clone, Default)]
pub(crate) struct TestDocs {
    docs: BTreeMap<u64, Doc>,
    next_id: u64,
    deleted: Vec<(i64, u64)>,
    hidden: Vec<u64>,
}

impl TestDocs {
    pub fn add(&mut self, content: &str) {
        self.add_doc(content, 0, 0, None);
    }

    pub fn add_with_vector(&mut self, content: &str, vector: Vec<f32>) {
        self.add_doc(content, 0, 0, Some(vector));
    }

    pub fn add_doc(&mut self, content: &str, event_type: u8, session_id: u32, vector: Option<Vec<f32>>) {
        let id = self.next_id;
        self.next_id += 1;
        let created_at = 1_000 + id as i64;
        let doc = Doc { id, event_type, session_id, created_at, content: content.to_owned(), vector };
        self.docs.insert(id, doc);
    }

    pub fn delete(&mut self, id: u64) {
        if self.docs.remove(&id).is_some() {
            self.deleted.push((self.deleted.len() as i64 * 2, id));
        }
    }

    pub fn hide(&mut self, id: u64) {
        self.hidden.push(id);
    }

    pub fn docs(&self) -> impl Iterator<Item = &Doc> {
        self.docs.values()
    }
}

impl DocSnapshot for TestDocs {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let first_id = id.map_or(0, |id| id.saturating_add(1));
        Ok(self.docs.range(first_id..).take(limit).map(|(_, doc)| doc.clone()).collect())
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        Ok(self
            .deleted
            .iter()
            .filter(|(position, _)| *position > after_position)
            .take(limit)
            .copied()
            .collect())
    }

    fn session_neighbors(&mut self, ids: &[u64]) -> Result<Vec<SessionPlace>> {
        let place = |id: &u64| {
            let session = self.docs.get(id)?.session_id;
            let in_session = |(_, doc): &(&u64, &Doc)| doc.session_id == session;
            let previous = self.docs.range(..id).rev().find(in_session).map(|(id, _)| *id);
            let next = self.docs.range(id + 1..).find(in_session).map(|(id, _)| *id);
            Some(SessionPlace { id: *id, previous, next })
        };
        Ok(ids.iter().filter_map(place).collect())
    }

    /// Reports deleted nodes as visible, unlike the real graph: the engine must filter them itself.
    fn visible(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        Ok(ids.iter().map(|id| !self.hidden.contains(id)).collect())
    }
}

/// Nodes that change between searches.
#[derive(Clone, Default)]
pub(crate) struct SharedTestDocs(pub Arc<Mutex<TestDocs>>);

impl SharedTestDocs {
    /// The nodes as of now.
    pub fn snapshot(&self) -> TestDocs {
        self.0.lock().unwrap().clone()
    }

    pub fn update(&self, operation: impl FnOnce(&mut TestDocs)) {
        operation(&mut self.0.lock().unwrap());
    }
}

impl DocSource for SharedTestDocs {
    fn read_page(&self, _: &TenantId, request: PageRequest) -> Result<DocPage> {
        DocPage::read(&mut self.snapshot(), request)
    }
}
