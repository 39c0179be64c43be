//! The engine as a whole, against a plain scorer that knows no index.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;
use quad_core::TenantId;

use super::engine::Sizes;
use super::testing::{Nodes, Shared};
use super::text::TailSize;
use super::*;

fn tenant() -> TenantId {
    TenantId::new("ten_1")
}

/// An engine that writes its index after every few nodes.
fn engine(folder: &Path, nodes: &Shared, tail_docs: usize) -> Engine {
    let tail = TailSize { docs: tail_docs, bytes: 1 << 20 };
    let sizes = Sizes { tail, vectors: 50, compared: 1_000 };
    Engine::with_sizes(folder, Arc::new(nodes.clone()), sizes)
}

fn search_page(engine: &Engine, nodes: &Shared, query: &str, filter: &Filter, page: Page) -> TextPage {
    engine.text(&tenant(), &mut nodes.now(), &Query::parse(query).unwrap(), filter, page).unwrap()
}

fn search(engine: &Engine, nodes: &Shared, query: &str) -> Vec<u64> {
    let page = Page { offset: 0, limit: 1_000 };
    search_page(engine, nodes, query, &Filter::default(), page).hits.iter().map(|hit| hit.id).collect()
}

/// What BM25 is, by the book and in doubles. Exact for texts of at most 40 words, whose length the index does not round.
fn plain(
    nodes: &Nodes,
    words: &[&str],
    phrases: &[&[&str]],
    prefixes: &[&str],
    filter: &Filter,
) -> Vec<(u64, f64)> {
    let docs: Vec<(&Doc, Vec<String>)> = nodes
        .docs()
        .map(|doc| {
            let lower = doc.content.to_lowercase();
            let split = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            (doc, split.map(str::to_owned).collect())
        })
        .collect();
    let total = docs.len() as f64;
    let average = docs.iter().map(|(_, words)| words.len()).sum::<usize>() as f64 / total;
    let idf = |word: &str| {
        let having = docs.iter().filter(|(_, words)| words.iter().any(|w| w == word)).count() as f64;
        ((total - having + 0.5) / (having + 0.5) + 1.0).ln()
    };
    let saturated = |times: f64, length: f64| times * 2.2 / (times + 1.2 * (0.25 + 0.75 * length / average));
    let mut found = Vec::new();
    for (doc, text) in &docs {
        let mut score = 0.0;
        for word in words {
            let times = text.iter().filter(|w| w == word).count() as f64;
            score += idf(word) * saturated(times, text.len() as f64);
        }
        for phrase in phrases {
            let at = |start: usize| {
                phrase.iter().enumerate().all(|(n, w)| text.get(start + n).is_some_and(|x| x == w))
            };
            let times = (0..text.len()).filter(|start| at(*start)).count() as f64;
            score += phrase.iter().map(|word| idf(word)).sum::<f64>() * saturated(times, text.len() as f64);
        }
        for prefix in prefixes {
            score += f64::from(u8::from(text.iter().any(|word| word.starts_with(prefix))));
        }
        if score > 0.0 && filter.admits(&doc.facts()) {
            found.push((doc.id, score));
        }
    }
    found
}

/// Same nodes, same scores, and in an order that these scores allow.
fn assert_agrees(found: &TextPage, mut expected: Vec<(u64, f64)>) {
    let ids: BTreeSet<u64> = found.hits.iter().map(|hit| hit.id).collect();
    assert_eq!(ids, expected.iter().map(|(id, _)| *id).collect(), "{found:?}");
    for hit in &found.hits {
        let (_, score) = expected.iter().find(|(id, _)| *id == hit.id).unwrap();
        assert!((f64::from(hit.score) - score).abs() < 1e-4, "{hit:?} {score}");
    }
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    for (hit, (id, score)) in found.hits.iter().zip(&expected) {
        assert!(hit.id == *id || (f64::from(hit.score) - score).abs() < 2e-4, "{hit:?} {id} {score}");
    }
    let ordered = |pair: &[TextHit]| {
        pair[0].score > pair[1].score || (pair[0].score == pair[1].score && pair[0].id < pair[1].id)
    };
    assert!(found.hits.windows(2).all(ordered), "{found:?}");
}

const VOCABULARY: [&str; 8] = ["cat", "car", "Dog", "über", "the", "catalog", "x", "42"];

#[derive(Clone, Debug)]
enum Step {
    Add(Vec<usize>, u8, u32),
    Forget(u64),
    Search(usize),
    Settle,
    Restart,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (prop::collection::vec(0usize..8, 0..12), 0u8..3, 0u32..3)
            .prop_map(|(words, event_type, session)| Step::Add(words, event_type, session)),
        1 => (0u64..40).prop_map(Step::Forget),
        4 => (0usize..QUERIES.len()).prop_map(Step::Search),
        1 => Just(Step::Settle),
        1 => Just(Step::Restart),
    ];
    prop::collection::vec(step, 1..80)
}

type Asked =
    (&'static str, &'static [&'static str], &'static [&'static [&'static str]], &'static [&'static str]);

const QUERIES: [Asked; 7] = [
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
    /// However the nodes are spread over index, tail and database, every search answers as the plain scorer does.
    #[test]
    fn every_split_gives_the_same_answer(steps in steps(), tail_docs in 1usize..12, filtered in any::<bool>()) {
        let folder = tempfile::tempdir().unwrap();
        let nodes = Shared::default();
        let mut engine = engine(folder.path(), &nodes, tail_docs);
        let filter = if filtered {
            Filter { event_types: vec![0, 2], sessions: vec![1], created_from: Some(1_002), created_to: Some(1_030) }
        } else {
            Filter::default()
        };
        let mut forgot = false;
        let mut steps = steps;
        steps.extend([Step::Settle, Step::Search(2), Step::Search(4), Step::Search(5)]);
        for step in steps {
            match step {
                Step::Add(words, event_type, session) => {
                    let text: Vec<&str> = words.iter().map(|word| VOCABULARY[*word]).collect();
                    nodes.change(|nodes| nodes.add_doc(&text.join(", "), event_type, session, None));
                }
                Step::Forget(id) => {
                    forgot = true;
                    nodes.change(|nodes| nodes.forget(id));
                }
                Step::Settle => engine.settle(),
                Step::Restart => {
                    engine.settle();
                    engine = self::engine(folder.path(), &nodes, tail_docs);
                }
                Step::Search(which) => {
                    let (query, words, phrases, prefixes) = QUERIES[which];
                    let page = Page { offset: 0, limit: 100 };
                    let found = search_page(&engine, &nodes, query, &filter, page);
                    let expected = plain(&nodes.now(), words, phrases, prefixes, &filter);
                    if forgot {
                        // What was forgotten still counts in the index's statistics, until a merge.
                        let ids: BTreeSet<u64> = found.hits.iter().map(|hit| hit.id).collect();
                        prop_assert_eq!(ids, expected.iter().map(|(id, _)| *id).collect::<BTreeSet<_>>());
                    } else {
                        assert_agrees(&found, expected);
                    }
                    for hit in &found.hits {
                        prop_assert!(!hit.matched.is_empty());
                    }
                }
            }
        }
    }
}

#[test]
fn long_texts_score_alike_in_index_and_tail() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for n in 0..60_usize {
        let text = format!("alpha {} {}", "beta gamma ".repeat(n * 7), "alpha ".repeat(n % 5));
        nodes.change(|nodes| nodes.add(&text));
    }
    nodes.change(|nodes| nodes.add(&format!("alpha {} beta", "z".repeat(400))));
    let page = Page { offset: 0, limit: 100 };
    let query = "alpha \"beta gamma\" \"alpha beta\" zzzz*";
    let all_in_tail = engine(&folder.path().join("a"), &nodes, 1_000);
    let in_tail = search_page(&all_in_tail, &nodes, query, &Filter::default(), page);
    let indexed = engine(&folder.path().join("b"), &nodes, 1);
    search(&indexed, &nodes, "alpha");
    indexed.settle();
    let in_index = search_page(&indexed, &nodes, query, &Filter::default(), page);
    assert_eq!(in_tail.hits.len(), 61);
    for (a, b) in in_tail.hits.iter().zip(&in_index.hits) {
        assert!(a.id == b.id || (a.score - b.score).abs() < 1e-3, "{a:?} {b:?}");
        assert!((a.score - b.score).abs() < 1e-3, "{a:?} {b:?}");
    }
    assert!(!folder.path().join("a").exists(), "a short tail makes no index");
    assert!(folder.path().join("b/ten_1/meta.json").exists());
}

#[test]
fn two_engines_on_one_folder_both_find_what_was_just_added() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    let (one, other) = (engine(folder.path(), &nodes, 4), engine(folder.path(), &nodes, 4));
    for n in 0..40_u64 {
        nodes.change(|nodes| nodes.add(&format!("note number{n} common")));
        let newest = format!("number{n}");
        assert_eq!(search(&one, &nodes, &newest), [n]);
        assert_eq!(search(&other, &nodes, &newest), [n]);
        if n % 10 == 9 {
            one.settle();
            other.settle();
        }
        assert_eq!(search(&one, &nodes, "common").len() as u64, n + 1);
        assert_eq!(search(&other, &nodes, "common").len() as u64, n + 1);
    }
    nodes.change(|nodes| nodes.forget(3));
    nodes.change(|nodes| nodes.forget(39));
    for engine in [&one, &other] {
        assert!(search(engine, &nodes, "number3 number39").is_empty());
        assert_eq!(search(engine, &nodes, "common").len(), 38);
    }
}

#[test]
fn who_has_the_lock_writes_and_the_other_still_finds_everything() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    let lock = fs::File::create(folder.path().join("ten_1.lock")).unwrap();
    lock.lock().unwrap();
    let locked_out = engine(folder.path(), &nodes, 2);
    for n in 0..30 {
        nodes.change(|nodes| nodes.add(&format!("word{n} all")));
    }
    assert_eq!(search(&locked_out, &nodes, "all").len(), 30);
    locked_out.settle();
    assert!(!folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&locked_out, &nodes, "word29"), [29]);
    drop(lock);
    search(&locked_out, &nodes, "all");
    locked_out.settle();
    assert!(folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&locked_out, &nodes, "all").len(), 30);
}

fn index_files(folder: &Path) -> Vec<std::path::PathBuf> {
    let mut files: Vec<_> =
        fs::read_dir(folder.join("ten_1")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn indexed(folder: &Path, nodes: &Shared) {
    for n in 0..50 {
        nodes.change(|nodes| nodes.add(&format!("common word{n} text about nothing")));
    }
    let engine = engine(folder, nodes, 10);
    assert_eq!(search(&engine, nodes, "common").len(), 50);
    engine.settle();
}

#[test]
fn any_damage_is_mended_and_never_shows() {
    let original = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    indexed(original.path(), &nodes);
    let names: Vec<String> = index_files(original.path())
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .filter(|name| !name.starts_with(".tantivy"))
        .collect();
    assert!(names.len() > 5, "{names:?}");
    let ask = |engine: &Engine| {
        let page = Page { offset: 0, limit: 100 };
        search_page(engine, &nodes, "common word7 \"word8 text\"", &Filter::default(), page)
    };
    let sound = ask(&engine(original.path(), &nodes, 10));
    assert_eq!(sound.hits.len(), 50);
    type Harm = fn(&Path);
    let harms: [Harm; 6] = [
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
            // In what the file holds, not in the checksum behind it, where it has more than that.
            let at = (bytes.len() / 4).min(40);
            bytes[at] ^= 0x05;
            fs::write(path, bytes).unwrap();
        },
    ];
    for name in &names {
        for harm in harms {
            let folder = tempfile::tempdir().unwrap();
            fs::create_dir(folder.path().join("ten_1")).unwrap();
            for file in index_files(original.path()) {
                fs::copy(&file, folder.path().join("ten_1").join(file.file_name().unwrap())).unwrap();
            }
            harm(&folder.path().join("ten_1").join(name));
            let engine = engine(folder.path(), &nodes, 10);
            assert_eq!(ask(&engine), sound, "{name}");
            assert_eq!(search(&engine, &nodes, "word49"), [49], "{name}");
            engine.settle();
            assert_eq!(ask(&engine), sound, "{name}");
            engine.settle();
            let mended = folder.path().join("ten_1");
            assert!(index::verify(&mended).is_ok(), "{name}");
            assert!(matches!(index::Commit::open(&mended), Ok(index::Opened::Commit(_))), "{name}");
        }
    }
}

#[test]
fn an_index_of_another_past_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    indexed(folder.path(), &Shared::default());
    // A database that was restored from a backup and went another way: same ids, other texts.
    let nodes = Shared::default();
    for n in 0..60 {
        nodes.change(|nodes| nodes.add(&format!("different matter{n}")));
    }
    let engine = engine(folder.path(), &nodes, 10);
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "different").len(), 60);
    engine.settle();
    assert_eq!(search(&engine, &nodes, "common"), Vec::<u64>::new());
    assert_eq!(search(&engine, &nodes, "matter59"), [59]);
}

#[test]
fn forgotten_nodes_never_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    indexed(folder.path(), &nodes);
    // While nobody looks, as another process would.
    for id in [0, 7, 49] {
        nodes.change(|nodes| nodes.forget(id));
    }
    for _ in 0..3 {
        let engine = engine(folder.path(), &nodes, 2);
        let found = search(&engine, &nodes, "common word0 word7 word49");
        assert!(found.len() >= 47 && !found.iter().any(|id| [0, 7, 49].contains(id)), "{found:?}");
        let alike = engine
            .similar(&tenant(), &mut nodes.now(), Probe::Text("common word7"), &Filter::default(), 100, -1.0)
            .unwrap();
        assert!(!alike.iter().any(|hit| [0, 7, 49].contains(&hit.id)));
        engine.settle();
        nodes.change(|nodes| nodes.add("common"));
    }
}

#[test]
fn pages_follow_each_other_without_gap_or_repetition() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for n in 0..97_u64 {
        nodes.change(|nodes| {
            nodes.add(if n % 3 == 0 { "same words here" } else { "same words here and more" })
        });
    }
    for id in [5, 6, 50] {
        nodes.change(|nodes| nodes.hide(id));
    }
    let engine = engine(folder.path(), &nodes, 20);
    search(&engine, &nodes, "words");
    engine.settle();
    let whole = search(&engine, &nodes, "same words");
    let (mut read, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let page =
            search_page(&engine, &nodes, "same words", &Filter::default(), Page { offset: from, limit: 10 });
        read.extend(page.hits.iter().map(|hit| hit.id));
        offset = page.next_offset;
    }
    assert_eq!(read.len(), 94);
    assert_eq!(read, whole);
    let refused = |page: Page| {
        engine
            .text(&tenant(), &mut nodes.now(), &Query::parse("same").unwrap(), &Filter::default(), page)
            .is_err()
    };
    assert!(refused(Page { offset: 0, limit: 0 }) && refused(Page { offset: 0, limit: 1_001 }));
    assert!(refused(Page { offset: 10_000, limit: 1 }));
}

#[test]
fn hidden_nodes_do_not_take_the_places_of_others() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for _ in 0..200 {
        nodes.change(|nodes| nodes.add("rate limit"));
    }
    for id in 0..190 {
        nodes.change(|nodes| nodes.hide(id));
    }
    let engine = engine(folder.path(), &nodes, 1_000);
    let page = search_page(&engine, &nodes, "rate", &Filter::default(), Page { offset: 0, limit: 5 });
    assert_eq!(page.hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [190, 191, 192, 193, 194]);
    let alike = engine
        .similar(&tenant(), &mut nodes.now(), Probe::Text("rate limit"), &Filter::default(), 5, 0.5)
        .unwrap();
    assert_eq!(alike.iter().map(|hit| hit.id).collect::<Vec<_>>(), [190, 191, 192, 193, 194]);
}

#[test]
fn both_lists_are_fused_by_rank() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for text in [
        "Use PostgreSQL for the main database",
        "The cat sleeps",
        "Postgres connection pooling with pgbouncer",
        "databases: nightly",
    ] {
        nodes.change(|nodes| nodes.add(text));
    }
    let engine = engine(folder.path(), &nodes, 100);
    let found =
        engine.hybrid(&tenant(), &mut nodes.now(), "postgresql database", &Filter::default(), 3).unwrap();
    assert_eq!(found[0].id, 0);
    assert_eq!(found[0].matched, ["postgresql", "database"]);
    assert!((found[0].score - 2.0 / 61.0).abs() < 1e-9);
    // Found by likeness alone: no word is the same.
    let alike: Vec<u64> = found.iter().filter(|hit| hit.text_score.is_none()).map(|hit| hit.id).collect();
    assert!(!alike.is_empty() && !alike.contains(&1), "{found:?}");
}

#[test]
fn in_a_large_memory_likeness_ranks_what_the_words_have_found() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for n in 0..60 {
        nodes.change(|nodes| {
            nodes.add(&format!(
                "database of kind {n} with very many other words around it, so that they differ"
            ))
        });
    }
    for text in ["databases: nightly", "postgres database", "postgresql database"] {
        nodes.change(|nodes| nodes.add(text));
    }
    let tail = TailSize { docs: 10, bytes: 1 << 20 };
    let fused = |compared: usize| {
        let sizes = Sizes { tail, vectors: 50, compared };
        let engine = Engine::with_sizes(folder.path(), Arc::new(nodes.clone()), sizes);
        search(&engine, &nodes, "database");
        engine.settle();
        engine.hybrid(&tenant(), &mut nodes.now(), "postgresql database", &Filter::default(), 5).unwrap()
    };
    let (all, few) = (fused(1_000), fused(10));
    for found in [&all, &few] {
        assert_eq!((found[0].id, found[1].id), (62, 61), "{found:?}");
        assert!(found[0].similarity.is_some_and(|similarity| similarity > 0.9));
    }
    // Only a comparison with all finds what has no word in common.
    assert!(all.iter().any(|hit| hit.id == 60) && !few.iter().any(|hit| hit.id == 60), "{all:?} {few:?}");
}

#[test]
fn evidence_is_what_covers_most_of_a_claim() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    for text in [
        "The API rate limit is 100 requests per minute",
        "Use PostgreSQL for the main database",
        "limit limit limit",
        "The API rate limit is 200 requests per minute",
    ] {
        nodes.change(|nodes| nodes.add(text));
    }
    let engine = engine(folder.path(), &nodes, 100);
    let evidence =
        |claim: &str| engine.evidence(&tenant(), &mut nodes.now(), claim, &Filter::default(), 10).unwrap();
    let found = evidence("the rate limit is 100");
    assert_eq!((found[0].id, found[1].id), (0, 3));
    assert_eq!(Grounding::of(found[0].coverage, 0.3), Grounding::Verified);
    assert_eq!(Grounding::of(found[1].coverage, 0.3), Grounding::Partial);
    assert_eq!(
        (found[1].matched.as_slice(), found[1].missing.as_slice()),
        (["rate".to_owned(), "limit".to_owned()].as_slice(), ["100".to_owned()].as_slice())
    );
    assert!(evidence("cats like milk").is_empty());
    assert!(Grounding::of(0.0, 0.0) == Grounding::Ungrounded);
    let claim = "é".repeat(30_000);
    assert!(evidence(&claim).is_empty());
}

#[test]
fn a_growing_memory_is_indexed_before_anybody_searches() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    let engine = engine(folder.path(), &nodes, 10);
    for n in 0..1_300 {
        nodes.change(|nodes| nodes.add(&format!("node {n}")));
    }
    engine.grown(&tenant(), 5);
    engine.settle();
    assert!(!folder.path().join("ten_1").exists());
    engine.grown(&tenant(), 1_299);
    engine.settle();
    assert!(folder.path().join("ten_1/meta.json").exists());
    assert_eq!(search(&engine, &nodes, "1299"), [1_299]);
    assert_eq!(search(&engine, &nodes, "node").len(), 1_000);
}

#[test]
fn tenants_are_apart_and_their_number_is_bounded() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    nodes.change(|nodes| nodes.add("here"));
    let engine = engine(folder.path(), &nodes, 1);
    let query = Query::parse("here").unwrap();
    for n in 0..limits::TENANTS_HELD + 20 {
        let tenant = TenantId::new(format!("../tenant {n}"));
        let page = Page { offset: 0, limit: 5 };
        let empty = &mut Nodes::default();
        assert!(engine.text(&tenant, empty, &query, &Filter::default(), page).unwrap().hits.is_empty());
        assert_eq!(
            engine.text(&tenant, &mut nodes.now(), &query, &Filter::default(), page).unwrap().hits.len(),
            1
        );
    }
    engine.settle();
    let outside = folder.path().parent().unwrap();
    assert!(!outside.join("tenant 0").exists());
}

#[test]
fn many_at_once_find_their_own_and_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = Shared::default();
    let engines = [engine(folder.path(), &nodes, 7), engine(folder.path(), &nodes, 7)];
    std::thread::scope(|scope| {
        for worker in 0..4_usize {
            let (nodes, engines) = (&nodes, &engines);
            scope.spawn(move || {
                for n in 0..30_usize {
                    let word = format!("worker{worker}n{n}");
                    nodes.change(|nodes| nodes.add(&format!("{word} all")));
                    let found = search(&engines[(worker + n) % 2], nodes, &word);
                    assert_eq!(found.len(), 1, "{word}");
                    if n % 10 == 3 {
                        nodes.change(|nodes| nodes.forget(found[0]));
                        assert!(search(&engines[worker % 2], nodes, &word).is_empty(), "{word}");
                    }
                }
            });
        }
    });
    for engine in &engines {
        assert_eq!(search(engine, &nodes, "all").len(), 4 * 27);
        engine.settle();
        assert_eq!(search(engine, &nodes, "all").len(), 4 * 27);
    }
}

/// Nodes whose reader is overtaken: while a page is on its way, other things happen.
struct Overtaken<'a> {
    nodes: Nodes,
    meanwhile: &'a dyn Fn(),
    /// How many more pages pass undisturbed.
    after_pages: usize,
}

impl Overtaken<'_> {
    fn disturb(&mut self) {
        match self.after_pages.checked_sub(1) {
            None => {}
            Some(0) => {
                self.after_pages = 0;
                (self.meanwhile)();
            }
            Some(left) => self.after_pages = left,
        }
    }
}

impl Corpus for Overtaken<'_> {
    fn after(&mut self, id: Option<u64>, limit: usize) -> quad_core::Result<Vec<Doc>> {
        let page = self.nodes.after(id, limit);
        self.disturb();
        page
    }

    fn erased(&mut self, after_mark: i64, limit: usize) -> quad_core::Result<Vec<(i64, u64)>> {
        let page = self.nodes.erased(after_mark, limit);
        self.disturb();
        page
    }
}

#[test]
fn two_searches_that_read_the_same_nodes_keep_them_once() {
    let folder = tempfile::tempdir().unwrap();
    let shared = Shared::default();
    for n in 0..5 {
        shared.change(|nodes| nodes.add(&format!("all {n}")));
    }
    let engine = engine(folder.path(), &shared, 1_000);
    let old = shared.now();
    shared.change(|nodes| nodes.add("all the newer"));
    let meanwhile = || drop(search(&engine, &shared, "all"));
    let mut overtaken = Overtaken { nodes: old, meanwhile: &meanwhile, after_pages: 1 };
    let (query, page) = (Query::parse("all").unwrap(), Page { offset: 0, limit: 10 });
    let found = engine.text(&tenant(), &mut overtaken, &query, &Filter::default(), page).unwrap();
    // What its own snapshot has, each once, whatever the other did meanwhile.
    assert_eq!(found.hits.iter().map(|hit| hit.id).collect::<BTreeSet<_>>(), (0..5).collect());
    assert_eq!(search(&engine, &shared, "all").len(), 6);
}

#[test]
fn a_search_that_is_overtaken_anywhere_still_finds_all_of_its_snapshot() {
    // Nothing, commits, forgetting of what is in the tail, and all of it: before each of the first pages of a search.
    for what in 0..8_u8 {
        for after_pages in 1..6 {
            let folder = tempfile::tempdir().unwrap();
            let shared = Shared::default();
            let (one, other) = (engine(folder.path(), &shared, 3), engine(folder.path(), &shared, 3));
            // The tail is full and more lies beyond it.
            for n in 0..40 {
                shared.change(|nodes| nodes.add(&format!("all number{n}")));
            }
            let snapshot = shared.now();
            let meanwhile = || {
                if what & 1 > 0 {
                    search(&one, &shared, "all");
                    search(&other, &shared, "all");
                    one.settle();
                    other.settle();
                }
                if what & 2 > 0 {
                    (30..36).for_each(|id| shared.change(|nodes| nodes.forget(id)));
                    shared.change(|nodes| nodes.add("all newest"));
                    search(&one, &shared, "all");
                }
                if what & 4 > 0 {
                    search(&one, &shared, "all");
                    one.settle();
                    search(&one, &shared, "all");
                }
            };
            let mut overtaken = Overtaken { nodes: snapshot, meanwhile: &meanwhile, after_pages };
            let (query, page) = (Query::parse("all").unwrap(), Page { offset: 0, limit: 100 });
            let found = one.text(&tenant(), &mut overtaken, &query, &Filter::default(), page).unwrap();
            let found: BTreeSet<u64> = found.hits.iter().map(|hit| hit.id).collect();
            let forgotten = if what & 2 > 0 { 30..36 } else { 0..0 };
            for id in (0..40).filter(|id| !forgotten.contains(id)) {
                assert!(found.contains(&id), "{what} {after_pages}: {id} is missing from {found:?}");
            }
            // And nobody who follows sees what was forgotten.
            let expected: BTreeSet<u64> = shared.now().docs().map(|doc| doc.id).collect();
            for engine in [&one, &other] {
                let now: BTreeSet<u64> = search(engine, &shared, "all").into_iter().collect();
                assert_eq!(now, expected, "{what} {after_pages}");
            }
        }
    }
}
