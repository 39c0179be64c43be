//! Metrics of the database: commits, the pool, the queue, the write-ahead log.

use std::fmt;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::Store;

/// Upper bounds of commit times in seconds: from a commit that does not wait for the disk to one that hangs.
const COMMIT_SECONDS: [f64; 11] = [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2.0, 10.0];

/// Upper bounds of batch sizes, up to [`BATCH_JOBS_MAX`](crate::limits::BATCH_JOBS_MAX).
const COMMIT_JOBS: [f64; 9] = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0, 256.0];

/// What is recorded at each commit. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct CommitMetrics {
    seconds: Histogram,
    jobs: Histogram,
}

impl Default for CommitMetrics {
    fn default() -> CommitMetrics {
        CommitMetrics { seconds: Histogram::new(COMMIT_SECONDS), jobs: Histogram::new(COMMIT_JOBS) }
    }
}

impl CommitMetrics {
    /// Records one commit of so many jobs, successful or not.
    pub(crate) fn record(&self, jobs: usize, took: Duration) {
        self.seconds.observe(took.as_secs_f64());
        self.jobs.observe(jobs as f64);
    }

    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register_with_unit(
            "quad_commit_duration",
            "Time of one commit of the database with all its jobs",
            Unit::Seconds,
            self.seconds.clone(),
        );
        registry.register(
            "quad_commit_jobs",
            "Jobs in one commit: writes and audit events",
            self.jobs.clone(),
        );
    }
}

/// The metrics that are read when they are asked for.
pub(crate) struct StoreCollector(pub(crate) Store);

impl fmt::Debug for StoreCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreCollector")
    }
}

impl Collector for StoreCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let pool = self.0.pool_usage();
        let mut gauges: Vec<(&str, &str, u64)> = vec![
            ("quad_pool_connections_in_use", "Database connections that run a query.", pool.in_use as u64),
            ("quad_pool_connections_max", "Database connections that may run a query.", pool.max as u64),
            ("quad_commit_queue_jobs", "Jobs that wait for the commit thread.", self.0.queued_jobs() as u64),
            (
                "quad_audit_deferred_events",
                "Audit events of answered calls that are not written yet.",
                self.0.deferred_events() as u64,
            ),
        ];
        if let Some(bytes) = self.0.wal_bytes() {
            gauges.push(("quad_wal_bytes", "Bytes of the write-ahead log of SQLite.", bytes));
        }
        for (name, help, value) in gauges {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(encoder)?;
        }
        Ok(())
    }
}
