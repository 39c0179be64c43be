//! Pages, hidden nodes, hybrid search and evidence.

use super::*;

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

/// Counts the reads of a snapshot.
#[derive(Default)]
struct CountingSnapshot {
    nodes: TestDocs,
    pages: usize,
    single_docs: usize,
    deletions: usize,
}

impl DocSnapshot for CountingSnapshot {
    fn docs_after(&mut self, id: Option<u64>, limit: usize) -> quad_core::Result<Vec<Doc>> {
        self.pages += 1;
        self.nodes.docs_after(id, limit)
    }

    fn get(&mut self, ids: &[u64]) -> quad_core::Result<Vec<Doc>> {
        self.single_docs += 1;
        self.nodes.get(ids)
    }

    fn deleted_after(&mut self, after_position: i64, limit: usize) -> quad_core::Result<Vec<(i64, u64)>> {
        self.deletions += 1;
        self.nodes.deleted_after(after_position, limit)
    }
}

#[test]
fn hybrid_search_opens_one_view_and_loads_candidates_together() {
    let folder = tempfile::tempdir().unwrap();
    let nodes = SharedTestDocs::default();
    for n in 0..30 {
        nodes.update(|nodes| nodes.add(&format!("database of kind {n}")));
    }
    let flush_threshold = FlushThreshold { docs: 1_000, bytes: 1 << 20 };
    let config = EngineConfig { flush_threshold, cached_vectors: 50, exact_similarity_max_docs: 10 };
    let engine = Engine::with_config(folder.path(), Arc::new(nodes.clone()), config);
    let mut snapshot = CountingSnapshot { nodes: nodes.snapshot(), ..CountingSnapshot::default() };
    for _ in 0..2 {
        (snapshot.pages, snapshot.single_docs, snapshot.deletions) = (0, 0, 0);
        let hits = engine.search_hybrid(&tenant(), &mut snapshot, "database", &Filter::default(), 5).unwrap();
        assert_eq!(hits.len(), 5);
        assert_eq!((snapshot.pages, snapshot.single_docs, snapshot.deletions), (1, 1, 1));
    }
}
