//! Tokens that nobody gave out.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use ring::hmac;
use ring::signature::{Ed25519KeyPair, KeyPair as _};
use serde_json::{Value, json};

use super::house::{House, VICTIM};
use crate::http::Request;

/// A genuine token, taken apart.
pub struct Parts {
    pub header: Value,
    pub claims: Value,
    pub signature: Vec<u8>,
}

impl Parts {
    pub fn of(token: &str) -> Parts {
        let parts: Vec<Vec<u8>> = token.split('.').map(|part| BASE64.decode(part).unwrap()).collect();
        let json = |part: &[u8]| serde_json::from_slice(part).unwrap();
        Parts { header: json(&parts[0]), claims: json(&parts[1]), signature: parts[2].clone() }
    }

    fn signed(&self) -> String {
        signed(&self.header.to_string(), &self.claims.to_string())
    }

    /// Put together again, with the signature that it had.
    pub fn token(&self) -> String {
        with_signature(&self.signed(), &self.signature)
    }

    /// Put together again and signed by somebody else.
    pub fn signed_by_another(&self) -> String {
        let signed = self.signed();
        with_signature(&signed, another_key().sign(signed.as_bytes()).as_ref())
    }

    /// Put together again, with a MAC under a secret that everybody knows.
    pub fn sealed_with(&self, secret: &[u8]) -> String {
        let signed = self.signed();
        let key = hmac::Key::new(hmac::HMAC_SHA256, secret);
        with_signature(&signed, hmac::sign(&key, signed.as_bytes()).as_ref())
    }
}

pub fn signed(header: &str, claims: &str) -> String {
    format!("{}.{}", BASE64.encode(header), BASE64.encode(claims))
}

pub fn with_signature(signed: &str, signature: &[u8]) -> String {
    format!("{signed}.{}", BASE64.encode(signature))
}

fn another_key() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[66; 32]).unwrap()
}

/// The public half of that other key, as a header may carry it.
pub fn another_public_key() -> Value {
    json!({"kty": "OKP", "crv": "Ed25519", "x": BASE64.encode(another_key().public_key().as_ref())})
}

/// The intruder's token after a change of what it says, with the signature that it had.
pub fn changed(house: &House, change: impl FnOnce(&mut Parts)) -> String {
    let mut parts = Parts::of(&house.intruder);
    change(&mut parts);
    parts.token()
}

/// A genuine signature of other length or spelling.
pub fn resigned(house: &House, change: impl FnOnce(&mut Vec<u8>)) -> String {
    changed(house, |parts| change(&mut parts.signature))
}

/// The intruder's claims, but the victim's tenant.
pub fn as_the_victim(house: &House) -> Parts {
    let mut parts = Parts::of(&house.intruder);
    parts.claims["tenant_id"] = house.place.tenant_id(VICTIM).into();
    parts
}

/// The server's own public key, which everybody may know.
pub fn public_key(house: &House) -> Vec<u8> {
    let set = house.response(&Request::new("GET", "/.well-known/jwks.json"));
    let set: Value = serde_json::from_slice(&set.body).unwrap();
    BASE64.decode(set["keys"][0]["x"].as_str().unwrap()).unwrap()
}

/// Adds a member to the text of an object, also one that is there already.
pub fn doubled(object: &Value, member: &str) -> String {
    format!("{},{member}}}", object.to_string().strip_suffix('}').unwrap())
}

/// The group order of Ed25519, from the least byte on: a signature plus this is the same point of view for a careless verifier.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14, 0, 0, 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

/// The other spelling of a signature that a careless verifier accepts.
pub fn malleated(signature: &mut [u8]) {
    let mut carry = 0u16;
    for (byte, order) in signature[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        *byte = sum as u8;
        carry = sum >> 8;
    }
}
