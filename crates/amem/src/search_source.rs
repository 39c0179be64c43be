//! The graph as the search engine reads it: nodes by ascending id, and deleted ids.

use std::collections::BTreeSet;

use quad_core::{Error, Result, TenantId};
use quad_store::{Row, Sql, Store, Value as Cell, batch, params};
use tokio::runtime::Handle;

use crate::conversation;
use crate::search::docs::{DocPage, PageRequest, SessionPlace};
use crate::search::{Doc, DocSnapshot, DocSource};
use crate::vectors;

/// The nodes of one snapshot.
pub(crate) struct SnapshotDocs<'s> {
    pub sql: &'s mut dyn Sql,
    /// Whether superseded nodes are visible.
    pub include_superseded: bool,
}

const SELECT_DOCS: &str = "SELECT n.id, n.event_type, n.session_id, n.created_at, n.content, v.vector FROM amem_node n \
    LEFT JOIN amem_vector v ON v.tenant_id = n.tenant_id AND v.node_id = n.id WHERE n.tenant_id = $1";

/// Two lookups in the index of sessions for each node. The nodes themselves must come from the primary key: without
/// `created_at`, the index of sessions has all columns, and SQLite would read all of the tenant's entries in it.
const SELECT_PLACES: &str = "SELECT n.id, \
    (SELECT MAX(p.id) FROM amem_node p WHERE p.tenant_id = n.tenant_id AND p.session_id = n.session_id AND p.id < n.id), \
    (SELECT MIN(p.id) FROM amem_node p WHERE p.tenant_id = n.tenant_id AND p.session_id = n.session_id AND p.id > n.id), \
    n.created_at FROM amem_node n";

/// The numbers of ids in one statement: few, since each connection keeps one statement for each.
const STATEMENT_IDS: [usize; 3] = [64, 8, 1];

fn doc_from_row(row: &Row) -> Result<Doc> {
    Ok(Doc {
        id: u64::try_from(row.int(0)?).unwrap_or_default(),
        event_type: u8::try_from(row.int(1)?).unwrap_or_default(),
        session_id: u32::try_from(row.int(2)?).unwrap_or_default(),
        created_at: row.int(3)?,
        content: conversation::searchable_text(row.text(4)?),
        vector: None,
    })
}

fn doc_with_vector_from_row(row: &Row) -> Result<Doc> {
    let vector = match row.value(5) {
        Cell::Blob(bytes) => Some(vectors::decode(bytes)),
        _ => None,
    };
    Ok(Doc { vector, ..doc_from_row(row)? })
}

impl SnapshotDocs<'_> {
    fn visible_condition(&self) -> &'static str {
        if self.include_superseded { "" } else { " AND n.superseded_by IS NULL" }
    }

    /// Runs a query on nodes (`n`) for these ids, in as few statements as possible.
    fn query_by_ids(
        &mut self,
        select: &str,
        ids: &[u64],
        condition: &str,
        mut on_row: impl FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let tenant = self.sql.tenant().clone();
        for chunk in ids.chunks(STATEMENT_IDS[0]) {
            // The last id is repeated, which adds no row, up to a size for which the connection keeps a statement.
            let size = STATEMENT_IDS.into_iter().rfind(|size| *size >= chunk.len()).unwrap_or(chunk.len());
            let padded = chunk.iter().chain(chunk.last().into_iter().cycle()).take(size);
            let mut cells = vec![Cell::from(tenant.as_str())];
            cells.extend(padded.map(|id| Cell::Int(i64::try_from(*id).unwrap_or(i64::MAX))));
            let placeholders = batch::placeholders(size, 2);
            let query = format!("{select} WHERE n.tenant_id = $1 AND n.id IN ({placeholders}){condition}");
            for row in &self.sql.query(&query, &cells)? {
                on_row(row)?;
            }
        }
        Ok(())
    }

    /// The nodes with these ids that meet a condition, without their vectors.
    fn load(&mut self, ids: &[u64], condition: &str) -> Result<Vec<Doc>> {
        let mut docs = Vec::with_capacity(ids.len());
        let select = "SELECT n.id, n.event_type, n.session_id, n.created_at, n.content FROM amem_node n";
        self.query_by_ids(select, ids, condition, |row| {
            docs.push(doc_from_row(row)?);
            Ok(())
        })?;
        Ok(docs)
    }
}

impl DocSnapshot for SnapshotDocs<'_> {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> Result<Vec<Doc>> {
        let tenant = self.sql.tenant().clone();
        let after = id.map_or(-1, |id| i64::try_from(id).unwrap_or(i64::MAX));
        let rows = self.sql.query(
            &format!("{SELECT_DOCS} AND n.id > $2 ORDER BY n.id LIMIT $3"),
            params![tenant.as_str(), after, limit as i64],
        )?;
        rows.iter().map(doc_with_vector_from_row).collect()
    }

    fn get(&mut self, ids: &[u64]) -> Result<Vec<Doc>> {
        self.load(ids, "")
    }

    fn get_visible(&mut self, ids: &[u64]) -> Result<Vec<Doc>> {
        let condition = self.visible_condition();
        self.load(ids, condition)
    }

    fn session_neighbors(&mut self, ids: &[u64]) -> Result<Vec<SessionPlace>> {
        let mut places = Vec::with_capacity(ids.len());
        let id_at = |row: &Row, column| u64::try_from(row.int(column)?).map_err(Error::internal);
        self.query_by_ids(SELECT_PLACES, ids, "", |row| {
            let place_at = |column| match row.value(column) {
                Cell::Null => Ok(None),
                _ => id_at(row, column).map(Some),
            };
            places.push(SessionPlace { id: id_at(row, 0)?, previous: place_at(1)?, next: place_at(2)? });
            Ok(())
        })?;
        Ok(places)
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
        let mut visible = BTreeSet::new();
        let condition = self.visible_condition();
        self.query_by_ids("SELECT n.id FROM amem_node n", ids, condition, |row| {
            visible.insert(u64::try_from(row.int(0)?).unwrap_or_default());
            Ok(())
        })?;
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
