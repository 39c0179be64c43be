//! Rows of one table by their integer ids, many at once.
//!
//! PostgreSQL is asked for up to 64 at a time, since each statement is a round trip. SQLite is asked for one at a
//! time: a list of ids becomes a temporary table, which costs more. Where SQLite's own row number (`rowid`) can be
//! predicted, the row is looked up by it, because the index on our ids is a second tree, as deep as the table.

use std::sync::OnceLock;

use quad_core::TenantId;

use crate::{DbError, Row, Sql, Value, batch};

/// A query for some columns of a table that has a `tenant_id` and an integer id that is unique within a tenant.
pub struct IdQuery {
    table: &'static str,
    id_column: &'static str,
    columns: &'static str,
    statements: OnceLock<IdQuerySql>,
}

/// The statements, built once. The last two are for SQLite only.
struct IdQuerySql {
    by_id_lists: [String; batch::SIZES.len()],
    by_id: String,
    by_rowid: String,
}

impl IdQuery {
    /// `columns` of the rows of `table`, found by `id_column`.
    pub const fn new(table: &'static str, id_column: &'static str, columns: &'static str) -> IdQuery {
        IdQuery { table, id_column, columns, statements: OnceLock::new() }
    }

    fn statements(&self) -> &IdQuerySql {
        let IdQuery { table, id_column, columns, .. } = self;
        self.statements.get_or_init(|| IdQuerySql {
            by_id_lists: batch::SIZES.map(|size| {
                let list = batch::placeholders(size, 2);
                format!("SELECT {columns} FROM {table} WHERE tenant_id = $1 AND {id_column} IN ({list})")
            }),
            by_id: format!("SELECT rowid, {columns} FROM {table} WHERE tenant_id = ?1 AND {id_column} = ?2"),
            by_rowid: format!(
                "SELECT rowid, {columns} FROM {table} WHERE rowid = ?3 AND tenant_id = ?1 AND {id_column} = ?2"
            ),
        })
    }

    /// SQLite: the `rowid`, then the columns. Parameters: tenant, id.
    pub(crate) fn by_id_sql(&self) -> &str {
        &self.statements().by_id
    }

    /// SQLite: the same by a predicted `rowid`. Parameters: tenant, id, rowid. Without a row if the prediction is
    /// wrong.
    pub(crate) fn by_rowid_sql(&self) -> &str {
        &self.statements().by_rowid
    }
}

/// One query per chunk of ids, through [`Sql::query`].
pub(crate) fn query_in_chunks<S: Sql + ?Sized>(
    sql: &mut S,
    id_query: &IdQuery,
    ids: &[i64],
) -> Result<Vec<Row>, DbError> {
    let mut result_rows = Vec::with_capacity(ids.len());
    for chunk in batch::chunks(ids) {
        let mut values = Vec::with_capacity(1 + chunk.len());
        values.push(Value::from(sql.tenant().as_str()));
        values.extend(chunk.iter().map(|id| Value::Int(*id)));
        let statements = id_query.statements().by_id_lists.iter().zip(batch::SIZES);
        for (statement, _) in statements.filter(|(_, size)| *size == chunk.len()) {
            result_rows.extend(sql.query(statement, &values)?);
        }
    }
    Ok(result_rows)
}

/// Predicts the `rowid` of a row from its id. SQLite assigns rowids in insertion order, and a tenant assigns its ids
/// in the same order: as long as no other tenant inserts in between, the difference of the two is constant. The
/// statement that uses a prediction checks the id as well.
#[derive(Default)]
pub(crate) struct RowidPredictor {
    table: &'static str,
    tenant: Option<TenantId>,
    offset: i64,
    /// True if the last two rows had the same offset. Otherwise a prediction is not worth a query.
    is_confident: bool,
}

impl RowidPredictor {
    /// Starts again if the table or the tenant differs from that of the last call.
    pub(crate) fn reset_for(&mut self, id_query: &IdQuery, tenant: &TenantId) {
        if self.table != id_query.table || self.tenant.as_ref() != Some(tenant) {
            *self = RowidPredictor {
                table: id_query.table,
                tenant: Some(tenant.clone()),
                offset: 0,
                is_confident: false,
            };
        }
    }

    /// The likely `rowid`, if there is one.
    pub(crate) fn predict(&self, id: i64) -> Option<i64> {
        id.checked_add(self.offset).filter(|_| self.is_confident)
    }

    /// The prediction was wrong.
    pub(crate) fn miss(&mut self) {
        self.is_confident = false;
    }

    /// The row with this id has this `rowid`.
    pub(crate) fn learn(&mut self, id: i64, rowid: i64) {
        let offset = rowid.wrapping_sub(id);
        self.is_confident = offset == self.offset;
        self.offset = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SQLite's query plan.
    fn query_plan(database: &rusqlite::Connection, text: &str) -> String {
        let explained = format!("EXPLAIN QUERY PLAN {text}");
        database.query_row(&explained, ["t", "1", "1"].map(Some), |row| row.get(3)).unwrap()
    }

    #[test]
    fn rowid_sql_uses_primary_key_and_id_sql_uses_index() {
        static NODES_BY_ID: IdQuery = IdQuery::new("node", "id", "text");
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database
            .execute_batch(
                "CREATE TABLE node (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, text TEXT, PRIMARY KEY (tenant_id, id))",
            )
            .unwrap();
        assert_eq!(
            query_plan(&database, NODES_BY_ID.by_rowid_sql()),
            "SEARCH node USING INTEGER PRIMARY KEY (rowid=?)"
        );
        let by_id_sql = NODES_BY_ID.by_id_sql().replace("?2", "?2 AND ?3 = ?3");
        assert_eq!(
            query_plan(&database, &by_id_sql),
            "SEARCH node USING INDEX sqlite_autoindex_node_1 (tenant_id=? AND id=?)"
        );
    }

    #[test]
    fn rowid_is_predicted_after_two_equal_offsets() {
        static NODES_BY_ID: IdQuery = IdQuery::new("node", "id", "text");
        static EDGES_BY_ID: IdQuery = IdQuery::new("edge", "id", "text");
        let (tenant, other_tenant) = (TenantId::system(), TenantId::new("other"));
        let mut predictor = RowidPredictor::default();
        predictor.reset_for(&NODES_BY_ID, &tenant);
        assert_eq!(predictor.predict(5), None);
        predictor.learn(5, 105);
        assert_eq!(predictor.predict(6), None);
        predictor.learn(9, 109);
        assert_eq!(predictor.predict(6), Some(106));
        assert_eq!(predictor.predict(i64::MAX), None);
        predictor.reset_for(&NODES_BY_ID, &tenant);
        assert_eq!(predictor.predict(6), Some(106));
        predictor.miss();
        assert_eq!(predictor.predict(6), None);
        predictor.learn(6, 106);
        assert_eq!(predictor.predict(7), Some(107));
        predictor.reset_for(&EDGES_BY_ID, &tenant);
        assert_eq!(predictor.predict(7), None);
        predictor.reset_for(&NODES_BY_ID, &other_tenant);
        assert_eq!(predictor.predict(7), None);
    }
}
