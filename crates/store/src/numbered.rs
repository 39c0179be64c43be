//! Rows that a tenant finds by a number, many at a time: the nodes of a graph by their ids.
//!
//! PostgreSQL is asked for many at once, since each question is a journey. SQLite is asked for one after the other, which costs
//! less than a list: a list becomes a table of its own, made and thrown away. And where it keeps rows under numbers of its own
//! (`rowid`) it is asked for those: its index of our numbers is a second tree, as deep as the first.

use std::sync::OnceLock;

use quad_core::TenantId;

use crate::{DbError, Row, Sql, Value, batch};

/// Some columns of a table that has a `tenant_id` and, within a tenant, unique numbers.
pub struct Numbered {
    table: &'static str,
    number: &'static str,
    columns: &'static str,
    texts: OnceLock<Texts>,
}

/// The statements, put together once; the last two are SQLite's alone.
struct Texts {
    lists: [String; batch::SIZES.len()],
    by_number: String,
    by_place: String,
}

impl Numbered {
    /// These columns of the rows of `table`, which are found by the column `number`.
    pub const fn new(table: &'static str, number: &'static str, columns: &'static str) -> Numbered {
        Numbered { table, number, columns, texts: OnceLock::new() }
    }

    fn texts(&self) -> &Texts {
        let Numbered { table, number, columns, .. } = self;
        self.texts.get_or_init(|| Texts {
            lists: batch::SIZES.map(|size| {
                let list = batch::list(size, 2);
                format!("SELECT {columns} FROM {table} WHERE tenant_id = $1 AND {number} IN ({list})")
            }),
            by_number: format!("SELECT rowid, {columns} FROM {table} WHERE tenant_id = ?1 AND {number} = ?2"),
            by_place: format!(
                "SELECT rowid, {columns} FROM {table} WHERE rowid = ?3 AND tenant_id = ?1 AND {number} = ?2"
            ),
        })
    }

    /// The row of a number with its place before the columns: parameters are the tenant and the number.
    pub(crate) fn by_number(&self) -> &str {
        &self.texts().by_number
    }

    /// The same where the place is known, or believed to be: parameters are the tenant, the number and the place.
    pub(crate) fn by_place(&self) -> &str {
        &self.texts().by_place
    }
}

/// Asks for many rows at once.
pub(crate) fn by_lists<S: Sql + ?Sized>(
    sql: &mut S,
    rows: &Numbered,
    numbers: &[i64],
) -> Result<Vec<Row>, DbError> {
    let mut found = Vec::with_capacity(numbers.len());
    for piece in batch::pieces(numbers) {
        let mut cells = Vec::with_capacity(1 + piece.len());
        cells.push(Value::from(sql.tenant().as_str()));
        cells.extend(piece.iter().map(|number| Value::Int(*number)));
        let texts = rows.texts().lists.iter().zip(batch::SIZES);
        for (text, _) in texts.filter(|(_, size)| *size == piece.len()) {
            found.extend(sql.query(text, &cells)?);
        }
    }
    Ok(found)
}

/// Where the row of a number lies, as far as one can tell from those that were found before it. SQLite gives out places in the
/// order in which rows come, and so does a tenant its numbers: where nobody else's rows came in between, a row's place is as far from
/// its number as its neighbour's is. It is only a guess, and whoever looks there asks for the number as well.
#[derive(Default)]
pub(crate) struct Guess {
    table: &'static str,
    tenant: Option<TenantId>,
    distance: i64,
    /// Whether two rows running were as far from their numbers; otherwise it is not worth looking.
    is_likely: bool,
}

impl Guess {
    /// Turns to the rows of a table and a tenant. What is known of others is forgotten.
    pub(crate) fn turn_to(&mut self, rows: &Numbered, tenant: &TenantId) {
        if self.table != rows.table || self.tenant.as_ref() != Some(tenant) {
            *self = Guess { table: rows.table, tenant: Some(tenant.clone()), distance: 0, is_likely: false };
        }
    }

    /// Where the row may be.
    pub(crate) fn place_of(&self, number: i64) -> Option<i64> {
        number.checked_add(self.distance).filter(|_| self.is_likely)
    }

    /// The row was not where it might have been.
    pub(crate) fn was_wrong(&mut self) {
        self.is_likely = false;
    }

    /// The row is here.
    pub(crate) fn found(&mut self, number: i64, place: i64) {
        let distance = place.wrapping_sub(number);
        self.is_likely = distance == self.distance;
        self.distance = distance;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What SQLite intends to do.
    fn plan(database: &rusqlite::Connection, text: &str) -> String {
        let explained = format!("EXPLAIN QUERY PLAN {text}");
        database.query_row(&explained, ["t", "1", "1"].map(Some), |row| row.get(3)).unwrap()
    }

    #[test]
    fn a_place_is_looked_at_and_a_number_is_looked_up() {
        static ROWS: Numbered = Numbered::new("node", "id", "text");
        let database = rusqlite::Connection::open_in_memory().unwrap();
        database
            .execute_batch(
                "CREATE TABLE node (tenant_id TEXT NOT NULL, id BIGINT NOT NULL, text TEXT, PRIMARY KEY (tenant_id, id))",
            )
            .unwrap();
        assert_eq!(plan(&database, ROWS.by_place()), "SEARCH node USING INTEGER PRIMARY KEY (rowid=?)");
        let by_number = ROWS.by_number().replace("?2", "?2 AND ?3 = ?3");
        assert_eq!(
            plan(&database, &by_number),
            "SEARCH node USING INDEX sqlite_autoindex_node_1 (tenant_id=? AND id=?)"
        );
    }

    #[test]
    fn a_guess_wants_two_that_agree() {
        static ROWS: Numbered = Numbered::new("node", "id", "text");
        static OTHERS: Numbered = Numbered::new("edge", "id", "text");
        let (one, other) = (TenantId::system(), TenantId::new("other"));
        let mut guess = Guess::default();
        guess.turn_to(&ROWS, &one);
        assert_eq!(guess.place_of(5), None);
        guess.found(5, 105);
        assert_eq!(guess.place_of(6), None);
        guess.found(9, 109);
        assert_eq!(guess.place_of(6), Some(106));
        assert_eq!(guess.place_of(i64::MAX), None);
        guess.turn_to(&ROWS, &one);
        assert_eq!(guess.place_of(6), Some(106));
        guess.was_wrong();
        assert_eq!(guess.place_of(6), None);
        guess.found(6, 106);
        assert_eq!(guess.place_of(7), Some(107));
        guess.turn_to(&OTHERS, &one);
        assert_eq!(guess.place_of(7), None);
        guess.turn_to(&ROWS, &other);
        assert_eq!(guess.place_of(7), None);
    }
}
