//! A connection to the one SQLite file.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, Statement, ToSql};

use crate::{DbError, Row, Value, limits};

pub(crate) struct Conn {
    pub(crate) inner: rusqlite::Connection,
    pub(crate) was_busy: bool,
    waits_for_disk: bool,
    /// Which parameter stands where, by statement.
    orders: HashMap<String, Vec<usize>>,
}

impl Conn {
    /// Opens the file, making it if it is not there.
    pub(crate) fn open(file: &Path) -> Result<Conn, DbError> {
        make_private(file)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let inner = rusqlite::Connection::open_with_flags(file, flags).map_err(|error| classify(&error))?;
        inner.busy_timeout(limits::SQLITE_BUSY).map_err(|error| classify(&error))?;
        inner.set_prepared_statement_cache_capacity(limits::STATEMENTS);
        let orders = HashMap::new();
        let mut conn = Conn { inner, was_busy: false, waits_for_disk: true, orders };
        // Checkpoints are the checkpointer's, off the commit path. Foreign keys are declared and so they are enforced.
        conn.batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
        )?;
        Ok(conn)
    }

    /// Keeps more pages at hand: for the connection that writes.
    pub(crate) fn keep_more_pages(&mut self) -> Result<(), DbError> {
        self.batch(&format!("PRAGMA cache_size = -{}", limits::SQLITE_WRITER_KIB))
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        let result = query(&self.inner, &mut self.orders, sql, params);
        self.note(result)
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        let result = execute(&self.inner, &mut self.orders, sql, params);
        self.note(result)
    }

    pub(crate) fn batch(&mut self, sql: &str) -> Result<(), DbError> {
        let result = self.inner.execute_batch(sql);
        self.note(result)
    }

    /// In the write-ahead log a commit is whole either way; without the wait a power failure may take the last ones.
    pub(crate) fn wait_for_disk(&mut self, wait: bool) -> Result<(), DbError> {
        if wait != self.waits_for_disk {
            self.batch(if wait { "PRAGMA synchronous = FULL" } else { "PRAGMA synchronous = NORMAL" })?;
            self.waits_for_disk = wait;
        }
        Ok(())
    }

    /// A number that changes when another connection, of this process or any other, has committed.
    pub(crate) fn data_version(&mut self) -> Result<i64, DbError> {
        let rows = self.query("PRAGMA data_version", &[])?;
        rows.first().map_or(Ok(0), |row| row.int(0))
    }

    fn note<T>(&mut self, result: rusqlite::Result<T>) -> Result<T, DbError> {
        result.map_err(|error| {
            let error = classify(&error);
            self.was_busy |= matches!(error, DbError::Busy(_));
            error
        })
    }
}

/// Makes an empty file that only its owner can read; SQLite would ask the umask. The files beside it take after it.
fn make_private(file: &Path) -> Result<(), DbError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(DbError::other(error)),
        _ => Ok(()),
    }
}

type Orders = HashMap<String, Vec<usize>>;

fn query(
    inner: &rusqlite::Connection,
    orders: &mut Orders,
    sql: &str,
    params: &[Value],
) -> rusqlite::Result<Vec<Row>> {
    let mut statement = inner.prepare_cached(sql)?;
    bind(&mut statement, orders, sql, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let cells =
            (0..columns).map(|index| row.get_ref(index).map(from_sqlite)).collect::<rusqlite::Result<_>>()?;
        found.push(Row(cells));
    }
    Ok(found)
}

fn execute(
    inner: &rusqlite::Connection,
    orders: &mut Orders,
    sql: &str,
    params: &[Value],
) -> rusqlite::Result<u64> {
    let mut statement = inner.prepare_cached(sql)?;
    bind(&mut statement, orders, sql, params)?;
    statement.raw_execute().map(|rows| rows as u64)
}

/// Parameters from which on it pays to remember where they stand.
const MANY_PARAMETERS: usize = 64;

/// SQLite numbers `$3` by its first appearance, PostgreSQL by its name: bind by name. SQLite looks for a name from the first
/// one on, so for a statement of many parameters this is found out once.
fn bind(
    statement: &mut Statement<'_>,
    orders: &mut Orders,
    sql: &str,
    params: &[Value],
) -> rusqlite::Result<()> {
    let order = |statement: &Statement<'_>| -> Vec<usize> {
        (1..=statement.parameter_count())
            .map(|index| {
                let name = statement.parameter_name(index).and_then(|name| name.get(1..)?.parse().ok());
                name.unwrap_or(index)
            })
            .collect()
    };
    if statement.parameter_count() < MANY_PARAMETERS {
        let order = order(statement);
        return bind_in(statement, &order, params);
    }
    if !orders.contains_key(sql) {
        if orders.len() >= limits::STATEMENTS {
            orders.clear();
        }
        orders.insert(sql.to_owned(), order(statement));
    }
    orders.get(sql).map_or(Ok(()), |order| bind_in(statement, order, params))
}

fn bind_in(statement: &mut Statement<'_>, order: &[usize], params: &[Value]) -> rusqlite::Result<()> {
    for (index, number) in order.iter().enumerate() {
        let value = number.checked_sub(1).and_then(|position| params.get(position));
        let value = value.ok_or(rusqlite::Error::InvalidParameterCount(params.len(), *number))?;
        statement.raw_bind_parameter(index + 1, value)?;
    }
    Ok(())
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Bool(truth) => ValueRef::Integer(i64::from(*truth)),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

fn from_sqlite(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => Value::Int(number),
        ValueRef::Real(number) => Value::Real(number),
        ValueRef::Text(bytes) => Value::Text(match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => String::from_utf8_lossy(bytes).into_owned(),
        }),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

fn classify(error: &rusqlite::Error) -> DbError {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return DbError::other(error.to_string());
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DbError::Busy(error.to_string()),
        ErrorCode::ConstraintViolation
            if matches!(
                code.extended_code,
                rusqlite::ffi::SQLITE_CONSTRAINT_UNIQUE | rusqlite::ffi::SQLITE_CONSTRAINT_PRIMARYKEY
            ) =>
        {
            let constraint = message.as_deref().unwrap_or_default();
            let constraint = constraint.strip_prefix("UNIQUE constraint failed: ").unwrap_or(constraint);
            DbError::Unique {
                constraint: constraint.trim_start_matches("index ").trim_matches('\'').to_owned(),
            }
        }
        _ => DbError::other(error.to_string()),
    }
}
