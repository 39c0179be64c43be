//! Fields: the types and rules of a table's columns, and how they are shown.
//!
//! [`crate::definition`] parses definitions of callers. Whether a field is unique is not part of the field: an
//! [index](crate::index) says so.

use quad_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::errors::{self, invalid};
use crate::{limits, validate};

/// The fields that the server sets on every record. User fields have other names, ignoring case.
pub(crate) const SYSTEM_FIELDS: [&str; 4] = ["id", "createdBy", "createdAt", "updatedAt"];

/// Names of columns that every table has: the system columns of PostgreSQL, and the row number of SQLite under its three
/// names. They are refused on both, so that a definition fits either.
const RESERVED_COLUMNS: [&str; 9] =
    ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid", "oid", "rowid", "_rowid_"];

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text.
    String,
    /// An integer of 64 bits.
    Int,
    /// An integer of 64 bits, as `Int`.
    Long,
    /// A double.
    Number,
    /// True or false.
    Boolean,
    /// A timestamp.
    Date,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// The id of a record, optionally of a named table.
    Reference,
    /// Any JSON value.
    Mixed,
}

/// The names of all types, for hints.
pub(crate) const TYPE_NAMES: [&str; 10] =
    ["string", "int", "long", "number", "boolean", "date", "object", "array", "reference", "mixed"];

impl FieldType {
    /// Parses a type name in any of its spellings, also those of SQL and of JSON Schema.
    pub fn parse(text: &str) -> Option<FieldType> {
        Some(match text.to_ascii_lowercase().as_str() {
            "string" | "text" | "str" => FieldType::String,
            "int" | "integer" => FieldType::Int,
            "long" | "bigint" => FieldType::Long,
            "number" | "double" | "decimal" | "float" | "real" => FieldType::Number,
            "boolean" | "bool" => FieldType::Boolean,
            "date" | "datetime" | "timestamp" => FieldType::Date,
            "object" => FieldType::Object,
            "array" | "list" => FieldType::Array,
            "reference" => FieldType::Reference,
            "mixed" | "json" | "any" => FieldType::Mixed,
            _ => return None,
        })
    }

    /// The type name in the `fields` array.
    pub fn as_str(self) -> &'static str {
        TYPE_NAMES[self as usize]
    }

    /// The type name in a schema.
    pub fn bson_type(self) -> &'static str {
        match self {
            FieldType::Number => "double",
            FieldType::Boolean => "bool",
            other => other.as_str(),
        }
    }

    /// Whether it is a number.
    pub fn is_numeric(self) -> bool {
        matches!(self, FieldType::Int | FieldType::Long | FieldType::Number)
    }

    /// Whether it is text.
    pub fn is_text(self) -> bool {
        matches!(self, FieldType::String | FieldType::Reference)
    }

    /// Whether it is stored as JSON. JSON columns have no order that is equal on both backends.
    pub fn is_json(self) -> bool {
        matches!(self, FieldType::Object | FieldType::Array | FieldType::Mixed)
    }
}

/// A field of a table, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// The name of the field and of its column.
    pub name: String,
    /// The type.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Whether every new record must have a value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// The value of a new record that has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// A regular expression that must match somewhere in the text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// The minimum number of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// The maximum number of characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// The minimum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The maximum of a number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The allowed values.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Value>>,
    /// The definition of an array's elements.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Field>>,
    /// The properties of an object.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Field>,
    /// The table that a reference points to. Not enforced.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A description for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Field {
    /// A field without rules.
    pub(crate) fn new(name: &str, kind: FieldType) -> Field {
        Field {
            name: name.to_owned(),
            kind,
            required: false,
            default: None,
            pattern: None,
            min_length: None,
            max_length: None,
            minimum: None,
            maximum: None,
            allowed: None,
            items: None,
            properties: Vec::new(),
            reference: None,
            description: None,
        }
    }

    /// The entry in the `properties` of a schema.
    pub(crate) fn to_schema_property(&self) -> Value {
        let mut property = Map::new();
        property.insert("bsonType".into(), self.kind.bson_type().into());
        self.write_rules(&mut property, "default");
        Value::Object(property)
    }

    /// The entry in the `fields` array.
    pub(crate) fn to_json(&self, unique: bool) -> Value {
        let mut entry = Map::new();
        entry.insert("name".into(), self.name.as_str().into());
        entry.insert("type".into(), self.kind.as_str().into());
        entry.insert("required".into(), self.required.into());
        entry.insert("unique".into(), unique.into());
        self.write_rules(&mut entry, "defaultValue");
        Value::Object(entry)
    }

    fn write_rules(&self, object: &mut Map<String, Value>, default_key: &str) {
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(value) = value {
                object.insert(key.to_owned(), value);
            }
        };
        put(default_key, self.default.clone());
        put("pattern", self.pattern.clone().map(Value::from));
        put("minLength", self.min_length.map(Value::from));
        put("maxLength", self.max_length.map(Value::from));
        put("minimum", self.minimum.map(validate::json_number));
        put("maximum", self.maximum.map(validate::json_number));
        put("enum", self.allowed.clone().map(Value::from));
        put("items", self.items.as_ref().map(|items| items.to_schema_property()));
        put("ref", self.reference.clone().map(Value::from));
        put("description", self.description.clone().map(Value::from));
        if !self.properties.is_empty() {
            let nested = schema(&self.properties);
            put("required", nested.get("required").filter(|names| names != &&json!([])).cloned());
            put("properties", nested.get("properties").cloned());
        }
    }
}

/// The complete schema.
pub(crate) fn schema(fields: &[Field]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), field.to_schema_property())).collect();
    json!({"bsonType": "object", "required": required, "properties": properties})
}

/// The schema reduced to names and types, for lists that would otherwise be too long.
pub(crate) fn short_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.clone(), json!({"bsonType": field.kind.bson_type()})))
        .collect();
    json!({"bsonType": "object", "properties": properties})
}

/// Whether `name` is a system field, ignoring case.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEM_FIELDS.iter().any(|system| system.eq_ignore_ascii_case(name))
}

/// Checks the name of a field: it must be a valid column name on both backends.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_system(name) {
        return Err(errors::system_field(name));
    }
    if RESERVED_COLUMNS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Err(invalid(
            name,
            "cannot be the name of a field: the database reserves it",
            format!("Choose another name, such as my_{}", name.trim_matches('_')),
        ));
    }
    let has_valid_chars = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let has_valid_start = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !has_valid_chars || !has_valid_start || name.len() > limits::IDENTIFIER_BYTES {
        return Err(invalid(
            &format!("\"{}\"", errors::truncate_for_message(name)),
            "cannot be the name of a field",
            format!(
                "Begin with a letter and use only letters, digits and _, at most {} in all",
                limits::IDENTIFIER_BYTES
            ),
        ));
    }
    Ok(())
}
