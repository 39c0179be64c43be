//! Tables: a definition in the catalogue, and a physical table with the rows.
//!
//! This file creates, describes and drops tables. [`crate::alter`] changes their fields and indexes, [`crate::record`]
//! has their rows.

use quad_core::{Error, Kind, ReadSet, Result, Timestamp, typed_id};
use quad_store::{Backend, DbError, Row, Sql, Tx, Value as SqlValue, params};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::definition::FieldDefinition;
use crate::environment::{self, EnvironmentId};
use crate::errors::{self, invalid};
use crate::field::{self, Field};
use crate::index::{self, Index};
use crate::organization::OrganizationId;
use crate::page::Page;
use crate::parents::Parents;
use crate::project::ProjectId;
use crate::{limits, permissions, physical, routes, schema_version, slug, tags};

typed_id!(
    /// The id of a table.
    TableId,
    "tbl_"
);

/// A removed field. Its column stays in the database with the values; nothing reads or restores them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RemovedField {
    /// The field.
    pub field: Field,
    /// The column with its values.
    pub column: String,
}

/// A table.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its id.
    pub id: TableId,
    /// The organization.
    pub organization_id: OrganizationId,
    /// The project.
    pub project_id: ProjectId,
    /// The environment.
    pub environment_id: EnvironmentId,
    /// The environment's name.
    pub environment_name: String,
    /// The name, unique in the environment, ignoring case; never changes.
    pub name: String,
    /// A display name for people.
    pub display_name: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// The fields, without system fields.
    pub fields: Vec<Field>,
    /// The removed fields.
    pub removed: Vec<RemovedField>,
    /// The indexes, without system indexes.
    pub indexes: Vec<Index>,
    /// Permissions on rows; stored as given, and not enforced.
    pub permissions: Option<Value>,
    /// The current schema version.
    pub schema_version: i64,
    /// The current index version.
    pub index_version: i64,
    /// The exact number of rows.
    pub row_count: i64,
    /// The database schema of the physical table; `main` on SQLite.
    pub physical_schema: String,
    /// The name of the physical table.
    pub physical_name: String,
    /// The creator.
    pub created_by: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When its definition last changed.
    pub updated_at: Timestamp,
}

/// A new table.
#[derive(Clone, Debug)]
pub(crate) struct NewTable {
    pub id: Option<TableId>,
    pub environment_id: String,
    pub name: String,
    pub display_name: Option<String>,
    pub description: Option<String>,
    pub fields: Vec<FieldDefinition>,
    /// Index definitions in addition to those of unique fields.
    pub indexes: Vec<Value>,
    pub created_by: String,
}

const COLUMNS: &str = "t.id, t.organization_id, t.project_id, t.environment_id, e.name, t.name, t.display_name, \
     t.description, t.fields, t.removed, t.indexes, t.permissions, t.schema_version, t.index_version, t.row_count, \
     t.physical_schema, t.physical_name, t.created_by, t.created_at, t.updated_at";

const FROM: &str =
    "FROM bkend_table t JOIN bkend_environment e ON e.tenant_id = t.tenant_id AND e.id = t.environment_id";

impl Table {
    fn from_row(row: &Row) -> Result<Table, Error> {
        fn parse_json<T: serde::de::DeserializeOwned>(text: &str) -> Result<T, Error> {
            serde_json::from_str(text).map_err(Error::internal)
        }
        Ok(Table {
            id: TableId::from_db(row.text(0)?),
            organization_id: OrganizationId::from_db(row.text(1)?),
            project_id: ProjectId::from_db(row.text(2)?),
            environment_id: EnvironmentId::from_db(row.text(3)?),
            environment_name: row.text(4)?.to_owned(),
            name: row.text(5)?.to_owned(),
            display_name: row.opt_text(6)?.map(str::to_owned),
            description: row.opt_text(7)?.map(str::to_owned),
            fields: parse_json(row.text(8)?)?,
            removed: parse_json(row.text(9)?)?,
            indexes: parse_json(row.text(10)?)?,
            permissions: row.opt_text(11)?.map(parse_json).transpose()?,
            schema_version: row.int(12)?,
            index_version: row.int(13)?,
            row_count: row.int(14)?,
            physical_schema: row.text(15)?.to_owned(),
            physical_name: row.text(16)?.to_owned(),
            created_by: row.text(17)?.to_owned(),
            created_at: Timestamp(row.int(18)?),
            updated_at: Timestamp(row.int(19)?),
        })
    }

    /// The fields as callers see them.
    pub(crate) fn fields_json(&self) -> Vec<Value> {
        self.fields.iter().map(|field| field.to_json(self.is_unique(&field.name))).collect()
    }

    /// The indexes as callers see them.
    pub(crate) fn indexes_json(&self) -> Vec<Value> {
        self.indexes.iter().map(Index::to_json).collect()
    }

    /// Whether an index makes this field unique.
    pub(crate) fn is_unique(&self, field: &str) -> bool {
        self.indexes.iter().any(|index| index.makes_unique(field))
    }

    /// The element in a list.
    pub(crate) fn summary(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "tableName": self.name,
            "displayName": self.display_name,
            "description": self.description,
            "status": "deployed",
            "rowCount": self.row_count,
            "schemaVersion": self.schema_version,
            "indexVersion": self.index_version,
            "schema": field::schema(&self.fields),
            "fields": self.fields_json(),
            "indexes": self.indexes_json(),
            "permissions": self.permissions,
            "updatedAt": self.updated_at,
            "uri": self.uri(),
        })
    }

    /// The element in a list that would otherwise be too long.
    fn short_summary(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "tableName": self.name,
            "displayName": self.display_name,
            "description": self.description,
            "status": "deployed",
            "rowCount": self.row_count,
            "schemaVersion": self.schema_version,
            "indexVersion": self.index_version,
            "schema": field::short_schema(&self.fields),
            "schemaUri": routes::schema_uri(&self.uri()),
            "updatedAt": self.updated_at,
            "uri": self.uri(),
        })
    }

    /// The complete JSON.
    pub(crate) fn detail(&self) -> Value {
        let uri = self.uri();
        json!({
            "id": self.id.as_str(),
            "organizationId": self.organization_id.as_str(),
            "projectId": self.project_id.as_str(),
            "environmentId": self.environment_id.as_str(),
            "environment": self.environment_name,
            "name": self.name,
            "tableName": self.name,
            "displayName": self.display_name,
            "description": self.description,
            "schema": field::schema(&self.fields),
            "fields": self.fields_json(),
            "indexes": self.indexes_json(),
            "permissions": self.permissions,
            "expressionPermissions": null,
            "columnPermissions": null,
            "rowFilters": null,
            "schemaVersion": self.schema_version,
            "indexVersion": self.index_version,
            "deployment": {"status": "deployed"},
            "stats": {"rowCount": self.row_count},
            "documentCount": self.row_count,
            "createdBy": self.created_by,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "uri": uri,
            "rowsUri": routes::rows_uri(&uri),
        })
    }

    /// The contents of the schema address.
    pub(crate) fn schema_detail(&self) -> Value {
        json!({
            "tableId": self.id.as_str(),
            "tableName": self.name,
            "schemaVersion": self.schema_version,
            "schema": field::schema(&self.fields),
            "fields": self.fields_json(),
        })
    }

    /// The address.
    pub(crate) fn uri(&self) -> String {
        routes::table_uri(
            self.organization_id.as_str(),
            self.project_id.as_str(),
            self.environment_id.as_str(),
            self.id.as_str(),
        )
    }

    /// Adds to a read set the tags of a payload that contains this table's row count.
    pub(crate) fn depend_on_row_count(&self, read_set: &mut ReadSet) {
        read_set.silent_tags.insert(tags::rows(self.id.as_str()));
    }
}

/// The lock that every change of an environment's tables takes first.
pub(crate) fn lock_name(environment: &str) -> String {
    format!("bkend:env:{environment}")
}

/// A table list with complete schemas, or with names and types if complete ones would be too long.
pub(crate) fn list_json(tables: &[Table]) -> Value {
    let full: Vec<Value> = tables.iter().map(Table::summary).collect();
    let full_json = Value::from(full);
    if full_json.to_string().len() <= limits::TABLE_LIST_BYTES {
        return full_json;
    }
    tables.iter().map(Table::short_summary).collect()
}

/// Creates a table, its columns and its indexes.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewTable) -> Result<Table> {
    check_name(&new.name)?;
    tx.lock(&lock_name(&new.environment_id))?;
    let environment = environment::find(tx, &new.environment_id)?;
    let tenant = tx.tenant().clone();
    let (physical_schema, physical_name) =
        physical::table_name(tx.backend(), &environment.physical_name, &new.name);
    let fields: Vec<Field> = new.fields.iter().map(|defined| defined.field.clone()).collect();
    let indexes = indexes_of(new, &fields)?;
    let taken = tx.query_opt(
        "SELECT name FROM bkend_table WHERE tenant_id = $1 AND environment_id = $2 AND name_key = $3",
        params![tenant.as_str(), environment.id.as_str(), new.name.to_ascii_lowercase()],
    )?;
    if let Some(row) = taken {
        let message = format!("The environment {} has a table {} already", environment.name, row.text(0)?);
        return Err(Error::new(Kind::Conflict, "table/already-exists", message).hint(
            "Choose a name that differs by more than case, or change the table with backend_field_manage",
        ));
    }
    check_sqlite_table_limit(tx)?;
    let created = Table {
        id: match &new.id {
            Some(id) => id.clone(),
            None => TableId::generate()?,
        },
        organization_id: environment.organization_id,
        project_id: environment.project_id,
        environment_id: environment.id,
        environment_name: environment.name,
        name: new.name.clone(),
        display_name: new
            .display_name
            .as_deref()
            .map(|text| slug::check_name("displayName", text))
            .transpose()?,
        description: new.description.as_deref().map(slug::check_description).transpose()?,
        fields,
        removed: Vec::new(),
        indexes,
        permissions: None,
        schema_version: 1,
        index_version: 1,
        row_count: 0,
        physical_schema,
        physical_name,
        created_by: new.created_by.clone(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    physical::create_table(tx, &created)?;
    let inserted = tx.execute(
        "INSERT INTO bkend_table (tenant_id, id, organization_id, project_id, environment_id, name, name_key,
            display_name, description, fields, removed, indexes, permissions, schema_version, index_version, row_count,
            physical_schema, physical_name, created_by, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, '[]', $11, NULL, 1, 1, 0, $12, $13, $14, $15, $15)",
        params![
            tenant.as_str(),
            created.id.as_str(),
            created.organization_id.as_str(),
            created.project_id.as_str(),
            created.environment_id.as_str(),
            created.name.as_str(),
            created.name.to_ascii_lowercase(),
            created.display_name.clone(),
            created.description.clone(),
            definition_json(&created.fields)?,
            definition_json(&created.indexes)?,
            created.physical_schema.as_str(),
            created.physical_name.as_str(),
            created.created_by.as_str(),
            created.created_at,
        ],
    );
    match inserted {
        Err(DbError::Unique { .. }) => {
            return Err(Error::new(
                Kind::Conflict,
                "table/already-exists",
                format!("The table {} exists already", created.id),
            )
            .hint("Choose another name, or change the table with backend_field_manage"));
        }
        done => done?,
    };
    schema_version::write_schema(tx, &created, &created.created_by)?;
    schema_version::write_indexes(tx, &created, &created.created_by)?;
    tx.audit_output("table_id", created.id.as_str());
    for tag in tags::for_table_set_change(&created) {
        tx.invalidate(tag);
    }
    Ok(created)
}

/// The indexes of a new table: those of its unique fields, then those that are defined separately.
fn indexes_of(new: &NewTable, fields: &[Field]) -> Result<Vec<Index>> {
    let mut indexes = index::unique_indexes(&new.name, &new.fields)?;
    for definition in &new.indexes {
        let index = Index::parse(&new.name, fields, definition)?;
        if let Some(existing) =
            indexes.iter().find(|candidate| candidate.name.eq_ignore_ascii_case(&index.name))
        {
            if *existing == index {
                continue;
            }
            return Err(invalid(
                "indexes",
                format!("has two indexes named {}", index.name),
                "Give them different names",
            ));
        }
        indexes.push(index);
    }
    if indexes.len() > limits::INDEXES_PER_TABLE {
        return Err(too_many_indexes());
    }
    Ok(indexes)
}

/// A part of a definition as stored, checked against the size limit.
pub(crate) fn definition_json(part: &impl Serialize) -> Result<String> {
    let text = serde_json::to_string(part).map_err(Error::internal)?;
    if text.len() > limits::DEFINITION_BYTES {
        return Err(errors::limit("table/definition-too-large", "The table's definition is too large")
            .hint("Shorten enums, patterns and descriptions, or split the table")
            .with_detail("limit_bytes", limits::DEFINITION_BYTES));
    }
    Ok(text)
}

/// The error for too many indexes.
pub(crate) fn too_many_indexes() -> Error {
    errors::limit(
        "table/too-many-indexes",
        format!("A table has at most {} indexes", limits::INDEXES_PER_TABLE),
    )
    .hint("Remove an index first")
}

/// Checks a table's name: it must be a valid identifier on both backends.
fn check_name(name: &str) -> Result<()> {
    let has_valid_chars =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let has_valid_start = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !has_valid_chars || !has_valid_start || name.len() > limits::IDENTIFIER_BYTES {
        return Err(invalid(
            "name",
            format!("cannot be \"{}\"", errors::truncate_for_message(name)),
            format!(
                "Begin with a letter and use only letters, digits, _ and -, at most {} in all",
                limits::IDENTIFIER_BYTES
            ),
        ));
    }
    let folded = name.to_ascii_lowercase();
    if folded.starts_with("sqlite_") || folded.starts_with("pg_") {
        return Err(invalid(
            "name",
            format!("cannot be {name}: the database reserves names that begin with sqlite_ or pg_"),
            "Choose another name",
        ));
    }
    Ok(())
}

fn check_sqlite_table_limit(tx: &mut Tx<'_>) -> Result<()> {
    if tx.backend() == Backend::Postgres {
        return Ok(());
    }
    // Counts all tenants: the limit is per file.
    let row = tx.query_opt("SELECT COUNT(*) FROM bkend_table", &[])?;
    if row.map_or(Ok(0), |row| row.int(0))? >= limits::SQLITE_TABLES {
        return Err(errors::limit(
            "table/limit-reached",
            format!("One SQLite file holds at most {} tables", limits::SQLITE_TABLES),
        )
        .hint("Delete unused tables, or run on PostgreSQL"));
    }
    Ok(())
}

/// Changes of a table other than fields and indexes. `None` keeps a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct TableChange {
    /// `Some(None)` clears it.
    pub display_name: Option<Option<String>>,
    pub description: Option<Option<String>>,
    pub permissions: Option<Option<Value>>,
}

/// Changes descriptions and permissions. Also returns the permission groups that the new permissions dropped.
pub(crate) fn update(tx: &mut Tx<'_>, table: &Table, change: &TableChange) -> Result<(Table, Vec<String>)> {
    tx.lock(&lock_name(table.environment_id.as_str()))?;
    let mut table = find(tx, table.id.as_str())?;
    if let Some(name) = &change.display_name {
        table.display_name = name.as_deref().map(|text| slug::check_name("displayName", text)).transpose()?;
    }
    if let Some(description) = &change.description {
        table.description = description.as_deref().map(slug::check_description).transpose()?;
    }
    let mut dropped = Vec::new();
    if let Some(permissions) = &change.permissions {
        let groups = permissions.as_ref().map(permissions::check).transpose()?;
        if let Some(Value::Object(before)) = &table.permissions {
            let is_kept = |group: &String| groups.is_some_and(|groups| groups.contains_key(group));
            dropped = before.keys().filter(|group| !is_kept(group)).cloned().collect();
        }
        table.permissions = permissions.clone();
    }
    table.updated_at = tx.now();
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE bkend_table SET display_name = $3, description = $4, permissions = $5, updated_at = $6
         WHERE tenant_id = $1 AND id = $2",
        params![
            tenant.as_str(),
            table.id.as_str(),
            table.display_name.clone(),
            table.description.clone(),
            table.permissions.as_ref().map(Value::to_string),
            table.updated_at,
        ],
    )?;
    tx.audit_output("table_id", table.id.as_str());
    for tag in tags::for_table_change(&table) {
        tx.invalidate(tag);
    }
    Ok((table, dropped))
}

/// Drops a table with its rows and versions.
pub(crate) fn delete(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    tx.lock(&lock_name(table.environment_id.as_str()))?;
    let table = find(tx, table.id.as_str())?;
    physical::drop_table(tx, &table)?;
    tx.audit_output("table_id", table.id.as_str());
    delete_catalog_rows(tx, &table)
}

/// Removes a table from the catalogue after its physical table.
pub(crate) fn delete_catalog_rows(tx: &mut Tx<'_>, table: &Table) -> Result<()> {
    let tenant = tx.tenant().clone();
    for statement in [
        "DELETE FROM bkend_schema_version WHERE tenant_id = $1 AND table_id = $2",
        "DELETE FROM bkend_index_version WHERE tenant_id = $1 AND table_id = $2",
        "DELETE FROM bkend_table WHERE tenant_id = $1 AND id = $2",
    ] {
        tx.execute(statement, params![tenant.as_str(), table.id.as_str()])?;
    }
    for tag in tags::for_table_set_change(table) {
        tx.invalidate(tag);
    }
    Ok(())
}

/// The tables of an environment, sorted by id.
pub(crate) fn list_in_environment(sql: &mut dyn Sql, environment: &str) -> Result<Vec<Table>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!("SELECT {COLUMNS} {FROM} WHERE t.tenant_id = $1 AND t.environment_id = $2 ORDER BY t.id"),
        params![tenant.as_str(), environment],
    )?;
    rows.iter().map(Table::from_row).collect()
}

/// A page of the tables below these parents, and their total number.
pub(crate) fn list_page(sql: &mut dyn Sql, parents: &Parents, page: Page) -> Result<(Vec<Table>, i64)> {
    let mut values = vec![SqlValue::from(sql.tenant().as_str())];
    let condition = parents.condition("t", &mut values);
    let total = sql.query_opt(
        &format!("SELECT COUNT(*) FROM bkend_table t WHERE t.tenant_id = $1{condition}"),
        &values,
    )?;
    let window = page.window(&mut values);
    let rows = sql.query(
        &format!("SELECT {COLUMNS} {FROM} WHERE t.tenant_id = $1{condition} ORDER BY t.id{window}"),
        &values,
    )?;
    let tables = rows.iter().map(Table::from_row).collect::<Result<_>>()?;
    Ok((tables, total.map_or(Ok(0), |row| row.int(0))?))
}

/// One table by its id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Table> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} {FROM} WHERE t.tenant_id = $1 AND t.id = $2"),
        params![tenant.as_str(), id],
    )?;
    Table::from_row(&row.ok_or_else(|| errors::not_found("Table", id))?)
}

/// The tables with this name below these parents, up to one more than an error lists.
pub(crate) fn find_by_name(sql: &mut dyn Sql, parents: &Parents, name: &str) -> Result<Vec<Table>> {
    let mut values = vec![SqlValue::from(sql.tenant().as_str()), SqlValue::from(name.to_ascii_lowercase())];
    let condition = parents.condition("t", &mut values);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} {FROM} WHERE t.tenant_id = $1 AND t.name_key = $2{condition} ORDER BY t.id LIMIT {}",
            limits::CANDIDATES_SHOWN + 1
        ),
        &values,
    )?;
    rows.iter().map(Table::from_row).collect()
}

/// One table by its id, if it belongs to this environment, project and organization.
pub(crate) fn find_at_path(
    sql: &mut dyn Sql,
    organization: &str,
    project: &str,
    environment: &str,
    id: &str,
) -> Result<Table> {
    let table = find(sql, id)?;
    let matches_path = table.organization_id.as_str() == organization
        && table.project_id.as_str() == project
        && table.environment_id.as_str() == environment;
    if matches_path { Ok(table) } else { Err(errors::not_found("Table", id)) }
}
