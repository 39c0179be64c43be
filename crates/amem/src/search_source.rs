//! The graph as the search engine reads it: nodes by ascending id, and deleted ids.

use std::collections::BTreeSet;

use quad_core::{Result, TenantId};
use quad_store::{Row, Sql, Store, Value as Cell, batch, params};
use tokio::runtime::Handle;

use crate::search::docs::{DocPage, PageRequest};
use crate::search::{Doc, DocSnapshot, DocSource};
use crate::{conversation, vectors};

/// The nodes of one snapshot.
pub(crate) struct SnapshotDocs<'s> {
    pub sql: &'s mut dyn Sql,
    /// Whether superseded nodes are visible.
    pub include_superseded: bool,
}

const SELECT_DOCS: &str = "SELECT n.id, n.event_type, n.session_id, n.created_at, n.content, v.vector FROM amem_node n \
    LEFT JOIN amem_vector v ON v.tenant_id = n.tenant_id AND v.node_id = n.id WHERE n.tenant_id = $1";

fn doc_from_row(row: &Row) -> Result<Doc> {
    let vector = match row.value(5) {
        Cell::Blob(bytes) => Some(vectors::decode(bytes)),
        _ => None,
    };
    Ok(Doc {
        id: u64::try_from(row.int(0)?).unwrap_or_default(),
        event_type: u8::try_from(row.int(1)?).unwrap_or_default(),
        session_id: u32::try_from(row.int(2)?).unwrap_or_default(),
        created_at: row.int(3)?,
        content: conversation::searchable_text(row.text(4)?),
        vector,
    })
}

impl DocSnapshot for SnapshotDocs<'_> {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let tenant = self.sql.tenant().clone();
        let after = id.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let rows = self.sql.query(
            &format!("{SELECT_DOCS} AND n.id > $2 ORDER BY n.id LIMIT $3"),
            params![tenant.as_str(), after, limit as i64],
        )?;
        rows.iter().map(doc_from_row).collect()
    }

    fn get(&mut self, ids: &[u64]) -> Result<Vec<Doc>> {
        let tenant = self.sql.tenant().clone();
        let mut docs = Vec::with_capacity(ids.len());
        for chunk in batch::chunks(ids) {
            let placeholders = batch::placeholders(chunk.len(), 2);
            let mut cells = vec![Cell::from(tenant.as_str())];
            cells.extend(chunk.iter().map(|id| Cell::Int(i64::try_from(*id).unwrap_or(i64::MAX))));
            let rows = self.sql.query(&format!("{SELECT_DOCS} AND n.id IN ({placeholders})"), &cells)?;
            for row in &rows {
                docs.push(doc_from_row(row)?);
            }
        }
        Ok(docs)
    }

    fn deleted_after(&mut self, after_mark: i64, limit: usize) -> Result<Vec<(i64, u64)>> {
        let tenant = self.sql.tenant().clone();
        let rows = self.sql.query(
            "SELECT mark, node_id FROM amem_erased WHERE tenant_id = $1 AND mark > $2 ORDER BY mark LIMIT $3",
            params![tenant.as_str(), after_mark, limit as i64],
        )?;
        rows.iter().map(|row| Ok((row.int(0)?, u64::try_from(row.int(1)?).unwrap_or_default()))).collect()
    }

    fn visible(&mut self, ids: &[u64]) -> Result<Vec<bool>> {
        let tenant = self.sql.tenant().clone();
        let condition = if self.include_superseded { "" } else { " AND superseded_by IS NULL" };
        let mut visible = BTreeSet::new();
        for chunk in batch::chunks(ids) {
            let placeholders = batch::placeholders(chunk.len(), 2);
            let mut cells = vec![Cell::from(tenant.as_str())];
            cells.extend(chunk.iter().map(|id| Cell::Int(i64::try_from(*id).unwrap_or(i64::MAX))));
            let query = format!(
                "SELECT id FROM amem_node WHERE tenant_id = $1 AND id IN ({placeholders}){condition}"
            );
            for row in &self.sql.query(&query, &cells)? {
                visible.insert(u64::try_from(row.int(0)?).unwrap_or_default());
            }
        }
        Ok(ids.iter().map(|id| visible.contains(id)).collect())
    }
}

/// The store, for the engine's background thread.
pub(crate) struct StoreDocs {
    pub store: Store,
    pub runtime: Handle,
}

impl DocSource for StoreDocs {
    fn read_page(&self, tenant: &TenantId, request: PageRequest) -> Result<DocPage> {
        let page = self.store.read(tenant, move |sql| {
            DocPage::read(&mut SnapshotDocs { sql, include_superseded: true }, request)
        });
        self.runtime.block_on(page)
    }
}
