//! The credential cache of one connection: its last credential and that credential's caller.
//!
//! Nearly every connection sends the same credential with all of its requests. To authenticate it again takes a SHA-256
//! of the token; to compare it takes much less.
//!
//! The cache is an optimisation, security does not depend on it. A caller carries the read set of its credential, which
//! every audit commit validates. An entry is used for [`limits::CREDENTIAL_CACHE_AGE`] at most.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

use quad_core::Principal;
use quad_core::lock::MutexExt as _;
use subtle::ConstantTimeEq as _;

use crate::limits;

/// The last credential of a connection.
#[derive(Default)]
pub(crate) struct ConnectionCredentialCache(Mutex<Option<CachedCredential>>);

struct CachedCredential {
    authorization: Box<[u8]>,
    caller: Arc<Principal>,
    cached_at: Instant,
}

impl ConnectionCredentialCache {
    /// The caller of this header, if it is the cached one and not too old.
    pub(crate) fn get(&self, authorization: &[u8], now: Instant) -> Option<Arc<Principal>> {
        let slot = self.lock();
        let cached = slot
            .as_ref()
            .filter(|cached| now.duration_since(cached.cached_at) < limits::CREDENTIAL_CACHE_AGE)?;
        constant_time_eq(&cached.authorization, authorization).then(|| cached.caller.clone())
    }

    /// Stores the caller of this header in place of the cached one.
    pub(crate) fn put(&self, authorization: &[u8], caller: &Arc<Principal>, now: Instant) {
        *self.lock() = Some(CachedCredential {
            authorization: authorization.into(),
            caller: caller.clone(),
            cached_at: now,
        });
    }

    /// Empties the cache.
    pub(crate) fn clear(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<CachedCredential>> {
        self.0.lock_unpoisoned()
    }
}

/// Whether two credentials are equal, in constant time: a proxy may carry several callers on one connection, and a
/// comparison that stopped early would tell one of them how much of another's token is right.
///
/// Compares words of 8 bytes: byte by byte, `subtle` takes 0.6 µs for a token, which is 3 % of a cached read.
fn constant_time_eq(cached: &[u8], sent: &[u8]) -> bool {
    if cached.len() != sent.len() {
        return false;
    }
    let ((cached_words, cached_rest), (sent_words, sent_rest)) = (cached.as_chunks(), sent.as_chunks());
    let words = cached_words.iter().zip(sent_words);
    let equal = words.fold(cached_rest.ct_eq(sent_rest), |equal, (cached, sent)| {
        equal & u64::from_ne_bytes(*cached).ct_eq(&u64::from_ne_bytes(*sent))
    });
    equal.into()
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;

    use super::*;

    #[test]
    fn constant_time_eq_compares_every_byte() {
        let text = b"Bearer 0123456789abcdefghi";
        for length in 0..text.len() {
            let sent = &text[..length];
            assert!(constant_time_eq(sent, sent));
            assert!(!constant_time_eq(sent, &text[..length + 1]));
            for index in 0..length {
                let mut other = sent.to_vec();
                other[index] ^= 0x80;
                assert!(!constant_time_eq(sent, &other), "{length} {index}");
            }
        }
    }

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
