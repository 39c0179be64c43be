//! Fields of entities: the columns, the JSON and the parser of each type that a field can have.

use quad_core::{Result, Timestamp};
use quad_store::{Row, Value as Cell};
use serde_json::{Map, Value, json};

use crate::errors::{self, invalid};
use crate::limits;

/// A type that a field of an entity can have.
pub(crate) trait Field: Sized {
    /// The number of columns.
    const COLUMNS: usize = 1;

    /// The names of the columns.
    fn columns(name: &str, columns: &mut Vec<String>) {
        columns.push(name.to_owned());
    }

    /// Appends one value per column.
    fn bind(&self, cells: &mut Vec<Cell>);

    /// Decodes the columns from `at` on, and advances `at` past them.
    fn from_row(row: &Row, at: &mut usize) -> Result<Self>;

    /// The JSON value that clients see.
    fn to_json(&self) -> Value;

    /// The JSON Schema of that value.
    fn schema() -> Value {
        json!({"type": "string"})
    }

    /// Parses a JSON value of the caller.
    fn from_json(field: &str, value: &Value) -> Result<Self>;

    /// The value when the JSON has none; an error for required fields.
    fn default_value(field: &str) -> Result<Self> {
        Err(errors::missing(field))
    }
}

/// Returns the current column index and advances it.
pub(crate) fn next_column(at: &mut usize) -> usize {
    let current = *at;
    *at += 1;
    current
}

impl Field for String {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(self.as_str().into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<String> {
        Ok(row.text(next_column(at))?.to_owned())
    }

    fn to_json(&self) -> Value {
        self.as_str().into()
    }

    fn from_json(field: &str, value: &Value) -> Result<String> {
        let text = value.as_str().ok_or_else(|| invalid(field, "must be a string"))?;
        if text.trim().is_empty() {
            return Err(invalid(field, "must not be empty"));
        }
        if text.len() > limits::TEXT_BYTES {
            return Err(invalid(field, format!("must have at most {} bytes", limits::TEXT_BYTES)));
        }
        if text.contains('\0') {
            return Err(invalid(field, "must not contain the NUL character"));
        }
        Ok(text.to_owned())
    }
}

impl<T: Field> Field for Option<T> {
    const COLUMNS: usize = T::COLUMNS;

    fn columns(name: &str, columns: &mut Vec<String>) {
        T::columns(name, columns);
    }

    fn bind(&self, cells: &mut Vec<Cell>) {
        match self {
            Some(value) => value.bind(cells),
            None => cells.extend(std::iter::repeat_n(Cell::Null, T::COLUMNS)),
        }
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Option<T>> {
        if *row.value(*at) == Cell::Null {
            *at += T::COLUMNS;
            return Ok(None);
        }
        T::from_row(row, at).map(Some)
    }

    fn to_json(&self) -> Value {
        self.as_ref().map_or(Value::Null, Field::to_json)
    }

    fn schema() -> Value {
        let mut schema = T::schema();
        schema["type"] = json!([schema["type"], "null"]);
        schema
    }

    fn from_json(field: &str, value: &Value) -> Result<Option<T>> {
        T::from_json(field, value).map(Some)
    }

    fn default_value(_: &str) -> Result<Option<T>> {
        Ok(None)
    }
}

impl Field for Timestamp {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push((*self).into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Timestamp> {
        Ok(Timestamp(row.int(next_column(at))?))
    }

    fn to_json(&self) -> Value {
        self.to_string().into()
    }

    fn from_json(field: &str, value: &Value) -> Result<Timestamp> {
        value
            .as_str()
            .and_then(Timestamp::parse)
            .ok_or_else(|| invalid(field, "must be a time such as 2025-09-14 or 2025-09-14T08:30:00Z"))
    }
}

/// A list of ids or names, stored as JSON.
impl Field for Vec<String> {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(Value::from(self.as_slice()).to_string().into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Vec<String>> {
        serde_json::from_str(row.text(next_column(at))?).map_err(quad_core::Error::internal)
    }

    fn to_json(&self) -> Value {
        self.as_slice().into()
    }

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "string"}})
    }

    fn from_json(field: &str, value: &Value) -> Result<Vec<String>> {
        let wrong = || invalid(field, format!("must be a list of at most {} strings", limits::LIST_TEXTS));
        let list = value.as_array().filter(|list| list.len() <= limits::LIST_TEXTS).ok_or_else(wrong)?;
        list.iter().map(|text| String::from_json(field, text)).collect()
    }

    fn default_value(_: &str) -> Result<Vec<String>> {
        Ok(Vec::new())
    }
}

/// Additional data of the source, stored as JSON.
impl Field for Map<String, Value> {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(Value::Object(self.clone()).to_string().into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<Map<String, Value>> {
        serde_json::from_str(row.text(next_column(at))?).map_err(quad_core::Error::internal)
    }

    fn to_json(&self) -> Value {
        Value::Object(self.clone())
    }

    fn schema() -> Value {
        json!({"type": "object"})
    }

    fn from_json(field: &str, value: &Value) -> Result<Map<String, Value>> {
        let object = value.as_object().ok_or_else(|| invalid(field, "must be an object"))?;
        if value.to_string().len() > limits::METADATA_BYTES {
            return Err(invalid(
                field,
                format!("must have at most {} bytes as JSON", limits::METADATA_BYTES),
            ));
        }
        Ok(object.clone())
    }

    fn default_value(_: &str) -> Result<Map<String, Value>> {
        Ok(Map::new())
    }
}

impl Field for i64 {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push((*self).into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<i64> {
        Ok(row.int(next_column(at))?)
    }

    fn to_json(&self) -> Value {
        (*self).into()
    }

    fn schema() -> Value {
        json!({"type": "integer"})
    }

    fn from_json(field: &str, value: &Value) -> Result<i64> {
        value.as_i64().ok_or_else(|| invalid(field, "must be an integer"))
    }

    fn default_value(_: &str) -> Result<i64> {
        Ok(0)
    }
}

/// A number from 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) struct UnitInterval(pub f64);

impl Field for UnitInterval {
    fn bind(&self, cells: &mut Vec<Cell>) {
        cells.push(self.0.into());
    }

    fn from_row(row: &Row, at: &mut usize) -> Result<UnitInterval> {
        Ok(UnitInterval(row.real(next_column(at))?))
    }

    fn to_json(&self) -> Value {
        self.0.into()
    }

    fn schema() -> Value {
        json!({"type": "number"})
    }

    fn from_json(field: &str, value: &Value) -> Result<UnitInterval> {
        let ratio = value.as_f64().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio
            .map(|ratio| UnitInterval(ratio + 0.0))
            .ok_or_else(|| invalid(field, "must be a number from 0 to 1"))
    }
}

/// Implements [`Field`] for typed ids.
macro_rules! id_fields {
    ($($id:ident),+) => {$(
        impl Field for crate::ids::$id {
            fn bind(&self, cells: &mut Vec<Cell>) {
                cells.push(self.as_str().into());
            }

            fn from_row(row: &Row, at: &mut usize) -> Result<Self> {
                Ok(crate::ids::$id::from_db(row.text(next_column(at))?))
            }

            fn to_json(&self) -> Value {
                self.as_str().into()
            }

            fn from_json(field: &str, value: &Value) -> Result<Self> {
                value.as_str().and_then(crate::ids::$id::parse).ok_or_else(|| {
                    invalid(field, "must be an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -")
                })
            }
        }
    )+};
}
id_fields!(
    AccountId,
    BalanceId,
    TransactionId,
    CounterpartyId,
    ObligationId,
    InvoiceId,
    CategoryId,
    TransferId,
    MatchId,
    PaymentIntentId,
    PolicyId
);
