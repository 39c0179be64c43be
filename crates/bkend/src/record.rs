//! Records: the rows of a table.
//!
//! A write reads the table's definition in its own transaction. Its last statement checks that the schema version is
//! still the same. If not, the transaction fails and the caller tries again (see [`is_schema_changed`]).

use quad_core::{Error, Kind, Result, Timestamp, typed_id};
use quad_store::{Backend, DbError, Row, Sql, Tx, Value as SqlValue, params};
use serde_json::{Map, Value, json};

use crate::errors::{self, Violation, invalid};
use crate::field::{FieldType, SYSTEM_FIELDS};
use crate::page::Page;
use crate::physical::{self, qualified_name, quote};
use crate::table::Table;
use crate::validate::{self, Cell, WriteMode};
use crate::{limits, tags};

typed_id!(
    /// The id of a record.
    RecordId,
    "rec_"
);

/// The code of a write that found another schema version than it had read.
const SCHEMA_CHANGED: &str = "SCHEMA_CHANGED";

/// A new record.
#[derive(Clone, Debug)]
pub(crate) struct NewRecord {
    pub id: Option<RecordId>,
    pub data: Map<String, Value>,
    pub created_by: String,
    /// The creation time, if an import supplies one.
    pub created_at: Option<Timestamp>,
    /// The time of the last change, if an import supplies one.
    pub updated_at: Option<Timestamp>,
}

/// The order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    column: String,
    descending: bool,
}

impl Default for Sort {
    fn default() -> Sort {
        Sort { column: "createdAt".to_owned(), descending: true }
    }
}

impl Sort {
    /// Parses `sortBy` and `sortDirection`.
    pub(crate) fn parse(table: &Table, sort_by: Option<&str>, direction: Option<&str>) -> Result<Sort> {
        let descending = match direction.map(str::to_ascii_lowercase).as_deref() {
            None | Some("desc") => true,
            Some("asc") => false,
            Some(_) => return Err(invalid("sortDirection", "is neither asc nor desc", "Send asc or desc")),
        };
        let column = sort_by.unwrap_or("createdAt");
        let field = table.fields.iter().find(|field| field.name == column);
        if field.is_none() && !SYSTEM_FIELDS.contains(&column) {
            let names = table.fields.iter().map(|field| field.name.as_str()).chain(SYSTEM_FIELDS);
            return Err(errors::unknown("field to sort by named", column, names));
        }
        if field.is_some_and(|field| field.kind.is_json()) {
            return Err(invalid(
                "sortBy",
                format!("is {column}, which holds objects or lists without an order"),
                "Sort by another field",
            ));
        }
        Ok(Sort { column: column.to_owned(), descending })
    }

    /// Missing values sort before all others on both backends. The id makes the order total, so that pages are stable.
    fn order_by_sql(&self) -> String {
        let direction = if self.descending { "DESC" } else { "ASC" };
        let nulls = match (SYSTEM_FIELDS.contains(&self.column.as_str()), self.descending) {
            (true, _) => "",
            (false, true) => " NULLS LAST",
            (false, false) => " NULLS FIRST",
        };
        format!("{} {direction}{nulls}, \"id\" {direction}", quote(&self.column))
    }
}

/// One page of records. The table's row count is the total.
pub(crate) fn list_page(sql: &mut dyn Sql, table: &Table, page: Page, sort: &Sort) -> Result<Vec<Value>> {
    if page.offset() >= table.row_count {
        return Ok(Vec::new());
    }
    let rows = sql.query(
        &format!(
            "SELECT {} FROM {} ORDER BY {} LIMIT $1 OFFSET $2",
            columns(table),
            qualified_name(table),
            sort.order_by_sql()
        ),
        params![page.size(), page.offset()],
    )?;
    rows.iter().map(|row| from_row(table, row).map(Value::Object)).collect()
}

/// One record by its id.
pub(crate) fn find(sql: &mut dyn Sql, table: &Table, id: &str) -> Result<Map<String, Value>> {
    let row = sql.query_opt(
        &format!("SELECT {} FROM {} WHERE \"id\" = $1", columns(table), qualified_name(table)),
        params![id],
    )?;
    from_row(table, &row.ok_or_else(|| errors::not_found("Record", id))?)
}

/// Whether a record exists.
pub(crate) fn exists(sql: &mut dyn Sql, table: &Table, id: &str) -> Result<bool> {
    let row =
        sql.query_opt(&format!("SELECT 1 FROM {} WHERE \"id\" = $1", qualified_name(table)), params![id])?;
    Ok(row.is_some())
}

/// Creates a record.
pub(crate) fn insert(tx: &mut Tx<'_>, table: &Table, new: &NewRecord) -> Result<Map<String, Value>> {
    let cells = validate::validate_record(&table.fields, &new.data, WriteMode::Create)?;
    check_indexed_text(table, &cells)?;
    let id = match &new.id {
        Some(id) => id.clone(),
        None => RecordId::generate()?,
    };
    let created_at = new.created_at.unwrap_or(tx.now());
    let updated_at = new.updated_at.unwrap_or(created_at);
    let mut names = String::from("\"id\", \"createdBy\", \"createdAt\", \"updatedAt\"");
    let mut placeholders = String::from("$1, $2, $3, $4");
    let mut values = vec![
        SqlValue::from(id.as_str()),
        SqlValue::from(new.created_by.as_str()),
        SqlValue::from(created_at.to_string()),
        SqlValue::from(updated_at.to_string()),
    ];
    let mut record = Map::from_iter([("id".to_owned(), Value::from(id.as_str()))]);
    for (field, value) in cells {
        values.push(physical::to_sql(field.kind, &value));
        names.push_str(&format!(", {}", quote(&field.name)));
        placeholders.push_str(&format!(", ${}", values.len()));
        if !value.is_null() {
            record.insert(field.name.clone(), value);
        }
    }
    record.insert("createdBy".into(), new.created_by.as_str().into());
    record.insert("createdAt".into(), created_at.to_string().into());
    record.insert("updatedAt".into(), updated_at.to_string().into());
    check_record_size(&record)?;
    let inserted = tx.execute(
        &format!("INSERT INTO {} ({names}) VALUES ({placeholders})", qualified_name(table)),
        &values,
    );
    match inserted {
        Err(DbError::Unique { constraint }) => return Err(duplicate_error(table, &constraint)),
        done => done?,
    };
    tx.audit_output("record_id", id.as_str());
    touch_rows(tx, table);
    update_row_count(tx, table, 1)?;
    Ok(record)
}

/// Changes a record: only the fields that were sent.
pub(crate) fn update(
    tx: &mut Tx<'_>,
    table: &Table,
    id: &str,
    data: &Map<String, Value>,
    if_updated_at: Option<Timestamp>,
) -> Result<Map<String, Value>> {
    let cells = validate::validate_record(&table.fields, data, WriteMode::Update)?;
    if cells.is_empty() {
        let message = "data has no field that can change".to_owned();
        return Err(errors::record_invalid(&[Violation {
            field: "data".to_owned(),
            reason: "empty",
            message,
        }]));
    }
    check_indexed_text(table, &cells)?;
    let before = find(tx, table, id)?;
    let last_updated_at =
        before.get("updatedAt").and_then(Value::as_str).and_then(Timestamp::parse).unwrap_or(tx.now());
    let conflict = || {
        let message = format!("The record {id} has changed at {last_updated_at}, after you read it");
        errors::conflict(message, "Read it again with backend_data_get and repeat the change")
            .with_detail("updatedAt", before.get("updatedAt").cloned().unwrap_or_default())
    };
    if if_updated_at.is_some_and(|expected| expected != last_updated_at) {
        return Err(conflict());
    }
    let now = tx.now().max(last_updated_at.plus_ms(1));
    let mut values = vec![SqlValue::from(id), SqlValue::from(now.to_string())];
    let mut assignments = vec![format!("\"updatedAt\" = {}", physical::monotonic_time_sql(tx.backend(), 2))];
    for (field, value) in cells {
        values.push(physical::to_sql(field.kind, &value));
        assignments.push(format!("{} = ${}", quote(&field.name), values.len()));
    }
    let mut filter = String::from("\"id\" = $1");
    if if_updated_at.is_some() {
        values.push(SqlValue::from(last_updated_at.to_string()));
        filter.push_str(&format!(" AND \"updatedAt\" = ${}", values.len()));
    }
    let statement = format!(
        "UPDATE {} SET {} WHERE {filter} RETURNING {}",
        qualified_name(table),
        assignments.join(", "),
        columns(table)
    );
    let rows = match tx.query(&statement, &values) {
        Err(DbError::Unique { constraint }) => return Err(duplicate_error(table, &constraint)),
        rows => rows?,
    };
    let Some(row) = rows.first() else {
        return Err(if if_updated_at.is_some() { conflict() } else { errors::not_found("Record", id) });
    };
    let record = from_row(table, row)?;
    check_record_size(&record)?;
    tx.audit_output("record_id", id);
    touch_rows(tx, table);
    check_schema_unchanged(tx, table)?;
    Ok(record)
}

/// Deletes a record.
pub(crate) fn delete(tx: &mut Tx<'_>, table: &Table, id: &str) -> Result<()> {
    let deleted =
        tx.execute(&format!("DELETE FROM {} WHERE \"id\" = $1", qualified_name(table)), params![id])?;
    if deleted == 0 {
        return Err(errors::not_found("Record", id));
    }
    tx.audit_output("record_id", id);
    touch_rows(tx, table);
    update_row_count(tx, table, -1)
}

/// Whether a write failed only because the table's schema changed concurrently. Then it can be repeated.
pub(crate) fn is_schema_changed(error: &Error) -> bool {
    error.code() == SCHEMA_CHANGED
}

fn schema_changed_error() -> Error {
    Error::new(Kind::Conflict, SCHEMA_CHANGED, "The table's schema changed while the record was written")
        .hint("Repeat the call")
}

/// On SQLite there is no concurrent write.
fn check_schema_unchanged(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    if tx.backend() == Backend::Sqlite {
        return Ok(());
    }
    let tenant = tx.tenant().clone();
    let row = tx.query_opt(
        "SELECT 1 FROM bkend_table WHERE tenant_id = $1 AND id = $2 AND schema_version = $3",
        params![tenant.as_str(), table.id.as_str(), table.schema_version],
    )?;
    row.map(|_| ()).ok_or_else(schema_changed_error)
}

/// The last statement of a write. It locks the catalogue row, so it comes last to keep that lock short.
fn update_row_count(tx: &mut Tx<'_>, table: &Table, difference: i64) -> Result<()> {
    let tenant = tx.tenant().clone();
    let updated = tx.execute(
        "UPDATE bkend_table SET row_count = row_count + $3 WHERE tenant_id = $1 AND id = $2 AND schema_version = $4",
        params![tenant.as_str(), table.id.as_str(), difference, table.schema_version],
    )?;
    if updated == 1 { Ok(()) } else { Err(schema_changed_error()) }
}

fn touch_rows(tx: &mut Tx<'_>, table: &Table) {
    tx.invalidate(tags::rows(table.id.as_str()));
}

/// Every column by name, system fields first.
fn columns(table: &Table) -> String {
    let mut columns = String::from("\"id\", \"createdBy\", \"createdAt\", \"updatedAt\"");
    for field in &table.fields {
        columns.push_str(", ");
        columns.push_str(&quote(&field.name));
    }
    columns
}

/// The JSON of a record. A missing value is a missing key.
fn from_row(table: &Table, row: &Row) -> Result<Map<String, Value>> {
    let mut record = Map::from_iter([("id".to_owned(), Value::from(row.text(0)?))]);
    for (position, field) in table.fields.iter().enumerate() {
        let value = physical::from_sql(field.kind, row.value(position + SYSTEM_FIELDS.len()))?;
        if !value.is_null() {
            record.insert(field.name.clone(), value);
        }
    }
    record.insert("createdBy".into(), row.text(1)?.into());
    record.insert("createdAt".into(), physical::from_sql(FieldType::Date, row.value(2))?);
    record.insert("updatedAt".into(), physical::from_sql(FieldType::Date, row.value(3))?);
    Ok(record)
}

fn duplicate_error(table: &Table, constraint: &str) -> Error {
    let fields: Vec<&str> = match physical::find_index_by_constraint(table, constraint) {
        Some(index) => index.fields.iter().map(|(field, _)| field.as_str()).collect(),
        None => vec!["id"],
    };
    let details: Vec<Value> =
        fields.iter().map(|field| json!({"field": field, "reason": "unique"})).collect();
    let message = format!("Another record has the same {}", fields.join(", "));
    Error::new(Kind::Conflict, "data/duplicate-value", message)
        .hint("Choose another value, or change the record that has it; backend_data_list finds it")
        .with_detail("details", details)
}

fn check_record_size(record: &Map<String, Value>) -> Result<()> {
    let bytes = serde_json::to_string(record).map_err(Error::internal)?.len();
    if bytes <= limits::RECORD_BYTES {
        return Ok(());
    }
    let message = format!("The record has {bytes} bytes as JSON, more than {}", limits::RECORD_BYTES);
    Err(errors::limit("data/record-too-large", message)
        .hint("Split it over several records")
        .with_detail("limit_bytes", limits::RECORD_BYTES))
}

/// Checks the limit of text in an index; PostgreSQL's own error would not name the field.
fn check_indexed_text(table: &Table, cells: &[Cell<'_>]) -> Result<()> {
    let mut violations = Vec::new();
    for index in &table.indexes {
        let (texts, max_bytes) = physical::indexed_text_limit(&table.fields, index);
        for (field, value) in cells {
            let too_long = value.as_str().is_some_and(|text| text.len() > max_bytes);
            if too_long && texts.contains(&field.name.as_str()) {
                let message = format!(
                    "{} has more than {max_bytes} bytes, too many for the index {}",
                    field.name, index.name
                );
                violations.push(Violation { field: field.name.clone(), reason: "indexed", message });
            }
        }
    }
    if violations.is_empty() { Ok(()) } else { Err(errors::record_invalid(&violations)) }
}
