//! Memories that say nearly the same as a new one, for `memory_add`: an agent that sees them corrects the old memory or
//! forgets one of the two. A duplicate is never refused.

use std::collections::BTreeSet;

use quad_core::text::truncate;
use quad_core::{Result, TenantId};
use quad_store::Sql;
use serde_json::{Value, json};

use crate::insert::NewNode;
use crate::node::NodeId;
use crate::search::{Engine, Filter, Page, Query};
use crate::search_results::{load_nodes, round4};
use crate::search_source::SnapshotDocs;
use crate::{Amem, conversation, limits, statement};

/// What an agent should do about them.
pub(crate) const MESSAGE: &str = "Nearly the same is remembered already; call memory_correct if it changed, or memory_forget for one of the two";

/// The share of words that two texts have in common (Dice coefficient of their stems) from which they say nearly the same.
/// Two sentences of five words that differ in one have 0.8; two records that differ in their number have 0.67.
const MIN_SHARED: f64 = 0.7;

/// The similar memories of new ones, the most similar first. The search runs before the write and not in it, so that the
/// database is not locked meanwhile; what another caller adds at the same moment is not found. A failure of the search
/// is no reason to refuse a memory. A bulk load of many calls at once is not slowed down: only a few of them search.
pub(crate) async fn find(amem: &Amem, tenant: &TenantId, new_nodes: &[NewNode]) -> Vec<Value> {
    let Some(content) = new_nodes.first().map(|node| node.content.clone()) else { return Vec::new() };
    let Ok(_permit) = amem.similar_searches.try_acquire() else { return Vec::new() };
    let engine = amem.engine.clone();
    let found = amem.store.read(tenant, move |sql| similar_to(&engine, sql, &content)).await;
    found.unwrap_or_else(|error| {
        tracing::warn!(%error, "similar memories were not searched");
        Vec::new()
    })
}

fn similar_to(engine: &Engine, sql: &mut dyn Sql, content: &str) -> Result<Vec<Value>> {
    let stems = statement::stems(content);
    let Some(query) = query(content) else { return Ok(Vec::new()) };
    let tenant = sql.tenant().clone();
    let page = Page { offset: 0, limit: limits::SIMILAR_CANDIDATES };
    let mut docs = SnapshotDocs { sql, include_superseded: false };
    let found = engine.search_text(&tenant, &mut docs, &query, &Filter::default(), page)?;
    let nodes = load_nodes(sql, found.hits.iter().map(|hit| NodeId::from_u64_saturating(hit.id)))?;
    let shared = nodes.values().map(|node| {
        let text = conversation::searchable_text(&node.content);
        (shared_words(&stems, &statement::stems(&text)), node)
    });
    let mut similar: Vec<_> = shared.filter(|(shared, _)| *shared >= MIN_SHARED).collect();
    similar.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.id.cmp(&b.1.id)));
    similar.truncate(limits::SIMILAR_REPORTED);
    let entries = similar.into_iter().map(|(shared, node)| {
        json!({
            "node_id": node.id.0,
            "event_type": node.event_type.as_str(),
            "content": truncate(&node.content, limits::SIMILAR_CHARS),
            "similarity": round4(shared),
        })
    });
    Ok(entries.collect())
}

/// The longest words of a text; `None` if it has no words.
fn query(content: &str) -> Option<Query> {
    let words = content.split(|character: char| !character.is_alphanumeric());
    let words: BTreeSet<(std::cmp::Reverse<usize>, &str)> = words
        .filter(|word| (1..=crate::search::limits::WORD_BYTES).contains(&word.len()))
        .map(|word| (std::cmp::Reverse(word.len()), word))
        .collect();
    let longest: Vec<&str> = words.into_iter().take(limits::SIMILAR_WORDS).map(|(_, word)| word).collect();
    Query::parse(&longest.join(" ")).ok().filter(|_| !longest.is_empty())
}

/// The Dice coefficient of two sets of words; 0 if both are empty.
fn shared_words(a: &BTreeSet<String>, b: &BTreeSet<String>) -> f64 {
    let shared = a.intersection(b).count();
    if shared == 0 { 0.0 } else { 2.0 * shared as f64 / (a.len() + b.len()) as f64 }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{MemoryEnv, test_envs};

    async fn add(env: &MemoryEnv, content: &str) -> Value {
        env.call("memory_add", json!({"event_type": "fact", "content": content})).await.unwrap()
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn caller_without_the_scope_to_read_sees_no_memories() {
        for mut env in test_envs().await {
            let text = "The API rate limit is 100 requests per minute";
            add(&env, text).await;
            assert!(add(&env, text).await.get("similar").is_some());
            env.env.caller.scopes = quad_core::ScopeSet::parse("memory:write");
            assert_eq!(add(&env, text).await.get("similar"), None);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn near_duplicates_are_reported_and_added() {
        for env in test_envs().await {
            let first = add(&env, "The API rate limit is 100 requests per minute").await;
            assert_eq!((first.get("similar"), first.get("message")), (None, None));
            add(&env, "Use PostgreSQL for the main database").await;
            let second = add(&env, "the API rate limits are 200 requests per minute!").await;
            assert_eq!(second["node_id"], 2);
            assert_eq!(second["similar"][0]["node_id"], 0, "{second}");
            assert!(second["similar"][0]["similarity"].as_f64().unwrap() > MIN_SHARED);
            assert!(second["message"].as_str().unwrap().contains("memory_correct"));
            assert_eq!(add(&env, "Main database: use PostgreSQL").await["similar"][0]["node_id"], 1);
            assert_eq!(add(&env, "The API is written in Rust").await.get("similar"), None);
            // What was corrected is not a duplicate any more.
            let correction = json!({"old_node_id": 1, "new_content": "SQLite holds everything"});
            env.call("memory_correct", correction).await.unwrap();
            env.call("memory_forget", json!({"node_id": 3, "reason": "a test"})).await.unwrap();
            assert_eq!(add(&env, "Use PostgreSQL for the main database").await.get("similar"), None);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn long_and_wordless_contents_are_compared_without_error() {
        for env in test_envs().await {
            for content in ["?! …", "a", "x", &"word ".repeat(12_000), &"é".repeat(30_000), "東京に住む"]
            {
                assert_eq!(add(&env, content).await.get("similar"), None, "{} bytes", content.len());
            }
            assert_eq!(add(&env, "東京に住む").await["similar"][0]["content"], "東京に住む");
        }
    }
}
