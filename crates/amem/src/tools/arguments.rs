//! The arguments of a call. Their types have been checked against the schema; here they become what they mean.

use quad_core::Result;
use serde_json::{Map, Value};

use crate::edge::{EdgeType, EdgeTypes};
use crate::event_type::EventType;
use crate::limits;
use crate::node::NodeId;
use crate::refusal::{self, invalid};
use crate::session::SessionId;
use crate::walk::Ways;

/// The arguments of a call, or of one part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(pub(super) &'a Map<String, Value>);

impl<'a> Arguments<'a> {
    /// An argument; null is as good as nothing.
    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.get(name)?.as_str()
    }

    pub(super) fn required_text(&self, name: &str) -> Result<&'a str> {
        self.text(name).ok_or_else(|| invalid(name, "is required and must be text"))
    }

    pub(super) fn truth(&self, name: &str, default: bool) -> bool {
        self.get(name).and_then(Value::as_bool).unwrap_or(default)
    }

    pub(super) fn number(&self, name: &str) -> Option<f64> {
        self.get(name)?.as_f64()
    }

    /// A whole number; 3.0 is one too.
    pub(super) fn whole(&self, name: &str) -> Option<u64> {
        whole(self.get(name)?)
    }

    /// A whole number within bounds that the schema has checked.
    pub(super) fn count(&self, name: &str, default: usize) -> usize {
        self.whole(name).and_then(|count| usize::try_from(count).ok()).unwrap_or(default)
    }

    pub(super) fn node(&self, name: &str) -> Result<NodeId> {
        self.whole(name).map(NodeId::of).ok_or_else(|| invalid(name, "is required and must be a node's id"))
    }

    pub(super) fn session(&self, name: &str) -> Result<Option<SessionId>> {
        self.get(name).map(session).transpose()
    }

    /// A time in microseconds; what lies beyond the calendar is its end.
    pub(super) fn micros(&self, name: &str) -> Option<i64> {
        self.whole(name).map(|time| i64::try_from(time).unwrap_or(i64::MAX))
    }

    pub(super) fn list(&self, name: &str) -> &'a [Value] {
        self.get(name).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// The event types of a list, each once.
    pub(super) fn event_types(&self, name: &str) -> Result<Vec<EventType>> {
        let names = self.list(name).iter().map(|value| value.as_str().unwrap_or_default());
        let mut types = names.map(EventType::expect).collect::<Result<Vec<_>>>()?;
        types.sort_unstable();
        types.dedup();
        Ok(types)
    }

    /// The sessions of a list, each once.
    pub(super) fn sessions(&self, name: &str) -> Result<Vec<SessionId>> {
        let mut sessions = self.list(name).iter().map(session).collect::<Result<Vec<_>>>()?;
        sessions.sort_unstable();
        sessions.dedup();
        if sessions.len() > limits::QUERY_SESSIONS {
            return Err(invalid(name, format!("names at most {} sessions", limits::QUERY_SESSIONS)));
        }
        Ok(sessions)
    }

    /// The edge types of a list; all if there is none.
    pub(super) fn edge_types(&self, name: &str) -> Result<EdgeTypes> {
        let list = self.list(name);
        if list.is_empty() {
            return Ok(EdgeTypes::ALL);
        }
        let mut types = EdgeTypes::NONE;
        for value in list {
            types = types.with(EdgeType::expect(value.as_str().unwrap_or_default())?);
        }
        Ok(types)
    }

    /// Which edges to follow: `edge_types` in the `direction`.
    pub(super) fn ways(&self, default: &str) -> Result<Ways> {
        let types = self.edge_types("edge_types")?;
        let none = EdgeTypes::NONE;
        match self.text("direction").unwrap_or(default) {
            "forward" => Ok(Ways { outgoing: types, incoming: none }),
            "backward" => Ok(Ways { outgoing: none, incoming: types }),
            "both" => Ok(Ways { outgoing: types, incoming: types }),
            other => Err(refusal::unknown("direction", other, &["forward", "backward", "both"])),
        }
    }

    /// A confidence from 0 to 1.
    pub(super) fn confidence(&self, default: f64) -> Result<f64> {
        let confidence = self.number("confidence").unwrap_or(default);
        if (0.0..=1.0).contains(&confidence) {
            // A negative zero would print its sign.
            Ok(confidence + 0.0)
        } else {
            Err(invalid("confidence", format!("must be 0 to 1, not {confidence}")))
        }
    }

    /// A reason, short enough for an audit event.
    pub(super) fn reason(&self) -> Result<Option<&'a str>> {
        match self.text("reason") {
            Some(reason) if reason.chars().count() > limits::REASON_CHARS => {
                Err(invalid("reason", format!("has at most {} characters", limits::REASON_CHARS)))
            }
            reason => Ok(reason),
        }
    }
}

fn whole(value: &Value) -> Option<u64> {
    if let Some(number) = value.as_u64() {
        return Some(number);
    }
    let number = value.as_f64()?;
    // Below 2^53 a float names one whole number.
    (number >= 0.0 && number.fract() == 0.0 && number < 9_007_199_254_740_992.0).then_some(number as u64)
}

fn session(value: &Value) -> Result<SessionId> {
    whole(value)
        .and_then(|id| u32::try_from(id).ok())
        .map(SessionId)
        .ok_or_else(|| invalid("session_id", "must be a whole number below 4294967296"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn arguments(value: &Value) -> Arguments<'_> {
        Arguments(value.as_object().unwrap())
    }

    #[test]
    fn whole_numbers_come_in_several_spellings() {
        let sent = json!({"a": 3, "b": 3.0, "c": 3.5, "d": -1, "e": u64::MAX, "f": 1e300, "g": null});
        let sent = arguments(&sent);
        assert_eq!(sent.whole("a"), Some(3));
        assert_eq!(sent.whole("b"), Some(3));
        for none in ["c", "d", "f", "g", "h"] {
            assert_eq!(sent.whole(none), None, "{none}");
        }
        assert_eq!(sent.node("e").unwrap(), NodeId(i64::MAX));
        assert!(sent.session("e").is_err());
    }

    #[test]
    fn words_are_those_of_the_vocabulary() {
        let sent = json!({"event_types": ["FACT", "fact", "skill"], "bad": ["bogus"], "edge_types": ["derived_from"]});
        let sent = arguments(&sent);
        assert_eq!(sent.event_types("event_types").unwrap(), [EventType::Fact, EventType::Skill]);
        assert_eq!(sent.event_types("bad").unwrap_err().code(), "VALIDATION_ERROR");
        let ways = sent.ways("both").unwrap();
        assert!(ways.outgoing.contains(EdgeType::CausedBy) && !ways.incoming.contains(EdgeType::Supports));
    }
}
