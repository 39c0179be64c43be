//! Metrics of the HTTP server, in the text format of OpenMetrics, which Prometheus reads. They name methods, schemes and
//! outcomes, never callers or addresses.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::{ConstGauge, Gauge};
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use quad_mcp::http_post::Outcome;
use quad_mcp::{Method, ServerState};

/// The media type of the text.
pub(crate) const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Upper bounds of request times in seconds: a cached read takes less than a millisecond, a durable write some.
const REQUEST_SECONDS: [f64; 12] =
    [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 5.0, 30.0];

/// The label of a request whose method or scheme has no name.
const OTHER: &str = "other";

/// The label of a request that belongs to no single scheme.
const NO_SCHEME: &str = "none";

type Labels = [(&'static str, &'static str); 2];

/// Counts requests by method and outcome. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestCounter(Family<Labels, Counter>);

impl RequestCounter {
    /// Counts a request that has been answered, or whose stream has ended.
    pub(crate) fn count(&self, method: Option<Method>, outcome: Outcome) {
        let outcome = match outcome {
            Outcome::Ok => "ok",
            Outcome::Refused => "refused",
            Outcome::Failed => "failed",
        };
        self.0.get_or_create(&[("method", method_label(method)), ("outcome", outcome)]).inc();
    }
}

/// Counters since the start of the process. The registry has clones of them.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    pub(crate) requests: RequestCounter,
    durations: Family<Labels, Histogram, fn() -> Histogram>,
    slow_requests: Counter,
    unauthorized: Counter,
    host_rejected: Counter,
    rate_limited: Counter,
    pub(crate) connections: ConnectionMetrics,
}

/// What the accept loop counts. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct ConnectionMetrics {
    /// Open connections.
    pub(crate) open: Gauge,
    /// Idle connections that were closed to make room for new ones.
    pub(crate) evicted: Counter,
    /// Connections for which there was no room.
    pub(crate) refused: Counter,
}

impl Metrics {
    /// Registers the metrics of this server beside those that `registry` has.
    pub(crate) fn new(mut registry: Registry, state: Arc<ServerState>, version: &'static str) -> Metrics {
        let requests = RequestCounter::default();
        let durations: Family<Labels, Histogram, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(REQUEST_SECONDS));
        registry.register("quad_requests", "Answered requests by method and outcome", requests.0.clone());
        registry.register_with_unit(
            "quad_request_duration",
            "Time of a request until its reply begins, by method and scheme",
            Unit::Seconds,
            durations.clone(),
        );
        let mut counter = |name: &str, help: &str| {
            let counter = Counter::default();
            registry.register(name, help, counter.clone());
            counter
        };
        let slow_requests = counter("quad_slow_requests", "Requests that took longer than a second");
        let unauthorized = counter("quad_unauthorized", "Requests with a missing or refused token");
        let host_rejected = counter("quad_turned_away", "Requests with a foreign Host or Origin");
        let rate_limited = counter("quad_rate_limited", "Requests beyond the rate of their tenant");
        let connections = ConnectionMetrics::default();
        registry.register("quad_connections_open", "Open connections", connections.open.clone());
        registry.register(
            "quad_connections_evicted",
            "Idle connections without an accepted token that were closed to make room",
            connections.evicted.clone(),
        );
        registry.register(
            "quad_connections_refused",
            "Connections for which there was no room",
            connections.refused.clone(),
        );
        registry.register("quad_build", "The version of the server", Info::new([("version", version)]));
        registry.register_collector(Box::new(StateCollector(state)));
        Metrics {
            registry,
            requests,
            durations,
            slow_requests,
            unauthorized,
            host_rejected,
            rate_limited,
            connections,
        }
    }

    /// Records the time until the reply of a request began.
    pub(crate) fn record_duration(
        &self,
        method: Option<Method>,
        scheme: Option<&'static str>,
        took: Duration,
    ) {
        let labels = [("method", method_label(method)), ("scheme", scheme.unwrap_or(NO_SCHEME))];
        self.durations.get_or_create(&labels).observe(took.as_secs_f64());
    }

    /// Counts a slow request.
    pub(crate) fn count_slow_request(&self) {
        self.slow_requests.inc();
    }

    /// Counts a missing or rejected credential.
    pub(crate) fn count_unauthorized(&self) {
        self.unauthorized.inc();
    }

    /// Counts a request for another host or from a foreign origin.
    pub(crate) fn count_host_rejected(&self) {
        self.host_rejected.inc();
    }

    /// Counts a request above its tenant's rate limit.
    pub(crate) fn count_rate_limited(&self) {
        self.rate_limited.inc();
    }

    /// The metrics as text.
    pub(crate) fn render(&self) -> Result<String, fmt::Error> {
        let mut metrics = String::new();
        text::encode(&mut metrics, &self.registry)?;
        Ok(metrics)
    }
}

fn method_label(method: Option<Method>) -> &'static str {
    method.map_or(OTHER, Method::as_str)
}

/// The metrics that the cache and the streams keep themselves.
struct StateCollector(Arc<ServerState>);

impl fmt::Debug for StateCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StateCollector")
    }
}

impl Collector for StateCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let cache = self.0.resolver().cache_stats();
        for (name, help, value) in [
            ("quad_cache_hits", "Reads whose contents were in the cache.", cache.hits),
            ("quad_cache_misses", "Reads whose contents were computed.", cache.misses),
        ] {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Counter)?;
            ConstCounter::new(value).encode(encoder)?;
        }
        for (name, help, value) in [
            ("quad_cache_entries", "Entries in the cache.", cache.entries as u64),
            ("quad_cache_bytes", "Bytes of the entries in the cache.", cache.bytes as u64),
            ("quad_streams_open", "Open notification streams.", self.0.open_streams() as u64),
        ] {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(encoder)?;
        }
        Ok(())
    }
}
