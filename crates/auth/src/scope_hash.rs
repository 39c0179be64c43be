//! The scope hash of a registration: Keccak-256 of the scopes, sorted and joined by `|`.
//!
//! Other agent registries store a grant in this form, so their entries can be compared with ours. It also detects a
//! row whose scopes were edited without the hash: the agent is then rejected instead of getting more scopes.

use quad_core::{ScopeSet, canonical};
use sha3::{Digest as _, Keccak256};

/// The hash, as `0x` and 64 hexadecimal digits.
pub fn compute(scopes: &ScopeSet) -> String {
    // A scope set is sorted by bytes and has no duplicates.
    let joined = scopes.iter().collect::<Vec<_>>().join("|");
    format!("0x{}", canonical::hex(&Keccak256::digest(joined.as_bytes())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hash_matches_published_vectors() {
        let check =
            |scopes: &str, expect: &str| assert_eq!(compute(&ScopeSet::parse(scopes)), expect, "{scopes}");
        check("ledger:read", "0x77accb02f7558dc54466e6b2d42a69c7a6acc42d8a8f4cfc51d3f455e08366ee");
        check(
            "execution:propose ledger:read payment_intent:propose wiki:read",
            "0xe5c560b489fa55c2a55066435093cf43a818e91b1f573b5be27c9df64571a9d4",
        );
        check(
            "wiki:read raw:write payment_intent:propose ledger:read execution:propose ledger:read",
            "0x306272799e20c495f6a284b49aab3c48ec3c2b584a6996e3773f93f406aca685",
        );
    }
}
