//! An external issuer: who else may say who is asking.
//!
//! Its tokens are checked with its public keys, which lie in a file: fetching them is the business of whoever runs the
//! server, and nothing here opens a connection. The file is read again when it changes. A file that is missing or damaged
//! holds no keys: then nobody comes in, which is seen, rather than somebody who should not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use quad_core::{Error, Kind, PrincipalKind, Result, ScopeSet, Timestamp};
use serde_json::Value;

use crate::jwk::{Algorithm, KeySet};
use crate::jws::{self, Compact};
use crate::refusal::Reason;
use crate::reloaded::Reloaded;
use crate::{grant, limits};

/// What is trusted, and how its claims are read.
#[derive(Clone, Debug)]
pub struct IssuerConfig {
    /// The `iss` of its tokens.
    pub issuer: String,
    /// Our own name in its tokens' `aud`.
    pub audience: String,
    /// The file with its JSON Web Key Set.
    pub jwks_file: PathBuf,
    /// How its tokens may be signed.
    pub algorithms: Vec<Algorithm>,
    /// Which claim says what.
    pub claims: ClaimNames,
    /// Whether a subject that nobody has registered is registered by its first token, with what that claims.
    pub auto_register: bool,
}

/// The names of the claims.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimNames {
    /// The tenant, by id or by name.
    pub tenant: String,
    /// Who holds the token.
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

/// What a token of the issuer says. The tenant is as the token spells it.
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
    keys: Reloaded<KeySet>,
}

impl Issuer {
    /// Reads the keys. At the start a file without any is an error, not an empty set.
    pub async fn open(config: IssuerConfig) -> Result<Issuer> {
        let invalid = |message: &str| Error::new(Kind::BadInput, "ISSUER_INVALID", message);
        if config.issuer.is_empty() || config.audience.is_empty() || config.algorithms.is_empty() {
            return Err(invalid("An issuer needs a name, an audience and at least one algorithm"));
        }
        if config.issuer == jws::ISSUER {
            return Err(invalid("The issuer's name is the one of this server's own tokens")
                .hint("Take the `iss` that stands in the issuer's tokens, usually a URL"));
        }
        let keys = read(config.jwks_file.clone()).await?;
        if keys.is_empty() {
            return Err(invalid("The issuer's key set has no key that can be used")
                .hint("Each key needs a kid, and must be RSA, P-256 or Ed25519, for signatures"));
        }
        Ok(Issuer { config, keys: Reloaded::new(keys) })
    }

    /// Tells the present keys from others. Looks for new ones now and then.
    pub(crate) async fn mark(&self) -> Result<u64> {
        Ok(self.keys.recent(limits::KEY_SET_AGE, self.read()).await?.mark)
    }

    /// Whether a token says that it is the issuer's. Proves nothing.
    pub(crate) fn is_claimed_by(&self, token: &Compact<'_>) -> bool {
        token.text("iss") == Some(&self.config.issuer)
    }

    /// Whether a token names one of the issuer's keys. Proves nothing either.
    pub(crate) fn is_named_by(&self, token: &Compact<'_>) -> bool {
        token.kid().is_some_and(|kid| self.keys.get().find(kid).is_some())
    }

    /// What `token` says, provided that the issuer signed it, for us, that its time is now, and that it is short enough; and
    /// the mark of the keys that say so.
    pub(crate) async fn verify(
        &self,
        token: &Compact<'_>,
        now: Timestamp,
    ) -> Result<(ExternalClaims, u64), Reason> {
        let algorithm = token.algorithm().and_then(Algorithm::parse);
        let algorithm = algorithm.filter(|algorithm| self.config.algorithms.contains(algorithm));
        let algorithm = algorithm.ok_or(Reason::Algorithm)?;
        let kid = token.kid().ok_or(Reason::UnknownKey)?;
        let mut keys = self.keys.get();
        if keys.find(kid).is_none() {
            keys = self.keys.newer(self.read()).await.map_err(Reason::Failed)?;
        }
        let key = keys.find(kid).ok_or(Reason::UnknownKey)?;
        if key.algorithm() != algorithm {
            return Err(Reason::Algorithm);
        }
        if !key.verifies(token.signed, &token.signature) {
            return Err(Reason::BadSignature);
        }
        if !self.is_claimed_by(token) {
            return Err(Reason::WrongIssuer);
        }
        if !token.is_for(&self.config.audience) {
            return Err(Reason::WrongAudience);
        }
        let (issued_at, expires_at) = token.times(now)?;
        if expires_at.0.saturating_sub(issued_at.0) > limits::EXTERNAL_TTL_MS_MAX {
            return Err(Reason::LivesTooLong);
        }
        Ok((self.read_claims(token, expires_at)?, keys.mark))
    }

    fn read_claims(&self, token: &Compact<'_>, expires_at: Timestamp) -> Result<ExternalClaims, Reason> {
        let names = &self.config.claims;
        let text = |name: &str| token.text(name).ok_or(Reason::Malformed);
        let subject = text(&names.subject)?;
        grant::check_subject(subject).map_err(|_| Reason::Malformed)?;
        let kind = match token.payload.get(&names.kind) {
            None => None,
            Some(kind) => Some(kind.as_str().and_then(PrincipalKind::parse).ok_or(Reason::Malformed)?),
        };
        let scopes = match token.payload.get(&names.scopes) {
            Some(Value::String(several)) => ScopeSet::parse(several),
            Some(Value::Array(several)) => {
                let texts: Option<Vec<&str>> = several.iter().map(Value::as_str).collect();
                ScopeSet::parse(&texts.ok_or(Reason::Malformed)?.join(" "))
            }
            _ => return Err(Reason::Malformed),
        };
        Ok(ExternalClaims {
            tenant: text(&names.tenant)?.to_owned(),
            subject: subject.into(),
            kind,
            scopes,
            expires_at,
        })
    }

    /// The keys as the file has them; none, with a line in the log, if it cannot be used.
    async fn read(&self) -> Result<KeySet> {
        let path = self.config.jwks_file.clone();
        let shown = path.display().to_string();
        Ok(read(path).await.unwrap_or_else(|error| {
            tracing::error!(file = shown, cause = %error, "the issuer's keys cannot be read: none of its tokens is accepted");
            KeySet::default()
        }))
    }
}

async fn read(path: PathBuf) -> Result<KeySet> {
    tokio::task::spawn_blocking(move || read_file(&path)).await.map_err(Error::internal)?
}

fn read_file(path: &Path) -> Result<KeySet> {
    use std::io::Read as _;
    let unreadable = |error: std::io::Error| {
        Error::new(Kind::BadInput, "ISSUER_INVALID", format!("{} cannot be read: {error}", path.display()))
            .hint("jwks_file in the issuer's settings names the file with its JSON Web Key Set")
    };
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(limits::KEY_SET_BYTES + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limits::KEY_SET_BYTES {
        return Err(Error::new(Kind::Limit, "KEY_SET_INVALID", format!("{} is too large", path.display()))
            .with_detail("limit_bytes", limits::KEY_SET_BYTES));
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
    use crate::gate::tests::{KNOWN, TestGate, gates, outcome, refusal};
    use crate::key::SigningKey;
    use crate::{AgentState, Gate, RegisterRequest};

    const ISS: &str = "https://auth.example.com/";

    /// The issuer's side: an Ed25519 key named `ed`, a P-256 key named `ec`, and the file with their public halves.
    struct Provider {
        ed: SigningKey,
        ec: EcdsaKeyPair,
        file: PathBuf,
    }

    impl Provider {
        fn new(folder: &Path) -> Provider {
            let chance = SystemRandom::new();
            let pkcs8 = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &chance).unwrap();
            let ec =
                EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, pkcs8.as_ref(), &chance).unwrap();
            let ed = SigningKey::from_seed(&crate::key::random().unwrap()).unwrap();
            let provider = Provider { ed, ec, file: folder.join("jwks.json") };
            provider.publish(&["ed", "ec"]);
            provider
        }

        /// Writes the key set, as an operator would: under another name first.
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
            let draft = self.file.with_extension("new");
            std::fs::write(&draft, json!({"keys": keys}).to_string()).unwrap();
            std::fs::rename(draft, &self.file).unwrap();
        }

        fn config(&self) -> IssuerConfig {
            IssuerConfig {
                issuer: ISS.to_owned(),
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

        /// A good token of agent `a`, after a change.
        fn token(&self, tenant: &str, change: impl FnOnce(&mut Value, &mut Value)) -> String {
            let now = Timestamp::now().0 / 1_000;
            let mut header = json!({"alg": "EdDSA", "kid": "ed", "typ": "at+jwt"});
            let mut payload = json!({
                "iss": ISS, "aud": ["other", "quad-test"], "sub": "a", "tenant_id": tenant,
                "principal_type": "agent", "scope": "table:read project:create", "iat": now, "exp": now + 600,
            });
            change(&mut header, &mut payload);
            self.sign(&header, &payload)
        }
    }

    async fn with_issuer(test: &TestGate, config: IssuerConfig) -> Gate {
        test.another_process().await.with_issuer(Issuer::open(config).await.unwrap())
    }

    async fn register(test: &TestGate, scopes: &str) {
        let request = RegisterRequest {
            tenant: test.place.tenant.clone(),
            subject: "a".to_owned(),
            kind: PrincipalKind::Agent,
            scopes: scopes.to_owned(),
            actor: "operator".to_owned(),
        };
        test.gate.register_agent(request, &KNOWN).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_token_of_the_issuer_opens_what_claim_and_registry_share() {
        for test in gates().await {
            let provider = Provider::new(test.folder.path());
            let gate = with_issuer(&test, provider.config()).await;
            register(&test, "table:* table:data:*").await;
            for tenant in [test.place.tenant.as_str(), "local"] {
                for kid in ["ed", "ec"] {
                    let alg = if kid == "ed" { "EdDSA" } else { "ES256" };
                    let token = provider.token(tenant, |header, _| {
                        *header = json!({"alg": alg, "kid": kid});
                    });
                    let caller = gate.authenticate(Some(&format!("Bearer {token}"))).await.unwrap();
                    assert_eq!((&caller.tenant, &*caller.subject), (&test.place.tenant, "a"));
                    assert_eq!(caller.scopes.to_string(), "table:read");
                    assert_eq!(caller.kind, PrincipalKind::Agent);
                    assert!(caller.expires_at.is_some() && caller.credential_read_set.is_some());
                }
            }
            let local = test.gate.mint(test.request("b", "table:read"), &KNOWN).await.unwrap();
            assert_eq!(outcome(&gate, &local.token).await, "ok", "our own tokens are still good");
            assert_eq!(outcome(&test.gate, &provider.token("local", |_, _| {})).await, "unknown_key");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn each_fault_has_its_reason_and_all_are_401() {
        let test = &gates().await[0];
        let provider = Provider::new(test.folder.path());
        let gate = with_issuer(test, provider.config()).await;
        register(test, "table:read").await;
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
            assert_eq!(outcome(&gate, &provider.token("local", change)).await, expect, "{name}");
        }
        let good = provider.token("local", |_, _| {});
        let (signed, signature) = good.rsplit_once('.').unwrap();
        let (head, payload) = signed.split_once('.').unwrap();
        let more = provider.token("local", claim("scope", "*:*".into()));
        let forged = format!("{head}.{}.{signature}", more.split('.').nth(1).unwrap());
        assert_eq!(outcome(&gate, &forged).await, "bad_signature");
        assert_eq!(outcome(&gate, &format!("{signed}.")).await, "bad_signature");
        let twice =
            String::from_utf8(BASE64.decode(payload).unwrap()).unwrap().replacen('{', r#"{"sub":"b","#, 1);
        assert_eq!(
            outcome(&gate, &format!("{head}.{}.{signature}", BASE64.encode(twice))).await,
            "duplicate_claim"
        );
        assert_eq!(outcome(&gate, &"x".repeat(limits::EXTERNAL_TOKEN_BYTES + 1)).await, "too_long");
        // One MAC with the published key as its secret, the classic confusion.
        let confused = format!("{}.{payload}", BASE64.encode(r#"{"alg":"HS256","kid":"ed"}"#));
        let mac = ring::hmac::sign(
            &ring::hmac::Key::new(ring::hmac::HMAC_SHA256, provider.ed.public_key()),
            confused.as_bytes(),
        );
        assert_eq!(outcome(&gate, &format!("{confused}.{}", BASE64.encode(mac))).await, "algorithm");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_algorithm_that_is_not_configured_is_refused() {
        let test = &gates().await[0];
        let provider = Provider::new(test.folder.path());
        let config = IssuerConfig { algorithms: vec![Algorithm::Es256], ..provider.config() };
        let gate = with_issuer(test, config).await;
        register(test, "table:read").await;
        assert_eq!(outcome(&gate, &provider.token("local", |_, _| {})).await, "algorithm");
        let ec = provider.token("local", |header, _| *header = json!({"alg": "ES256", "kid": "ec"}));
        assert_eq!(outcome(&gate, &ec).await, "ok");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_claims_have_the_names_that_are_configured() {
        let test = &gates().await[0];
        let provider = Provider::new(test.folder.path());
        let claims = ClaimNames {
            tenant: "org".to_owned(),
            subject: "client_id".to_owned(),
            kind: "type".to_owned(),
            scopes: "scp".to_owned(),
        };
        let gate = with_issuer(test, IssuerConfig { claims, ..provider.config() }).await;
        register(test, "table:read").await;
        let token = provider.token("nowhere", |_, payload| {
            payload["org"] = "local".into();
            payload["sub"] = "somebody|else".into();
            payload["client_id"] = "a".into();
            payload["scp"] = json!(["table:read"]);
        });
        assert_eq!(outcome(&gate, &token).await, "ok");
        assert_eq!(outcome(&gate, &provider.token("local", |_, _| {})).await, "malformed");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn keys_come_and_go_with_the_file() {
        let test = &gates().await[0];
        let provider = Provider::new(test.folder.path());
        provider.publish(&["ec"]);
        let gate = with_issuer(test, provider.config()).await;
        register(test, "table:read").await;
        let token = provider.token("local", |_, _| {});
        assert_eq!(outcome(&gate, &token).await, "unknown_key");
        provider.publish(&["ed"]);
        assert_eq!(outcome(&gate, &token).await, "ok", "a new key is looked for");
        provider.publish(&["ec"]);
        // The token is remembered; but not for longer than its key is.
        while outcome(&gate, &token).await == "ok" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(outcome(&gate, &token).await, "unknown_key");
        provider.publish(&["ed"]);
        assert_eq!(outcome(&gate, &token).await, "ok");
        std::fs::write(&provider.file, "{").unwrap();
        while outcome(&gate, &token).await == "ok" {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
        assert_eq!(outcome(&gate, &token).await, "unknown_key", "a damaged file holds no keys");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn an_unregistered_subject_comes_in_only_where_tokens_register() {
        for test in gates().await {
            let provider = Provider::new(test.folder.path());
            let strict = with_issuer(&test, provider.config()).await;
            let token = provider.token("local", |_, payload| {
                payload["scope"] = "table:read payment_intent:approve not-a-scope".into();
            });
            assert_eq!(outcome(&strict, &token).await, "agent_unregistered");
            assert!(test.gate.agents(&test.place.tenant).await.unwrap().is_empty());
            let open = with_issuer(&test, IssuerConfig { auto_register: true, ..provider.config() }).await;
            let caller = open.authenticate(Some(&format!("Bearer {token}"))).await.unwrap();
            assert_eq!(caller.scopes.to_string(), "table:read");
            let agents = test.gate.agents(&test.place.tenant).await.unwrap();
            assert_eq!((agents.len(), agents[0].scopes.to_string().as_str()), (1, "table:read"));
            // A later token does not widen it.
            let more = provider.token("local", |_, payload| payload["scope"] = "*:*".into());
            let caller = open.authenticate(Some(&format!("Bearer {more}"))).await.unwrap();
            assert_eq!(caller.scopes.to_string(), "table:read");
            assert_eq!(outcome(&strict, &token).await, "ok");
            for nowhere in ["nowhere", "system"] {
                assert_eq!(outcome(&open, &provider.token(nowhere, |_, _| {})).await, "agent_unregistered");
            }
            let nothing = provider.token("local", |_, payload| {
                payload["sub"] = "c".into();
                payload["scope"] = "payment_intent:approve".into();
            });
            assert_eq!(outcome(&open, &nothing).await, "agent_unregistered");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_halted_agent_is_refused_with_an_external_token_too() {
        for test in gates().await {
            let provider = Provider::new(test.folder.path());
            let gate = with_issuer(&test, provider.config()).await;
            register(&test, "table:read").await;
            let header = format!("Bearer {}", provider.token("local", |_, _| {}));
            let before = gate.authenticate(Some(&header)).await.unwrap();
            let set = test.gate.set_agent_state(&test.place.tenant, "a", AgentState::Quarantined, "operator");
            set.await.unwrap();
            let proof = before.credential_read_set.clone().unwrap();
            let event = quad_core::EventDraft::call(&before, "ping");
            use quad_core::AuditLog as _;
            let recorded = gate.store.append(&before.tenant, event, vec![proof]).await;
            assert!(matches!(recorded, Err(quad_core::AppendError::Stale(0))));
            gate.forget(&header);
            assert_eq!(refusal(&gate, Some(&header)).await.code(), "agent_not_registered");
            gate.settle().await;
            assert!(test.audit(&test.place.tenant).await.contains("agent_quarantined"));
            assert!(!test.audit(&TenantId::system()).await.contains("agent_quarantined"));
        }
    }

    #[tokio::test]
    async fn an_issuer_that_could_never_work_is_refused_at_the_start() {
        let folder = tempfile::tempdir().unwrap();
        let provider = Provider::new(folder.path());
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
        std::fs::write(&provider.file, vec![b' '; limits::KEY_SET_BYTES as usize + 1]).unwrap();
        assert_eq!(Issuer::open(good()).await.unwrap_err().kind(), Kind::Limit);
    }
}
