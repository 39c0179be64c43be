//! Pages, hidden nodes and evidence.

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
