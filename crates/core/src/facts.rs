//! Named facts of an audit event: what was asked for, and what came of it.
//!
//! Every call makes some, so they are made to cost little: a handful of pairs in a list, most of them words that the program
//! knows or texts that others hold already.

use std::borrow::Cow;
use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;
use smallvec::SmallVec;

use crate::canonical::Sorted;

/// One fact.
#[derive(Clone, Debug, PartialEq)]
pub enum Fact {
    /// A text of the program's own, such as a method's name.
    Word(&'static str),
    /// A text of somebody else.
    Text(Arc<str>),
    /// A number.
    Number(i64),
    /// Yes or no.
    Truth(bool),
    /// Anything else, which is seldom.
    Json(Box<Value>),
}

impl Serialize for Fact {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Fact::Word(word) => serializer.serialize_str(word),
            Fact::Text(text) => serializer.serialize_str(text),
            Fact::Number(number) => serializer.serialize_i64(*number),
            Fact::Truth(truth) => serializer.serialize_bool(*truth),
            Fact::Json(value) => Sorted(value).serialize(serializer),
        }
    }
}

impl From<&str> for Fact {
    fn from(text: &str) -> Fact {
        Fact::Text(text.into())
    }
}

impl From<String> for Fact {
    fn from(text: String) -> Fact {
        Fact::Text(text.into())
    }
}

impl From<Arc<str>> for Fact {
    fn from(text: Arc<str>) -> Fact {
        Fact::Text(text)
    }
}

impl From<i64> for Fact {
    fn from(number: i64) -> Fact {
        Fact::Number(number)
    }
}

impl From<u32> for Fact {
    fn from(number: u32) -> Fact {
        Fact::Number(number.into())
    }
}

impl From<usize> for Fact {
    fn from(number: usize) -> Fact {
        i64::try_from(number).map_or_else(|_| Value::from(number).into(), Fact::Number)
    }
}

impl From<u64> for Fact {
    fn from(number: u64) -> Fact {
        i64::try_from(number).map_or_else(|_| Value::from(number).into(), Fact::Number)
    }
}

impl From<bool> for Fact {
    fn from(truth: bool) -> Fact {
        Fact::Truth(truth)
    }
}

impl From<Value> for Fact {
    fn from(value: Value) -> Fact {
        Fact::Json(Box::new(value))
    }
}

/// Facts in the order of their names, as many as a read has without an allocation. As JSON an object whose keys are sorted, at every
/// depth.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Facts(SmallVec<[(Cow<'static, str>, Fact); 4]>);

impl Facts {
    /// Sets a fact, in place of an earlier one of that name.
    pub fn set(&mut self, name: impl Into<Cow<'static, str>>, fact: impl Into<Fact>) {
        let (name, fact) = (name.into(), fact.into());
        match self.0.binary_search_by(|(known, _)| known.cmp(&name)) {
            Ok(place) => self.0[place].1 = fact,
            Err(place) => self.0.insert(place, (name, fact)),
        }
    }

    /// The fact of that name.
    pub fn get(&self, name: &str) -> Option<&Fact> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, fact)| fact)
    }

    /// The facts in the order of their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Fact)> {
        self.0.iter().map(|(name, fact)| (&**name, fact))
    }

    /// Takes over all of another's facts.
    pub fn extend(&mut self, other: Facts) {
        for (name, fact) in other.0 {
            self.set(name, fact);
        }
    }
}

impl Serialize for Facts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, fact) in self.iter() {
            map.serialize_entry(name, fact)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn are_written_sorted_and_the_last_of_a_name_counts() {
        let mut facts = Facts::default();
        facts.set("uri", "x://\"y\"");
        facts.set("ok", false);
        facts.set("count", 3_usize);
        facts.set("a", json!({"z": 1, "b": [null]}));
        facts.set("method", Fact::Word("m"));
        facts.set("version", -1_i64);
        let mut more = Facts::default();
        more.set("ok", true);
        facts.extend(more);
        assert_eq!(facts.get("ok"), Some(&Fact::Truth(true)));
        assert_eq!(
            serde_json::to_string(&facts).unwrap(),
            r#"{"a":{"b":[null],"z":1},"count":3,"method":"m","ok":true,"uri":"x://\"y\"","version":-1}"#
        );
        assert_eq!(serde_json::to_string(&Facts::default()).unwrap(), "{}");
    }
}
