//! Migrations: forward only, one script for both databases, checked at every start.

use quad_core::{Error, Kind, Result, Timestamp};

use crate::connection::Connection;
use crate::{Backend, params};

/// The tables of one crate: its migrations in order, numbered from 1. A released script never changes.
#[derive(Clone, Copy, Debug)]
pub struct Component {
    /// The name of the component in the table `migration`.
    pub name: &'static str,
    /// SQL scripts in the common dialect: `BIGINT`, `DOUBLE`, `TEXT`, `BLOB`; `WITHOUT ROWID` has an effect on SQLite
    /// only.
    pub migrations: &'static [&'static str],
}

/// The store's own tables.
pub(crate) const STORE_COMPONENT: Component = Component {
    name: "store",
    migrations: &[
        "
CREATE TABLE tenant (
    id TEXT NOT NULL PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    created_at BIGINT NOT NULL
);

-- One row per tenant. Locked and advanced by the last statements of every commit.
CREATE TABLE head (
    tenant_id TEXT NOT NULL PRIMARY KEY,
    version BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    hash TEXT
);

-- The tags that each version invalidated, separated by spaces.
CREATE TABLE change (
    tenant_id TEXT NOT NULL,
    version BIGINT NOT NULL,
    tags TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, version)
);

-- The audit chain: the events of one commit are one row, one canonical JSON record per line.
CREATE TABLE audit_block (
    tenant_id TEXT NOT NULL,
    first_sequence BIGINT NOT NULL,
    events BIGINT NOT NULL,
    hash_schema_version BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    body TEXT NOT NULL,
    PRIMARY KEY (tenant_id, first_sequence)
);

INSERT INTO head (tenant_id, version, sequence, hash) VALUES ('system', 0, 0, NULL);
",
        "
-- Signed statements about the chain. The first process to insert number n wins; for the others the key is taken.
CREATE TABLE audit_checkpoint (
    tenant_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    size BIGINT NOT NULL,
    frontier BLOB NOT NULL,
    body TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant_id, number)
);

CREATE UNIQUE INDEX audit_checkpoint_by_size ON audit_checkpoint (tenant_id, size);

-- The upper part of the tree over the chain: up to 256 hashes per row, so that a proof needs few rows.
CREATE TABLE audit_tile (
    tenant_id TEXT NOT NULL,
    level BIGINT NOT NULL,
    number BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (tenant_id, level, number)
);

-- Where the stored chain begins, after its older part was archived to a file.
CREATE TABLE audit_archive (
    tenant_id TEXT NOT NULL PRIMARY KEY,
    last_sequence BIGINT NOT NULL,
    frontier BLOB NOT NULL,
    body TEXT NOT NULL,
    archived_at BIGINT NOT NULL
);
",
        "
-- The body of a long block, compressed; its text is then empty.
ALTER TABLE audit_block ADD COLUMN packed BLOB;
",
    ],
};

/// Runs all pending migrations, in one transaction.
pub(crate) fn migrate(connection: &mut Connection, components: &[Component]) -> Result<()> {
    connection.execute_script(&to_dialect(
        connection.backend(),
        "CREATE TABLE IF NOT EXISTS migration (
            component TEXT NOT NULL,
            number BIGINT NOT NULL,
            applied_at BIGINT NOT NULL,
            PRIMARY KEY (component, number)
        )",
    ))?;
    if pending_migrations(connection, components)?.is_empty() {
        return Ok(());
    }
    connection.begin_write()?;
    match apply(connection, components) {
        Ok(()) => Ok(connection.commit()?),
        Err(error) => {
            connection.rollback();
            Err(error)
        }
    }
}

fn apply(connection: &mut Connection, components: &[Component]) -> Result<()> {
    if connection.backend() == Backend::Postgres {
        // Several nodes may start at the same time. On SQLite the write transaction itself is the lock.
        connection.execute_script("SELECT pg_advisory_xact_lock(hashtextextended('quad migrations', 0))")?;
    }
    // Read again under the lock: another process may have applied them.
    for (component, number, script) in pending_migrations(connection, components)? {
        connection
            .execute_script(&to_dialect(connection.backend(), script))
            .map_err(|error| Error::internal(format!("migration {number} of {component} failed: {error}")))?;
        connection.execute(
            "INSERT INTO migration (component, number, applied_at) VALUES ($1, $2, $3)",
            params![component, number, Timestamp::now()],
        )?;
        tracing::debug!(component, number, "migrated");
    }
    Ok(())
}

type PendingMigration = (&'static str, i64, &'static str);

fn pending_migrations(
    connection: &mut Connection,
    components: &[Component],
) -> Result<Vec<PendingMigration>> {
    let mut pending = Vec::new();
    let rows = connection.query("SELECT component, MAX(number) FROM migration GROUP BY component", &[])?;
    let mut applied = Vec::with_capacity(rows.len());
    for row in &rows {
        applied.push((row.text(0)?, row.int(1)?));
    }
    for (name, applied_version) in &applied {
        let supported_version = components.iter().find(|component| component.name == *name);
        let supported_version = supported_version.map_or(0, |component| component.migrations.len() as i64);
        if *applied_version > supported_version {
            return Err(Error::new(
                Kind::Conflict,
                "DATA_TOO_NEW",
                format!("The data was written by a newer version of quad ({name} is at {applied_version}, this program supports {supported_version})"),
            )
            .hint("Use the newer version of quad, or a backup from before the upgrade"));
        }
    }
    for component in components {
        let applied_version =
            applied.iter().find(|(name, _)| *name == component.name).map_or(0, |(_, newest)| *newest);
        for (index, script) in component.migrations.iter().enumerate() {
            let number = index as i64 + 1;
            if number > applied_version {
                pending.push((component.name, number, *script));
            }
        }
    }
    Ok(pending)
}

/// Translates the common column types for one database. Text sorts by bytes on both.
fn to_dialect(backend: Backend, script: &str) -> String {
    if backend == Backend::Sqlite {
        return script.to_owned();
    }
    let mut output = String::with_capacity(script.len() + 256);
    let mut word = String::new();
    let flush = |word: &mut String, output: &mut String| {
        output.push_str(match word.as_str() {
            "TEXT" => r#"TEXT COLLATE "C""#,
            "DOUBLE" => "DOUBLE PRECISION",
            "BLOB" => "BYTEA",
            // SQLite stores the rows of such a table in its primary key. PostgreSQL has no equivalent.
            "WITHOUT" | "ROWID" => "",
            other => other,
        });
        word.clear();
    };
    for character in script.chars() {
        if character.is_ascii_alphanumeric() || character == '_' {
            word.push(character);
        } else {
            flush(&mut word, &mut output);
            output.push(character);
        }
    }
    flush(&mut word, &mut output);
    output
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dialect_maps_column_types_per_backend() {
        let script = "a TEXT NOT NULL, context BLOB, d DOUBLE) WITHOUT ROWID;";
        assert_eq!(to_dialect(Backend::Sqlite, script), script);
        assert_eq!(
            to_dialect(Backend::Postgres, script),
            r#"a TEXT COLLATE "C" NOT NULL, context BYTEA, d DOUBLE PRECISION)  ;"#
        );
    }
}
