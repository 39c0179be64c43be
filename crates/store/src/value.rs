//! Parameters and results of statements.

use quad_core::Timestamp;

use crate::DbError;

/// One parameter, or one cell of a result.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// SQL `NULL`.
    Null,
    /// A 64-bit integer.
    Int(i64),
    /// A 64-bit float.
    Real(f64),
    /// A boolean. SQLite stores 0 or 1 and returns an `Int`.
    Bool(bool),
    /// Text. PostgreSQL also returns `jsonb` and `timestamptz` as text.
    Text(String),
    /// Bytes.
    Blob(Vec<u8>),
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<i64> for Value {
    fn from(number: i64) -> Value {
        Value::Int(number)
    }
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        Value::Real(number)
    }
}

impl From<bool> for Value {
    fn from(flag: bool) -> Value {
        Value::Bool(flag)
    }
}

impl From<Vec<u8>> for Value {
    fn from(bytes: Vec<u8>) -> Value {
        Value::Blob(bytes)
    }
}

impl From<Timestamp> for Value {
    fn from(time: Timestamp) -> Value {
        Value::Int(time.0)
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

/// Parameters of a statement: `params![tenant, 3, name]`.
#[macro_export]
macro_rules! params {
    () => { &[] as &[$crate::Value] };
    ($($value:expr),+ $(,)?) => { &[$($crate::Value::from($value)),+] };
}

/// One row of a result. Cells are accessed by position: every statement lists its columns, so it defines the order.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub(crate) Vec<Value>);

impl Row {
    /// The number of columns.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no columns.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The cell; [`Value::Null`] past the end.
    pub fn value(&self, index: usize) -> &Value {
        self.0.get(index).unwrap_or(&Value::Null)
    }

    /// Text.
    pub fn text(&self, index: usize) -> Result<&str, DbError> {
        self.opt_text(index)?.ok_or(DbError::Column { index, expected: "text" })
    }

    /// Text, or `None` for `NULL`.
    pub fn opt_text(&self, index: usize) -> Result<Option<&str>, DbError> {
        match self.value(index) {
            Value::Null => Ok(None),
            Value::Text(text) => Ok(Some(text)),
            _ => Err(DbError::Column { index, expected: "text" }),
        }
    }

    /// An integer.
    pub fn int(&self, index: usize) -> Result<i64, DbError> {
        self.opt_int(index)?.ok_or(DbError::Column { index, expected: "an integer" })
    }

    /// An integer, or `None` for `NULL`.
    pub fn opt_int(&self, index: usize) -> Result<Option<i64>, DbError> {
        match self.value(index) {
            Value::Null => Ok(None),
            Value::Int(number) => Ok(Some(*number)),
            Value::Bool(flag) => Ok(Some(i64::from(*flag))),
            _ => Err(DbError::Column { index, expected: "an integer" }),
        }
    }

    /// A float; an integer is converted.
    pub fn real(&self, index: usize) -> Result<f64, DbError> {
        match self.value(index) {
            Value::Real(number) => Ok(*number),
            Value::Int(number) => Ok(*number as f64),
            _ => Err(DbError::Column { index, expected: "a number" }),
        }
    }

    /// Bytes.
    pub fn blob(&self, index: usize) -> Result<&[u8], DbError> {
        self.opt_blob(index)?.ok_or(DbError::Column { index, expected: "bytes" })
    }

    /// Bytes, or `None` for `NULL`.
    pub fn opt_blob(&self, index: usize) -> Result<Option<&[u8]>, DbError> {
        match self.value(index) {
            Value::Null => Ok(None),
            Value::Blob(bytes) => Ok(Some(bytes)),
            _ => Err(DbError::Column { index, expected: "bytes" }),
        }
    }
}
