//! Points in time: UTC with milliseconds, in one text format.

use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Serialize, Serializer};

/// Milliseconds since the Unix epoch. Stored as a `BIGINT`, printed as `2026-02-12T00:00:00.000Z`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

impl Timestamp {
    /// The current time.
    pub fn now() -> Timestamp {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX))
    }

    /// This time plus `ms` milliseconds.
    pub fn plus_ms(self, ms: i64) -> Timestamp {
        Timestamp(self.0.saturating_add(ms))
    }

    /// Parses an RFC 3339 instant, or a bare date as midnight UTC.
    pub fn parse(text: &str) -> Option<Timestamp> {
        if let Ok(instant) = text.parse::<jiff::Timestamp>() {
            return Some(Timestamp(instant.as_millisecond()));
        }
        let date = text.parse::<jiff::civil::Date>().ok()?;
        let midnight = date.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        // The date parser also accepts a date-time and drops the time. The length check rejects that.
        (text.len() <= 10).then(|| Timestamp(midnight.timestamp().as_millisecond()))
    }
}

impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match jiff::Timestamp::from_millisecond(self.0) {
            Ok(instant) => write!(f, "{instant:.3}"),
            // Outside the calendar's range. Only a damaged row can hold such a time.
            Err(_) => write!(f, "{}", self.0),
        }
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_utc_with_milliseconds() {
        assert_eq!(Timestamp(1_770_854_400_000).to_string(), "2026-02-12T00:00:00.000Z");
        assert_eq!(Timestamp(1).to_string(), "1970-01-01T00:00:00.001Z");
    }

    #[test]
    fn parses_only_rfc3339_and_bare_dates() {
        assert_eq!(Timestamp::parse("2026-02-12"), Some(Timestamp(1_770_854_400_000)));
        assert_eq!(Timestamp::parse("2026-02-12T01:00:00+01:00"), Some(Timestamp(1_770_854_400_000)));
        assert_eq!(Timestamp::parse("2026-02-12T01:00:00"), None);
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}
