//! The engine compared with a simple scorer without an index.

use proptest::prelude::*;

use super::*;

const VOCABULARY: [&str; 8] = ["cat", "car", "Dog", "über", "the", "catalog", "x", "42"];

/// BM25 by its definition, in f64. Exact for texts of at most 40 words, whose length the index does not round.
fn bm25_by_definition(
    nodes: &TestDocs,
    words: &[&str],
    phrases: &[&[&str]],
    prefixes: &[&str],
    filter: &Filter,
) -> Vec<(u64, f64)> {
    let docs: Vec<(&Doc, Vec<String>)> = nodes
        .docs()
        .map(|doc| {
            let lower = doc.content.to_lowercase();
            let tokens = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            (doc, tokens.map(str::to_owned).collect())
        })
        .collect();
    let doc_count = docs.len() as f64;
    let average_length = docs.iter().map(|(_, words)| words.len()).sum::<usize>() as f64 / doc_count;
    let idf = |word: &str| {
        let doc_freq = docs.iter().filter(|(_, words)| words.iter().any(|w| w == word)).count() as f64;
        ((doc_count - doc_freq + 0.5) / (doc_freq + 0.5) + 1.0).ln()
    };
    let term_weight = |term_freq: f64, length: f64| {
        term_freq * 2.2 / (term_freq + 1.2 * (0.25 + 0.75 * length / average_length))
    };
    let mut hits = Vec::new();
    for (doc, text) in &docs {
        let mut score = 0.0;
        for word in words {
            let term_freq = text.iter().filter(|w| w == word).count() as f64;
            score += idf(word) * term_weight(term_freq, text.len() as f64);
        }
        for phrase in phrases {
            let matches_at = |start: usize| {
                phrase.iter().enumerate().all(|(n, w)| text.get(start + n).is_some_and(|x| x == w))
            };
            let occurrences = (0..text.len()).filter(|start| matches_at(*start)).count() as f64;
            score += phrase.iter().map(|word| idf(word)).sum::<f64>()
                * term_weight(occurrences, text.len() as f64);
        }
        for prefix in prefixes {
            score += f64::from(u8::from(text.iter().any(|word| word.starts_with(prefix))));
        }
        if score > 0.0 && filter.matches(&doc.meta()) {
            hits.push((doc.id, score));
        }
    }
    hits
}

/// The same nodes and scores, in an order that the scores allow.
fn assert_matches_expected(page: &TextPage, mut expected: Vec<(u64, f64)>) {
    let found_ids: BTreeSet<u64> = page.hits.iter().map(|hit| hit.id).collect();
    assert_eq!(found_ids, expected.iter().map(|(id, _)| *id).collect(), "{page:?}");
    for hit in &page.hits {
        let (_, score) = expected.iter().find(|(id, _)| *id == hit.id).unwrap();
        assert!((f64::from(hit.score) - score).abs() < 1e-4, "{hit:?} {score}");
    }
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (hit, (id, score)) in page.hits.iter().zip(&expected) {
        assert!(hit.id == *id || (f64::from(hit.score) - score).abs() < 2e-4, "{hit:?} {id} {score}");
    }
    let is_ordered = |pair: &[TextHit]| {
        pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].id < pair[1].id)
    };
    assert!(page.hits.windows(2).all(is_ordered), "{page:?}");
}

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<usize>, u8, u32),
    Delete(u64),
    Search(usize),
    WaitIdle,
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (prop::collection::vec(0usize..8, 0..12), 0u8..3, 0u32..3)
            .prop_map(|(words, event_type, session)| Step::Add(words, event_type, session)),
        1 => (0u64..40).prop_map(Step::Delete),
        4 => (0usize..QUERIES.len()).prop_map(Step::Search),
        1 => Just(Step::WaitIdle),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..80)
}

type QueryCase =
    (&'static str, &'static [&'static str], &'static [&'static [&'static str]], &'static [&'static str]);

const QUERIES: [QueryCase; 7] = [
    ("cat", &["cat"], &[], &[]),
    ("CAR über", &["car", "über"], &[], &[]),
    ("cat dog 42 the", &["cat", "dog", "42"], &[], &[]),
    ("\"cat dog\"", &[], &[&["cat", "dog"]], &[]),
    ("\"x the\" \"x x\" car", &["car"], &[&["x", "the"], &["x", "x"]], &[]),
    ("ca* dog", &["dog"], &[], &["ca"]),
    ("ü* missing", &["missing"], &[], &["ü"]),
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, max_shrink_iters: 60, ..ProptestConfig::default() })]
    /// However the nodes are spread over index, memory and database, every search gives the result of the simple
    /// scorer.
    #[test]
    fn results_independent_of_index_split(steps in steps(), flush_docs in 1usize..12, filtered in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let nodes = SharedTestDocs::default();
        let mut engine = engine(folder.path(), &nodes, flush_docs);
        let filter = if filtered {
            Filter { event_types: vec![0, 2], sessions: vec![1], created_from: Some(1_002), created_to: Some(1_030) }
        } else {
            Filter::default()
        };
        let mut has_deletions = false;
        let mut steps = steps;
        steps.extend([Step::WaitIdle, Step::Search(2), Step::Search(4), Step::Search(5)]);
        for step in steps {
            match step {
                Step::Add(words, event_type, session) => {
                    let text: Vec<&str> = words.iter().map(|word| VOCABULARY[*word]).collect();
                    nodes.update(|nodes| nodes.add_doc(&text.join(", "), event_type, session, None));
                }
                Step::Delete(id) => {
                    has_deletions = true;
                    nodes.update(|nodes| nodes.delete(id));
                }
                Step::WaitIdle => engine.wait_idle(),
                Step::Restart => {
                    engine.wait_idle();
                    engine = self::engine(folder.path(), &nodes, flush_docs);
                }
                Step::Search(case) => {
                    let (query, words, phrases, prefixes) = QUERIES[case];
                    let page = Page { offset: 0, limit: 100 };
                    let results = search_page(&engine, &nodes, query, &filter, page);
                    let expected = bm25_by_definition(&nodes.snapshot(), words, phrases, prefixes, &filter);
                    if has_deletions {
                        // Deleted nodes still count in the index's statistics until a merge, so only the ids are
                        // compared.
                        let ids: BTreeSet<u64> = results.hits.iter().map(|hit| hit.id).collect();
                        prop_assert_eq!(ids, expected.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>());
                    } else {
                        assert_matches_expected(&results, expected);
                    }
                    for hit in &results.hits {
                        prop_assert!(!hit.matched.is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn long_texts_score_equally_in_index_and_memory() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for n in 0..60_usize {
        let text = format!("alpha {} {}", "beta gamma ".repeat(n * 7), "alpha ".repeat(n % 5));
        nodes.update(|nodes| nodes.add(&text));
    }
    nodes.update(|nodes| nodes.add(&format!("alpha {} beta", "z".repeat(400))));
    let page = Page { offset: 0, limit: 100 };
    let query = "alpha \"beta gamma\" \"alpha beta\" zzzz*";
    let memory_engine = engine(&folder.path().join("a"), &nodes, 1_000);
    let from_memory = search_page(&memory_engine, &nodes, query, &Filter::default(), page);
    let index_engine = engine(&folder.path().join("b"), &nodes, 1);
    search(&index_engine, &nodes, "alpha");
    index_engine.wait_idle();
    let from_index = search_page(&index_engine, &nodes, query, &Filter::default(), page);
    assert_eq!(from_memory.hits.len(), 61);
    for (a, b) in from_memory.hits.iter().zip(&from_index.hits) {
        assert!(a.id == b.id || (a.score - b.score).abs() < 1e-3, "{a:?} {b:?}");
        assert!((a.score - b.score).abs() < 1e-3, "{a:?} {b:?}");
    }
    assert!(!folder.path().join("a").exists(), "few nodes make no index");
    assert!(folder.path().join("b/ten_1/meta.json").exists());
}
