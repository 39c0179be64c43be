//! Dates as banks and people write them: `2024-03-05`, `05.03.24`, `3/5/2024`, `5 mars 2024`, `20240305`.
//!
//! `03/05/2024` alone may be in March or in May. [`DateOrderInference`] first looks at all dates of a file;
//! [`parse_date`] then parses each date with the inferred order.

use std::collections::HashMap;
use std::sync::LazyLock;

use jiff::civil::Date;
use serde::{Deserialize, Serialize};

use crate::BankTime;

/// The order of day and month if all parts are numbers and the year is not first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DateOrder {
    /// `31.12.2024`
    Dmy,
    /// `12/31/2024`
    Mdy,
    /// `24-12-31`: a year of two digits first. Years of four digits need no order.
    Ymd,
}

/// The parts of a date before their meaning is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// Year, month, day.
    Unambiguous(i16, i8, i8),
    /// Three numbers as written; the last is the year unless the order says otherwise.
    Numbers { first: i16, second: i16, third: i16, dots: bool },
}

/// Splits a date from the text after it, which is a time of day or empty.
pub(crate) fn split_date(text: &str) -> Option<(Parts, &str)> {
    let text = text.trim();
    let bytes = text.as_bytes();
    let (first, length) = digits(bytes)?;
    if length == 0 {
        return month_name_then_day(text);
    }
    let rest = text.get(length..)?;
    if length == 8 && !rest.starts_with(|c: char| c.is_ascii_digit()) {
        let year = i16::try_from(first / 10_000).ok()?;
        let (month, day) = ((first / 100 % 100) as i8, (first % 100) as i8);
        return Some((Parts::Unambiguous(year, month, day), rest));
    }
    if length != 4 && length > 2 {
        return None;
    }
    let first = i16::try_from(first).ok()?;
    let separator = rest.chars().next()?;
    if !matches!(separator, '-' | '/' | '.' | ' ' | '\u{a0}') {
        return None;
    }
    let tail = rest.get(separator.len_utf8()..)?;
    let (second, length_2) = digits(tail.as_bytes())?;
    if length_2 == 0 {
        return day_then_month_name(first, length, tail);
    }
    if length_2 > 2 || separator == ' ' {
        return None;
    }
    let tail = tail.get(length_2..)?;
    let tail = tail.strip_prefix(separator)?;
    let (third, length_3) = digits(tail.as_bytes())?;
    let rest = tail.get(length_3..)?;
    let (second, third) = (second as i16, i16::try_from(third).ok()?);
    match (length, length_3) {
        (4, 1 | 2) => Some((Parts::Unambiguous(first, second as i8, third as i8), rest)),
        (1 | 2, 2 | 4) => {
            let third = if length_3 == 2 && first > 31 { third } else { full_year(third, length_3) };
            Some((Parts::Numbers { first, second, third, dots: separator == '.' }, rest))
        }
        _ => None,
    }
}

/// `5 Mar 2024`, `5. März 2024`, `05-MAR-24`.
fn day_then_month_name(day: i16, day_digits: usize, text: &str) -> Option<(Parts, &str)> {
    if day_digits > 2 {
        return None;
    }
    let text = text.trim_start_matches([' ', '\u{a0}']);
    let text = text.strip_prefix("de ").unwrap_or(text);
    let (month, rest) = month_name(text)?;
    let rest = rest.trim_start_matches(['.', ',', ' ', '-', '/']);
    let rest = rest.strip_prefix("de ").unwrap_or(rest);
    let (year, length) = digits(rest.as_bytes())?;
    if length != 2 && length != 4 {
        return None;
    }
    let year = full_year(i16::try_from(year).ok()?, length);
    Some((Parts::Unambiguous(year, month, i8::try_from(day).ok()?), rest.get(length..)?))
}

/// `Mar 5, 2024`
fn month_name_then_day(text: &str) -> Option<(Parts, &str)> {
    let (month, rest) = month_name(text)?;
    let rest = rest.trim_start_matches(['.', ' ', '-']);
    let (day, length) = digits(rest.as_bytes())?;
    if length == 0 || length > 2 {
        return None;
    }
    let rest = rest.get(length..)?.trim_start_matches([',', ' ', '-']);
    let (year, length) = digits(rest.as_bytes())?;
    if length != 4 {
        return None;
    }
    Some((Parts::Unambiguous(i16::try_from(year).ok()?, month, day as i8), rest.get(length..)?))
}

/// A month by its name or short name in English, German, French, Spanish, Dutch, Italian or Portuguese.
fn month_name(text: &str) -> Option<(i8, &str)> {
    const NAMES: [&str; 12] = [
        "jan january januar jän jänner janv janvier ene enero januari gen gennaio janeiro",
        "feb february februar fév févr février febrero februari febbraio fev fevereiro",
        "mar march mär märz mrz mars marzo mrt maart março",
        "apr april avr avril abr abril aprile",
        "may mai mayo mei mag maggio maio",
        "jun june juni juin junio giu giugno junho",
        "jul july juli juil juillet julio lug luglio julho",
        "aug august août aout ago agosto augustus",
        "sep sept september septembre septiembre set settembre setembro",
        "oct october okt oktober octobre octubre ott ottobre out outubro",
        "nov november novembre noviembre novembro",
        "dec december dez dezember déc décembre dic diciembre dicembre dezembro",
    ];
    let end = text.find(|c: char| !c.is_alphabetic()).unwrap_or(text.len());
    // The longest name has ten letters, some of two bytes.
    let word = text.get(..end).filter(|word| (3..=20).contains(&word.len()))?.to_lowercase();
    // This must be fast: while columns are inferred it is called for every word of every cell.
    static MONTHS: LazyLock<HashMap<&'static str, i8>> = LazyLock::new(|| {
        let months = NAMES.iter().zip(1..);
        months.flat_map(|(names, month)| names.split(' ').map(move |name| (name, month))).collect()
    });
    Some((*MONTHS.get(word.as_str())?, text.get(end..)?))
}

/// The number at the start of a text, and its length; at most eight digits.
fn digits(bytes: &[u8]) -> Option<(u32, usize)> {
    let length = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length > 8 {
        return None;
    }
    Some((bytes.iter().take(length).fold(0, |number, digit| number * 10 + u32::from(digit - b'0')), length))
}

fn full_year(year: i16, digits: usize) -> i16 {
    match (digits, year) {
        (2, 0..=69) => 2000 + year,
        (2, _) => 1900 + year,
        _ => year,
    }
}

impl Parts {
    /// The day in the given order; `None` if the calendar does not have it.
    pub fn date(self, order: DateOrder) -> Option<Date> {
        let (year, month, day) = match self {
            Parts::Unambiguous(year, month, day) => (year, month, day),
            Parts::Numbers { first, second, third, .. } => {
                let (year, month, day) = match order {
                    DateOrder::Dmy => (third, second, first),
                    DateOrder::Mdy => (third, first, second),
                    DateOrder::Ymd => (full_year(first, 2), second, third % 100),
                };
                (year, i8::try_from(month).ok()?, i8::try_from(day).ok()?)
            }
        };
        // Earlier years predate banks, and a year of five digits is a typing error.
        (1900..=2199).contains(&year).then(|| Date::new(year, month, day).ok())?
    }
}

/// Parses a date; the text after it must be empty or a time of day.
pub(crate) fn parse_date(text: &str, order: DateOrder) -> Option<(Date, &str)> {
    let (parts, rest) = split_date(text)?;
    let rest = rest.trim_start_matches(['T', ' ', ',', ';']).trim_end();
    if !rest.is_empty() && !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if !rest.is_empty() && !rest.contains(':') && rest.len() < 6 {
        return None;
    }
    Some((parts.date(order)?, rest))
}

/// Parses a time of day with an offset, such as `10:15:00+02:00` or `10:15Z`, on a given day.
pub(crate) fn parse_bank_time(date: Date, time: &str) -> Option<BankTime> {
    let time = time.trim();
    let index = time.find(['Z', 'z', '+', '-'])?;
    let (clock, zone) = (time.get(..index)?.trim_end(), time.get(index..)?);
    let offset_minutes = match zone.split_at_checked(1)? {
        ("Z" | "z", "") => 0,
        ("Z" | "z", _) => return None,
        (sign, offset) => {
            let (hours, minutes) = match offset.split_once(':') {
                Some((hours, minutes)) => (hours, minutes),
                None if offset.len() == 4 => offset.split_at_checked(2)?,
                None => (offset, "0"),
            };
            let minutes = parse_two_digits(hours)? * 60 + parse_two_digits(minutes)?;
            if sign == "-" { -minutes } else { minutes }
        }
    };
    let mut fields = clock.split(':');
    let (hours, minutes) = (parse_two_digits(fields.next()?)?, parse_two_digits(fields.next()?)?);
    let (seconds, fraction) = match fields.next().unwrap_or("0").split_once(['.', ',']) {
        Some((seconds, fraction)) => (parse_two_digits(seconds)?, fraction),
        None => (parse_two_digits(clock.split(':').nth(2).unwrap_or("0"))?, ""),
    };
    if fields.next().is_some() || hours > 24 || minutes > 59 || seconds > 60 {
        return None;
    }
    let mut milliseconds = 0;
    for index in 0..3 {
        let digit = fraction.as_bytes().get(index).copied().unwrap_or(b'0');
        milliseconds = milliseconds * 10 + i32::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    bank_time_at_offset(date, [hours, minutes, seconds], milliseconds, offset_minutes)
}

/// A timestamp from a day and a time of day with an offset; `None` if no time zone has such an offset.
pub(crate) fn bank_time_at_offset(
    date: Date,
    clock: [i16; 3],
    milliseconds: i32,
    offset_minutes: i16,
) -> Option<BankTime> {
    if !(-18 * 60..=18 * 60).contains(&offset_minutes) {
        return None;
    }
    let epoch = Date::constant(1970, 1, 1);
    let days = i64::from(epoch.until(date).ok()?.get_days());
    let seconds = clock.iter().fold(0i64, |sum, part| sum * 60 + i64::from(*part));
    let minutes = days * 24 * 60 - i64::from(offset_minutes);
    Some(BankTime { utc_ms: (minutes * 60 + seconds) * 1000 + i64::from(milliseconds), offset_minutes })
}

fn parse_two_digits(text: &str) -> Option<i16> {
    let plain = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| text.parse().ok())?
}

/// Statistics about the dates of a file that decide their order.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DateOrderInference {
    /// Dates whose first number can only be a day, and the line of the first one.
    pub day_first: usize,
    /// Dates whose second number can only be a day.
    pub month_first: usize,
    /// Dates whose first number can only be a year.
    pub year_first: usize,
    /// Dates that are valid in both orders, as different days.
    pub unclear: usize,
    /// The number of these with dots, which are never written month first.
    pub dots: usize,
    /// Backward and forward steps in time from row to row, for each order.
    steps: [[usize; 2]; 2],
    last: [Option<Date>; 2],
}

impl DateOrderInference {
    /// Adds one date.
    pub fn observe(&mut self, text: &str) {
        let Some((Parts::Numbers { first, second, third, dots }, _)) = split_date(text) else { return };
        let parts = Parts::Numbers { first, second, third, dots };
        match (first, second) {
            (32.., _) => self.year_first += 1,
            (13.., ..=12) => self.day_first += 1,
            (..=12, 13..) => self.month_first += 1,
            _ if first != second => {
                self.unclear += 1;
                self.dots += usize::from(dots);
            }
            _ => {}
        }
        for (index, order) in [DateOrder::Dmy, DateOrder::Mdy].into_iter().enumerate() {
            let (Some(steps), Some(last)) = (self.steps.get_mut(index), self.last.get_mut(index)) else {
                continue;
            };
            let date = parts.date(order);
            if let (Some(before), Some(now), [backward, forward]) = (*last, date, steps) {
                *backward += usize::from(now < before);
                *forward += usize::from(now > before);
            }
            *last = date.or(*last);
        }
    }

    /// The order, and how it was decided.
    pub fn infer(&self) -> (DateOrder, InferredBy) {
        let DateOrderInference { day_first, month_first, year_first, unclear, dots, steps, .. } = *self;
        if year_first > day_first + month_first {
            return (DateOrder::Ymd, InferredBy::Unambiguous);
        }
        if day_first != month_first {
            let order = if day_first > month_first { DateOrder::Dmy } else { DateOrder::Mdy };
            return (order, InferredBy::Unambiguous);
        }
        if unclear == 0 {
            return (DateOrder::Dmy, InferredBy::Unambiguous);
        }
        if dots > 0 {
            return (DateOrder::Dmy, InferredBy::Convention);
        }
        // Statements are sorted by time: the order in which the dates are sorted is more likely.
        let direction_changes = |[backward, forward]: [usize; 2]| backward.min(forward);
        let [dmy, mdy] = steps;
        match direction_changes(dmy).cmp(&direction_changes(mdy)) {
            std::cmp::Ordering::Less => (DateOrder::Dmy, InferredBy::Sequence),
            std::cmp::Ordering::Greater => (DateOrder::Mdy, InferredBy::Sequence),
            std::cmp::Ordering::Equal => (DateOrder::Dmy, InferredBy::Guess),
        }
    }
}

/// How the order of a file's dates was decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InferredBy {
    /// Some dates are valid in one order only, or all mean the same in both.
    Unambiguous,
    /// The numbers are separated by dots.
    Convention,
    /// Only in this order are the rows sorted by time.
    Sequence,
    /// Nothing decided it.
    Guess,
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn day(text: &str, order: DateOrder) -> Option<String> {
        parse_date(text, order).map(|(date, _)| date.to_string())
    }

    #[test]
    fn parses_date_formats() {
        for text in [
            "2024-03-05",
            "2024/03/05",
            "2024.3.5",
            "20240305",
            "05.03.2024",
            "5.3.24",
            "05/03/2024",
            "05-03-2024",
            "5 Mar 2024",
            "5. März 2024",
            "5 mars 2024",
            "5 de marzo de 2024",
            "05-MAR-24",
            "Mar 5, 2024",
            "March 5 2024",
            "5 maart 2024",
            "2024-03-05T10:00:00Z",
            "2024-03-05 10:00",
            "05.03.2024 23:59:59",
            "20240305 103000",
        ] {
            assert_eq!(day(text, DateOrder::Dmy).as_deref(), Some("2024-03-05"), "{text}");
        }
        assert_eq!(day("3/5/2024", DateOrder::Mdy).as_deref(), Some("2024-03-05"));
        assert_eq!(day("24-03-05", DateOrder::Ymd).as_deref(), Some("2024-03-05"));
        assert_eq!(day("31.12.69", DateOrder::Dmy).as_deref(), Some("2069-12-31"));
        assert_eq!(day("31.12.70", DateOrder::Dmy).as_deref(), Some("1970-12-31"));
    }

    #[test]
    fn rejects_non_dates() {
        for text in [
            "",
            "5",
            "2024",
            "30.02.2024",
            "32.01.2024",
            "2024-13-01",
            "1.234",
            "12.50",
            "1,5",
            "2024-03",
            "5 Foo 2024",
            "0000-00-00",
            "12345678901",
            "05.03.2024 EUR",
            "01.02.2024 5",
            "05-03/2024",
            "2024-03-05x",
        ] {
            assert_eq!(day(text, DateOrder::Dmy), None, "{text}");
        }
    }

    #[test]
    fn infers_date_order_from_all_dates() {
        let infer = |texts: &[&str]| {
            let mut inference = DateOrderInference::default();
            texts.iter().for_each(|text| inference.observe(text));
            inference.infer()
        };
        assert_eq!(infer(&["03/04/2024", "13/04/2024"]), (DateOrder::Dmy, InferredBy::Unambiguous));
        assert_eq!(infer(&["03/04/2024", "04/13/2024"]), (DateOrder::Mdy, InferredBy::Unambiguous));
        assert_eq!(infer(&["03.04.2024"]), (DateOrder::Dmy, InferredBy::Convention));
        assert_eq!(
            infer(&["01/02/2024", "01/05/2024", "02/01/2024"]),
            (DateOrder::Mdy, InferredBy::Sequence)
        );
        assert_eq!(
            infer(&["01/02/2024", "05/02/2024", "01/03/2024"]),
            (DateOrder::Dmy, InferredBy::Sequence)
        );
        assert_eq!(infer(&["03/04/2024"]), (DateOrder::Dmy, InferredBy::Guess));
        assert_eq!(infer(&["2024-03-04", "04/04/2024"]), (DateOrder::Dmy, InferredBy::Unambiguous));
        assert_eq!(infer(&["33-01-02", "34-01-02"]), (DateOrder::Ymd, InferredBy::Unambiguous));
    }

    #[test]
    fn bank_time_requires_zone() {
        let date = Date::constant(2024, 3, 5);
        let utc = |time: &str| parse_bank_time(date, time).map(|m| (m.utc_ms, m.offset_minutes));
        assert_eq!(utc("00:00:00Z"), Some((1_709_596_800_000, 0)));
        assert_eq!(utc("02:00:00.25+02:00"), Some((1_709_596_800_250, 120)));
        assert_eq!(utc("19:00-0500"), Some((1_709_596_800_000 + 86_400_000, -300)));
        for text in ["10:00", "25:00Z", "10:61Z", "10Z", "10:00+99:00", "10:00:00:00Z", "Z", "-", "1é:00Z"] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn date_format_parse_round_trip(days in 0i32..90_000, slash in any::<bool>()) {
            let date = Date::constant(1950, 1, 1).checked_add(jiff::Span::new().days(days)).unwrap();
            let (y, m, d) = (date.year(), date.month(), date.day());
            let s = if slash { '/' } else { '-' };
            prop_assert_eq!(parse_date(&format!("{y}{s}{m:02}{s}{d:02}"), DateOrder::Mdy).unwrap().0, date);
            prop_assert_eq!(parse_date(&format!("{d}{s}{m}{s}{y}"), DateOrder::Dmy).unwrap().0, date);
            prop_assert_eq!(parse_date(&format!("{m:02}{s}{d:02}{s}{y}"), DateOrder::Mdy).unwrap().0, date);
        }

        #[test]
        fn never_panics(text in "\\PC{0,24}", other in "[0-9./: TZ+-]{0,24}") {
            for text in [text, other] {
                let mut inference = DateOrderInference::default();
                inference.observe(&text);
                for order in [DateOrder::Dmy, DateOrder::Mdy, DateOrder::Ymd] {
                    let _ = parse_date(&text, order);
                }
                let _ = (parse_bank_time(Date::constant(2024, 1, 1), &text), inference.infer());
            }
        }
    }
}
