//! Inclusion proofs: the event, the sibling hashes on its path in the tree, and the signed root.
//!
//! A proof is one JSON object, the same that `audit://events/{id}` returns. It can be verified without access to the
//! server.

use quad_core::{Result, Timestamp, canonical};
use quad_store::audit::checkpoint;
use quad_store::{AuditEvent, Sql};
use serde_json::{Map, Value, json};

use crate::checkpoint::Checkpoint;
use crate::checkpoint_file::TrustedCheckpoints;
use crate::hash::Hash;
use crate::verify::check_key;
use crate::{chain_error, limits, merkle, tree_store};

/// The result of a valid proof.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifiedProof {
    /// The canonical record of the event.
    pub record: String,
    /// The event id.
    pub id: String,
    /// The sequence of the event.
    pub sequence: u64,
    /// The checkpoint that covers the event.
    pub checkpoint: Checkpoint,
}

/// The document of an event: with a proof against the newest checkpoint, or with the reason why there is none.
pub fn document(sql: &mut dyn Sql, event: &AuditEvent) -> Result<Value> {
    let mut document = Map::new();
    let record = serde_json::from_str(&event.record).map_err(quad_core::Error::internal)?;
    document.insert("event".into(), record);
    document.insert("event_hash".into(), event.hash.as_str().into());
    document.insert("sequence".into(), event.sequence.into());
    let (inclusion, checkpoint, missing) = match prove(sql, event)? {
        Ok((path, checkpoint)) => {
            let inclusion = json!({
                "leaf_index": event.sequence - 1,
                "tree_size": checkpoint.statement.size,
                "hashes": path,
            });
            (inclusion, checkpoint.to_json(), None)
        }
        Err(missing) => (Value::Null, Value::Null, Some(missing)),
    };
    document.insert("inclusion_proof".into(), inclusion);
    document.insert("checkpoint".into(), checkpoint);
    if let Some(missing) = missing {
        document.insert("reason".into(), missing.reason().into());
        if let MissingProof::ExpectedBy(time) = missing {
            document.insert("proof_expected_by".into(), time.to_string().into());
        }
    }
    Ok(Value::Object(document))
}

/// Why an event has no proof.
#[derive(Clone, Copy, Debug)]
enum MissingProof {
    /// Its checkpoint is made by this time.
    ExpectedBy(Timestamp),
    /// It should have a checkpoint by now: no process serves, or its chain cannot be signed.
    Overdue,
    /// The stored events do not fit the checkpoint.
    Broken,
}

impl MissingProof {
    fn reason(self) -> &'static str {
        match self {
            MissingProof::ExpectedBy(_) => {
                "No checkpoint covers this event yet; the server makes one within 2 s. Read the event again after \
                 proof_expected_by"
            }
            MissingProof::Overdue => {
                "No checkpoint covers this event: no process has signed since. Start `quad serve`, or make a proof \
                 with `quad audit prove`"
            }
            MissingProof::Broken => {
                "The stored events do not match the checkpoint's root; `quad audit verify` names the first broken one"
            }
        }
    }

    /// For an event that no checkpoint covers.
    fn of_uncovered(record: &str, now: Timestamp) -> MissingProof {
        let lag_ms = i64::try_from(limits::CHECKPOINT_LAG_MAX.as_millis()).unwrap_or(i64::MAX);
        let record: Option<Value> = serde_json::from_str(record).ok();
        let created_at = record.and_then(|record| Timestamp::parse(record["created_at"].as_str()?));
        match created_at.map(|time| time.plus_ms(lag_ms)) {
            Some(time) if time > now => MissingProof::ExpectedBy(time),
            _ => MissingProof::Overdue,
        }
    }
}

type Proof = (Vec<Hash>, Checkpoint);

fn prove(sql: &mut dyn Sql, event: &AuditEvent) -> Result<Result<Proof, MissingProof>> {
    let Some(row) = checkpoint::latest(sql)?.filter(|row| row.size >= event.sequence) else {
        return Ok(Err(MissingProof::of_uncovered(&event.record, Timestamp::now())));
    };
    let checkpoint = Checkpoint::from_db(&row.body)?;
    let edge = tree_store::parse_frontier(row.size, &row.frontier)?;
    let index = (event.sequence - 1) as u64;
    let path = tree_store::load_proof_nodes(sql, &edge, index)?.inclusion_proof(index);
    let hash = Hash::parse(&event.hash);
    let proof = path.filter(|path| {
        let root = hash.and_then(|hash| {
            merkle::root_from_proof(tree_store::event_leaf_hash(&hash), index, edge.size(), path)
        });
        root == Some(checkpoint.statement.root)
    });
    Ok(match proof {
        Some(path) => Ok((path, checkpoint)),
        None => Err(MissingProof::Broken),
    })
}

/// Whether a JSON object looks like a proof document.
pub fn is_proof_document(document: &Value) -> bool {
    document.get("event").is_some_and(Value::is_object) && document.get("inclusion_proof").is_some()
}

/// Verifies a document with its own contents and, if given, with trusted checkpoints.
pub fn verify(document: &Value, trusted: Option<&TrustedCheckpoints>) -> Result<VerifiedProof> {
    let event = &document["event"];
    let record = canonical::to_string(event);
    let hash = Hash::compute(record.as_bytes());
    if document["event_hash"] != hash.to_string() {
        return Err(chain_error::document("The event was changed: it does not match its hash"));
    }
    let proof = &document["inclusion_proof"];
    if proof.is_null() {
        let reason = document["reason"].as_str().unwrap_or_default();
        return Err(chain_error::document("The event has no proof").hint(reason));
    }
    let checkpoint = Checkpoint::from_json(&document["checkpoint"])
        .ok_or_else(|| chain_error::document("The proof has no valid checkpoint"))?;
    let statement = &checkpoint.statement;
    if !checkpoint.has_valid_signature() {
        return Err(chain_error::document("The checkpoint has a bad signature"));
    }
    check_key(trusted, &checkpoint)?;
    if event["tenant_id"] != statement.tenant.as_str() {
        return Err(chain_error::document("The event and the checkpoint belong to different tenants"));
    }
    let index = proof["leaf_index"].as_u64();
    let path: Option<Vec<Hash>> = proof["hashes"]
        .as_array()
        .and_then(|hashes| hashes.iter().map(|hash| Hash::parse(hash.as_str()?)).collect());
    let root = match (index, path, proof["tree_size"].as_u64()) {
        (Some(index), Some(path), Some(size)) if size == statement.size => {
            merkle::root_from_proof(tree_store::event_leaf_hash(&hash), index, size, &path)
        }
        _ => None,
    };
    let sequence = index.and_then(|index| index.checked_add(1));
    let (Some(sequence), true) = (sequence, root == Some(statement.root)) else {
        return Err(chain_error::document("The proof does not match the checkpoint's root"));
    };
    if document["sequence"] != sequence {
        return Err(chain_error::document("The proof is for another sequence"));
    }
    let trusted_checkpoint =
        trusted.and_then(|trusted| trusted.of_tenant(&statement.tenant).remove(&statement.size));
    if trusted_checkpoint.is_some_and(|pinned| pinned.statement.root != statement.root) {
        return Err(chain_error::document("A trusted checkpoint has another root: the chain was rewritten"));
    }
    let id = event["id"].as_str().unwrap_or_default().to_owned();
    Ok(VerifiedProof { record, id, sequence, checkpoint })
}

#[cfg(test)]
mod tests {
    use quad_core::TenantId;
    use quad_store::{Store, Tx, params};

    use super::*;
    use crate::testing::{ChainFixture, fixtures};

    async fn proof_document_of(fixture: &ChainFixture, sequence: i64) -> Value {
        let record = fixture.record(sequence).await.unwrap();
        let id = quad_store::audit::block::record_id(&record).unwrap();
        let hash = quad_store::hash_record(&record);
        let event = AuditEvent { id, sequence, record, hash };
        fixture.store().read(fixture.tenant(), move |sql| document(sql, &event)).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn event_has_proof_once_checkpoint_covers_it() {
        for fixture in fixtures().await {
            fixture.write(290).await;
            let early = proof_document_of(&fixture, 5).await;
            assert!(early["inclusion_proof"].is_null() && early["checkpoint"].is_null());
            assert!(early["reason"].as_str().unwrap().contains("No checkpoint covers this event yet"));
            assert!(verify(&early, None).unwrap_err().hint_text().unwrap().contains("yet"));
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let covered = fixture.last_sequence().await;
            fixture.write(3).await;
            for sequence in 1..=covered {
                let document = proof_document_of(&fixture, sequence).await;
                // In any layout.
                let document: Value = serde_json::from_str(&format!("{document:#}")).unwrap();
                let verified = verify(&document, Some(&fixture.trusted_checkpoints())).unwrap();
                assert_eq!(verified.sequence as i64, sequence);
                assert_eq!(Some(verified.record), fixture.record(sequence).await);
            }
            assert!(proof_document_of(&fixture, covered + 1).await["inclusion_proof"].is_null());
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn uncovered_event_says_when_its_proof_exists() {
        for fixture in fixtures().await {
            fixture.write(3).await;
            let early = proof_document_of(&fixture, 4).await;
            let created_at = Timestamp::parse(early["event"]["created_at"].as_str().unwrap()).unwrap();
            assert_eq!(early["proof_expected_by"], created_at.plus_ms(2_000).to_string());
            // Nothing signs, so the proof is overdue at that time.
            let until = u64::try_from(created_at.plus_ms(2_000).0 - Timestamp::now().0).unwrap_or(0);
            tokio::time::sleep(std::time::Duration::from_millis(until + 1)).await;
            let overdue = proof_document_of(&fixture, 4).await;
            assert!(overdue.get("proof_expected_by").is_none());
            assert!(overdue["reason"].as_str().unwrap().contains("quad serve"), "{overdue}");
            // With a process that signs it is there in time.
            let signing = tokio::spawn(fixture.checkpoint_signer.clone().run());
            fixture.write(1).await;
            tokio::time::sleep(std::time::Duration::from_secs(2)).await;
            let document = proof_document_of(&fixture, 5).await;
            assert_eq!(verify(&document, None).unwrap().sequence, 5);
            assert!(document.get("proof_expected_by").is_none() && document.get("reason").is_none());
            signing.abort();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn proof_with_any_changed_field_is_rejected() {
        for fixture in fixtures().await {
            fixture.write(20).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let good = proof_document_of(&fixture, 7).await;
            let other = proof_document_of(&fixture, 8).await;
            let check = |change: &dyn Fn(&mut Value)| {
                let mut changed = good.clone();
                change(&mut changed);
                assert_ne!(changed, good);
                assert_eq!(
                    verify(&changed, None).unwrap_err().code(),
                    chain_error::AUDIT_BROKEN,
                    "{changed}"
                );
            };
            check(&|document| document["event"]["actor"] = "somebody".into());
            check(&|document| document["event_hash"] = other["event_hash"].clone());
            check(&|document| document["sequence"] = 8.into());
            check(&|document| document["inclusion_proof"]["leaf_index"] = 7.into());
            check(&|document| document["inclusion_proof"]["tree_size"] = 20.into());
            check(&|document| {
                document["inclusion_proof"]["hashes"] = other["inclusion_proof"]["hashes"].clone()
            });
            check(&|document| document["inclusion_proof"] = Value::Null);
            check(&|document| document["checkpoint"]["size"] = 20.into());
            check(&|document| document["checkpoint"] = Value::Null);
            check(&|document| {
                document["event"] = other["event"].clone();
                document["event_hash"] = other["event_hash"].clone();
            });
            // Signed by another key: only trusted checkpoints detect it.
            let mut forged = good.clone();
            let checkpoint = Checkpoint::from_json(&good["checkpoint"]).unwrap();
            forged["checkpoint"] = checkpoint.statement.sign(&crate::testing::TestKey::new(2)).to_json();
            assert!(verify(&forged, None).is_ok());
            assert_eq!(
                verify(&forged, Some(&fixture.trusted_checkpoints())).unwrap_err().code(),
                chain_error::AUDIT_BROKEN
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn changed_event_gets_no_proof() {
        for fixture in fixtures().await {
            fixture.write(20).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            fixture.tamper_event(7, "resources/read", "resources/list").await;
            let document = proof_document_of(&fixture, 7).await;
            assert!(document["inclusion_proof"].is_null());
            assert!(document["reason"].as_str().unwrap().contains("quad audit verify"));
        }
    }

    /// Fills the chain as the store would, without its commits.
    async fn insert_chain(store: &Store, tenant: &TenantId, events: usize) {
        let insert = move |tx: &mut Tx<'_>| {
            let tenant = Sql::tenant(tx).as_str().to_owned();
            let end = quad_store::audit::block::chain_end(tx)?;
            let (mut sequence, mut hash) = (end.sequence, end.hash);
            while sequence < events as i64 {
                let count = (events as i64 - sequence).min(256);
                let mut records = Vec::new();
                for sequence in sequence + 1..=sequence + count {
                    let record = canonical::to_string(
                        &json!({"id": format!("evt_{sequence}"), "tenant_id": tenant, "prev_event_hash": hash}),
                    );
                    hash = Some(quad_store::hash_record(&record));
                    records.push(record);
                }
                tx.execute(
                    "INSERT INTO audit_block (tenant_id, first_sequence, events, hash_schema_version, created_at, body) \
                     VALUES ($1, $2, $3, 4, 0, $4)",
                    params![tenant.as_str(), sequence + 1, count, records.join("\n")],
                )?;
                sequence += count;
            }
            let advance = "UPDATE head SET sequence = $2, hash = $3 WHERE tenant_id = $1";
            tx.execute(advance, params![tenant, sequence, hash])?;
            Ok(())
        };
        store.write_unaudited(tenant, insert).await.unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_chain_proofs_need_few_tile_rows() {
        for fixture in fixtures().await {
            insert_chain(fixture.store(), fixture.tenant(), 66_000).await;
            fixture.checkpoint_signer.checkpoint(fixture.tenant()).await.unwrap();
            let tiles = fixture.store().read(fixture.tenant(), |sql| {
                let tenant = sql.tenant().as_str().to_owned();
                let tiles =
                    "SELECT level, number FROM audit_tile WHERE tenant_id = $1 ORDER BY level, number";
                sql.query(tiles, params![tenant])?.iter().map(|row| Ok((row.int(0)?, row.int(1)?))).collect()
            });
            let tiles: Vec<(i64, i64)> = tiles.await.unwrap();
            assert_eq!(
                tiles,
                [(1, 0), (1, 1), (2, 0)],
                "66,000 leaves, 257 nodes above them, one above those"
            );
            for sequence in [1, 256, 257, 32_769, 65_536, 65_537, 65_792, 65_793, 66_000] {
                let verified = verify(
                    &proof_document_of(&fixture, sequence).await,
                    Some(&fixture.trusted_checkpoints()),
                )
                .unwrap();
                assert_eq!(verified.sequence as i64, sequence);
            }
        }
    }
}
