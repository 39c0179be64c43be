//! Limits the open streams of the process and of each principal.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Kind, Principal, Result};

use crate::limits;

/// Tenant and subject.
type Owner = (Arc<str>, Arc<str>);

/// Counts the open streams, in total and for each principal.
#[derive(Clone, Debug, Default)]
pub(crate) struct StreamLimiter(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    total: usize,
    per_principal: HashMap<Owner, usize>,
}

/// The permit of one open stream; released when dropped.
#[derive(Debug)]
pub(crate) struct StreamPermit {
    limiter: StreamLimiter,
    owner: Owner,
}

impl StreamLimiter {
    /// A permit for one more stream of `caller`. An error if a limit is reached.
    pub(crate) fn acquire(&self, caller: &Principal) -> Result<StreamPermit> {
        let owner: Owner = (caller.tenant.as_str().into(), caller.subject.clone());
        let mut counts = self.lock_counts();
        if counts.total >= limits::STREAMS {
            return Err(limit_error("The server has too many open streams", limits::STREAMS));
        }
        let owner_count = counts.per_principal.entry(owner.clone()).or_insert(0);
        if *owner_count >= limits::STREAMS_PER_PRINCIPAL {
            return Err(limit_error("The caller has too many open streams", limits::STREAMS_PER_PRINCIPAL));
        }
        *owner_count += 1;
        counts.total += 1;
        Ok(StreamPermit { limiter: self.clone(), owner })
    }

    /// The number of open streams.
    pub(crate) fn open_count(&self) -> usize {
        self.lock_counts().total
    }

    fn lock_counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock_unpoisoned()
    }
}

impl Drop for StreamPermit {
    fn drop(&mut self) {
        let mut counts = self.limiter.lock_counts();
        counts.total -= 1;
        if let Some(owner_count) = counts.per_principal.get_mut(&self.owner) {
            *owner_count -= 1;
            if *owner_count == 0 {
                counts.per_principal.remove(&self.owner);
            }
        }
    }
}

fn limit_error(message: &str, limit: usize) -> Error {
    Error::new(Kind::Limit, "TOO_MANY_STREAMS", message)
        .hint("Close a stream, or subscribe to more URIs in one stream")
        .with_detail("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::TenantId;

    #[test]
    fn limits_streams_per_principal_until_released() {
        let limiter = StreamLimiter::default();
        let caller = Principal::local_agent(TenantId::new("t"), []);
        let mut permits: Vec<StreamPermit> =
            (0..limits::STREAMS_PER_PRINCIPAL).map(|_| limiter.acquire(&caller).unwrap()).collect();
        assert_eq!(limiter.acquire(&caller).unwrap_err().code(), "TOO_MANY_STREAMS");
        let other = Principal::local_agent(TenantId::new("u"), []);
        assert!(limiter.acquire(&other).is_ok());
        permits.pop();
        assert!(limiter.acquire(&caller).is_ok());
        drop(permits);
        assert_eq!(limiter.open_count(), 0);
    }
}
