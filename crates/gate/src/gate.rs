//! The gate itself: from the text of an `Authorization` header to a principal.

use std::sync::Arc;

use quad_core::{
    ReadSet, EventDraft, Principal, PrincipalKind, Result, ScopeSet, TenantId, Timestamp, Version, scope,
};
use quad_store::{Sql as _, Store, Tx, Writer, params};

use crate::agent::{self, AgentRecord, Meeting};
use crate::issuer::{ExternalClaims, Issuer};
use crate::jws::{self, Claims, Compact};
use crate::key_home::KeyHome;
use crate::keys::Keys;
use crate::refusal::{Holder, Reason, Refusal};
use crate::refusals::Refusals;
use crate::verdicts::{self, Verdicts};
use crate::{grant, limits, rotation, schema, token};

/// Authenticates callers, and makes and withdraws what they authenticate with. Cheap to clone.
#[derive(Clone)]
pub struct Gate {
    pub(crate) store: Store,
    pub(crate) keys: Arc<Keys>,
    issuer: Option<Arc<Issuer>>,
    verdicts: Arc<Verdicts>,
    refusals: Arc<Refusals>,
}

impl std::fmt::Debug for Gate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gate").field("keys", &self.keys).field("issuer", &self.issuer).finish_non_exhaustive()
    }
}

impl Gate {
    /// Opens the gate with the keys that `home` keeps; the first one that opens makes the first key.
    pub async fn open(store: Store, home: KeyHome) -> Result<Gate> {
        schema::fill_scope_hashes(&store).await?;
        let keys = Arc::new(Keys::open(home, store.clone()).await?);
        let refusals = Arc::new(Refusals::new(store.clone()));
        Ok(Gate { store, keys, issuer: None, verdicts: Arc::default(), refusals })
    }

    /// The gate that also trusts an external issuer.
    pub fn with_issuer(mut self, issuer: Issuer) -> Gate {
        self.issuer = Some(Arc::new(issuer));
        self
    }

    /// Who sends this `Authorization` header.
    ///
    /// The principal's proof is as old as the registry row that was read for it. The store compares it with every audit
    /// commit; when that finds it stale, call [`Gate::forget`] and authenticate again. A refusal is counted in the audit.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, Refusal> {
        let checked = self.check(authorization).await;
        if let Err(refusal) = &checked {
            self.refusals.count(refusal);
        }
        checked
    }

    /// Forgets what was found out about this header's token, because an audit commit found the proof stale.
    pub fn forget(&self, authorization: &str) {
        if let Some(token) = bearer(authorization) {
            self.verdicts.forget(&verdicts::fingerprint(token));
        }
    }

    /// Counts in the audit that a caller was refused for something else than its credential, such as its rate.
    pub fn note_refusal(&self, caller: &Principal, reason: &'static str, code: &'static str) {
        let holder = Holder { tenant: caller.tenant.clone(), subject: caller.subject.to_string() };
        self.refusals.count_holder(holder, reason, code);
    }

    /// Counts in the audit that somebody was turned away before any credential was looked at: nobody in particular.
    pub fn note_stranger(&self, reason: &'static str, code: &'static str) {
        self.refusals.count_stranger(reason, code);
    }

    /// Writes down the refusals that are counted but not yet written, before the process ends.
    pub async fn settle(&self) {
        self.refusals.settle().await;
    }

    async fn check(&self, authorization: Option<&str>) -> Result<Principal, Refusal> {
        let token = authorization.and_then(bearer).ok_or(Reason::Missing)?;
        let bytes_max =
            if self.issuer.is_some() { limits::EXTERNAL_TOKEN_BYTES } else { limits::TOKEN_BYTES };
        if token.len() > bytes_max {
            return Err(Reason::TooLong.into());
        }
        let (now, fingerprint) = (Timestamp::now(), verdicts::fingerprint(token));
        let mut mark = match &self.issuer {
            Some(issuer) => issuer.mark().await?,
            None => 0,
        };
        if let Some(principal) = self.verdicts.get(&fingerprint, now, mark) {
            return Ok(principal);
        }
        // In a box of its own: it is large, and nearly every call ends above.
        let (principal, newest) = Box::pin(self.find_out(token, now)).await?;
        mark = newest.unwrap_or(mark);
        let ends_at = principal.credential_read_set.as_ref().and_then(|proof| proof.valid_until).unwrap_or(now);
        self.verdicts.put(fingerprint, principal.clone(), now, ends_at, mark);
        Ok(principal)
    }

    /// Who a token of which nothing is known stands for; and for an external one, the mark of the keys that say so.
    async fn find_out(&self, token: &str, now: Timestamp) -> Result<(Principal, Option<u64>), Refusal> {
        let token = Compact::parse(token)?;
        Ok(match &self.issuer {
            Some(issuer) if issuer.is_claimed_by(&token) || self.is_foreign(issuer, &token) => {
                let (claims, keys) = issuer.verify(&token, now).await?;
                (self.prove_external(issuer, claims).await?, Some(keys))
            }
            _ => {
                let claims = self.verify(&token, now).await?;
                (self.prove(claims, token.kid().unwrap_or_default()).await?, None)
            }
        })
    }

    /// Whether a token is to be checked as the issuer's though it does not say so: it names one of the issuer's keys, and
    /// none of ours.
    fn is_foreign(&self, issuer: &Issuer, token: &Compact<'_>) -> bool {
        let is_ours = token.kid().is_some_and(|kid| self.keys.known().find(kid).is_some());
        !is_ours && issuer.is_named_by(token)
    }

    /// What a token of ours says. One whose key we do not know may be signed with a key that is newer than what we know.
    async fn verify(&self, token: &Compact<'_>, now: Timestamp) -> Result<Claims, Refusal> {
        match jws::verify(&self.keys.known(), token, now) {
            Err(Reason::UnknownKey) if token.kid().is_some() => {
                let ring = self.keys.newer().await?;
                Ok(jws::verify(&ring, token, now)?)
            }
            verified => Ok(verified?),
        }
    }

    /// Asks the registry whether signed claims still stand.
    async fn prove(&self, claims: Claims, kid: &str) -> Result<Principal, Refusal> {
        let (id, subject, key) = (claims.id.clone(), claims.subject.clone(), kid.to_owned());
        let asked = self.store.read(&claims.tenant, move |snapshot| {
            Ok((token::standing(snapshot, &id, &subject, &key)?, snapshot.version()))
        });
        let (standing, version) = asked.await?;
        let standing = standing.ok_or(Reason::Unregistered)?;
        if standing.key_was_dropped {
            // We knew the key still, so there is something that we have not heard of.
            self.keys.newer().await?;
            return Err(Reason::UnknownKey.into());
        }
        let holder = Holder { tenant: claims.tenant.clone(), subject: claims.subject.to_string() };
        if standing.revoked {
            return Err(Refusal::of(holder, Reason::Revoked));
        }
        let agent = standing.agent.ok_or(Reason::AgentUnregistered)?;
        if let Err(reason) = agent.check(claims.kind) {
            return Err(Refusal::of(holder, reason));
        }
        if !agent.covers(&claims.scopes) {
            return Err(Refusal::of(holder, Reason::ScopeExceeded));
        }
        let proof = ReadSet::at_version(version).with_tag(token::tag(&claims.id)).with_tag(rotation::tag(kid));
        Ok(principal(claims.tenant, claims.subject, claims.kind, claims.scopes, claims.expires_at, proof))
    }

    /// Asks the registry what the holder of an external token is granted.
    async fn prove_external(&self, issuer: &Issuer, claims: ExternalClaims) -> Result<Principal, Refusal> {
        // An unknown tenant and an unknown subject are one answer.
        let tenant = self.tenant_of(&claims.tenant).await?.ok_or(Reason::AgentUnregistered)?;
        let subject = claims.subject.clone();
        let asked = self
            .store
            .read(&tenant, move |snapshot| Ok((agent::find(snapshot, &subject)?, snapshot.version())));
        let (agent, version) = match asked.await? {
            (Some(agent), version) => (agent, version),
            (None, _) if issuer.config.auto_register => {
                self.register_by_token(issuer, &tenant, &claims).await?
            }
            (None, _) => return Err(Reason::AgentUnregistered.into()),
        };
        let holder = Holder { tenant: tenant.clone(), subject: claims.subject.to_string() };
        let kind = claims.kind.unwrap_or(agent.kind);
        if let Err(reason) = agent.check(kind) {
            return Err(Refusal::of(holder, reason));
        }
        let scopes = grant::intersection(&claims.scopes, &agent.scopes);
        if scopes.is_empty() {
            return Err(Refusal::of(holder, Reason::ScopeExceeded));
        }
        Ok(principal(tenant, claims.subject, kind, scopes, claims.expires_at, ReadSet::at_version(version)))
    }

    /// The tenant that an external token names, by id or by name. No name looks like an id.
    async fn tenant_of(&self, named: &str) -> Result<Option<TenantId>> {
        let named = named.to_owned();
        self.store
            .read(&TenantId::system(), move |snapshot| {
                let row = snapshot
                    .query_opt("SELECT id FROM tenant WHERE id = $1 OR name = $1", params![named.as_str()])?;
                Ok(row.map(|row| row.text(0).map(TenantId::new)).transpose()?)
            })
            .await
    }

    /// Registers the holder of an external token with what the token claims. Whoever came first stands.
    async fn register_by_token(
        &self,
        issuer: &Issuer,
        tenant: &TenantId,
        claims: &ExternalClaims,
    ) -> Result<(AgentRecord, Version), Refusal> {
        let kind = claims.kind.unwrap_or(PrincipalKind::Agent);
        let may_have = |one: &&str| scope::is_scope(one) && grant::is_for(one, kind);
        let scopes: ScopeSet = claims.scopes.iter().filter(may_have).collect();
        if scopes.is_empty() {
            return Err(Reason::AgentUnregistered.into());
        }
        let event = EventDraft::system("identity", "agent.registered", &issuer.config.issuer)
            .input("subject", &*claims.subject)
            .input("kind", kind.as_str())
            .input("scopes", scopes.to_string());
        let subject = claims.subject.clone();
        let register = move |tx: &mut Tx<'_>| match agent::find(tx, &subject)? {
            Some(found) => Ok(found),
            None => agent::register(tx, &subject, kind, &scopes, Meeting::Add),
        };
        let (agent, receipt) = self.store.write(&Writer::from(tenant), event, register).await?;
        Ok((agent, receipt.version))
    }
}

/// A proven caller, whose proof also rests on its registration and on the clock.
fn principal(
    tenant: TenantId,
    subject: Arc<str>,
    kind: PrincipalKind,
    scopes: ScopeSet,
    expires_at: Timestamp,
    proof: ReadSet,
) -> Principal {
    let mut proof = proof.with_tag(agent::tag(&subject));
    proof.valid_until = Some(expires_at.plus_ms(limits::CLOCK_TOLERANCE_MS));
    Principal { tenant, subject, kind, scopes, credential_read_set: Some(Arc::new(proof)), expires_at: Some(expires_at) }
}

/// The token of a `Bearer` header. Any other way to authenticate is the same as none.
fn bearer(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
pub(crate) mod tests {
    use quad_core::{AuditLog, AppendError};
    use quad_store::audit::block;
    use quad_store::testing::{self, TestStore};

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

        /// Everything that the audit says about a tenant, one event a line.
        pub(crate) async fn audit(&self, tenant: &TenantId) -> String {
            let blocks = self.place.store.read(tenant, |snapshot| block::after(snapshot, 0, i64::MAX));
            let blocks = blocks.await.unwrap();
            let records = blocks.iter().flat_map(|block| block.records().map(|(_, record)| record));
            records.collect::<Vec<_>>().join("\n")
        }

        /// Changes rows behind the gate's back, as somebody with the database would; nobody hears of it.
        pub(crate) async fn tamper(&self, change: &'static str) {
            let tampered = self.place.store.jot(&self.place.tenant, move |tx| {
                let tenant = tx.tenant().as_str().to_owned();
                assert!(tx.execute(change, params![tenant])? > 0);
                Ok(())
            });
            tampered.await.unwrap();
        }

        /// The gate of another process on the same data.
        pub(crate) async fn another_process(&self) -> Gate {
            let store = Store::open(self.place.location.clone(), &[COMPONENT]).await.unwrap();
            Gate::open(store, KeyHome::new(self.folder.path(), None)).await.unwrap()
        }
    }

    pub(crate) async fn refusal(gate: &Gate, authorization: Option<&str>) -> Refusal {
        gate.authenticate(authorization).await.unwrap_err()
    }

    /// Why that token is refused, in one word; `ok` if it is not.
    pub(crate) async fn outcome(gate: &Gate, token: &str) -> &'static str {
        match gate.authenticate(Some(&format!("Bearer {token}"))).await {
            Ok(_) => "ok",
            Err(refusal) => refusal.reason.as_str(),
        }
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
                    assert!(caller.credential_read_set.unwrap().tags.contains(&token::tag(&minted.record.id)));
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
            let ring = test.gate.keys.known();
            let token = Compact::parse(&minted.token).unwrap();
            let claims = jws::verify(&ring, &token, Timestamp::now()).unwrap();
            let check = async |claims: Claims| {
                let header = format!("Bearer {}", jws::sign(ring.current(), &claims));
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
                let proof = caller.credential_read_set.clone().unwrap();
                other.store.append(&caller.tenant, EventDraft::call(caller, "ping"), vec![proof]).await
            };
            assert!(record(&before).await.is_ok());

            test.gate.revoke(&test.place.tenant, &minted.record.id, "operator").await.unwrap();
            let remembered = other.authenticate(Some(&header)).await.unwrap();
            assert!(matches!(record(&remembered).await, Err(AppendError::Stale(0))));
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
            let proof = caller.credential_read_set.clone().unwrap();
            let event = EventDraft::call(&caller, "ping");
            assert!(test.place.store.append(&caller.tenant, event, vec![proof]).await.is_ok());
        }
    }
}
