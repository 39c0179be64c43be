//! Metrics of the process and of the audit trail: memory, and how far the checkpoints are behind.

use std::fmt;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use quad_audit::CheckpointSigner;

use crate::app::App;

/// The registry of a serving process, with the metrics of the database, the process and the audit trail.
pub fn registry(app: &App) -> Registry {
    let mut registry = Registry::default();
    app.store.register_metrics(&mut registry);
    registry.register_collector(Box::new(ProcessCollector { signer: app.checkpoint_signer.clone() }));
    registry
}

struct ProcessCollector {
    signer: CheckpointSigner,
}

impl fmt::Debug for ProcessCollector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProcessCollector")
    }
}

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        let lag = self.signer.lag();
        let mut gauges = vec![
            (
                "quad_checkpoint_lag_events",
                "Audit events of this process that no checkpoint covers yet, of the tenant with the most.",
                lag.events as f64,
            ),
            (
                "quad_checkpoint_lag_seconds",
                "Age of the oldest audit event of this process that no checkpoint covers yet.",
                lag.age.as_secs_f64(),
            ),
            ("quad_checkpoint_lag_tenants", "Tenants with such audit events.", lag.tenants as f64),
        ];
        if let Some(bytes) = resident_bytes() {
            gauges.push(("process_resident_memory_bytes", "Resident memory of the process.", bytes as f64));
        }
        for (name, help, value) in gauges {
            let encoder = encoder.encode_descriptor(name, help, None, MetricType::Gauge)?;
            ConstGauge::new(value).encode(encoder)?;
        }
        Ok(())
    }
}

/// The resident memory, where the system tells it as Linux does.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
