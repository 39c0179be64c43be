//! Changes of a table's fields and indexes: the physical table, the catalogue and the version move together.
//!
//! Within a transaction the physical table comes first and the catalogue row last, the order in which a writer of rows
//! takes them too; the other way round the two could wait for each other for ever.

use quad_core::{Error, Kind, Result};
use quad_store::{Sql, Tx, Value as SqlValue, params};
use serde_json::{Value, json};

use crate::definition::Defined;
use crate::field::{self, Field, FieldType};
use crate::index::{self, Index};
use crate::refusal::{self, invalid};
use crate::table::{self, Removed, Table};
use crate::{limits, physical, schema_version, tags, validate};

/// What is to become of a table's fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct FieldChanges {
    /// Definitions, whole for new fields and partial for known ones.
    pub set: Vec<(String, Value)>,
    /// Fields to take away.
    pub remove: Vec<String>,
    /// Fields that become required.
    pub require: Vec<String>,
    /// Fields that cease to be required.
    pub release: Vec<String>,
    /// Whether `set` may only hold new fields (`Some(true)`) or only known ones (`Some(false)`).
    pub only_new: Option<bool>,
}

/// What became of them.
#[derive(Clone, Debug)]
pub(crate) struct AlteredFields {
    pub table: Table,
    pub previous: i64,
    pub added: Vec<String>,
    pub updated: Vec<String>,
    pub removed: Vec<String>,
    pub required: Vec<String>,
    pub released: Vec<String>,
    /// How many rows lack a field that this change made required.
    pub rows_missing: i64,
}

/// What is to become of a table's indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct IndexChanges {
    pub set: Vec<Value>,
    pub remove: Vec<String>,
}

/// What became of them.
#[derive(Clone, Debug)]
pub(crate) struct AlteredIndexes {
    pub table: Table,
    pub previous: i64,
    pub added: Vec<String>,
    pub updated: Vec<String>,
    pub removed: Vec<String>,
}

/// Changes fields.
pub(crate) fn fields(
    tx: &mut Tx<'_>,
    table: &Table,
    changes: &FieldChanges,
    actor: &str,
) -> Result<AlteredFields> {
    refuse_contradictions(changes)?;
    tx.lock(&table::lock_name(table.environment_id.as_str()))?;
    let before = table::find(tx, table.id.as_str())?;
    physical::hold(tx, &before)?;
    let mut altered = AlteredFields {
        previous: before.schema_version,
        table: before.clone(),
        added: Vec::new(),
        updated: Vec::new(),
        removed: Vec::new(),
        required: Vec::new(),
        released: Vec::new(),
        rows_missing: 0,
    };
    for name in &changes.remove {
        remove_field(tx, &mut altered.table, name)?;
        altered.removed.push(name.clone());
    }
    for (name, definition) in &changes.set {
        let known = altered.table.fields.iter().any(|field| field.name == *name);
        if changes.only_new.is_some_and(|only_new| only_new == known) {
            let what = if known { "exists already" } else { "does not exist" };
            return Err(invalid(name, format!("the field {what}")).hint(if known {
                "Use the action update"
            } else {
                "Use the action add"
            }));
        }
        if known {
            update_field(tx, &mut altered.table, name, definition)?;
            altered.updated.push(name.clone());
        } else {
            add_field(tx, &mut altered.table, name, definition)?;
            altered.added.push(name.clone());
        }
    }
    for (names, required) in [(&changes.require, true), (&changes.release, false)] {
        for name in names {
            find_field(&mut altered.table, name)?.required = required;
        }
    }
    for field in &altered.table.fields {
        let was =
            before.fields.iter().find(|known| known.name == field.name).is_some_and(|known| known.required);
        match (was, field.required) {
            (false, true) => altered.required.push(field.name.clone()),
            (true, false) => altered.released.push(field.name.clone()),
            _ => {}
        }
    }
    altered.rows_missing = count_missing(tx, &altered.table, &altered.required)?;
    refuse_too_many(&altered.table)?;
    altered.table.schema_version += 1;
    if altered.table.indexes != before.indexes {
        altered.table.index_version += 1;
    }
    save(tx, &mut altered.table, &before, actor)?;
    Ok(altered)
}

/// Changes indexes.
pub(crate) fn indexes(
    tx: &mut Tx<'_>,
    table: &Table,
    changes: &IndexChanges,
    actor: &str,
) -> Result<AlteredIndexes> {
    for name in &changes.remove {
        index::refuse_system(name, true)?;
    }
    if changes.set.is_empty() && changes.remove.is_empty() {
        return Err(nothing_to_change("an index to add or to remove"));
    }
    tx.lock(&table::lock_name(table.environment_id.as_str()))?;
    let before = table::find(tx, table.id.as_str())?;
    physical::hold(tx, &before)?;
    let mut table = before.clone();
    let set = changes
        .set
        .iter()
        .map(|definition| Index::read(&table.name, &table.fields, definition))
        .collect::<Result<Vec<Index>>>()?;
    if let Some(both) = set.iter().find(|index| changes.remove.contains(&index.name)) {
        return Err(invalid(&both.name, "the index is to be set and removed at once"));
    }
    let (mut added, mut updated) = (Vec::new(), Vec::new());
    for name in &changes.remove {
        let place = table.indexes.iter().position(|index| index.name == *name).ok_or_else(|| {
            refusal::unknown("index named", name, before.indexes.iter().map(|index| index.name.as_str()))
        })?;
        let index = table.indexes.remove(place);
        physical::drop_index(tx, &table, &index)?;
    }
    for index in set {
        let known = table.indexes.iter().position(|known| known.name.eq_ignore_ascii_case(&index.name));
        match known.map(|place| table.indexes[place].clone()) {
            Some(same) if same == index => continue,
            Some(same) => {
                physical::drop_index(tx, &table, &same)?;
                table.indexes.retain(|known| known.name != same.name);
                updated.push(index.name.clone());
            }
            None => added.push(index.name.clone()),
        }
        physical::create_index(tx, &table, &index)?;
        table.indexes.push(index);
    }
    refuse_too_many(&table)?;
    table.index_version += 1;
    save(tx, &mut table, &before, actor)?;
    Ok(AlteredIndexes {
        table,
        previous: before.index_version,
        added,
        updated,
        removed: changes.remove.clone(),
    })
}

fn refuse_contradictions(changes: &FieldChanges) -> Result<()> {
    let set = changes.set.iter().map(|(name, _)| name);
    let every = set.clone().chain(&changes.remove).chain(&changes.require).chain(&changes.release);
    for name in every.clone() {
        if field::is_system(name) {
            return Err(refusal::system_field(name));
        }
    }
    if every.count() == 0 {
        return Err(nothing_to_change("a field to add, update, remove or require"));
    }
    let contradiction = |code: &'static str, name: &str, message: &str| {
        Err(Error::new(Kind::BadInput, code, format!("{name} {message}"))
            .hint("Make two calls of it, or drop one of the two wishes")
            .fact("details", json!([{"field": name, "reason": "contradiction"}])))
    };
    if let Some(name) = set.clone().find(|name| changes.remove.contains(name)) {
        return contradiction("FIELD_CONFLICT", name, "is to be set and removed at once");
    }
    if let Some(name) = changes.require.iter().find(|name| changes.remove.contains(name)) {
        return contradiction("FIELD_CONFLICT", name, "is to be required and removed at once");
    }
    if let Some(name) = changes.require.iter().find(|name| changes.release.contains(name)) {
        return contradiction("REQUIRED_CONFLICT", name, "is to be required and optional at once");
    }
    Ok(())
}

fn nothing_to_change(what: &str) -> Error {
    Error::bad_input("There is nothing to change").hint(format!("Name {what}"))
}

fn find_field<'t>(table: &'t mut Table, name: &str) -> Result<&'t mut Field> {
    let names: Vec<String> = table.fields.iter().map(|field| field.name.clone()).collect();
    table
        .fields
        .iter_mut()
        .find(|field| field.name == name)
        .ok_or_else(|| refusal::unknown("field named", name, names.iter().map(String::as_str)))
}

/// The column stays, with its values. Its indexes go: a hidden field must not refuse anybody's rows.
fn remove_field(tx: &mut Tx<'_>, table: &mut Table, name: &str) -> Result<()> {
    let field = find_field(table, name)?.clone();
    drop_indexes_of(tx, table, name)?;
    table.fields.retain(|known| known.name != name);
    table.removed.push(Removed { column: field.name.clone(), field });
    Ok(())
}

/// Drops the indexes that cover a field, and hands them back.
fn drop_indexes_of(tx: &mut Tx<'_>, table: &mut Table, name: &str) -> Result<Vec<Index>> {
    let (gone, kept): (Vec<Index>, Vec<Index>) =
        table.indexes.drain(..).partition(|index| index.covers(name));
    table.indexes = kept;
    for index in &gone {
        physical::drop_index(tx, table, index)?;
    }
    Ok(gone)
}

fn add_field(tx: &mut Tx<'_>, table: &mut Table, name: &str, definition: &Value) -> Result<()> {
    let defined = Field::define(None, name, definition)?;
    if let Some(near) = table.fields.iter().find(|field| field.name.eq_ignore_ascii_case(name)) {
        return Err(invalid(
            name,
            format!("the table has a field {}; names differ by more than case", near.name),
        ));
    }
    // A removed field may still hold the column of that name. Its values are not the new field's.
    let hidden = table.removed.iter().position(|removed| removed.column.eq_ignore_ascii_case(name));
    if let Some(place) = hidden {
        let column = hidden_column(table, name);
        let occupied = table.removed[place].column.clone();
        physical::rename_column(tx, table, &occupied, &column)?;
        table.removed[place].column = column;
    }
    physical::add_column(tx, table, name, defined.field.kind)?;
    table.fields.push(defined.field.clone());
    settle_unique(tx, table, &defined)
}

fn update_field(tx: &mut Tx<'_>, table: &mut Table, name: &str, definition: &Value) -> Result<()> {
    let before = find_field(table, name)?.clone();
    let defined = Field::define(Some(&before), name, definition)?;
    if physical::same_column(before.kind, defined.field.kind) {
        *find_field(table, name)? = defined.field.clone();
    } else {
        let rebuilt = drop_indexes_of(tx, table, name)?;
        convert(tx, table, &before, &defined.field)?;
        *find_field(table, name)? = defined.field.clone();
        for index in rebuilt {
            index::check_indexable(&defined.field)?;
            physical::create_index(tx, table, &index)?;
            table.indexes.push(index);
        }
    }
    settle_unique(tx, table, &defined)
}

/// Makes the unique index that a definition asks for, or drops the one that it no longer wants.
fn settle_unique(tx: &mut Tx<'_>, table: &mut Table, defined: &Defined) -> Result<()> {
    let name = defined.field.name.as_str();
    match (defined.unique, table.is_unique(name)) {
        (Some(true), false) => {
            index::check_indexable(&defined.field)?;
            let index = Index::unique_on(&table.name, name, defined.sparse);
            if table.indexes.iter().any(|known| known.name.eq_ignore_ascii_case(&index.name)) {
                return Err(refusal::conflict(format!("The name {} is taken by another index", index.name))
                    .hint("Remove that index with backend_index_manage first"));
            }
            physical::create_index(tx, table, &index)?;
            table.indexes.push(index);
        }
        (Some(false), true) => {
            let gone: Vec<Index> =
                table.indexes.iter().filter(|index| index.makes_unique(name)).cloned().collect();
            for index in &gone {
                physical::drop_index(tx, table, index)?;
            }
            table.indexes.retain(|index| !index.makes_unique(name));
        }
        _ => {}
    }
    Ok(())
}

/// Moves a field's values into a column of another type. Every one must fit, or nothing is moved.
fn convert(tx: &mut Tx<'_>, table: &mut Table, before: &Field, after: &Field) -> Result<()> {
    let place = physical::qualified(table);
    let column = physical::quote(&before.name);
    let rows = tx.query(
        &format!(
            "SELECT \"id\", {column} FROM {place} WHERE {column} IS NOT NULL LIMIT {}",
            limits::CONVERTED_ROWS + 1
        ),
        &[],
    )?;
    if rows.len() as i64 > limits::CONVERTED_ROWS {
        return Err(refusal::limit(
            "table/too-many-rows",
            format!(
                "More than {} rows have a {}; a change of type rewrites them at once",
                limits::CONVERTED_ROWS,
                before.name
            ),
        )
        .hint("Add a field of the new type, copy the values in steps, then remove the old field"));
    }
    let bare = Field::new(&after.name, after.kind);
    let mut converted: Vec<(String, SqlValue)> = Vec::with_capacity(rows.len());
    let mut examples = Vec::new();
    for row in &rows {
        let value = physical::from_sql(before.kind, row.value(1))?;
        let new = validate::coerce(after.kind, &as_text(after.kind, &value));
        let mut faults = Vec::new();
        validate::check(&bare, &new, &after.name, &mut faults);
        if faults.is_empty() {
            converted.push((row.text(0)?.to_owned(), physical::to_sql(after.kind, &new)));
        } else if examples.len() < limits::EXAMPLES {
            examples.push(json!({"id": row.text(0)?, "value": value}));
        }
    }
    if !examples.is_empty() {
        let (from, to) = (before.kind.as_str(), after.kind.as_str());
        return Err(refusal::conflict(format!(
            "{} cannot change from {from} to {to}: some values do not convert",
            after.name
        ))
        .hint("Correct those records first, or add a field of the new type")
        .fact("examples", examples));
    }
    const NEW: &str = "_new";
    physical::add_column(tx, table, NEW, after.kind)?;
    let statement = format!("UPDATE {place} SET {} = $2 WHERE \"id\" = $1", physical::quote(NEW));
    for (id, value) in converted {
        tx.execute(&statement, &[SqlValue::Text(id), value])?;
    }
    let hidden = hidden_column(table, &before.name);
    physical::rename_column(tx, table, &before.name, &hidden)?;
    physical::rename_column(tx, table, NEW, &after.name)?;
    table.removed.push(Removed { field: before.clone(), column: hidden });
    Ok(())
}

/// A scalar that becomes text is spelt as JSON spells it.
fn as_text(kind: FieldType, value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) if kind.is_text() => Value::from(value.to_string()),
        other => other.clone(),
    }
}

/// Where a removed field's values go when its name is needed. Field names begin with a letter, so nothing collides.
fn hidden_column(table: &Table, name: &str) -> String {
    index::shortened(format!("_old_{}_{name}", table.schema_version))
}

fn count_missing(tx: &mut Tx<'_>, table: &Table, required: &[String]) -> Result<i64> {
    if required.is_empty() {
        return Ok(0);
    }
    let missing: Vec<String> =
        required.iter().map(|name| format!("{} IS NULL", physical::quote(name))).collect();
    let row = tx.query_opt(
        &format!("SELECT COUNT(*) FROM {} WHERE {}", physical::qualified(table), missing.join(" OR ")),
        &[],
    )?;
    Ok(row.map_or(Ok(0), |row| row.int(0))?)
}

fn refuse_too_many(table: &Table) -> Result<()> {
    if table.fields.len() > limits::FIELDS_PER_TABLE {
        let message = format!("A table has at most {} fields", limits::FIELDS_PER_TABLE);
        return Err(refusal::limit("table/too-many-fields", message).hint("Remove a field first"));
    }
    if table.fields.len() + table.removed.len() + field::SYSTEM_FIELDS.len() > limits::COLUMNS_PER_TABLE {
        let message =
            format!("A table has at most {} columns, removed ones included", limits::COLUMNS_PER_TABLE);
        return Err(refusal::limit("table/too-many-columns", message).hint("Move the rows to a new table"));
    }
    if table.indexes.len() > limits::INDEXES_PER_TABLE {
        return Err(table::too_many_indexes());
    }
    Ok(())
}

/// Writes the new definition and its versions.
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
            table::definition_text(&table.fields)?,
            table::definition_text(&table.removed)?,
            table::definition_text(&table.indexes)?,
            table.schema_version,
            table.index_version,
            table.updated_at,
        ],
    )?;
    if table.schema_version != before.schema_version {
        schema_version::write_schema(tx, table, actor)?;
        tx.output("schema_version", table.schema_version);
    }
    if table.index_version != before.index_version {
        schema_version::write_indexes(tx, table, actor)?;
        tx.output("index_version", table.index_version);
    }
    tx.output("table_id", table.id.as_str());
    for tag in tags::of_table_change(table) {
        tx.touch(tag);
    }
    Ok(())
}
