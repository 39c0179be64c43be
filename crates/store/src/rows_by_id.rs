//! Rows that a tenant finds by a number, many at a time: the nodes of a graph by their ids.
//!
//! PostgreSQL is asked for many at once, since each question is a journey. SQLite is asked for one after the other, which costs
//! less than a list: a list becomes a table of its own, made and thrown away. And where it keeps rows under numbers of its own
//! (`rowid`) it is asked for those: its index of our numbers is a second tree, as deep as the first.

use std::sync::OnceLock;

use quad_core::TenantId;

use crate::{DbError, Row, Sql, Value, batch};

/// Some columns of a table that has a `tenant_id` and, within a tenant, unique numbers.
pub struct IdQuery {
    table: &'static str,
    id_column: &'static str,
    columns: &'static str,
    statements: OnceLock<IdQuerySql>,
}

/// The statements, put together once; the last two are SQLite's alone.
struct IdQuerySql {
    by_id_lists: [String; batch::SIZES.len()],
    by_id: String,
    by_rowid: String,
}

impl IdQuery {
    /// These columns of the rows of `table`, which are found by the column `number`.
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

    /// The row of a number with its place before the columns: parameters are the tenant and the number.
    pub(crate) fn by_id_sql(&self) -> &str {
        &self.statements().by_id
    }

    /// The same where the place is known, or believed to be: parameters are the tenant, the number and the place.
    pub(crate) fn by_rowid_sql(&self) -> &str {
        &self.statements().by_rowid
    }
}

/// Asks for many rows at once.
pub(crate) fn rows_by_id_lists<S: Sql + ?Sized>(
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

/// Where the row of a number lies, as far as one can tell from those that were found before it. SQLite gives out places in the
/// order in which rows come, and so does a tenant its numbers: where nobody else's rows came in between, a row's place is as far from
/// its number as its neighbour's is. It is only a guess, and whoever looks there asks for the number as well.
#[derive(Default)]
pub(crate) struct RowidPredictor {
    table: &'static str,
    tenant: Option<TenantId>,
    offset: i64,
    /// Whether two rows running were as far from their numbers; otherwise it is not worth looking.
    is_confident: bool,
}

impl RowidPredictor {
    /// Turns to the rows of a table and a tenant. What is known of others is forgotten.
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

    /// Where the row may be.
    pub(crate) fn predict(&self, id: i64) -> Option<i64> {
        id.checked_add(self.offset).filter(|_| self.is_confident)
    }

    /// The row was not where it might have been.
    pub(crate) fn miss(&mut self) {
        self.is_confident = false;
    }

    /// The row is here.
    pub(crate) fn learn(&mut self, id: i64, rowid: i64) {
        let offset = rowid.wrapping_sub(id);
        self.is_confident = offset == self.offset;
        self.offset = offset;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What SQLite intends to do.
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
