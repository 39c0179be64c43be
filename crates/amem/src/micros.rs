//! Microseconds since the Unix epoch, the only unit of time in this scheme.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::civil::DateTime;
use jiff::tz::TimeZone;

/// The microseconds of a day.
pub(crate) const MICROS_PER_DAY: f64 = 86_400_000_000.0;

/// The microseconds of a day, as an integer.
const DAY: i64 = 86_400_000_000;

/// The characters of a date, as in `2026-01-31`.
const DATE_CHARS: usize = 10;

/// What a caller may give as a time.
pub(crate) const TIME_HINT: &str =
    "Give a date such as 2026-01-31, a time such as 2026-01-31T08:30:00Z, or microseconds since 1970";

/// The current time.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

/// Which end of a range a time is. Both ends belong to their range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bound {
    Start,
    End,
}

/// Parses a time of a caller: an ISO 8601 date or time, UTC unless it has an offset, or microseconds, of which those
/// above `i64::MAX` become `i64::MAX`. A date is a whole day: as the end of a range it is the last microsecond of it.
pub(crate) fn parse(text: &str, bound: Bound) -> Option<i64> {
    let text = text.trim();
    if let Some(micros) = parse_number(text) {
        return Some(micros);
    }
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        return Some(instant.as_microsecond());
    }
    // A zone in brackets without an offset would be ignored.
    let civil: DateTime = text.parse().ok().filter(|_| !text.contains('['))?;
    let start = civil.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond();
    match bound {
        Bound::End if text.len() <= DATE_CHARS => Some(start + DAY - 1),
        _ => Some(start),
    }
}

/// A whole number from 0, also written as a float.
fn parse_number(text: &str) -> Option<i64> {
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Some(text.parse().unwrap_or(i64::MAX));
    }
    // Below 2^53 every whole float is exact.
    let number: f64 = text.parse().ok()?;
    (number >= 0.0 && number.fract() == 0.0 && number < 9_007_199_254_740_992.0).then_some(number as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parse_accepts_iso_times_and_microseconds() {
        let check = |text: &str, expected: Option<i64>| {
            assert_eq!(parse(text, Bound::Start), expected, "{text}");
        };
        check("2026-01-31", Some(1_769_817_600_000_000));
        check("2026-01-31T08:30:00Z", Some(1_769_848_200_000_000));
        check("2026-01-31T08:30:00.000001Z", Some(1_769_848_200_000_001));
        check("2026-01-31T09:30:00+01:00", Some(1_769_848_200_000_000));
        check("2026-01-31T08:30:00", Some(1_769_848_200_000_000));
        check("2026-01-31 08:30", Some(1_769_848_200_000_000));
        check("1969-12-31", Some(-86_400_000_000));
        check(" 5 ", Some(5));
        check("5.0", Some(5));
        check("1.7e15", Some(1_700_000_000_000_000));
        check("1769848200000000", Some(1_769_848_200_000_000));
        check("18446744073709551615", Some(i64::MAX));
        for invalid in [
            "",
            "-5",
            "5.5",
            "NaN",
            "inf",
            "yesterday",
            "2026-13-01",
            "2026-02-30",
            "2026-01",
            "2026-01-31T08:30:00[Europe/Berlin]",
        ] {
            check(invalid, None);
        }
    }

    #[test]
    fn date_as_end_includes_the_whole_day() {
        let next_day = parse("2026-02-01", Bound::Start);
        assert_eq!(parse("2026-01-31", Bound::End).map(|end| end + 1), next_day);
        assert_eq!(parse("2026-01-31T00:00:00Z", Bound::End), parse("2026-01-31", Bound::Start));
        assert_eq!(parse("5", Bound::End), Some(5));
    }
}
