//! An external issuer: an identity provider whose tokens this server accepts.
//!
//! Its tokens are verified with its public keys, which are in a file. Fetching the key set is the operator's task;
//! nothing here opens a connection. The file is read again when it changes. A missing or damaged file counts as an
//! empty key set: all tokens of the issuer are rejected, which is noticed, and none is accepted by mistake.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quad_core::{Error, Kind, PrincipalKind, Result, ScopeSet, Timestamp};
use serde_json::Value;

use crate::auth_error::AuthErrorKind;
use crate::jwk::{Algorithm, KeySet};
use crate::jws::{self, CompactJws};
use crate::reloading::Reloading;
use crate::{grant, limits};

/// The issuer to trust and how to read its claims.
#[derive(Clone, Debug)]
pub struct IssuerConfig {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// The name of this server in the `aud` of the issuer's tokens.
    pub audience: String,
    /// The file with the issuer's JSON Web Key Set.
    pub jwks_file: PathBuf,
    /// The accepted signature algorithms.
    pub algorithms: Vec<Algorithm>,
    /// The names of the claims.
    pub claims: ClaimNames,
    /// Whether the first token of an unregistered subject registers it, with the scopes that the token claims.
    pub auto_register: bool,
}

/// The names of the claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// The tenant, by id or by name.
    pub tenant: String,
    /// The subject that holds the token.
    pub subject: String,
    /// `agent` or `user`.
    pub kind: String,
    /// A text of scopes separated by spaces, or a list of them.
    pub scopes: String,
}

impl Default for ClaimNames {
    fn default() -> ClaimNames {
        ClaimNames {
            tenant: "tenant_id".to_owned(),
            subject: "sub".to_owned(),
            kind: "principal_type".to_owned(),
            scopes: "scope".to_owned(),
        }
    }
}

/// The claims of an external token. `tenant` is an id or a name, as in the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExternalClaims {
    pub(crate) tenant: String,
    pub(crate) subject: Arc<str>,
    pub(crate) kind: Option<PrincipalKind>,
    pub(crate) scopes: ScopeSet,
    pub(crate) expires_at: Timestamp,
}

/// An external issuer and its keys.
#[derive(Debug)]
pub struct Issuer {
    pub(crate) config: IssuerConfig,
    key_set: Reloading<KeySet>,
}

impl Issuer {
    /// Reads the keys. At startup an empty key set is an error.
    pub async fn open(config: IssuerConfig) -> Result<Issuer> {
        let invalid = |message: &str| Error::new(Kind::BadInput, "ISSUER_INVALID", message);
        if config.issuer.is_empty() || config.audience.is_empty() || config.algorithms.is_empty() {
            return Err(invalid("An issuer needs a name, an audience and at least one algorithm"));
        }
        if config.issuer == jws::ISSUER {
            return Err(invalid("The issuer has the name of this server's own issuer")
                .hint("Set it to the `iss` of the issuer's tokens, usually a URL"));
        }
        let key_set = load_key_set(config.jwks_file.clone()).await?;
        if key_set.is_empty() {
            return Err(invalid("The issuer's key set has no usable key")
                .hint("Add RSA, P-256 or Ed25519 signature keys, each with a kid"));
        }
        Ok(Issuer { config, key_set: Reloading::new(key_set) })
    }

    /// The version of the current key set. Checks the file for changes at most once per [`limits::KEY_SET_AGE_MAX`].
    pub(crate) async fn key_set_version(&self) -> Result<u64> {
        Ok(self.key_set.get_max_age(limits::KEY_SET_AGE_MAX, self.reload_keys()).await?.version)
    }

    /// Whether the token claims to be from this issuer. It is not verified yet.
    pub(crate) fn matches_iss(&self, token: &CompactJws<'_>) -> bool {
        token.text("iss") == Some(&self.config.issuer)
    }

    /// Whether the token names one of the issuer's keys. It is not verified yet.
    pub(crate) fn matches_kid(&self, token: &CompactJws<'_>) -> bool {
        token.kid().is_some_and(|kid| self.key_set.get().find(kid).is_some())
    }

    /// The claims of `token` with the version of the key set, if the issuer signed the token for this server, it is
    /// valid now, and its lifetime is within the limit.
    pub(crate) async fn verify(
        &self,
        token: &CompactJws<'_>,
        now: Timestamp,
    ) -> Result<(ExternalClaims, u64), AuthErrorKind> {
        let algorithm = token.algorithm().and_then(Algorithm::parse);
        let algorithm = algorithm.filter(|algorithm| self.config.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(AuthErrorKind::Algorithm)?;
        let kid = token.kid().ok_or(AuthErrorKind::UnknownKey)?;
        let mut key_set = self.key_set.get();
        if key_set.find(kid).is_none() {
            key_set =
                self.key_set.reload_throttled(self.reload_keys()).await.map_err(AuthErrorKind::Failed)?;
        }
        let key = key_set.find(kid).ok_or(AuthErrorKind::UnknownKey)?;
        if key.algorithm() != algorithm {
            return Err(AuthErrorKind::Algorithm);
        }
        if !key.verify(token.signing_input, &token.signature) {
            return Err(AuthErrorKind::BadSignature);
        }
        if !self.matches_iss(token) {
            return Err(AuthErrorKind::WrongIssuer);
        }
        if !token.has_audience(&self.config.audience) {
            return Err(AuthErrorKind::WrongAudience);
        }
        let (issued_at, expires_at) = token.validity(now)?;
        if expires_at.0.saturating_sub(issued_at.0) > limits::EXTERNAL_TTL_MS_MAX {
            return Err(AuthErrorKind::LivesTooLong);
        }
        Ok((self.read_claims(token, expires_at)?, key_set.version))
    }

    fn read_claims(
        &self,
        token: &CompactJws<'_>,
        expires_at: Timestamp,
    ) -> Result<ExternalClaims, AuthErrorKind> {
        let names = &self.config.claims;
        let text = |name: &str| token.text(name).ok_or(AuthErrorKind::Malformed);
        let subject = text(&names.subject)?;
        grant::check_subject(subject).map_err(|_| AuthErrorKind::Malformed)?;
        let kind = match token.payload.get(&names.kind) {
            None => None,
            Some(kind) => Some(kind.as_str().and_then(PrincipalKind::parse).ok_or(AuthErrorKind::Malformed)?),
        };
        let scopes = match token.payload.get(&names.scopes) {
            Some(Value::String(joined)) => ScopeSet::parse(joined),
            Some(Value::Array(list)) => {
                let texts: Option<Vec<&str>> = list.iter().map(Value::as_str).collect();
                ScopeSet::parse(&texts.ok_or(AuthErrorKind::Malformed)?.join(" "))
            }
            _ => return Err(AuthErrorKind::Malformed),
        };
        Ok(ExternalClaims {
            tenant: text(&names.tenant)?.to_owned(),
            subject: subject.into(),
            kind,
            scopes,
            expires_at,
        })
    }

    /// Reads the key set from the file. If it is unusable, logs an error and returns an empty key set.
    async fn reload_keys(&self) -> Result<KeySet> {
        let path = self.config.jwks_file.clone();
        let file_name = path.display().to_string();
        Ok(load_key_set(path).await.unwrap_or_else(|error| {
            tracing::error!(
                file = file_name,
                cause = %error,
                "the issuer's key set is unreadable; all its tokens are rejected"
            );
            KeySet::default()
        }))
    }
}

async fn load_key_set(path: PathBuf) -> Result<KeySet> {
    tokio::task::spawn_blocking(move || read_key_set_file(&path)).await.map_err(Error::internal)?
}

fn read_key_set_file(path: &Path) -> Result<KeySet> {
    use std::io::Read as _;
    let unreadable = |error: std::io::Error| {
        Error::new(Kind::BadInput, "ISSUER_INVALID", format!("{} cannot be read: {error}", path.display()))
            .hint("Set jwks_file to the file with the issuer's JSON Web Key Set")
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(limits::KEY_SET_BYTES_MAX + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limits::KEY_SET_BYTES_MAX {
        return Err(Error::new(Kind::Limit, "KEY_SET_INVALID", format!("{} is too large", path.display()))
            .with_detail("limit_bytes", limits::KEY_SET_BYTES_MAX));
    }
    KeySet::parse(&bytes)
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
    use quad_core::TenantId;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    use super::*;
    use crate::key::SigningKey;
    use crate::service::tests::{AuthFixture, KNOWN_SCOPES, auth_fixtures, auth_outcome, expect_auth_error};
    use crate::{AgentState, AuthService, RegisterRequest};

    const TEST_ISS: &str = "https://auth.example.com/";

    /// The issuer's side: an Ed25519 key `ed`, a P-256 key `ec`, and the file with their public halves.
    struct TestIssuer {
        ed: SigningKey,
        ec: EcdsaKeyPair,
        file: PathBuf,
    }

    impl TestIssuer {
        fn new(folder: &Path) -> TestIssuer {
            let rng = SystemRandom::new();
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &rng).unwrap();
            let ec =
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &rng).unwrap();
            let ed = SigningKey::from_seed(&crate::key::random_bytes().unwrap()).unwrap();
            let provider = TestIssuer { ed, ec, file: folder.join("jwks.json") };
            provider.publish(&["ed", "ec"]);
            provider
        }

        /// Replaces the key set by rename, as an operator would.
        fn publish(&self, kids: &[&str]) {
            let point = self.ec.public_key().as_ref();
            let key = |kid: &&str| match *kid {
                "ed" => {
                    json!({"kty": "OKP", "crv": "Ed25519", "kid": "ed", "x": BASE64.encode(self.ed.public_key())})
                }
                _ => json!({
                    "kty": "EC", "crv": "P-256", "kid": kid,
                    "x": BASE64.encode(&point[1..33]), "y": BASE64.encode(&point[33..]),
                }),
            };
            let keys: Vec<Value> = kids.iter().map(key).collect();
            let temp_file = self.file.with_extension("new");
            std::fs::write(&temp_file, json!({"keys": keys}).to_string()).unwrap();
            std::fs::rename(temp_file, &self.file).unwrap();
        }

        fn config(&self) -> IssuerConfig {
            IssuerConfig {
                issuer: TEST_ISS.to_owned(),
                audience: "quad-test".to_owned(),
                jwks_file: self.file.clone(),
                algorithms: Algorithm::ALL.to_vec(),
                claims: ClaimNames::default(),
                auto_register: false,
            }
        }

        fn sign(&self, header: &Value, payload: &Value) -> String {
            let signed =
                format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(payload.to_string()));
            let signature = match header["kid"].as_str() {
                Some("ec") => {
                    self.ec.sign(&SystemRandom::new(), signed.as_bytes()).unwrap().as_ref().to_vec()
                }
                _ => self.ed.sign(signed.as_bytes()),
            };
            format!("{signed}.{}", BASE64.encode(signature))
        }

        /// A valid token of agent `a`, modified by `change`.
        fn token(&self, tenant: &str, change: impl FnOnce(&mut Value, &mut Value)) -> String {
            let now = Timestamp::now().0 / 1_000;
            let mut header = json!({"alg": "EdDSA", "kid": "ed", "typ": "at+jwt"});
            let mut payload = json!({
                "iss": TEST_ISS, "aud": ["other", "quad-test"], "sub": "a", "tenant_id": tenant,
                "principal_type": "agent", "scope": "table:read project:create", "iat": now, "exp": now + 600,
            });
            change(&mut header, &mut payload);
            self.sign(&header, &payload)
        }
    }

    async fn auth_with_issuer(test: &AuthFixture, config: IssuerConfig) -> AuthService {
        test.another_process().await.with_issuer(Issuer::open(config).await.unwrap())
    }

    async fn register_agent_a(test: &AuthFixture, scopes: &str) {
        let request = RegisterRequest {
            tenant: test.db.tenant.clone(),
            subject: "a".to_owned(),
            kind: PrincipalKind::Agent,
            scopes: scopes.to_owned(),
            actor: "operator".to_owned(),
        };
        test.auth.register_agent(request, &KNOWN_SCOPES).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn external_token_gets_scopes_both_claimed_and_granted() {
        for test in auth_fixtures().await {
            let provider = TestIssuer::new(test.folder.path());
            let auth = auth_with_issuer(&test, provider.config()).await;
            register_agent_a(&test, "table:* table:data:*").await;
            for tenant in [test.db.tenant.as_str(), "local"] {
                for kid in ["ed", "ec"] {
                    let alg = if kid == "ed" { "EdDSA" } else { "ES256" };
                    let token = provider.token(tenant, |header, _| {
                        *header = json!({"alg": alg, "kid": kid});
                    });
                    let caller = auth.authenticate(Some(&format!("Bearer {token}"))).await.unwrap();
                    assert_eq!((&caller.tenant, &*caller.subject), (&test.db.tenant, "a"));
                    assert_eq!(caller.scopes.to_string(), "table:read");
                    assert_eq!(caller.kind, PrincipalKind::Agent);
                    assert!(caller.expires_at.is_some() && caller.credential_read_set.is_some());
                }
            }
            let local = test.auth.mint(test.mint_request("b", "table:read"), &KNOWN_SCOPES).await.unwrap();
            assert_eq!(auth_outcome(&auth, &local.token).await, "ok", "our own tokens are still good");
            assert_eq!(auth_outcome(&test.auth, &provider.token("local", |_, _| {})).await, "unknown_key");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_token_error_has_its_reason() {
        let test = &auth_fixtures().await[0];
        let provider = TestIssuer::new(test.folder.path());
        let auth = auth_with_issuer(test, provider.config()).await;
        register_agent_a(test, "table:read").await;
        let now = Timestamp::now().0 / 1_000;
        type Change = Box<dyn FnOnce(&mut Value, &mut Value)>;
        let header =
            |name: &'static str, value: Value| -> Change { Box::new(move |header, _| header[name] = value) };
        let claim = |name: &'static str, value: Value| -> Change {
            Box::new(move |_, payload| payload[name] = value)
        };
        let times = |iat: i64, exp: i64| -> Change {
            Box::new(move |_, payload| {
                payload["iat"] = (now + iat).into();
                payload["exp"] = (now + exp).into();
            })
        };
        let cases: Vec<(&str, Change, &str)> = vec![
            ("good", claim("jti", "x".into()), "ok"),
            ("scopes as a list", claim("scope", json!(["table:read"])), "ok"),
            ("an hour", times(0, 3_600), "ok"),
            ("a fraction of a second", claim("exp", json!(now as f64 + 60.5)), "ok"),
            ("none", header("alg", "none".into()), "algorithm"),
            ("HS256 with a public key", header("alg", "HS256".into()), "algorithm"),
            ("RS256 for an Ed25519 key", header("alg", "RS256".into()), "algorithm"),
            ("no algorithm", header("alg", Value::Null), "algorithm"),
            ("critical", header("crit", json!(["b64"])), "malformed"),
            ("another key's name", header("kid", "nobody".into()), "unknown_key"),
            ("no key's name", header("kid", Value::Null), "unknown_key"),
            ("another issuer", claim("iss", "https://evil.example/".into()), "wrong_issuer"),
            ("our own issuer", claim("iss", "quad".into()), "wrong_issuer"),
            ("no issuer", claim("iss", Value::Null), "wrong_issuer"),
            ("another audience", claim("aud", "quad".into()), "wrong_audience"),
            ("no audience", claim("aud", json!([])), "wrong_audience"),
            ("expired", times(-100, -6), "expired"),
            ("not yet issued", times(60, 120), "not_yet_valid"),
            ("not yet valid", claim("nbf", json!(now + 60)), "not_yet_valid"),
            ("over an hour", times(0, 3_601), "lives_too_long"),
            ("no end", claim("exp", Value::Null), "malformed"),
            ("no beginning", claim("iat", Value::Null), "malformed"),
            ("no subject", claim("sub", Value::Null), "malformed"),
            ("a subject outside the grammar", claim("sub", "a b".into()), "malformed"),
            ("no scopes", claim("scope", Value::Null), "malformed"),
            ("another kind", claim("principal_type", "root".into()), "malformed"),
            ("the other kind", claim("principal_type", "user".into()), "agent_unregistered"),
            ("nothing in common", claim("scope", "organization:read".into()), "scope_exceeded"),
            ("another subject", claim("sub", "b".into()), "agent_unregistered"),
            ("another tenant", claim("tenant_id", "tnt_none".into()), "agent_unregistered"),
            ("the system", claim("tenant_id", "system".into()), "agent_unregistered"),
            ("no tenant", claim("tenant_id", Value::Null), "malformed"),
        ];
        for (name, change, expect) in cases {
            assert_eq!(auth_outcome(&auth, &provider.token("local", change)).await, expect, "{name}");
        }
        let good = provider.token("local", |_, _| {});
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let (head, payload) = signed.split_once('.').unwrap();
        let more = provider.token("local", claim("scope", "*:*".into()));
        let forged = format!("{head}.{}.{signature}", more.split('.').nth(1).unwrap());
        assert_eq!(auth_outcome(&auth, &forged).await, "bad_signature");
        assert_eq!(auth_outcome(&auth, &format!("{signed}.")).await, "bad_signature");
        let duplicated =
            String::from_utf8(BASE64.decode(payload).unwrap()).unwrap().replacen('{', r#"{"sub":"b","#, 1);
        assert_eq!(
            auth_outcome(&auth, &format!("{head}.{}.{signature}", BASE64.encode(duplicated))).await,
            "duplicate_claim"
        );
        assert_eq!(auth_outcome(&auth, &"x".repeat(limits::EXTERNAL_TOKEN_BYTES_MAX + 1)).await, "too_long");
        // An HMAC with the public key as its secret: the well-known algorithm confusion attack.
        let confused = format!("{}.{payload}", BASE64.encode(r#"{"alg":"HS256","kid":"ed"}"#));
        let mac = ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, provider.ed.public_key()),
            confused.as_bytes(),
        );
        assert_eq!(auth_outcome(&auth, &format!("{confused}.{}", BASE64.encode(mac))).await, "algorithm");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn unconfigured_algorithm_is_rejected() {
        let test = &auth_fixtures().await[0];
        let provider = TestIssuer::new(test.folder.path());
        let config = IssuerConfig { algorithms: vec![Algorithm::Es256], ..provider.config() };
        let auth = auth_with_issuer(test, config).await;
        register_agent_a(test, "table:read").await;
        assert_eq!(auth_outcome(&auth, &provider.token("local", |_, _| {})).await, "algorithm");
        let ec = provider.token("local", |header, _| *header = json!({"alg": "ES256", "kid": "ec"}));
        assert_eq!(auth_outcome(&auth, &ec).await, "ok");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn claims_are_read_by_configured_names() {
        let test = &auth_fixtures().await[0];
        let provider = TestIssuer::new(test.folder.path());
        let claims = ClaimNames {
            tenant: "org".to_owned(),
            subject: "client_id".to_owned(),
            kind: "type".to_owned(),
            scopes: "scp".to_owned(),
        };
        let auth = auth_with_issuer(test, IssuerConfig { claims, ..provider.config() }).await;
        register_agent_a(test, "table:read").await;
        let token = provider.token("nowhere", |_, payload| {
            payload["org"] = "local".into();
            payload["sub"] = "somebody|else".into();
            payload["client_id"] = "a".into();
            payload["scp"] = json!(["table:read"]);
        });
        assert_eq!(auth_outcome(&auth, &token).await, "ok");
        assert_eq!(auth_outcome(&auth, &provider.token("local", |_, _| {})).await, "malformed");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn issuer_keys_follow_the_file() {
        let test = &auth_fixtures().await[0];
        let provider = TestIssuer::new(test.folder.path());
        provider.publish(&["ec"]);
        let auth = auth_with_issuer(test, provider.config()).await;
        register_agent_a(test, "table:read").await;
        let token = provider.token("local", |_, _| {});
        assert_eq!(auth_outcome(&auth, &token).await, "unknown_key");
        provider.publish(&["ed"]);
        assert_eq!(auth_outcome(&auth, &token).await, "ok", "a new key is looked for");
        provider.publish(&["ec"]);
        // The token is cached, but not for longer than its key is accepted.
        while auth_outcome(&auth, &token).await == "ok" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(auth_outcome(&auth, &token).await, "unknown_key");
        provider.publish(&["ed"]);
        assert_eq!(auth_outcome(&auth, &token).await, "ok");
        std::fs::write(&provider.file, "{").unwrap();
        while auth_outcome(&auth, &token).await == "ok" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(auth_outcome(&auth, &token).await, "unknown_key", "a damaged file holds no keys");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn unregistered_subject_needs_auto_register() {
        for test in auth_fixtures().await {
            let provider = TestIssuer::new(test.folder.path());
            let strict_auth = auth_with_issuer(&test, provider.config()).await;
            let token = provider.token("local", |_, payload| {
                payload["scope"] = "table:read payment_intent:approve not-a-scope".into();
            });
            assert_eq!(auth_outcome(&strict_auth, &token).await, "agent_unregistered");
            assert!(test.auth.agents(&test.db.tenant).await.unwrap().is_empty());
            let open_auth =
                auth_with_issuer(&test, IssuerConfig { auto_register: true, ..provider.config() }).await;
            let caller = open_auth.authenticate(Some(&format!("Bearer {token}"))).await.unwrap();
            assert_eq!(caller.scopes.to_string(), "table:read");
            let agents = test.auth.agents(&test.db.tenant).await.unwrap();
            assert_eq!((agents.len(), agents[0].scopes.to_string().as_str()), (1, "table:read"));
            // A later token does not widen the registration.
            let more = provider.token("local", |_, payload| payload["scope"] = "*:*".into());
            let caller = open_auth.authenticate(Some(&format!("Bearer {more}"))).await.unwrap();
            assert_eq!(caller.scopes.to_string(), "table:read");
            assert_eq!(auth_outcome(&strict_auth, &token).await, "ok");
            for unknown_tenant in ["nowhere", "system"] {
                assert_eq!(
                    auth_outcome(&open_auth, &provider.token(unknown_tenant, |_, _| {})).await,
                    "agent_unregistered"
                );
            }
            let nothing = provider.token("local", |_, payload| {
                payload["sub"] = "c".into();
                payload["scope"] = "payment_intent:approve".into();
            });
            assert_eq!(auth_outcome(&open_auth, &nothing).await, "agent_unregistered");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn quarantined_agent_is_rejected_with_external_token() {
        for test in auth_fixtures().await {
            let provider = TestIssuer::new(test.folder.path());
            let auth = auth_with_issuer(&test, provider.config()).await;
            register_agent_a(&test, "table:read").await;
            let header = format!("Bearer {}", provider.token("local", |_, _| {}));
            let before = auth.authenticate(Some(&header)).await.unwrap();
            let set = test.auth.set_agent_state(&test.db.tenant, "a", AgentState::Quarantined, "operator");
            set.await.unwrap();
            let credential = before.credential_read_set.clone().unwrap();
            let event = quad_core::EventDraft::call(&before, "ping");
            use quad_core::AuditLog as _;
            let recorded = auth
                .store
                .append(&before.tenant, event, quad_core::ReadSets::from_iter([credential]), None)
                .await;
            assert!(matches!(recorded, Err(quad_core::AppendError::Stale(0))));
            auth.evict_token(&header);
            assert_eq!(expect_auth_error(&auth, Some(&header)).await.code(), "agent_not_registered");
            auth.flush_refusals().await;
            assert!(test.audit_records(&test.db.tenant).await.contains("agent_quarantined"));
            assert!(!test.audit_records(&TenantId::system()).await.contains("agent_quarantined"));
        }
    }

    #[tokio::test]
    async fn open_rejects_invalid_issuer_config() {
        let folder = tempfile::tempdir().unwrap();
        let provider = TestIssuer::new(folder.path());
        let good = || provider.config();
        let refused = [
            IssuerConfig { issuer: "quad".to_owned(), ..good() },
            IssuerConfig { issuer: String::new(), ..good() },
            IssuerConfig { audience: String::new(), ..good() },
            IssuerConfig { algorithms: Vec::new(), ..good() },
            IssuerConfig { jwks_file: folder.path().join("missing"), ..good() },
        ];
        for config in refused {
            assert_eq!(Issuer::open(config).await.unwrap_err().code(), "ISSUER_INVALID");
        }
        std::fs::write(&provider.file, r#"{"keys":[{"kty":"oct","kid":"a","k":"AA"}]}"#).unwrap();
        assert_eq!(Issuer::open(good()).await.unwrap_err().code(), "ISSUER_INVALID");
        std::fs::write(&provider.file, vec![b' '; limits::KEY_SET_BYTES_MAX as usize + 1]).unwrap();
        assert_eq!(Issuer::open(good()).await.unwrap_err().kind(), Kind::Limit);
    }
}
