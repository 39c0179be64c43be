//! An ordered map from names to values: attributes, hashes, parameters.
//!
//! Almost every map has fewer than ten entries, for which a linear search is fastest, and one allocation per map
//! matters for the speed of a parse: with `IndexMap` it takes 22 to 27 % longer. Only a large map has an index, so that
//! a tag with a million attributes still takes linear time.

use std::borrow::Cow;
use std::collections::HashMap;

use serde::ser::{Serialize, SerializeMap, Serializer};

use crate::value::Value;

/// From this number of entries on, the map has an index.
const HASH_INDEX_THRESHOLD: usize = 24;

/// The position of each name.
type Index = HashMap<Cow<'static, str>, usize>;

/// An ordered map. A name that is set again keeps its position.
#[derive(Clone, Default)]
pub struct AttributeMap {
    entries: Vec<(Cow<'static, str>, Value)>,
    index: Option<Box<Index>>,
}

impl AttributeMap {
    /// An empty map.
    pub fn new() -> AttributeMap {
        AttributeMap::default()
    }

    /// A map of one entry.
    pub(crate) fn from_entry(name: &'static str, value: Value) -> AttributeMap {
        AttributeMap { entries: vec![(Cow::Borrowed(name), value)], index: None }
    }

    /// The value of a name.
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.index_of(name).and_then(|index| self.entries.get(index)).map(|(_, value)| value)
    }

    /// The value of a name, if it is a string.
    pub fn get_str(&self, name: &str) -> Option<&str> {
        self.get(name).and_then(Value::as_str)
    }

    /// Sets a name. Returns its previous value.
    pub fn insert(&mut self, name: impl Into<Cow<'static, str>>, value: Value) -> Option<Value> {
        let name = name.into();
        if let Some(entry) = self.index_of(&name).and_then(|position| self.entries.get_mut(position)) {
            return Some(std::mem::replace(&mut entry.1, value));
        }
        let position = self.entries.len();
        match &mut self.index {
            Some(index) => {
                index.insert(name.clone(), position);
            }
            None if position + 1 >= HASH_INDEX_THRESHOLD => {
                let mut index: HashMap<_, _> = self
                    .entries
                    .iter()
                    .enumerate()
                    .map(|(position, (name, _))| (name.clone(), position))
                    .collect();
                index.insert(name.clone(), position);
                self.index = Some(Box::new(index));
            }
            None => {}
        }
        self.entries.push((name, value));
        None
    }

    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        let index = self.index_of(name)?;
        self.entries.get_mut(index).map(|(_, value)| value)
    }

    /// Whether a name is set.
    pub fn contains(&self, name: &str) -> bool {
        self.index_of(name).is_some()
    }

    /// How many names are set.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether none is.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// All entries in the order in which they were first set.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.entries.iter().map(|(name, value)| (name.as_ref(), value))
    }

    fn index_of(&self, name: &str) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(name).copied(),
            None => self.entries.iter().position(|(existing, _)| existing == name),
        }
    }
}

impl PartialEq for AttributeMap {
    /// Equal entries in any order, as in JSON.
    fn eq(&self, other: &AttributeMap) -> bool {
        self.len() == other.len() && self.iter().all(|(name, value)| other.get(name) == Some(value))
    }
}

impl std::fmt::Debug for AttributeMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl<N: Into<Cow<'static, str>>> FromIterator<(N, Value)> for AttributeMap {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(entries: I) -> AttributeMap {
        let mut map = AttributeMap::new();
        for (name, value) in entries {
            map.insert(name, value);
        }
        map
    }
}

impl Serialize for AttributeMap {
    /// In the order of a JavaScript object: names that are array indexes first, ascending.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_map(Some(self.len()))?;
        let mut indexes: Vec<(u32, usize)> = Vec::new();
        for (position, (name, _)) in self.entries.iter().enumerate() {
            if let Some(index) = array_index(name) {
                indexes.push((index, position));
            }
        }
        indexes.sort_unstable();
        for (_, position) in &indexes {
            if let Some((name, value)) = self.entries.get(*position) {
                object.serialize_entry(name, value)?;
            }
        }
        for (name, value) in self.iter() {
            if indexes.is_empty() || array_index(name).is_none() {
                object.serialize_entry(name, value)?;
            }
        }
        object.end()
    }
}

/// The number, if the name is an array index as JavaScript writes it.
fn array_index(name: &str) -> Option<u32> {
    let canonical = name == "0" || !name.starts_with('0');
    let digits = !name.is_empty() && name.len() <= 10 && name.bytes().all(|byte| byte.is_ascii_digit());
    if !(canonical && digits) {
        return None;
    }
    name.parse().ok().filter(|index| *index != u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map_with_entries(count: usize) -> AttributeMap {
        (0..count).map(|n| (format!("k{n}"), Value::Number(n as f64))).collect()
    }

    #[test]
    fn attribute_map_same_result_with_and_without_index() {
        for count in [0, 1, HASH_INDEX_THRESHOLD - 1, HASH_INDEX_THRESHOLD, 100] {
            let mut map = map_with_entries(count);
            assert_eq!(map.len(), count);
            for n in 0..count {
                assert_eq!(map.get(&format!("k{n}")), Some(&Value::Number(n as f64)));
            }
            assert_eq!(map.get("absent"), None);
            if count > 0 {
                assert_eq!(map.insert("k0", Value::Null), Some(Value::Number(0.0)));
                assert_eq!((map.len(), map.iter().next()), (count, Some(("k0", &Value::Null))));
            }
        }
    }

    #[test]
    fn array_indexes_serialize_first_as_in_javascript() {
        let map: AttributeMap =
            ["b", "10", "a", "9", "01"].map(|name| (name, Value::Null)).into_iter().collect();
        let json = serde_json::to_string(&map).unwrap();
        assert_eq!(json, r#"{"9":null,"10":null,"b":null,"a":null,"01":null}"#);
    }
}
