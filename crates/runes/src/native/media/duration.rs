//! Durations: `3:05` and `1:02:03` for people, `PT3M5S` for machines.

use crate::js_value::JsTrim;

/// Seconds of a duration in either form; 0 if it is none.
pub(super) fn seconds(text: &str) -> u64 {
    match text.strip_prefix("PT") {
        Some(rest) => iso_seconds(rest).unwrap_or_default(),
        None => clock_seconds(text).unwrap_or_default(),
    }
}

fn iso_seconds(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    let mut rest = text;
    for (unit, unit_seconds) in [('H', 3600), ('M', 60), ('S', 1)] {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let (count, after) = rest.split_at_checked(digits)?;
        if let (false, Some(after)) = (count.is_empty(), after.strip_prefix(unit)) {
            total = total.saturating_add(count.parse::<u64>().ok()?.saturating_mul(unit_seconds));
            rest = after;
        }
    }
    Some(total)
}

fn clock_seconds(text: &str) -> Option<u64> {
    let mut total: u64 = 0;
    for part in text.split(':') {
        total = total.saturating_mul(60).saturating_add(part.js_trim().parse().ok()?);
    }
    Some(total)
}

/// Formats seconds as `1:02:03`.
pub(super) fn format_clock(seconds: u64) -> String {
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if hours > 0 { format!("{hours}:{minutes:02}:{seconds:02}") } else { format!("{minutes}:{seconds:02}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_reads_iso_and_clock_durations() {
        let cases =
            [("3:05", 185), ("1:02:03", 3723), ("PT3M5S", 185), ("PT1H", 3600), ("PT90S", 90), ("long", 0)];
        for (text, expect) in cases {
            assert_eq!(seconds(text), expect, "{text}");
        }
        assert_eq!([format_clock(180), format_clock(3723), format_clock(0)], ["3:00", "1:02:03", "0:00"]);
    }
}
