//! The graph as the search engine reads it: nodes by rising id, and what was forgotten.

use std::collections::BTreeSet;

use quad_core::{Result, TenantId};
use quad_store::{Sql, Store, Value as Cell, batch, params};
use tokio::runtime::Handle;

use crate::conversation;
use crate::search::corpus::{Ask, Extract};
use crate::search::{Corpus, Doc, Source};

/// The nodes of one snapshot.
pub(crate) struct Nodes<'s> {
    pub sql: &'s mut dyn Sql,
    /// Whether nodes that another one supersedes may be shown.
    pub superseded: bool,
}

impl Corpus for Nodes<'_> {
    fn after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let tenant = self.sql.tenant().clone();
        let after = id.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let rows = self.sql.query(
            "SELECT n.id, n.event_type, n.session_id, n.created_at, n.content, v.vector FROM amem_node n \
             LEFT JOIN amem_vector v ON v.tenant_id = n.tenant_id AND v.node_id = n.id \
             WHERE n.tenant_id = $1 AND n.id > $2 ORDER BY n.id LIMIT $3",
            params![tenant.as_str(), after, limit as i64],
        )?;
        rows.iter()
            .map(|row| {
                let vector = match row.value(5) {
                    Cell::Blob(bytes) => Some(numbers(bytes)),
                    _ => None,
                };
                Ok(Doc {
                    id: u64::try_from(row.int(0)?).unwrap_or_default(),
                    event_type: u8::try_from(row.int(1)?).unwrap_or_default(),
                    session_id: u32::try_from(row.int(2)?).unwrap_or_default(),
                    created_at: row.int(3)?,
                    content: conversation::said(row.text(4)?),
                    vector,
                })
            })
            .collect()
    }

    fn erased(&mut self, after_mark: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        let tenant = self.sql.tenant().clone();
        let rows = self.sql.query(
            "SELECT mark, node_id FROM amem_erased WHERE tenant_id = $1 AND mark > $2 ORDER BY mark LIMIT $3",
            params![tenant.as_str(), after_mark, limit as i64],
        )?;
        rows.iter().map(|row| Ok((row.int(0)?, u64::try_from(row.int(1)?).unwrap_or_default()))).collect()
    }

    fn keep(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        let tenant = self.sql.tenant().clone();
        let condition = if self.superseded { "" } else { " AND superseded_by IS NULL" };
        let mut shown = BTreeSet::new();
        for piece in batch::chunks(ids) {
            let places = batch::placeholders(piece.len(), 2);
            let mut cells = vec![Cell::from(tenant.as_str())];
            cells.extend(piece.iter().map(|id| Cell::Int(i64::try_from(*id).unwrap_or(i64::MAX))));
            let query =
                format!("SELECT id FROM amem_node WHERE tenant_id = $1 AND id IN ({places}){condition}");
            for row in &self.sql.query(&query, &cells)? {
                shown.insert(u64::try_from(row.int(0)?).unwrap_or_default());
            }
        }
        Ok(ids.iter().map(|id| shown.contains(id)).collect())
    }
}

/// The numbers of a stored vector.
pub(crate) fn numbers(bytes: &[u8]) -> Vec<f32> {
    bytes.chunks_exact(4).map(|four| f32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect()
}

/// The store, for the engine's own thread.
pub(crate) struct Background {
    pub store: Store,
    pub runtime: Handle,
}

impl Source for Background {
    fn extract(&self, tenant: &TenantId, ask: Ask) -> Result<Extract> {
        let reading =
            self.store.read(tenant, move |sql| Extract::of(&mut Nodes { sql, superseded: true }, ask));
        self.runtime.block_on(reading)
    }
}
