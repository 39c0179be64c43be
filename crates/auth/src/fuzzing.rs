//! The decoders of this crate without a service, for fuzzing with keys of known seeds.
//!
//! Only for `quad-fuzz-targets`. Production code must not call it.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use quad_core::{Result, Timestamp};

pub use crate::jws::Claims;

use crate::jws::{self, CompactJws};
use crate::key::{self, Seed, SigningKey};
use crate::keyring::{KeyEntry, Keyring};

/// Signing keys of known seeds.
#[derive(Debug)]
pub struct FuzzKeys(Keyring);

impl FuzzKeys {
    /// The keys of these seeds. The first one signs.
    pub fn new(seeds: &[Seed]) -> Result<FuzzKeys> {
        let entry = |(age, seed): (usize, &Seed)| {
            Ok(KeyEntry {
                key: SigningKey::from_seed(seed)?,
                created_at: Timestamp(-(age as i64)),
                retired_at: (age > 0).then_some(Timestamp(0)),
            })
        };
        Keyring::new(seeds.iter().enumerate().map(entry).collect::<Result<_>>()?).map(FuzzKeys)
    }

    /// The claims of a token, or the reason why it is rejected.
    pub fn verify(&self, token: &str, now: Timestamp) -> Result<Claims, &'static str> {
        let verified = CompactJws::parse(token).and_then(|token| jws::verify(&self.0, &token, now));
        verified.map_err(|reason| reason.as_str())
    }

    /// The id of the key that signs.
    pub fn kid(&self) -> &str {
        self.0.current().kid()
    }

    /// A signed token of these two parts, whatever they contain.
    pub fn sign(&self, header: &[u8], claims: &[u8]) -> String {
        let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims));
        let signature = BASE64.encode(self.0.current().sign(signed.as_bytes()));
        format!("{signed}.{signature}")
    }

    /// Whether one of the keys signed exactly this token. An Ed25519 signature is deterministic, so there is only
    /// one.
    pub fn has_signed(&self, token: &str) -> bool {
        let Some((signed, signature)) = token.rsplit_once('.') else { return false };
        self.0.iter().any(|entry| BASE64.encode(entry.key.sign(signed.as_bytes())) == signature)
    }

    /// An opaque signed string.
    pub fn sign_opaque(&self, purpose: &str, payload: &[u8]) -> String {
        self.0.current().sign_opaque(purpose, payload)
    }

    /// The payload of an opaque signed string.
    pub fn verify_opaque(&self, purpose: &str, opaque: &str) -> Option<Vec<u8>> {
        self.0.find(key::opaque_kid(opaque))?.verify_opaque(purpose, opaque)
    }
}
