//! How many requests a tenant may send: a bucket that fills at a steady rate and empties with each request.
//!
//! Each process counts for itself, so that no request waits for a database or another node; with several nodes behind a
//! balancer the sum is what they allow together. One tenant's flood takes from its own bucket only.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use quad_core::TenantId;

use crate::limits;

/// The rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests a second, in the long run; at least one.
    pub per_second: u32,
    /// Requests at once, after a quiet time.
    pub burst: u32,
}

impl Default for RateLimit {
    fn default() -> RateLimit {
        RateLimit { per_second: limits::RATE_PER_SECOND, burst: limits::RATE_BURST }
    }
}

/// The buckets of all tenants.
#[derive(Debug)]
pub struct RateLimiter {
    limit: RateLimit,
    buckets: Mutex<HashMap<TenantId, Bucket>>,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    tokens: f64,
    updated_at: Instant,
}

impl RateLimiter {
    /// Full buckets.
    pub fn new(limit: RateLimit) -> RateLimiter {
        RateLimiter { limit, buckets: Mutex::default() }
    }

    /// The rate.
    pub fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Lets one request in, or says how long to wait.
    pub fn try_acquire(&self, tenant: &TenantId, now: Instant) -> Result<(), Duration> {
        let (rate, burst) = (f64::from(self.limit.per_second.max(1)), f64::from(self.limit.burst.max(1)));
        // No operation here leaves a bucket half changed.
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        let refilled_tokens = |bucket: &Bucket| {
            (bucket.tokens + now.saturating_duration_since(bucket.updated_at).as_secs_f64() * rate).min(burst)
        };
        if buckets.len() >= limits::RATE_TENANTS_MAX && !buckets.contains_key(tenant) {
            // A full bucket is as good as none.
            buckets.retain(|_, bucket| refilled_tokens(bucket) < burst);
            if buckets.len() >= limits::RATE_TENANTS_MAX {
                buckets.clear();
            }
        }
        let bucket = buckets.entry(tenant.clone()).or_insert(Bucket { tokens: burst, updated_at: now });
        *bucket = Bucket { tokens: refilled_tokens(bucket), updated_at: now.max(bucket.updated_at) };
        if bucket.tokens >= 1.0 {
            bucket.tokens -= 1.0;
            return Ok(());
        }
        Err(Duration::from_secs_f64((1.0 - bucket.tokens) / rate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tenant(name: &str) -> TenantId {
        TenantId::new(name)
    }

    #[test]
    fn allows_burst_then_rate_per_tenant() {
        let limiter = RateLimiter::new(RateLimit { per_second: 2, burst: 3 });
        let start = Instant::now();
        let after = |ms: u64| start + Duration::from_millis(ms);
        for _ in 0..3 {
            assert_eq!(limiter.try_acquire(&tenant("a"), start), Ok(()));
        }
        assert_eq!(limiter.try_acquire(&tenant("a"), start), Err(Duration::from_millis(500)));
        assert_eq!(limiter.try_acquire(&tenant("b"), start), Ok(()));
        assert_eq!(limiter.try_acquire(&tenant("a"), after(250)), Err(Duration::from_millis(250)));
        assert_eq!(limiter.try_acquire(&tenant("a"), after(500)), Ok(()));
        assert!(limiter.try_acquire(&tenant("a"), after(500)).is_err());
        // A long quiet time fills the bucket and no more.
        for _ in 0..3 {
            assert_eq!(limiter.try_acquire(&tenant("a"), after(3_600_000)), Ok(()));
        }
        assert!(limiter.try_acquire(&tenant("a"), after(3_600_000)).is_err());
        // A clock that two threads read in another order gives nothing back.
        assert!(limiter.try_acquire(&tenant("a"), start).is_err());
    }

    #[test]
    fn tenant_buckets_are_bounded() {
        let limiter = RateLimiter::new(RateLimit { per_second: 1, burst: 1 });
        let now = Instant::now();
        for index in 0..=limits::RATE_TENANTS_MAX {
            assert_eq!(limiter.try_acquire(&tenant(&index.to_string()), now), Ok(()));
        }
        assert!(limiter.buckets.lock().unwrap().len() <= limits::RATE_TENANTS_MAX);
    }
}
