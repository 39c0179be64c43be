//! A checkpoint: a signed statement of a tenant's chain: its number of events and its Merkle root.
//!
//! It is one line of canonical JSON. The signature covers that line without `kid`, `public_key` and `signature`,
//! after a prefix line that names the purpose, so that the signature of a token can never be accepted as one of a
//! checkpoint. Each checkpoint contains the hash of the previous one, including its signature.

use quad_core::{Result, Timestamp, canonical};
use serde_json::{Value, json};

use crate::chain_error;
use crate::hash::{Hash, decode_hex};
use crate::signer::{SignatureWithKey, Signer, is_valid_signature, kid};

/// Precedes the signed text.
const SIGNATURE_PREFIX: &str = "quadrivium audit checkpoint 1\n";

/// The contents of a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// The tenant of the chain.
    pub tenant: String,
    /// The number of events.
    pub size: u64,
    /// The Merkle root over the hashes of the events.
    pub root: Hash,
    /// The hash of the last event.
    pub event_hash: Hash,
    /// The hash of the previous checkpoint.
    pub previous: Option<Hash>,
    /// When it was made.
    pub time: Timestamp,
}

/// A statement with its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The contents.
    pub statement: Statement,
    /// The signature and its key.
    pub signature: SignatureWithKey,
}

impl Statement {
    fn to_json(&self) -> Value {
        json!({
            "event_hash": self.event_hash,
            "previous": self.previous,
            "root": self.root,
            "size": self.size,
            "tenant": self.tenant,
            "time": self.time,
        })
    }

    fn message(&self) -> String {
        format!("{SIGNATURE_PREFIX}{}", canonical::to_string(&self.to_json()))
    }

    /// Signs the statement.
    pub fn sign(self, signer: &dyn Signer) -> Checkpoint {
        let signature = signer.sign(self.message().as_bytes());
        Checkpoint { statement: self, signature }
    }
}

impl Checkpoint {
    /// The JSON object.
    pub fn to_json(&self) -> Value {
        let mut value = self.statement.to_json();
        value["kid"] = kid(&self.signature.public_key).into();
        value["public_key"] = canonical::hex(&self.signature.public_key).into();
        value["signature"] = canonical::hex(&self.signature.signature).into();
        value
    }

    /// The canonical line.
    pub fn to_line(&self) -> String {
        canonical::to_string(&self.to_json())
    }

    /// The hash of the canonical line. The next checkpoint contains it.
    pub fn hash(&self) -> Hash {
        Hash::compute(self.to_line().as_bytes())
    }

    /// The id of the key that signed it.
    pub fn kid(&self) -> String {
        kid(&self.signature.public_key)
    }

    /// Whether the signature is valid for the key that the checkpoint names.
    pub fn has_valid_signature(&self) -> bool {
        is_valid_signature(
            &self.signature.public_key,
            self.statement.message().as_bytes(),
            &self.signature.signature,
        )
    }

    /// Parses a checkpoint from JSON in any layout. The signature is not verified.
    pub fn from_json(value: &Value) -> Option<Checkpoint> {
        let text = |name: &str| value.get(name)?.as_str();
        let statement = Statement {
            tenant: text("tenant")?.to_owned(),
            size: value.get("size")?.as_u64()?,
            root: Hash::parse(text("root")?)?,
            event_hash: Hash::parse(text("event_hash")?)?,
            previous: match value.get("previous")? {
                Value::Null => None,
                Value::String(hash) => Some(Hash::parse(hash)?),
                _ => return None,
            },
            time: Timestamp::parse(text("time")?)?,
        };
        let signature = SignatureWithKey {
            public_key: decode_hex(text("public_key")?)?,
            signature: decode_hex(text("signature")?)?,
        };
        let checkpoint = Checkpoint { statement, signature };
        // No other members, and the key id is that of the key.
        (checkpoint.to_json() == *value).then_some(checkpoint)
    }

    /// Parses a canonical line.
    pub fn parse(line: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::from_json(&serde_json::from_str(line).ok()?)?;
        (checkpoint.to_line() == line).then_some(checkpoint)
    }

    /// Parses a checkpoint from the database.
    pub(crate) fn from_db(body: &str) -> Result<Checkpoint> {
        Checkpoint::parse(body)
            .ok_or_else(|| chain_error::stored_chain("a checkpoint in the database cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::TestKey;

    fn checkpoint() -> Checkpoint {
        let statement = Statement {
            tenant: "tnt_1".to_owned(),
            size: 7,
            root: Hash::compute(b"root"),
            event_hash: Hash::compute(b"event"),
            previous: None,
            time: Timestamp(1_770_854_400_000),
        };
        statement.sign(&TestKey::new(1))
    }

    #[test]
    fn checkpoint_line_and_json_round_trip() {
        let first = checkpoint();
        assert!(first.has_valid_signature());
        assert_eq!(Checkpoint::parse(&first.to_line()).as_ref(), Some(&first));
        let second = Statement { previous: Some(first.hash()), size: 9, ..first.statement.clone() };
        let second = second.sign(&TestKey::new(1));
        assert_eq!(Checkpoint::parse(&second.to_line()), Some(second));
        let pretty = format!("{:#}", first.to_json());
        let reread = Checkpoint::from_json(&serde_json::from_str(&pretty).unwrap());
        assert_eq!(reread.as_ref(), Some(&first));
        assert_eq!(Checkpoint::parse(&pretty), None, "one spelling");
    }

    #[test]
    fn any_changed_byte_fails_parse_or_signature() {
        let line = checkpoint().to_line();
        for offset in 0..line.len() {
            for byte in [b'0', b'1', b'a', b'"', b' ', b'}'] {
                let mut changed = line.clone().into_bytes();
                if changed[offset] == byte {
                    continue;
                }
                changed[offset] = byte;
                let changed = String::from_utf8(changed).unwrap();
                let passes =
                    Checkpoint::parse(&changed).is_some_and(|checkpoint| checkpoint.has_valid_signature());
                assert!(!passes, "{changed}");
            }
        }
    }

    #[test]
    fn signature_of_another_key_is_rejected() {
        let (first_key, second_key) = (checkpoint(), checkpoint().statement.sign(&TestKey::new(2)));
        assert!(second_key.has_valid_signature() && second_key.kid() != first_key.kid());
        let mixed = SignatureWithKey {
            public_key: first_key.signature.public_key.clone(),
            ..second_key.signature.clone()
        };
        assert!(!Checkpoint { signature: mixed, ..second_key }.has_valid_signature());
    }
}
