//! The interface to the signing key. The key itself is in another crate.

use quad_core::canonical;
use ring::signature::{ED25519, UnparsedPublicKey};

/// An Ed25519 signature with the key that verifies it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignatureWithKey {
    /// The public key.
    pub public_key: Vec<u8>,
    /// The signature.
    pub signature: Vec<u8>,
}

/// Signs with the server's current key.
pub trait Signer: Send + Sync {
    /// Signs a message.
    fn sign(&self, message: &[u8]) -> SignatureWithKey;
}

/// The key id: the first 16 hexadecimal digits of the SHA-256 of the public key, as in tokens.
pub(crate) fn kid(public_key: &[u8]) -> String {
    let mut kid = canonical::sha256_hex(public_key);
    kid.truncate(16);
    kid
}

/// Whether `signature` is a valid signature of `message`.
pub(crate) fn is_valid_signature(public_key: &[u8], message: &[u8], signature: &[u8]) -> bool {
    UnparsedPublicKey::new(&ED25519, public_key).verify(message, signature).is_ok()
}
