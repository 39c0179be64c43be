//! A connection to a SQLite file.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use quad_core::TenantId;
use rusqlite::config::DbConfig;
use rusqlite::types::{ToSqlOutput, ValueRef};
use rusqlite::{ErrorCode, OpenFlags, Statement, ToSql};

use crate::fast_path::RowVisitor;
use crate::fast_path::rows_by_id::{IdQuery, RowidPredictor};
use crate::{DbError, Row, Value, limits};

pub(crate) struct Conn {
    pub(crate) inner: rusqlite::Connection,
    file: DatabaseFile,
    sync_commit: bool,
    time_budget: Arc<TimeBudget>,
    rowid_predictor: RowidPredictor,
}

/// The time limit of a connection's statements, if there is one.
struct TimeBudget {
    epoch: Instant,
    /// Nanoseconds since the epoch; `u64::MAX` without a limit.
    deadline_nanos: AtomicU64,
    timed_out: AtomicBool,
}

impl TimeBudget {
    fn new() -> TimeBudget {
        TimeBudget {
            epoch: Instant::now(),
            deadline_nanos: AtomicU64::new(u64::MAX),
            timed_out: AtomicBool::new(false),
        }
    }

    fn set(&self, budget: Option<Duration>) {
        let deadline = budget.map_or(u64::MAX, |time| self.elapsed().saturating_add(nanos(time)));
        self.deadline_nanos.store(deadline, Ordering::Relaxed);
    }

    /// Whether the time is up. Sets `timed_out`, which stays set until it is read.
    fn is_exceeded(&self) -> bool {
        let deadline = self.deadline_nanos.load(Ordering::Relaxed);
        let exceeded = deadline != u64::MAX && self.elapsed() > deadline;
        if exceeded {
            self.timed_out.store(true, Ordering::Relaxed);
        }
        exceeded
    }

    fn elapsed(&self) -> u64 {
        nanos(self.epoch.elapsed())
    }
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX - 1)
}

impl Conn {
    /// Opens the file; creates it if it does not exist.
    pub(crate) fn open(path: &Path) -> Result<Conn, DbError> {
        create_private(path)?;
        Conn::open_file(DatabaseFile::identify(path)?)
    }

    /// Opens a file that another connection of this process has opened. A file that was deleted meanwhile is not
    /// created again: it would be an empty database.
    pub(crate) fn open_same(file: DatabaseFile) -> Result<Conn, DbError> {
        file.check_present()?;
        Conn::open_file(file)
    }

    /// The opened file.
    pub(crate) fn file(&self) -> &DatabaseFile {
        &self.file
    }

    fn open_file(file: DatabaseFile) -> Result<Conn, DbError> {
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX
            | OpenFlags::SQLITE_OPEN_EXRESCODE;
        let mut inner =
            rusqlite::Connection::open_with_flags(&file.path, flags).map_err(|error| classify(&error))?;
        inner.busy_handler(Some(busy_handler())).map_err(|error| classify(&error))?;
        inner.set_prepared_statement_cache_capacity(limits::PREPARED_STATEMENTS_MAX);
        // Each statement is planned once. Without this setting, a statement whose parameters matter for a partial
        // index is planned again at every use.
        inner.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map_err(|error| classify(&error))?;
        let time_budget = Arc::new(TimeBudget::new());
        let handler_budget = time_budget.clone();
        inner
            .progress_handler(limits::SQLITE_PROGRESS_STEPS, Some(move || handler_budget.is_exceeded()))
            .map_err(|error| classify(&error))?;
        let mut conn =
            Conn { inner, file, sync_commit: true, time_budget, rowid_predictor: RowidPredictor::default() };
        // The checkpoint thread copies the log, so commits do not. Foreign keys are enforced only if asked for.
        let settings = "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0; \
                        PRAGMA foreign_keys = ON; PRAGMA temp_store = MEMORY;";
        // While other processes switch a new file to WAL, SQLite reports "locked" without calling the busy handler.
        let started = Instant::now();
        loop {
            match conn.execute_script(settings) {
                Err(DbError::Retryable(_)) if started.elapsed() < limits::SQLITE_BUSY_TIMEOUT => {
                    std::thread::sleep(limits::SQLITE_BUSY_SLEEP);
                }
                result => return result.map(|()| conn),
            }
        }
    }

    /// A connection to a file that was opened for reading only.
    pub(crate) fn read_only(inner: rusqlite::Connection, path: &Path) -> Result<Conn, DbError> {
        let file = DatabaseFile::identify(path)?;
        let time_budget = Arc::new(TimeBudget::new());
        Ok(Conn { inner, file, sync_commit: true, time_budget, rowid_predictor: RowidPredictor::default() })
    }

    /// Limits the total time of the statements that follow; past it they fail. `None` removes the limit.
    pub(crate) fn set_time_budget(&mut self, budget: Option<Duration>) {
        self.time_budget.set(budget);
    }

    /// Whether a statement has exceeded the time limit since the last call.
    pub(crate) fn take_timed_out(&mut self) -> bool {
        self.time_budget.timed_out.swap(false, Ordering::Relaxed)
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        // SQLite checks the time only within long statements. This check stops many short ones.
        if self.time_budget.is_exceeded() {
            return Err(budget_exceeded());
        }
        query(&self.inner, sql, params).map_err(|error| classify(&error))
    }

    /// See [`FastSql::for_each_row`](crate::fast_path::FastSql::for_each_row).
    pub(crate) fn for_each_row(
        &mut self,
        sql: &str,
        params: &[Value],
        visit: RowVisitor<'_>,
    ) -> Result<quad_core::Result<()>, DbError> {
        if self.time_budget.is_exceeded() {
            return Err(budget_exceeded());
        }
        for_each_row(&self.inner, sql, params, visit).map_err(|error| classify(&error))
    }

    /// The rows with these ids, one query per id.
    pub(crate) fn rows_by_id(
        &mut self,
        tenant: &TenantId,
        id_query: &IdQuery,
        ids: &[i64],
    ) -> Result<Vec<Row>, DbError> {
        self.rowid_predictor.reset_for(id_query, tenant);
        rows_by_id(&self.inner, &mut self.rowid_predictor, &self.time_budget, tenant, id_query, ids)
            .map_err(|error| classify(&error))?
            .ok_or_else(budget_exceeded)
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        execute(&self.inner, sql, params).map_err(|error| classify(&error))
    }

    pub(crate) fn execute_script(&mut self, sql: &str) -> Result<(), DbError> {
        self.inner.execute_batch(sql).map_err(|error| classify(&error))
    }

    /// Whether commits wait for the disk. If not, a power failure may lose the last commits, each as a whole.
    pub(crate) fn set_sync_commit(&mut self, enabled: bool) -> Result<(), DbError> {
        if enabled != self.sync_commit {
            self.execute_script(if enabled {
                "PRAGMA synchronous = FULL"
            } else {
                "PRAGMA synchronous = NORMAL"
            })?;
            self.sync_commit = enabled;
        }
        Ok(())
    }

    /// Writes the header of the database as it is.
    pub(crate) fn rewrite_header(&mut self) -> Result<(), DbError> {
        let rows = self.query("PRAGMA application_id", &[])?;
        let id = rows.first().map_or(Ok(0), |row| row.int(0))?;
        self.execute_script(&format!("PRAGMA application_id = {id}"))
    }

    /// A number that changes when another connection, of this or any other process, has committed.
    pub(crate) fn data_version(&mut self) -> Result<i64, DbError> {
        let rows = self.query("PRAGMA data_version", &[])?;
        rows.first().map_or(Ok(0), |row| row.int(0))
    }
}

/// Opens a file that no process writes. SQLite takes no locks then, and creates no files beside it.
pub(crate) fn open_immutable(file: &Path) -> rusqlite::Result<rusqlite::Connection> {
    use std::os::unix::ffi::OsStrExt as _;
    let mut uri = String::from("file:");
    for &byte in file.as_os_str().as_bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => uri.push(char::from(byte)),
            byte => {
                let _ = write!(uri, "%{byte:02X}");
            }
        }
    }
    uri.push_str("?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_URI
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_EXRESCODE;
    rusqlite::Connection::open_with_flags(uri, flags)
}

/// Creates an empty file that only its owner can read; SQLite would use the umask. The `-wal` and `-shm` files get
/// the same mode.
fn create_private(file: &Path) -> Result<(), DbError> {
    use std::os::unix::fs::OpenOptionsExt as _;
    match std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(file) {
        Err(error) if error.kind() != std::io::ErrorKind::AlreadyExists => Err(DbError::of_file(error)),
        _ => Ok(()),
    }
}

/// A database file by its path and its identity on the disk.
#[derive(Clone, Debug)]
pub(crate) struct DatabaseFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl DatabaseFile {
    fn identify(path: &Path) -> Result<DatabaseFile, DbError> {
        let metadata = std::fs::metadata(path).map_err(DbError::of_file)?;
        Ok(DatabaseFile { path: path.to_owned(), device: metadata.dev(), inode: metadata.ino() })
    }

    /// An error if the path is no longer that file. Open connections would go on writing into the deleted file, and
    /// what they write would be gone with the process.
    pub(crate) fn check_present(&self) -> Result<(), DbError> {
        match std::fs::metadata(&self.path) {
            Ok(metadata) if (metadata.dev(), metadata.ino()) == (self.device, self.inode) => Ok(()),
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(DbError::of_file(error)),
            _ => Err(DbError::FileReplaced),
        }
    }

    /// Bytes of the write-ahead log.
    pub(crate) fn wal_bytes(&self) -> u64 {
        let mut path = self.path.clone().into_os_string();
        path.push("-wal");
        std::fs::metadata(path).map_or(0, |metadata| metadata.len())
    }
}

fn budget_exceeded() -> DbError {
    DbError::other("the time limit of an inline read is exceeded")
}

/// `None` if the time is up before the last id.
fn rows_by_id(
    inner: &rusqlite::Connection,
    predictor: &mut RowidPredictor,
    budget: &TimeBudget,
    tenant: &TenantId,
    id_query: &IdQuery,
    ids: &[i64],
) -> rusqlite::Result<Option<Vec<Row>>> {
    let prepare = |sql: &str| {
        let mut statement = inner.prepare_cached(sql)?;
        statement.raw_bind_parameter(1, tenant.as_str())?;
        Ok::<_, rusqlite::Error>(statement)
    };
    // Prepared on first use: usually only one of the two is needed.
    let (mut by_rowid, mut by_id) = (None, None);
    let mut result_rows = Vec::with_capacity(ids.len());
    for id in ids {
        if budget.is_exceeded() {
            return Ok(None);
        }
        if let Some(rowid) = predictor.predict(*id) {
            let by_rowid = match &mut by_rowid {
                Some(statement) => statement,
                slot => slot.insert(prepare(id_query.by_rowid_sql())?),
            };
            by_rowid.raw_bind_parameter(2, id)?;
            by_rowid.raw_bind_parameter(3, rowid)?;
            if let Some((_, row)) = row_with_rowid(by_rowid)? {
                result_rows.push(row);
                continue;
            }
            predictor.miss();
        }
        let by_id = match &mut by_id {
            Some(statement) => statement,
            slot => slot.insert(prepare(id_query.by_id_sql())?),
        };
        by_id.raw_bind_parameter(2, id)?;
        if let Some((rowid, row)) = row_with_rowid(by_id)? {
            predictor.learn(*id, rowid);
            result_rows.push(row);
        }
    }
    Ok(Some(result_rows))
}

/// The one row of a statement whose first column is the `rowid`.
fn row_with_rowid(statement: &mut Statement<'_>) -> rusqlite::Result<Option<(i64, Row)>> {
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
    let mut statement = inner.prepare_cached(&to_sqlite_params(sql))?;
    bind(&mut statement, params)?;
    let columns = statement.column_count();
    let mut rows = statement.raw_query();
    let mut result_rows = Vec::new();
    while let Some(row) = rows.next()? {
        let mut cells = Vec::with_capacity(columns);
        for index in 0..columns {
            cells.push(from_sqlite(row.get_ref(index)?));
        }
        result_rows.push(Row(cells));
    }
    Ok(result_rows)
}

/// The outer error is SQLite's, the inner one the visitor's.
fn for_each_row(
    inner: &rusqlite::Connection,
    sql: &str,
    params: &[Value],
    visit: RowVisitor<'_>,
) -> rusqlite::Result<quad_core::Result<()>> {
    let mut statement = inner.prepare_cached(&to_sqlite_params(sql))?;
    bind(&mut statement, params)?;
    // One row buffer for all rows, and one string buffer per column.
    let mut row_buffer = Row(vec![Value::Null; statement.column_count()]);
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next()? {
        for (index, cell) in row_buffer.0.iter_mut().enumerate() {
            match (cell, row.get_ref(index)?) {
                (Value::Text(text), ValueRef::Text(bytes)) => {
                    text.clear();
                    text.push_str(&as_text(bytes));
                }
                (cell, value) => *cell = from_sqlite(value),
            }
        }
        match visit(&row_buffer) {
            Ok(ControlFlow::Continue(())) => {}
            result => return Ok(result.map(drop)),
        }
    }
    Ok(Ok(()))
}

fn execute(inner: &rusqlite::Connection, sql: &str, params: &[Value]) -> rusqlite::Result<u64> {
    let mut statement = inner.prepare_cached(&to_sqlite_params(sql))?;
    bind(&mut statement, params)?;
    statement.raw_execute().map(|rows| rows as u64)
}

/// Binds each parameter by its number.
fn bind(statement: &mut Statement<'_>, params: &[Value]) -> rusqlite::Result<()> {
    for position in 1..=statement.parameter_count() {
        let value =
            params.get(position - 1).ok_or(rusqlite::Error::InvalidParameterCount(params.len(), position))?;
        statement.raw_bind_parameter(position, value)?;
    }
    Ok(())
}

/// Rewrites `$3` to SQLite's `?3`. To SQLite `$3` is a name. Names are numbered by first appearance, and finding the
/// name of a number searches all names: in a statement of many rows that costs more than the statement.
fn to_sqlite_params(sql: &str) -> Cow<'_, str> {
    let bytes = sql.as_bytes();
    if memchr::memchr(b'$', bytes).is_none() {
        return Cow::Borrowed(sql);
    }
    let mut converted = bytes.to_vec();
    if memchr::memchr2(b'\'', b'"', bytes).is_none() {
        // The hot path: few statements contain a quote. Without branches the compiler vectorises this loop.
        for (byte, next) in converted.iter_mut().zip(bytes.iter().skip(1)) {
            *byte = if (*byte == b'$') & next.is_ascii_digit() { b'?' } else { *byte };
        }
    } else {
        let mut open_quote: Option<u8> = None;
        for (index, byte) in bytes.iter().enumerate() {
            open_quote = match (open_quote, byte) {
                (None, b'\'' | b'"') => Some(*byte),
                (Some(quote), byte) if quote == *byte => None,
                (open, _) => open,
            };
            if open_quote.is_none() && *byte == b'$' && bytes.get(index + 1).is_some_and(u8::is_ascii_digit) {
                converted[index] = b'?';
            }
        }
    }
    // One ASCII byte has replaced another, so this is still UTF-8.
    String::from_utf8(converted).map_or(Cow::Borrowed(sql), Cow::Owned)
}

impl ToSql for Value {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match self {
            Value::Null => ValueRef::Null,
            Value::Int(number) => ValueRef::Integer(*number),
            Value::Real(number) => ValueRef::Real(*number),
            Value::Bool(flag) => ValueRef::Integer(i64::from(*flag)),
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

/// SQLite does not check the encoding of text. All text that the store has written is UTF-8, so the lossy copy is
/// rare.
fn as_text(bytes: &[u8]) -> Cow<'_, str> {
    std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
}

/// Waits for a lock that another process holds, with short sleeps. The sleeps of SQLite's own handler grow to 100 ms;
/// a process that commits constantly takes the lock a hundred times in that time.
fn busy_handler() -> impl FnMut(i32) -> bool + Send + 'static {
    let (mut started, mut is_logged) = (Instant::now(), false);
    move |attempts| {
        if attempts == 0 {
            (started, is_logged) = (Instant::now(), false);
        }
        let waited = started.elapsed();
        if waited >= limits::SQLITE_BUSY_LOG_AFTER && !is_logged {
            is_logged = true;
            tracing::warn!("waiting for a lock on the database file: another program or process holds it");
        }
        let keep_waiting = waited < limits::SQLITE_BUSY_TIMEOUT;
        if !keep_waiting {
            let seconds = limits::SQLITE_BUSY_TIMEOUT.as_secs();
            tracing::error!(seconds, "the database file stays locked by another program or process");
        }
        if keep_waiting {
            std::thread::sleep(limits::SQLITE_BUSY_SLEEP);
        }
        keep_waiting
    }
}

fn classify(error: &rusqlite::Error) -> DbError {
    let rusqlite::Error::SqliteFailure(code, message) = error else {
        return DbError::other(error.to_string());
    };
    match code.code {
        ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => DbError::Retryable(error.to_string()),
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
        ErrorCode::DiskFull => DbError::DiskFull(error.to_string()),
        ErrorCode::ReadOnly if code.extended_code == rusqlite::ffi::SQLITE_READONLY_DBMOVED => {
            DbError::FileReplaced
        }
        ErrorCode::ReadOnly | ErrorCode::PermissionDenied => DbError::ReadOnly(error.to_string()),
        // The shared-memory file cannot grow.
        ErrorCode::SystemIoFailure if code.extended_code == rusqlite::ffi::SQLITE_IOERR_SHMSIZE => {
            DbError::DiskFull(error.to_string())
        }
        ErrorCode::SystemIoFailure | ErrorCode::CannotOpen => DbError::Io(error.to_string()),
        _ => DbError::other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_parameters_are_rewritten() {
        assert_eq!(to_sqlite_params("SELECT 1"), "SELECT 1");
        assert_eq!(to_sqlite_params("($2, $1, $12)"), "(?2, ?1, ?12)");
        assert_eq!(to_sqlite_params("$1 + $ + $x"), "?1 + $ + $x");
        assert_eq!(to_sqlite_params("'$1 it''s $2' || $3"), "'$1 it''s $2' || ?3");
        assert_eq!(
            to_sqlite_params("\"cost$1\" = $1 AND json -> '$.a' = $"),
            "\"cost$1\" = ?1 AND json -> '$.a' = $"
        );
    }
}
