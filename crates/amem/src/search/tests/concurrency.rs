//! Several engines, and searches that overlap with commits.

use std::fs;

use super::*;

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

    fn session_neighbors(&mut self, ids: &[u64]) -> quad_core::Result<Vec<SessionPlace>> {
        self.nodes.session_neighbors(ids)
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
