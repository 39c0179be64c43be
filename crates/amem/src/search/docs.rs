//! The interface between the search engine and the graph: two traits that the graph implements. The engine knows
//! nothing else of it.

use quad_core::{Result, TenantId};

use super::filter::DocMeta;

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Doc {
    /// The id.
    pub id: u64,
    /// The number of the event type, 0 to 5.
    pub event_type: u8,
    /// The session.
    pub session_id: u32,
    /// The creation time, in microseconds since 1970.
    pub created_at: i64,
    /// The text to search; it never changes.
    pub content: String,
    /// The vector that the caller supplied, if any.
    pub vector: Option<Vec<f32>>,
}

impl Doc {
    /// The fields that filters use.
    pub fn meta(&self) -> DocMeta {
        DocMeta { event_type: self.event_type, session_id: self.session_id, created_at: self.created_at }
    }
}

/// The nodes beside a node in its session, by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionPlace {
    /// The node.
    pub id: u64,
    /// The node before it in the same session.
    pub previous: Option<u64>,
    /// The node after it in the same session.
    pub next: Option<u64>,
}

/// A tenant's nodes in one snapshot of the database. Three properties hold across snapshots. Ids are assigned in
/// commit order, so a node that appears later has a greater id than all nodes before it. A node's text never
/// changes. A node that disappears is among the deleted ones.
pub trait DocSnapshot {
    /// The nodes with ids above `id` (all nodes for `None`), ascending, at most `limit`. Fewer than `limit` means
    /// that there are no more.
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>>;

    /// The nodes with these ids, in any order; missing ids are skipped. Their vectors may be left out.
    fn get(&mut self, ids: &[u64]) -> Result<Vec<Doc>> {
        let mut docs = Vec::with_capacity(ids.len());
        for id in ids {
            let next = self.docs_after(id.checked_sub(1), 1)?;
            docs.extend(next.into_iter().filter(|doc| doc.id == *id));
        }
        Ok(docs)
    }

    /// The deleted nodes as (position, id), for positions above `after_position`, ascending, at most `limit`. Each
    /// deletion has its own position; positions are assigned in commit order.
    fn deleted_after(&mut self, after_position: i64, limit: usize) -> Result<Vec<(i64, u64)>>;

    /// The places of these nodes in their sessions, in any order; missing ids are skipped.
    fn session_neighbors(&mut self, ids: &[u64]) -> Result<Vec<SessionPlace>>;

    /// For each id, whether the node exists and may be shown. The graph may hide nodes for its own reasons, such as
    /// a correction. Hidden hits do not count towards a page.
    fn visible(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        Ok(vec![true; ids.len()])
    }

    /// Those of the nodes with these ids that may be shown, in any order.
    fn get_visible(&mut self, ids: &[u64]) -> Result<Vec<Doc>> {
        let visible = self.visible(ids)?;
        let shown = ids.iter().zip(visible).filter(|(_, is_visible)| *is_visible).map(|(id, _)| *id);
        self.get(&shown.collect::<Vec<u64>>())
    }
}

/// Reads a tenant's nodes for the background indexer, outside of any request. Called on a thread that may block.
pub trait DocSource: Send + Sync {
    /// Reads a page from a new snapshot, with [`DocPage::read`].
    fn read_page(&self, tenant: &TenantId, request: PageRequest) -> Result<DocPage>;
}

/// A request for a page of nodes and deleted nodes: the arguments of [`DocSnapshot::docs_after`] and
/// [`DocSnapshot::deleted_after`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageRequest {
    /// Nodes above this id.
    pub after_id: Option<u64>,
    /// The maximum number of nodes.
    pub max_docs: usize,
    /// Deleted nodes above this position.
    pub after_position: i64,
    /// The maximum number of deleted nodes.
    pub max_deleted: usize,
}

/// Nodes and deleted nodes from one snapshot.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DocPage {
    /// Nodes, by ascending id.
    pub docs: Vec<Doc>,
    /// Deleted nodes, by ascending position.
    pub deleted: Vec<(i64, u64)>,
}

impl DocPage {
    /// Reads a page.
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

/// A source as a snapshot. Each call reads from a snapshot of its own.
pub(crate) struct SnapshotPerCall<'a> {
    pub source: &'a dyn DocSource,
    pub tenant: &'a TenantId,
}

impl DocSnapshot for SnapshotPerCall<'_> {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let request = PageRequest { after_id: id, max_docs: limit, after_position: i64::MAX, max_deleted: 0 };
        Ok(self.source.read_page(self.tenant, request)?.docs)
    }

    /// Indexing reads no sessions.
    fn session_neighbors(&mut self, _: &[u64]) -> Result<Vec<SessionPlace>> {
        Ok(Vec::new())
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        let request = PageRequest { after_id: None, max_docs: 0, after_position, max_deleted: limit };
        Ok(self.source.read_page(self.tenant, request)?.deleted)
    }
}
