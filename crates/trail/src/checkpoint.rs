//! A checkpoint: a signed statement that a tenant's chain had so many events and that root.
//!
//! It is one line of canonical JSON. Signed is that line without `kid`, `public_key` and `signature`, behind a line that
//! says what is signed, so that the signature of a token can never pass as one of these. Each names the hash of the one
//! before it, signature and all.

use quad_core::{Result, Timestamp, canonical};
use serde_json::{Value, json};

use crate::fault;
use crate::hash::{Hash, unhex};
use crate::signer::{Signed, Signer, kid, verifies};

/// What stands before the signed text.
const PURPOSE: &str = "quadrivium audit checkpoint 1\n";

/// What a checkpoint says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statement {
    /// Whose chain.
    pub tenant: String,
    /// How many events.
    pub size: u64,
    /// The root of the tree over their hashes.
    pub root: Hash,
    /// The hash of the last of them.
    pub event_hash: Hash,
    /// The hash of the checkpoint before.
    pub previous: Option<Hash>,
    /// When it was made.
    pub time: Timestamp,
}

/// A statement and its signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// What it says.
    pub statement: Statement,
    /// Who says so.
    pub signed: Signed,
}

impl Statement {
    fn json(&self) -> Value {
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
        format!("{PURPOSE}{}", canonical::to_string(&self.json()))
    }

    /// Signs it.
    pub fn sign(self, signer: &dyn Signer) -> Checkpoint {
        let signed = signer.sign(self.message().as_bytes());
        Checkpoint { statement: self, signed }
    }
}

impl Checkpoint {
    /// The JSON object.
    pub fn json(&self) -> Value {
        let mut value = self.statement.json();
        value["kid"] = kid(&self.signed.public_key).into();
        value["public_key"] = canonical::hex(&self.signed.public_key).into();
        value["signature"] = canonical::hex(&self.signed.signature).into();
        value
    }

    /// The one spelling.
    pub fn line(&self) -> String {
        canonical::to_string(&self.json())
    }

    /// Its hash, which the next one names.
    pub fn hash(&self) -> Hash {
        Hash::of(self.line().as_bytes())
    }

    /// The name of the key that signed it.
    pub fn kid(&self) -> String {
        kid(&self.signed.public_key)
    }

    /// Whether the signature is that of the key that it names.
    pub fn is_signed(&self) -> bool {
        verifies(&self.signed.public_key, self.statement.message().as_bytes(), &self.signed.signature)
    }

    /// A checkpoint from its JSON, however that was laid out. The signature is not checked.
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
        let signed =
            Signed { public_key: unhex(text("public_key")?)?, signature: unhex(text("signature")?)? };
        let checkpoint = Checkpoint { statement, signed };
        // Nothing more, nothing else, and the key's own name.
        (checkpoint.json() == *value).then_some(checkpoint)
    }

    /// A checkpoint from its one spelling.
    pub fn parse(line: &str) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::from_json(&serde_json::from_str(line).ok()?)?;
        (checkpoint.line() == line).then_some(checkpoint)
    }

    /// A checkpoint as the database holds it.
    pub(crate) fn stored(body: &str) -> Result<Checkpoint> {
        Checkpoint::parse(body).ok_or_else(|| fault::stored("a checkpoint in the database cannot be read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Key;

    fn checkpoint() -> Checkpoint {
        let statement = Statement {
            tenant: "tnt_1".to_owned(),
            size: 7,
            root: Hash::of(b"root"),
            event_hash: Hash::of(b"event"),
            previous: None,
            time: Timestamp(1_770_854_400_000),
        };
        statement.sign(&Key::new(1))
    }

    #[test]
    fn reads_what_it_writes() {
        let first = checkpoint();
        assert!(first.is_signed());
        assert_eq!(Checkpoint::parse(&first.line()).as_ref(), Some(&first));
        let second = Statement { previous: Some(first.hash()), size: 9, ..first.statement.clone() };
        let second = second.sign(&Key::new(1));
        assert_eq!(Checkpoint::parse(&second.line()), Some(second));
        let laid_out = format!("{:#}", first.json());
        let reread = Checkpoint::from_json(&serde_json::from_str(&laid_out).unwrap());
        assert_eq!(reread.as_ref(), Some(&first));
        assert_eq!(Checkpoint::parse(&laid_out), None, "one spelling");
    }

    #[test]
    fn no_byte_of_it_can_be_changed() {
        let line = checkpoint().line();
        for place in 0..line.len() {
            for byte in [b'0', b'1', b'a', b'"', b' ', b'}'] {
                let mut changed = line.clone().into_bytes();
                if changed[place] == byte {
                    continue;
                }
                changed[place] = byte;
                let changed = String::from_utf8(changed).unwrap();
                let passes = Checkpoint::parse(&changed).is_some_and(|checkpoint| checkpoint.is_signed());
                assert!(!passes, "{changed}");
            }
        }
    }

    #[test]
    fn another_keys_signature_does_not_pass_as_ours() {
        let (ours, theirs) = (checkpoint(), checkpoint().statement.sign(&Key::new(2)));
        assert!(theirs.is_signed() && theirs.kid() != ours.kid());
        let mixed = Signed { public_key: ours.signed.public_key.clone(), ..theirs.signed.clone() };
        assert!(!Checkpoint { signed: mixed, ..theirs }.is_signed());
    }
}
