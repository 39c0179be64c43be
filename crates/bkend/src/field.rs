//! Fields: the types and rules of a table's columns, and how they are shown.
//!
//! How callers define them is in [`crate::definition`]. Whether a field is unique is not its own: that is an
//! [index](crate::index).

use quad_core::Result;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::errors::{self, invalid};
use crate::{limits, validate};

/// What the server sets on every record. Names of user fields differ from these, whatever their case.
pub(crate) const SYSTEM_FIELDS: [&str; 4] = ["id", "createdBy", "createdAt", "updatedAt"];

/// Names that PostgreSQL keeps for its own columns.
const RESERVED_COLUMNS: [&str; 6] = ["tableoid", "xmin", "cmin", "xmax", "cmax", "ctid"];

/// The type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FieldType {
    /// Text.
    String,
    /// A whole number.
    Int,
    /// A whole number; the same 64 bits.
    Long,
    /// A double.
    Number,
    /// True or false.
    Boolean,
    /// An instant.
    Date,
    /// A JSON object.
    Object,
    /// A JSON array.
    Array,
    /// The id of a record, perhaps of a named table.
    Reference,
    /// Any JSON value.
    Mixed,
}

/// The names of all types, for hints.
pub(crate) const TYPE_NAMES: [&str; 10] =
    ["string", "int", "long", "number", "boolean", "date", "object", "array", "reference", "mixed"];

impl FieldType {
    /// Reads a type in any of its spellings.
    pub fn parse(text: &str) -> Option<FieldType> {
        Some(match text.to_ascii_lowercase().as_str() {
            "string" => FieldType::String,
            "int" => FieldType::Int,
            "long" => FieldType::Long,
            "number" | "double" | "decimal" => FieldType::Number,
            "boolean" | "bool" => FieldType::Boolean,
            "date" => FieldType::Date,
            "object" => FieldType::Object,
            "array" => FieldType::Array,
            "reference" => FieldType::Reference,
            "mixed" => FieldType::Mixed,
            _ => return None,
        })
    }

    /// Its name in the `fields` array.
    pub fn as_str(self) -> &'static str {
        TYPE_NAMES[self as usize]
    }

    /// Its name in a schema.
    pub fn bson_type(self) -> &'static str {
        match self {
            FieldType::Number => "double",
            FieldType::Boolean => "bool",
            other => other.as_str(),
        }
    }

    /// Whether it is a number of either kind.
    pub fn is_numeric(self) -> bool {
        matches!(self, FieldType::Int | FieldType::Long | FieldType::Number)
    }

    /// Whether it is text.
    pub fn is_text(self) -> bool {
        matches!(self, FieldType::String | FieldType::Reference)
    }

    /// Whether it is stored as JSON, and so has no order that both backends agree on.
    pub fn is_json(self) -> bool {
        matches!(self, FieldType::Object | FieldType::Array | FieldType::Mixed)
    }
}

/// A field of a table, as stored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Field {
    /// Its name, and its column's.
    pub name: String,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Whether every new record must have it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub required: bool,
    /// What a new record gets when it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// A regular expression that text must match somewhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pattern: Option<String>,
    /// Characters at least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_length: Option<u64>,
    /// Characters at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_length: Option<u64>,
    /// The least number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minimum: Option<f64>,
    /// The greatest number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub maximum: Option<f64>,
    /// The only values.
    #[serde(rename = "enum", default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<Vec<Value>>,
    /// What an array's elements are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<Box<Field>>,
    /// What an object holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<Field>,
    /// The table that a reference points into. Not enforced.
    #[serde(rename = "ref", default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// A sentence for people.
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

    /// Its entry in the `properties` of a schema.
    pub(crate) fn to_schema_property(&self) -> Value {
        let mut property = Map::new();
        property.insert("bsonType".into(), self.kind.bson_type().into());
        self.write_rules(&mut property, "default");
        Value::Object(property)
    }

    /// Its entry in the `fields` array.
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

/// The full form of a schema.
pub(crate) fn schema(fields: &[Field]) -> Value {
    let required: Vec<&str> =
        fields.iter().filter(|field| field.required).map(|field| field.name.as_str()).collect();
    let properties: Map<String, Value> =
        fields.iter().map(|field| (field.name.clone(), field.to_schema_property())).collect();
    json!({"bsonType": "object", "required": required, "properties": properties})
}

/// The schema reduced to names and types, for lists that would be too long.
pub(crate) fn short_schema(fields: &[Field]) -> Value {
    let properties: Map<String, Value> = fields
        .iter()
        .map(|field| (field.name.clone(), json!({"bsonType": field.kind.bson_type()})))
        .collect();
    json!({"bsonType": "object", "properties": properties})
}

/// Whether `name` is one of the server's own, whatever its case.
pub(crate) fn is_system(name: &str) -> bool {
    SYSTEM_FIELDS.iter().any(|system| system.eq_ignore_ascii_case(name))
}

/// Checks the name of a field: a column of both backends.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_system(name) {
        return Err(errors::system_field(name));
    }
    let has_valid_chars = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let has_valid_start = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if !has_valid_chars || !has_valid_start || name.len() > limits::IDENTIFIER_BYTES {
        return Err(invalid(
            &errors::truncate_for_message(name),
            format!(
                "a field name begins with a letter and has letters, digits and _, at most {} in all",
                limits::IDENTIFIER_BYTES
            ),
        ));
    }
    if RESERVED_COLUMNS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name)) {
        return Err(invalid(name, "the database keeps this name for itself").hint("Choose another name"));
    }
    Ok(())
}
