//! Versions: every schema and every set of indexes that a table has had, numbered from 1. None is ever changed.

use quad_core::{Error, Result, Timestamp, typed_id};
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Map, Value};

use crate::field::{self, Field};
use crate::index::Index;
use crate::page::Page;
use crate::table::{self, Table};
use crate::{limits, refusal, routes};

typed_id!(
    /// The id of a version.
    VersionId,
    "ver_"
);

/// Schema or indexes: two series of numbers, alike in all else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Series {
    /// The fields.
    Schema,
    /// The indexes.
    Indexes,
}

impl Series {
    fn table(self) -> &'static str {
        match self {
            Series::Schema => "bkend_schema_version",
            Series::Indexes => "bkend_index_version",
        }
    }

    fn column(self) -> &'static str {
        match self {
            Series::Schema => "fields",
            Series::Indexes => "indexes",
        }
    }

    fn active(self, table: &Table) -> i64 {
        match self {
            Series::Schema => table.schema_version,
            Series::Indexes => table.index_version,
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
            id: VersionId::stored(row.text(0)?),
            version: row.int(1)?,
            body: row.text(2)?.to_owned(),
            created_by: row.text(3)?.to_owned(),
            created_at: Timestamp(row.int(4)?),
        })
    }

    /// Its element in a list that leaves the bodies out.
    pub(crate) fn summary(&self, series: Series, table: &Table) -> Value {
        let mut entry = self.head(series, table);
        if series == Series::Schema {
            entry.insert("uri".into(), routes::schema_version(&table.uri(), self.version).into());
        }
        Value::Object(entry)
    }

    /// All of it.
    pub(crate) fn detail(&self, series: Series, table: &Table) -> Result<Value> {
        let mut entry = self.head(series, table);
        match series {
            Series::Schema => {
                let fields: Vec<Field> = serde_json::from_str(&self.body).map_err(Error::internal)?;
                entry.insert("schema".into(), field::schema(&fields));
            }
            Series::Indexes => {
                let indexes: Vec<Index> = serde_json::from_str(&self.body).map_err(Error::internal)?;
                entry.insert("indexes".into(), indexes.iter().map(Index::entry).collect());
            }
        }
        Ok(Value::Object(entry))
    }

    fn head(&self, series: Series, table: &Table) -> Map<String, Value> {
        let mut entry = Map::new();
        entry.insert("id".into(), self.id.as_str().into());
        entry.insert("version".into(), self.version.into());
        entry.insert("isActive".into(), (self.version == series.active(table)).into());
        entry.insert("createdBy".into(), self.created_by.as_str().into());
        entry.insert("createdAt".into(), self.created_at.to_string().into());
        entry
    }
}

/// Writes the table's present schema down.
pub(crate) fn write_schema(tx: &mut Tx<'_>, table: &Table, actor: &str) -> Result<()> {
    write(tx, Series::Schema, table, table::definition_text(&table.fields)?, actor)
}

/// Writes the table's present indexes down.
pub(crate) fn write_indexes(tx: &mut Tx<'_>, table: &Table, actor: &str) -> Result<()> {
    write(tx, Series::Indexes, table, table::definition_text(&table.indexes)?, actor)
}

fn write(tx: &mut Tx<'_>, series: Series, table: &Table, body: String, actor: &str) -> Result<()> {
    let version = series.active(table);
    if version > limits::VERSIONS_PER_TABLE {
        return Err(refusal::limit("table/too-many-versions", "The table has changed too often")
            .hint("Make a new table with the present schema")
            .fact("limit", limits::VERSIONS_PER_TABLE));
    }
    let tenant = tx.tenant().clone();
    let now = tx.now();
    tx.execute(
        &format!(
            "INSERT INTO {} (tenant_id, table_id, version, id, {}, created_by, created_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7)",
            series.table(),
            series.column()
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

/// All versions, the newest first.
pub(crate) fn all(sql: &mut dyn Sql, series: Series, table: &Table) -> Result<Vec<Version>> {
    page(sql, series, table, Page { page: 1, limit: limits::VERSIONS_PER_TABLE as u64 })
}

/// A page of versions, the newest first. There are as many as the newest one's number says.
pub(crate) fn page(sql: &mut dyn Sql, series: Series, table: &Table, page: Page) -> Result<Vec<Version>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT id, version, {}, created_by, created_at FROM {}
             WHERE tenant_id = $1 AND table_id = $2 ORDER BY version DESC LIMIT $3 OFFSET $4",
            series.column(),
            series.table()
        ),
        params![tenant.as_str(), table.id.as_str(), page.size(), page.offset()],
    )?;
    rows.iter().map(Version::from_row).collect()
}

/// How many versions there are: they are numbered without gaps.
pub(crate) fn count(series: Series, table: &Table) -> i64 {
    series.active(table)
}

/// One version, by its number or its id.
pub(crate) fn find(sql: &mut dyn Sql, series: Series, table: &Table, version: &str) -> Result<Version> {
    let tenant = sql.tenant().clone();
    let number = version.parse::<i64>().unwrap_or(0);
    let row = sql.query_opt(
        &format!(
            "SELECT id, version, {}, created_by, created_at FROM {}
             WHERE tenant_id = $1 AND table_id = $2 AND (version = $3 OR id = $4)",
            series.column(),
            series.table()
        ),
        params![tenant.as_str(), table.id.as_str(), number, version],
    )?;
    Version::from_row(&row.ok_or_else(|| refusal::not_found("Version"))?)
}
