//! Key rotation: a new key signs from now on; the old ones verify for as long as a valid token needs them.
//!
//! An expired token is rejected, so a key whose tokens have all expired is obsolete; the next rotation removes it.
//! Dropping a key earlier revokes every token that it signed, with the next call, in every process: each credential
//! depends on the tag of its key, and a drop invalidates that tag in every tenant that has such tokens.

use std::collections::BTreeMap;

use quad_core::{EventDraft, Result, Tag, TenantId, Timestamp};
use quad_store::{Sql as _, WriteContext, params, tenant};
use serde_json::{Value, json};

use crate::keyring::Keyring;
use crate::limits;
use crate::service::AuthService;

/// The public description of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRecord {
    /// The key id.
    pub kid: String,
    /// Whether it signs.
    pub current: bool,
    /// When it was created; the epoch if it is older than this field.
    pub created_at: Timestamp,
    /// When it was retired.
    pub retired_at: Option<Timestamp>,
    /// The latest expiry of the valid tokens that it signed; `None` if there are none.
    pub needed_until: Option<Timestamp>,
}

impl KeyRecord {
    /// The record as JSON, for lists.
    pub fn to_json(&self) -> Value {
        json!({
            "kid": self.kid,
            "current": self.current,
            "created_at": self.created_at,
            "retired_at": self.retired_at,
            "needed_until": self.needed_until,
        })
    }
}

/// The tag that dropping this key invalidates.
pub(crate) fn tag(kid: &str) -> Tag {
    Tag::new(format!("gate:key:{kid}"))
}

impl AuthService {
    /// The keys, the current one first.
    pub async fn keys(&self) -> Result<Vec<KeyRecord>> {
        let keyring = self.keys.reload().await?;
        let needed = self.needed_until(&keyring).await?;
        let record = |entry: &crate::keyring::KeyEntry| KeyRecord {
            kid: entry.key.kid().to_owned(),
            current: entry.key.kid() == keyring.current().kid(),
            created_at: entry.created_at,
            retired_at: entry.retired_at,
            needed_until: needed.get(entry.key.kid()).copied(),
        };
        Ok(keyring.iter().map(record).collect())
    }

    /// Creates a new current key for all processes, and removes obsolete keys.
    pub async fn rotate_keys(&self, actor: &str) -> Result<KeyRecord> {
        let now = Timestamp::now();
        // A process that has not seen a rotation may still sign sessions with the old key; they live for a day.
        let retired_long_ago = |record: &KeyRecord| {
            record
                .retired_at
                .is_some_and(|at| at.plus_ms(limits::SESSION_TTL_MS + limits::TOKEN_CACHE_AGE_MS) <= now)
        };
        let obsolete = self.keys().await?.into_iter().filter(|record| {
            retired_long_ago(record) && record.needed_until.is_none_or(|until| until <= now)
        });
        let obsolete: Vec<String> = obsolete.map(|record| record.kid).collect();
        let kid = self.keys.storage.rotate(&self.store, obsolete, actor).await?;
        let new_key = self.keys().await?.into_iter().find(|record| record.kid == kid);
        new_key.ok_or_else(|| quad_core::Error::internal("the new key is missing after the rotation"))
    }

    /// Removes a key and so revokes every token that it signed. The current key cannot be dropped: rotate first.
    pub async fn drop_key(&self, kid: &str, actor: &str) -> Result<()> {
        self.keys.storage.remove(&self.store, kid, actor).await?;
        // A crash before the last tenant leaves credentials cached for up to a minute; a second drop invalidates
        // them.
        for tenant in tenant::list(&self.store).await? {
            let name = kid.to_owned();
            let has_tokens = self.store.read(&tenant.id, move |snapshot| {
                let tenant = snapshot.tenant().as_str().to_owned();
                let row = snapshot.query_opt(
                    "SELECT id FROM gate_token WHERE tenant_id = $1 AND (kid = $2 OR kid IS NULL) LIMIT 1",
                    params![tenant, name.as_str()],
                )?;
                Ok(row.is_some())
            });
            if has_tokens.await? {
                let event = EventDraft::system("identity", "key.dropped", actor).input("kid", kid);
                let key_tag = tag(kid);
                let invalidate = move |tx: &mut quad_store::Tx<'_>| {
                    tx.invalidate(key_tag.clone());
                    Ok(())
                };
                self.store.write(&WriteContext::from(&tenant.id), event, invalidate).await?;
            }
        }
        self.keys.reload().await?;
        Ok(())
    }

    /// The public keys as a JSON Web Key Set.
    pub async fn key_set(&self) -> Result<Value> {
        self.keys.key_set().await
    }

    /// The latest expiry of a valid token per key, over all tenants.
    async fn needed_until(&self, keyring: &Keyring) -> Result<BTreeMap<String, Timestamp>> {
        let mut needed: BTreeMap<String, Timestamp> = BTreeMap::new();
        for tenant in tenant::list(&self.store).await? {
            for (kid, until) in self.last_expiries(&tenant.id).await? {
                let kid = kid.unwrap_or_else(|| keyring.oldest_kid().to_owned());
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
    use quad_core::{AppendError, AuditLog as _, EventDraft, Kind, Principal, ReadSets};

    use super::*;
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures, auth_outcome};
    use crate::{MintRequest, SessionError};

    fn kids(keys: &[KeyRecord]) -> Vec<&str> {
        keys.iter().map(|key| key.kid.as_str()).collect()
    }

    async fn mint(test: &AuthFixture, auth: &AuthService, ttl_ms: Option<i64>) -> String {
        let request = MintRequest { ttl_ms, ..test.mint_request("a", "table:read") };
        auth.mint(request, &KNOWN_SCOPES).await.unwrap().token
    }

    fn kid_of(token: &str) -> String {
        crate::jws::CompactJws::parse(token).unwrap().kid().unwrap().to_owned()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rotation_signs_with_new_key_and_verifies_with_old() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let before = mint(&test, &test.auth, None).await;
            let session_caller = Principal::local_agent(test.db.tenant.clone(), []);
            let session = other_auth.open_session(&session_caller, "2025-06-18").unwrap();
            let new_key = test.auth.rotate_keys("operator").await.unwrap();
            assert!(new_key.current && new_key.retired_at.is_none());
            let after = mint(&test, &test.auth, None).await;
            assert_eq!(kid_of(&after), new_key.kid);
            assert_ne!(kid_of(&before), new_key.kid);
            // `running` has not reloaded its keys; the key id of the token makes it do so.
            for auth in [&test.auth, &other_auth, &test.another_process().await] {
                assert_eq!(auth_outcome(auth, &before).await, "ok");
                assert_eq!(auth_outcome(auth, &after).await, "ok");
                assert!(auth.check_session(&session_caller, &session).await.is_ok());
            }
            let keys = test.auth.keys().await.unwrap();
            assert_eq!(kids(&keys), [new_key.kid.as_str(), &kid_of(&before)]);
            assert!(keys[1].retired_at.is_some() && keys[1].needed_until.is_some());
            let system = test.audit_records(&TenantId::system()).await;
            assert!(system.contains("key.rotated") && system.contains(&new_key.kid), "{system}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn other_process_signs_with_the_rotated_key() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let new_key = test.auth.rotate_keys("operator").await.unwrap();
            assert_eq!(kid_of(&mint(&test, &other_auth, None).await), new_key.kid);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn session_of_new_key_is_accepted_by_other_process() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let me = Principal::local_agent(test.db.tenant.clone(), []);
            test.auth.rotate_keys("operator").await.unwrap();
            let session = test.auth.open_session(&me, "2025-06-18").unwrap();
            assert!(other_auth.check_session(&me, &session).await.is_ok());
            let (_, rest) = session.split_once('.').unwrap();
            let invented = format!("0000000000000000.{rest}");
            let refused = other_auth.check_session(&me, &invented).await;
            assert!(matches!(refused, Err(SessionError::NotFound)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn dropping_a_key_revokes_its_tokens_immediately() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let old = mint(&test, &test.auth, None).await;
            let kid = kid_of(&old);
            let refused = test.auth.drop_key(&kid, "operator").await.unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (Kind::Conflict, "KEY_IS_CURRENT"));
            test.auth.rotate_keys("operator").await.unwrap();
            let new = mint(&test, &test.auth, None).await;
            let header = format!("Bearer {old}");
            let cached = other_auth.authenticate(Some(&header)).await.unwrap();
            let credential = cached.credential_read_set.clone().unwrap();

            test.auth.drop_key(&kid, "operator").await.unwrap();
            let event = EventDraft::call(&cached, "ping");
            let recorded =
                other_auth.store.append(&cached.tenant, event, ReadSets::from_iter([credential]), None).await;
            assert!(matches!(recorded, Err(AppendError::Stale(0))));
            other_auth.evict_token(&header);
            for auth in [&other_auth, &test.auth, &test.another_process().await] {
                assert_eq!(auth_outcome(auth, &old).await, "unknown_key");
                assert_eq!(auth_outcome(auth, &new).await, "ok");
                assert_eq!(kids(&auth.keys().await.unwrap()), [kid_of(&new)]);
            }
            // A repeated drop succeeds, and an unknown key is not found.
            test.auth.drop_key(&kid, "operator").await.unwrap();
            let refused = test.auth.drop_key("0123456789abcdef", "operator").await.unwrap_err();
            assert_eq!(refused.kind(), Kind::NotFound);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn restored_key_file_does_not_restore_a_dropped_key() {
        let test = &auth_fixtures().await[0];
        let file = test.folder.path().join("signing.key");
        let old = mint(test, &test.auth, None).await;
        test.auth.rotate_keys("operator").await.unwrap();
        let copy = std::fs::read_to_string(&file).unwrap();
        test.auth.drop_key(&kid_of(&old), "operator").await.unwrap();
        std::fs::write(&file, copy).unwrap();
        let restarted = test.another_process().await;
        assert_eq!(auth_outcome(&restarted, &old).await, "unknown_key");
        assert_eq!(restarted.keys().await.unwrap().len(), 1);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn rotation_removes_only_obsolete_keys() {
        for test in auth_fixtures().await {
            let needed = mint(&test, &test.auth, None).await;
            test.auth.rotate_keys("operator").await.unwrap();
            let expired = mint(&test, &test.auth, None).await;
            test.auth.rotate_keys("operator").await.unwrap();
            assert_eq!(test.auth.keys().await.unwrap().len(), 3);
            // The only token of the second key has expired, and both keys retired long ago.
            test.tamper(Box::leak(
                format!(
                    "UPDATE gate_token SET expires_at = 1 WHERE tenant_id = $1 AND kid = '{}'",
                    kid_of(&expired)
                )
                .into_boxed_str(),
            ))
            .await;
            age_retired_keys(&test).await;
            let new_key = test.auth.rotate_keys("operator").await.unwrap();
            let keys = test.auth.keys().await.unwrap();
            assert!(kids(&keys).contains(&new_key.kid.as_str()) && kids(&keys).contains(&&*kid_of(&needed)));
            assert!(!kids(&keys).contains(&&*kid_of(&expired)), "{keys:?}");
            assert_eq!(auth_outcome(&test.auth, &needed).await, "ok");
        }
    }

    /// Sets the retirement of every retired key to 1970.
    async fn age_retired_keys(test: &AuthFixture) {
        match test.db.store.backend() {
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
                let age = test.db.store.write_unaudited(&system, |tx| {
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
    async fn number_of_keys_is_limited() {
        for test in auth_fixtures().await {
            for _ in 1..limits::KEYS_MAX {
                test.auth.rotate_keys("operator").await.unwrap();
            }
            let refused = test.auth.rotate_keys("operator").await.unwrap_err();
            assert_eq!((refused.kind(), refused.code()), (Kind::Limit, "KEY_LIMIT"));
            assert_eq!(test.auth.keys().await.unwrap().len(), limits::KEYS_MAX);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn concurrent_rotations_lose_no_key() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let rotating: Vec<_> = [&test.auth, &other_auth, &test.auth, &other_auth]
                .into_iter()
                .map(|auth| {
                    let auth = auth.clone();
                    tokio::spawn(async move { auth.rotate_keys("operator").await })
                })
                .collect();
            let mut new_kids = Vec::new();
            for rotated in rotating {
                new_kids.push(rotated.await.unwrap().unwrap().kid);
            }
            let keys = test.auth.keys().await.unwrap();
            assert_eq!(keys.len(), 5);
            assert_eq!(keys.iter().filter(|key| key.retired_at.is_none()).count(), 1);
            assert!(new_kids.iter().all(|kid| kids(&keys).contains(&kid.as_str())));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn key_set_lists_every_verifying_key() {
        for test in auth_fixtures().await {
            let new_key = test.auth.rotate_keys("operator").await.unwrap();
            let set = test.auth.key_set().await.unwrap();
            let keys = test.auth.keys().await.unwrap();
            let listed_kids: Vec<&str> =
                set["keys"].as_array().unwrap().iter().map(|key| key["kid"].as_str().unwrap()).collect();
            assert_eq!(listed_kids, kids(&keys));
            assert_eq!((listed_kids[0], listed_kids.len()), (new_key.kid.as_str(), 2));
            assert!(!set.to_string().contains("\"d\""));
        }
    }
}
