//! Search results as documents: hits with their nodes.

use std::collections::BTreeMap;

use quad_core::{Result, cursor};
use quad_store::Sql;
use serde_json::{Map, Value, json};

use crate::edge::{self, Direction, Edge, EdgeTypeSet};
use crate::node::{self, Node, NodeField, NodeId, StaticField};
use crate::search::{Engine, Filter, Page, Query, SimilarityQuery};
use crate::search_source::SnapshotDocs;
use crate::{limits, list};

/// The fields of a node in search results.
pub(crate) const HIT_FIELDS: [StaticField; 7] = [
    StaticField::Id,
    StaticField::EventType,
    StaticField::Content,
    StaticField::Confidence,
    StaticField::Session,
    StaticField::Created,
    StaticField::SupersededBy,
];

/// A text search.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct SearchRequest {
    pub text: String,
    pub filter: Filter,
    pub limit: usize,
    /// Whether superseded nodes are included.
    pub include_superseded: bool,
}

/// The document of a search, and the nodes in it, best first.
pub(crate) struct SearchResult {
    pub document: Value,
    pub nodes: Vec<NodeId>,
}

/// A hit with its fields beside the node's own fields.
struct Hit {
    id: NodeId,
    fields: Map<String, Value>,
}

impl Hit {
    fn new(id: u64, fields: Value) -> Hit {
        let fields = match fields {
            Value::Object(fields) => fields,
            _ => Map::new(),
        };
        Hit { id: NodeId::from_u64_saturating(id), fields }
    }
}

/// Rounds to four places, for output.
pub(crate) fn round4(number: impl Into<f64>) -> f64 {
    (number.into() * 1e4).round() / 1e4
}

impl SearchRequest {
    fn cursor_scope(&self) -> String {
        format!("amem search {:?} {:?} {}", self.text, self.filter, self.include_superseded)
    }

    fn docs<'s>(&self, sql: &'s mut dyn Sql) -> SnapshotDocs<'s> {
        SnapshotDocs { sql, include_superseded: self.include_superseded }
    }

    /// A page of results by words only.
    pub(crate) fn text(
        &self,
        engine: &Engine,
        sql: &mut dyn Sql,
        cursor: Option<&str>,
    ) -> Result<SearchResult> {
        let scope = self.cursor_scope();
        let offset = list::decode_offset(&scope, cursor)?;
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset, limit: self.limit };
        let found = engine.search_text(&tenant, &mut self.docs(sql), &query, &self.filter, page)?;
        let hits = found
            .hits
            .into_iter()
            .map(|hit| Hit::new(hit.id, json!({"score": round4(hit.score), "matched_terms": hit.matched})));
        let mut result = self.with_nodes(sql, hits.collect())?;
        if let (Some(next), Some(document)) = (found.next_offset, result.document.as_object_mut()) {
            document.insert("next_cursor".into(), cursor::encode(&scope, &next.to_string()).into());
        }
        Ok(result)
    }

    /// Results by words and similarity.
    pub(crate) fn hybrid(&self, engine: &Engine, sql: &mut dyn Sql) -> Result<SearchResult> {
        let tenant = sql.tenant().clone();
        let found =
            engine.search_hybrid(&tenant, &mut self.docs(sql), &self.text, &self.filter, self.limit)?;
        let hits = found.into_iter().map(|hit| {
            let fields = json!({
                "score": round4(hit.score),
                "text_score": hit.text_score.map(round4),
                "similarity": hit.similarity.map(round4),
                "matched_terms": hit.matched,
            });
            Hit::new(hit.id, fields)
        });
        self.with_nodes(sql, hits.collect())
    }

    fn with_nodes(&self, sql: &mut dyn Sql, hits: Vec<Hit>) -> Result<SearchResult> {
        let (entries, nodes) = load_hits(sql, hits, &HIT_FIELDS)?;
        let document = json!({"query": self.text, "count": entries.len(), "nodes": entries});
        Ok(SearchResult { document, nodes })
    }

    /// The nodes most similar to a text or a vector.
    pub(crate) fn similar(
        &self,
        engine: &Engine,
        sql: &mut dyn Sql,
        query: SimilarityQuery<'_>,
        min_similarity: f32,
    ) -> Result<SearchResult> {
        const FIELDS: [StaticField; 4] = [
            StaticField::EventType,
            StaticField::Content,
            StaticField::Confidence,
            StaticField::SupersededBy,
        ];
        let mode = match query {
            SimilarityQuery::Text(_) => "text",
            SimilarityQuery::Vector(_) => "vector",
        };
        let tenant = sql.tenant().clone();
        let mut docs = self.docs(sql);
        let found =
            engine.search_similar(&tenant, &mut docs, query, &self.filter, self.limit, min_similarity)?;
        let hits = found
            .into_iter()
            .map(|hit| Hit::new(hit.id, json!({"node_id": hit.id, "similarity": round4(hit.similarity)})));
        let (matches, nodes) = load_hits(sql, hits.collect(), &FIELDS)?;
        let document = json!({"mode": mode, "count": matches.len(), "matches": matches});
        Ok(SearchResult { document, nodes })
    }

    /// The best nodes as evidence: all fields, edges, score and matched words.
    pub(crate) fn evidence(&self, engine: &Engine, sql: &mut dyn Sql, now: i64) -> Result<SearchResult> {
        const FIELDS: [NodeField; 9] = [
            NodeField::Static(StaticField::EventType),
            NodeField::Static(StaticField::Content),
            NodeField::Static(StaticField::Confidence),
            NodeField::Static(StaticField::Session),
            NodeField::Static(StaticField::Created),
            NodeField::Accesses,
            NodeField::LastAccessed,
            NodeField::Decay,
            NodeField::Static(StaticField::SupersededBy),
        ];
        let query = Query::parse(&self.text)?;
        let tenant = sql.tenant().clone();
        let page = Page { offset: 0, limit: self.limit };
        let found = engine.search_text(&tenant, &mut self.docs(sql), &query, &self.filter, page)?;
        let nodes = load_nodes(sql, found.hits.iter().map(|hit| NodeId::from_u64_saturating(hit.id)))?;
        let ids: Vec<NodeId> = nodes.keys().copied().collect();
        let mut edges_in =
            |direction| edge::for_nodes_up_to(sql, &ids, direction, EdgeTypeSet::ALL, limits::EVIDENCE_EDGES);
        let (outgoing, incoming) = (edges_in(Direction::Outgoing)?, edges_in(Direction::Incoming)?);
        let edges_json = |edges: &BTreeMap<NodeId, Vec<Edge>>, id: NodeId, direction: Direction| -> Value {
            edges.get(&id).into_iter().flatten().map(|edge| edge.to_json_from(direction)).collect()
        };
        let (mut evidence, mut shown) = (Vec::new(), Vec::new());
        for hit in &found.hits {
            let Some(node) = nodes.get(&NodeId::from_u64_saturating(hit.id)) else { continue };
            let mut entry = Map::from_iter([("node_id".to_owned(), Value::from(node.id.0))]);
            entry.extend(node.to_json(&FIELDS, now));
            let outgoing_json = edges_json(&outgoing, node.id, Direction::Outgoing);
            let incoming_json = edges_json(&incoming, node.id, Direction::Incoming);
            entry.insert("outgoing_edges".into(), outgoing_json);
            entry.insert("incoming_edges".into(), incoming_json);
            entry.insert("score".into(), json!(round4(hit.score)));
            entry.insert("matched_terms".into(), json!(hit.matched));
            entry.insert("source".into(), format!("session:{}", node.session_id).into());
            evidence.push(Value::Object(entry));
            shown.push(node.id);
        }
        let document = json!({"query": self.text, "count": evidence.len(), "evidence": evidence});
        Ok(SearchResult { document, nodes: shown })
    }
}

pub(crate) type NodesById = BTreeMap<NodeId, Node>;

pub(crate) fn load_nodes(sql: &mut dyn Sql, ids: impl Iterator<Item = NodeId>) -> Result<NodesById> {
    node::find_many(sql, &ids.collect::<Vec<_>>())
}

/// Hits merged with their nodes, in the order of the hits, and the ids of these nodes.
fn load_hits(sql: &mut dyn Sql, hits: Vec<Hit>, fields: &[StaticField]) -> Result<(Vec<Value>, Vec<NodeId>)> {
    let nodes = load_nodes(sql, hits.iter().map(|hit| hit.id))?;
    let entries = hits.into_iter().filter_map(|hit| {
        // The node's fields come before the hit's fields.
        let mut entry = nodes.get(&hit.id)?.as_static().to_json(fields);
        entry.extend(hit.fields);
        Some((Value::Object(entry), hit.id))
    });
    Ok(entries.unzip())
}

#[cfg(test)]
mod tests {
    use quad_store::testing::ExplainSql;

    use super::*;
    use crate::micros;
    use crate::testing::test_envs;

    #[tokio::test(flavor = "multi_thread")]
    async fn evidence_loads_edges_of_all_hits_together_and_limits_them() {
        for env in test_envs().await {
            let hub = json!({"event_type": "fact", "content": "hub"});
            let leaf = json!({"event_type": "fact", "content": "leaf",
                "edges": [{"target_index": 0, "edge_type": "part_of"}]});
            let leaves = std::iter::repeat_n(leaf, limits::EVIDENCE_EDGES + 20);
            let nodes: Vec<Value> = std::iter::once(hub).chain(leaves).collect();
            env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
            let engine = env.scheme.engine.clone();
            let found = env.test_store.store.read(&env.test_store.tenant, move |sql| {
                let mut sql = ExplainSql::new(sql);
                let request = SearchRequest {
                    text: "hub leaf".to_owned(),
                    filter: Filter::default(),
                    limit: 8,
                    include_superseded: false,
                };
                let result = request.evidence(&engine, &mut sql, micros::now())?;
                let edge_queries =
                    sql.plans.iter().filter(|(query, _)| query.contains("FROM amem_edge")).count();
                Ok((result.document, edge_queries))
            });
            let (document, edge_queries) = found.await.unwrap();
            assert_eq!(edge_queries, 2, "one for each direction");
            let evidence = document["evidence"].as_array().unwrap();
            assert_eq!(evidence.len(), 8);
            let hub = evidence.iter().find(|entry| entry["node_id"] == 0).unwrap();
            let incoming = hub["incoming_edges"].as_array().unwrap();
            assert_eq!((incoming.len(), &incoming[0]["source_id"]), (limits::EVIDENCE_EDGES, &json!(1)));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn search_finds_answer_beside_its_question_in_session() {
        for env in test_envs().await {
            let session = |texts: &[&str]| -> Value {
                let nodes: Value =
                    texts.iter().map(|text| json!({"event_type": "fact", "content": text})).collect();
                json!({"nodes": nodes})
            };
            env.call("session_start", json!({})).await.unwrap();
            env.call("memory_add_many", session(&["Which team did you sign with?"])).await.unwrap();
            env.call("session_start", json!({})).await.unwrap();
            env.call("memory_add_many", session(&["Lunch is at noon", "Dinner is at eight"])).await.unwrap();
            env.call("session_start", json!({"session_id": 1})).await.unwrap();
            env.call("memory_add_many", session(&["The Wolves!", "Well done", "Thanks", "Bye"]))
                .await
                .unwrap();
            env.call("memory_correct", json!({"old_node_id": 4, "new_content": "Congratulations"}))
                .await
                .unwrap();
            let search = async |limit: usize| {
                let question = json!({"query": "the team that he signed with", "limit": limit});
                env.call("memory_search", question).await.unwrap()["nodes"].as_array().unwrap().clone()
            };
            let nodes = search(2).await;
            // Node 1 and 2 are of another session, and node 4 is superseded.
            assert_eq!(nodes.iter().map(|node| &node["id"]).collect::<Vec<_>>(), [&json!(0), &json!(3)]);
            assert_eq!(nodes[0]["matched_terms"], json!(["team", "signed"]));
            assert_eq!((&nodes[1]["matched_terms"], &nodes[1]["text_score"]), (&json!([]), &Value::Null));
            let longer = search(100).await;
            assert_eq!(longer[..2], nodes);
            assert!(longer.iter().all(|node| node["id"] != 4), "{longer:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn longer_search_begins_with_shorter_one() {
        for env in test_envs().await {
            let words = ["limit", "limits", "rate", "rated", "gateway", "team", "Ann:", "über"];
            let node = |number: usize| {
                let text: Vec<&str> =
                    (0..5).map(|place| words[(number * 7 + place * number / 3) % 8]).collect();
                json!({"event_type": "fact", "content": text.join(" ")})
            };
            for session in 0..6 {
                env.call("session_start", json!({})).await.unwrap();
                let nodes: Vec<Value> = (session * 60..session * 60 + 60).map(node).collect();
                env.call("memory_add_many", json!({"nodes": nodes})).await.unwrap();
            }
            for question in ["Which rate limit did Ann set?", "teams", "\"rate limit\" gate*"] {
                let search = async |limit: usize| {
                    let found =
                        env.call("memory_search", json!({"query": question, "limit": limit})).await.unwrap();
                    found["nodes"].as_array().unwrap().clone()
                };
                let longest = search(1_000).await;
                assert!(longest.len() > crate::search::limits::CONTEXT_HITS, "{}", longest.len());
                for limit in [1, 5, 10, 20, 100, 150] {
                    assert_eq!(
                        search(limit).await,
                        longest[..limit.min(longest.len())],
                        "{question} {limit}"
                    );
                }
            }
        }
    }
}
