//! A token's text: a compact JWS, signed with Ed25519, and the claims in it.
//!
//! Pure: no clock and no database. A valid signature does not prove that the token is registered and not revoked; the
//! service checks that.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::strict_json::{self, StrictJsonError};
use quad_core::{PrincipalKind, ScopeSet, TenantId, Timestamp};
use serde_json::{Map, Value, json};

use crate::auth_error::AuthErrorKind;
use crate::key::SigningKey;
use crate::keyring::Keyring;
use crate::limits::CLOCK_TOLERANCE_MS;

/// The issuer of local tokens.
pub const ISSUER: &str = "quad";

/// The audience of local tokens.
const AUDIENCE: &str = "quad";

/// The claims of a local token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The token id.
    pub id: String,
    /// The tenant of the holder.
    pub tenant: TenantId,
    /// The subject that holds the token.
    pub subject: Arc<str>,
    /// Program or person.
    pub kind: PrincipalKind,
    /// The scopes that the token claims.
    pub scopes: ScopeSet,
    /// When it was issued; a whole second, as in the text.
    pub issued_at: Timestamp,
    /// When it expires; a whole second, as in the text.
    pub expires_at: Timestamp,
}

/// The text of a token with these claims.
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
    encode(key, &header, &payload)
}

fn encode(key: &SigningKey, header: &Value, payload: &Value) -> String {
    let signing_input =
        format!("{}.{}", BASE64.encode(header.to_string()), BASE64.encode(payload.to_string()));
    let signature = BASE64.encode(key.sign(signing_input.as_bytes()));
    format!("{signing_input}.{signature}")
}

/// A parsed compact JWS. Its signature is not verified yet.
#[derive(Debug)]
pub struct CompactJws<'t> {
    /// The bytes that the signature covers.
    pub signing_input: &'t [u8],
    /// The signature.
    pub signature: Vec<u8>,
    /// The header.
    pub header: Map<String, Value>,
    /// The claims.
    pub payload: Map<String, Value>,
}

impl<'t> CompactJws<'t> {
    /// Parses a token: three parts, of which the first two are objects without duplicate names.
    pub fn parse(token: &'t str) -> Result<CompactJws<'t>, AuthErrorKind> {
        let (signing_input, signature) = token.rsplit_once('.').ok_or(AuthErrorKind::Malformed)?;
        let (header, payload) = signing_input.split_once('.').ok_or(AuthErrorKind::Malformed)?;
        let signature = BASE64.decode(signature).map_err(|_| AuthErrorKind::Malformed)?;
        let compact = CompactJws {
            signing_input: signing_input.as_bytes(),
            signature,
            header: decode_object(header)?,
            payload: decode_object(payload)?,
        };
        // RFC 7515: a token with critical extensions that are not understood must be rejected.
        if compact.header.contains_key("crit") {
            return Err(AuthErrorKind::Malformed);
        }
        Ok(compact)
    }

    /// The algorithm that the header names.
    pub fn algorithm(&self) -> Option<&str> {
        self.header.get("alg").and_then(Value::as_str)
    }

    /// The key that the header names.
    pub fn kid(&self) -> Option<&str> {
        self.header.get("kid").and_then(Value::as_str)
    }

    /// A claim of type string.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.payload.get(name).and_then(Value::as_str)
    }

    /// A claim of type NumericDate (seconds).
    pub fn time(&self, name: &str) -> Result<Option<Timestamp>, AuthErrorKind> {
        let Some(value) = self.payload.get(name) else { return Ok(None) };
        // RFC 7519 allows a fraction of a second; it is dropped.
        let seconds = value.as_i64().or_else(|| value.as_f64().map(|seconds| seconds.floor() as i64));
        let seconds = seconds.ok_or(AuthErrorKind::Malformed)?;
        Ok(Some(Timestamp(seconds.saturating_mul(1_000))))
    }

    /// Whether the token is for this audience.
    pub fn has_audience(&self, audience: &str) -> bool {
        match self.payload.get("aud") {
            Some(Value::Array(list)) => list.iter().any(|item| item == audience),
            value => value.is_some_and(|value| value == audience),
        }
    }

    /// When the token was issued and when it expires. An error unless `now` is between the two.
    pub fn validity(&self, now: Timestamp) -> Result<(Timestamp, Timestamp), AuthErrorKind> {
        let issued_at = self.time("iat")?.ok_or(AuthErrorKind::Malformed)?;
        let expires_at = self.time("exp")?.ok_or(AuthErrorKind::Malformed)?;
        let not_before = self.time("nbf")?.unwrap_or(issued_at).max(issued_at);
        if expires_at.plus_ms(CLOCK_TOLERANCE_MS) <= now {
            return Err(AuthErrorKind::Expired);
        }
        if not_before > now.plus_ms(CLOCK_TOLERANCE_MS) {
            return Err(AuthErrorKind::NotYetValid);
        }
        Ok((issued_at, expires_at))
    }
}

/// The claims of `token`, if this server signed it for its own audience and it is valid now.
///
/// No claim is used before the signature has been verified.
pub fn verify(keyring: &Keyring, token: &CompactJws<'_>, now: Timestamp) -> Result<Claims, AuthErrorKind> {
    // Only EdDSA is accepted. The token cannot choose the algorithm; `none` in particular is rejected.
    if token.algorithm() != Some("EdDSA") {
        return Err(AuthErrorKind::Algorithm);
    }
    let key = token.kid().and_then(|kid| keyring.find(kid)).ok_or(AuthErrorKind::UnknownKey)?;
    if !key.verify(token.signing_input, &token.signature) {
        return Err(AuthErrorKind::BadSignature);
    }
    if token.text("iss") != Some(ISSUER) {
        return Err(AuthErrorKind::WrongIssuer);
    }
    if !token.has_audience(AUDIENCE) {
        return Err(AuthErrorKind::WrongAudience);
    }
    let (issued_at, expires_at) = token.validity(now)?;
    let text = |name: &str| token.text(name).ok_or(AuthErrorKind::Malformed);
    Ok(Claims {
        id: text("jti")?.to_owned(),
        tenant: TenantId::new(text("tenant_id")?),
        subject: text("sub")?.into(),
        kind: PrincipalKind::parse(text("principal_type")?).ok_or(AuthErrorKind::Malformed)?,
        scopes: ScopeSet::parse(text("scope")?),
        issued_at,
        expires_at,
    })
}

fn decode_object(part: &str) -> Result<Map<String, Value>, AuthErrorKind> {
    let bytes = BASE64.decode(part).map_err(|_| AuthErrorKind::Malformed)?;
    strict_json::parse_object(&bytes).map_err(|error| match error {
        StrictJsonError::Duplicate(_) => AuthErrorKind::DuplicateClaim,
        StrictJsonError::Syntax(_) | StrictJsonError::NotAnObject => AuthErrorKind::Malformed,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keyring::tests::keyring_from_seeds;

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

    /// Signs modified claims, as an attacker who has the key, or a server with another clock, would.
    fn token_with(change: impl FnOnce(&mut Value, &mut Value)) -> String {
        let token = sign(&key(1), &claims());
        let mut parts = token.split('.').map(|part| BASE64.decode(part).unwrap());
        let mut header: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
        let mut payload: Value = serde_json::from_slice(&parts.next().unwrap()).unwrap();
        change(&mut header, &mut payload);
        encode(&key(1), &header, &payload)
    }

    fn check(token: &str, now: Timestamp, expect: &str) {
        // Key 1 is current; key 3 is retired.
        let outcome = match CompactJws::parse(token)
            .and_then(|token| verify(&keyring_from_seeds(&[1, 3]), &token, now))
        {
            Ok(verified) if verified == claims() => "ok".to_owned(),
            Ok(verified) => format!("{verified:?}"),
            Err(reason) => format!("{reason:?}"),
        };
        assert_eq!(outcome, expect, "{token}");
    }

    #[test]
    fn verify_returns_the_signed_claims() {
        check(&sign(&key(1), &claims()), NOW, "ok");
        check(&token_with(|_, payload| payload["aud"] = json!(["other", "quad"])), NOW, "ok");
        check(&token_with(|_, payload| payload["nbf"] = json!(1_800_000_000)), NOW, "ok");
        check(&sign(&key(3), &claims()), NOW, "ok");
    }

    #[test]
    fn rejects_token_with_duplicate_members() {
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
    fn header_names_algorithm_kid_and_type() {
        let token = sign(&key(1), &claims());
        let header = BASE64.decode(token.split('.').next().unwrap()).unwrap();
        let header: Value = serde_json::from_slice(&header).unwrap();
        assert_eq!(header, json!({"alg": "EdDSA", "kid": key(1).kid(), "typ": "JWT"}));
    }

    #[test]
    fn each_token_error_has_its_kind() {
        let good = sign(&key(1), &claims());
        let (signed, _) = good.rsplit_once('.').unwrap();
        check("", NOW, "Malformed");
        check("a.b", NOW, "Malformed");
        check("a.b.c", NOW, "Malformed");
        check(&format!("{good}.x"), NOW, "Malformed");
        check(&format!("{signed}."), NOW, "BadSignature");
        check(&sign(&key(2), &claims()), NOW, "UnknownKey");
        check(&token_with(|header, _| header["alg"] = json!("none")), NOW, "Algorithm");
        check(&token_with(|header, _| header["alg"] = json!("HS256")), NOW, "Algorithm");
        check(&token_with(|header, _| header["crit"] = json!(["b64"])), NOW, "Malformed");
        check(&token_with(|header, _| header["kid"] = json!("0000000000000000")), NOW, "UnknownKey");
        check(&token_with(|_, payload| payload["iss"] = json!("other")), NOW, "WrongIssuer");
        check(&token_with(|_, payload| payload["aud"] = json!("other")), NOW, "WrongAudience");
        check(&token_with(|_, payload| payload["aud"] = json!([])), NOW, "WrongAudience");
        check(&token_with(|_, payload| payload["principal_type"] = json!("root")), NOW, "Malformed");
        check(&token_with(|_, payload| payload["nbf"] = json!(1_800_000_030)), NOW, "NotYetValid");
        check(&token_with(|_, payload| payload["nbf"] = json!("soon")), NOW, "Malformed");
        for claim in ["sub", "tenant_id", "principal_type", "scope", "jti", "iat", "exp"] {
            check(&token_with(|_, payload| payload[claim] = Value::Null), NOW, "Malformed");
        }
    }

    #[test]
    fn changed_payload_is_rejected() {
        let good = sign(&key(1), &claims());
        let more = sign(&key(1), &Claims { scopes: ScopeSet::parse("*:*"), ..claims() });
        let payload = more.split('.').nth(1).unwrap();
        let parts: Vec<_> = good.split('.').collect();
        check(&format!("{}.{payload}.{}", parts[0], parts[2]), NOW, "BadSignature");
    }

    #[test]
    fn clock_tolerance_is_five_seconds() {
        let token = sign(&key(1), &claims());
        check(&token, Timestamp(1_800_000_064_999), "ok");
        check(&token, Timestamp(1_800_000_065_000), "Expired");
        check(&token, Timestamp(1_799_999_995_000), "ok");
        check(&token, Timestamp(1_799_999_994_999), "NotYetValid");
    }
}
