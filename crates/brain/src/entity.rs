//! Entities: the row types of the ledger. Each field is declared once for the database, for JSON and for files.
//!
//! [`entity!`](crate::entity::entity) declares an entity. The type of each field implements [`Field`], which knows its
//! columns, its JSON and how to parse it. Every entity also has a [`RowMeta`]: its evidence, provenance and confidence.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use quad_core::Result;
use quad_store::{DbError, Row, Sql, Tx, Value as Cell, batch};
use serde_json::{Map, Value, json};

use crate::errors;
use crate::field::Field;
use crate::row_meta::RowMeta;

/// A row type of the ledger.
pub(crate) trait Entity: Sized + Clone {
    /// The table.
    const TABLE: &'static str;
    /// The name in files, tags, questions and errors.
    const KIND: &'static str;
    /// The columns without `tenant_id`, separated by commas.
    fn columns() -> &'static str;
    /// The number of these columns.
    fn column_count() -> usize;
    /// The id.
    fn id_text(&self) -> &str;
    /// Evidence, provenance, confidence and timestamps.
    fn meta(&self) -> &RowMeta;
    /// The same, mutable.
    fn meta_mut(&mut self) -> &mut RowMeta;
    /// The values of [`columns`](Entity::columns).
    fn column_values(&self) -> Vec<Cell>;
    /// Decodes a row with these columns.
    fn from_row(row: &Row) -> Result<Self>;
    /// The JSON that clients see.
    fn to_json(&self, tenant: &str) -> Map<String, Value>;
    /// The JSON Schemas of its fields, all of which are always there.
    fn field_schemas() -> Map<String, Value>;
    /// Parses a line of a file. The id is the one in the line, or a new one.
    fn from_line(line: &Map<String, Value>, meta: RowMeta) -> Result<Self>;
}

/// Declares an entity: `Name, "kind" in "table" as IdType { field ["json name"]: Type, … }`.
macro_rules! entity {
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
            pub meta: crate::row_meta::RowMeta,
        }

        impl crate::entity::Entity for $name {
            const TABLE: &'static str = $table;
            const KIND: &'static str = $kind;

            fn columns() -> &'static str {
                static COLUMNS: std::sync::LazyLock<String> = std::sync::LazyLock::new(|| {
                    let mut columns = vec!["id".to_owned()];
                    $(<$ty as crate::field::Field>::columns(stringify!($field), &mut columns);)+
                    columns.extend(crate::row_meta::COLUMNS.iter().map(|column| (*column).to_owned()));
                    columns.join(", ")
                });
                &COLUMNS
            }

            fn column_count() -> usize {
                1 $(+ <$ty as crate::field::Field>::COLUMNS)+ + crate::row_meta::COLUMNS.len()
            }

            fn id_text(&self) -> &str {
                self.id.as_str()
            }

            fn meta(&self) -> &crate::row_meta::RowMeta {
                &self.meta
            }

            fn meta_mut(&mut self) -> &mut crate::row_meta::RowMeta {
                &mut self.meta
            }

            fn column_values(&self) -> Vec<quad_store::Value> {
                let mut values = Vec::with_capacity(Self::column_count());
                values.push(self.id.as_str().into());
                $(crate::field::Field::bind(&self.$field, &mut values);)+
                self.meta.bind(&mut values);
                values
            }

            fn from_row(row: &quad_store::Row) -> quad_core::Result<$name> {
                let mut column = 0;
                Ok($name {
                    id: crate::field::Field::from_row(row, &mut column)?,
                    $($field: crate::field::Field::from_row(row, &mut column)?,)+
                    meta: crate::row_meta::RowMeta::from_row(row, &mut column)?,
                })
            }

            fn to_json(&self, tenant: &str) -> serde_json::Map<String, serde_json::Value> {
                let mut json = serde_json::Map::new();
                json.insert("id".into(), self.id.as_str().into());
                $(json.insert(crate::entity::entity!(@wire $field $($wire)?).into(), crate::field::Field::to_json(&self.$field));)+
                json.insert("owner_id".into(), tenant.into());
                self.meta.write_json(&mut json);
                json
            }

            fn field_schemas() -> serde_json::Map<String, serde_json::Value> {
                let mut schemas = serde_json::Map::new();
                schemas.insert("id".into(), <crate::ids::$id as crate::field::Field>::schema());
                $(schemas.insert(crate::entity::entity!(@wire $field $($wire)?).into(), <$ty as crate::field::Field>::schema());)+
                schemas.insert("owner_id".into(), <String as crate::field::Field>::schema());
                crate::row_meta::RowMeta::add_schemas(&mut schemas);
                schemas
            }

            fn from_line(
                line: &serde_json::Map<String, serde_json::Value>,
                meta: crate::row_meta::RowMeta,
            ) -> quad_core::Result<$name> {
                const FIELDS: &[&str] = &[$(crate::entity::entity!(@wire $field $($wire)?)),+];
                crate::entity::check_keys(line, FIELDS)?;
                let id = match line.get("id").filter(|id| !id.is_null()) {
                    Some(id) => crate::field::Field::from_json("id", id)?,
                    None => crate::ids::$id::generate()?,
                };
                Ok($name {
                    id,
                    $($field: crate::entity::parse_field(line, crate::entity::entity!(@wire $field $($wire)?))?,)+
                    meta,
                })
            }
        }
    };
    (@wire $field:ident) => { stringify!($field) };
    (@wire $field:ident $wire:literal) => { $wire };
}
pub(crate) use entity;

/// The JSON Schema of an object that has all of these fields.
pub(crate) fn object_schema(fields: Map<String, Value>) -> Value {
    let required: Vec<&String> = fields.keys().collect();
    json!({"type": "object", "required": required, "properties": fields})
}

/// Keys that a line of any kind may have. Some are ignored: they occur in the JSON that reads return.
const COMMON_KEYS: &[&str] = &[
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

/// Returns an error if a line has fields that its kind does not have.
pub(crate) fn check_keys(line: &Map<String, Value>, allowed: &[&'static str]) -> Result<()> {
    match line.keys().find(|key| !allowed.contains(&key.as_str()) && !COMMON_KEYS.contains(&key.as_str())) {
        None => Ok(()),
        Some(unknown_key) => Err(errors::unknown("field of this kind", unknown_key, unknown_key, allowed)),
    }
}

/// Parses one field of a line. Null counts as absent.
pub(crate) fn parse_field<T: Field>(line: &Map<String, Value>, name: &str) -> Result<T> {
    match line.get(name).filter(|value| !value.is_null()) {
        Some(value) => T::from_json(name, value),
        None => T::default_value(name),
    }
}

/// The row with this id.
pub(crate) fn find<N: Entity>(sql: &mut dyn Sql, id: &str) -> Result<Option<N>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!("SELECT {} FROM {} WHERE tenant_id = $1 AND id = $2", N::columns(), N::TABLE);
    sql.query_opt(&query, &[tenant.into(), id.into()])?.as_ref().map(N::from_row).transpose()
}

/// The row with this id, or a not-found error.
pub(crate) fn get<N: Entity>(sql: &mut dyn Sql, id: &str) -> Result<N> {
    find(sql, id)?.ok_or_else(|| errors::row_not_found(N::KIND, id))
}

/// The rows with these ids; missing ids are skipped.
pub(crate) fn find_many<N: Entity>(sql: &mut dyn Sql, ids: &[String]) -> Result<Vec<N>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut rows = Vec::with_capacity(ids.len());
    for chunk in batch::chunks(ids) {
        let query = format!(
            "SELECT {} FROM {} WHERE tenant_id = $1 AND id IN ({}) ORDER BY id",
            N::columns(),
            N::TABLE,
            batch::placeholders(chunk.len(), 2)
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
        cells.extend(chunk.iter().map(|id| id.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            rows.push(N::from_row(row)?);
        }
    }
    Ok(rows)
}

/// The rows with these ids by id, for rows that refer to them. Duplicate ids are loaded once; missing ids are skipped.
pub(crate) fn find_by_ids<'a, N: Entity>(
    sql: &mut dyn Sql,
    ids: impl IntoIterator<Item = &'a str>,
) -> Result<BTreeMap<String, N>> {
    let ids: BTreeSet<&str> = ids.into_iter().collect();
    let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
    let rows = find_many::<N>(sql, &ids)?;
    Ok(rows.into_iter().map(|row| (row.id_text().to_owned(), row)).collect())
}

/// The subset of these ids that exists.
pub(crate) fn existing_ids<N: Entity>(sql: &mut dyn Sql, ids: &[String]) -> Result<HashSet<String>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut existing = HashSet::with_capacity(ids.len());
    for chunk in batch::chunks(ids) {
        let query = format!(
            "SELECT id FROM {} WHERE tenant_id = $1 AND id IN ({})",
            N::TABLE,
            batch::placeholders(chunk.len(), 2)
        );
        let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
        cells.extend(chunk.iter().map(|id| id.as_str().into()));
        for row in &sql.query(&query, &cells)? {
            existing.insert(row.text(0)?.to_owned());
        }
    }
    Ok(existing)
}

/// Inserts a row. False if its id or another unique key exists already.
pub(crate) fn insert<N: Entity>(tx: &mut Tx<'_>, row: &N) -> Result<bool> {
    Ok(insert_all(tx, std::slice::from_ref(row), IdSource::Supplied)? == [true])
}

/// Whether the id was generated here (always new) or supplied by the caller (may exist).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdSource {
    /// Generated for the row.
    Generated,
    /// Supplied by the caller.
    Supplied,
}

/// Inserts rows. Returns for each row whether it was inserted; rows whose id or other unique key exists are skipped.
pub(crate) fn insert_all<N: Entity>(tx: &mut Tx<'_>, rows: &[N], id_source: IdSource) -> Result<Vec<bool>> {
    let tenant = tx.tenant().as_str().to_owned();
    let mut is_new = Vec::with_capacity(rows.len());
    for chunk in batch::chunks(rows) {
        let mut cells: Vec<Cell> = Vec::with_capacity(1 + chunk.len() * N::column_count());
        cells.push(tenant.as_str().into());
        for row in chunk {
            cells.extend(row.column_values());
        }
        let insert = format!(
            "INSERT INTO {} (tenant_id, {}) VALUES {} ON CONFLICT DO NOTHING",
            N::TABLE,
            N::columns(),
            batch::values_placeholders(chunk.len(), 2, N::column_count(), "$1"),
        );
        let inserted = match id_source {
            // Without `RETURNING` the insert takes a third less time.
            IdSource::Generated if tx.execute(&insert, &cells)? == chunk.len() as u64 => {
                is_new.extend(std::iter::repeat_n(true, chunk.len()));
                continue;
            }
            IdSource::Generated => {
                let query = format!(
                    "SELECT id FROM {} WHERE tenant_id = $1 AND id IN ({})",
                    N::TABLE,
                    batch::placeholders(chunk.len(), 2)
                );
                let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
                cells.extend(chunk.iter().map(|row| row.id_text().into()));
                tx.query(&query, &cells)?
            }
            IdSource::Supplied => tx.query(&format!("{insert} RETURNING id"), &cells)?,
        };
        let mut inserted: HashSet<&str> = inserted.iter().map(|row| row.text(0)).collect::<Result<_, _>>()?;
        // Of two rows with the same id, the first is the inserted one.
        is_new.extend(chunk.iter().map(|row| inserted.remove(row.id_text())));
    }
    Ok(is_new)
}

/// Inserts `new`, or updates the row of its id when `old` is that row. False if an insert finds a row with the same id
/// or the same unique key; then nothing has changed.
pub(crate) fn insert_or_update<N: Entity>(tx: &mut Tx<'_>, old: Option<&N>, new: &N) -> Result<bool> {
    if old.is_none() {
        return insert(tx, new);
    }
    update(tx, new)?;
    Ok(true)
}

/// Replaces all columns of the row that has this id. A row that would equal another in a unique key is a conflict.
pub(crate) fn update<N: Entity>(tx: &mut Tx<'_>, row: &N) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    let columns: Vec<&str> = N::columns().split(", ").skip(1).collect();
    let assignments: Vec<String> =
        columns.iter().enumerate().map(|(index, column)| format!("{column} = ${}", index + 3)).collect();
    let statement =
        format!("UPDATE {} SET {} WHERE tenant_id = $1 AND id = $2", N::TABLE, assignments.join(", "));
    let mut cells: Vec<Cell> = vec![tenant.into()];
    cells.extend(row.column_values());
    match tx.execute(&statement, &cells) {
        Ok(_) => Ok(()),
        Err(error @ DbError::Unique { .. }) => {
            let message =
                format!("Another {} has the same name, number or state as {}", N::KIND, row.id_text());
            Err(errors::conflict("ledger_row_exists", message)
                .hint("Change or remove the other row first")
                .with_cause(error))
        }
        Err(error) => Err(error.into()),
    }
}
