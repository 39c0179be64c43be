//! Nouns of the ledger: rows whose fields are named once, for the database, for the wire and for files.
//!
//! [`noun!`](crate::noun::noun) declares one. Each field is a [`Field`]: it knows its columns, its JSON and how it is read
//! from a line. Every noun also has a [`Standing`]: where it comes from and how sure we are.

use std::collections::HashSet;

use quad_core::{Result, Timestamp};
use quad_store::{Row, Sql, Tx, Value as Cell, batch};
use serde_json::{Map, Value};

use crate::limits;
use crate::refusal::{self, invalid};
use crate::standing::Standing;

/// What a field of a row can hold.
pub(crate) trait Field: Sized {
    /// How many columns it takes.
    const COLUMNS: usize = 1;

    /// The names of its columns.
    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(name.to_owned());
    }

    /// Its cells, one a column.
    fn cells(&self, cells: &mut Vec<Cell>);

    /// Reads it from a row, from column `at` on, and moves on.
    fn take(row: &Row, at: &mut usize) -> Result<Self>;

    /// As clients see it.
    fn show(&self) -> Value;

    /// Reads it from what somebody sent.
    fn read(field: &str, value: &Value) -> Result<Self>;

    /// What it is when nothing was sent.
    fn absent(field: &str) -> Result<Self> {
        Err(refusal::missing(field))
    }
}

/// The present column; moves to the next.
pub(crate) fn step(at: &mut usize) -> usize {
    let now = *at;
    *at += 1;
    now
}

impl Field for String {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push(self.as_str().into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<String> {
        Ok(row.text(step(at))?.to_owned())
    }

    fn show(&self) -> Value {
        self.as_str().into()
    }

    fn read(field: &str, value: &Value) -> Result<String> {
        let text = value.as_str().ok_or_else(|| invalid(field, "must be text"))?;
        if text.trim().is_empty() {
            return Err(invalid(field, "must not be empty"));
        }
        if text.len() > limits::TEXT_BYTES {
            return Err(invalid(field, format!("has at most {} bytes", limits::TEXT_BYTES)));
        }
        if text.contains('\0') {
            return Err(invalid(field, "must not hold the NUL character"));
        }
        Ok(text.to_owned())
    }
}

impl<T: Field> Field for Option<T> {
    const COLUMNS: usize = T::COLUMNS;

    fn columns(name: &str, columns: &mut Vec<String>) {
        T::columns(name, columns);
    }

    fn cells(&self, cells: &mut Vec<Cell>) {
        match self {
            Some(value) => value.cells(cells),
            None => cells.extend(std::iter::repeat_n(Cell::Null, T::COLUMNS)),
        }
    }

    fn take(row: &Row, at: &mut usize) -> Result<Option<T>> {
        if *row.value(*at) == Cell::Null {
            *at += T::COLUMNS;
            return Ok(None);
        }
        T::take(row, at).map(Some)
    }

    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::show)
    }

    fn read(field: &str, value: &Value) -> Result<Option<T>> {
        T::read(field, value).map(Some)
    }

    fn absent(_: &str) -> Result<Option<T>> {
        Ok(None)
    }
}

impl Field for Timestamp {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push((*self).into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<Timestamp> {
        Ok(Timestamp(row.int(step(at))?))
    }

    fn show(&self) -> Value {
        self.to_string().into()
    }

    fn read(field: &str, value: &Value) -> Result<Timestamp> {
        value
            .as_str()
            .and_then(Timestamp::parse)
            .ok_or_else(|| invalid(field, "must be a time such as 2025-09-14 or 2025-09-14T08:30:00Z"))
    }
}

/// A list of ids or words, stored as JSON.
impl Field for Vec<String> {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push(Value::from(self.as_slice()).to_string().into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<Vec<String>> {
        serde_json::from_str(row.text(step(at))?).map_err(quad_core::Error::internal)
    }

    fn show(&self) -> Value {
        self.as_slice().into()
    }

    fn read(field: &str, value: &Value) -> Result<Vec<String>> {
        let wrong = || invalid(field, format!("must be a list of at most {} texts", limits::LIST_TEXTS));
        let list = value.as_array().filter(|list| list.len() <= limits::LIST_TEXTS).ok_or_else(wrong)?;
        list.iter().map(|text| String::read(field, text)).collect()
    }

    fn absent(_: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Whatever the source has said beyond our fields, stored as JSON.
impl Field for Map<String, Value> {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push(Value::Object(self.clone()).to_string().into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<Map<String, Value>> {
        serde_json::from_str(row.text(step(at))?).map_err(quad_core::Error::internal)
    }

    fn show(&self) -> Value {
        Value::Object(self.clone())
    }

    fn read(field: &str, value: &Value) -> Result<Map<String, Value>> {
        let object = value.as_object().ok_or_else(|| invalid(field, "must be an object"))?;
        if value.to_string().len() > limits::METADATA_BYTES {
            return Err(invalid(field, format!("has at most {} bytes as JSON", limits::METADATA_BYTES)));
        }
        Ok(object.clone())
    }

    fn absent(_: &str) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }
}

impl Field for i64 {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push((*self).into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<i64> {
        Ok(row.int(step(at))?)
    }

    fn show(&self) -> Value {
        (*self).into()
    }

    fn read(field: &str, value: &Value) -> Result<i64> {
        value.as_i64().ok_or_else(|| invalid(field, "must be a whole number"))
    }

    fn absent(_: &str) -> Result<i64> {
        Ok(0)
    }
}

/// A share between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct Share(pub f64);

impl Field for Share {
    fn cells(&self, cells: &mut Vec<Cell>) {
        cells.push(self.0.into());
    }

    fn take(row: &Row, at: &mut usize) -> Result<Share> {
        Ok(Share(row.real(step(at))?))
    }

    fn show(&self) -> Value {
        self.0.into()
    }

    fn read(field: &str, value: &Value) -> Result<Share> {
        let share = value.as_f64().filter(|share| (0.0..=1.0).contains(share));
        share.map(|share| Share(share + 0.0)).ok_or_else(|| invalid(field, "must be a number from 0 to 1"))
    }
}

/// An id of a noun, as a field of another.
macro_rules! id_fields {
    ($($id:ident),+) => {$(
        impl Field for crate::ids::$id {
            fn cells(&self, cells: &mut Vec<Cell>) {
                cells.push(self.as_str().into());
            }

            fn take(row: &Row, at: &mut usize) -> Result<Self> {
                Ok(crate::ids::$id::stored(row.text(step(at))?))
            }

            fn show(&self) -> Value {
                self.as_str().into()
            }

            fn read(field: &str, value: &Value) -> Result<Self> {
                value.as_str().and_then(crate::ids::$id::parse).ok_or_else(|| {
                    invalid(field, "must be an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
                })
            }
        }
    )+};
}
id_fields!(
    AccountId,
    BalanceId,
    TransactionId,
    CounterpartyId,
    ObligationId,
    InvoiceId,
    CategoryId,
    TransferId,
    MatchId,
    PaymentIntentId,
    PolicyId
);

/// A row of the ledger.
pub(crate) trait Noun: Sized + Clone {
    /// Its table.
    const TABLE: &'static str;
    /// What it is called in files, questions and refusals.
    const KIND: &'static str;
    /// Its columns after the tenant's, joined by commas.
    fn columns() -> &'static str;
    /// How many they are.
    fn width() -> usize;
    /// Its id.
    fn id_text(&self) -> &str;
    /// Its standing.
    fn standing(&self) -> &Standing;
    /// To change it.
    fn standing_mut(&mut self) -> &mut Standing;
    /// Its cells after the tenant's.
    fn cells(&self) -> Vec<Cell>;
    /// Reads it.
    fn from_row(row: &Row) -> Result<Self>;
    /// As clients see it.
    fn show(&self, tenant: &str) -> Map<String, Value>;
    /// Reads it from a line of a file; `id` is what the line brings or a new one.
    fn from_line(line: &Map<String, Value>, standing: Standing) -> Result<Self>;
}

/// Declares a noun.
macro_rules! noun {
    (
        $(#[$doc:meta])*
        $name:ident, $kind:literal in $table:literal as $id:ident {
            $($(#[$field_doc:meta])* $field:ident $([$wire:literal])? : $ty:ty),+ $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            pub id: crate::ids::$id,
            $($(#[$field_doc])* pub $field: $ty,)+
            pub standing: crate::standing::Standing,
        }

        impl crate::noun::Noun for $name {
            const TABLE: &'static str = $table;
            const KIND: &'static str = $kind;

            fn columns() -> &'static str {
                static COLUMNS: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
                    let mut columns = vec!["id".to_owned()];
                    $(<$ty as crate::noun::Field>::columns(stringify!($field), &mut columns);)+
                    columns.extend(crate::standing::COLUMNS.iter().map(|column| (*column).to_owned()));
                    columns.join(", ")
                });
                &COLUMNS
            }

            fn width() -> usize {
                1 $(+ <$ty as crate::noun::Field>::COLUMNS)+ + crate::standing::COLUMNS.len()
            }

            fn id_text(&self) -> &str {
                self.id.as_str()
            }

            fn standing(&self) -> &crate::standing::Standing {
                &self.standing
            }

            fn standing_mut(&mut self) -> &mut crate::standing::Standing {
                &mut self.standing
            }

            fn cells(&self) -> Vec<quad_store::Value> {
                let mut cells = Vec::with_capacity(Self::width());
                cells.push(self.id.as_str().into());
                $(crate::noun::Field::cells(&self.$field, &mut cells);)+
                self.standing.cells(&mut cells);
                cells
            }

            fn from_row(row: &quad_store::Row) -> quad_core::Result<$name> {
                let mut at = 0;
                Ok($name {
                    id: crate::noun::Field::take(row, &mut at)?,
                    $($field: crate::noun::Field::take(row, &mut at)?,)+
                    standing: crate::standing::Standing::take(row, &mut at)?,
                })
            }

            fn show(&self, tenant: &str) -> serde_json::Map<String, serde_json::Value> {
                let mut shown = serde_json::Map::new();
                shown.insert("id".into(), self.id.as_str().into());
                $(shown.insert(crate::noun::noun!(@wire $field $($wire)?).into(), crate::noun::Field::show(&self.$field));)+
                shown.insert("owner_id".into(), tenant.into());
                self.standing.show(&mut shown);
                shown
            }

            fn from_line(
                line: &serde_json::Map<String, serde_json::Value>,
                standing: crate::standing::Standing,
            ) -> quad_core::Result<$name> {
                const KNOWN: &[&str] = &[$(crate::noun::noun!(@wire $field $($wire)?)),+];
                crate::noun::check_keys(line, KNOWN)?;
                let id = match line.get("id").filter(|id| !id.is_null()) {
                    Some(id) => crate::noun::Field::read("id", id)?,
                    None => crate::ids::$id::generate()?,
                };
                Ok($name {
                    id,
                    $($field: crate::noun::field(line, crate::noun::noun!(@wire $field $($wire)?))?,)+
                    standing,
                })
            }
        }
    };
    (@wire $field:ident) => { stringify!($field) };
    (@wire $field:ident $wire:literal) => { $wire };
}
pub(crate) use noun;

/// The fields of a line that every noun has, or that say what the line is.
const COMMON: &[&str] = &[
    "kind",
    "id",
    "owner_id",
    "tenant_id",
    "source_ids",
    "evidence_ids",
    "provenance",
    "confidence",
    "created_at",
    "updated_at",
    "payment_count",
    "payment_total",
    "operation",
];

/// Refuses a line with fields that its kind does not have.
pub(crate) fn check_keys(line: &Map<String, Value>, known: &[&'static str]) -> Result<()> {
    match line.keys().find(|key| !known.contains(&key.as_str()) && !COMMON.contains(&key.as_str())) {
        None => Ok(()),
        Some(stray) => Err(refusal::unknown("field of this kind", stray, stray, known)),
    }
}

/// One field of a line; null is as good as nothing.
pub(crate) fn field<T: Field>(line: &Map<String, Value>, name: &str) -> Result<T> {
    match line.get(name).filter(|value| !value.is_null()) {
        Some(value) => T::read(name, value),
        None => T::absent(name),
    }
}

/// The row of that id.
pub(crate) fn find<N: Noun>(sql: &mut dyn Sql, id: &str) -> Result<Option<N>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!("SELECT {} FROM {} WHERE tenant_id = $1 AND id = $2", N::columns(), N::TABLE);
    sql.query_opt(&query, &[tenant.into(), id.into()])?.as_ref().map(N::from_row).transpose()
}

/// The row of that id, or the refusal.
pub(crate) fn expect<N: Noun>(sql: &mut dyn Sql, id: &str) -> Result<N> {
    find(sql, id)?.ok_or_else(|| refusal::no_row(N::KIND, id))
}

/// The rows of several ids, as far as there are any.
pub(crate) fn find_many<N: Noun>(sql: &mut dyn Sql, ids: &[String]) -> Result<Vec<N>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut found = Vec::with_capacity(ids.len());
    for piece in batch::pieces(ids) {
        let query = format!(
            "SELECT {} FROM {} WHERE tenant_id = $1 AND id IN ({})",
            N::columns(),
            N::TABLE,
            batch::list(piece.len(), 2)
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
        cells.extend(piece.iter().map(|id| id.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            found.push(N::from_row(row)?);
        }
    }
    Ok(found)
}

/// Adds a row; false if its id, or whatever else must be unique, is there already.
pub(crate) fn insert<N: Noun>(tx: &mut Tx<'_>, row: &N) -> Result<bool> {
    Ok(insert_all(tx, std::slice::from_ref(row), Ids::Brought)? == [true])
}

/// Whether anybody can have a row's id already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ids {
    /// Nobody: it was made for the row.
    Fresh,
    /// It came with the row.
    Brought,
}

/// Inserts rows, and says of each whether it was not there: no other has its id or whatever else is there only once.
pub(crate) fn insert_all<N: Noun>(tx: &mut Tx<'_>, rows: &[N], ids: Ids) -> Result<Vec<bool>> {
    let tenant = tx.tenant().as_str().to_owned();
    let mut is_new = Vec::with_capacity(rows.len());
    for piece in batch::pieces(rows) {
        let mut cells: Vec<Cell> = Vec::with_capacity(1 + piece.len() * N::width());
        cells.push(tenant.as_str().into());
        for row in piece {
            cells.extend(row.cells());
        }
        let insert = format!(
            "INSERT INTO {} (tenant_id, {}) VALUES {} ON CONFLICT DO NOTHING",
            N::TABLE,
            N::columns(),
            batch::rows(piece.len(), 2, N::width(), "$1"),
        );
        let inserted = match ids {
            // A database that need not say which is a third faster.
            Ids::Fresh if tx.execute(&insert, &cells)? == piece.len() as u64 => {
                is_new.extend(std::iter::repeat_n(true, piece.len()));
                continue;
            }
            Ids::Fresh => {
                let query = format!(
                    "SELECT id FROM {} WHERE tenant_id = $1 AND id IN ({})",
                    N::TABLE,
                    batch::list(piece.len(), 2)
                );
                let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
                cells.extend(piece.iter().map(|row| row.id_text().into()));
                tx.query(&query, &cells)?
            }
            Ids::Brought => tx.query(&format!("{insert} RETURNING id"), &cells)?,
        };
        let mut inserted: HashSet<&str> = inserted.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
        // Of two rows with the same id the first is it.
        is_new.extend(piece.iter().map(|row| inserted.remove(row.id_text())));
    }
    Ok(is_new)
}

/// Puts a row in the place of the one of its id.
pub(crate) fn update<N: Noun>(tx: &mut Tx<'_>, row: &N) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    let columns: Vec<&str> = N::columns().split(", ").skip(1).collect();
    let assignments: Vec<String> =
        columns.iter().enumerate().map(|(index, column)| format!("{column} = ${}", index + 3)).collect();
    let statement =
        format!("UPDATE {} SET {} WHERE tenant_id = $1 AND id = $2", N::TABLE, assignments.join(", "));
    let mut cells: Vec<Cell> = vec![tenant.into()];
    cells.extend(row.cells());
    tx.execute(&statement, &cells)?;
    Ok(())
}
