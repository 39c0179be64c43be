//! Dates of OFX: `20240115`, `20240115103000.000[-5:EST]`.

use jiff::civil::Date;

use crate::{BankTime, date};

/// The calendar day as written, and the exact time if there is a zone.
///
/// The standard defines a missing zone as GMT, but banks mean local time. The day stays as written, and a time without
/// a zone gives no timestamp.
pub(crate) fn parse_date_time(text: &str) -> Option<(Date, Option<BankTime>)> {
    let (stamp, zone) = match text.split_once('[') {
        Some((stamp, zone)) => (stamp.trim(), Some(zone)),
        None => (text.trim(), None),
    };
    let number = |from: usize, to: usize| -> Option<i16> {
        let digits = stamp.get(from..to)?;
        digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    if !(1900..=2199).contains(&year) {
        return None;
    }
    let day = Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok()?;
    let moment = zone.and_then(|zone| {
        let clock = [number(8, 10)?, number(10, 12)?, number(12, 14).unwrap_or(0)];
        let [hours, minutes, seconds] = clock;
        if hours > 24 || minutes > 59 || seconds > 60 {
            return None;
        }
        let fraction = stamp.get(15..18).and_then(|digits| digits.parse::<u16>().ok()).unwrap_or(0);
        date::bank_time_at_offset(day, clock, i32::from(fraction), offset_minutes(zone)?)
    });
    Some((day, moment))
}

/// `-5:EST]`, `+5.30:IST]`, `5.5]`, `0:GMT]`.
fn offset_minutes(zone: &str) -> Option<i16> {
    let number = zone.split([':', ']']).next()?.trim();
    let (negative, number) = match number.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, number.strip_prefix('+').unwrap_or(number)),
    };
    let (hours, rest) = number.split_once('.').unwrap_or((number, ""));
    let hours: i16 = hours.parse().ok().filter(|hours| (0..=18).contains(hours))?;
    let minutes = match rest.len() {
        0 => 0,
        // One digit is a tenth of an hour, two are minutes.
        1 => rest.parse::<i16>().ok()? * 6,
        2 => rest.parse::<i16>().ok().filter(|minutes| (0..60).contains(minutes))?,
        _ => return None,
    };
    let offset = hours * 60 + minutes;
    Some(if negative { -offset } else { offset })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_dates_and_zones() {
        let formatted = |text: &str| {
            parse_date_time(text)
                .map(|(day, moment)| (day.to_string(), moment.map(|m| (m.utc_ms, m.offset_minutes))))
        };
        assert_eq!(formatted("20240115"), Some(("2024-01-15".into(), None)));
        assert_eq!(formatted("20240115235959"), Some(("2024-01-15".into(), None)));
        // Late evening in New York is the next day in GMT; the bank wrote the fifteenth.
        let evening = Some((1_705_377_600_000, -300));
        assert_eq!(formatted("20240115230000.000[-5:EST]"), Some(("2024-01-15".into(), evening)));
        assert_eq!(formatted("20240101000000[+5.30:IST]").unwrap().1.unwrap().1, 330);
        assert_eq!(formatted("20240101000000[5.5]").unwrap().1.unwrap().1, 330);
        for text in ["", "2024", "20241301", "2024011a", "00000000", "2024é115"] {
            assert_eq!(formatted(text), None, "{text}");
        }
        assert_eq!(formatted("20240101000000[99:X]"), Some(("2024-01-01".into(), None)));
    }
}
