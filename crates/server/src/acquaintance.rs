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
pub(crate) struct Acquaintance(Mutex<Option<Met>>);

struct Met {
    authorization: Box<[u8]>,
    caller: Arc<Principal>,
    at: Instant,
}

impl Acquaintance {
    /// Who sends this header, if the last request had the same, a moment ago.
    pub(crate) fn recall(&self, authorization: &[u8], now: Instant) -> Option<Arc<Principal>> {
        let met = self.lock();
        let met = met.as_ref().filter(|met| now.duration_since(met.at) < limits::ACQUAINTANCE_AGE)?;
        is_same(&met.authorization, authorization).then(|| met.caller.clone())
    }

    /// Remembers who sent this header, in place of whoever was remembered before.
    pub(crate) fn meet(&self, authorization: &[u8], caller: &Arc<Principal>, now: Instant) {
        *self.lock() = Some(Met { authorization: authorization.into(), caller: caller.clone(), at: now });
    }

    /// Forgets.
    pub(crate) fn part(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Met>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Looks at every byte whatever it finds, so that the time it takes tells nothing of a credential: a proxy may have many callers
/// on one connection.
fn is_same(known: &[u8], sent: &[u8]) -> bool {
    known.len() == sent.len() && known.iter().zip(sent).fold(0, |differs, (a, b)| differs | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;

    use super::*;

    #[test]
    fn only_the_last_credential_is_known_and_only_for_a_moment() {
        let acquaintance = Acquaintance::default();
        let now = Instant::now();
        let caller = |tenant: &str| Arc::new(Principal::local_agent(TenantId::new(tenant), []));
        let tenant_of = |sent: &str, now: Instant| {
            acquaintance.recall(sent.as_bytes(), now).map(|caller| caller.tenant.as_str().to_owned())
        };
        assert_eq!(tenant_of("Bearer a", now), None);
        acquaintance.meet(b"Bearer a", &caller("t1"), now);
        assert_eq!(tenant_of("Bearer a", now).as_deref(), Some("t1"));
        for other in ["Bearer b", "Bearer aa", "bearer a", "Bearer ", ""] {
            assert_eq!(tenant_of(other, now), None, "{other}");
        }
        assert_eq!(tenant_of("Bearer a", now + limits::ACQUAINTANCE_AGE), None);
        acquaintance.meet(b"Bearer b", &caller("t2"), now);
        assert_eq!((tenant_of("Bearer a", now), tenant_of("Bearer b", now).as_deref()), (None, Some("t2")));
        acquaintance.part();
        assert_eq!(tenant_of("Bearer b", now), None);
    }
}
