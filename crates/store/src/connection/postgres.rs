//! A connection to PostgreSQL, used synchronously from a blocking thread.
//!
//! The driver's task runs on the tokio runtime; the blocking thread waits for each result. So the same synchronous
//! code serves both backends, and no transaction stays open across an `await` of other code.

use std::collections::HashMap;
use std::error::Error as StdError;
use std::sync::Once;

use bytes::{BufMut, BytesMut};
use quad_core::Timestamp;
use tokio::runtime::Handle;
use tokio_postgres::config::SslMode;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{Format, FromSql, IsNull, ToSql, Type, to_sql_checked};
use tokio_postgres::{Client, Statement};

use super::postgres_tls::Tls;
use super::postgres_url::UrlParameters;
use crate::{DbError, Row, Value, limits};

pub(crate) struct Conn {
    client: Client,
    runtime: Handle,
    statements: HashMap<String, Statement>,
    sync_commit: bool,
    /// Set when a reply did not come in time. The connection is then of no use: the reply may still come.
    timed_out: bool,
}

impl Conn {
    /// Connects. Must not be called on a worker thread of the runtime: it blocks.
    pub(crate) fn open(url: &str, runtime: &Handle) -> Result<Conn, DbError> {
        let parameters = UrlParameters::parse(url);
        let mut config: tokio_postgres::Config =
            parameters.driver_url.parse().map_err(|error| DbError::Connect(format!("the URL: {error}")))?;
        let tls = Tls::from_parameters(&parameters)?;
        config.ssl_mode(tls.mode);
        // Not the driver's own timeout: that ends with the TCP handshake, which the kernel of a paused server completes.
        let connecting =
            async { tokio::time::timeout(limits::CONNECT_TIMEOUT, config.connect(tls.connector)).await };
        let connected = runtime.block_on(connecting).map_err(|_| {
            DbError::Unreachable(format!("no reply within {} s", limits::CONNECT_TIMEOUT.as_secs()))
        })?;
        let (client, connection) = connected.map_err(|error| classify(&error))?;
        runtime.spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "PostgreSQL connection ended");
            }
        });
        let (runtime, statements) = (runtime.clone(), HashMap::new());
        let mut conn = Conn { client, runtime, statements, sync_commit: true, timed_out: false };
        conn.execute_script(&format!(
            "SET application_name = 'quad'; SET statement_timeout = '{}s'; SET timezone = 'UTC'; \
             SET client_min_messages = warning; SET extra_float_digits = 3",
            limits::STATEMENT_TIMEOUT_SECONDS
        ))?;
        if tls.mode == SslMode::Prefer {
            conn.warn_if_unencrypted()?;
        }
        Ok(conn)
    }

    /// With `sslmode=prefer` a server without TLS gets data in the clear. That is fine on one machine; over a network
    /// the operator has to know.
    fn warn_if_unencrypted(&mut self) -> Result<(), DbError> {
        static WARNING: Once = Once::new();
        const QUERY: &str = "SELECT 1 FROM pg_stat_ssl WHERE pid = pg_backend_pid() AND NOT ssl \
                             AND host(inet_server_addr()) NOT IN ('127.0.0.1', '::1')";
        if !WARNING.is_completed() && !self.query(QUERY, &[])?.is_empty() {
            WARNING.call_once(|| {
                tracing::warn!(
                    "the connection to PostgreSQL is not encrypted; add sslmode=verify-full to the database URL"
                );
            });
        }
        Ok(())
    }

    pub(crate) fn is_alive(&self) -> bool {
        !self.timed_out && !self.client.is_closed()
    }

    pub(crate) fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        let statement = self.prepare(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
        let rows = self.wait(async |client| client.query(&statement, &params).await)?;
        rows.iter().map(from_postgres).collect()
    }

    pub(crate) fn execute(&mut self, sql: &str, params: &[Value]) -> Result<u64, DbError> {
        let statement = self.prepare(sql)?;
        let params: Vec<&(dyn ToSql + Sync)> = params.iter().map(|value| value as _).collect();
        self.wait(async |client| client.execute(&statement, &params).await)
    }

    pub(crate) fn execute_script(&mut self, sql: &str) -> Result<(), DbError> {
        self.wait(async |client| client.batch_execute(sql).await)
    }

    /// `off`: the server flushes its log shortly after the commit, so a crash may lose the last commits. `RESET` goes
    /// back to the server's own setting, which may also wait for replicas.
    pub(crate) fn set_sync_commit(&mut self, enabled: bool) -> Result<(), DbError> {
        if enabled != self.sync_commit {
            self.execute_script(if enabled {
                "RESET synchronous_commit"
            } else {
                "SET synchronous_commit = off"
            })?;
            self.sync_commit = enabled;
        }
        Ok(())
    }

    fn prepare(&mut self, sql: &str) -> Result<Statement, DbError> {
        if let Some(statement) = self.statements.get(sql) {
            return Ok(statement.clone());
        }
        let statement = self.wait(async |client| client.prepare(sql).await)?;
        if self.statements.len() >= limits::PREPARED_STATEMENTS_MAX {
            self.statements.clear();
        }
        self.statements.insert(sql.to_owned(), statement.clone());
        Ok(statement)
    }

    /// Waits for the reply to one statement, for a limited time.
    fn wait<T>(
        &mut self,
        statement: impl AsyncFnOnce(&Client) -> Result<T, tokio_postgres::Error>,
    ) -> Result<T, DbError> {
        if self.timed_out {
            return Err(no_reply());
        }
        let client = &self.client;
        let reply = async { tokio::time::timeout(limits::STATEMENT_REPLY_TIMEOUT, statement(client)).await };
        let Ok(result) = self.runtime.block_on(reply) else {
            self.timed_out = true;
            return Err(no_reply());
        };
        result.map_err(|error| {
            if error.code() == Some(&SqlState::FEATURE_NOT_SUPPORTED) {
                // "cached plan must not change result type": the table changed after the statement was prepared.
                self.statements.clear();
            }
            classify(&error)
        })
    }
}

/// Parameters are sent as text, and the server parses them as the type that the statement needs. So one `Value`
/// serves `jsonb`, `timestamptz` and `boolean` columns of user tables alike.
impl ToSql for Value {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn StdError + Sync + Send>> {
        match self {
            Value::Null => return Ok(IsNull::Yes),
            Value::Int(number) => out.put_slice(number.to_string().as_bytes()),
            Value::Real(number) => out.put_slice(number.to_string().as_bytes()),
            Value::Bool(flag) => out.put_slice(if *flag { b"t" } else { b"f" }),
            Value::Text(text) => out.put_slice(text.as_bytes()),
            Value::Blob(bytes) => out.put_slice(bytes),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        if matches!(self, Value::Blob(_)) { Format::Binary } else { Format::Text }
    }

    to_sql_checked!();
}

/// A cell of a result, which is sent in binary.
struct Cell(Value);

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Cell, Box<dyn StdError + Sync + Send>> {
        Ok(Cell(match *ty {
            Type::BOOL => Value::Bool(bool::from_sql(ty, raw)?),
            Type::INT2 => Value::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(ty, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(ty, raw)?),
            Type::BYTEA => Value::Blob(raw.to_vec()),
            // A version byte, then the text.
            Type::JSONB => Value::Text(std::str::from_utf8(raw.get(1..).unwrap_or_default())?.to_owned()),
            Type::TIMESTAMPTZ => Value::Text(format_timestamp(i64::from_sql(&Type::INT8, raw)?)),
            _ => Value::Text(std::str::from_utf8(raw)?.to_owned()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Cell, Box<dyn StdError + Sync + Send>> {
        Ok(Cell(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// PostgreSQL counts microseconds from the year 2000.
fn format_timestamp(micros: i64) -> String {
    const MS_1970_TO_2000: i64 = 946_684_800_000;
    Timestamp(micros.div_euclid(1_000).saturating_add(MS_1970_TO_2000)).to_string()
}

fn from_postgres(row: &tokio_postgres::Row) -> Result<Row, DbError> {
    (0..row.len())
        .map(|index| row.try_get::<_, Cell>(index).map(|cell| cell.0).map_err(|error| classify(&error)))
        .collect::<Result<Vec<Value>, DbError>>()
        .map(Row)
}

fn no_reply() -> DbError {
    DbError::Unreachable(format!("no reply within {} s", limits::STATEMENT_REPLY_TIMEOUT.as_secs()))
}

fn classify(error: &tokio_postgres::Error) -> DbError {
    let message = match error.as_db_error() {
        Some(db) => db.message().to_owned(),
        None => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            format!("{error}{cause}")
        }
    };
    let Some(code) = error.code() else {
        let is_io_error = error.source().is_some_and(|cause| cause.is::<std::io::Error>());
        return if error.is_closed() || is_io_error {
            DbError::Unreachable(message)
        } else {
            DbError::other(message)
        };
    };
    match *code {
        SqlState::UNIQUE_VIOLATION => {
            let constraint =
                error.as_db_error().and_then(|db| db.constraint()).unwrap_or_default().to_owned();
            DbError::Unique { constraint }
        }
        SqlState::T_R_SERIALIZATION_FAILURE
        | SqlState::T_R_DEADLOCK_DETECTED
        | SqlState::LOCK_NOT_AVAILABLE
        | SqlState::FEATURE_NOT_SUPPORTED
        | SqlState::OUT_OF_MEMORY => DbError::Retryable(message),
        SqlState::ADMIN_SHUTDOWN
        | SqlState::CRASH_SHUTDOWN
        | SqlState::CANNOT_CONNECT_NOW
        | SqlState::CONNECTION_EXCEPTION
        | SqlState::CONNECTION_FAILURE => DbError::Unreachable(message),
        SqlState::TOO_MANY_CONNECTIONS => DbError::TooManyClients(message),
        SqlState::DISK_FULL => DbError::DiskFull(message),
        SqlState::READ_ONLY_SQL_TRANSACTION => DbError::ReadOnly(message),
        SqlState::IO_ERROR => DbError::Io(message),
        SqlState::UNDEFINED_TABLE | SqlState::UNDEFINED_COLUMN => DbError::SchemaChanged(message),
        SqlState::CHARACTER_NOT_IN_REPERTOIRE | SqlState::UNTRANSLATABLE_CHARACTER => {
            DbError::InvalidText(message)
        }
        _ => DbError::other(message),
    }
}
