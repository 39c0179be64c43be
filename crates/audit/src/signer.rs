//! Who signs. The key itself lives elsewhere; this crate is handed something that can use it.

use quad_core::canonical;
use ring::signature::{ED25519, UnparsedPublicKey};

/// An Ed25519 signature with what is needed to check it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureWithKey {
    /// The public half of the key.
    pub public_key: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

/// Something that signs with the server's current key.
pub trait Signer: Send + Sync {
    /// Signs.
    fn sign(&self, message: &[u8]) -> SignatureWithKey;
}

/// The name of a key: the first 16 hexadecimal digits of its public half's SHA-256, as in tokens.
pub(crate) fn kid(public_key: &[u8]) -> String {
    let mut kid = canonical::sha256_hex(public_key);
    kid.truncate(16);
    kid
}

/// Whether `signature` was made over `message` with the private half of `public_key`.
pub(crate) fn is_valid_signature(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public_key).verify(message, signature).is_ok()
}
