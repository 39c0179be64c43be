//! Measures which memories a search finds: recall and reciprocal rank on the long conversations of LoCoMo, beside plain
//! BM25 in the same run. `./x bench recall` runs it.
//!
//! One turn is one memory, one session of the conversation one session, one conversation one tenant. Questions are
//! asked as they stand, through the tools. The data (CC BY-NC) is not part of the repository: `QUAD_LOCOMO` names a
//! file with a list of `{turns: [{session, id, text}], questions: [{question, evidence}]}`; the default is
//! `shared/oracle/locomo/dev.json` beside the repository.

// A failed expectation ends the measurement.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quad_amem::{Amem, COMPONENT};
use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{Principal, PrincipalKind, Resolver, Scheme, ScopeSet, TenantId};
use quad_store::testing;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct Conversation {
    turns: Vec<Turn>,
    questions: Vec<Question>,
}

#[derive(Deserialize)]
struct Turn {
    session: u64,
    id: String,
    text: String,
}

#[derive(Deserialize)]
struct Question {
    question: String,
    evidence: BTreeSet<String>,
}

/// Numbers of results at which recall is measured.
const DEPTHS: [usize; 3] = [5, 10, 20];

/// The kinds of search that are compared. The first is the default.
const SEARCHES: [(&str, &str, &str); 3] = [
    ("memory_search", "", "memory_search (default)"),
    ("memory_search", "text", "memory_search, mode text"),
    ("memory_similar", "", "memory_similar"),
];

const BM25: &str = "plain BM25 (stems, no stop words)";

/// Sums over questions.
#[derive(Clone, Copy, Default)]
struct Figures {
    recall: [f64; DEPTHS.len()],
    reciprocal_rank: f64,
    questions: f64,
}

impl Figures {
    fn add(&mut self, ranked: &[&str], evidence: &BTreeSet<String>) {
        for (sum, depth) in self.recall.iter_mut().zip(DEPTHS) {
            let found = ranked.iter().take(depth).filter(|id| evidence.contains(**id)).count();
            *sum += found as f64 / evidence.len() as f64;
        }
        let first = ranked.iter().position(|id| evidence.contains(*id));
        self.reciprocal_rank += first.map_or(0.0, |rank| 1.0 / (rank + 1) as f64);
        self.questions += 1.0;
    }

    fn add_all(&mut self, other: &Figures) {
        for (sum, more) in self.recall.iter_mut().zip(other.recall) {
            *sum += more;
        }
        self.reciprocal_rank += other.reciprocal_rank;
        self.questions += other.questions;
    }

    fn recall_at_10(&self) -> f64 {
        100.0 * self.recall[1] / self.questions
    }
}

/// One conversation as a memory.
struct Memory {
    resolver: Resolver,
    caller: Principal,
    /// The turn of each node.
    turn_of: HashMap<u64, String>,
}

impl Memory {
    async fn load(tenant: &TenantId, resolver: Resolver, turns: &[Turn]) -> Memory {
        let caller = Principal {
            tenant: tenant.clone(),
            subject: "bench".into(),
            kind: PrincipalKind::Agent,
            scopes: ScopeSet::parse("*:*"),
            credential_read_set: None,
            expires_at: None,
        };
        let mut memory = Memory { resolver, caller, turn_of: HashMap::new() };
        for session in turns.chunk_by(|a, b| a.session == b.session) {
            memory.call("session_start", json!({})).await;
            let nodes: Vec<Value> =
                session.iter().map(|turn| json!({"event_type": "fact", "content": turn.text})).collect();
            let added = memory.call("memory_add_many", json!({"nodes": nodes})).await;
            let ids = added["node_ids"].as_array().unwrap().iter().filter_map(Value::as_u64);
            memory.turn_of.extend(ids.zip(session.iter().map(|turn| turn.id.clone())));
        }
        memory
    }

    async fn call(&self, tool: &str, arguments: Value) -> Value {
        let arguments: Map<String, Value> = arguments.as_object().cloned().unwrap_or_default();
        let output =
            self.resolver.call_tool(&self.caller, View::All, tool, arguments, &NoProgress).await.unwrap();
        output.structured_value().unwrap_or_default()
    }

    /// The turns that a search finds, best first.
    async fn search(&self, (tool, mode, _): (&str, &str, &str), question: &str, limit: usize) -> Vec<&str> {
        let mut arguments = match tool {
            "memory_similar" => json!({"query_text": question, "min_similarity": -1}),
            _ => json!({"query": question}),
        };
        arguments["limit"] = limit.into();
        if !mode.is_empty() {
            arguments["mode"] = mode.into();
        }
        let found = self.call(tool, arguments).await;
        let hits = found["nodes"].as_array().or(found["matches"].as_array()).unwrap();
        let id = |hit: &Value| hit["id"].as_u64().or(hit["node_id"].as_u64());
        hits.iter().filter_map(id).filter_map(|id| self.turn_of.get(&id)).map(String::as_str).collect()
    }
}

/// BM25 over all turns: stemmed, without stop words, k1 = 1.5, b = 0.75.
struct PlainBm25<'a> {
    turns: &'a [Turn],
    terms_of: Vec<HashMap<String, f64>>,
    lengths: Vec<f64>,
    doc_freq: HashMap<String, f64>,
}

impl<'a> PlainBm25<'a> {
    fn new(turns: &'a [Turn]) -> PlainBm25<'a> {
        let (mut terms_of, mut lengths, mut doc_freq) = (Vec::new(), Vec::new(), HashMap::new());
        for turn in turns {
            let mut counts: HashMap<String, f64> = HashMap::new();
            let terms = stems(&turn.text);
            lengths.push(terms.len() as f64);
            terms.into_iter().for_each(|term| *counts.entry(term).or_default() += 1.0);
            counts.keys().for_each(|term| *doc_freq.entry(term.clone()).or_default() += 1.0);
            terms_of.push(counts);
        }
        PlainBm25 { turns, terms_of, lengths, doc_freq }
    }

    fn search(&self, question: &str) -> Vec<&str> {
        let count = self.turns.len() as f64;
        let average = self.lengths.iter().sum::<f64>() / count;
        let query: BTreeSet<String> = stems(question).into_iter().collect();
        let score = |(terms, length): (&HashMap<String, f64>, &f64)| -> f64 {
            let of_term = |term: &String| {
                let (frequency, docs) = (terms.get(term)?, self.doc_freq.get(term)?);
                let idf = (1.0 + (count - docs + 0.5) / (docs + 0.5)).ln();
                Some(idf * 2.5 * frequency / (frequency + 1.5 * (0.25 + 0.75 * length / average)))
            };
            query.iter().filter_map(of_term).sum()
        };
        let mut ranked: Vec<(f64, &str)> = self
            .terms_of
            .iter()
            .zip(&self.lengths)
            .map(score)
            .zip(self.turns)
            .filter(|(score, _)| *score > 0.0)
            .map(|(score, turn)| (score, turn.id.as_str()))
            .collect();
        ranked.sort_by(|a, b| b.0.total_cmp(&a.0));
        ranked.into_iter().map(|(_, id)| id).collect()
    }
}

fn stems(text: &str) -> Vec<String> {
    let stemmer = frostem::Stemmer::new(frostem::Algorithm::English);
    let stop_words = stop_words::lookup("en").unwrap();
    let lower = text.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.filter(|word| !stop_words.contains(word)).map(|word| stemmer.stem(word).into_owned()).collect()
}

fn data_file() -> PathBuf {
    std::env::var_os("QUAD_LOCOMO").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/locomo/dev.json"),
        PathBuf::from,
    )
}

fn main() {
    let file = data_file();
    let Ok(text) = std::fs::read_to_string(&file) else {
        println!("skipped: {} is not there; QUAD_LOCOMO names another file", file.display());
        return;
    };
    let conversations: Vec<Conversation> = serde_json::from_str(&text).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(measure(&conversations));
}

async fn measure(conversations: &[Conversation]) {
    let mut totals: BTreeMap<&str, Figures> = BTreeMap::new();
    let (mut prefixes, mut questions) = (0, 0);
    println!("recall@10 in per cent by conversation");
    for (number, conversation) in conversations.iter().enumerate() {
        let test = testing::sqlite(&[COMPONENT]).await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let scheme: Arc<dyn Scheme> = Arc::new(Amem::new(test.store.clone(), folder.path()));
        let store = Arc::new(test.store.clone());
        let resolver = Resolver::new(vec![scheme], store.clone(), store).unwrap();
        let memory = Memory::load(&test.tenant, resolver, &conversation.turns).await;
        let bm25 = PlainBm25::new(&conversation.turns);
        let mut figures: BTreeMap<&str, Figures> = BTreeMap::new();
        for question in conversation.questions.iter().filter(|question| !question.evidence.is_empty()) {
            for search in SEARCHES {
                let found = memory.search(search, &question.question, DEPTHS[2]).await;
                figures.entry(search.2).or_default().add(&found, &question.evidence);
            }
            figures.entry(BM25).or_default().add(&bm25.search(&question.question), &question.evidence);
            let few = memory.search(SEARCHES[0], &question.question, 5).await;
            let many = memory.search(SEARCHES[0], &question.question, 100).await;
            prefixes += usize::from(many.starts_with(&few));
            questions += 1;
        }
        let row = figures.iter().map(|(name, figures)| format!("{name} {:.1}", figures.recall_at_10()));
        println!("  {}: {}", number + 1, row.collect::<Vec<_>>().join(", "));
        for (name, figures) in figures {
            totals.entry(name).or_default().add_all(&figures);
        }
    }
    print_totals(&totals);
    println!("the first 5 of 100 results are the 5 results: {prefixes} of {questions} questions");
}

fn print_totals(totals: &BTreeMap<&str, Figures>) {
    println!("\n{:<36} {:>6} {:>6} {:>6} {:>6}", "", "R@5", "R@10", "R@20", "MRR");
    for name in SEARCHES.iter().map(|search| search.2).chain([BM25]) {
        let figures = &totals[name];
        let [at_5, at_10, at_20] = figures.recall.map(|sum| 100.0 * sum / figures.questions);
        let mrr = 100.0 * figures.reciprocal_rank / figures.questions;
        println!("{name:<36} {at_5:>6.1} {at_10:>6.1} {at_20:>6.1} {mrr:>6.1}");
    }
    let ratio = totals[SEARCHES[0].2].recall_at_10() / totals[BM25].recall_at_10();
    println!("recall@10 of the default is {ratio:.2} times that of plain BM25");
}
