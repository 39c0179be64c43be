//! Search results as documents: hits with their nodes, and evidence for a claim.

use quad_core::{Result, TenantId, cursor};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::edge::{self, Direction, EdgeTypeSet};
use crate::limits;
use crate::node::{self, Node, NodeId, OutputField};
use crate::search::{Engine, Evidence, Filter, Grounding, Page, Query, SimilarityQuery};
use crate::search_source::SnapshotDocs;
use crate::supersede;

/// The fields of a node in search results.
const HIT_FIELDS: [OutputField; 7] = [
    OutputField::Id,
    OutputField::EventType,
    OutputField::Content,
    OutputField::Confidence,
    OutputField::Session,
    OutputField::Created,
    OutputField::SupersededBy,
];

/// A text search.
#[derive(Clone, Debug)]
pub(crate) struct SearchRequest {
    pub text: String,
    pub filter: Filter,
    pub limit: usize,
    /// Whether superseded nodes are included.
    pub include_superseded: bool,
}

/// A hit with its fields beside the node's own fields.
struct Hit {
    id: u64,
    fields: Map<String, Value>,
}

fn to_hit(id: u64, value: Value) -> Hit {
    let fields = match value {
        Value::Object(fields) => fields,
        _ => Map::new(),
    };
    Hit { id, fields }
}

/// Rounds to four places, for output.
fn round4(number: impl Into<f64>) -> f64 {
    (number.into() * 1e4).round() / 1e4
}

impl SearchRequest {
    fn cursor_scope(&self) -> String {
        format!("amem search {:?} {:?} {}", self.text, self.filter, self.include_superseded)
    }

    /// A page of results by words only.
    pub(crate) fn text_json(
        &self,
        engine: &Engine,
        sql: &mut dyn Sql,
        cursor: Option<&str>,
        now: i64,
    ) -> Result<Value> {
        let scope = self.cursor_scope();
        let offset = crate::traversal::decode_offset(&scope, cursor)?;
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset, limit: self.limit };
        let mut docs = SnapshotDocs { sql, include_superseded: self.include_superseded };
        let found = engine.search_text(&tenant, &mut docs, &query, &self.filter, page)?;
        let hits = found.hits.into_iter().map(|found| {
            to_hit(found.id, json!({"score": round4(found.score), "matched_terms": found.matched}))
        });
        let nodes = hits_to_json(sql, hits.collect(), &HIT_FIELDS, now)?;
        let mut document = json!({"query": self.text, "count": nodes.len(), "nodes": nodes});
        if let (Some(next), Some(document)) = (found.next_offset, document.as_object_mut()) {
            document.insert("next_cursor".into(), cursor::encode(&scope, &next.to_string()).into());
        }
        Ok(document)
    }

    /// Results by words and similarity.
    pub(crate) fn hybrid_json(&self, engine: &Engine, sql: &mut dyn Sql, now: i64) -> Result<Value> {
        let tenant = sql.tenant().clone();
        let mut docs = SnapshotDocs { sql, include_superseded: self.include_superseded };
        let found = engine.search_hybrid(&tenant, &mut docs, &self.text, &self.filter, self.limit)?;
        let hits = found.into_iter().map(|found| {
            let fields = json!({"score": (found.score * 1e6).round() / 1e6, "text_score": found.text_score.map(round4),
                "similarity": found.similarity.map(round4), "matched_terms": found.matched});
            to_hit(found.id, fields)
        });
        let nodes = hits_to_json(sql, hits.collect(), &HIT_FIELDS, now)?;
        Ok(json!({"query": self.text, "count": nodes.len(), "nodes": nodes}))
    }

    /// The best nodes as evidence: all fields, edges, score and matched words.
    pub(crate) fn evidence_json(&self, engine: &Engine, sql: &mut dyn Sql, now: i64) -> Result<Value> {
        const EVIDENCE_FIELDS: [OutputField; 9] = [
            OutputField::EventType,
            OutputField::Content,
            OutputField::Confidence,
            OutputField::Session,
            OutputField::Created,
            OutputField::Accesses,
            OutputField::LastAccessed,
            OutputField::Decay,
            OutputField::SupersededBy,
        ];
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset: 0, limit: self.limit };
        let mut docs = SnapshotDocs { sql, include_superseded: self.include_superseded };
        let found = engine.search_text(&tenant, &mut docs, &query, &self.filter, page)?;
        let nodes = load_nodes(sql, found.hits.iter().map(|found| found.id))?;
        let mut evidence = Vec::new();
        for hit in &found.hits {
            let Some(node) = nodes.get(&NodeId::from_u64_saturating(hit.id)) else { continue };
            let mut entry = Map::from_iter([("node_id".to_owned(), Value::from(node.id.0))]);
            entry.extend(node.to_json(&EVIDENCE_FIELDS, now));
            let outgoing =
                edge::for_node(sql, node.id, Direction::Outgoing, EdgeTypeSet::ALL, limits::EVIDENCE_EDGES)?;
            let incoming =
                edge::for_node(sql, node.id, Direction::Incoming, EdgeTypeSet::ALL, limits::EVIDENCE_EDGES)?;
            entry.insert(
                "outgoing_edges".into(),
                outgoing.iter().map(|edge| edge.to_json_from(Direction::Outgoing)).collect(),
            );
            entry.insert(
                "incoming_edges".into(),
                incoming.iter().map(|edge| edge.to_json_from(Direction::Incoming)).collect(),
            );
            entry.insert("score".into(), json!(round4(hit.score)));
            entry.insert("matched_terms".into(), json!(hit.matched));
            entry.insert("source".into(), format!("session:{}", node.session_id).into());
            evidence.push(Value::Object(entry));
        }
        Ok(json!({"query": self.text, "count": evidence.len(), "evidence": evidence}))
    }
}

/// The nodes most similar to a text or a vector.
pub(crate) fn similar_json(
    engine: &Engine,
    sql: &mut dyn Sql,
    query: SimilarityQuery<'_>,
    request: &SearchRequest,
    min_similarity: f32,
    now: i64,
) -> Result<Value> {
    const SIMILAR_FIELDS: [OutputField; 4] =
        [OutputField::EventType, OutputField::Content, OutputField::Confidence, OutputField::SupersededBy];
    let mode = match query {
        SimilarityQuery::Text(_) => "text",
        SimilarityQuery::Vector(_) => "vector",
    };
    let tenant = sql.tenant().clone();
    let mut docs = SnapshotDocs { sql, include_superseded: request.include_superseded };
    let found =
        engine.search_similar(&tenant, &mut docs, query, &request.filter, request.limit, min_similarity)?;
    let hits = found
        .into_iter()
        .map(|found| to_hit(found.id, json!({"node_id": found.id, "similarity": round4(found.similarity)})));
    let matches = hits_to_json(sql, hits.collect(), &SIMILAR_FIELDS, now)?;
    Ok(json!({"mode": mode, "count": matches.len(), "matches": matches}))
}

/// Whether the memory supports a claim. A superseded node supports nothing: if only such nodes match, the result
/// names the node that replaced the best one.
pub(crate) fn ground_claim(
    engine: &Engine,
    sql: &mut dyn Sql,
    claim: &str,
    threshold: f32,
    now: i64,
) -> Result<Value> {
    let tenant: TenantId = sql.tenant().clone();
    let filter = Filter::default();
    let mut docs = SnapshotDocs { sql, include_superseded: true };
    let found = engine.find_evidence(&tenant, &mut docs, claim, &filter, limits::GROUND_CANDIDATES)?;
    let found: Vec<Evidence> = found
        .into_iter()
        .filter(|evidence| evidence.coverage >= threshold && evidence.coverage > 0.0)
        .collect();
    let nodes = load_nodes(sql, found.iter().map(|evidence| evidence.id))?;
    let is_superseded = |evidence: &&Evidence| {
        nodes.get(&NodeId::from_u64_saturating(evidence.id)).is_some_and(|node| node.superseded_by.is_some())
    };
    let current: Vec<&Evidence> = found.iter().filter(|evidence| !is_superseded(evidence)).collect();
    let coverage_of = |evidence: Option<&&Evidence>| evidence.map_or(0.0, |evidence| evidence.coverage);
    let superseded = found.iter().find(is_superseded);
    let mut document =
        Map::from_iter([("status".to_owned(), Value::Null), ("claim".to_owned(), claim.into())]);
    let status = match superseded {
        Some(superseded) if superseded.coverage > coverage_of(current.first()) => {
            let latest = supersede::resolve(sql, NodeId::from_u64_saturating(superseded.id))?;
            document.insert("confidence".into(), json!(round4(latest.confidence)));
            document.insert("superseded".into(), evidence_to_json(&[superseded], &nodes, now).into());
            document.insert("latest".into(), Value::Object(latest.to_json(&HIT_FIELDS, now)));
            "superseded"
        }
        _ => match Grounding::from_coverage(coverage_of(current.first()), threshold) {
            Grounding::Ungrounded => "ungrounded",
            Grounding::Partial => "partial",
            Grounding::Verified => "verified",
        },
    };
    document.insert("status".into(), status.into());
    if let (Some(best), "verified" | "partial") = (current.first(), status) {
        let confidence = nodes.get(&NodeId::from_u64_saturating(best.id)).map_or(0.0, |node| node.confidence);
        document.insert("confidence".into(), json!(round4(f64::from(best.coverage) * confidence)));
    }
    if status == "ungrounded" {
        document.insert("reason".into(), "No memory says this".into());
        document.insert("suggestions".into(), json!([]));
    } else {
        let evidence: Vec<&Evidence> = current.into_iter().take(limits::GROUND_EVIDENCE).collect();
        document.insert("evidence_count".into(), evidence.len().into());
        document.insert("evidence".into(), evidence_to_json(&evidence, &nodes, now).into());
    }
    Ok(Value::Object(document))
}

type NodesById = std::collections::BTreeMap<NodeId, Node>;

fn evidence_to_json(evidence: &[&Evidence], nodes: &NodesById, now: i64) -> Vec<Value> {
    const FIELDS: [OutputField; 6] = [
        OutputField::EventType,
        OutputField::Content,
        OutputField::Confidence,
        OutputField::Session,
        OutputField::Created,
        OutputField::SupersededBy,
    ];
    let items = evidence.iter().filter_map(|item| {
        let node = nodes.get(&NodeId::from_u64_saturating(item.id))?;
        let mut json = Map::from_iter([("node_id".to_owned(), Value::from(node.id.0))]);
        json.extend(node.to_json(&FIELDS, now));
        json.insert("score".into(), json!(round4(item.score)));
        json.insert("coverage".into(), json!(round4(item.coverage)));
        json.insert("matched_terms".into(), json!(item.matched));
        json.insert("missing_terms".into(), json!(item.missing));
        Some(Value::Object(json))
    });
    items.collect()
}

fn load_nodes(sql: &mut dyn Sql, ids: impl Iterator<Item = u64>) -> Result<NodesById> {
    let ids: Vec<NodeId> = ids.map(NodeId::from_u64_saturating).collect();
    node::find_many(sql, &ids)
}

/// Hits merged with their nodes, in the order of the hits.
fn hits_to_json(sql: &mut dyn Sql, hits: Vec<Hit>, fields: &[OutputField], now: i64) -> Result<Vec<Value>> {
    let nodes = load_nodes(sql, hits.iter().map(|hit| hit.id))?;
    let items = hits.into_iter().filter_map(|hit| {
        let mut fields_json = hit.fields;
        let node = nodes.get(&NodeId::from_u64_saturating(hit.id))?.to_json(fields, now);
        // The node's fields come before the hit's fields.
        let hit_fields = std::mem::replace(&mut fields_json, node);
        fields_json.extend(hit_fields);
        Some(Value::Object(fields_json))
    });
    Ok(items.collect())
}
