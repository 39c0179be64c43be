//! Metrics of the HTTP server in the Prometheus text format. They name methods and outcomes, never callers or URIs.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use quad_mcp::http_post::Outcome;
use quad_mcp::{Method, ServerState};

const OUTCOMES: [Outcome; 3] = [Outcome::Ok, Outcome::Refused, Outcome::Failed];

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    /// One row per method and a last row for everything else; in each row one counter per outcome.
    requests: [[AtomicU64; OUTCOMES.len()]; Method::ALL.len() + 1],
    microseconds: AtomicU64,
    unauthorized: AtomicU64,
    host_rejected: AtomicU64,
    rate_limited: AtomicU64,
}

impl Metrics {
    /// Counts a request that has been answered or whose stream has begun.
    pub(crate) fn count_request(&self, method: Option<Method>, outcome: Outcome, took: Duration) {
        let row = method.and_then(|method| Method::ALL.iter().position(|candidate| *candidate == method));
        let column = match outcome {
            Outcome::Ok => 0,
            Outcome::Refused => 1,
            Outcome::Failed => 2,
        };
        self.requests[row.unwrap_or(Method::ALL.len())][column].fetch_add(1, Relaxed);
        self.microseconds.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Counts a missing or rejected credential.
    pub(crate) fn count_unauthorized(&self) {
        self.unauthorized.fetch_add(1, Relaxed);
    }

    /// Counts a request for another host or from a foreign origin.
    pub(crate) fn count_host_rejected(&self) {
        self.host_rejected.fetch_add(1, Relaxed);
    }

    /// Counts a request above its tenant's rate limit.
    pub(crate) fn count_rate_limited(&self) {
        self.rate_limited.fetch_add(1, Relaxed);
    }

    /// The metrics as text.
    pub(crate) fn render(&self, state: &ServerState) -> String {
        let mut text = String::from("# TYPE quad_requests_total counter\n");
        let mut total = 0;
        for (row, counters) in self.requests.iter().enumerate() {
            let method = Method::ALL.get(row).map_or("other", |method| method.as_str());
            for (outcome, counter) in OUTCOMES.iter().zip(counters) {
                let count = counter.load(Relaxed);
                total += count;
                let outcome = match outcome {
                    Outcome::Ok => "ok",
                    Outcome::Refused => "refused",
                    Outcome::Failed => "failed",
                };
                if count > 0 {
                    let _ = writeln!(
                        text,
                        "quad_requests_total{{method=\"{method}\",outcome=\"{outcome}\"}} {count}"
                    );
                }
            }
        }
        let seconds = self.microseconds.load(Relaxed) as f64 / 1e6;
        let cache = state.resolver().cache_stats();
        let _ = write!(
            text,
            "# TYPE quad_request_duration_seconds summary\n\
             quad_request_duration_seconds_sum {seconds}\n\
             quad_request_duration_seconds_count {total}\n\
             # TYPE quad_unauthorized_total counter\n\
             quad_unauthorized_total {}\n\
             # TYPE quad_turned_away_total counter\n\
             quad_turned_away_total {}\n\
             # TYPE quad_rate_limited_total counter\n\
             quad_rate_limited_total {}\n\
             # TYPE quad_cache_hits_total counter\n\
             quad_cache_hits_total {}\n\
             # TYPE quad_cache_misses_total counter\n\
             quad_cache_misses_total {}\n\
             # TYPE quad_cache_entries gauge\n\
             quad_cache_entries {}\n\
             # TYPE quad_cache_bytes gauge\n\
             quad_cache_bytes {}\n\
             # TYPE quad_streams_open gauge\n\
             quad_streams_open {}\n",
            self.unauthorized.load(Relaxed),
            self.host_rejected.load(Relaxed),
            self.rate_limited.load(Relaxed),
            cache.hits,
            cache.misses,
            cache.entries,
            cache.bytes,
            state.open_streams(),
        );
        text
    }
}
