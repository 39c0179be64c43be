//! Hybrid search: forms of words, nodes beside hits, and lists that begin with every shorter list.

use proptest::prelude::*;

use super::*;

/// Nodes with these texts, each with its session.
fn nodes_in_sessions(texts: &[(u32, &str)]) -> SharedTestDocs {
    let nodes = SharedTestDocs::default();
    for (session, text) in texts {
        nodes.update(|nodes| nodes.add_doc(text, 0, *session, None));
    }
    nodes
}

fn hybrid(engine: &Engine, nodes: &SharedTestDocs, text: &str, limit: usize) -> Vec<FusedHit> {
    engine.search_hybrid(&tenant(), &mut nodes.snapshot(), text, &Filter::default(), limit).unwrap()
}

fn hybrid_hits(nodes: &SharedTestDocs, text: &str) -> Vec<FusedHit> {
    let folder = tempfile::tempdir().unwrap();
    hybrid(&engine(folder.path(), nodes, 100), nodes, text, 10)
}

/// The hits that have a word of the question or stand beside one that has.
fn hybrid_ids(nodes: &SharedTestDocs, text: &str) -> Vec<u64> {
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_without_similarity(folder.path(), nodes);
    hybrid(&engine, nodes, text, 10).iter().map(|hit| hit.id).collect()
}

/// An engine that adds no similar nodes to a short list.
fn engine_without_similarity(folder: &Path, nodes: &SharedTestDocs) -> Engine {
    let flush_threshold = FlushThreshold { docs: 100, bytes: 1 << 20 };
    let config = EngineConfig { flush_threshold, cached_vectors: 50, exact_similarity_max_docs: 0 };
    Engine::with_config(folder, Arc::new(nodes.clone()), config)
}

#[test]
fn forms_of_words_are_found() {
    let nodes = nodes_in_sessions(&[
        (0, "She painted a sunset by the lake"),
        (1, "A study of colors"),
        (2, "Das letzte Treffen der Gruppen war im Mai"),
        (3, "Nothing of the kind"),
    ]);
    assert_eq!(hybrid_ids(&nodes, "Which paintings show lakes?"), [0]);
    assert_eq!(hybrid_ids(&nodes, "studies of color"), [1]);
    assert_eq!(hybrid_ids(&nodes, "Wann war die Gruppe mit dem Auto in der Stadt?"), [2]);
    let hits = hybrid_hits(&nodes, "Which paintings show lakes?");
    assert_eq!(hits[0].matched, ["paintings", "lakes"]);
    assert!(hits[0].text_score.is_some_and(|score| score > 0.0));
}

#[test]
fn answer_beside_its_question_is_found() {
    let nodes = nodes_in_sessions(&[
        (1, "Which team did you sign with for the season?"),
        (2, "Lunch at noon"),
        (1, "The Minnesota Wolves!"),
        (2, "A team of twelve"),
        (1, "Congratulations"),
        (1, "See you"),
    ]);
    // The answer has no word of the question, and nodes of another session stand between.
    assert_eq!(hybrid_ids(&nodes, "Which team did he sign with?"), [0, 3, 2, 4, 1]);
}

#[test]
fn question_of_one_word_finds_nodes_that_have_it() {
    let nodes = nodes_in_sessions(&[(1, "the gateway"), (1, "teams of twelve"), (1, "lunch"), (1, "a team")]);
    assert_eq!(hybrid_ids(&nodes, "the team"), [3, 1]);
}

#[test]
fn context_counts_less_than_own_words() {
    let nodes = nodes_in_sessions(&[
        (1, "The rate limit is set in the gateway"),
        (1, "The gateway was replaced in May"),
        (2, "A rate limit"),
    ]);
    let ids = hybrid_ids(&nodes, "rate limit");
    assert_eq!(ids.last(), Some(&1), "{ids:?}");
}

#[test]
fn label_with_word_of_question_ranks_first() {
    let nodes = nodes_in_sessions(&[
        (1, "Melanie: Caroline, how was the race on Sunday?"),
        (2, "Caroline: the race on Sunday was fun, and long"),
        (3, "Melanie: Caroline likes the race on Sunday"),
        (4, "The race on Sunday, which was long, and of which much was written later on by Caroline: fun"),
    ]);
    assert_eq!(hybrid_ids(&nodes, "Caroline's race on Sunday")[0], 1);
}

#[test]
fn hidden_and_filtered_nodes_beside_hit_are_left_out() {
    let nodes =
        nodes_in_sessions(&[(1, "other"), (1, "hidden"), (1, "rate limit"), (1, "shown"), (1, "deleted")]);
    nodes.update(|nodes| {
        nodes.hide(1);
        nodes.delete(4);
        nodes.add_doc("of another type", 3, 1, None);
    });
    let folder = tempfile::tempdir().unwrap();
    let engine = engine_without_similarity(folder.path(), &nodes);
    let filter = Filter { event_types: vec![0], ..Filter::default() };
    let hits = engine.search_hybrid(&tenant(), &mut nodes.snapshot(), "rate limit", &filter, 10).unwrap();
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [2, 0, 3]);
}

#[test]
fn typing_errors_are_found() {
    let nodes = nodes_in_sessions(&[
        (1, "postgres connection pooling"),
        (2, "a collection of stamps"),
        (3, "port 12345"),
    ]);
    assert_eq!(hybrid_ids(&nodes, "conection pool"), [0]);
    assert_eq!(hybrid_ids(&nodes, "port 12346"), [2]);
    assert!(hybrid_ids(&nodes, "12346").is_empty());
    // A word that a memory has is not replaced.
    assert_eq!(hybrid_ids(&nodes, "collection"), [1]);
}

#[test]
fn small_memory_adds_similar_nodes_to_short_list() {
    let nodes = nodes_in_sessions(&[
        (1, "postgres connection pooling"),
        (2, "東京の天気は晴れです"),
        (3, "a journey to two cities"),
    ]);
    // A text without spaces is one word; it is found by the letters that it shares.
    let hits = hybrid_hits(&nodes, "東京の天気");
    assert_eq!((hits[0].id, hits[0].text_score, hits[0].matched.len()), (1, None, 0));
    // A node that has a word comes before nodes that are only similar.
    let hits = hybrid_hits(&nodes, "cities disconnection");
    assert_eq!(hits.iter().map(|hit| hit.id).collect::<Vec<_>>(), [2, 0]);
    assert!(hits[0].score >= hits[1].score);
    assert!(hybrid_ids(&nodes, "disconnection").is_empty());
}

/// Counts the reads of a snapshot.
#[derive(Default)]
struct CountingSnapshot {
    nodes: TestDocs,
    pages: usize,
    loads: usize,
    sessions: usize,
    deletions: usize,
}

impl DocSnapshot for CountingSnapshot {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> quad_core::Result<Vec<Doc>> {
        self.pages += 1;
        self.nodes.docs_after(id, limit)
    }

    fn get(&mut self, ids: &[u64]) -> quad_core::Result<Vec<Doc>> {
        self.loads += 1;
        self.nodes.get(ids)
    }

    fn session_neighbors(&mut self, ids: &[u64]) -> quad_core::Result<Vec<SessionPlace>> {
        self.sessions += 1;
        self.nodes.session_neighbors(ids)
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> quad_core::Result<Vec<(i64, u64)>> {
        self.deletions += 1;
        self.nodes.deleted_after(after_position, limit)
    }
}

#[test]
fn number_of_reads_does_not_depend_on_number_of_hits() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for n in 0..300 {
        nodes.update(|nodes| nodes.add_doc(&format!("database of kind {n}"), 0, n / 9, None));
    }
    let engine = engine(folder.path(), &nodes, 1_000);
    search(&engine, &nodes, "database");
    for text in ["database", "kind 7"] {
        let mut snapshot = CountingSnapshot { nodes: nodes.snapshot(), ..CountingSnapshot::default() };
        let hits = engine.search_hybrid(&tenant(), &mut snapshot, text, &Filter::default(), 3).unwrap();
        assert_eq!(hits.len(), 3);
        assert_eq!((snapshot.pages, snapshot.loads, snapshot.sessions, snapshot.deletions), (1, 1, 2, 1));
    }
}

const VOCABULARY: [&str; 10] =
    ["limit", "limits", "limited", "rate", "rating", "Ann:", "team", "teams", "über", "x"];

const QUESTIONS: [&str; 5] =
    ["limit", "What did Ann say on the teams?", "\"rate limit\" team", "rat* limiting", "limmit ubre"];

/// A node of a generated memory: its words, its type, its session, and whether it is hidden or deleted later.
type GeneratedNode = (Vec<usize>, u8, u32, u8);

fn generated_nodes() -> impl Strategy<Value = Vec<GeneratedNode>> {
    // More nodes than a hybrid search orders together.
    let node = (prop::collection::vec(0..VOCABULARY.len(), 0..6), 0u8..3, 0u32..4, 0u8..20);
    prop::collection::vec(node, 0..limits::CONTEXT_HITS * 3)
}

fn memory_of(generated: &[GeneratedNode]) -> SharedTestDocs {
    let mut nodes = TestDocs::default();
    for (words, event_type, session, _) in generated {
        let words: Vec<&str> = words.iter().map(|word| VOCABULARY[*word]).collect();
        nodes.add_doc(&words.join(" "), *event_type, *session, None);
    }
    for (id, (.., fate)) in (0..).zip(generated) {
        match fate {
            0 => nodes.hide(id),
            1 => nodes.delete(id),
            _ => {}
        }
    }
    SharedTestDocs(Arc::new(std::sync::Mutex::new(nodes)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 60, ..ProptestConfig::default() })]
    #[test]
    fn list_begins_with_every_shorter_list(
        generated in generated_nodes(),
        question in 0..QUESTIONS.len(),
        limits in prop::collection::vec(0usize..400, 1..5),
        filtered in any::<bool>(),
        indexed in any::<bool>(),
    ) {
        let folder = tempfile::tempdir().unwrap();
        let nodes = memory_of(&generated);
        let engine = engine(folder.path(), &nodes, if indexed { 10 } else { 1_000 });
        search(&engine, &nodes, "limit");
        engine.wait_idle();
        let filter = Filter { event_types: if filtered { vec![0, 2] } else { Vec::new() }, ..Filter::default() };
        let run = |limit| {
            engine.search_hybrid(&tenant(), &mut nodes.snapshot(), QUESTIONS[question], &filter, limit).unwrap()
        };
        let longest = run(1_000);
        let ids: BTreeSet<u64> = longest.iter().map(|hit| hit.id).collect();
        prop_assert_eq!(ids.len(), longest.len());
        prop_assert!(longest.windows(2).all(|pair| pair[0].score >= pair[1].score));
        for limit in limits.into_iter().chain([5, 10, 100]) {
            prop_assert_eq!(&run(limit)[..], &longest[..limit.min(longest.len())]);
        }
        // Everything that a search by words finds is in the longest list.
        let page = Page { offset: 0, limit: 1_000 };
        let by_words = search_page(&engine, &nodes, QUESTIONS[question], &filter, page);
        prop_assert!(by_words.hits.iter().all(|hit| ids.contains(&hit.id)));
    }

    #[test]
    fn hybrid_results_independent_of_index_split(generated in generated_nodes(), flush_docs in 1usize..60) {
        let generated: Vec<GeneratedNode> =
            generated.into_iter().map(|(words, event_type, session, _)| (words, event_type, session, 9)).collect();
        let folder = tempfile::tempdir().unwrap();
        let nodes = memory_of(&generated);
        let in_memory = engine(&folder.path().join("a"), &nodes, 1_000);
        let in_index = engine(&folder.path().join("b"), &nodes, flush_docs);
        search(&in_index, &nodes, "limit");
        in_index.wait_idle();
        for question in QUESTIONS {
            prop_assert_eq!(hybrid(&in_memory, &nodes, question, 300), hybrid(&in_index, &nodes, question, 300));
        }
    }
}
