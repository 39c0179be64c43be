//! Changes of a table's fields and indexes: the physical table, the catalogue and the version, in one transaction.
//!
//! Within the transaction the physical table is locked first and the catalogue row last. Row writes use the same
//! order; the reverse order could deadlock.

use quad_core::text::truncate;
use quad_core::{Error, Kind, Result};
use quad_store::{Sql, Tx, Value as SqlValue, params};
use serde_json::{Value, json};

use crate::definition::FieldDefinition;
use crate::errors::{self, invalid};
use crate::field::{self, Field, FieldType};
use crate::index::{self, Index};
use crate::table::{self, RemovedField, Table};
use crate::{limits, physical, schema_version, tags, validate};

/// The requested changes of a table's fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldChanges {
    /// Definitions: complete for new fields, partial for existing ones.
    pub set: Vec<(String, Value)>,
    /// Fields to remove.
    pub remove: Vec<String>,
    /// Fields that become required.
    pub require: Vec<String>,
    /// Fields that become optional.
    pub make_optional: Vec<String>,
    /// Whether `set` may only contain new fields (`Some(true)`) or only existing ones (`Some(false)`).
    pub only_new: Option<bool>,
}

/// The result of a field change.
#[derive(Clone, Debug)]
pub(crate) struct FieldChangeResult {
    pub table: Table,
    pub previous_version: i64,
    pub added: Vec<String>,
    pub updated: Vec<String>,
    pub removed: Vec<String>,
    pub required: Vec<String>,
    pub made_optional: Vec<String>,
    /// For each field that this change made required: how many rows lack a value.
    pub rows_missing: i64,
}

/// The requested changes of a table's indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexChanges {
    pub set: Vec<Value>,
    pub remove: Vec<String>,
}

/// The result of an index change.
#[derive(Clone, Debug)]
pub(crate) struct IndexChangeResult {
    pub table: Table,
    pub previous_version: i64,
    pub added: Vec<String>,
    pub updated: Vec<String>,
    pub removed: Vec<String>,
}

/// Changes fields.
pub(crate) fn alter_fields(
    tx: &mut Tx<'_>,
    table: &Table,
    changes: &FieldChanges,
    actor: &str,
) -> Result<FieldChangeResult> {
    check_contradictions(changes)?;
    tx.lock(&table::lock_name(table.environment_id.as_str()))?;
    let before = table::find(tx, table.id.as_str())?;
    physical::lock_table(tx, &before)?;
    let mut altered = FieldChangeResult {
        previous_version: before.schema_version,
        table: before.clone(),
        added: Vec::new(),
        updated: Vec::new(),
        removed: Vec::new(),
        required: Vec::new(),
        made_optional: Vec::new(),
        rows_missing: 0,
    };
    for name in &changes.remove {
        remove_field(tx, &mut altered.table, name)?;
        altered.removed.push(name.clone());
    }
    for (name, definition) in &changes.set {
        let exists = altered.table.fields.iter().any(|field| field.name == *name);
        if changes.only_new.is_some_and(|only_new| only_new == exists) {
            return Err(if exists {
                invalid(name, "is a field of the table already", "Use the action update, or another name")
            } else {
                let names = altered.table.fields.iter().map(|field| field.name.as_str());
                errors::unknown("field named", name, names)
            });
        }
        if exists {
            update_field(tx, &mut altered.table, name, definition)?;
            altered.updated.push(name.clone());
        } else {
            add_field(tx, &mut altered.table, name, definition)?;
            altered.added.push(name.clone());
        }
    }
    for (names, required) in [(&changes.require, true), (&changes.make_optional, false)] {
        for name in names {
            find_field(&mut altered.table, name)?.required = required;
        }
    }
    for field in &altered.table.fields {
        let was_required = before
            .fields
            .iter()
            .find(|candidate| candidate.name == field.name)
            .is_some_and(|old| old.required);
        match (was_required, field.required) {
            (false, true) => altered.required.push(field.name.clone()),
            (true, false) => altered.made_optional.push(field.name.clone()),
            _ => {}
        }
    }
    altered.rows_missing = count_rows_missing(tx, &altered.table, &altered.required)?;
    check_limits(&altered.table)?;
    altered.table.schema_version += 1;
    if altered.table.indexes != before.indexes {
        altered.table.index_version += 1;
    }
    save(tx, &mut altered.table, &before, actor)?;
    Ok(altered)
}

/// Changes indexes.
pub(crate) fn alter_indexes(
    tx: &mut Tx<'_>,
    table: &Table,
    changes: &IndexChanges,
    actor: &str,
) -> Result<IndexChangeResult> {
    for name in &changes.remove {
        index::check_not_system_index(name, true)?;
    }
    if changes.set.is_empty() && changes.remove.is_empty() {
        return Err(nothing_to_change("Send an action and indexes"));
    }
    tx.lock(&table::lock_name(table.environment_id.as_str()))?;
    let before = table::find(tx, table.id.as_str())?;
    physical::lock_table(tx, &before)?;
    let mut table = before.clone();
    let set = changes
        .set
        .iter()
        .map(|definition| Index::parse(&table.name, &table.fields, definition))
        .collect::<Result<Vec<Index>>>()?;
    if let Some(conflicting) = set.iter().find(|index| changes.remove.contains(&index.name)) {
        return Err(invalid(
            &conflicting.name,
            "is both added and removed by this call",
            "Send the two changes in separate calls",
        ));
    }
    let (mut added, mut updated) = (Vec::new(), Vec::new());
    for name in &changes.remove {
        let position = table.indexes.iter().position(|index| index.name == *name).ok_or_else(|| {
            errors::unknown("index named", name, before.indexes.iter().map(|index| index.name.as_str()))
        })?;
        let index = table.indexes.remove(position);
        physical::drop_index(tx, &table, &index)?;
    }
    for index in set {
        let existing =
            table.indexes.iter().position(|candidate| candidate.name.eq_ignore_ascii_case(&index.name));
        match existing.map(|position| table.indexes[position].clone()) {
            Some(existing_index) if existing_index == index => continue,
            Some(existing_index) => {
                physical::drop_index(tx, &table, &existing_index)?;
                table.indexes.retain(|candidate| candidate.name != existing_index.name);
                updated.push(index.name.clone());
            }
            None => added.push(index.name.clone()),
        }
        physical::create_index(tx, &table, &index)?;
        table.indexes.push(index);
    }
    check_limits(&table)?;
    table.index_version += 1;
    save(tx, &mut table, &before, actor)?;
    Ok(IndexChangeResult {
        table,
        previous_version: before.index_version,
        added,
        updated,
        removed: changes.remove.clone(),
    })
}

fn check_contradictions(changes: &FieldChanges) -> Result<()> {
    let set = changes.set.iter().map(|(name, _)| name);
    let all_names = set.clone().chain(&changes.remove).chain(&changes.require).chain(&changes.make_optional);
    for name in all_names.clone() {
        if field::is_system(name) {
            return Err(errors::system_field(name));
        }
    }
    if all_names.count() == 0 {
        return Err(nothing_to_change("Send an action and fields"));
    }
    let contradiction_error = |code: &'static str, name: &str, message: &str| {
        Err(Error::new(Kind::BadInput, code, format!("{name} {message}"))
            .hint("Send one of the two changes, or both in separate calls")
            .with_detail("details", json!([{"field": name, "reason": "contradiction"}])))
    };
    if let Some(name) = set.clone().find(|name| changes.remove.contains(name)) {
        return contradiction_error("FIELD_CONFLICT", name, "is both set and removed by this call");
    }
    if let Some(name) = changes.require.iter().find(|name| changes.remove.contains(name)) {
        return contradiction_error("FIELD_CONFLICT", name, "is both required and removed by this call");
    }
    if let Some(name) = changes.require.iter().find(|name| changes.make_optional.contains(name)) {
        return contradiction_error(
            "REQUIRED_CONFLICT",
            name,
            "becomes both required and optional by this call",
        );
    }
    Ok(())
}

fn nothing_to_change(hint: &str) -> Error {
    Error::bad_input("The call changes nothing").hint(hint)
}

fn find_field<'t>(table: &'t mut Table, name: &str) -> Result<&'t mut Field> {
    let names: Vec<String> = table.fields.iter().map(|field| field.name.clone()).collect();
    table
        .fields
        .iter_mut()
        .find(|field| field.name == name)
        .ok_or_else(|| errors::unknown("field named", name, names.iter().map(String::as_str)))
}

/// Removes a field. Its column stays, with the values. Its indexes are dropped: a hidden field must not reject rows.
fn remove_field(tx: &mut Tx<'_>, table: &mut Table, name: &str) -> Result<()> {
    let field = find_field(table, name)?.clone();
    drop_indexes_on(tx, table, name)?;
    table.fields.retain(|candidate| candidate.name != name);
    table.removed.push(RemovedField { column: field.name.clone(), field });
    Ok(())
}

/// Drops the indexes that cover a field and returns them.
fn drop_indexes_on(tx: &mut Tx<'_>, table: &mut Table, name: &str) -> Result<Vec<Index>> {
    let (dropped, remaining): (Vec<Index>, Vec<Index>) =
        table.indexes.drain(..).partition(|index| index.covers(name));
    table.indexes = remaining;
    for index in &dropped {
        physical::drop_index(tx, table, index)?;
    }
    Ok(dropped)
}

fn add_field(tx: &mut Tx<'_>, table: &mut Table, name: &str, definition: &Value) -> Result<()> {
    let defined = Field::define(None, name, definition)?;
    if let Some(similar) = table.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)) {
        return Err(invalid(
            name,
            format!("differs from the field {} only by case", similar.name),
            format!("Choose another name, or update {}", similar.name),
        ));
    }
    // A removed field may still use the column of that name. Its values do not belong to the new field.
    let hidden_position = table.removed.iter().position(|removed| removed.column.eq_ignore_ascii_case(name));
    if let Some(position) = hidden_position {
        let column = hidden_column_name(table, name);
        let old_name = table.removed[position].column.clone();
        physical::rename_column(tx, table, &old_name, &column)?;
        table.removed[position].column = column;
    }
    physical::add_column(tx, table, name, defined.field.kind)?;
    table.fields.push(defined.field.clone());
    sync_unique_index(tx, table, &defined)
}

fn update_field(tx: &mut Tx<'_>, table: &mut Table, name: &str, definition: &Value) -> Result<()> {
    let before = find_field(table, name)?.clone();
    let defined = Field::define(Some(&before), name, definition)?;
    if physical::same_sql_type(before.kind, defined.field.kind) {
        *find_field(table, name)? = defined.field.clone();
    } else {
        let dropped = drop_indexes_on(tx, table, name)?;
        convert_column(tx, table, &before, &defined.field)?;
        *find_field(table, name)? = defined.field.clone();
        for index in dropped {
            index::check_indexable(&defined.field)?;
            physical::create_index(tx, table, &index)?;
            table.indexes.push(index);
        }
    }
    sync_unique_index(tx, table, &defined)
}

/// Creates the unique index that a definition asks for, or drops the one that it no longer asks for.
fn sync_unique_index(tx: &mut Tx<'_>, table: &mut Table, defined: &FieldDefinition) -> Result<()> {
    let name = defined.field.name.as_str();
    match (defined.unique, table.is_unique(name)) {
        (Some(true), false) => {
            index::check_indexable(&defined.field)?;
            let index = Index::unique_on(&table.name, name, defined.sparse);
            if table.indexes.iter().any(|candidate| candidate.name.eq_ignore_ascii_case(&index.name)) {
                return Err(errors::conflict(
                    format!("The name {} is taken by an index that is not unique on {name}", index.name),
                    "Leave unique out, or remove that index first",
                ));
            }
            physical::create_index(tx, table, &index)?;
            table.indexes.push(index);
        }
        (Some(false), true) => {
            let dropped: Vec<Index> =
                table.indexes.iter().filter(|index| index.makes_unique(name)).cloned().collect();
            for index in &dropped {
                physical::drop_index(tx, table, index)?;
            }
            table.indexes.retain(|index| !index.makes_unique(name));
        }
        _ => {}
    }
    Ok(())
}

/// Converts a field's values into a column of another type. If one value does not convert, nothing changes.
fn convert_column(tx: &mut Tx<'_>, table: &mut Table, before: &Field, after: &Field) -> Result<()> {
    let table_name = physical::qualified_name(table);
    let column = physical::quote(&before.name);
    let rows = tx.query(
        &format!(
            "SELECT \"id\", {column} FROM {table_name} WHERE {column} IS NOT NULL LIMIT {}",
            limits::CONVERTED_ROWS + 1
        ),
        &[],
    )?;
    if rows.len() as i64 > limits::CONVERTED_ROWS {
        return Err(errors::limit(
            "table/too-many-rows",
            format!(
                "More than {} rows have a {}; a change of type rewrites them in one transaction",
                limits::CONVERTED_ROWS,
                before.name
            ),
        )
        .hint("Add a field of the new type, copy the values in steps, then remove the old field"));
    }
    let unconstrained = Field::new(&after.name, after.kind);
    let mut converted: Vec<(String, SqlValue)> = Vec::with_capacity(rows.len());
    let mut examples = Vec::new();
    for row in &rows {
        let value = physical::from_sql(before.kind, row.value(1))?;
        let new = validate::coerce(after.kind, &scalar_to_text(after.kind, &value));
        let mut violations = Vec::new();
        validate::check(&unconstrained, &new, &after.name, &mut violations);
        if violations.is_empty() {
            converted.push((row.text(0)?.to_owned(), physical::to_sql(after.kind, &new)));
        } else if examples.len() < limits::EXAMPLES {
            examples.push(json!({"id": row.text(0)?, "value": value}));
        }
    }
    if !examples.is_empty() {
        let (from, to) = (before.kind.as_str(), after.kind.as_str());
        let message = format!(
            "{} cannot change from {from} to {to}: some values do not convert, for example {}",
            after.name,
            Value::from(examples.as_slice())
        );
        let hint = "Correct those records first, or add a field of the new type";
        return Err(errors::conflict(truncate(&message, limits::MESSAGE_CHARS), hint)
            .with_detail("examples", examples));
    }
    const TEMP_COLUMN: &str = "_new";
    physical::add_column(tx, table, TEMP_COLUMN, after.kind)?;
    let statement =
        format!("UPDATE {table_name} SET {} = $2 WHERE \"id\" = $1", physical::quote(TEMP_COLUMN));
    for (id, value) in converted {
        tx.execute(&statement, &[SqlValue::Text(id), value])?;
    }
    let hidden_name = hidden_column_name(table, &before.name);
    physical::rename_column(tx, table, &before.name, &hidden_name)?;
    physical::rename_column(tx, table, TEMP_COLUMN, &after.name)?;
    table.removed.push(RemovedField { field: before.clone(), column: hidden_name });
    Ok(())
}

/// A scalar that becomes text is written as in JSON.
fn scalar_to_text(kind: FieldType, value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) if kind.is_text() => Value::from(value.to_string()),
        other => other.clone(),
    }
}

/// The column name for a removed field's values when the field's name is needed again. Field names start with a letter,
/// so this name cannot collide.
fn hidden_column_name(table: &Table, name: &str) -> String {
    index::shorten_identifier(format!("_old_{}_{name}", table.schema_version))
}

fn count_rows_missing(tx: &mut Tx<'_>, table: &Table, required: &[String]) -> Result<i64> {
    if required.is_empty() {
        return Ok(0);
    }
    let missing: Vec<String> =
        required.iter().map(|name| format!("{} IS NULL", physical::quote(name))).collect();
    let row = tx.query_opt(
        &format!("SELECT COUNT(*) FROM {} WHERE {}", physical::qualified_name(table), missing.join(" OR ")),
        &[],
    )?;
    Ok(row.map_or(Ok(0), |row| row.int(0))?)
}

fn check_limits(table: &Table) -> Result<()> {
    if table.fields.len() > limits::FIELDS_PER_TABLE {
        let message = format!("A table has at most {} fields", limits::FIELDS_PER_TABLE);
        return Err(errors::limit("table/too-many-fields", message).hint("Remove a field first"));
    }
    if table.fields.len() + table.removed.len() + field::SYSTEM_FIELDS.len() > limits::COLUMNS_PER_TABLE {
        let message =
            format!("A table has at most {} columns, removed ones included", limits::COLUMNS_PER_TABLE);
        return Err(errors::limit("table/too-many-columns", message).hint("Move the rows to a new table"));
    }
    if table.indexes.len() > limits::INDEXES_PER_TABLE {
        return Err(table::too_many_indexes());
    }
    Ok(())
}

/// Writes the new definition and its versions to the catalogue.
fn save(tx: &mut Tx<'_>, table: &mut Table, before: &Table, actor: &str) -> Result<()> {
    table.updated_at = tx.now();
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE bkend_table SET fields = $3, removed = $4, indexes = $5, schema_version = $6, index_version = $7,
            updated_at = $8
         WHERE tenant_id = $1 AND id = $2",
        params![
            tenant.as_str(),
            table.id.as_str(),
            table::definition_json(&table.fields)?,
            table::definition_json(&table.removed)?,
            table::definition_json(&table.indexes)?,
            table.schema_version,
            table.index_version,
            table.updated_at,
        ],
    )?;
    if table.schema_version != before.schema_version {
        schema_version::write_schema(tx, table, actor)?;
        tx.audit_output("schema_version", table.schema_version);
    }
    if table.index_version != before.index_version {
        schema_version::write_indexes(tx, table, actor)?;
        tx.audit_output("index_version", table.index_version);
    }
    tx.audit_output("table_id", table.id.as_str());
    for tag in tags::for_table_change(table) {
        tx.invalidate(tag);
    }
    Ok(())
}
