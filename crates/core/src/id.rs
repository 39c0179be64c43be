//! Typed ids: a prefix for the kind of entity, then a ULID.

use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom, SystemRandom};

use crate::lock::MutexExt as _;
use crate::{Error, Result};

/// Declares a typed id, so that code never passes ids as bare strings.
#[macro_export]
macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Box<str>);

        impl $name {
            /// The prefix of every generated id of this kind.
            pub const PREFIX: &'static str = $prefix;

            /// A new id.
            pub fn generate() -> $crate::Result<$name> {
                $crate::id::ulid().map(|ulid| $name(format!("{}{ulid}", Self::PREFIX).into()))
            }

            /// Parses an id from an address or an argument. Checks the grammar only: ids are opaque and need
            /// not have the prefix.
            pub fn parse(text: &str) -> Option<$name> {
                $crate::id::is_id(text).then(|| $name(text.into()))
            }

            /// An id read from the database; not checked again.
            pub fn from_db(text: impl Into<Box<str>>) -> $name {
                $name(text.into())
            }

            /// The id as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

/// Whether `text` fits `[A-Za-z0-9_-]{1,64}`, the grammar of every id.
pub fn is_id(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

/// Ascending ULIDs from one random number, for code that needs many at once.
#[derive(Debug)]
pub struct UlidGenerator(u128);

impl UlidGenerator {
    /// A generator that starts at the current time.
    pub fn new() -> Result<UlidGenerator> {
        timestamp_and_random_bits().map(UlidGenerator)
    }

    /// The next ULID.
    pub fn next_ulid(&mut self) -> String {
        let text = encode(self.0);
        self.0 = self.0.wrapping_add(1);
        text
    }
}

/// A ULID: 48 bits of milliseconds and 80 random bits, as 26 upper-case characters of Crockford's base 32.
///
/// ULIDs of one process ascend, also within a millisecond and after the clock was set back. Rows with such
/// ids sort in the order in which they were created.
pub fn ulid() -> Result<String> {
    static LAST: Mutex<u128> = Mutex::new(0);
    let bits = timestamp_and_random_bits()?;
    let mut last = LAST.lock_unpoisoned();
    *last = bits.max(last.wrapping_add(1));
    Ok(encode(*last))
}

fn timestamp_and_random_bits() -> Result<u128> {
    let mut random_bytes = [0u8; 10];
    SystemRandom::new()
        .fill(&mut random_bytes)
        .map_err(|_| Error::internal("the system random number generator failed"))?;
    let now_ms = SystemTime::now().duration_since(UNIX_EPOCH).map_err(Error::internal)?.as_millis();
    let random_bits = random_bytes.iter().fold(0u128, |bits, byte| bits << 8 | u128::from(*byte));
    Ok(now_ms << 80 | random_bits)
}

fn encode(bits: u128) -> String {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    let text = (0..26).rev().map(|index| ALPHABET[(bits >> (5 * index) & 31) as usize]).collect();
    // The alphabet is ASCII, so this cannot fail.
    String::from_utf8(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    typed_id!(
        /// An id for the tests below.
        ThingId,
        "thing_"
    );

    #[test]
    fn encode_matches_ulid_specification() {
        assert_eq!(encode(0), "0".repeat(26));
        assert_eq!(encode(u128::MAX), "7ZZZZZZZZZZZZZZZZZZZZZZZZZ");
        assert_eq!(encode(31), format!("{}Z", "0".repeat(25)));
    }

    #[test]
    fn ulids_increase_within_one_millisecond() {
        let ulids: Vec<String> = (0..10_000).map(|_| ulid().unwrap()).collect();
        let milliseconds: std::collections::BTreeSet<&str> = ulids.iter().map(|id| &id[..10]).collect();
        assert!(milliseconds.len() < 5_000, "the test needs several ULIDs in one millisecond");
        assert!(ulids.is_sorted_by(|previous, next| previous < next));
    }

    #[test]
    fn a_generated_id_parses_and_sorts_by_time() {
        let first = ThingId::generate().unwrap();
        std::thread::sleep(std::time::Duration::from_millis(2));
        let second = ThingId::generate().unwrap();
        assert!(first < second);
        assert_eq!(ThingId::parse(first.as_str()), Some(first.clone()));
        assert!(first.as_str().starts_with("thing_") && first.as_str().len() == 32);
        assert_eq!(ThingId::from_db(first.as_str()), first);
        assert_eq!(ThingId::parse("a/b"), None);
        assert_eq!(ThingId::parse(""), None);
    }
}
