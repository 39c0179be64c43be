//! A connection to the one SQLite file.

use std::borrow::Cow;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quad_core::TenantId;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, Statement, ToSql};

use super::gathered::Layers;
use crate::numbered::{Guess, Numbered};
use crate::sql::Show;
use crate::{DbError, Row, Value, limits};

pub(crate) struct Conn {
    pub(crate) inner: rusqlite::Connection,
    pub(crate) was_busy: bool,
    pub(crate) gathered: Layers,
    waits_for_disk: bool,
    allowance: Arc<Allowance>,
    guess: Guess,
}

/// How long the statements of a connection may take, if there is a limit.
struct Allowance {
    epoch: Instant,
    /// Nanoseconds since the epoch; the greatest number where there is no limit.
    until: AtomicU64,
    is_exceeded: AtomicBool,
}

impl Allowance {
    fn new() -> Allowance {
        Allowance {
            epoch: Instant::now(),
            until: AtomicU64::new(u64::MAX),
            is_exceeded: AtomicBool::new(false),
        }
    }

    fn set(&self, time: Option<Duration>) {
        let until = time.map_or(u64::MAX, |time| self.elapsed().saturating_add(nanos(time)));
        self.until.store(until, Ordering::Relaxed);
    }

    /// Whether the time is up; it is remembered until somebody asks.
    fn is_used_up(&self) -> bool {
        let until = self.until.load(Ordering::Relaxed);
        let is_over = until != u64::MAX && self.elapsed() > until;
        if is_over {
            self.is_exceeded.store(true, Ordering::Relaxed);
        }
        is_over
    }

    fn elapsed(&self) -> u64 {
        nanos(self.epoch.elapsed())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1)
}

impl Conn {
    /// Opens the file, making it if it is not there.
    pub(crate) fn open(file: &Path) -> Result<Conn, DbError> {
        make_private(file)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut inner =
            rusqlite::Connection::open_with_flags(file, flags).map_err(|error| classify(&error))?;
        inner.busy_handler(Some(patience())).map_err(|error| classify(&error))?;
        inner.set_prepared_statement_cache_capacity(limits::STATEMENTS);
        // A statement is planned once. Without this one whose parameters meet a partial index is planned anew at every use.
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|error| classify(&error))?;
        let allowance = Arc::new(Allowance::new());
        let asked = allowance.clone();
        inner
            .progress_handler(limits::STEPS_BETWEEN_LOOKS, Some(move || asked.is_used_up()))
            .map_err(|error| classify(&error))?;
        let mut conn = Conn {
            inner,
            was_busy: false,
            gathered: Layers::default(),
            waits_for_disk: true,
            allowance,
            guess: Guess::default(),
        };
        // Checkpoints are the checkpointer's, off the commit path. Foreign keys are declared and so they are enforced.
        conn.batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
             PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;",
        )?;
        Ok(conn)
    }

    /// Gives the statements that follow so much time in all; past it they fail. `None`: as much as they want.
    pub(crate) fn allow(&mut self, time: Option<Duration>) {
        self.allowance.set(time);
    }

    /// Whether a statement has failed for want of time since this was last asked.
    pub(crate) fn take_was_cut_short(&mut self) -> bool {
        self.allowance.is_exceeded.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        // A statement that ends before SQLite looks at the time is none of the many that together take too long.
        if self.allowance.is_used_up() {
            return Err(no_time_left());
        }
        let result = query(&self.inner, sql, params);
        self.note(result)
    }

    /// Shows each row of a query in turn: see [`crate::Sql::each`].
    pub(crate) fn each(&mut self, sql: &str, params: &[Value], show: Show<'_>) -> quad_core::Result<()> {
        if self.allowance.is_used_up() {
            return Err(no_time_left().into());
        }
        let result = each(&self.inner, sql, params, show);
        self.note(result)?
    }

    /// The rows of these numbers, one after the other.
    pub(crate) fn numbered(
        &mut self,
        tenant: &TenantId,
        rows: &Numbered,
        numbers: &[i64],
    ) -> Result<Vec<Row>, DbError> {
        self.guess.turn_to(rows, tenant);
        let result = numbered_rows(&self.inner, &mut self.guess, &self.allowance, tenant, rows, numbers);
        let found = self.note(result)?;
        found.ok_or_else(no_time_left)
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        let result = execute(&self.inner, sql, params);
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

fn no_time_left() -> DbError {
    DbError::other("there is no time left")
}

/// Nothing, if the time is up before the last of them.
fn numbered_rows(
    inner: &rusqlite::Connection,
    guess: &mut Guess,
    allowance: &Allowance,
    tenant: &TenantId,
    rows: &Numbered,
    numbers: &[i64],
) -> rusqlite::Result<Option<Vec<Row>>> {
    let prepare = |text: &str| {
        let mut statement = inner.prepare_cached(text)?;
        statement.raw_bind_parameter(1, tenant.as_str())?;
        Ok::<_, rusqlite::Error>(statement)
    };
    // Mostly only one of them is needed.
    let (mut by_place, mut by_number) = (None, None);
    let mut found = Vec::with_capacity(numbers.len());
    for number in numbers {
        if allowance.is_used_up() {
            return Ok(None);
        }
        if let Some(place) = guess.place_of(*number) {
            let by_place = match &mut by_place {
                Some(statement) => statement,
                none => none.insert(prepare(rows.by_place())?),
            };
            by_place.raw_bind_parameter(2, number)?;
            by_place.raw_bind_parameter(3, place)?;
            if let Some((_, row)) = placed_row(by_place)? {
                found.push(row);
                continue;
            }
            guess.was_wrong();
        }
        let by_number = match &mut by_number {
            Some(statement) => statement,
            none => none.insert(prepare(rows.by_number())?),
        };
        by_number.raw_bind_parameter(2, number)?;
        if let Some((place, row)) = placed_row(by_number)? {
            guess.found(*number, place);
            found.push(row);
        }
    }
    Ok(Some(found))
}

/// The one row of a statement whose first column is the row's place.
fn placed_row(statement: &mut Statement<'_>) -> rusqlite::Result<Option<(i64, Row)>> {
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let Some(row) = rows.next()? else { return Ok(None) };
    let mut cells = Vec::with_capacity(columns - 1);
    for index in 1..columns {
        cells.push(from_sqlite(row.get_ref(index)?));
    }
    Ok(Some((row.get(0)?, Row(cells))))
}

fn query(inner: &rusqlite::Connection, sql: &str, params: &[Value]) -> rusqlite::Result<Vec<Row>> {
    let mut statement = inner.prepare_cached(&as_places(sql))?;
    bind(&mut statement, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(columns);
        for index in 0..columns {
            cells.push(from_sqlite(row.get_ref(index)?));
        }
        found.push(Row(cells));
    }
    Ok(found)
}

/// Fails where SQLite does, and otherwise as whoever sees the rows does.
fn each(
    inner: &rusqlite::Connection,
    sql: &str,
    params: &[Value],
    show: Show<'_>,
) -> rusqlite::Result<quad_core::Result<()>> {
    let mut statement = inner.prepare_cached(&as_places(sql))?;
    bind(&mut statement, params)?;
    // One row for all of them, and one text for all in a column.
    let mut shown = Row(vec![Value::Null; statement.column_count()]);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for (index, cell) in shown.0.iter_mut().enumerate() {
            match (cell, row.get_ref(index)?) {
                (Value::Text(text), ValueRef::Text(bytes)) => {
                    text.clear();
                    text.push_str(&as_text(bytes));
                }
                (cell, value) => *cell = from_sqlite(value),
            }
        }
        match show(&shown) {
            Ok(ControlFlow::Continue(())) => {}
            ended => return Ok(ended.map(drop)),
        }
    }
    Ok(Ok(()))
}

fn execute(inner: &rusqlite::Connection, sql: &str, params: &[Value]) -> rusqlite::Result<u64> {
    let mut statement = inner.prepare_cached(&as_places(sql))?;
    bind(&mut statement, params)?;
    statement.raw_execute().map(|rows| rows as u64)
}

/// Binds each parameter at its number.
fn bind(statement: &mut Statement<'_>, params: &[Value]) -> rusqlite::Result<()> {
    for number in 1..=statement.parameter_count() {
        let value =
            params.get(number - 1).ok_or(rusqlite::Error::InvalidParameterCount(params.len(), number))?;
        statement.raw_bind_parameter(number, value)?;
    }
    Ok(())
}

/// `$3` as SQLite has it: `?3`. To SQLite `$3` is a name, numbered by its first appearance, and to find the name of a number it
/// looks through all names, which in a statement of many rows costs more than the statement.
fn as_places(sql: &str) -> Cow<'_, str> {
    let bytes = sql.as_bytes();
    if memchr::memchr(b'$', bytes).is_none() {
        return Cow::Borrowed(sql);
    }
    let mut text = bytes.to_vec();
    if memchr::memchr2(b'\'', b'"', bytes).is_none() {
        // Every statement of every commit comes by here, and few of them hold a quote: without branches this is many bytes at a time.
        for (byte, next) in text.iter_mut().zip(bytes.iter().skip(1)) {
            *byte = if (*byte == b'$') & next.is_ascii_digit() { b'?' } else { *byte };
        }
    } else {
        let mut open: Option<u8> = None;
        for (place, byte) in bytes.iter().enumerate() {
            open = match (open, byte) {
                (None, b'\'' | b'"') => Some(*byte),
                (Some(quote), byte) if quote == *byte => None,
                (open, _) => open,
            };
            if open.is_none() && *byte == b'$' && bytes.get(place + 1).is_some_and(u8::is_ascii_digit) {
                text[place] = b'?';
            }
        }
    }
    // One letter of ASCII in the place of another.
    String::from_utf8(text).map_or(Cow::Borrowed(sql), Cow::Owned)
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
        ValueRef::Text(bytes) => Value::Text(as_text(bytes).into_owned()),
        ValueRef::Blob(bytes) => Value::Blob(bytes.to_vec()),
    }
}

/// SQLite does not look at what texts are made of; we have put in none that is not UTF-8. To see that costs less than to mend it.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Waits for a lock that another process has, with short naps. SQLite's own grow to 100 ms, in which a process that commits all the
/// while takes the lock a hundred times.
fn patience() -> impl FnMut(i32) -> bool + Send + 'static {
    let mut since = Instant::now();
    move |naps| {
        if naps == 0 {
            since = Instant::now();
        }
        let waits = since.elapsed() < limits::SQLITE_BUSY;
        if waits {
            std::thread::sleep(limits::SQLITE_NAP);
        }
        waits
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_numbers_and_nothing_else_is() {
        assert_eq!(as_places("SELECT 1"), "SELECT 1");
        assert_eq!(as_places("($2, $1, $12)"), "(?2, ?1, ?12)");
        assert_eq!(as_places("$1 + $ + $x"), "?1 + $ + $x");
        assert_eq!(as_places("'$1 it''s $2' || $3"), "'$1 it''s $2' || ?3");
        assert_eq!(
            as_places("\"cost$1\" = $1 AND json -> '$.a' = $"),
            "\"cost$1\" = ?1 AND json -> '$.a' = $"
        );
    }
}
