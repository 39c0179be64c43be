//! Keyset pagination: pages are ranges of an index after a key.
//!
//! No query uses an offset. Filters that the index does not cover are applied to a bounded number of rows per page, so
//! a page may be short and still have a next one.

use quad_core::{Result, cursor};
use quad_store::{Row, Sql, Value as Cell};

use crate::entity::Entity;
use crate::errors::invalid;
use crate::limits;

/// The position after which the next page begins: sort value and id of the last row that was examined.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub sort: SortValue,
    pub id: String,
}

/// The sort value of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum SortValue {
    Time(i64),
    Text(String),
}

impl SortValue {
    fn to_cell(&self) -> Cell {
        match self {
            SortValue::Time(time) => (*time).into(),
            SortValue::Text(text) => text.as_str().into(),
        }
    }
}

impl Key {
    /// Encodes the key as a cursor of the list that `scope` identifies.
    pub(crate) fn encode(&self, scope: &str) -> String {
        let sort = match &self.sort {
            SortValue::Time(time) => format!("t{time}"),
            SortValue::Text(text) => format!("x{text}"),
        };
        cursor::encode(scope, &format!("{}\n{sort}", self.id))
    }

    /// Decodes a cursor of that list.
    pub(crate) fn decode(scope: &str, cursor: Option<&str>) -> Result<Option<Key>> {
        let Some(cursor) = cursor else { return Ok(None) };
        let text = cursor::decode(scope, cursor)?;
        let invalid_cursor = || {
            invalid("cursor", "does not belong to this list")
                .hint("Leave cursor out to start at the first page")
        };
        let (id, sort) = text.split_once('\n').ok_or_else(invalid_cursor)?;
        let sort = match sort.split_at_checked(1) {
            Some(("t", time)) => SortValue::Time(time.parse().map_err(|_| invalid_cursor())?),
            Some(("x", text)) => SortValue::Text(text.to_owned()),
            _ => return Err(invalid_cursor()),
        };
        Ok(Some(Key { sort, id: id.to_owned() }))
    }
}

/// A range of an index.
#[derive(Clone, Debug)]
pub(crate) struct IndexRange {
    /// Columns with a fixed value, in the order of the index.
    pub equal: Vec<(&'static str, Cell)>,
    /// The sort column; rows with equal values are sorted by id.
    pub sort_column: &'static str,
    /// Descending order.
    pub desc: bool,
    /// The inclusive lower bound of the sort column.
    pub min: Option<Cell>,
    /// The inclusive upper bound of the sort column.
    pub max: Option<Cell>,
}

impl IndexRange {
    pub(crate) fn order_by(column: &'static str, desc: bool) -> IndexRange {
        IndexRange { equal: Vec::new(), sort_column: column, desc, min: None, max: None }
    }

    pub(crate) fn equal(mut self, column: &'static str, value: impl Into<Cell>) -> IndexRange {
        self.equal.push((column, value.into()));
        self
    }

    pub(crate) fn at_least(mut self, value: Option<impl Into<Cell>>) -> IndexRange {
        self.min = value.map(Into::into);
        self
    }

    pub(crate) fn at_most(mut self, value: Option<impl Into<Cell>>) -> IndexRange {
        self.max = value.map(Into::into);
        self
    }

    /// The keys of the range after a key.
    pub(crate) fn keys<N: Entity>(
        &self,
        sql: &mut dyn Sql,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<Key>> {
        let (query, cells) = self.build_query::<N>(sql, &format!("{}, id", self.sort_column), after, limit);
        let key = |row: &Row| {
            let sort = match row.value(0) {
                Cell::Text(text) => SortValue::Text(text.to_string()),
                _ => SortValue::Time(row.int(0)?),
            };
            Ok(Key { sort, id: row.text(1)?.to_owned() })
        };
        sql.query(&query, &cells)?.iter().map(key).collect()
    }

    /// Builds the query for some columns of the range after a key.
    fn build_query<N: Entity>(
        &self,
        sql: &dyn Sql,
        columns: &str,
        after: Option<&Key>,
        limit: usize,
    ) -> (String, Vec<Cell>) {
        let mut cells: Vec<Cell> = vec![sql.tenant().as_str().into()];
        let mut query = format!("SELECT {columns} FROM {} WHERE tenant_id = $1", N::TABLE);
        for (column, value) in &self.equal {
            cells.push(value.clone());
            query.push_str(&format!(" AND {column} = ${}", cells.len()));
        }
        // The key bounds one side already; a second bound there could keep the planner from using the index.
        let (min, max) = match (after.is_some(), self.desc) {
            (true, true) => (self.min.as_ref(), None),
            (true, false) => (None, self.max.as_ref()),
            (false, _) => (self.min.as_ref(), self.max.as_ref()),
        };
        for (bound, operator) in [(min, ">="), (max, "<=")] {
            if let Some(bound) = bound {
                cells.push(bound.clone());
                query.push_str(&format!(" AND {} {operator} ${}", self.sort_column, cells.len()));
            }
        }
        if let Some(after) = after {
            cells.push(after.sort.to_cell());
            cells.push(after.id.as_str().into());
            let operator = if self.desc { "<" } else { ">" };
            let (sort, id) = (cells.len() - 1, cells.len());
            query.push_str(&format!(" AND ({}, id) {operator} (${sort}, ${id})", self.sort_column));
        }
        let order = if self.desc { "DESC" } else { "ASC" };
        cells.push((limit as i64).into());
        query.push_str(&format!(" ORDER BY {} {order}, id {order} LIMIT ${}", self.sort_column, cells.len()));
        (query, cells)
    }
}

impl RowSource for IndexRange {
    fn rows<N: Entity>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>> {
        let (query, cells) = self.build_query::<N>(sql, N::columns(), after, limit);
        sql.query(&query, &cells)?.iter().map(N::from_row).collect()
    }
}

/// A source of sorted rows.
pub(crate) trait RowSource {
    /// The rows after a key.
    fn rows<N: Entity>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>>;

    /// A page of the rows that `keep` accepts, and the key of the next page.
    fn page<N: Entity>(
        &self,
        sql: &mut dyn Sql,
        after: Option<Key>,
        limit: usize,
        key: impl Fn(&N) -> Key,
        matches: impl Fn(&N) -> bool,
    ) -> Result<(Vec<N>, Option<Key>)> {
        let mut items = Vec::with_capacity(limit.min(limits::SCAN_BATCH_ROWS));
        let mut after = after;
        let mut scanned = 0;
        loop {
            // One row beyond the page shows whether there are more. After rejected rows the batches grow.
            let batch_size =
                if scanned == 0 { (limit + 1).min(limits::SCAN_BATCH_ROWS) } else { limits::SCAN_BATCH_ROWS };
            let rows: Vec<N> = self.rows(sql, after.as_ref(), batch_size)?;
            let is_last_batch = rows.len() < batch_size;
            for row in rows {
                scanned += 1;
                if matches(&row) {
                    if items.len() == limit {
                        let next = items.last().map(&key);
                        return Ok((items, next));
                    }
                    after = Some(key(&row));
                    items.push(row);
                } else {
                    after = Some(key(&row));
                }
            }
            if is_last_batch {
                return Ok((items, None));
            }
            if scanned >= limits::MAX_ROWS_SCANNED {
                return Ok((items, after));
            }
        }
    }
}
