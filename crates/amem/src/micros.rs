//! Microseconds since the Unix epoch, the only unit of time in this scheme.

use std::time::{SystemTime, UNIX_EPOCH};

/// The microseconds of a day.
pub(crate) const MICROS_PER_DAY: f64 = 86_400_000_000.0;

/// The current time.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}
