//! `memory_ground` with pairs of a memory and a claim that share their words.

use serde_json::{Value, json};

use crate::testing::{MemoryEnv, test_envs};

/// Memories that say the opposite of each other. Each verifies itself and is only related to the other.
const OPPOSITES: [(&str, &str); 51] = [
    ("Alice reports to Bob", "Bob reports to Alice"),
    ("The cache is on", "The cache is off"),
    ("Use spaces", "Use tabs, never spaces"),
    ("Bob has access", "Everyone except Bob has access"),
    ("Bob has access", "Bob lacks access"),
    ("Bob has access to billing", "Access to billing is denied to Bob"),
    ("Deployments happen on Fridays", "Deployments happen on every day but Fridays"),
    ("Redis is used in production", "Redis is used in tests, not in production"),
    ("Redis is used in tests", "Redis is used, except in tests"),
    ("We decided on Redis", "We decided against Redis and not on it"),
    ("The team knows Rust", "Nobody on the team knows Rust"),
    ("All services use Redis", "Not all services use Redis"),
    ("We chose Redis", "We almost chose Redis"),
    ("We use Redis", "It is not true that we use Redis"),
    ("There are open bugs", "There are no open bugs"),
    ("We use Redis", "We do not use Redis"),
    ("We use Redis for sessions", "We don't use Redis for sessions"),
    ("We use Redis", "We no longer use Redis"),
    ("We use Redis", "We never use Redis"),
    ("We use Redis", "We stopped using Redis"),
    ("We use Redis", "We used to use Redis"),
    ("We use Redis", "We use Valkey, not Redis"),
    ("We use Redis", "We use Valkey instead of Redis"),
    ("We use Redis", "We use Valkey rather than Redis"),
    ("We use Redis", "Instead of Redis we use Valkey"),
    ("We use Redis", "We moved from Redis to Valkey and use it"),
    ("We use Redis", "We might use Redis"),
    ("We use Redis", "Should we use Redis?"),
    ("We use Redis", "None of our services use Redis"),
    ("Redis is used in production", "Redis is not used in production"),
    ("The cache uses Redis", "The cache works without Redis and uses memory"),
    ("The API is public", "The API isn't public"),
    ("The API is public", "The API is private"),
    ("Backups are encrypted", "Backups are unencrypted"),
    ("The feature flag is enabled", "The feature flag is disabled"),
    ("Deploy on Fridays", "Never deploy on Fridays"),
    ("Deploy on Fridays", "Avoid to deploy on Fridays"),
    ("Run the migration before the deployment", "Run the migration after the deployment"),
    ("Valkey is faster than Redis", "Redis is faster than Valkey"),
    ("We prefer Valkey over Redis", "We prefer Redis over Valkey"),
    ("Valkey replaced Redis", "Redis replaced Valkey"),
    ("The build fails on Windows", "The build does not fail on Windows"),
    ("The team has access to billing", "The team has no access to billing"),
    ("All services except billing write audit events", "All services and billing write audit events"),
    ("Alice likes coffee", "Alice does not like coffee"),
    ("Alice eats meat", "Alice can't eat meat"),
    ("The meeting was cancelled", "The meeting was not cancelled"),
    ("Tests hit the real database", "Tests must not hit the real database"),
    ("The token expires", "The token never expires"),
    ("Wir nutzen Redis", "Wir nutzen Redis nicht"),
    ("The old API is deprecated", "The old API is not deprecated"),
];

/// A memory, a claim, and the answer.
const PAIRS: [(&str, &str, &str); 30] = [
    ("We use PostgreSQL. We do not use Redis.", "We use Redis", "related"),
    ("We use PostgreSQL. We do not use Redis.", "We use PostgreSQL", "verified"),
    ("We use PostgreSQL. We do not use Redis.", "We do not use Redis", "verified"),
    ("We do not use Redis for caching. We use Redis for queues.", "We use Redis for queues", "verified"),
    ("We do not use Redis for caching. We use Redis for queues.", "We use Redis for caching", "related"),
    ("We use Valkey, not Redis", "We use Valkey", "verified"),
    ("We moved from Redis to Valkey", "We moved to Valkey", "verified"),
    ("Redis was replaced by Valkey", "Valkey replaced Redis", "verified"),
    ("We never stop using Redis", "We use Redis", "verified"),
    ("The limit was raised from 100 to 200", "The limit is 100", "related"),
    ("The limit was raised from 100 to 200", "The limit was raised to 200", "verified"),
    (
        "The API rate limit is 100 requests per minute",
        "The API rate limit is 100 requests per minute",
        "verified",
    ),
    ("The API rate limit is 100 requests per minute", "The API rate limits are 100", "verified"),
    (
        "The API rate limit is 100 requests per minute",
        "The API rate limit is 500 requests per minute",
        "related",
    ),
    (
        "The API rate limit is 100 requests per minute",
        "The API rate limit is 100 requests per hour",
        "partial",
    ),
    ("Use PostgreSQL for the main database", "The main database uses PostgreSQL", "verified"),
    ("We use PostgreSQL. Redis was evaluated.", "We use Redis", "partial"),
    (
        "The main database is PostgreSQL. It listens on port 5433.",
        "PostgreSQL listens on port 5433",
        "verified",
    ),
    ("Ports:\n- api 8080\n- db 5432", "The api port is 8080", "verified"),
    ("Ports:\n- api 8080\n- db 5432", "The db port is 8080", "partial"),
    ("Do we use Redis? No, we use Valkey.", "We use Redis", "related"),
    ("Do we use Redis? No, we use Valkey.", "We use Valkey", "verified"),
    ("We use Redis, which is not encrypted", "We use Redis", "verified"),
    ("If the build fails, run make clean", "Run make clean if the build fails", "verified"),
    ("We have two databases", "We have 2 databases", "verified"),
    ("We considered Redis but use Valkey instead", "We use Redis", "related"),
    // Less than half of the claim's words.
    ("We use Redis", "We considered Redis but use Valkey instead", "ungrounded"),
    ("Alice moved to Berlin", "Did Alice move to Berlin?", "verified"),
    ("Alice moved to Berlin", "Bob moved to Berlin", "partial"),
    ("Alice moved to Berlin", "The printer is broken", "ungrounded"),
];

async fn add(env: &MemoryEnv, content: &str) -> i64 {
    let added = env.call("memory_add", json!({"event_type": "fact", "content": content})).await.unwrap();
    added["node_id"].as_i64().unwrap()
}

async fn ground(env: &MemoryEnv, claim: &str) -> Value {
    env.call("memory_ground", json!({"claim": claim})).await.unwrap()
}

/// The status of a claim in a memory with one node, which is deleted afterwards.
async fn status(env: &MemoryEnv, memory: &str, claim: &str) -> String {
    let id = add(env, memory).await;
    let answer = ground(env, claim).await;
    env.call("memory_forget", json!({"node_id": id, "reason": "a test"})).await.unwrap();
    answer["status"].as_str().unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn opposite_of_a_memory_is_related_in_both_directions() {
    for env in test_envs().await {
        let mut wrong = Vec::new();
        for (a, b) in OPPOSITES.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]) {
            for (claim, expected) in [(a, "verified"), (b, "related")] {
                let actual = status(&env, a, claim).await;
                // A question or a plan is no statement.
                if actual != expected && !(a == claim && a.ends_with('?')) {
                    wrong.push(format!("{a:?} as memory, {claim:?} as claim: {actual}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn claim_is_compared_with_the_closest_sentence() {
    for env in test_envs().await {
        let mut wrong = Vec::new();
        for (memory, claim, expected) in PAIRS {
            let actual = status(&env, memory, claim).await;
            if actual != expected {
                wrong.push(format!("{memory:?}, {claim:?}: {actual} instead of {expected}"));
            }
        }
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn related_answer_shows_its_sentence() {
    for env in test_envs().await {
        let id = add(&env, "We use PostgreSQL for tables. We do not use Redis.").await;
        let answer = ground(&env, "We use Redis").await;
        assert_eq!(answer["sentence"], "We do not use Redis.");
        assert!(answer["reason"].as_str().unwrap().contains("negates"), "{answer}");
        assert_eq!(
            (&answer["evidence"][0]["node_id"], &answer["evidence"][0]["stance"]),
            (&json!(id), &json!("differs"))
        );
        assert!(answer.get("confidence").is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn newer_of_two_opposite_memories_counts() {
    for env in test_envs().await {
        add(&env, "We use Redis").await;
        let newer = add(&env, "We no longer use Redis").await;
        let answer = ground(&env, "We use Redis").await;
        assert_eq!(
            (&answer["status"], &answer["evidence"][0]["node_id"]),
            (&json!("related"), &json!(newer))
        );
        assert_eq!(ground(&env, "We no longer use Redis").await["status"], "verified");
        add(&env, "We use Redis").await;
        assert_eq!(ground(&env, "We use Redis").await["status"], "verified");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn corrected_memory_answers_superseded_even_if_the_correction_has_its_words() {
    for env in test_envs().await {
        let old = add(&env, "We use Redis").await;
        let correction = json!({"old_node_id": old, "new_content": "We do not use Redis"});
        env.call("memory_correct", correction).await.unwrap();
        let answer = ground(&env, "We use Redis").await;
        assert_eq!((&answer["status"], &answer["latest"]["id"]), (&json!("superseded"), &json!(old + 1)));
        assert_eq!(ground(&env, "We do not use Redis").await["status"], "verified");
    }
}
