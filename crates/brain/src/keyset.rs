//! Pages of a list: ranges of an index, from a key on.
//!
//! A page never counts rows away. What the index does not know is filtered after it, over a bounded number of rows; a page
//! may then be short and still go on.

use quad_core::{Result, cursor};
use quad_store::{Row, Sql, Value as Cell};

use crate::limits;
use crate::noun::Noun;
use crate::refusal::invalid;

/// Where the next page begins: the sort key and the id of the last row that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub sort: Sort,
    pub id: String,
}

/// What a list is sorted by before the id.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Sort {
    Time(i64),
    Text(String),
}

impl Sort {
    fn cell(&self) -> Cell {
        match self {
            Sort::Time(time) => (*time).into(),
            Sort::Text(text) => text.as_str().into(),
        }
    }
}

impl Key {
    /// The cursor of a list that goes on after this key.
    pub(crate) fn cursor(&self, list: &str) -> String {
        let sort = match &self.sort {
            Sort::Time(time) => format!("t{time}"),
            Sort::Text(text) => format!("x{text}"),
        };
        cursor::encode(list, &format!("{}\n{sort}", self.id))
    }

    /// The key in a cursor of that list.
    pub(crate) fn decode(list: &str, cursor: Option<&str>) -> Result<Option<Key>> {
        let Some(cursor) = cursor else { return Ok(None) };
        let text = cursor::decode(list, cursor)?;
        let wrong = || invalid("cursor", "is not one that this list gave out");
        let (id, sort) = text.split_once('\n').ok_or_else(wrong)?;
        let sort = match sort.split_at_checked(1) {
            Some(("t", time)) => Sort::Time(time.parse().map_err(|_| wrong())?),
            Some(("x", text)) => Sort::Text(text.to_owned()),
            _ => return Err(wrong()),
        };
        Ok(Some(Key { sort, id: id.to_owned() }))
    }
}

/// Which range of which index.
#[derive(Clone, Debug)]
pub(crate) struct Range {
    /// Columns that are fixed, in the index's order, and their values.
    pub equal: Vec<(&'static str, Cell)>,
    /// The column that the range is sorted by, then by id.
    pub by: &'static str,
    /// The greatest first.
    pub falling: bool,
    /// Bounds of that column, inclusive.
    pub least: Option<Cell>,
    /// The other bound.
    pub most: Option<Cell>,
}

impl Range {
    pub(crate) fn by(column: &'static str, falling: bool) -> Range {
        Range { equal: Vec::new(), by: column, falling, least: None, most: None }
    }

    pub(crate) fn equal(mut self, column: &'static str, value: impl Into<Cell>) -> Range {
        self.equal.push((column, value.into()));
        self
    }

    pub(crate) fn least(mut self, value: Option<impl Into<Cell>>) -> Range {
        self.least = value.map(Into::into);
        self
    }

    pub(crate) fn most(mut self, value: Option<impl Into<Cell>>) -> Range {
        self.most = value.map(Into::into);
        self
    }

    /// Keys of the range after a key.
    pub(crate) fn keys<N: Noun>(
        &self,
        sql: &mut dyn Sql,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Vec<Key>> {
        let (query, cells) = self.question::<N>(sql, &format!("{}, id", self.by), after, limit);
        let key = |row: &Row| {
            let sort = match row.value(0) {
                Cell::Text(text) => Sort::Text(text.to_string()),
                _ => Sort::Time(row.int(0)?),
            };
            Ok(Key { sort, id: row.text(1)?.to_owned() })
        };
        sql.query(&query, &cells)?.iter().map(key).collect()
    }

    /// The question for some columns of the range after a key.
    fn question<N: Noun>(
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
        // The key bounds one side already, and a second bound there could hide it from the planner.
        let (least, most) = match (after.is_some(), self.falling) {
            (true, true) => (self.least.as_ref(), None),
            (true, false) => (None, self.most.as_ref()),
            (false, _) => (self.least.as_ref(), self.most.as_ref()),
        };
        for (bound, operator) in [(least, ">="), (most, "<=")] {
            if let Some(bound) = bound {
                cells.push(bound.clone());
                query.push_str(&format!(" AND {} {operator} ${}", self.by, cells.len()));
            }
        }
        if let Some(after) = after {
            cells.push(after.sort.cell());
            cells.push(after.id.as_str().into());
            let operator = if self.falling { "<" } else { ">" };
            let (sort, id) = (cells.len() - 1, cells.len());
            query.push_str(&format!(" AND ({}, id) {operator} (${sort}, ${id})", self.by));
        }
        let order = if self.falling { "DESC" } else { "ASC" };
        cells.push((limit as i64).into());
        query.push_str(&format!(" ORDER BY {} {order}, id {order} LIMIT ${}", self.by, cells.len()));
        (query, cells)
    }
}

impl Rows for Range {
    fn rows<N: Noun>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>> {
        let (query, cells) = self.question::<N>(sql, N::columns(), after, limit);
        sql.query(&query, &cells)?.iter().map(N::from_row).collect()
    }
}

/// Rows in an order.
pub(crate) trait Rows {
    /// Those after a key.
    fn rows<N: Noun>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>>;

    /// A page of those rows that `keep` wants, and where the next one begins.
    fn page<N: Noun>(
        &self,
        sql: &mut dyn Sql,
        after: Option<Key>,
        limit: usize,
        key: impl Fn(&N) -> Key,
        keep: impl Fn(&N) -> bool,
    ) -> Result<(Vec<N>, Option<Key>)> {
        let mut kept = Vec::with_capacity(limit.min(limits::VISITED_STEP));
        let mut after = after;
        let mut visited = 0;
        loop {
            // One more than there is room for tells whether there are more. Once rows were passed over, more of them follow.
            let step =
                if visited == 0 { (limit + 1).min(limits::VISITED_STEP) } else { limits::VISITED_STEP };
            let rows: Vec<N> = self.rows(sql, after.as_ref(), step)?;
            let was_last = rows.len() < step;
            for row in rows {
                visited += 1;
                if keep(&row) {
                    if kept.len() == limit {
                        let next = kept.last().map(&key);
                        return Ok((kept, next));
                    }
                    after = Some(key(&row));
                    kept.push(row);
                } else {
                    after = Some(key(&row));
                }
            }
            if was_last {
                return Ok((kept, None));
            }
            if visited >= limits::VISITED {
                return Ok((kept, after));
            }
        }
    }
}
