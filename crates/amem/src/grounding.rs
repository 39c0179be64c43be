//! Whether the memory backs a claim.
//!
//! The search engine finds the memories that share words with the claim. [`statement`](crate::statement) then compares the
//! claim with the closest sentence of each: only a sentence that has every word of the claim, and uses it in the same way,
//! verifies it.

use std::cmp::Reverse;

use quad_core::{Result, TenantId};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::node::{Node, NodeId, StaticField};
use crate::search::{Engine, Evidence, Filter, Grounding};
use crate::search_results::{HIT_FIELDS, NodesById, SearchResult, load_nodes, round4};
use crate::search_source::SnapshotDocs;
use crate::statement::{self, Comparison, Difference};
use crate::{conversation, limits, supersede};

/// What a claim is answered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Status {
    Verified,
    Partial,
    /// The closest memory has the claim's words and says something else.
    Related,
    Ungrounded,
    Superseded,
}

impl Status {
    fn as_str(self) -> &'static str {
        match self {
            Status::Verified => "verified",
            Status::Partial => "partial",
            Status::Related => "related",
            Status::Ungrounded => "ungrounded",
            Status::Superseded => "superseded",
        }
    }
}

/// The names of the answers.
pub(crate) const STATUSES: [&str; 5] = ["verified", "partial", "related", "ungrounded", "superseded"];

/// A memory that shares words with the claim.
struct Candidate<'n> {
    node: &'n Node,
    score: f32,
    /// The share of the claim that the closest sentence has, 0 to 1.
    coverage: f32,
    comparison: Comparison,
}

impl<'n> Candidate<'n> {
    fn new(claim: &str, evidence: &Evidence, node: &'n Node) -> Option<Candidate<'n>> {
        let comparison = statement::compare(claim, &conversation::text_below_topic(&node.content))?;
        let coverage = if comparison.missing.is_empty() {
            1.0
        } else {
            let matched = comparison.matched.len() as f32;
            let share = if evidence.matched.len() < comparison.matched_in_text {
                // The search finds fewer forms of a word than the comparison.
                matched / (comparison.matched.len() + comparison.missing.len()) as f32
            } else {
                // The words that other sentences of the memory have do not count.
                evidence.coverage * matched / comparison.matched_in_text.max(1) as f32
            };
            share.min(INCOMPLETE_COVERAGE)
        };
        Some(Candidate { node, score: evidence.score, coverage, comparison })
    }

    fn backs(&self) -> bool {
        self.comparison.difference.is_none()
    }

    fn is_current(&self) -> bool {
        self.node.superseded_by.is_none()
    }

    /// Newer memories have greater keys.
    fn age_key(&self) -> (i64, NodeId) {
        (self.node.created_at, self.node.id)
    }

    fn to_json(&self) -> Value {
        const FIELDS: [StaticField; 6] = [
            StaticField::EventType,
            StaticField::Content,
            StaticField::Confidence,
            StaticField::Session,
            StaticField::Created,
            StaticField::SupersededBy,
        ];
        let mut entry = Map::from_iter([("node_id".to_owned(), Value::from(self.node.id.0))]);
        entry.extend(self.node.as_static().to_json(&FIELDS));
        entry.insert("score".into(), json!(round4(self.score)));
        entry.insert("coverage".into(), json!(round4(self.coverage)));
        entry.insert("matched_terms".into(), json!(self.comparison.matched));
        entry.insert("missing_terms".into(), json!(self.comparison.missing));
        entry.insert("stance".into(), if self.backs() { "backs" } else { "differs" }.into());
        entry.insert("sentence".into(), self.comparison.sentence.as_str().into());
        Value::Object(entry)
    }
}

/// The coverage of a sentence that lacks a word of the claim, at most.
const INCOMPLETE_COVERAGE: f32 = 0.99;

/// The names of [`Candidate::to_json`]'s stances.
pub(crate) const STANCES: [&str; 2] = ["backs", "differs"];

/// Whether the memory supports a claim. A superseded node supports nothing: if only such nodes match, the result
/// names the node that replaced the best one.
pub(crate) fn ground_claim(
    engine: &Engine,
    sql: &mut dyn Sql,
    claim: &str,
    threshold: f32,
) -> Result<SearchResult> {
    let tenant: TenantId = sql.tenant().clone();
    let mut docs = SnapshotDocs { sql, include_superseded: true };
    let found =
        engine.find_evidence(&tenant, &mut docs, claim, &Filter::default(), limits::GROUND_CANDIDATES)?;
    let nodes: NodesById =
        load_nodes(sql, found.iter().map(|evidence| NodeId::from_u64_saturating(evidence.id)))?;
    let candidates = found.iter().filter_map(|evidence| {
        let node = nodes.get(&NodeId::from_u64_saturating(evidence.id))?;
        Candidate::new(claim, evidence, node).filter(|found| found.coverage >= threshold)
    });
    let mut candidates: Vec<Candidate<'_>> = candidates.collect();
    // Stable: of equal coverage, the order of the engine.
    candidates.sort_by(|a, b| b.coverage.total_cmp(&a.coverage));
    let (mut current, superseded): (Vec<_>, Vec<_>) = candidates.into_iter().partition(Candidate::is_current);
    let status = status(&current, &superseded);
    // What decides comes first.
    current.sort_by_key(|candidate| Reverse(candidate.backs() == (status != Status::Related)));
    let mut document =
        Map::from_iter([("status".to_owned(), status.as_str().into()), ("claim".to_owned(), claim.into())]);
    let mut shown = Vec::new();
    match (status, superseded.iter().find(|candidate| candidate.backs()), current.first()) {
        (Status::Superseded, Some(best), _) => {
            let latest = supersede::resolve(sql, best.node.id)?;
            shown.push(latest.id);
            document.insert("confidence".into(), json!(round4(latest.confidence)));
            document.insert("superseded".into(), json!([best.to_json()]));
            document.insert("latest".into(), Value::Object(latest.as_static().to_json(&HIT_FIELDS)));
        }
        (Status::Verified | Status::Partial, _, Some(best)) => {
            let confidence = f64::from(best.coverage) * best.node.confidence;
            document.insert("confidence".into(), json!(round4(confidence)));
        }
        (Status::Related, _, Some(best)) => {
            document.insert("reason".into(), reason(best).into());
            document.insert("sentence".into(), best.comparison.sentence.as_str().into());
        }
        _ => {
            document.insert("reason".into(), "No memory says this".into());
            document.insert("suggestions".into(), json!([]));
        }
    }
    if status != Status::Ungrounded {
        let evidence = current.iter().take(limits::GROUND_EVIDENCE);
        let entries: Vec<Value> = evidence.clone().map(Candidate::to_json).collect();
        document.insert("evidence_count".into(), entries.len().into());
        document.insert("evidence".into(), entries.into());
        shown.extend(evidence.map(|candidate| candidate.node.id));
    }
    Ok(SearchResult { document: Value::Object(document), nodes: shown })
}

/// The answer, from candidates by descending coverage.
fn status(current: &[Candidate<'_>], superseded: &[Candidate<'_>]) -> Status {
    let best = |candidates: &[Candidate<'_>], backs: bool| {
        let mut found = candidates.iter().filter(|candidate| candidate.backs() == backs);
        found.next().map_or(0.0, |candidate| candidate.coverage)
    };
    let (backing, differing) = (best(current, true), best(current, false));
    if best(superseded, true) > backing {
        return Status::Superseded;
    }
    let newest = |backs: bool| {
        let complete = current.iter().filter(|candidate| {
            candidate.backs() == backs && candidate.coverage >= Grounding::VERIFIED_COVERAGE
        });
        let complete = complete.filter(|candidate| !backs || candidate.comparison.is_complete());
        complete.map(Candidate::age_key).max()
    };
    match (newest(true), newest(false)) {
        // Of two memories that say the opposite, neither superseded, the newer one counts.
        (Some(backing), Some(differing)) if differing > backing => Status::Related,
        (Some(_), _) => Status::Verified,
        _ if differing > backing => Status::Related,
        _ if backing > 0.0 => Status::Partial,
        _ => Status::Ungrounded,
    }
}

/// Why the closest memory does not back the claim.
fn reason(candidate: &Candidate<'_>) -> &'static str {
    match candidate.comparison.difference {
        Some(Difference::Hedged) => {
            "The closest memory asks, plans or supposes this, or says that it was so before"
        }
        Some(Difference::OtherNumber) => "The closest memory has another number",
        Some(Difference::Opposite) | None => {
            "The closest memory negates this or contrasts it with something else"
        }
    }
}
