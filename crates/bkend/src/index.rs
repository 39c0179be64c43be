//! Indexes: fields, their order and uniqueness. A field is unique if a unique index on it exists.

use quad_core::{Error, Kind, Result, canonical};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::definition::{FieldDefinition, parse_flag};
use crate::errors::{self, invalid};
use crate::field::{Field, SYSTEM_FIELDS};
use crate::limits;

/// The system indexes of every table: the key, and the order of lists.
pub(crate) const SYSTEM_INDEXES: [&str; 2] = ["_id_", "_created_"];

/// An index of a table, as stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Index {
    /// Its name, unique within the table.
    pub name: String,
    /// The fields in key order; 1 is ascending, -1 descending.
    pub fields: Vec<(String, i8)>,
    /// Whether the key must be unique.
    pub unique: bool,
    /// Whether uniqueness ignores records that lack a field.
    pub sparse: bool,
}

impl Index {
    /// The index that makes one field unique.
    pub(crate) fn unique_on(table: &str, field: &str, sparse: bool) -> Index {
        Index {
            name: derive_name(table, &[field], true),
            fields: vec![(field.to_owned(), 1)],
            unique: true,
            sparse,
        }
    }

    /// Parses `{name?, fields, unique?, sparse?}`; `fields` is a list of names, `-age` for descending order, or a
    /// map from name to direction.
    pub(crate) fn parse(table: &str, table_fields: &[Field], value: &Value) -> Result<Index> {
        let Value::Object(definition) = value else {
            return Err(invalid("index", "is not an object", INDEX_EXAMPLE));
        };
        const KEYS: [&str; 4] = ["name", "fields", "unique", "sparse"];
        if let Some(key) = definition.keys().find(|key| !KEYS.contains(&key.as_str())) {
            return Err(errors::unknown("property of an index named", key, KEYS));
        }
        let flag = |name: &str| match definition.get(name) {
            None | Some(Value::Null) => Ok(false),
            Some(value) => parse_flag(value).ok_or_else(|| {
                invalid(&format!("index.{name}"), "is neither true nor false", "Send true or false")
            }),
        };
        let (unique, sparse) = (flag("unique")?, flag("sparse")?);
        let fields = parse_index_fields(table_fields, definition.get("fields"))?;
        let name = match definition.get("name") {
            None | Some(Value::Null) => derive_name(
                table,
                &fields.iter().map(|(field, _)| field.as_str()).collect::<Vec<_>>(),
                unique,
            ),
            Some(Value::String(name)) => {
                check_name(name)?;
                name.clone()
            }
            Some(_) => return Err(invalid("index.name", "is not text", "Send a name, or leave it out")),
        };
        Ok(Index { name, fields, unique, sparse })
    }

    /// The JSON for callers.
    pub(crate) fn to_json(&self) -> Value {
        let fields: Map<String, Value> =
            self.fields.iter().map(|(field, direction)| (field.clone(), (*direction).into())).collect();
        json!({"name": self.name, "fields": fields, "unique": self.unique, "sparse": self.sparse})
    }

    /// Whether the index contains this field.
    pub(crate) fn covers(&self, field: &str) -> bool {
        self.fields.iter().any(|(covered, _)| covered == field)
    }

    /// Whether the index makes this field unique: it is unique and has no other field.
    pub(crate) fn makes_unique(&self, field: &str) -> bool {
        self.unique && self.fields.len() == 1 && self.covers(field)
    }
}

/// The entries of a list of indexes, also if it is JSON text or has one entry that is not in a list.
pub(crate) fn parse_list(value: &Value) -> Vec<Value> {
    match value {
        Value::Array(indexes) => indexes.clone(),
        Value::String(text) => match serde_json::from_str(text) {
            Ok(Value::Array(indexes)) => indexes,
            Ok(index @ Value::Object(_)) => vec![index],
            _ => vec![value.clone()],
        },
        index => vec![index.clone()],
    }
}

/// The unique indexes that a table's definition asks for.
pub(crate) fn unique_indexes(table: &str, defined: &[FieldDefinition]) -> Result<Vec<Index>> {
    defined
        .iter()
        .filter(|defined| defined.unique == Some(true))
        .map(|defined| {
            check_indexable(&defined.field)?;
            Ok(Index::unique_on(table, &defined.field.name, defined.sparse))
        })
        .collect()
}

/// Refuses JSON columns: they have no order that is equal on both backends.
pub(crate) fn check_indexable(field: &Field) -> Result<()> {
    if field.kind.is_json() {
        let message = format!("has the type {}, which cannot be unique or indexed", field.kind.as_str());
        return Err(invalid(
            &field.name,
            message,
            "Store the value that you search for in a field of its own",
        ));
    }
    Ok(())
}

/// Refuses the name of a system index.
pub(crate) fn check_not_system_index(name: &str, is_removal: bool) -> Result<()> {
    if !SYSTEM_INDEXES.contains(&name) {
        return Ok(());
    }
    let code = if is_removal { "CANNOT_REMOVE_SYSTEM_INDEX" } else { "CANNOT_MODIFY_SYSTEM_INDEX" };
    let message = format!("{name} is a system index, which every table has");
    Err(Error::new(Kind::BadInput, code, message).hint("Choose an index of your own"))
}

/// What an index looks like, for hints.
pub(crate) const INDEX_EXAMPLE: &str =
    "Send an index such as {\"fields\":[\"role\",\"-age\"],\"unique\":false}";

/// A field of an index with its direction: `-age` is descending. The name of a field never begins with `-`.
fn parse_direction(name: &str) -> (String, i8) {
    match name.strip_prefix('-') {
        Some(name) => (name.to_owned(), -1),
        None => (name.to_owned(), 1),
    }
}

fn parse_index_fields(table_fields: &[Field], value: Option<&Value>) -> Result<Vec<(String, i8)>> {
    let fields: Vec<(String, i8)> = match value {
        Some(Value::Array(names)) => names
            .iter()
            .map(|name| name.as_str().map(parse_direction))
            .collect::<Option<_>>()
            .ok_or_else(|| invalid("index.fields", "is not a list of names", INDEX_EXAMPLE))?,
        Some(Value::String(name)) => vec![parse_direction(name)],
        Some(Value::Object(map)) => map
            .iter()
            .map(|(name, direction)| match direction.as_i64() {
                Some(1) => Ok((name.clone(), 1)),
                Some(-1) => Ok((name.clone(), -1)),
                _ => Err(invalid(
                    &format!("index.fields.{name}"),
                    "is neither 1 nor -1",
                    "Send 1 for ascending or -1 for descending",
                )),
            })
            .collect::<Result<_>>()?,
        None => return Err(errors::missing("index.fields", INDEX_EXAMPLE)),
        Some(_) => return Err(invalid("index.fields", "is not a list of names", INDEX_EXAMPLE)),
    };
    if fields.is_empty() || fields.len() > limits::FIELDS_PER_INDEX {
        return Err(invalid(
            "index.fields",
            format!("has {} fields", fields.len()),
            format!("Send 1 to {} fields", limits::FIELDS_PER_INDEX),
        ));
    }
    for (position, (name, _)) in fields.iter().enumerate() {
        if fields[..position].iter().any(|(earlier, _)| earlier == name) {
            return Err(invalid("index.fields", format!("has {name} twice"), format!("Send {name} once")));
        }
        match table_fields.iter().find(|field| field.name == *name) {
            Some(field) => check_indexable(field)?,
            None if SYSTEM_FIELDS.contains(&name.as_str()) => {}
            None => {
                let names = table_fields.iter().map(|field| field.name.as_str()).chain(SYSTEM_FIELDS);
                return Err(errors::unknown("field named", name, names));
            }
        }
    }
    Ok(fields)
}

fn check_name(name: &str) -> Result<()> {
    check_not_system_index(name, false)?;
    let has_valid_start = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let has_valid_chars =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if !has_valid_start || !has_valid_chars || name.len() > limits::IDENTIFIER_BYTES {
        return Err(invalid(
            "index.name",
            format!("cannot be \"{}\"", errors::truncate_for_message(name)),
            format!(
                "Begin with a letter and use only letters, digits, _ and -, at most {} in all",
                limits::IDENTIFIER_BYTES
            ),
        ));
    }
    Ok(())
}

/// The default name: `idx_<table>_<fields>`, plus `_unique` if unique. A name that is too long is shortened.
fn derive_name(table: &str, fields: &[&str], unique: bool) -> String {
    let suffix = if unique { "_unique" } else { "" };
    shorten_identifier(format!("idx_{table}_{}{suffix}", fields.join("_")))
}

/// Shortens a name to the identifier limit; a digest of the full name keeps two long names different.
pub(crate) fn shorten_identifier(name: String) -> String {
    if name.len() <= limits::IDENTIFIER_BYTES {
        return name;
    }
    let digest = canonical::sha256_hex(name.as_bytes());
    format!("{}_{}", &name[..limits::IDENTIFIER_BYTES - 13], &digest[..12])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::parse_fields;

    fn test_fields() -> Vec<Field> {
        let defined = parse_fields(&json!({"email": "string", "age": "int", "meta": "object"})).unwrap();
        defined.into_iter().map(|defined| defined.field).collect()
    }

    #[test]
    fn parses_both_formats_and_derives_name() {
        let index =
            Index::parse("users", &test_fields(), &json!({"fields": ["email"], "unique": true})).unwrap();
        assert_eq!(index, Index::unique_on("users", "email", false));
        assert_eq!(
            index.to_json(),
            json!({"name": "idx_users_email_unique", "fields": {"email": 1}, "unique": true, "sparse": false})
        );
        let index = Index::parse(
            "users",
            &test_fields(),
            &json!({"name": "x", "fields": {"age": -1, "createdAt": 1}}),
        )
        .unwrap();
        assert_eq!(index.fields, [("age".to_owned(), -1), ("createdAt".to_owned(), 1)]);
        assert!(derive_name(&"t".repeat(63), &["a"], true).len() == limits::IDENTIFIER_BYTES);
    }

    #[test]
    fn rejects_invalid_index_definitions() {
        let code =
            |value: Value| Index::parse("users", &test_fields(), &value).unwrap_err().code().to_owned();
        assert_eq!(code(json!({"name": "_id_", "fields": ["age"]})), "CANNOT_MODIFY_SYSTEM_INDEX");
        for bad in [
            json!({}),
            json!({"fields": []}),
            json!({"fields": ["nope"]}),
            json!({"fields": ["meta"]}),
            json!({"fields": ["age", "age"]}),
            json!({"fields": {"age": 2}}),
            json!({"fields": ["age"], "name": "a.b"}),
            json!({"fields": ["age"], "uniq": true}),
        ] {
            assert_eq!(code(bad.clone()), "VALIDATION_ERROR", "{bad}");
        }
    }
}
