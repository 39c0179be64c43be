//! The engine as a whole.

mod concurrency;
mod hybrid;
mod model;
mod recovery;
mod results;

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

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
