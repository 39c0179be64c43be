//! Tokens, session ids, and the JSON inside them.
//!
//! The first byte says what the rest is: `T` a token, `S` a header and claims with a NUL between them, to be signed first, `J`
//! a document, `E` a session id. Without signing, nothing behind the signature would ever be reached.

use std::sync::OnceLock;

use quad_auth::fuzzing::{self, FuzzKeys};
use quad_core::Timestamp;
use serde_json::Value;

/// When everything happens here.
const NOW: Timestamp = Timestamp(1_800_000_000_500);

/// What clocks may differ by.
const TOLERANCE_MS: i64 = quad_auth::limits::CLOCK_TOLERANCE_MS;

const PURPOSE: &str = "session";

/// With this name in it, one of the two readers that are compared sees something that the other does not: the library uses it
/// for itself.
const RESERVED: &[u8] = b"$serde_json";

fn keys() -> &'static FuzzKeys {
    static KEYS: OnceLock<FuzzKeys> = OnceLock::new();
    KEYS.get_or_init(|| FuzzKeys::new(&[[1; 32], [3; 32]]).unwrap())
}

/// Any bytes as a credential.
pub fn token(data: &[u8]) {
    match data.split_first() {
        Some((b'S', rest)) => check_signed_token(rest),
        Some((b'J', rest)) => check_strict_json(rest),
        Some((b'E', rest)) => check_opaque(rest),
        Some((b'T', rest)) => check_token(rest),
        _ => check_token(data),
    }
}

/// No token is accepted that our keys have not signed, in exactly this spelling.
fn check_token(data: &[u8]) {
    let Ok(token) = std::str::from_utf8(data) else { return };
    if keys().verify(token, NOW).is_ok() {
        assert!(keys().has_signed(token), "a forged token was accepted: {token}");
    }
}

/// What was signed is accepted only if it is for us, from us and of now; and then it says what any reader sees in it.
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
    assert!(verified.expires_at.0.saturating_add(TOLERANCE_MS) > NOW.0, "it has ended");
    assert!(verified.issued_at.0 <= NOW.0 + TOLERANCE_MS, "it has not begun");
    // The same words under any other signature are nothing.
    let other_token = keys().sign(b"{}", b"{}");
    let (signed, _) = token.rsplit_once('.').unwrap();
    let (_, signature) = other_token.rsplit_once('.').unwrap();
    assert_eq!(keys().verify(&format!("{signed}.{signature}"), NOW), Err("bad_signature"));
}

/// The strict reader reads what the library reads, but for names that stand twice.
fn check_strict_json(data: &[u8]) {
    if data.windows(RESERVED.len()).any(|window| window == RESERVED) {
        return;
    }
    let library = serde_json::from_slice::<Value>(data);
    match (fuzzing::parse_object(data), library) {
        (Ok(strict), Ok(Value::Object(library))) => assert_eq!(strict, library),
        (Ok(_), other) => panic!("the library sees {other:?} where the strict reader sees an object"),
        (Err("duplicate_claim"), _) => {}
        (Err(_), Ok(Value::Object(_))) => panic!("the strict reader refuses what says everything once"),
        (Err(_), _) => {}
    }
}

/// A sealed string opens only as it was sealed; and what is sealed opens.
fn check_opaque(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data)
        && let Some(payload) = keys().verify_opaque(PURPOSE, text)
    {
        assert_eq!(keys().sign_opaque(PURPOSE, &payload), text, "a sealed string has two spellings");
        assert_eq!(keys().verify_opaque("cursor", text), None);
    }
    let opaque = keys().sign_opaque(PURPOSE, data);
    assert_eq!(keys().verify_opaque(PURPOSE, &opaque).as_deref(), Some(data));
    assert_eq!(keys().verify_opaque(PURPOSE, &format!("{opaque}A")), None);
}
