//! Target `token`: bearer tokens, session ids, and the JSON in them.
//!
//! The first byte selects the form of the rest:
//! * `T`: a token;
//! * `S`: header and claims with a NUL between them, which are signed first. Otherwise no input would get past the
//!   signature;
//! * `J`: a JSON document;
//! * `E`: a session id.

use std::sync::OnceLock;

use quad_auth::fuzzing::FuzzKeys;
use quad_core::Timestamp;
use quad_core::strict_json::{self, StrictJsonError};
use serde_json::Value;

/// The current time in this target.
const NOW: Timestamp = Timestamp(1_800_000_000_500);

/// The tolerated difference between clocks.
const TOLERANCE_MS: i64 = quad_auth::limits::CLOCK_TOLERANCE_MS;

const PURPOSE: &str = "session";

/// serde_json uses this name internally, so the two compared parsers differ on documents that contain it.
const RESERVED: &[u8] = b"$serde_json";

fn keys() -> &'static FuzzKeys {
    static KEYS: OnceLock<FuzzKeys> = OnceLock::new();
    KEYS.get_or_init(|| FuzzKeys::new(&[[1; 32], [3; 32]]).unwrap())
}

/// Checks any bytes as a credential.
pub fn token(data: &[u8]) {
    match data.split_first() {
        Some((b'S', rest)) => check_signed_token(rest),
        Some((b'J', rest)) => check_strict_json(rest),
        Some((b'E', rest)) => check_opaque(rest),
        Some((b'T', rest)) => check_token(rest),
        _ => check_token(data),
    }
}

/// Only a token that our keys have signed, in exactly this spelling, is accepted.
fn check_token(data: &[u8]) {
    let Ok(token) = std::str::from_utf8(data) else { return };
    if keys().verify(token, NOW).is_ok() {
        assert!(keys().has_signed(token), "a forged token was accepted: {token}");
    }
}

/// A signed token is accepted only if issuer, audience and time are right. Its verified claims equal those that any
/// JSON parser reads.
fn check_signed_token(data: &[u8]) {
    let mut parts = data.splitn(2, |byte| *byte == 0);
    let (header, claims) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
    let token = keys().sign(header, claims);
    let Ok(verified) = keys().verify(&token, NOW) else { return };
    if data.windows(RESERVED.len()).any(|window| window == RESERVED) {
        return;
    }
    let [header, claims] = [header, claims].map(|part| serde_json::from_slice::<Value>(part).unwrap());
    assert_eq!(header["alg"], "EdDSA");
    assert_eq!(header["kid"], keys().kid());
    assert!(header.get("crit").is_none());
    assert_eq!(claims["iss"], "quad");
    let is_our_audience = |audience: &Value| audience == "quad";
    assert!(
        is_our_audience(&claims["aud"])
            || claims["aud"].as_array().is_some_and(|audiences| audiences.iter().any(is_our_audience))
    );
    assert_eq!(claims["sub"], &*verified.subject);
    assert_eq!(claims["tenant_id"], verified.tenant.as_str());
    assert_eq!(claims["principal_type"], verified.kind.as_str());
    assert_eq!(claims["jti"], verified.id.as_str());
    assert!(verified.expires_at.0.saturating_add(TOLERANCE_MS) > NOW.0, "expired");
    assert!(verified.issued_at.0 <= NOW.0 + TOLERANCE_MS, "not valid yet");
    // The same header and claims with another signature are rejected.
    let other_token = keys().sign(b"{}", b"{}");
    let (signed, _) = token.rsplit_once('.').unwrap();
    let (_, signature) = other_token.rsplit_once('.').unwrap();
    assert_eq!(keys().verify(&format!("{signed}.{signature}"), NOW), Err("bad_signature"));
}

/// The strict parser accepts what serde_json accepts, except documents with a repeated name.
fn check_strict_json(data: &[u8]) {
    if data.windows(RESERVED.len()).any(|window| window == RESERVED) {
        return;
    }
    let library = serde_json::from_slice::<Value>(data);
    match (strict_json::parse_object(data), library) {
        (Ok(strict), Ok(Value::Object(library))) => assert_eq!(strict, library),
        (Ok(_), other) => panic!("serde_json reads {other:?} where the strict parser reads an object"),
        (Err(StrictJsonError::Duplicate(_)), _) => {}
        (Err(_), Ok(Value::Object(_))) => {
            panic!("the strict parser rejects a document without repeated names")
        }
        (Err(_), _) => {}
    }
}

/// A signed opaque string verifies only as signed and only for its purpose.
fn check_opaque(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(payload) = keys().verify_opaque(PURPOSE, text)
    {
        assert_eq!(keys().sign_opaque(PURPOSE, &payload), text, "a signed string has two spellings");
        assert_eq!(keys().verify_opaque("cursor", text), None);
    }
    let opaque = keys().sign_opaque(PURPOSE, data);
    assert_eq!(keys().verify_opaque(PURPOSE, &opaque).as_deref(), Some(data));
    assert_eq!(keys().verify_opaque(PURPOSE, &format!("{opaque}A")), None);
}
