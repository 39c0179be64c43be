//! Changing the keys: a new one signs from now on, the old ones verify for as long as somebody needs them.
//!
//! A token is refused once it has expired, so a key that has signed nothing else is of use to nobody; the next rotation
//! takes it out. Before that, dropping a key withdraws every token that it signed, with effect from the next call, in every
//! process: each proof rests on the tag of its key, and a drop touches that tag in every tenant that has such tokens.

use std::collections::BTreeMap;

use quad_core::{EventDraft, Result, Tag, TenantId, Timestamp};
use quad_store::{Sql as _, Writer, params, tenant};
use serde_json::{Value, json};

use crate::gate::Gate;
use crate::keyring::Keyring;
use crate::limits;

/// What may be known about a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// Its name.
    pub kid: String,
    /// Whether it signs.
    pub current: bool,
    /// When it was made; the epoch for one from before that was noted.
    pub created_at: Timestamp,
    /// When another took its place.
    pub retired_at: Option<Timestamp>,
    /// Until when a token that it signed may still be good; none is if nothing is said.
    pub needed_until: Option<Timestamp>,
}

impl KeyRecord {
    /// The record as JSON, for lists.
    pub fn entry(&self) -> Value {
        json!({
            "kid": self.kid,
            "current": self.current,
            "created_at": self.created_at,
            "retired_at": self.retired_at,
            "needed_until": self.needed_until,
        })
    }
}

/// The tag that a drop of that key touches.
pub(crate) fn tag(kid: &str) -> Tag {
    Tag::new(format!("gate:key:{kid}"))
}

impl Gate {
    /// The keys, the current one first.
    pub async fn keys(&self) -> Result<Vec<KeyRecord>> {
        let ring = self.keys.now().await?;
        let needed = self.needed_until(&ring).await?;
        let record = |held: &crate::keyring::HeldKey| KeyRecord {
            kid: held.key.kid().to_owned(),
            current: held.key.kid() == ring.current().kid(),
            created_at: held.created_at,
            retired_at: held.retired_at,
            needed_until: needed.get(held.key.kid()).copied(),
        };
        Ok(ring.iter().map(record).collect())
    }

    /// Makes a new current key, in every process. Takes out the old ones that nobody needs any more.
    pub async fn rotate_keys(&self, actor: &str) -> Result<KeyRecord> {
        let now = Timestamp::now();
        // A process that has not heard of a rotation may still seal sessions with the old key, which live a day.
        let long_ago = |record: &KeyRecord| {
            record
                .retired_at
                .is_some_and(|at| at.plus_ms(limits::SESSION_TTL_MS + limits::VERDICT_AGE_MS) <= now)
        };
        let unneeded = self
            .keys()
            .await?
            .into_iter()
            .filter(|record| long_ago(record) && record.needed_until.is_none_or(|until| until <= now));
        let unneeded: Vec<String> = unneeded.map(|record| record.kid).collect();
        let kid = self.keys.home.rotate(&self.store, unneeded, actor).await?;
        let fresh = self.keys().await?.into_iter().find(|record| record.kid == kid);
        fresh.ok_or_else(|| quad_core::Error::internal("the new key is not there"))
    }

    /// Takes a key out, and with it every token that it signed. The current one stays: rotate first.
    pub async fn drop_key(&self, kid: &str, actor: &str) -> Result<()> {
        self.keys.home.remove(&self.store, kid, actor).await?;
        // A crash before the last tenant leaves proofs that a process remembers for a minute; dropping again mends that.
        for tenant in tenant::list(&self.store).await? {
            let name = kid.to_owned();
            let has_tokens = self.store.read(&tenant.id, move |snapshot| {
                let tenant = snapshot.tenant().as_str().to_owned();
                let found = snapshot.query_opt(
                    "SELECT id FROM gate_token WHERE tenant_id = $1 AND (kid = $2 OR kid IS NULL) LIMIT 1",
                    params![tenant, name.as_str()],
                )?;
                Ok(found.is_some())
            });
            if has_tokens.await? {
                let event = EventDraft::system("identity", "key.dropped", actor).input("kid", kid);
                let touched = tag(kid);
                let touch = move |tx: &mut quad_store::Tx<'_>| {
                    tx.touch(touched.clone());
                    Ok(())
                };
                self.store.write(&Writer::from(&tenant.id), event, touch).await?;
            }
        }
        self.keys.now().await?;
        Ok(())
    }

    /// The public halves of the keys, as a JSON Web Key Set.
    pub async fn key_set(&self) -> Result<Value> {
        self.keys.key_set().await
    }

    /// Until when each key has a good token, over all tenants.
    async fn needed_until(&self, ring: &Keyring) -> Result<BTreeMap<String, Timestamp>> {
        let mut needed: BTreeMap<String, Timestamp> = BTreeMap::new();
        for tenant in tenant::list(&self.store).await? {
            for (kid, until) in self.last_expiries(&tenant.id).await? {
                let kid = kid.unwrap_or_else(|| ring.oldest_kid().to_owned());
                let until = until.plus_ms(limits::CLOCK_TOLERANCE_MS);
                let latest = needed.entry(kid).or_insert(until);
                *latest = until.max(*latest);
            }
        }
        Ok(needed)
    }

    async fn last_expiries(&self, tenant: &TenantId) -> Result<Vec<(Option<String>, Timestamp)>> {
        self.store
            .read(tenant, |snapshot| {
                let tenant = snapshot.tenant().as_str().to_owned();
                let rows = snapshot.query(
                    "SELECT kid, MAX(expires_at) FROM gate_token \
                     WHERE tenant_id = $1 AND revoked_at IS NULL GROUP BY kid",
                    params![tenant],
                )?;
                rows.iter()
                    .map(|row| Ok((row.opt_text(0)?.map(str::to_owned), Timestamp(row.int(1)?))))
                    .collect()
            })
            .await
    }
}

#[cfg(test)]
mod tests {
    use quad_core::{EventDraft, AuditLog as _, Kind, AppendError, Principal};

    use super::*;
    use crate::gate::tests::{KNOWN, TestGate, gates, outcome};
    use crate::{MintRequest, SessionRefusal};

    fn kids(keys: &[KeyRecord]) -> Vec<&str> {
        keys.iter().map(|key| key.kid.as_str()).collect()
    }

    async fn mint(test: &TestGate, gate: &Gate, ttl_ms: Option<i64>) -> String {
        let request = MintRequest { ttl_ms, ..test.request("a", "table:read") };
        gate.mint(request, &KNOWN).await.unwrap().token
    }

    fn kid_of(token: &str) -> String {
        crate::jws::Compact::parse(token).unwrap().kid().unwrap().to_owned()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_key_signs_and_the_old_one_still_verifies_in_every_process() {
        for test in gates().await {
            let running = test.another_process().await;
            let before = mint(&test, &test.gate, None).await;
            let session_caller = Principal::local_agent(test.place.tenant.clone(), []);
            let session = running.open_session(&session_caller, "2025-06-18").unwrap();
            let fresh = test.gate.rotate_keys("operator").await.unwrap();
            assert!(fresh.current && fresh.retired_at.is_none());
            let after = mint(&test, &test.gate, None).await;
            assert_eq!(kid_of(&after), fresh.kid);
            assert_ne!(kid_of(&before), fresh.kid);
            // `running` has heard of nothing; the token's key makes it look.
            for gate in [&test.gate, &running, &test.another_process().await] {
                assert_eq!(outcome(gate, &before).await, "ok");
                assert_eq!(outcome(gate, &after).await, "ok");
                assert!(gate.check_session(&session_caller, &session).await.is_ok());
            }
            let keys = test.gate.keys().await.unwrap();
            assert_eq!(kids(&keys), [fresh.kid.as_str(), &kid_of(&before)]);
            assert!(keys[1].retired_at.is_some() && keys[1].needed_until.is_some());
            let system = test.audit(&TenantId::system()).await;
            assert!(system.contains("key.rotated") && system.contains(&fresh.kid), "{system}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_process_that_has_not_heard_of_a_rotation_signs_with_the_new_key_all_the_same() {
        for test in gates().await {
            let running = test.another_process().await;
            let fresh = test.gate.rotate_keys("operator").await.unwrap();
            assert_eq!(kid_of(&mint(&test, &running, None).await), fresh.kid);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_session_of_a_newer_key_opens_where_the_key_is_unknown_yet() {
        for test in gates().await {
            let running = test.another_process().await;
            let me = Principal::local_agent(test.place.tenant.clone(), []);
            test.gate.rotate_keys("operator").await.unwrap();
            let session = test.gate.open_session(&me, "2025-06-18").unwrap();
            assert!(running.check_session(&me, &session).await.is_ok());
            let (_, rest) = session.split_once('.').unwrap();
            let invented = format!("0000000000000000.{rest}");
            let refused = running.check_session(&me, &invented).await;
            assert!(matches!(refused, Err(SessionRefusal::NotFound)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_dropped_key_takes_its_tokens_along_from_the_next_call_on() {
        for test in gates().await {
            let running = test.another_process().await;
            let old = mint(&test, &test.gate, None).await;
            let kid = kid_of(&old);
            let refused = test.gate.drop_key(&kid, "operator").await.unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (Kind::Conflict, "KEY_IS_CURRENT"));
            test.gate.rotate_keys("operator").await.unwrap();
            let new = mint(&test, &test.gate, None).await;
            let header = format!("Bearer {old}");
            let remembered = running.authenticate(Some(&header)).await.unwrap();
            let proof = remembered.credential_read_set.clone().unwrap();

            test.gate.drop_key(&kid, "operator").await.unwrap();
            let event = EventDraft::call(&remembered, "ping");
            let recorded = running.store.append(&remembered.tenant, event, vec![proof]).await;
            assert!(matches!(recorded, Err(AppendError::Stale(0))));
            running.forget(&header);
            for gate in [&running, &test.gate, &test.another_process().await] {
                assert_eq!(outcome(gate, &old).await, "unknown_key");
                assert_eq!(outcome(gate, &new).await, "ok");
                assert_eq!(kids(&gate.keys().await.unwrap()), [kid_of(&new)]);
            }
            // Once more does no harm, and what never was is not found.
            test.gate.drop_key(&kid, "operator").await.unwrap();
            let refused = test.gate.drop_key("0123456789abcdef", "operator").await.unwrap_err();
            assert_eq!(refused.kind(), Kind::NotFound);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_old_copy_of_the_key_file_does_not_bring_a_dropped_key_back() {
        let test = &gates().await[0];
        let file = test.folder.path().join("signing.key");
        let old = mint(test, &test.gate, None).await;
        test.gate.rotate_keys("operator").await.unwrap();
        let copy = std::fs::read_to_string(&file).unwrap();
        test.gate.drop_key(&kid_of(&old), "operator").await.unwrap();
        std::fs::write(&file, copy).unwrap();
        let restarted = test.another_process().await;
        assert_eq!(outcome(&restarted, &old).await, "unknown_key");
        assert_eq!(restarted.keys().await.unwrap().len(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_rotation_takes_out_what_nobody_needs_and_nothing_else() {
        for test in gates().await {
            let needed = mint(&test, &test.gate, None).await;
            test.gate.rotate_keys("operator").await.unwrap();
            let over = mint(&test, &test.gate, None).await;
            test.gate.rotate_keys("operator").await.unwrap();
            assert_eq!(test.gate.keys().await.unwrap().len(), 3);
            // The second key's only token is over, and both keys retired long ago.
            test.tamper(Box::leak(
                format!(
                    "UPDATE gate_token SET expires_at = 1 WHERE tenant_id = $1 AND kid = '{}'",
                    kid_of(&over)
                )
                .into_boxed_str(),
            ))
            .await;
            age_retired_keys(&test).await;
            let fresh = test.gate.rotate_keys("operator").await.unwrap();
            let keys = test.gate.keys().await.unwrap();
            assert!(kids(&keys).contains(&fresh.kid.as_str()) && kids(&keys).contains(&&*kid_of(&needed)));
            assert!(!kids(&keys).contains(&&*kid_of(&over)), "{keys:?}");
            assert_eq!(outcome(&test.gate, &needed).await, "ok");
        }
    }

    /// As if every retired key had been retired in 1970.
    async fn age_retired_keys(test: &TestGate) {
        match test.place.store.backend() {
            quad_store::Backend::Sqlite => {
                let file = test.folder.path().join("signing.key");
                let mut entries = crate::key_file::read(&file).unwrap().unwrap();
                entries.iter_mut().for_each(|entry| {
                    entry.retired_at = entry.retired_at.map(|_| Timestamp(1));
                });
                crate::key_file::replace(&file, &entries).unwrap();
            }
            quad_store::Backend::Postgres => {
                let system = TenantId::system();
                let age = test.place.store.jot(&system, |tx| {
                    tx.execute(
                        "UPDATE gate_key SET retired_at = 1 WHERE tenant_id = $1 AND retired_at IS NOT NULL",
                        params!["system"],
                    )?;
                    Ok(())
                });
                age.await.unwrap();
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_so_many_keys_are_held() {
        for test in gates().await {
            for _ in 1..limits::KEYS_HELD {
                test.gate.rotate_keys("operator").await.unwrap();
            }
            let refused = test.gate.rotate_keys("operator").await.unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (Kind::Limit, "KEY_LIMIT"));
            assert_eq!(test.gate.keys().await.unwrap().len(), limits::KEYS_HELD);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rotations_at_once_lose_no_key() {
        for test in gates().await {
            let other = test.another_process().await;
            let rotating: Vec<_> = [&test.gate, &other, &test.gate, &other]
                .into_iter()
                .map(|gate| {
                    let gate = gate.clone();
                    tokio::spawn(async move { gate.rotate_keys("operator").await })
                })
                .collect();
            let mut made = Vec::new();
            for rotated in rotating {
                made.push(rotated.await.unwrap().unwrap().kid);
            }
            let keys = test.gate.keys().await.unwrap();
            assert_eq!(keys.len(), 5);
            assert_eq!(keys.iter().filter(|key| key.retired_at.is_none()).count(), 1);
            assert!(made.iter().all(|kid| kids(&keys).contains(&kid.as_str())));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_key_set_shows_every_key_that_verifies() {
        for test in gates().await {
            let fresh = test.gate.rotate_keys("operator").await.unwrap();
            let set = test.gate.key_set().await.unwrap();
            let keys = test.gate.keys().await.unwrap();
            let shown: Vec<&str> =
                set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap()).collect();
            assert_eq!(shown, kids(&keys));
            assert_eq!((shown[0], shown.len()), (fresh.kid.as_str(), 2));
            assert!(!set.to_string().contains("\"d\""));
        }
    }
}
