//! The nodes, as the search engine needs them. The memory graph implements these two traits; nothing else of it is known
//! here.

use quad_core::{Result, TenantId};

use super::filter::DocMeta;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Doc {
    /// Its id.
    pub id: u64,
    /// The event type's number, 0 to 5.
    pub event_type: u8,
    /// The session that made it.
    pub session_id: u32,
    /// When, in microseconds since 1970.
    pub created_at: i64,
    /// Its text, which never changes.
    pub content: String,
    /// The vector that its caller gave, if any.
    pub vector: Option<Vec<f32>>,
}

impl Doc {
    /// What filters look at.
    pub fn meta(&self) -> DocMeta {
        DocMeta { event_type: self.event_type, session_id: self.session_id, created_at: self.created_at }
    }
}

/// One tenant's nodes in one snapshot of the database. Three promises hold across snapshots: ids are given in the order
/// of the commits, so a node that appears later has a greater id than every node that was there; a node's text never
/// changes; a node may vanish, and then it is among the erased.
pub trait DocSnapshot {
    /// The nodes with ids above `id` (all, if none), ascending, at most `limit`. Fewer than `limit` means that there are
    /// no more.
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>>;

    /// The nodes that were forgotten, as (mark, id), for marks above `after_mark`, ascending, at most `limit`. Each
    /// forgotten node has a mark of its own, and marks are given in the order of the commits.
    fn deleted_after(&mut self, after_position: i64, limit: usize) -> Result<Vec<(i64, u64)>>;

    /// For each of these ids whether it may be shown: it is there, and not hidden by what is no business of the engine's
    /// (such as a correction). Hits that may not be shown do not count towards a page.
    fn visible(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        Ok(vec![true; ids.len()])
    }
}

/// Where the engine reads a tenant's nodes when nobody is asking: the text index is written in the background. Called on a
/// thread of the engine's own, which may block.
pub trait DocSource: Send + Sync {
    /// Answers `ask` from one snapshot of now, as [`DocPage::of`] does it.
    fn read_page(&self, tenant: &TenantId, request: PageRequest) -> Result<DocPage>;
}

/// Which nodes, and which forgotten ones, are wanted: the arguments of [`DocSnapshot::after`] and [`DocSnapshot::erased`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Nodes above this id.
    pub after_id: Option<u64>,
    /// How many nodes at most.
    pub max_docs: usize,
    /// Forgotten nodes above this mark.
    pub after_position: i64,
    /// How many of these at most.
    pub max_deleted: usize,
}

/// Nodes, and forgotten ones, of one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocPage {
    /// Nodes, by ascending id.
    pub docs: Vec<Doc>,
    /// Forgotten nodes, by ascending mark.
    pub deleted: Vec<(i64, u64)>,
}

impl DocPage {
    /// Reads what is asked for.
    pub fn read(snapshot: &mut dyn DocSnapshot, request: PageRequest) -> Result<DocPage> {
        let docs = if request.max_docs > 0 {
            snapshot.docs_after(request.after_id, request.max_docs)?
        } else {
            Vec::new()
        };
        let deleted = if request.max_deleted > 0 {
            snapshot.deleted_after(request.after_position, request.max_deleted)?
        } else {
            Vec::new()
        };
        Ok(DocPage { docs, deleted })
    }
}

/// A source as a corpus, each of whose answers is of a snapshot of its own.
pub(crate) struct SnapshotPerCall<'a> {
    pub source: &'a dyn DocSource,
    pub tenant: &'a TenantId,
}

impl DocSnapshot for SnapshotPerCall<'_> {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let request = PageRequest { after_id: id, max_docs: limit, after_position: i64::MAX, max_deleted: 0 };
        Ok(self.source.read_page(self.tenant, request)?.docs)
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        let request = PageRequest { after_id: None, max_docs: 0, after_position, max_deleted: limit };
        Ok(self.source.read_page(self.tenant, request)?.deleted)
    }
}
