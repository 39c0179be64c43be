//! A token's text: a compact JWS, signed with Ed25519, and the claims inside it.
//!
//! Pure: no clock and no database. What a good signature does not prove (that the token is registered and has not been
//! revoked) is asked elsewhere.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{PrincipalKind, ScopeSet, TenantId, Timestamp};
use serde_json::{Map, Value, json};

use crate::key::SigningKey;
use crate::keyring::Keyring;
use crate::limits::CLOCK_TOLERANCE_MS;
use crate::refusal::Reason;
use crate::strict_json;

/// Who makes local tokens.
pub const ISSUER: &str = "quad";

/// Whom they are made for.
const AUDIENCE: &str = "quad";

/// What a token says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The token's id.
    pub id: String,
    /// Whose data its holder may see.
    pub tenant: TenantId,
    /// Its holder.
    pub subject: Arc<str>,
    /// Program or person.
    pub kind: PrincipalKind,
    /// What its holder may do.
    pub scopes: ScopeSet,
    /// When it was made; a whole second, as in the text.
    pub issued_at: Timestamp,
    /// When it ends; a whole second, as in the text.
    pub expires_at: Timestamp,
}

/// The token that says `claims`.
pub fn sign(key: &SigningKey, claims: &Claims) -> String {
    let header = json!({"alg": "EdDSA", "kid": key.kid(), "typ": "JWT"});
    let payload = json!({
        "iss": ISSUER,
        "aud": AUDIENCE,
        "sub": &*claims.subject,
        "tenant_id": claims.tenant.as_str(),
        "principal_type": claims.kind.as_str(),
        "scope": claims.scopes.to_string(),
        "jti": claims.id,
        "iat": claims.issued_at.0.div_euclid(1_000),
        "exp": claims.expires_at.0.div_euclid(1_000),
    });
    compose(key, &header, &payload)
}

fn compose(key: &SigningKey, header: &Value, payload: &Value) -> String {
    let signed = format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(payload.to_string()));
    let signature = BASE64.encode(key.sign(signed.as_bytes()));
    format!("{signed}.{signature}")
}

/// A compact JWS, taken apart. Nothing in it is proven yet.
#[derive(Debug)]
pub struct Compact<'t> {
    /// What the signature covers.
    pub signed: &'t [u8],
    /// The signature.
    pub signature: Vec<u8>,
    /// The header.
    pub header: Map<String, Value>,
    /// The claims.
    pub payload: Map<String, Value>,
}

impl<'t> Compact<'t> {
    /// Takes a token apart: three parts, the first two of which are objects that say nothing twice.
    pub fn parse(token: &'t str) -> Result<Compact<'t>, Reason> {
        let (signed, signature) = token.rsplit_once('.').ok_or(Reason::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(Reason::Malformed)?;
        let signature = BASE64.decode(signature).map_err(|_| Reason::Malformed)?;
        let compact = Compact {
            signed: signed.as_bytes(),
            signature,
            header: object(header)?,
            payload: object(payload)?,
        };
        // Whoever demands that we understand more than we do must be told that we do not.
        if compact.header.contains_key("crit") {
            return Err(Reason::Malformed);
        }
        Ok(compact)
    }

    /// How the header says that it is signed.
    pub fn algorithm(&self) -> Option<&str> {
        self.header.get("alg").and_then(Value::as_str)
    }

    /// The key that the header names.
    pub fn kid(&self) -> Option<&str> {
        self.header.get("kid").and_then(Value::as_str)
    }

    /// A claim that is a text.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.payload.get(name).and_then(Value::as_str)
    }

    /// A claim that is a time, in seconds.
    pub fn time(&self, name: &str) -> Result<Option<Timestamp>, Reason> {
        let Some(value) = self.payload.get(name) else { return Ok(None) };
        // A fraction of a second is allowed and of no use here.
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64));
        let seconds = seconds.ok_or(Reason::Malformed)?;
        Ok(Some(Timestamp(seconds.saturating_mul(1_000))))
    }

    /// Whether it was made for `audience`.
    pub fn is_for(&self, audience: &str) -> bool {
        match self.payload.get("aud") {
            Some(Value::Array(several)) => several.iter().any(|one| one == audience),
            one => one.is_some_and(|one| one == audience),
        }
    }

    /// Its times: when it was made, and when it ends, provided that now lies between them.
    pub fn times(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), Reason> {
        let issued_at = self.time("iat")?.ok_or(Reason::Malformed)?;
        let expires_at = self.time("exp")?.ok_or(Reason::Malformed)?;
        let begins_at = self.time("nbf")?.unwrap_or(issued_at).max(issued_at);
        if expires_at.plus_ms(CLOCK_TOLERANCE_MS) <= now {
            return Err(Reason::Expired);
        }
        if begins_at > now.plus_ms(CLOCK_TOLERANCE_MS) {
            return Err(Reason::NotYetValid);
        }
        Ok((issued_at, expires_at))
    }
}

/// What `token` says, provided that we signed it, for us, and that its time is now.
///
/// No claim is used before the signature has been checked.
pub fn verify(ring: &Keyring, token: &Compact<'_>, now: Timestamp) -> Result<Claims, Reason> {
    // The algorithm is ours to say, not the token's: anything else, `none` above all, is not a token of this server.
    if token.algorithm() != Some("EdDSA") {
        return Err(Reason::Algorithm);
    }
    let key = token.kid().and_then(|kid| ring.find(kid)).ok_or(Reason::UnknownKey)?;
    if !key.verifies(token.signed, &token.signature) {
        return Err(Reason::BadSignature);
    }
    if token.text("iss") != Some(ISSUER) {
        return Err(Reason::WrongIssuer);
    }
    if !token.is_for(AUDIENCE) {
        return Err(Reason::WrongAudience);
    }
    let (issued_at, expires_at) = token.times(now)?;
    let text = |name: &str| token.text(name).ok_or(Reason::Malformed);
    Ok(Claims {
        id: text("jti")?.to_owned(),
        tenant: TenantId::new(text("tenant_id")?),
        subject: text("sub")?.into(),
        kind: PrincipalKind::parse(text("principal_type")?).ok_or(Reason::Malformed)?,
        scopes: ScopeSet::parse(text("scope")?),
        issued_at,
        expires_at,
    })
}

fn object(part: &str) -> Result<Map<String, Value>, Reason> {
    strict_json::object(&BASE64.decode(part).map_err(|_| Reason::Malformed)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::ring;

    const NOW: Timestamp = Timestamp(1_800_000_000_500);

    fn key(byte: u8) -> SigningKey {
        SigningKey::from_seed(&[byte; 32]).unwrap()
    }

    fn claims() -> Claims {
        Claims {
            id: "tok_01".into(),
            tenant: TenantId::new("t1"),
            subject: "agent@example.com".into(),
            kind: PrincipalKind::Agent,
            scopes: ScopeSet::parse("table:read project:*"),
            issued_at: Timestamp(1_800_000_000_000),
            expires_at: Timestamp(1_800_000_060_000),
        }
    }

    /// Signs claims after a change, as an attacker who had the key or a server of another time would.
    fn signed_with(change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let token = sign(&key(1), &claims());
        let mut parts = token.split('.').map(|part| BASE64.decode(part).unwrap());
        let mut header: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
        let mut payload: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
        change(&mut header, &mut payload);
        compose(&key(1), &header, &payload)
    }

    fn check(token: &str, now: Timestamp, expect: &str) {
        // Key 1 signs; key 3 did, some time ago.
        let outcome = match Compact::parse(token).and_then(|token| verify(&ring(&[1, 3]), &token, now)) {
            Ok(found) if found == claims() => "ok".to_owned(),
            Ok(found) => format!("{found:?}"),
            Err(reason) => format!("{reason:?}"),
        };
        assert_eq!(outcome, expect, "{token}");
    }

    #[test]
    fn says_what_was_signed() {
        check(&sign(&key(1), &claims()), NOW, "ok");
        check(&signed_with(|_, payload| payload["aud"] = json!(["other", "quad"])), NOW, "ok");
        check(&signed_with(|_, payload| payload["nbf"] = json!(1_800_000_000)), NOW, "ok");
        check(&sign(&key(3), &claims()), NOW, "ok");
    }

    #[test]
    fn a_token_that_says_something_twice_says_nothing() {
        let good = sign(&key(1), &claims());
        let decoded = |part: usize| {
            String::from_utf8(BASE64.decode(good.split('.').nth(part).unwrap()).unwrap()).unwrap()
        };
        let doubled = |text: &str, member: &str| format!("{},{member}}}", text.strip_suffix('}').unwrap());
        let signed = |header: &str, payload: &str| {
            let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(payload));
            format!("{signed}.{}", BASE64.encode(key(1).sign(signed.as_bytes())))
        };
        let (header, payload) = (decoded(0), decoded(1));
        check(&signed(&header, &payload), NOW, "ok");
        check(&signed(&header, &doubled(&payload, r#""sub":"other""#)), NOW, "DuplicateClaim");
        check(&signed(&doubled(&header, r#""alg":"EdDSA""#), &payload), NOW, "DuplicateClaim");
    }

    #[test]
    fn the_header_is_what_other_implementations_expect() {
        let token = sign(&key(1), &claims());
        let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header, json!({"alg": "EdDSA", "kid": key(1).kid(), "typ": "JWT"}));
    }

    #[test]
    fn each_fault_has_its_reason() {
        let good = sign(&key(1), &claims());
        let (signed, _) = good.rsplit_once('.').unwrap();
        check("", NOW, "Malformed");
        check("a.b", NOW, "Malformed");
        check("a.b.c", NOW, "Malformed");
        check(&format!("{good}.x"), NOW, "Malformed");
        check(&format!("{signed}."), NOW, "BadSignature");
        check(&sign(&key(2), &claims()), NOW, "UnknownKey");
        check(&signed_with(|header, _| header["alg"] = json!("none")), NOW, "Algorithm");
        check(&signed_with(|header, _| header["alg"] = json!("HS256")), NOW, "Algorithm");
        check(&signed_with(|header, _| header["crit"] = json!(["b64"])), NOW, "Malformed");
        check(&signed_with(|header, _| header["kid"] = json!("0000000000000000")), NOW, "UnknownKey");
        check(&signed_with(|_, payload| payload["iss"] = json!("other")), NOW, "WrongIssuer");
        check(&signed_with(|_, payload| payload["aud"] = json!("other")), NOW, "WrongAudience");
        check(&signed_with(|_, payload| payload["aud"] = json!([])), NOW, "WrongAudience");
        check(&signed_with(|_, payload| payload["principal_type"] = json!("root")), NOW, "Malformed");
        check(&signed_with(|_, payload| payload["nbf"] = json!(1_800_000_030)), NOW, "NotYetValid");
        check(&signed_with(|_, payload| payload["nbf"] = json!("soon")), NOW, "Malformed");
        for claim in ["sub", "tenant_id", "principal_type", "scope", "jti", "iat", "exp"] {
            check(&signed_with(|_, payload| payload[claim] = Value::Null), NOW, "Malformed");
        }
    }

    #[test]
    fn a_changed_payload_does_not_pass() {
        let good = sign(&key(1), &claims());
        let more = sign(&key(1), &Claims { scopes: ScopeSet::parse("*:*"), ..claims() });
        let payload = more.split('.').nth(1).unwrap();
        let parts: Vec<_> = good.split('.').collect();
        check(&format!("{}.{payload}.{}", parts[0], parts[2]), NOW, "BadSignature");
    }

    #[test]
    fn clocks_may_differ_by_five_seconds() {
        let token = sign(&key(1), &claims());
        check(&token, Timestamp(1_800_000_064_999), "ok");
        check(&token, Timestamp(1_800_000_065_000), "Expired");
        check(&token, Timestamp(1_799_999_995_000), "ok");
        check(&token, Timestamp(1_799_999_994_999), "NotYetValid");
    }
}
