//! Whom a connection has met: the caller whose credential its last request showed.
//!
//! Nearly every connection sends one credential with all of its requests. To find that one out again takes a hash over all of
//! it; to see that it is still the same takes one look. Nothing rests on this memory: a caller carries the basis of its proof,
//! which every audit commit compares with the changes, and after a moment the door is asked again anyway.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use quad_core::Principal;

use crate::limits;

/// What a connection remembers.
#[derive(Default)]
pub(crate) struct ConnectionCredentialCache(Mutex<Option<CachedCredential>>);

struct CachedCredential {
    authorization: Box<[u8]>,
    caller: Arc<Principal>,
    cached_at: Instant,
}

impl ConnectionCredentialCache {
    /// Who sends this header, if the last request had the same, a moment ago.
    pub(crate) fn get(&self, authorization: &[u8], now: Instant) -> Option<Arc<Principal>> {
        let slot = self.lock();
        let cached = slot
            .as_ref()
            .filter(|cached| now.duration_since(cached.cached_at) < limits::CREDENTIAL_CACHE_AGE)?;
        constant_time_eq(&cached.authorization, authorization).then(|| cached.caller.clone())
    }

    /// Remembers who sent this header, in place of whoever was remembered before.
    pub(crate) fn put(&self, authorization: &[u8], caller: &Arc<Principal>, now: Instant) {
        *self.lock() = Some(CachedCredential {
            authorization: authorization.into(),
            caller: caller.clone(),
            cached_at: now,
        });
    }

    /// Forgets.
    pub(crate) fn clear(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CachedCredential>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at every byte whatever it finds, so that the time it takes tells nothing of a credential: a proxy may have many callers
/// on one connection.
fn constant_time_eq(cached: &[u8], sent: &[u8]) -> bool {
    cached.len() == sent.len()
        && cached.iter().zip(sent).fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;

    use super::*;

    #[test]
    fn caches_only_the_last_credential_until_it_expires() {
        let cache = ConnectionCredentialCache::default();
        let now = Instant::now();
        let caller = |tenant: &str| Arc::new(Principal::local_agent(TenantId::new(tenant), []));
        let tenant_of = |sent: &str, now: Instant| {
            cache.get(sent.as_bytes(), now).map(|caller| caller.tenant.as_str().to_owned())
        };
        assert_eq!(tenant_of("Bearer a", now), None);
        cache.put(b"Bearer a", &caller("t1"), now);
        assert_eq!(tenant_of("Bearer a", now).as_deref(), Some("t1"));
        for other in ["Bearer b", "Bearer aa", "bearer a", "Bearer ", ""] {
            assert_eq!(tenant_of(other, now), None, "{other}");
        }
        assert_eq!(tenant_of("Bearer a", now + limits::CREDENTIAL_CACHE_AGE), None);
        cache.put(b"Bearer b", &caller("t2"), now);
        assert_eq!((tenant_of("Bearer a", now), tenant_of("Bearer b", now).as_deref()), (None, Some("t2")));
        cache.clear();
        assert_eq!(tenant_of("Bearer b", now), None);
    }
}
