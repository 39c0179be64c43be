//! Rate limits per tenant, with token buckets: a bucket is refilled at a constant rate, and each request takes one
//! token.
//!
//! Each process counts on its own, so no request waits for the database or another node. With several nodes behind a
//! load balancer the limits add up. Requests of one tenant never use the bucket of another.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use quad_core::TenantId;
use quad_core::lock::MutexExt as _;

use crate::limits;

/// A rate limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Sustained requests per second; at least one.
    pub per_second: u32,
    /// Maximum requests at once after an idle time.
    pub burst: u32,
}

impl Default for RateLimit {
    fn default() -> RateLimit {
        RateLimit { per_second: limits::RATE_PER_SECOND, burst: limits::RATE_BURST }
    }
}

/// The token buckets of all tenants.
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
    /// Creates a limiter; all buckets are full.
    pub fn new(limit: RateLimit) -> RateLimiter {
        RateLimiter { limit, buckets: Mutex::default() }
    }

    /// The configured limit.
    pub fn limit(&self) -> RateLimit {
        self.limit
    }

    /// Takes a token for one request, or returns how long to wait.
    pub fn try_acquire(&self, tenant: &TenantId, now: Instant) -> Result<(), Duration> {
        let (rate, burst) = (f64::from(self.limit.per_second.max(1)), f64::from(self.limit.burst.max(1)));
        // No operation below leaves a bucket inconsistent, so a poisoned lock is safe to use.
        let mut buckets = self.buckets.lock_unpoisoned();
        let refilled_tokens = |bucket: &Bucket| {
            (bucket.tokens + now.saturating_duration_since(bucket.updated_at).as_secs_f64() * rate).min(burst)
        };
        if buckets.len() >= limits::RATE_TENANTS_MAX && !buckets.contains_key(tenant) {
            // A full bucket holds no information.
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
        // A long idle time fills the bucket to the burst and no further.
        for _ in 0..3 {
            assert_eq!(limiter.try_acquire(&tenant("a"), after(3_600_000)), Ok(()));
        }
        assert!(limiter.try_acquire(&tenant("a"), after(3_600_000)).is_err());
        // Time that goes backwards, as between two threads, refills nothing.
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
