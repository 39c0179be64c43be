//! Storage of rows: each table of the catalogue has one physical table with a column per field.
//!
//! On PostgreSQL an environment is a schema; on SQLite it is a name prefix. Identifiers come from the catalogue, which
//! has checked them; they are quoted nevertheless. Only this file writes SQL for a specific backend.

use quad_core::text::truncate;
use quad_core::{Error, Result, canonical};
use quad_store::{Backend, DbError, Sql, Tx, Value as SqlValue, params};
use serde_json::Value;

use crate::field::{Field, FieldType};
use crate::index::{self, Index};
use crate::table::Table;
use crate::{errors, limits, validate};

/// The name of an environment in the database: its id if that is a safe identifier and not in use, otherwise a
/// shortened id with a digest. Imports supply ids, so two tenants may have equal ones.
pub(crate) fn environment_name(sql: &mut dyn Sql, id: &str) -> Result<String> {
    // `__` separates environment and table on SQLite; a second `__` would make the name ambiguous.
    let is_safe = id.starts_with("env_")
        && !id.contains("__")
        && !id.ends_with('_')
        && id.len() <= limits::IDENTIFIER_BYTES;
    let taken = sql.query_opt(
        "SELECT 1 FROM bkend_environment WHERE physical_key = $1",
        params![id.to_ascii_lowercase()],
    )?;
    if is_safe && taken.is_none() {
        return Ok(id.to_owned());
    }
    let digest = canonical::sha256_hex(format!("{}\n{id}", sql.tenant()).as_bytes());
    let readable: String = id.trim_start_matches("env_").chars().filter(|c| *c != '_').take(24).collect();
    Ok(format!("env_{readable}-{}", &digest[..24]))
}

/// The schema and the name of a new table.
pub(crate) fn table_name(backend: Backend, environment: &str, table: &str) -> (String, String) {
    match backend {
        Backend::Sqlite => ("main".to_owned(), format!("{environment}__{table}")),
        Backend::Postgres => (environment.to_owned(), table.to_owned()),
    }
}

/// Creates the table with its columns and indexes.
pub(crate) fn create_table(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    let backend = tx.backend();
    let text = column_type(backend, FieldType::String);
    let date = column_type(backend, FieldType::Date);
    let mut columns = format!(
        "\"id\" {text} NOT NULL, \"createdBy\" {text} NOT NULL, \"createdAt\" {date} NOT NULL, \"updatedAt\" {date} NOT NULL"
    );
    for field in &table.fields {
        columns.push_str(&format!(", {} {}", quote(&field.name), column_type(backend, field.kind)));
    }
    let primary_key = index_name(table, "_id_");
    let mut ddl = String::new();
    if backend == Backend::Postgres {
        ddl.push_str(&format!("CREATE SCHEMA IF NOT EXISTS {};\n", quote(&table.physical_schema)));
    }
    ddl.push_str(&format!(
        "CREATE TABLE {} ({columns}, CONSTRAINT {} PRIMARY KEY (\"id\"));\n",
        qualified_name(table),
        quote(&primary_key)
    ));
    ddl.push_str(&format!(
        "CREATE INDEX {} ON {} (\"createdAt\", \"id\");\n",
        quote(&index_name(table, "_created_")),
        qualified_name(table)
    ));
    tx.execute_ddl(&ddl)?;
    for index in &table.indexes {
        create_index(tx, table, index)?;
    }
    Ok(())
}

/// Locks out writers of the table until the commit; readers continue. The rows that a schema change counts or converts
/// must not change concurrently.
pub(crate) fn lock_table(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    if tx.backend() == Backend::Postgres {
        tx.execute_ddl(&format!("LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE", qualified_name(table)))?;
    }
    Ok(())
}

/// Drops the table and its rows.
pub(crate) fn drop_table(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    Ok(tx.execute_ddl(&format!("DROP TABLE {}", qualified_name(table)))?)
}

/// Drops the environment's schema on PostgreSQL, after its tables.
pub(crate) fn drop_environment(tx: &mut Tx<'_>, physical: &str) -> Result<()> {
    if tx.backend() == Backend::Postgres {
        // Without CASCADE: objects that were not created by this crate must not be dropped.
        tx.execute_ddl(&format!("DROP SCHEMA IF EXISTS {}", quote(physical)))?;
    }
    Ok(())
}

/// Adds a column.
pub(crate) fn add_column(tx: &mut Tx<'_>, table: &Table, column: &str, kind: FieldType) -> Result<()> {
    let kind = column_type(tx.backend(), kind);
    Ok(tx.execute_ddl(&format!(
        "ALTER TABLE {} ADD COLUMN {} {kind}",
        qualified_name(table),
        quote(column)
    ))?)
}

/// Renames a column.
pub(crate) fn rename_column(tx: &mut Tx<'_>, table: &Table, from: &str, to: &str) -> Result<()> {
    Ok(tx.execute_ddl(&format!(
        "ALTER TABLE {} RENAME COLUMN {} TO {}",
        qualified_name(table),
        quote(from),
        quote(to)
    ))?)
}

/// Creates an index. If existing rows violate it, nothing is created and the error shows some of them.
pub(crate) fn create_index(tx: &mut Tx<'_>, table: &Table, index: &Index) -> Result<()> {
    check_text_lengths(tx, table, index)?;
    if index.unique {
        check_no_duplicates(tx, table, index)?;
    }
    let unique = if index.unique { "UNIQUE " } else { "" };
    let postgres = tx.backend() == Backend::Postgres;
    let columns: Vec<String> = index
        .fields
        .iter()
        .map(|(field, direction)| {
            // A missing value sorts before all others, on both backends and in every list.
            let order = match (*direction > 0, postgres) {
                (true, false) => "ASC",
                (false, false) => "DESC",
                (true, true) => "ASC NULLS FIRST",
                (false, true) => "DESC NULLS LAST",
            };
            format!("{} {order}", quote(field))
        })
        .collect();
    // Not sparse: at most one record may lack the value, as in a document store.
    let strict = index.unique && !index.sparse;
    let nulls = if strict && postgres { " NULLS NOT DISTINCT" } else { "" };
    let name = index_name(table, &index.name);
    let mut ddl = format!(
        "CREATE {unique}INDEX {} ON {} ({}){nulls};\n",
        quote(&name),
        qualified_name(table),
        columns.join(", ")
    );
    if strict && !postgres {
        let parts: Vec<String> = index
            .fields
            .iter()
            .map(|(field, _)| format!("({0} IS NULL), COALESCE({0}, '')", quote(field)))
            .collect();
        let missing: Vec<String> =
            index.fields.iter().map(|(field, _)| format!("{} IS NULL", quote(field))).collect();
        ddl.push_str(&format!(
            "CREATE UNIQUE INDEX {} ON {} ({}) WHERE {};\n",
            quote(&format!("{name}.missing")),
            qualified_name(table),
            parts.join(", "),
            missing.join(" OR ")
        ));
    }
    match tx.execute_ddl(&ddl) {
        Err(DbError::Unique { .. }) => Err(duplicates_error(index, Vec::new())),
        done => Ok(done?),
    }
}

/// Drops an index.
pub(crate) fn drop_index(tx: &mut Tx<'_>, table: &Table, index: &Index) -> Result<()> {
    let name = index_name(table, &index.name);
    let schema_prefix = match tx.backend() {
        Backend::Sqlite => String::new(),
        Backend::Postgres => format!("{}.", quote(&table.physical_schema)),
    };
    let mut ddl = format!("DROP INDEX {schema_prefix}{};\n", quote(&name));
    if index.unique && !index.sparse && tx.backend() == Backend::Sqlite {
        ddl.push_str(&format!("DROP INDEX {};\n", quote(&format!("{name}.missing"))));
    }
    Ok(tx.execute_ddl(&ddl)?)
}

/// The unique index of the table that a database error refers to.
pub(crate) fn find_index_by_constraint<'t>(table: &'t Table, constraint: &str) -> Option<&'t Index> {
    table.indexes.iter().filter(|index| index.unique).find(|index| {
        let name = index_name(table, &index.name);
        // SQLite reports the columns of a plain index, but the name of an index on expressions.
        let columns: Vec<String> =
            index.fields.iter().map(|(field, _)| format!("{}.{field}", table.physical_name)).collect();
        constraint == name || constraint == format!("{name}.missing") || constraint == columns.join(", ")
    })
}

/// The quoted table name, with the schema on PostgreSQL.
pub(crate) fn qualified_name(table: &Table) -> String {
    if table.physical_schema == "main" {
        quote(&table.physical_name)
    } else {
        format!("{}.{}", quote(&table.physical_schema), quote(&table.physical_name))
    }
}

/// A quoted identifier.
pub(crate) fn quote(identifier: &str) -> String {
    format!("\"{}\"", identifier.replace('"', "\"\""))
}

/// The dot keeps these names apart from table names: no table or index name has one.
fn index_name(table: &Table, index: &str) -> String {
    let name = format!("{}.{index}", table.physical_name);
    if table.physical_schema == "main" { name } else { index::shorten_identifier(name) }
}

/// The column type of a field type.
fn column_type(backend: Backend, kind: FieldType) -> &'static str {
    match (kind, backend) {
        (FieldType::String | FieldType::Reference, Backend::Sqlite) => "TEXT",
        (FieldType::String | FieldType::Reference, Backend::Postgres) => "text COLLATE \"C\"",
        (FieldType::Int | FieldType::Long, _) => "BIGINT",
        (FieldType::Number, Backend::Sqlite) => "REAL",
        (FieldType::Number, Backend::Postgres) => "double precision",
        (FieldType::Boolean, Backend::Sqlite) => "INTEGER",
        (FieldType::Boolean, Backend::Postgres) => "boolean",
        (FieldType::Date, Backend::Sqlite) => "TEXT",
        (FieldType::Date, Backend::Postgres) => "timestamptz",
        (FieldType::Object | FieldType::Array | FieldType::Mixed, Backend::Sqlite) => "TEXT",
        (FieldType::Object | FieldType::Array | FieldType::Mixed, Backend::Postgres) => "jsonb",
    }
}

/// Whether two types have the same column type, so that a change between them converts nothing.
pub(crate) fn same_sql_type(left: FieldType, right: FieldType) -> bool {
    left == right || (left.is_text() && right.is_text()) || {
        let is_integer = |kind| matches!(kind, FieldType::Int | FieldType::Long);
        is_integer(left) && is_integer(right)
    }
}

/// Converts a checked value for its column.
pub(crate) fn to_sql(kind: FieldType, value: &Value) -> SqlValue {
    match value {
        Value::Null => SqlValue::Null,
        json if kind.is_json() => SqlValue::Text(json.to_string()),
        Value::Bool(flag) => SqlValue::Bool(*flag),
        Value::Number(number) if kind == FieldType::Number => {
            number.as_f64().map_or(SqlValue::Null, SqlValue::Real)
        }
        Value::Number(number) => number.as_i64().map_or(SqlValue::Null, SqlValue::Int),
        Value::String(text) => SqlValue::Text(text.clone()),
        other => SqlValue::Text(other.to_string()),
    }
}

/// Converts a column's value to JSON.
pub(crate) fn from_sql(kind: FieldType, cell: &SqlValue) -> Result<Value> {
    Ok(match cell {
        SqlValue::Null => Value::Null,
        SqlValue::Bool(flag) => Value::Bool(*flag),
        SqlValue::Int(number) if kind == FieldType::Boolean => Value::Bool(*number != 0),
        SqlValue::Int(number) => Value::from(*number),
        SqlValue::Real(number) => validate::json_number(*number),
        SqlValue::Text(text) if kind.is_json() => serde_json::from_str(text).map_err(Error::internal)?,
        SqlValue::Text(text) => Value::from(text.as_str()),
        SqlValue::Blob(_) => return Err(Error::internal("a user table holds bytes")),
    })
}

/// The time of an update: now, but always later than the previous time, so that it identifies the state.
pub(crate) fn monotonic_time_sql(backend: Backend, parameter: usize) -> String {
    match backend {
        // SQLite has one writer: no other update can have happened since this transaction read the record.
        Backend::Sqlite => format!("${parameter}"),
        Backend::Postgres => {
            format!("GREATEST(${parameter}::timestamptz, \"updatedAt\" + interval '1 millisecond')")
        }
    }
}

fn check_no_duplicates(tx: &mut Tx<'_>, table: &Table, index: &Index) -> Result<()> {
    let columns: Vec<String> = index.fields.iter().map(|(field, _)| quote(field)).collect();
    let columns = columns.join(", ");
    let not_null: Vec<String> =
        index.fields.iter().map(|(field, _)| format!("{} IS NOT NULL", quote(field))).collect();
    let filter = if index.sparse { format!("WHERE {}", not_null.join(" AND ")) } else { String::new() };
    let rows = tx.query(
        &format!(
            "SELECT COUNT(*), {columns} FROM {} {filter} GROUP BY {columns} HAVING COUNT(*) > 1 ORDER BY {columns} LIMIT {}",
            qualified_name(table),
            limits::EXAMPLES
        ),
        &[],
    )?;
    if rows.is_empty() {
        return Ok(());
    }
    let mut examples = Vec::with_capacity(rows.len());
    for row in &rows {
        let mut example = serde_json::Map::new();
        for (position, (name, _)) in index.fields.iter().enumerate() {
            let kind = field_type(&table.fields, name);
            example.insert(name.clone(), from_sql(kind, row.value(position + 1))?);
        }
        examples.push(serde_json::json!({"values": example, "count": row.int(0)?}));
    }
    Err(duplicates_error(index, examples))
}

fn duplicates_error(index: &Index, examples: Vec<Value>) -> Error {
    let fields: Vec<&str> = index.fields.iter().map(|(field, _)| field.as_str()).collect();
    let shown = match examples.as_slice() {
        [] => String::new(),
        examples => format!(", for example {}", Value::from(examples)),
    };
    let message = format!("{} cannot be unique: some records share a value{shown}", fields.join(", "));
    let hint =
        "Change or delete the records that share a value, or make the index sparse if values are missing";
    errors::conflict(truncate(&message, limits::MESSAGE_CHARS), hint).with_detail("examples", examples)
}

fn check_text_lengths(tx: &mut Tx<'_>, table: &Table, index: &Index) -> Result<()> {
    let (texts, max_bytes) = indexed_text_limit(&table.fields, index);
    if texts.is_empty() {
        return Ok(());
    }
    let too_long: Vec<String> =
        texts.iter().map(|name| format!("octet_length({}) > {max_bytes}", quote(name))).collect();
    let row = tx.query_opt(
        &format!("SELECT 1 FROM {} WHERE {} LIMIT 1", qualified_name(table), too_long.join(" OR ")),
        &[],
    )?;
    match row {
        None => Ok(()),
        Some(_) => Err(errors::conflict(
            format!(
                "{} cannot be indexed: some records hold more than {max_bytes} bytes there",
                texts.join(", ")
            ),
            "Shorten those values first, or index another field",
        )),
    }
}

/// The text fields of an index, and the maximum bytes of each.
pub(crate) fn indexed_text_limit<'i>(fields: &[Field], index: &'i Index) -> (Vec<&'i str>, usize) {
    let texts: Vec<&str> = index
        .fields
        .iter()
        .map(|(name, _)| name.as_str())
        .filter(|name| field_type(fields, name).is_text())
        .collect();
    let max_bytes = limits::INDEXED_TEXT_BYTES / texts.len().max(1);
    (texts, max_bytes)
}

/// The type of a field or system field.
pub(crate) fn field_type(fields: &[Field], name: &str) -> FieldType {
    match name {
        "createdAt" | "updatedAt" => FieldType::Date,
        _ => fields.iter().find(|field| field.name == name).map_or(FieldType::String, |field| field.kind),
    }
}
