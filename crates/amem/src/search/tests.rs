//! The engine as a whole, compared with a simple scorer without an index.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use quad_core::TenantId;

use super::engine::EngineConfig;
use super::testing::{SharedTestDocs, TestDocs};
use super::text_index::FlushThreshold;
use super::*;

fn tenant() -> TenantId {
    TenantId::new("ten_1")
}

/// An engine that flushes after every few nodes.
fn engine(folder: &Path, nodes: &SharedTestDocs, flush_docs: usize) -> Engine {
    let flush_threshold = FlushThreshold { docs: flush_docs, bytes: 1 << 20 };
    let config = EngineConfig { flush_threshold, cached_vectors: 50, exact_similarity_max_docs: 1_000 };
    Engine::with_config(folder, Arc::new(nodes.clone()), config)
}

fn search_page(
    engine: &Engine,
    nodes: &SharedTestDocs,
    query: &str,
    filter: &Filter,
    page: Page,
) -> TextPage {
    engine.search_text(&tenant(), &mut nodes.snapshot(), &Query::parse(query).unwrap(), filter, page).unwrap()
}

fn search(engine: &Engine, nodes: &SharedTestDocs, query: &str) -> Vec<u64> {
    let page = Page { offset: 0, limit: 1_000 };
    search_page(engine, nodes, query, &Filter::default(), page).hits.iter().map(|hit| hit.id).collect()
}

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

const VOCABULARY: [&str; 8] = ["cat", "car", "Dog", "über", "the", "catalog", "x", "42"];

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
    assert!(!folder.path().join("a").exists(), "a short tail makes no index");
    assert!(folder.path().join("b/ten_1/meta.json").exists());
}

#[test]
fn two_engines_on_one_folder_find_new_docs() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    let (first, second) = (engine(folder.path(), &nodes, 4), engine(folder.path(), &nodes, 4));
    for n in 0..40_u64 {
        nodes.update(|nodes| nodes.add(&format!("note number{n} common")));
        let newest_word = format!("number{n}");
        assert_eq!(search(&first, &nodes, &newest_word), [n]);
        assert_eq!(search(&second, &nodes, &newest_word), [n]);
        if n % 10 == 9 {
            first.wait_idle();
            second.wait_idle();
        }
        assert_eq!(search(&first, &nodes, "common").len() as u64, n + 1);
        assert_eq!(search(&second, &nodes, "common").len() as u64, n + 1);
    }
    nodes.update(|nodes| nodes.delete(3));
    nodes.update(|nodes| nodes.delete(39));
    for engine in [&first, &second] {
        assert!(search(engine, &nodes, "number3 number39").is_empty());
        assert_eq!(search(engine, &nodes, "common").len(), 38);
    }
}

#[test]
fn search_is_complete_without_index_lock() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    let lock = fs::File::create(folder.path().join("ten_1.lock")).unwrap();
    lock.lock().unwrap();
    let locked_out = engine(folder.path(), &nodes, 2);
    for n in 0..30 {
        nodes.update(|nodes| nodes.add(&format!("word{n} all")));
    }
    assert_eq!(search(&locked_out, &nodes, "all").len(), 30);
    locked_out.wait_idle();
    assert!(!folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&locked_out, &nodes, "word29"), [29]);
    drop(lock);
    search(&locked_out, &nodes, "all");
    locked_out.wait_idle();
    assert!(folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&locked_out, &nodes, "all").len(), 30);
}

fn index_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("ten_1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn build_index(folder: &Path, nodes: &SharedTestDocs) {
    for n in 0..50 {
        nodes.update(|nodes| nodes.add(&format!("common word{n} text about nothing")));
    }
    let engine = engine(folder, nodes, 10);
    assert_eq!(search(&engine, nodes, "common").len(), 50);
    engine.wait_idle();
}

#[test]
fn corrupt_index_is_rebuilt() {
    let original = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    build_index(original.path(), &nodes);
    let names: Vec<String> = index_files(original.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !name.starts_with(".tantivy"))
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let run_query = |engine: &Engine| {
        let page = Page { offset: 0, limit: 100 };
        search_page(engine, &nodes, "common word7 \"word8 text\"", &Filter::default(), page)
    };
    let expected = run_query(&engine(original.path(), &nodes, 10));
    assert_eq!(expected.hits.len(), 50);
    type Corruption = fn(&Path);
    let corruptions: [Corruption; 6] = [
        |path| fs::remove_file(path).unwrap(),
        |path| fs::write(path, b"").unwrap(),
        |path| fs::write(path, vec![0xff; 300]).unwrap(),
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes.truncate(bytes.len() / 2);
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            bytes[0] ^= 0x41;
            fs::write(path, bytes).unwrap();
        },
        |path| {
            let mut bytes = fs::read(path).unwrap();
            // Changes the content of the file, not the checksum at its end, if the file is long enough.
            let offset = (bytes.len() / 4).min(40);
            bytes[offset] ^= 0x05;
            fs::write(path, bytes).unwrap();
        },
    ];
    for name in &names {
        for corrupt in corruptions {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("ten_1")).unwrap();
            for file in index_files(original.path()) {
                fs::copy(&file, folder.path().join("ten_1").join(file.file_name().unwrap())).unwrap();
            }
            corrupt(&folder.path().join("ten_1").join(name));
            let engine = engine(folder.path(), &nodes, 10);
            assert_eq!(run_query(&engine), expected, "{name}");
            assert_eq!(search(&engine, &nodes, "word49"), [49], "{name}");
            engine.wait_idle();
            assert_eq!(run_query(&engine), expected, "{name}");
            engine.wait_idle();
            let rebuilt = folder.path().join("ten_1");
            assert!(index::verify_checksums(&rebuilt).is_ok(), "{name}");
            assert!(
                matches!(index::IndexSearcher::open(&rebuilt), Ok(index::OpenResult::Ready(_))),
                "{name}"
            );
        }
    }
}

#[test]
fn index_of_other_database_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    build_index(folder.path(), &SharedTestDocs::default());
    // A database restored from a backup with a different history since: same ids, other texts.
    let nodes = SharedTestDocs::default();
    for n in 0..60 {
        nodes.update(|nodes| nodes.add(&format!("different matter{n}")));
    }
    let engine = engine(folder.path(), &nodes, 10);
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "different").len(), 60);
    engine.wait_idle();
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "matter59"), [59]);
}

#[test]
fn deleted_docs_stay_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    build_index(folder.path(), &nodes);
    // Deleted while no engine runs, as another process would.
    for id in [0, 7, 49] {
        nodes.update(|nodes| nodes.delete(id));
    }
    for _ in 0..3 {
        let engine = engine(folder.path(), &nodes, 2);
        let ids = search(&engine, &nodes, "common word0 word7 word49");
        assert!(ids.len() >= 47 && !ids.iter().any(|id| [0, 7, 49].contains(id)), "{ids:?}");
        let similar = engine
            .search_similar(
                &tenant(),
                &mut nodes.snapshot(),
                SimilarityQuery::Text("common word7"),
                &Filter::default(),
                100,
                -1.0,
            )
            .unwrap();
        assert!(!similar.iter().any(|hit| [0, 7, 49].contains(&hit.id)));
        engine.wait_idle();
        nodes.update(|nodes| nodes.add("common"));
    }
}

#[test]
fn pages_have_no_gaps_or_duplicates() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for n in 0..97_u64 {
        nodes.update(|nodes| {
            nodes.add(if n % 3 == 0 { "same words here" } else { "same words here and more" })
        });
    }
    for id in [5, 6, 50] {
        nodes.update(|nodes| nodes.hide(id));
    }
    let engine = engine(folder.path(), &nodes, 20);
    search(&engine, &nodes, "words");
    engine.wait_idle();
    let expected_ids = search(&engine, &nodes, "same words");
    let (mut read_ids, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let page =
            search_page(&engine, &nodes, "same words", &Filter::default(), Page { offset: from, limit: 10 });
        read_ids.extend(page.hits.iter().map(|hit| hit.id));
        offset = page.next_offset;
    }
    assert_eq!(read_ids.len(), 94);
    assert_eq!(read_ids, expected_ids);
    let is_rejected = |page: Page| {
        engine
            .search_text(
                &tenant(),
                &mut nodes.snapshot(),
                &Query::parse("same").unwrap(),
                &Filter::default(),
                page,
            )
            .is_err()
    };
    assert!(is_rejected(Page { offset: 0, limit: 0 }) && is_rejected(Page { offset: 0, limit: 1_001 }));
    assert!(is_rejected(Page { offset: 10_000, limit: 1 }));
}

#[test]
fn superseded_hits_do_not_shrink_page() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for _ in 0..200 {
        nodes.update(|nodes| nodes.add("rate limit"));
    }
    for id in 0..190 {
        nodes.update(|nodes| nodes.hide(id));
    }
    let engine = engine(folder.path(), &nodes, 1_000);
    let page = search_page(&engine, &nodes, "rate", &Filter::default(), Page { offset: 0, limit: 5 });
    assert_eq!(page.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [190, 191, 192, 193, 194]);
    let similar = engine
        .search_similar(
            &tenant(),
            &mut nodes.snapshot(),
            SimilarityQuery::Text("rate limit"),
            &Filter::default(),
            5,
            0.5,
        )
        .unwrap();
    assert_eq!(similar.iter().map(|hit| hit.id).collect::<Vec<_>>(), [190, 191, 192, 193, 194]);
}

#[test]
fn hybrid_search_fuses_by_rank() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for text in [
        "Use PostgreSQL for the main database",
        "The cat sleeps",
        "Postgres connection pooling with pgbouncer",
        "databases: nightly",
    ] {
        nodes.update(|nodes| nodes.add(text));
    }
    let engine = engine(folder.path(), &nodes, 100);
    let hits = engine
        .search_hybrid(&tenant(), &mut nodes.snapshot(), "postgresql database", &Filter::default(), 3)
        .unwrap();
    assert_eq!(hits[0].id, 0);
    assert_eq!(hits[0].matched, ["postgresql", "database"]);
    assert!((hits[0].score - 2.0 / 61.0).abs() < 1e-9);
    // Found by similarity alone: no word is the same.
    let similarity_only: Vec<u64> =
        hits.iter().filter(|hit| hit.text_score.is_none()).map(|hit| hit.id).collect();
    assert!(!similarity_only.is_empty() && !similarity_only.contains(&1), "{hits:?}");
}

#[test]
fn hybrid_reranks_text_hits_above_size_limit() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for n in 0..60 {
        nodes.update(|nodes| {
            nodes.add(&format!(
                "database of kind {n} with very many other words around it, so that they differ"
            ))
        });
    }
    for text in ["databases: nightly", "postgres database", "postgresql database"] {
        nodes.update(|nodes| nodes.add(text));
    }
    let flush_threshold = FlushThreshold { docs: 10, bytes: 1 << 20 };
    let run_hybrid = |exact_similarity_max_docs: usize| {
        let config = EngineConfig { flush_threshold, cached_vectors: 50, exact_similarity_max_docs };
        let engine = Engine::with_config(folder.path(), Arc::new(nodes.clone()), config);
        search(&engine, &nodes, "database");
        engine.wait_idle();
        engine
            .search_hybrid(&tenant(), &mut nodes.snapshot(), "postgresql database", &Filter::default(), 5)
            .unwrap()
    };
    let (exact, reranked) = (run_hybrid(1_000), run_hybrid(10));
    for hits in [&exact, &reranked] {
        assert_eq!((hits[0].id, hits[1].id), (62, 61), "{hits:?}");
        assert!(hits[0].similarity.is_some_and(|similarity| similarity > 0.9));
    }
    // Only the comparison with all nodes finds one that shares no word.
    assert!(
        exact.iter().any(|hit| hit.id == 60) && !reranked.iter().any(|hit| hit.id == 60),
        "{exact:?} {reranked:?}"
    );
}

#[test]
fn evidence_is_sorted_by_coverage() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for text in [
        "The API rate limit is 100 requests per minute",
        "Use PostgreSQL for the main database",
        "limit limit limit",
        "The API rate limit is 200 requests per minute",
    ] {
        nodes.update(|nodes| nodes.add(text));
    }
    let engine = engine(folder.path(), &nodes, 100);
    let find_evidence = |claim: &str| {
        engine.find_evidence(&tenant(), &mut nodes.snapshot(), claim, &Filter::default(), 10).unwrap()
    };
    let hits = find_evidence("the rate limit is 100");
    assert_eq!((hits[0].id, hits[1].id), (0, 3));
    assert_eq!(Grounding::from_coverage(hits[0].coverage, 0.3), Grounding::Verified);
    assert_eq!(Grounding::from_coverage(hits[1].coverage, 0.3), Grounding::Partial);
    assert_eq!(
        (hits[1].matched.as_slice(), hits[1].missing.as_slice()),
        (["rate".to_owned(), "limit".to_owned()].as_slice(), ["100".to_owned()].as_slice())
    );
    assert!(find_evidence("cats like milk").is_empty());
    assert!(Grounding::from_coverage(0.0, 0.0) == Grounding::Ungrounded);
    let claim = "é".repeat(30_000);
    assert!(find_evidence(&claim).is_empty());
}

#[test]
fn notify_added_builds_index_without_search() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    let engine = engine(folder.path(), &nodes, 10);
    for n in 0..1_300 {
        nodes.update(|nodes| nodes.add(&format!("node {n}")));
    }
    engine.notify_added(&tenant(), 5);
    engine.wait_idle();
    assert!(!folder.path().join("ten_1").exists());
    engine.notify_added(&tenant(), 1_299);
    engine.wait_idle();
    assert!(folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&engine, &nodes, "1299"), [1_299]);
    assert_eq!(search(&engine, &nodes, "node").len(), 1_000);
}

#[test]
fn tenants_are_isolated_and_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    nodes.update(|nodes| nodes.add("here"));
    let engine = engine(folder.path(), &nodes, 1);
    let query = Query::parse("here").unwrap();
    for n in 0..limits::CACHED_TENANTS + 20 {
        let tenant = TenantId::new(format!("../tenant {n}"));
        let page = Page { offset: 0, limit: 5 };
        let empty = &mut TestDocs::default();
        assert!(
            engine.search_text(&tenant, empty, &query, &Filter::default(), page).unwrap().hits.is_empty()
        );
        assert_eq!(
            engine
                .search_text(&tenant, &mut nodes.snapshot(), &query, &Filter::default(), page)
                .unwrap()
                .hits
                .len(),
            1
        );
    }
    engine.wait_idle();
    let outside = folder.path().parent().unwrap();
    assert!(!outside.join("tenant 0").exists());
}

#[test]
fn concurrent_writers_find_their_own_docs() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    let engines = [engine(folder.path(), &nodes, 7), engine(folder.path(), &nodes, 7)];
    std::thread::scope(|scope| {
        for worker in 0..4_usize {
            let (nodes, engines) = (&nodes, &engines);
            scope.spawn(move || {
                for n in 0..30_usize {
                    let word = format!("worker{worker}n{n}");
                    nodes.update(|nodes| nodes.add(&format!("{word} all")));
                    let ids = search(&engines[(worker + n) % 2], nodes, &word);
                    assert_eq!(ids.len(), 1, "{word}");
                    if n % 10 == 3 {
                        nodes.update(|nodes| nodes.delete(ids[0]));
                        assert!(search(&engines[worker % 2], nodes, &word).is_empty(), "{word}");
                    }
                }
            });
        }
    });
    for engine in &engines {
        assert_eq!(search(engine, &nodes, "all").len(), 4 * 27);
        engine.wait_idle();
        assert_eq!(search(engine, &nodes, "all").len(), 4 * 27);
    }
}

/// Nodes of a snapshot that calls `interrupt` while a page is being read.
struct InterruptedSnapshot<'a> {
    nodes: TestDocs,
    interrupt: &'a dyn Fn(),
    /// The number of pages before the interruption.
    pages_before_interrupt: usize,
}

impl InterruptedSnapshot<'_> {
    fn maybe_interrupt(&mut self) {
        match self.pages_before_interrupt.checked_sub(1) {
            None => {}
            Some(0) => {
                self.pages_before_interrupt = 0;
                (self.interrupt)();
            }
            Some(remaining) => self.pages_before_interrupt = remaining,
        }
    }
}

impl DocSnapshot for InterruptedSnapshot<'_> {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> quad_core::Result<Vec<Doc>> {
        let page = self.nodes.docs_after(id, limit);
        self.maybe_interrupt();
        page
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> quad_core::Result<Vec<(i64, u64)>> {
        let page = self.nodes.deleted_after(after_position, limit);
        self.maybe_interrupt();
        page
    }
}

#[test]
fn concurrent_searches_do_not_duplicate_docs() {
    let folder = tempfile::tempdir().unwrap();
    let shared = SharedTestDocs::default();
    for n in 0..5 {
        shared.update(|nodes| nodes.add(&format!("all {n}")));
    }
    let engine = engine(folder.path(), &shared, 1_000);
    let old_snapshot = shared.snapshot();
    shared.update(|nodes| nodes.add("all the newer"));
    let interrupt = || drop(search(&engine, &shared, "all"));
    let mut snapshot =
        InterruptedSnapshot { nodes: old_snapshot, interrupt: &interrupt, pages_before_interrupt: 1 };
    let (query, page) = (Query::parse("all").unwrap(), Page { offset: 0, limit: 10 });
    let results = engine.search_text(&tenant(), &mut snapshot, &query, &Filter::default(), page).unwrap();
    // The nodes of its own snapshot, each once, whatever the other search did meanwhile.
    assert_eq!(results.hits.iter().map(|hit| hit.id).collect::<BTreeSet<_>>(), (0..5).collect());
    assert_eq!(search(&engine, &shared, "all").len(), 6);
}

#[test]
fn search_complete_under_concurrent_commits() {
    // Every combination of commits, deletions and searches, before each of the first pages of a search.
    for interruptions in 0..8_u8 {
        for pages_before_interrupt in 1..6 {
            let folder = tempfile::tempdir().unwrap();
            let shared = SharedTestDocs::default();
            let (first, second) = (engine(folder.path(), &shared, 3), engine(folder.path(), &shared, 3));
            // The memory segments are full and more nodes follow in the database.
            for n in 0..40 {
                shared.update(|nodes| nodes.add(&format!("all number{n}")));
            }
            let snapshot = shared.snapshot();
            let interrupt = || {
                if interruptions & 1 > 0 {
                    search(&first, &shared, "all");
                    search(&second, &shared, "all");
                    first.wait_idle();
                    second.wait_idle();
                }
                if interruptions & 2 > 0 {
                    (30..36).for_each(|id| shared.update(|nodes| nodes.delete(id)));
                    shared.update(|nodes| nodes.add("all newest"));
                    search(&first, &shared, "all");
                }
                if interruptions & 4 > 0 {
                    search(&first, &shared, "all");
                    first.wait_idle();
                    search(&first, &shared, "all");
                }
            };
            let mut interrupted =
                InterruptedSnapshot { nodes: snapshot, interrupt: &interrupt, pages_before_interrupt };
            let (query, page) = (Query::parse("all").unwrap(), Page { offset: 0, limit: 100 });
            let results =
                first.search_text(&tenant(), &mut interrupted, &query, &Filter::default(), page).unwrap();
            let found_ids: BTreeSet<u64> = results.hits.iter().map(|hit| hit.id).collect();
            let deleted = if interruptions & 2 > 0 { 30..36 } else { 0..0 };
            for id in (0..40).filter(|id| !deleted.contains(id)) {
                assert!(
                    found_ids.contains(&id),
                    "{interruptions} {pages_before_interrupt}: {id} is missing from {found_ids:?}"
                );
            }
            // Later searches do not see deleted nodes.
            let expected: BTreeSet<u64> = shared.snapshot().docs().map(|doc| doc.id).collect();
            for engine in [&first, &second] {
                let current_ids: BTreeSet<u64> = search(engine, &shared, "all").into_iter().collect();
                assert_eq!(current_ids, expected, "{interruptions} {pages_before_interrupt}");
            }
        }
    }
}
