//! Periods in questions: whole months, since totals are stored per month.

use quad_core::Timestamp;

use crate::calendar::{Month, Quarter};

/// A sequence of whole months.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Period {
    pub label: String,
    pub months: Vec<Month>,
}

impl Period {
    fn month(month: Month) -> Period {
        Period { label: month.to_string(), months: vec![month] }
    }

    fn quarter(quarter: Quarter) -> Period {
        Period { label: quarter.to_string(), months: quarter.months().to_vec() }
    }

    fn year(year: i16) -> Period {
        let months = (1..=12).filter_map(|month| Month::new(year, month)).collect();
        Period { label: year.to_string(), months }
    }

    /// The last `count` months, including `last`.
    pub(super) fn trailing(last: Month, count: i64) -> Period {
        let months: Vec<Month> = (0..count).rev().map(|offset| last.add_months(-offset)).collect();
        let label = match (months.first(), months.last()) {
            (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
            (Some(first), _) => first.to_string(),
            _ => String::new(),
        };
        Period { label, months }
    }

    /// The period of the same length before this one.
    pub(super) fn previous(&self) -> Period {
        let count = self.months.len() as i64;
        match self.months.first() {
            Some(first) => Period::trailing(first.add_months(-1), count),
            None => self.clone(),
        }
    }
}

const MONTH_NAMES: [(&str, &str); 12] = [
    ("january", "jan"),
    ("february", "feb"),
    ("march", "mar"),
    ("april", "apr"),
    ("may", "may"),
    ("june", "jun"),
    ("july", "jul"),
    ("august", "aug"),
    ("september", "sep"),
    ("october", "oct"),
    ("november", "nov"),
    ("december", "dec"),
];

/// The period that a question names; `words` are lower-case with single spaces.
pub(super) fn find(words: &str, now: Timestamp) -> Option<Period> {
    let current_month = Month::from_timestamp(now);
    let parts: Vec<&str> = words.split_whitespace().collect();
    for (index, part) in parts.iter().enumerate() {
        let next = parts.get(index + 1).copied().unwrap_or_default();
        let after = parts.get(index + 2).copied().unwrap_or_default();
        if let Some(month) = Month::parse(part) {
            return Some(Period::month(month));
        }
        if let Some(quarter) = Quarter::parse(&part.to_uppercase()) {
            return Some(Period::quarter(quarter));
        }
        if let Some(quarter) = part.strip_prefix('q').and_then(|quarter| quarter.parse().ok())
            && let Some(quarter) = Quarter::new(parse_year(next).unwrap_or(current_month.year()), quarter)
        {
            return Some(Period::quarter(quarter));
        }
        if let Some((_, month)) =
            MONTH_NAMES.iter().zip(1_i8..).find(|((long, short), _)| part == long || part == short)
        {
            // `may` is also a verb; it counts as a month before a year or after `in`.
            let is_word =
                *part == "may" && parse_year(next).is_none() && (index == 0 || parts[index - 1] != "in");
            if !is_word {
                let is_later = month > current_month.number();
                let year = parse_year(next).unwrap_or(current_month.year() - i16::from(is_later));
                return Month::new(year, month).map(Period::month);
            }
        }
        match (*part, next) {
            ("this" | "current", "month") => return Some(Period::month(current_month)),
            ("last" | "previous" | "prior", "month") => {
                return Some(Period::month(current_month.add_months(-1)));
            }
            ("this" | "current", "quarter") => return Some(Period::quarter(current_month.quarter())),
            ("last" | "previous" | "prior", "quarter") => {
                return Some(Period::quarter(current_month.add_months(-3).quarter()));
            }
            ("this" | "current", "year") => return Some(Period::year(current_month.year())),
            ("last" | "previous" | "prior", "year") => return Some(Period::year(current_month.year() - 1)),
            ("last" | "past" | "trailing", count) if after.starts_with("month") => {
                let count = count.parse::<i64>().ok().filter(|count| (1..=120).contains(count))?;
                return Some(Period::trailing(current_month, count));
            }
            _ => {}
        }
    }
    // A year alone, if nothing narrower is named.
    parts.iter().find_map(|part| parse_year(part)).map(Period::year)
}

fn parse_year(text: &str) -> Option<i16> {
    let year = text.parse::<i16>().ok().filter(|_| text.len() == 4)?;
    (1970..2200).contains(&year).then_some(year)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn find_recognizes_common_period_phrases() {
        let now = crate::calendar::midnight(jiff::civil::date(2025, 10, 5));
        let check = |words: &str, expect: Option<&str>| {
            assert_eq!(find(words, now).map(|period| period.label).as_deref(), expect, "{words}");
        };
        check("in september 2025", Some("2025-09"));
        check("in november", Some("2024-11"));
        check("2025-09 please", Some("2025-09"));
        check("q3 2025", Some("2025-Q3"));
        check("2025-q3", Some("2025-Q3"));
        check("last month", Some("2025-09"));
        check("last quarter", Some("2025-Q3"));
        check("in 2024", Some("2024"));
        check("last 12 months", Some("2024-11 to 2025-10"));
        check("may i ask", None);
        check("in may", Some("2025-05"));
        check("how much", None);
        assert_eq!(find("2025-q3", now).unwrap().previous().label, "2025-04 to 2025-06");
    }
}
