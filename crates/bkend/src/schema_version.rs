//! Versions: every schema and every set of indexes that a table has had, numbered from 1. Versions are immutable.

use quad_core::{Error, Result, Timestamp, typed_id};
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Map, Value};

use crate::field::{self, Field};
use crate::index::Index;
use crate::page::Page;
use crate::table::{self, Table};
use crate::{errors, limits, routes};

typed_id!(
    /// The id of a version.
    VersionId,
    "ver_"
);

/// The series of a version: schema or indexes. Both have their own numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum VersionKind {
    /// The fields.
    Schema,
    /// The indexes.
    Indexes,
}

impl VersionKind {
    fn table(self) -> &'static str {
        match self {
            VersionKind::Schema => "bkend_schema_version",
            VersionKind::Indexes => "bkend_index_version",
        }
    }

    fn column(self) -> &'static str {
        match self {
            VersionKind::Schema => "fields",
            VersionKind::Indexes => "indexes",
        }
    }

    fn current_version(self, table: &Table) -> i64 {
        match self {
            VersionKind::Schema => table.schema_version,
            VersionKind::Indexes => table.index_version,
        }
    }
}

/// One version.
#[derive(Clone, Debug)]
pub(crate) struct Version {
    id: VersionId,
    version: i64,
    body: String,
    created_by: String,
    created_at: Timestamp,
}

impl Version {
    fn from_row(row: &Row) -> Result<Version> {
        Ok(Version {
            id: VersionId::from_db(row.text(0)?),
            version: row.int(1)?,
            body: row.text(2)?.to_owned(),
            created_by: row.text(3)?.to_owned(),
            created_at: Timestamp(row.int(4)?),
        })
    }

    /// The element in a list without bodies.
    pub(crate) fn summary(&self, kind: VersionKind, table: &Table) -> Value {
        let mut entry = self.base_json(kind, table);
        if kind == VersionKind::Schema {
            entry.insert("uri".into(), routes::schema_version_uri(&table.uri(), self.version).into());
        }
        Value::Object(entry)
    }

    /// The complete JSON.
    pub(crate) fn detail(&self, kind: VersionKind, table: &Table) -> Result<Value> {
        let mut entry = self.base_json(kind, table);
        match kind {
            VersionKind::Schema => {
                let fields: Vec<Field> = serde_json::from_str(&self.body).map_err(Error::internal)?;
                entry.insert("schema".into(), field::schema(&fields));
            }
            VersionKind::Indexes => {
                let indexes: Vec<Index> = serde_json::from_str(&self.body).map_err(Error::internal)?;
                entry.insert("indexes".into(), indexes.iter().map(Index::to_json).collect());
            }
        }
        Ok(Value::Object(entry))
    }

    fn base_json(&self, kind: VersionKind, table: &Table) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("id".into(), self.id.as_str().into());
        entry.insert("version".into(), self.version.into());
        entry.insert("isActive".into(), (self.version == kind.current_version(table)).into());
        entry.insert("createdBy".into(), self.created_by.as_str().into());
        entry.insert("createdAt".into(), self.created_at.to_string().into());
        entry
    }
}

/// Appends the table's current schema as a version.
pub(crate) fn write_schema(tx: &mut Tx<'_>, table: &Table, actor: &str) -> Result<()> {
    write(tx, VersionKind::Schema, table, table::definition_json(&table.fields)?, actor)
}

/// Appends the table's current indexes as a version.
pub(crate) fn write_indexes(tx: &mut Tx<'_>, table: &Table, actor: &str) -> Result<()> {
    write(tx, VersionKind::Indexes, table, table::definition_json(&table.indexes)?, actor)
}

fn write(tx: &mut Tx<'_>, kind: VersionKind, table: &Table, body: String, actor: &str) -> Result<()> {
    let version = kind.current_version(table);
    if version > limits::VERSIONS_PER_TABLE {
        return Err(errors::limit("table/too-many-versions", "The table has changed too often")
            .hint("Make a new table with the present schema")
            .with_detail("limit", limits::VERSIONS_PER_TABLE));
    }
    let tenant = tx.tenant().clone();
    let now = tx.now();
    tx.execute(
        &format!(
            "INSERT INTO {} (tenant_id, table_id, version, id, {}, created_by, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            kind.table(),
            kind.column()
        ),
        params![
            tenant.as_str(),
            table.id.as_str(),
            version,
            VersionId::generate()?.as_str(),
            body,
            actor,
            now
        ],
    )?;
    Ok(())
}

/// All versions, newest first.
pub(crate) fn all(sql: &mut dyn Sql, kind: VersionKind, table: &Table) -> Result<Vec<Version>> {
    list_page(sql, kind, table, Page { page: 1, limit: limits::VERSIONS_PER_TABLE as u64 })
}

/// A page of versions, newest first. Their total is the newest number.
pub(crate) fn list_page(
    sql: &mut dyn Sql,
    kind: VersionKind,
    table: &Table,
    page: Page,
) -> Result<Vec<Version>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT id, version, {}, created_by, created_at FROM {}
             WHERE tenant_id = $1 AND table_id = $2 ORDER BY version DESC LIMIT $3 OFFSET $4",
            kind.column(),
            kind.table()
        ),
        params![tenant.as_str(), table.id.as_str(), page.size(), page.offset()],
    )?;
    rows.iter().map(Version::from_row).collect()
}

/// The number of versions: the numbers have no gaps.
pub(crate) fn count(kind: VersionKind, table: &Table) -> i64 {
    kind.current_version(table)
}

/// One version, by its number or id.
pub(crate) fn find(sql: &mut dyn Sql, kind: VersionKind, table: &Table, version: &str) -> Result<Version> {
    let tenant = sql.tenant().clone();
    let number = version.parse::<i64>().unwrap_or(0);
    let row = sql.query_opt(
        &format!(
            "SELECT id, version, {}, created_by, created_at FROM {}
             WHERE tenant_id = $1 AND table_id = $2 AND (version = $3 OR id = $4)",
            kind.column(),
            kind.table()
        ),
        params![tenant.as_str(), table.id.as_str(), number, version],
    )?;
    let absent = || {
        let newest = kind.current_version(table);
        let listed = match kind {
            VersionKind::Schema => "schema/versions",
            VersionKind::Indexes => "indexes/versions",
        };
        errors::not_found("Version", version).hint(format!(
            "Use a number from 1 to {newest}, or list them with bkend://tables/{}/{listed}",
            table.id
        ))
    };
    Version::from_row(&row.ok_or_else(absent)?)
}
