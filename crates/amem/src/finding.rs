//! Finding memories by what they say: the engine's hits as nodes, evidence for a claim, and the document of a search.

use quad_core::{Result, TenantId, cursor};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::corpus::Nodes;
use crate::correcting;
use crate::edge::{self, EdgeTypes, Side};
use crate::limits;
use crate::node::{self, Field, Node, NodeId};
use crate::search::{Engine, Evidence, Filter, Grounding, Page, Probe, Query};

/// What a search shows of a node.
const FIELDS: [Field; 7] = [
    Field::Id,
    Field::EventType,
    Field::Content,
    Field::Confidence,
    Field::Session,
    Field::Created,
    Field::SupersededBy,
];

/// A search in words.
#[derive(Clone, Debug)]
pub(crate) struct Search {
    pub text: String,
    pub filter: Filter,
    pub limit: usize,
    /// Whether what is superseded is found too.
    pub superseded: bool,
}

/// A hit as it is shown, beside the node's own fields.
struct Hit {
    id: u64,
    facts: Map<String, Value>,
}

fn hit(id: u64, facts: Value) -> Hit {
    let facts = match facts {
        Value::Object(facts) => facts,
        _ => Map::new(),
    };
    Hit { id, facts }
}

/// A number as it is shown.
fn short(number: impl Into<f64>) -> f64 {
    (number.into() * 1e4).round() / 1e4
}

impl Search {
    fn list(&self) -> String {
        format!("amem search {:?} {:?} {}", self.text, self.filter, self.superseded)
    }

    /// By words alone, in pages.
    pub(crate) fn by_words(
        &self,
        engine: &Engine,
        sql: &mut dyn Sql,
        cursor: Option<&str>,
        now: i64,
    ) -> Result<Value> {
        let list = self.list();
        let offset = crate::walk::offset(&list, cursor)?;
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset, limit: self.limit };
        let mut nodes = Nodes { sql, superseded: self.superseded };
        let found = engine.text(&tenant, &mut nodes, &query, &self.filter, page)?;
        let hits = found
            .hits
            .into_iter()
            .map(|found| hit(found.id, json!({"score": short(found.score), "matched_terms": found.matched})));
        let shown = show(sql, hits.collect(), &FIELDS, now)?;
        let mut document = json!({"query": self.text, "count": shown.len(), "nodes": shown});
        if let (Some(next), Some(document)) = (found.next_offset, document.as_object_mut()) {
            document.insert("next_cursor".into(), cursor::encode(&list, &next.to_string()).into());
        }
        Ok(document)
    }

    /// By words and likeness together.
    pub(crate) fn by_both(&self, engine: &Engine, sql: &mut dyn Sql, now: i64) -> Result<Value> {
        let tenant = sql.tenant().clone();
        let mut nodes = Nodes { sql, superseded: self.superseded };
        let found = engine.hybrid(&tenant, &mut nodes, &self.text, &self.filter, self.limit)?;
        let hits = found.into_iter().map(|found| {
            let facts = json!({"score": (found.score * 1e6).round() / 1e6, "text_score": found.text_score.map(short),
                "similarity": found.similarity.map(short), "matched_terms": found.matched});
            hit(found.id, facts)
        });
        let shown = show(sql, hits.collect(), &FIELDS, now)?;
        Ok(json!({"query": self.text, "count": shown.len(), "nodes": shown}))
    }

    /// Nodes with all that is known of them, as evidence.
    pub(crate) fn evidence(&self, engine: &Engine, sql: &mut dyn Sql, now: i64) -> Result<Value> {
        const WHOLE: [Field; 9] = [
            Field::EventType,
            Field::Content,
            Field::Confidence,
            Field::Session,
            Field::Created,
            Field::Accesses,
            Field::LastAccessed,
            Field::Decay,
            Field::SupersededBy,
        ];
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset: 0, limit: self.limit };
        let mut nodes = Nodes { sql, superseded: self.superseded };
        let found = engine.text(&tenant, &mut nodes, &query, &self.filter, page)?;
        let known = load(sql, found.hits.iter().map(|found| found.id))?;
        let mut shown = Vec::new();
        for found in &found.hits {
            let Some(node) = known.get(&NodeId::of(found.id)) else { continue };
            let mut one = Map::from_iter([("node_id".to_owned(), Value::from(node.id.0))]);
            one.extend(node.show(&WHOLE, now));
            let outgoing =
                edge::of_node(sql, node.id, Side::Outgoing, EdgeTypes::ALL, limits::EVIDENCE_EDGES)?;
            let incoming =
                edge::of_node(sql, node.id, Side::Incoming, EdgeTypes::ALL, limits::EVIDENCE_EDGES)?;
            one.insert(
                "outgoing_edges".into(),
                outgoing.iter().map(|edge| edge.show_from(Side::Outgoing)).collect(),
            );
            one.insert(
                "incoming_edges".into(),
                incoming.iter().map(|edge| edge.show_from(Side::Incoming)).collect(),
            );
            one.insert("score".into(), json!(short(found.score)));
            one.insert("matched_terms".into(), json!(found.matched));
            one.insert("source".into(), format!("session:{}", node.session_id).into());
            shown.push(Value::Object(one));
        }
        Ok(json!({"query": self.text, "count": shown.len(), "evidence": shown}))
    }
}

/// The nodes that are most like a text or a vector.
pub(crate) fn similar(
    engine: &Engine,
    sql: &mut dyn Sql,
    probe: Probe<'_>,
    search: &Search,
    least: f32,
    now: i64,
) -> Result<Value> {
    const LIKE: [Field; 4] = [Field::EventType, Field::Content, Field::Confidence, Field::SupersededBy];
    let mode = match probe {
        Probe::Text(_) => "text",
        Probe::Vector(_) => "vector",
    };
    let tenant = sql.tenant().clone();
    let mut nodes = Nodes { sql, superseded: search.superseded };
    let found = engine.similar(&tenant, &mut nodes, probe, &search.filter, search.limit, least)?;
    let hits = found
        .into_iter()
        .map(|found| hit(found.id, json!({"node_id": found.id, "similarity": short(found.similarity)})));
    let shown = show(sql, hits.collect(), &LIKE, now)?;
    Ok(json!({"mode": mode, "count": shown.len(), "matches": shown}))
}

/// Whether the memory backs a claim. What was superseded backs nothing: a claim that only an old memory makes is answered with
/// what has replaced it.
pub(crate) fn ground(
    engine: &Engine,
    sql: &mut dyn Sql,
    claim: &str,
    threshold: f32,
    now: i64,
) -> Result<Value> {
    let tenant: TenantId = sql.tenant().clone();
    let filter = Filter::default();
    let mut nodes = Nodes { sql, superseded: true };
    let found = engine.evidence(&tenant, &mut nodes, claim, &filter, limits::GROUND_CANDIDATES)?;
    let found: Vec<Evidence> =
        found.into_iter().filter(|one| one.coverage >= threshold && one.coverage > 0.0).collect();
    let known = load(sql, found.iter().map(|one| one.id))?;
    let is_old =
        |one: &&Evidence| known.get(&NodeId::of(one.id)).is_some_and(|node| node.superseded_by.is_some());
    let current: Vec<&Evidence> = found.iter().filter(|one| !is_old(one)).collect();
    let covered = |one: Option<&&Evidence>| one.map_or(0.0, |one| one.coverage);
    let old = found.iter().find(is_old);
    let mut document =
        Map::from_iter([("status".to_owned(), Value::Null), ("claim".to_owned(), claim.into())]);
    let status = match old {
        Some(old) if old.coverage > covered(current.first()) => {
            let latest = correcting::resolve(sql, NodeId::of(old.id))?;
            document.insert("confidence".into(), json!(short(latest.confidence)));
            document.insert("superseded".into(), show_evidence(&[old], &known, now).into());
            document.insert("latest".into(), Value::Object(latest.show(&FIELDS, now)));
            "superseded"
        }
        _ => match Grounding::of(covered(current.first()), threshold) {
            Grounding::Ungrounded => "ungrounded",
            Grounding::Partial => "partial",
            Grounding::Verified => "verified",
        },
    };
    document.insert("status".into(), status.into());
    if let (Some(best), "verified" | "partial") = (current.first(), status) {
        let sure = known.get(&NodeId::of(best.id)).map_or(0.0, |node| node.confidence);
        document.insert("confidence".into(), json!(short(f64::from(best.coverage) * sure)));
    }
    if status == "ungrounded" {
        document.insert("reason".into(), "No memory says this".into());
        document.insert("suggestions".into(), json!([]));
    } else {
        let shown: Vec<&Evidence> = current.into_iter().take(limits::GROUND_EVIDENCE).collect();
        document.insert("evidence_count".into(), shown.len().into());
        document.insert("evidence".into(), show_evidence(&shown, &known, now).into());
    }
    Ok(Value::Object(document))
}

type Known = std::collections::BTreeMap<NodeId, Node>;

fn show_evidence(evidence: &[&Evidence], known: &Known, now: i64) -> Vec<Value> {
    const FIELDS: [Field; 6] = [
        Field::EventType,
        Field::Content,
        Field::Confidence,
        Field::Session,
        Field::Created,
        Field::SupersededBy,
    ];
    let shown = evidence.iter().filter_map(|one| {
        let node = known.get(&NodeId::of(one.id))?;
        let mut shown = Map::from_iter([("node_id".to_owned(), Value::from(node.id.0))]);
        shown.extend(node.show(&FIELDS, now));
        shown.insert("score".into(), json!(short(one.score)));
        shown.insert("coverage".into(), json!(short(one.coverage)));
        shown.insert("matched_terms".into(), json!(one.matched));
        shown.insert("missing_terms".into(), json!(one.missing));
        Some(Value::Object(shown))
    });
    shown.collect()
}

fn load(sql: &mut dyn Sql, ids: impl Iterator<Item = u64>) -> Result<Known> {
    let ids: Vec<NodeId> = ids.map(NodeId::of).collect();
    node::find_many(sql, &ids)
}

/// Hits with their nodes, in the order of the hits.
fn show(sql: &mut dyn Sql, hits: Vec<Hit>, fields: &[Field], now: i64) -> Result<Vec<Value>> {
    let known = load(sql, hits.iter().map(|hit| hit.id))?;
    let shown = hits.into_iter().filter_map(|hit| {
        let mut shown = hit.facts;
        let node = known.get(&NodeId::of(hit.id))?.show(fields, now);
        // The node's own fields first.
        let facts = std::mem::replace(&mut shown, node);
        shown.extend(facts);
        Some(Value::Object(shown))
    });
    Ok(shown.collect())
}
