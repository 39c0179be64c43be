//! The types of memories.

use quad_core::{Error, Result};

use crate::errors;

/// The six types. Their numbers are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventType {
    /// Something learned.
    Fact,
    /// A choice.
    Decision,
    /// A conclusion from other nodes.
    Inference,
    /// What replaces an earlier belief.
    Correction,
    /// A procedure that can be used again.
    Skill,
    /// A summary of a session.
    Episode,
}

/// The names, in the order of the numbers.
pub const NAMES: [&str; 6] = ["fact", "decision", "inference", "correction", "skill", "episode"];

impl EventType {
    /// All types, in the order of the numbers.
    pub const ALL: [EventType; 6] = [
        EventType::Fact,
        EventType::Decision,
        EventType::Inference,
        EventType::Correction,
        EventType::Skill,
        EventType::Episode,
    ];

    /// Parses a name in any case.
    pub fn parse(name: &str) -> Option<EventType> {
        EventType::ALL.into_iter().find(|event_type| event_type.as_str().eq_ignore_ascii_case(name))
    }

    /// Parses a name, or returns an error that lists the valid names.
    pub(crate) fn parse_arg(name: &str) -> Result<EventType> {
        EventType::parse(name).ok_or_else(|| errors::unknown_value("event type", name, &NAMES))
    }

    /// The name.
    pub fn as_str(self) -> &'static str {
        NAMES[self as usize]
    }

    /// The stored number.
    pub fn number(self) -> i64 {
        self as i64
    }

    /// The type with this stored number.
    pub(crate) fn from_db(number: i64) -> Result<EventType> {
        usize::try_from(number)
            .ok()
            .and_then(|number| EventType::ALL.get(number).copied())
            .ok_or_else(|| Error::internal(format!("the stored event type {number} is unknown")))
    }

    /// The class that decides how the score decays: see [`crate::decay`].
    pub(crate) fn score_class(self) -> usize {
        match self {
            EventType::Fact | EventType::Decision | EventType::Correction => 0,
            EventType::Inference | EventType::Skill => 1,
            EventType::Episode => 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_type_names_and_numbers_round_trip() {
        for (number, event_type) in EventType::ALL.into_iter().enumerate() {
            assert_eq!(event_type.number(), number as i64);
            assert_eq!(EventType::from_db(number as i64).unwrap(), event_type);
            assert_eq!(EventType::parse(&event_type.as_str().to_uppercase()), Some(event_type));
        }
        assert_eq!(EventType::parse("facts"), None);
        assert!(EventType::from_db(6).is_err() && EventType::from_db(-1).is_err());
    }
}
