//! The arguments of a tool call. The schema check has verified their JSON types; here they become domain values.

use quad_core::{Error, Result};
use serde_json::{Map, Value};

use crate::edge::{EdgeType, EdgeTypeSet};
use crate::errors::{self, invalid_argument};
use crate::event_type::EventType;
use crate::micros::{self, Bound};
use crate::node::NodeId;
use crate::session::SessionId;
use crate::traversal::EdgeFilter;
use crate::{limits, reference};

/// The arguments of a call, or of one object in them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// An argument; null counts as absent.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    pub(super) fn required_text(&self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| missing(name))
    }

    pub(super) fn bool_or(&self, name: &str, default: bool) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// An integer; 3.0 counts as one.
    pub(super) fn integer(&self, name: &str) -> Option<u64> {
        parse_integer(self.get(name)?)
    }

    /// An integer within the bounds of the schema.
    pub(super) fn usize_or(&self, name: &str, default: usize) -> usize {
        self.integer(name).and_then(|count| usize::try_from(count).ok()).unwrap_or(default)
    }

    pub(super) fn node(&self, name: &str) -> Result<NodeId> {
        let value = self.get(name).ok_or_else(|| missing(name))?;
        let id = match value {
            Value::String(text) => reference::parse_node(text),
            other => parse_integer(other).map(NodeId::from_u64_saturating),
        };
        id.ok_or_else(|| errors::not_a(name, "the id of a memory", &plain(value), errors::FIND_NODES))
    }

    pub(super) fn session(&self, name: &str) -> Result<Option<SessionId>> {
        self.get(name).map(|value| parse_session(name, value)).transpose()
    }

    /// A time in microseconds, as one end of a range.
    fn time(&self, name: &str, bound: Bound) -> Result<Option<i64>> {
        let Some(text) = self.text(name) else { return Ok(None) };
        let time = micros::parse(text, bound);
        time.map(Some).ok_or_else(|| errors::not_a(name, "a time", text, micros::TIME_HINT))
    }

    /// The two ends of a range of times.
    pub(super) fn time_range(&self, start: &str, end: &str) -> Result<(Option<i64>, Option<i64>)> {
        let (from, to) = (self.time(start, Bound::Start)?, self.time(end, Bound::End)?);
        match (from, to) {
            (Some(from), Some(to)) if to < from => {
                let hint = format!("Give {end} a time after {start}, or leave one of them out");
                Err(invalid_argument(end, format!("is earlier than {start}"), hint))
            }
            range => Ok(range),
        }
    }

    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        self.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The event types of a list, without duplicates.
    pub(super) fn event_types(&self, name: &str) -> Result<Vec<EventType>> {
        let names = self.list(name).iter().map(|value| value.as_str().unwrap_or_default());
        let mut types = names.map(EventType::parse_arg).collect::<Result<Vec<_>>>()?;
        types.sort_unstable();
        types.dedup();
        Ok(types)
    }

    /// The sessions of a list, without duplicates.
    pub(super) fn sessions(&self, name: &str) -> Result<Vec<SessionId>> {
        let ids = self.list(name).iter();
        let mut sessions = ids.map(|value| parse_session(name, value)).collect::<Result<Vec<_>>>()?;
        sessions.sort_unstable();
        sessions.dedup();
        if sessions.len() > limits::QUERY_SESSIONS {
            let (count, max) = (sessions.len(), limits::QUERY_SESSIONS);
            let hint = format!("Give at most {max} sessions in one call");
            return Err(invalid_argument(name, format!("names {count} sessions"), hint));
        }
        Ok(sessions)
    }

    /// The edge types of a list; all types if the list is empty.
    pub(super) fn edge_types(&self, name: &str) -> Result<EdgeTypeSet> {
        let list = self.list(name);
        if list.is_empty() {
            return Ok(EdgeTypeSet::ALL);
        }
        let mut types = EdgeTypeSet::NONE;
        for value in list {
            types = types.with(EdgeType::parse_arg(value.as_str().unwrap_or_default())?);
        }
        Ok(types)
    }

    /// The edges to follow, from `edge_types` and `direction`.
    pub(super) fn edge_filter(&self, default: &str) -> Result<EdgeFilter> {
        let types = self.edge_types("edge_types")?;
        let none = EdgeTypeSet::NONE;
        match self.text("direction").unwrap_or(default) {
            "forward" => Ok(EdgeFilter { outgoing: types, incoming: none }),
            "backward" => Ok(EdgeFilter { outgoing: none, incoming: types }),
            "both" => Ok(EdgeFilter { outgoing: types, incoming: types }),
            other => Err(errors::unknown_value("direction", other, &["forward", "backward", "both"])),
        }
    }

    /// A confidence from 0 to 1.
    pub(super) fn confidence(&self, default: f64) -> Result<f64> {
        let confidence = self.number("confidence").unwrap_or(default);
        if (0.0..=1.0).contains(&confidence) {
            // Turns a negative zero into zero: it would be printed with its sign.
            Ok(confidence + 0.0)
        } else {
            Err(invalid_argument("confidence", format!("is {confidence}"), "Give a number from 0 to 1"))
        }
    }

    /// A reason that fits into an audit event.
    pub(super) fn reason(&self) -> Result<Option<&'a str>> {
        match self.text("reason") {
            Some(reason) if reason.chars().count() > limits::REASON_CHARS => {
                let (count, max) = (reason.chars().count(), limits::REASON_CHARS);
                let hint = format!("Shorten the reason to at most {max} characters");
                Err(invalid_argument("reason", format!("has {count} characters"), hint))
            }
            reason => Ok(reason),
        }
    }
}

fn parse_integer(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = value.as_f64()?;
    // Below 2^53 every whole float is exact.
    (number >= 0.0 && number.fract() == 0.0 && number < 9_007_199_254_740_992.0).then_some(number as u64)
}

/// A required argument that is not there, which the check of the schema has found already.
fn missing(name: &str) -> Error {
    invalid_argument(name, "is missing", format!("Give {name}"))
}

fn parse_session(name: &str, value: &Value) -> Result<SessionId> {
    let id = match value {
        Value::String(text) => reference::parse_session(text),
        other => parse_integer(other).and_then(|id| u32::try_from(id).ok()).map(SessionId),
    };
    id.ok_or_else(|| errors::session_out_of_range(name, plain(value)))
}

/// A value as a message shows it: text without quotes.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: &Value) -> Arguments<'_> {
        Arguments(value.as_object().unwrap())
    }

    #[test]
    fn integer_accepts_whole_floats_only() {
        let json = json!({"a": 3, "b": 3.0, "c": 3.5, "d": -1, "e": u64::MAX, "f": 1e300, "g": null});
        let args = arguments(&json);
        assert_eq!(args.integer("a"), Some(3));
        assert_eq!(args.integer("b"), Some(3));
        for name in ["c", "d", "f", "g", "h"] {
            assert_eq!(args.integer(name), None, "{name}");
        }
        assert_eq!(args.node("e").unwrap(), NodeId(i64::MAX));
        assert!(args.session("e").is_err());
    }

    #[test]
    fn unknown_type_names_are_rejected() {
        let json = json!({"event_types": ["FACT", "fact", "skill"], "bad": ["bogus"], "edge_types": ["derived_from"]});
        let args = arguments(&json);
        assert_eq!(args.event_types("event_types").unwrap(), [EventType::Fact, EventType::Skill]);
        assert_eq!(args.event_types("bad").unwrap_err().code(), "VALIDATION_ERROR");
        let filter = args.edge_filter("both").unwrap();
        assert!(
            filter.outgoing.contains(EdgeType::CausedBy) && !filter.incoming.contains(EdgeType::Supports)
        );
    }
}
