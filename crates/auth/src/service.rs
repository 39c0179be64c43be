//! The authentication service: from the text of an `Authorization` header to a principal.

use std::sync::Arc;

use quad_core::{
    EventDraft, Principal, PrincipalKind, ReadSet, Result, ScopeSet, TenantId, Timestamp, Version, scope,
};
use quad_store::{Sql as _, Store, Tx, WriteContext, params};

use crate::agent::{self, AgentRecord, GrantMerge};
use crate::auth_error::{AuthError, AuthErrorKind, KnownSubject};
use crate::issuer::{ExternalClaims, Issuer};
use crate::jws::{self, Claims, CompactJws};
use crate::key_cache::KeyCache;
use crate::key_storage::KeyStorage;
use crate::refusal_counter::RefusalCounter;
use crate::token_cache::{self, TokenCache};
use crate::{grant, key_rotation, limits, schema, token};

/// Authenticates callers; creates and revokes credentials. Cheap to clone.
#[derive(Clone)]
pub struct AuthService {
    pub(crate) store: Store,
    pub(crate) keys: Arc<KeyCache>,
    issuer: Option<Arc<Issuer>>,
    token_cache: Arc<TokenCache>,
    refusal_counter: Arc<RefusalCounter>,
}

impl std::fmt::Debug for AuthService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuthService")
            .field("keys", &self.keys)
            .field("issuer", &self.issuer)
            .finish_non_exhaustive()
    }
}

impl AuthService {
    /// Opens the service with the keys of `storage`. The first process that opens it creates the first key.
    pub async fn open(store: Store, storage: KeyStorage) -> Result<AuthService> {
        schema::backfill_scope_hashes(&store).await?;
        let keys = Arc::new(KeyCache::open(storage, store.clone()).await?);
        let refusal_counter = Arc::new(RefusalCounter::new(store.clone()));
        Ok(AuthService { store, keys, issuer: None, token_cache: Arc::default(), refusal_counter })
    }

    /// Adds a trusted external issuer.
    pub fn with_issuer(mut self, issuer: Issuer) -> AuthService {
        self.issuer = Some(Arc::new(issuer));
        self
    }

    /// The principal of a request with this `Authorization` header.
    ///
    /// The credential's read set has the version of the registry row. Every audit commit validates it; if it is
    /// stale, call [`AuthService::evict_token`] and authenticate again. A refusal is counted in the audit log.
    pub async fn authenticate(&self, authorization: Option<&str>) -> Result<Principal, AuthError> {
        let result = self.authenticate_cached(authorization).await;
        if let Err(error) = &result {
            self.refusal_counter.count(error);
        }
        result
    }

    /// Removes the token from the cache, because an audit commit found its credential stale.
    pub fn evict_token(&self, authorization: &str) {
        if let Some(token) = bearer_token(authorization) {
            self.token_cache.remove(&token_cache::fingerprint(token));
        }
    }

    /// Counts a refusal of an authenticated caller in the audit log, for instance of the rate limit.
    pub fn count_refusal(&self, caller: &Principal, reason: &'static str, code: &'static str) {
        let known_subject =
            KnownSubject { tenant: caller.tenant.clone(), subject: caller.subject.to_string() };
        self.refusal_counter.count_known(known_subject, reason, code);
    }

    /// Counts a refusal that precedes authentication in the audit log.
    pub fn count_anonymous_refusal(&self, reason: &'static str, code: &'static str) {
        self.refusal_counter.count_anonymous(reason, code);
    }

    /// Writes the pending counts of refusals. Call it before the process ends.
    pub async fn flush_refusals(&self) {
        self.refusal_counter.flush().await;
    }

    async fn authenticate_cached(&self, authorization: Option<&str>) -> Result<Principal, AuthError> {
        let token = authorization.and_then(bearer_token).ok_or(AuthErrorKind::Missing)?;
        let bytes_max =
            if self.issuer.is_some() { limits::EXTERNAL_TOKEN_BYTES_MAX } else { limits::TOKEN_BYTES_MAX };
        if token.len() > bytes_max {
            return Err(AuthErrorKind::TooLong.into());
        }
        let (now, fingerprint) = (Timestamp::now(), token_cache::fingerprint(token));
        let mut key_set_version = match &self.issuer {
            Some(issuer) => issuer.key_set_version().await?,
            None => 0,
        };
        if let Some(principal) = self.token_cache.get(&fingerprint, now, key_set_version) {
            return Ok(principal);
        }
        // Boxed: the future is large, and nearly every call returns before it.
        let (principal, issuer_key_set_version) = Box::pin(self.verify_uncached(token, now)).await?;
        key_set_version = issuer_key_set_version.unwrap_or(key_set_version);
        let expires_at =
            principal.credential_read_set.as_ref().and_then(|read_set| read_set.valid_until).unwrap_or(now);
        self.token_cache.put(fingerprint, principal.clone(), now, expires_at, key_set_version);
        Ok(principal)
    }

    /// Verifies a token that is not cached. For an external token it also returns the version of the key set.
    async fn verify_uncached(
        &self,
        token: &str,
        now: Timestamp,
    ) -> Result<(Principal, Option<u64>), AuthError> {
        let token = CompactJws::parse(token)?;
        Ok(match &self.issuer {
            Some(issuer) if issuer.matches_iss(&token) || self.is_issuer_token(issuer, &token) => {
                let (claims, key_set_version) = issuer.verify(&token, now).await?;
                (self.load_external_principal(issuer, claims).await?, Some(key_set_version))
            }
            _ => {
                let claims = self.verify_signature(&token, now).await?;
                (self.load_principal(claims, token.kid().unwrap_or_default()).await?, None)
            }
        })
    }

    /// Whether to verify a token with the issuer's keys although its `iss` is different: it names one of the issuer's
    /// keys, and none of ours.
    fn is_issuer_token(&self, issuer: &Issuer, token: &CompactJws<'_>) -> bool {
        let is_local = token.kid().is_some_and(|kid| self.keys.cached().find(kid).is_some());
        !is_local && issuer.matches_kid(token)
    }

    /// The claims of a local token. An unknown key may be newer than the cached keys, so it causes a reload.
    async fn verify_signature(&self, token: &CompactJws<'_>, now: Timestamp) -> Result<Claims, AuthError> {
        match jws::verify(&self.keys.cached(), token, now) {
            Err(AuthErrorKind::UnknownKey) if token.kid().is_some() => {
                let keyring = self.keys.reload_throttled().await?;
                Ok(jws::verify(&keyring, token, now)?)
            }
            verified => Ok(verified?),
        }
    }

    /// Checks signed claims against the registry.
    async fn load_principal(&self, claims: Claims, kid: &str) -> Result<Principal, AuthError> {
        let (id, subject, key) = (claims.id.clone(), claims.subject.clone(), kid.to_owned());
        let read = self.store.read(&claims.tenant, move |snapshot| {
            Ok((token::load_status(snapshot, &id, &subject, &key)?, snapshot.version()))
        });
        let (status, version) = read.await?;
        let status = status.ok_or(AuthErrorKind::Unregistered)?;
        if status.key_was_dropped {
            // The cached keys still have this key, so they are outdated.
            self.keys.reload_throttled().await?;
            return Err(AuthErrorKind::UnknownKey.into());
        }
        let known_subject =
            KnownSubject { tenant: claims.tenant.clone(), subject: claims.subject.to_string() };
        // A copy of an old token that was signed again with a stolen key must not outlive the original.
        if claims.expires_at > status.expires_at {
            return Err(AuthError::for_subject(known_subject, AuthErrorKind::ExpiryChanged));
        }
        if status.is_revoked {
            return Err(AuthError::for_subject(known_subject, AuthErrorKind::Revoked));
        }
        let agent = status.agent.ok_or(AuthErrorKind::AgentUnregistered)?;
        if let Err(error_kind) = agent.check_usable(claims.kind) {
            return Err(AuthError::for_subject(known_subject, error_kind));
        }
        if !agent.grants_all(&claims.scopes) {
            return Err(AuthError::for_subject(known_subject, AuthErrorKind::ScopeExceeded));
        }
        let credential_read_set =
            ReadSet::at_version(version).with_tag(token::tag(&claims.id)).with_tag(key_rotation::tag(kid));
        Ok(build_principal(
            claims.tenant,
            claims.subject,
            claims.kind,
            claims.scopes,
            claims.expires_at,
            credential_read_set,
        ))
    }

    /// Loads the grants of the holder of an external token.
    async fn load_external_principal(
        &self,
        issuer: &Issuer,
        claims: ExternalClaims,
    ) -> Result<Principal, AuthError> {
        // An unknown tenant and an unknown subject give the same error.
        let tenant = self.find_tenant(&claims.tenant).await?.ok_or(AuthErrorKind::AgentUnregistered)?;
        let subject = claims.subject.clone();
        let read = self
            .store
            .read(&tenant, move |snapshot| Ok((agent::find(snapshot, &subject)?, snapshot.version())));
        let (agent, version) = match read.await? {
            (Some(agent), version) => (agent, version),
            (None, _) if issuer.config.auto_register => self.auto_register(issuer, &tenant, &claims).await?,
            (None, _) => return Err(AuthErrorKind::AgentUnregistered.into()),
        };
        let known_subject = KnownSubject { tenant: tenant.clone(), subject: claims.subject.to_string() };
        let kind = claims.kind.unwrap_or(agent.kind);
        if let Err(error_kind) = agent.check_usable(kind) {
            return Err(AuthError::for_subject(known_subject, error_kind));
        }
        let scopes = grant::intersection(&claims.scopes, &agent.scopes);
        if scopes.is_empty() {
            return Err(AuthError::for_subject(known_subject, AuthErrorKind::ScopeExceeded));
        }
        Ok(build_principal(
            tenant,
            claims.subject,
            kind,
            scopes,
            claims.expires_at,
            ReadSet::at_version(version),
        ))
    }

    /// The tenant that an external token names, by id or by name. No name has the form of an id.
    async fn find_tenant(&self, id_or_name: &str) -> Result<Option<TenantId>> {
        let id_or_name = id_or_name.to_owned();
        self.store
            .read(&TenantId::system(), move |snapshot| {
                let row = snapshot.query_opt(
                    "SELECT id FROM tenant WHERE id = $1 OR name = $1",
                    params![id_or_name.as_str()],
                )?;
                Ok(row.map(|row| row.text(0).map(TenantId::new)).transpose()?)
            })
            .await
    }

    /// Registers the holder of an external token with the scopes that it claims. An existing registration is kept.
    async fn auto_register(
        &self,
        issuer: &Issuer,
        tenant: &TenantId,
        claims: &ExternalClaims,
    ) -> Result<(AgentRecord, Version), AuthError> {
        let kind = claims.kind.unwrap_or(PrincipalKind::Agent);
        let is_grantable =
            |candidate: &&str| scope::is_scope(candidate) && grant::is_allowed_for(candidate, kind);
        let scopes: ScopeSet = claims.scopes.iter().filter(is_grantable).collect();
        if scopes.is_empty() {
            return Err(AuthErrorKind::AgentUnregistered.into());
        }
        let event = EventDraft::system("identity", "agent.registered", &issuer.config.issuer)
            .input("subject", &*claims.subject)
            .input("kind", kind.as_str())
            .input("scopes", scopes.to_string());
        let subject = claims.subject.clone();
        let register = move |tx: &mut Tx<'_>| match agent::find(tx, &subject)? {
            Some(existing) => Ok(existing),
            None => agent::register(tx, &subject, kind, &scopes, GrantMerge::Union),
        };
        let (agent, receipt) = self.store.write(&WriteContext::from(tenant), event, register).await?;
        Ok((agent, receipt.version))
    }
}

/// A principal whose credential also depends on its registration and on its expiry.
fn build_principal(
    tenant: TenantId,
    subject: Arc<str>,
    kind: PrincipalKind,
    scopes: ScopeSet,
    expires_at: Timestamp,
    credential_read_set: ReadSet,
) -> Principal {
    let mut credential_read_set = credential_read_set.with_tag(agent::tag(&subject));
    credential_read_set.valid_until = Some(expires_at.plus_ms(limits::CLOCK_TOLERANCE_MS));
    Principal {
        tenant,
        subject,
        kind,
        scopes,
        credential_read_set: Some(Arc::new(credential_read_set)),
        expires_at: Some(expires_at),
    }
}

/// The token of a `Bearer` header. Other schemes count as no token.
fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.trim().split_once(' ')?;
    let token = token.trim_start();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

#[cfg(test)]
pub(crate) mod tests {
    use quad_core::{AppendError, AuditLog, ReadSets};
    use quad_store::audit::block;
    use quad_store::testing::{self, TestStore};

    use super::*;
    use crate::{COMPONENT, MintRequest};

    pub(crate) const KNOWN_SCOPES: [&str; 4] =
        ["table:read", "table:data:read", "project:create", "payment_intent:approve"];

    /// A service on an empty database, with what must outlive it.
    pub(crate) struct AuthFixture {
        pub(crate) auth: AuthService,
        pub(crate) db: TestStore,
        pub(crate) folder: tempfile::TempDir,
    }

    /// A fixture on each backend that is available.
    pub(crate) async fn auth_fixtures() -> Vec<AuthFixture> {
        let mut fixtures = Vec::new();
        for db in testing::stores(&[COMPONENT]).await.unwrap() {
            let folder = tempfile::tempdir().unwrap();
            let auth =
                AuthService::open(db.store.clone(), KeyStorage::new(folder.path(), None)).await.unwrap();
            fixtures.push(AuthFixture { auth, db, folder });
        }
        fixtures
    }

    impl AuthFixture {
        pub(crate) fn mint_request(&self, subject: &str, scopes: &str) -> MintRequest {
            MintRequest {
                tenant: self.db.tenant.clone(),
                subject: subject.to_owned(),
                kind: PrincipalKind::Agent,
                scopes: scopes.to_owned(),
                ttl_ms: None,
                actor: "operator".to_owned(),
            }
        }

        /// The audit records of a tenant, one per line.
        pub(crate) async fn audit_records(&self, tenant: &TenantId) -> String {
            let blocks = self.db.store.read(tenant, |snapshot| block::blocks_after(snapshot, 0, i64::MAX));
            let blocks = blocks.await.unwrap();
            let records = blocks.iter().flat_map(|block| block.records().map(|(_, record)| record));
            records.collect::<Vec<_>>().join("\n")
        }

        /// Changes rows without notifying the service, as an attacker with access to the database would.
        pub(crate) async fn tamper(&self, change: &'static str) {
            let tampered = self.db.store.write_unaudited(&self.db.tenant, move |tx| {
                let tenant = tx.tenant().as_str().to_owned();
                assert!(tx.execute(change, params![tenant])? > 0);
                Ok(())
            });
            tampered.await.unwrap();
        }

        /// The service of another process on the same data.
        pub(crate) async fn another_process(&self) -> AuthService {
            let store = Store::open(self.db.location.clone(), &[COMPONENT]).await.unwrap();
            AuthService::open(store, KeyStorage::new(self.folder.path(), None)).await.unwrap()
        }
    }

    pub(crate) async fn expect_auth_error(auth: &AuthService, authorization: Option<&str>) -> AuthError {
        auth.authenticate(authorization).await.unwrap_err()
    }

    /// The reason why the token is rejected, or `ok`.
    pub(crate) async fn auth_outcome(auth: &AuthService, token: &str) -> &'static str {
        match auth.authenticate(Some(&format!("Bearer {token}"))).await {
            Ok(_) => "ok",
            Err(error) => error.kind.as_str(),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn minted_token_authenticates_in_every_process() {
        for test in auth_fixtures().await {
            let minted = test
                .auth
                .mint(test.mint_request("a@b", "table:* table:data:read"), &KNOWN_SCOPES)
                .await
                .unwrap();
            for auth in [&test.auth, &test.another_process().await] {
                for header in ["Bearer ", "bearer ", "BEARER  "] {
                    let caller = auth.authenticate(Some(&format!("{header}{}", minted.token))).await.unwrap();
                    assert_eq!(caller.tenant, test.db.tenant);
                    assert_eq!(&*caller.subject, "a@b");
                    assert_eq!(caller.kind, PrincipalKind::Agent);
                    assert_eq!(caller.scopes, ScopeSet::parse("table:* table:data:read"));
                    assert_eq!(caller.expires_at, Some(minted.record.expires_at));
                    assert!(
                        caller.credential_read_set.unwrap().tags.contains(&token::tag(&minted.record.id))
                    );
                }
            }
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn malformed_credentials_are_rejected_without_the_database() {
        let auth = &auth_fixtures().await[0].auth;
        for missing in
            [None, Some(""), Some("Bearer"), Some("Bearer "), Some("Basic dXNlcjpwYXNz"), Some("\u{e9}")]
        {
            let error = expect_auth_error(auth, missing).await;
            assert!(error.is_missing(), "{missing:?}");
            assert_eq!(error.code(), "auth_token_missing");
        }
        let too_long = format!("Bearer {}", "x".repeat(limits::TOKEN_BYTES_MAX + 1));
        assert!(matches!(expect_auth_error(auth, Some(&too_long)).await.kind, AuthErrorKind::TooLong));
        for bad in ["Bearer x", "Bearer a.b.c", "Bearer a b c"] {
            let error = expect_auth_error(auth, Some(bad)).await;
            assert!(matches!(error.kind, AuthErrorKind::Malformed), "{bad}");
            assert_eq!(error.code(), "auth_token_invalid");
            assert!(!error.is_missing() && !error.is_internal());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn signed_token_without_row_is_rejected() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let keyring = test.auth.keys.cached();
            let token = CompactJws::parse(&minted.token).unwrap();
            let claims = jws::verify(&keyring, &token, Timestamp::now()).unwrap();
            let check = async |claims: Claims| {
                let header = format!("Bearer {}", jws::sign(keyring.current(), &claims));
                expect_auth_error(&test.auth, Some(&header)).await
            };
            let unregistered = [
                Claims { id: "tok_other".into(), ..claims.clone() },
                Claims { tenant: quad_core::TenantId::new("tnt_other"), ..claims.clone() },
                Claims { subject: "b".into(), ..claims.clone() },
            ];
            for claims in unregistered {
                assert!(matches!(check(claims).await.kind, AuthErrorKind::Unregistered));
            }
            let expired = Claims { expires_at: Timestamp(0), ..claims };
            assert_eq!(check(expired).await.code(), "auth_token_expired");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn token_that_expires_later_than_registered_is_rejected() {
        for test in auth_fixtures().await {
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let keyring = test.auth.keys.cached();
            let token = CompactJws::parse(&minted.token).unwrap();
            let claims = jws::verify(&keyring, &token, Timestamp::now()).unwrap();
            let signed_with_expiry = |difference_ms: i64| {
                let expires_at = claims.expires_at.plus_ms(difference_ms);
                jws::sign(keyring.current(), &Claims { expires_at, ..claims.clone() })
            };
            assert_eq!(auth_outcome(&test.auth, &signed_with_expiry(1_000)).await, "expiry_changed");
            assert_eq!(auth_outcome(&test.auth, &signed_with_expiry(0)).await, "ok");
            assert_eq!(auth_outcome(&test.auth, &signed_with_expiry(-1_000)).await, "ok");
            let error =
                expect_auth_error(&test.auth, Some(&format!("Bearer {}", signed_with_expiry(1_000)))).await;
            assert_eq!(error.code(), "auth_token_invalid");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn revocation_takes_effect_with_warm_cache() {
        for test in auth_fixtures().await {
            let other_auth = test.another_process().await;
            let minted = test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let header = format!("Bearer {}", minted.token);
            let before = other_auth.authenticate(Some(&header)).await.unwrap();
            let record = async |caller: &Principal| {
                let credential = caller.credential_read_set.clone().unwrap();
                other_auth
                    .store
                    .append(
                        &caller.tenant,
                        EventDraft::call(caller, "ping"),
                        ReadSets::from_iter([credential]),
                        None,
                    )
                    .await
            };
            assert!(record(&before).await.is_ok());

            test.auth.revoke(&test.db.tenant, &minted.record.id, "operator").await.unwrap();
            let cached = other_auth.authenticate(Some(&header)).await.unwrap();
            assert!(matches!(record(&cached).await, Err(AppendError::Stale(0))));
            other_auth.evict_token(&header);
            assert!(matches!(
                expect_auth_error(&other_auth, Some(&header)).await.kind,
                AuthErrorKind::Revoked
            ));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn other_tokens_changes_keep_the_credential_current() {
        for test in auth_fixtures().await {
            let kept_token =
                test.auth.mint(test.mint_request("a", "table:read"), &KNOWN_SCOPES).await.unwrap();
            let caller = test.auth.authenticate(Some(&format!("Bearer {}", kept_token.token))).await.unwrap();
            let other_token =
                test.auth.mint(test.mint_request("a", "project:create"), &KNOWN_SCOPES).await.unwrap();
            test.auth.revoke(&test.db.tenant, &other_token.record.id, "operator").await.unwrap();
            let credential = caller.credential_read_set.clone().unwrap();
            let event = EventDraft::call(&caller, "ping");
            assert!(
                test.db
                    .store
                    .append(&caller.tenant, event, ReadSets::from_iter([credential]), None)
                    .await
                    .is_ok()
            );
        }
    }
}
