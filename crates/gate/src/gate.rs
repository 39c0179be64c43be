//! The gate itself: from the text of an `Authorization` header to a principal.

use std::sync::Arc;

use quad_core::{Basis, Principal, Result, Timestamp};
use quad_store::Store;

use crate::jws::{self, Claims};
use crate::key::SigningKey;
use crate::key_home::KeyHome;
use crate::limits;
use crate::refusal::{Reason, Refusal};
use crate::token;
use crate::verdicts::{self, Verdicts};

/// Authenticates callers, and makes and withdraws what they authenticate with. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub(crate) store: Store,
    pub(crate) key: Arc<SigningKey>,
    verdicts: Arc<Verdicts>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("key", &self.key).finish_non_exhaustive()
    }
}

impl Gate {
    /// Opens the gate with the key that `home` keeps; the first one that opens makes the key.
    pub async fn open(store: Store, home: KeyHome) -> Result<Gate> {
        let key = home.open(&store).await?;
        Ok(Gate { store, key: Arc::new(key), verdicts: Arc::default() })
    }

    /// Who sends this `Authorization` header.
    ///
    /// The principal's proof is as old as the registry row that was read for it. The store compares it with every audit
    /// commit; when that finds it stale, call [`Gate::forget`] and authenticate again.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, Refusal> {
        let token = authorization.and_then(bearer).ok_or(Reason::Missing)?;
        if token.len() > limits::TOKEN_BYTES {
            return Err(Reason::TooLong.into());
        }
        let (now, fingerprint) = (Timestamp::now(), verdicts::fingerprint(token));
        if let Some(principal) = self.verdicts.get(&fingerprint, now) {
            return Ok(principal);
        }
        let claims = jws::verify(&self.key, token, now)?;
        let ends_at = claims.expires_at.plus_ms(limits::CLOCK_TOLERANCE_MS);
        let principal = self.prove(claims, ends_at).await?;
        self.verdicts.put(fingerprint, principal.clone(), now, ends_at);
        Ok(principal)
    }

    /// Forgets what was found out about this header's token, because an audit commit found the proof stale.
    pub fn forget(&self, authorization: &str) {
        if let Some(token) = bearer(authorization) {
            self.verdicts.forget(&verdicts::fingerprint(token));
        }
    }

    /// Asks the registry whether signed claims still stand.
    async fn prove(&self, claims: Claims, ends_at: Timestamp) -> Result<Principal, Refusal> {
        let (id, subject) = (claims.id.clone(), claims.subject.clone());
        let (standing, version) =
            self.store.read(&claims.tenant, move |snapshot| token::standing(snapshot, &id, &subject)).await?;
        match standing {
            token::Standing::Unregistered => return Err(Reason::Unregistered.into()),
            token::Standing::Revoked => return Err(Reason::Revoked.into()),
            token::Standing::Good => {}
        }
        let mut proof = Basis::at(version).on(token::tag(&claims.id)).on(token::holder_tag(&claims.subject));
        proof.valid_until = Some(ends_at);
        Ok(Principal {
            tenant: claims.tenant,
            subject: claims.subject,
            kind: claims.kind,
            scopes: claims.scopes,
            proof: Some(Arc::new(proof)),
            expires_at: Some(claims.expires_at),
        })
    }
}

/// The token of a `Bearer` header. Any other way to authenticate is the same as none.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
pub(crate) mod tests {
    use quad_core::{EventDraft, Journal, NotRecorded, PrincipalKind, ScopeSet};
    use quad_store::testing::{self, TestStore};
    use quad_store::{Writer, params};

    use super::*;
    use crate::{COMPONENT, MintRequest};

    pub(crate) const KNOWN: [&str; 4] =
        ["table:read", "table:data:read", "project:create", "payment_intent:approve"];

    /// A gate on an empty database, and what must outlive it.
    pub(crate) struct TestGate {
        pub(crate) gate: Gate,
        pub(crate) place: TestStore,
        pub(crate) folder: tempfile::TempDir,
    }

    /// A gate on each backend that this machine offers.
    pub(crate) async fn gates() -> Vec<TestGate> {
        let mut gates = Vec::new();
        for place in testing::stores(&[COMPONENT]).await.unwrap() {
            let folder = tempfile::tempdir().unwrap();
            let gate = Gate::open(place.store.clone(), KeyHome::new(folder.path(), None)).await.unwrap();
            gates.push(TestGate { gate, place, folder });
        }
        gates
    }

    impl TestGate {
        pub(crate) fn request(&self, subject: &str, scopes: &str) -> MintRequest {
            MintRequest {
                tenant: self.place.tenant.clone(),
                subject: subject.to_owned(),
                kind: PrincipalKind::Agent,
                scopes: scopes.to_owned(),
                ttl_ms: None,
                actor: "operator".to_owned(),
            }
        }

        /// The gate of another process on the same data.
        pub(crate) async fn another_process(&self) -> Gate {
            let store = Store::open(self.place.location.clone(), &[COMPONENT]).await.unwrap();
            Gate::open(store, KeyHome::new(self.folder.path(), None)).await.unwrap()
        }
    }

    async fn refusal(gate: &Gate, authorization: Option<&str>) -> Refusal {
        gate.authenticate(authorization).await.unwrap_err()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_minted_token_names_its_holder_in_every_process() {
        for test in gates().await {
            let minted =
                test.gate.mint(test.request("a@b", "table:* table:data:read"), &KNOWN).await.unwrap();
            for gate in [&test.gate, &test.another_process().await] {
                for header in ["Bearer ", "bearer ", "BEARER  "] {
                    let caller = gate.authenticate(Some(&format!("{header}{}", minted.token))).await.unwrap();
                    assert_eq!(caller.tenant, test.place.tenant);
                    assert_eq!(&*caller.subject, "a@b");
                    assert_eq!(caller.kind, PrincipalKind::Agent);
                    assert_eq!(caller.scopes, ScopeSet::parse("table:* table:data:read"));
                    assert_eq!(caller.expires_at, Some(minted.record.expires_at));
                    assert!(caller.proof.unwrap().tags.contains(&token::tag(&minted.record.id)));
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn what_is_no_token_of_ours_is_refused_without_the_database() {
        let gate = &gates().await[0].gate;
        for missing in
            [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic dXNlcjpwYXNz"), Some("\u{e9}")]
        {
            let refusal = refusal(gate, missing).await;
            assert!(refusal.is_missing(), "{missing:?}");
            assert_eq!(refusal.code(), "auth_token_missing");
        }
        let too_long = format!("Bearer {}", "x".repeat(limits::TOKEN_BYTES + 1));
        assert!(matches!(refusal(gate, Some(&too_long)).await.reason, Reason::TooLong));
        for bad in ["Bearer x", "Bearer a.b.c", "Bearer a b c"] {
            let refusal = refusal(gate, Some(bad)).await;
            assert!(matches!(refusal.reason, Reason::Malformed), "{bad}");
            assert_eq!(refusal.code(), "auth_token_invalid");
            assert!(!refusal.is_missing() && !refusal.is_internal());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_good_signature_without_a_row_is_not_enough() {
        for test in gates().await {
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let claims = jws::verify(&test.gate.key, &minted.token, Timestamp::now()).unwrap();
            let check = async |claims: Claims| {
                let header = format!("Bearer {}", jws::sign(&test.gate.key, &claims));
                refusal(&test.gate, Some(&header)).await
            };
            let unregistered = [
                Claims { id: "tok_other".into(), ..claims.clone() },
                Claims { tenant: quad_core::TenantId::new("tnt_other"), ..claims.clone() },
                Claims { subject: "b".into(), ..claims.clone() },
            ];
            for claims in unregistered {
                assert!(matches!(check(claims).await.reason, Reason::Unregistered));
            }
            let expired = Claims { expires_at: Timestamp(0), ..claims };
            assert_eq!(check(expired).await.code(), "auth_token_expired");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_revocation_reaches_a_process_that_remembers_the_token() {
        for test in gates().await {
            let other = test.another_process().await;
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let header = format!("Bearer {}", minted.token);
            let before = other.authenticate(Some(&header)).await.unwrap();
            let record = async |caller: &Principal| {
                let proof = caller.proof.clone().unwrap();
                other.store.record(&caller.tenant, EventDraft::call(caller, "ping"), vec![proof]).await
            };
            assert!(record(&before).await.is_ok());

            test.gate.revoke(&test.place.tenant, &minted.record.id, "operator").await.unwrap();
            let remembered = other.authenticate(Some(&header)).await.unwrap();
            assert!(matches!(record(&remembered).await, Err(NotRecorded::Stale(0))));
            other.forget(&header);
            assert!(matches!(refusal(&other, Some(&header)).await.reason, Reason::Revoked));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn another_tokens_mint_or_revocation_leaves_a_proof_standing() {
        for test in gates().await {
            let mine = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let caller = test.gate.authenticate(Some(&format!("Bearer {}", mine.token))).await.unwrap();
            let other = test.gate.mint(test.request("a", "project:create"), &KNOWN).await.unwrap();
            test.gate.revoke(&test.place.tenant, &other.record.id, "operator").await.unwrap();
            let proof = caller.proof.clone().unwrap();
            let event = EventDraft::call(&caller, "ping");
            assert!(test.place.store.record(&caller.tenant, event, vec![proof]).await.is_ok());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_agent_that_is_not_active_is_refused() {
        for test in gates().await {
            let minted = test.gate.mint(test.request("a", "table:read"), &KNOWN).await.unwrap();
            let header = format!("Bearer {}", minted.token);
            test.gate.authenticate(Some(&header)).await.unwrap();
            let event = EventDraft::system("identity", "agent.paused", "operator");
            let writer = Writer::from(&test.place.tenant);
            let pause = test.place.store.write(&writer, event, |tx| {
                let tenant = quad_store::Sql::tenant(tx).as_str().to_owned();
                let pause = "UPDATE gate_agent SET state = 'paused' WHERE tenant_id = $1 AND subject = 'a'";
                assert_eq!(tx.execute(pause, params![tenant])?, 1);
                tx.touch(token::holder_tag("a"));
                Ok(())
            });
            pause.await.unwrap();
            let caller = test.gate.authenticate(Some(&header)).await.unwrap();
            let (event, proof) = (EventDraft::call(&caller, "ping"), caller.proof.clone().unwrap());
            let recorded = test.place.store.record(&caller.tenant, event, vec![proof]).await;
            assert!(matches!(recorded, Err(NotRecorded::Stale(0))));
            test.gate.forget(&header);
            assert!(matches!(refusal(&test.gate, Some(&header)).await.reason, Reason::Unregistered));
        }
    }
}
