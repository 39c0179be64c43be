//! The calendar: days, months and quarters in UTC, as arithmetic on milliseconds.

use quad_core::Timestamp;

/// Milliseconds of a day.
pub(crate) const DAY_MS: i64 = 86_400_000;

/// A day of the proleptic Gregorian calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CivilDate {
    pub year: i64,
    pub month: i64,
    pub day: i64,
}

/// The UTC day of a moment.
pub(crate) fn civil_date(time: Timestamp) -> CivilDate {
    // Days are counted from 1 March of year 0, so that the leap day is the last of its year.
    let days = time.0.div_euclid(DAY_MS) + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097);
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    CivilDate { year, month, day }
}

/// Midnight UTC at the beginning of a day.
pub(crate) fn midnight(year: i64, month: i64, day: i64) -> Timestamp {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let shifted = (month + 9) % 12;
    let day_of_year = (153 * shifted + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Timestamp((era * 146_097 + day_of_era - 719_468) * DAY_MS)
}

/// `2025-09-14`.
pub(crate) fn format_date(time: Timestamp) -> String {
    let CivilDate { year, month, day } = civil_date(time);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The beginning of the day of a moment.
pub(crate) fn day_start(time: Timestamp) -> Timestamp {
    Timestamp(time.0.div_euclid(DAY_MS) * DAY_MS)
}

/// A month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Month {
    pub year: i64,
    pub month: i64,
}

impl Month {
    pub(crate) fn from_timestamp(time: Timestamp) -> Month {
        let CivilDate { year, month, .. } = civil_date(time);
        Month { year, month }
    }

    /// Reads `2025-09`.
    pub(crate) fn parse(text: &str) -> Option<Month> {
        let (year, month) = text.split_once('-')?;
        if year.len() != 4 || month.len() != 2 || !text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
            return None;
        }
        let (year, month) = (year.parse().ok()?, month.parse().ok()?);
        (1..=12).contains(&month).then_some(Month { year, month })
    }

    pub(crate) fn start(self) -> Timestamp {
        midnight(self.year, self.month, 1)
    }

    /// The month that is so many later, or earlier.
    pub(crate) fn add_months(self, months: i64) -> Month {
        let total_months = self.year * 12 + self.month - 1 + months;
        Month { year: total_months.div_euclid(12), month: total_months.rem_euclid(12) + 1 }
    }

    pub(crate) fn quarter(self) -> Quarter {
        Quarter { year: self.year, quarter: (self.month - 1) / 3 + 1 }
    }
}

impl std::fmt::Display for Month {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-{:02}", self.year, self.month)
    }
}

/// Three months.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Quarter {
    pub year: i64,
    pub quarter: i64,
}

impl Quarter {
    /// Reads `2025-Q3`.
    pub(crate) fn parse(text: &str) -> Option<Quarter> {
        let (year, quarter) = text.split_once("-Q")?;
        if year.len() != 4 || !year.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        let quarter = quarter.parse().ok().filter(|quarter| (1..=4).contains(quarter))?;
        Some(Quarter { year: year.parse().ok()?, quarter })
    }

    pub(crate) fn months(self) -> [Month; 3] {
        let first = Month { year: self.year, month: self.quarter * 3 - 2 };
        [first, first.add_months(1), first.add_months(2)]
    }
}

impl std::fmt::Display for Quarter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:04}-Q{}", self.year, self.quarter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn civil_date_round_trips_and_matches_timestamp() {
        let mut day = midnight(1899, 12, 30);
        while day < midnight(2105, 3, 2) {
            let CivilDate { year, month, day: day_of_month } = civil_date(day);
            assert_eq!(midnight(year, month, day_of_month), day);
            assert_eq!(day.to_string()[..10], format_date(day));
            day = day.plus_ms(DAY_MS);
        }
        assert_eq!(format_date(Timestamp(-1)), "1969-12-31");
    }

    #[test]
    fn month_and_quarter_parse_and_add() {
        let month = Month::parse("2025-09").unwrap();
        assert_eq!(month.add_months(4).to_string(), "2026-01");
        assert_eq!(month.add_months(-9).to_string(), "2024-12");
        assert_eq!(month.quarter().to_string(), "2025-Q3");
        let months = Quarter::parse("2025-Q4").unwrap().months().map(|month| month.to_string());
        assert_eq!(months, ["2025-10", "2025-11", "2025-12"]);
        for bad in ["2025-13", "2025-9", "25-09", "2025-Q5", "2025_09", "+025-09", ""] {
            assert!(Month::parse(bad).is_none() && Quarter::parse(bad).is_none(), "{bad}");
        }
    }
}
