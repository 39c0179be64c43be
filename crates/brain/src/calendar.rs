//! Days, months and quarters in UTC, as [`jiff`] dates and as timestamps.

use jiff::civil::Date;
use jiff::{SignedDuration, Span};
use quad_core::Timestamp;

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

const EPOCH: Date = Date::constant(1970, 1, 1);

/// The UTC date of a timestamp. Beyond the years -9999 to 9999, the nearest date in that range.
pub(crate) fn date(time: Timestamp) -> Date {
    EPOCH.saturating_add(SignedDuration::from_hours(24 * time.0.div_euclid(DAY_MS)))
}

/// Midnight UTC at the beginning of a date.
pub(crate) fn midnight(date: Date) -> Timestamp {
    Timestamp(EPOCH.duration_until(date).as_hours() / 24 * DAY_MS)
}

/// The date as `2025-09-14`.
pub(crate) fn format_date(time: Timestamp) -> String {
    date(time).to_string()
}

/// Midnight UTC at the beginning of the timestamp's day.
pub(crate) fn day_start(time: Timestamp) -> Timestamp {
    Timestamp(time.0.div_euclid(DAY_MS) * DAY_MS)
}

/// What [`parse_bound`] accepts, for hints.
pub(crate) const BOUND_EXAMPLES: &str = "2025-09-14, 2025-09-14T08:30:00Z or 2025-09";

/// Parses the bound of a range: an ISO date or time, a month, a quarter or a year. A time without an offset is UTC. At
/// the end of a range, a day, month, quarter or year means its last millisecond.
pub(crate) fn parse_bound(text: &str, is_range_end: bool) -> Option<Timestamp> {
    let text = text.trim();
    let span = |first: Month, last: Month| Some(if is_range_end { last.end() } else { first.start() });
    if let Some(month) = Month::parse(text) {
        return span(month, month);
    }
    if let Some(quarter) = Quarter::parse(&text.to_ascii_uppercase()) {
        let [first, _, last] = quarter.months();
        return span(first, last);
    }
    if text.len() == 4 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        let year = text.parse().ok()?;
        return span(Month::new(year, 1)?, Month::new(year, 12)?);
    }
    if let Some(time) = Timestamp::parse(text) {
        let is_day = text.len() <= 10;
        return Some(if is_range_end && is_day { time.plus_ms(DAY_MS - 1) } else { time });
    }
    // The parser of times would ignore the name of a time zone.
    let time: jiff::civil::DateTime = (!text.contains('[')).then(|| text.parse().ok())??;
    let instant = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp();
    Some(Timestamp(instant.as_millisecond()))
}

/// A month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Month {
    first_day: Date,
}

impl Month {
    pub(crate) fn new(year: i16, month: i8) -> Option<Month> {
        Date::new(year, month, 1).ok().map(|first_day| Month { first_day })
    }

    pub(crate) fn from_timestamp(time: Timestamp) -> Month {
        Month { first_day: date(time).first_of_month() }
    }

    /// Parses `2025-09`.
    pub(crate) fn parse(text: &str) -> Option<Month> {
        let (year, month) = text.split_once('-')?;
        if year.len() != 4 || month.len() != 2 || !text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            return None;
        }
        Month::new(year.parse().ok()?, month.parse().ok()?)
    }

    pub(crate) fn year(self) -> i16 {
        self.first_day.year()
    }

    /// The number of the month, from 1.
    pub(crate) fn number(self) -> i8 {
        self.first_day.month()
    }

    /// The first millisecond.
    pub(crate) fn start(self) -> Timestamp {
        midnight(self.first_day)
    }

    /// The last millisecond.
    pub(crate) fn end(self) -> Timestamp {
        midnight(self.first_day.last_of_month()).plus_ms(DAY_MS - 1)
    }

    /// The month that is this many months later, or earlier if negative.
    pub(crate) fn add_months(self, months: i64) -> Month {
        Month { first_day: self.first_day.saturating_add(Span::new().months(months)).first_of_month() }
    }

    pub(crate) fn quarter(self) -> Quarter {
        let first_month = (self.number() - 1) / 3 * 3 + 1;
        Quarter { first_month: Month::new(self.year(), first_month).unwrap_or(self) }
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.year(), self.number())
    }
}

/// Three months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quarter {
    first_month: Month,
}

impl Quarter {
    /// `quarter` is a number from 1 to 4.
    pub(crate) fn new(year: i16, quarter: i8) -> Option<Quarter> {
        if !(1..=4).contains(&quarter) {
            return None;
        }
        Month::new(year, quarter * 3 - 2).map(|first_month| Quarter { first_month })
    }

    /// Parses `2025-Q3`.
    pub(crate) fn parse(text: &str) -> Option<Quarter> {
        let (year, quarter) = text.split_once("-Q")?;
        if year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        Quarter::new(year.parse().ok()?, quarter.parse().ok()?)
    }

    pub(crate) fn months(self) -> [Month; 3] {
        [self.first_month, self.first_month.add_months(1), self.first_month.add_months(2)]
    }
}

impl std::fmt::Display for Quarter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-Q{}", self.first_month.year(), (self.first_month.number() - 1) / 3 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_round_trip_and_match_timestamps() {
        let mut day = midnight(Date::constant(1899, 12, 30));
        while day < midnight(Date::constant(2105, 3, 2)) {
            assert_eq!(midnight(date(day)), day);
            assert_eq!(date(day.plus_ms(DAY_MS - 1)), date(day));
            assert_eq!(day.to_string()[..10], format_date(day));
            day = day.plus_ms(DAY_MS);
        }
        assert_eq!(format_date(Timestamp(-1)), "1969-12-31");
    }

    #[test]
    fn bounds_are_dates_times_months_quarters_and_years() {
        for (text, start, end) in [
            ("2025-09-14", "2025-09-14T00:00:00.000Z", "2025-09-14T23:59:59.999Z"),
            ("2025-09", "2025-09-01T00:00:00.000Z", "2025-09-30T23:59:59.999Z"),
            ("2025-q3", "2025-07-01T00:00:00.000Z", "2025-09-30T23:59:59.999Z"),
            ("2024", "2024-01-01T00:00:00.000Z", "2024-12-31T23:59:59.999Z"),
            ("2025-09-14T08:30:00Z", "2025-09-14T08:30:00.000Z", "2025-09-14T08:30:00.000Z"),
            ("2025-09-14T08:30:00+02:00", "2025-09-14T06:30:00.000Z", "2025-09-14T06:30:00.000Z"),
            ("2025-09-14T08:30:00", "2025-09-14T08:30:00.000Z", "2025-09-14T08:30:00.000Z"),
            (" 2025-09-14 08:30 ", "2025-09-14T08:30:00.000Z", "2025-09-14T08:30:00.000Z"),
        ] {
            assert_eq!(parse_bound(text, false).unwrap().to_string(), start, "{text}");
            assert_eq!(parse_bound(text, true).unwrap().to_string(), end, "{text}");
        }
        for bad in [
            "",
            "yesterday",
            "2025-13",
            "2025-09-31",
            "14.09.2025",
            "09/14/2025",
            "1757800000000",
            "2025-09-14T08:30[Europe/Berlin]",
        ] {
            assert_eq!(parse_bound(bad, false), None, "{bad}");
        }
    }

    #[test]
    fn dates_at_the_ends_of_the_calendar_saturate() {
        let last = midnight(Date::constant(9999, 12, 31));
        assert_eq!((format_date(last).as_str(), midnight(date(last))), ("9999-12-31", last));
        let month = Month::from_timestamp(last);
        assert_eq!((month.to_string().as_str(), month.end()), ("9999-12", last.plus_ms(DAY_MS - 1)));
        assert_eq!(month.add_months(1), month);
        assert_eq!(date(Timestamp(i64::MAX)), Date::MAX);
        assert_eq!(date(Timestamp(i64::MIN)), Date::MIN);
    }

    #[test]
    fn month_and_quarter_parse_and_add() {
        let month = Month::parse("2025-09").unwrap();
        assert_eq!(month.add_months(4).to_string(), "2026-01");
        assert_eq!(month.add_months(-9).to_string(), "2024-12");
        assert_eq!(month.end().plus_ms(1), month.add_months(1).start());
        assert_eq!(month.quarter().to_string(), "2025-Q3");
        let months = Quarter::parse("2025-Q4").unwrap().months().map(|month| month.to_string());
        assert_eq!(months, ["2025-10", "2025-11", "2025-12"]);
        for bad in ["2025-13", "2025-00", "2025-9", "25-09", "2025-Q5", "2025-Q0", "2025_09", "+025-09", ""] {
            assert!(Month::parse(bad).is_none() && Quarter::parse(bad).is_none(), "{bad}");
        }
    }
}
