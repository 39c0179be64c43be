//! What this process remembers of the tokens that it has checked.
//!
//! Bounded in number and in age, keyed by the token's SHA-256 so that no token lies in it, and allowed to be wrong:
//! a remembered principal carries the basis of its proof, which the store compares with the changes at every audit
//! commit.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quad_core::{Principal, Timestamp};
use ring::digest;

use crate::limits;

/// A token's SHA-256.
pub type Fingerprint = [u8; digest::SHA256_OUTPUT_LEN];

/// The fingerprint of a token.
pub fn fingerprint(token: &str) -> Fingerprint {
    let mut bytes = Fingerprint::default();
    bytes.copy_from_slice(digest::digest(&digest::SHA256, token.as_bytes()).as_ref());
    bytes
}

/// Accepted tokens. Refusals are not remembered: they would let a flood of bad tokens push out the good ones.
#[derive(Debug, Default)]
pub struct Verdicts(Mutex<HashMap<Fingerprint, Verdict>>);

#[derive(Debug)]
struct Verdict {
    principal: Principal,
    forget_at: Timestamp,
    /// Which state of an external issuer's keys it rests on.
    mark: u64,
}

impl Verdicts {
    /// Who holds that token, if it is remembered from under the same mark: once an issuer's keys have changed, everything is
    /// found out again.
    pub fn get(&self, token: &Fingerprint, now: Timestamp, mark: u64) -> Option<Principal> {
        let mut verdicts = self.lock();
        let verdict = verdicts.get(token)?;
        if verdict.forget_at <= now || verdict.mark != mark {
            verdicts.remove(token);
            return None;
        }
        Some(verdict.principal.clone())
    }

    /// Remembers who holds a token, for a while and not beyond `expires_at`.
    pub fn put(
        &self,
        token: Fingerprint,
        principal: Principal,
        now: Timestamp,
        expires_at: Timestamp,
        mark: u64,
    ) {
        let forget_at = expires_at.min(now.plus_ms(limits::VERDICT_AGE_MS));
        let mut verdicts = self.lock();
        if verdicts.len() >= limits::VERDICTS && !verdicts.contains_key(&token) {
            verdicts.retain(|_, verdict| verdict.forget_at > now);
            // Nothing has run out: the one that would run out first has been here longest.
            if verdicts.len() >= limits::VERDICTS
                && let Some(oldest) =
                    verdicts.iter().min_by_key(|(_, verdict)| verdict.forget_at).map(|(token, _)| *token)
            {
                verdicts.remove(&oldest);
            }
        }
        verdicts.insert(token, Verdict { principal, forget_at, mark });
    }

    /// Forgets a token.
    pub fn forget(&self, token: &Fingerprint) {
        self.lock().remove(token);
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, Verdict>> {
        // No operation here leaves the map half changed, so a panic elsewhere does not spoil it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;

    use super::*;

    const NOW: Timestamp = Timestamp(1_000_000);
    const LATER: Timestamp = Timestamp(i64::MAX);

    fn holder(tenant: &str) -> Principal {
        Principal::local_agent(TenantId::new(tenant), [])
    }

    fn tenant_of(verdicts: &Verdicts, token: &str, now: Timestamp) -> Option<String> {
        verdicts.get(&fingerprint(token), now, 0).map(|principal| principal.tenant.to_string())
    }

    #[test]
    fn remembers_until_the_token_ends_or_the_verdict_ages() {
        let verdicts = Verdicts::default();
        verdicts.put(fingerprint("a"), holder("t1"), NOW, NOW.plus_ms(10), 0);
        verdicts.put(fingerprint("b"), holder("t2"), NOW, LATER, 0);
        assert_eq!(tenant_of(&verdicts, "a", NOW.plus_ms(9)).as_deref(), Some("t1"));
        assert_eq!(tenant_of(&verdicts, "a", NOW.plus_ms(10)), None);
        assert_eq!(tenant_of(&verdicts, "b", NOW.plus_ms(limits::VERDICT_AGE_MS - 1)).as_deref(), Some("t2"));
        assert_eq!(tenant_of(&verdicts, "b", NOW.plus_ms(limits::VERDICT_AGE_MS)), None);
        assert_eq!(tenant_of(&verdicts, "c", NOW), None);
    }

    #[test]
    fn a_verdict_ends_with_the_keys_that_it_rests_on() {
        let verdicts = Verdicts::default();
        verdicts.put(fingerprint("a"), holder("t1"), NOW, LATER, 7);
        assert!(verdicts.get(&fingerprint("a"), NOW, 7).is_some());
        assert!(verdicts.get(&fingerprint("a"), NOW, 8).is_none());
    }

    #[test]
    fn forgets_one_and_only_one() {
        let verdicts = Verdicts::default();
        verdicts.put(fingerprint("a"), holder("t1"), NOW, LATER, 0);
        verdicts.put(fingerprint("b"), holder("t2"), NOW, LATER, 0);
        verdicts.forget(&fingerprint("a"));
        assert_eq!(tenant_of(&verdicts, "a", NOW), None);
        assert_eq!(tenant_of(&verdicts, "b", NOW).as_deref(), Some("t2"));
    }

    #[test]
    fn never_holds_more_than_its_bound_and_drops_the_oldest() {
        let verdicts = Verdicts::default();
        for index in 0..=limits::VERDICTS as i64 {
            verdicts.put(fingerprint(&index.to_string()), holder("t"), NOW.plus_ms(index), LATER, 0);
        }
        assert_eq!(verdicts.lock().len(), limits::VERDICTS);
        let now = NOW.plus_ms(limits::VERDICTS as i64);
        assert_eq!(tenant_of(&verdicts, "0", now), None);
        assert!(tenant_of(&verdicts, "1", now).is_some());
        assert!(tenant_of(&verdicts, &limits::VERDICTS.to_string(), now).is_some());
    }
}
