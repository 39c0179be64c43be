//! How scores decay, without a job that updates them.
//!
//! A score is `base × min(1, exp(−0.01 × days since the effective access))`. The effective access is the last
//! access, plus log2(1 + number of accesses) days. Scores are computed on read. Only the effective access is
//! stored: among nodes with the same base (a *score class*), its order is the order of the scores at every time, so
//! it changes only when a node is read. Between classes the cap matters: an inference with a thousand accesses has
//! an effective access in the future and still scores 0.8. So lists merge one sorted range per class; one order
//! over all classes would change with time.

use crate::event_type::EventType;
use crate::micros::MICROS_PER_DAY;

/// The score of a new node of each class.
pub(crate) const BASE_SCORES: [f64; 3] = [1.0, 0.8, 0.6];

/// The rate of decay per day.
const DECAY_PER_DAY: f64 = 0.01;

/// The effective access, in microseconds.
pub(crate) fn effective_access(last_accessed: i64, access_count: i64) -> i64 {
    let bonus = (1.0 + access_count.max(0) as f64).log2() * MICROS_PER_DAY;
    last_accessed.saturating_add(bonus as i64)
}

/// The score of a class at `now`.
pub(crate) fn score(score_class: usize, effective_access: i64, now: i64) -> f64 {
    let days = (now.saturating_sub(effective_access)) as f64 / MICROS_PER_DAY;
    BASE_SCORES.get(score_class).copied().unwrap_or_default() * (-DECAY_PER_DAY * days).exp().min(1.0)
}

/// The effective access below which the score is less than `threshold` at `now`; `None` if it never is.
pub(crate) fn stale_before(event_type: EventType, threshold: f64, now: i64) -> Option<i64> {
    let ratio = threshold / BASE_SCORES[event_type.score_class()];
    if ratio > 1.0 {
        return Some(i64::MAX);
    }
    if ratio <= 0.0 {
        return None;
    }
    let days = -ratio.ln() / DECAY_PER_DAY;
    Some(now.saturating_sub((days * MICROS_PER_DAY) as i64))
}

/// A score for output: six decimal places, about half a second of decay.
pub(crate) fn round_score(score: f64) -> f64 {
    (score * 1e6).round() / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_794_767_728_344_278;

    fn days(days: f64) -> i64 {
        (days * MICROS_PER_DAY) as i64
    }

    #[test]
    fn score_starts_at_base_and_decays_by_days() {
        assert_eq!(score(0, effective_access(NOW, 0), NOW), 1.0);
        assert_eq!(score(1, effective_access(NOW, 0), NOW), 0.8);
        assert_eq!(round_score(score(0, NOW - days(2.0), NOW)), 0.980199);
        assert!(score(0, NOW - days(1.0 / 24.0), NOW) > 0.99, "the score does not drop within an hour");
        assert!(score(2, NOW - days(3650.0), NOW) > 0.0);
    }

    #[test]
    fn access_delays_decay_and_is_capped_at_base() {
        let effective = effective_access(NOW, 3);
        assert_eq!(effective, NOW + days(2.0));
        assert_eq!(score(0, effective, NOW), 1.0);
        assert_eq!(score(0, effective, NOW + days(2.0)), 1.0);
        assert!(score(0, effective, NOW + days(3.0)) < 1.0);
    }

    #[test]
    fn stale_before_matches_score_threshold() {
        for event_type in EventType::ALL {
            let bound = stale_before(event_type, 0.2, NOW).unwrap();
            assert!(score(event_type.score_class(), bound - days(1.0), NOW) < 0.2);
            assert!(score(event_type.score_class(), bound + days(1.0), NOW) > 0.2);
        }
        assert_eq!(stale_before(EventType::Fact, 0.0, NOW), None);
        assert_eq!(stale_before(EventType::Episode, 0.7, NOW), Some(i64::MAX));
    }
}
