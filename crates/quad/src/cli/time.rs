//! Value parsers for durations and times.

use quad_core::Timestamp;

/// Parses `45s`, `30m`, `12h` or `90d`.
pub(super) fn duration_ms(text: &str) -> Result<i64, String> {
    let invalid = || "expected a number and a unit, such as 45s, 30m, 12h or 90d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    let unit_ms: i64 = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(invalid()),
    };
    let number: i64 = number.parse().map_err(|_| invalid())?;
    if number <= 0 {
        return Err(invalid());
    }
    number.checked_mul(unit_ms).ok_or_else(invalid)
}

/// Parses an instant, a date, or an age.
pub(super) fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .or_else(|| duration_ms(text).ok().map(|age| Timestamp::now().plus_ms(-age)))
        .ok_or_else(|| {
            "expected a time such as 2026-02-12 or 2026-02-12T08:30:00Z, or an age such as 90d".to_owned()
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_accepts_instant_or_age() {
        assert_eq!(time("1970-01-02"), Ok(Timestamp(86_400_000)));
        let (before, age) = (Timestamp::now(), time("1h").unwrap());
        assert!(age >= before.plus_ms(-3_600_000) && age <= Timestamp::now());
        assert!(time("yesterday").is_err());
    }

    #[test]
    fn durations_require_a_unit() {
        assert_eq!(duration_ms("90d"), Ok(7_776_000_000));
        assert_eq!(duration_ms("45s"), Ok(45_000));
        for wrong in ["", "d", "5", "-1d", "1w", "0s", "99999999999999999d", "é"] {
            assert!(duration_ms(wrong).is_err(), "{wrong}");
        }
    }
}
