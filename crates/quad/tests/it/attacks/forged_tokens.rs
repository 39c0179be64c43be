//! Tokens that the server did not issue.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::fixture::{AttackFixture, VICTIM};
use crate::http::Request;

/// The parts of a token.
pub struct TokenParts {
    pub header: Value,
    pub claims: Value,
    pub signature: Vec<u8>,
}

impl TokenParts {
    pub fn parse(token: &str) -> TokenParts {
        let parts: Vec<Vec<u8>> = token.split('.').map(|part| BASE64.decode(part).unwrap()).collect();
        let json = |part: &[u8]| serde_json::from_slice(part).unwrap();
        TokenParts { header: json(&parts[0]), claims: json(&parts[1]), signature: parts[2].clone() }
    }

    fn signing_input(&self) -> String {
        signing_input(&self.header.to_string(), &self.claims.to_string())
    }

    /// The token with its old signature.
    pub fn to_token(&self) -> String {
        with_signature(&self.signing_input(), &self.signature)
    }

    /// The token signed with a key that the server does not know.
    pub fn sign_with_foreign_key(&self) -> String {
        let input = self.signing_input();
        with_signature(&input, foreign_key().sign(input.as_bytes()).as_ref())
    }

    /// The token with an HMAC under a public value.
    pub fn sign_with_hmac(&self, secret: &[u8]) -> String {
        let input = self.signing_input();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        with_signature(&input, hmac::sign(&key, input.as_bytes()).as_ref())
    }
}

pub fn signing_input(header: &str, claims: &str) -> String {
    format!("{}.{}", BASE64.encode(header), BASE64.encode(claims))
}

pub fn with_signature(input: &str, signature: &[u8]) -> String {
    format!("{input}.{}", BASE64.encode(signature))
}

fn foreign_key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[66; 32]).unwrap()
}

/// The public key of that unknown key, as a JSON Web Key.
pub fn foreign_public_jwk() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": BASE64.encode(foreign_key().public_key().as_ref())})
}

/// The intruder's token with edited content and its old signature.
pub fn edit_token(fixture: &AttackFixture, edit: impl FnOnce(&mut TokenParts)) -> String {
    let mut parts = TokenParts::parse(&fixture.intruder_token);
    edit(&mut parts);
    parts.to_token()
}

/// The intruder's token with an edited signature.
pub fn edit_signature(fixture: &AttackFixture, edit: impl FnOnce(&mut Vec<u8>)) -> String {
    edit_token(fixture, |parts| edit(&mut parts.signature))
}

/// The intruder's claims with the victim's tenant.
pub fn with_victim_tenant(fixture: &AttackFixture) -> TokenParts {
    let mut parts = TokenParts::parse(&fixture.intruder_token);
    parts.claims["tenant_id"] = fixture.instance.tenant_id(VICTIM).into();
    parts
}

/// The server's public key.
pub fn server_public_key(fixture: &AttackFixture) -> Vec<u8> {
    let response = fixture.fetch(&Request::new("GET", "/.well-known/jwks.json"));
    let key_set: Value = serde_json::from_slice(&response.body).unwrap();
    BASE64.decode(key_set["keys"][0]["x"].as_str().unwrap()).unwrap()
}

/// Adds a member to the text of an object, even if the object already has it.
pub fn with_duplicate_member(object: &Value, member: &str) -> String {
    format!("{},{member}}}", object.to_string().strip_suffix('}').unwrap())
}

/// The group order of Ed25519, least significant byte first. A verifier that does not check the range accepts a
/// signature with this added to its scalar.
const GROUP_ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// Adds the group order to the scalar of a signature.
pub fn malleate_signature(signature: &mut [u8]) {
    let mut carry = 0u16;
    for (byte, order) in signature[32..].iter_mut().zip(GROUP_ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
}
