//! The cache, under generated principals and writes: two with different views never share an answer, and no answer outlives a
//! change of what it rests on.
//!
//! The resolver, the cache and the store are the real ones; two of each on one database stand for two processes. Every answer
//! is compared with a model that has no cache, and how often the scheme was asked is compared with what a cache must save and
//! must not: a test in which nothing is ever found in the cache would prove nothing.

mod model;
mod scheme;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use quad_core::resolver::View;
use quad_core::{Kind, Resolver, TenantId};
use quad_store::testing::{TestStore, stores};
use quad_store::{Store, tenant};

use model::{Caller, Model, Place, Step, Update};
use scheme::{ROWS, TABLES, Toy};

/// Enough for three entries: what does not fit must go, and go in order.
const SMALL_CACHE_BYTES: usize = 2_048;

/// Runs of one property. Each is some dozen commits to a disk.
const CASES: u32 = 32;

/// One resolver with its own cache, on its own handle of the database.
struct Process {
    resolver: Resolver,
    toy: Arc<Toy>,
}

impl Process {
    fn new(store: Store, cache_bytes: Option<usize>) -> Process {
        let toy = Arc::new(Toy::new(store.clone()));
        let store = Arc::new(store);
        let resolver = Resolver::new(vec![toy.clone()], store.clone(), store).unwrap();
        let resolver = match cache_bytes {
            Some(bytes) => resolver.with_cache_bytes(bytes),
            None => resolver,
        };
        Process { resolver, toy }
    }
}

/// What happened over all runs.
#[derive(Debug, Default)]
struct Totals {
    hits: AtomicU64,
    saved: AtomicU64,
    outlived: AtomicU64,
    overtaken: AtomicU64,
    refused: AtomicU64,
    evicted: AtomicU64,
}

fn caller() -> impl Strategy<Value = Caller> {
    (0..2usize, prop::bool::weighted(0.9), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(tenant, reads, sees_odd, has_more, is_user)| Caller { tenant, reads, sees_odd, has_more, is_user },
    )
}

fn place() -> impl Strategy<Value = Place> {
    (any::<bool>(), prop::sample::subsequence((0..ROWS).collect::<Vec<_>>(), 1..=3))
        .prop_map(|(signed, rows)| Place { signed, rows })
}

fn update() -> impl Strategy<Value = Update> {
    (0..2usize, prop::sample::subsequence((0..ROWS).collect::<Vec<_>>(), 0..=2), 0..1_000i64)
        .prop_map(|(tenant, rows, value)| Update { tenant, rows, value })
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        2 => update().prop_map(Step::Write),
        6 => (caller(), place()).prop_map(|(caller, place)| Step::Read(caller, place, None)),
        2 => (caller(), place(), update())
            .prop_map(|(caller, place, update)| Step::Read(caller, place, Some(update))),
    ];
    (0..2usize, step)
}

/// Runs one sequence of steps on two processes.
async fn run(
    test: &TestStore,
    second: &Store,
    cache_bytes: Option<usize>,
    steps: &[(usize, Step)],
    totals: &Totals,
) -> Result<(), TestCaseError> {
    // Nobody has ever read or written anything of these two.
    let mut tenants = Vec::new();
    for _ in 0..2 {
        let name = quad_core::id::ulid().unwrap().to_lowercase();
        tenants.push(tenant::create(&test.store, &name).await.unwrap().id);
    }
    let tenants: [TenantId; 2] = tenants.try_into().unwrap();
    let processes =
        [Process::new(test.store.clone(), cache_bytes), Process::new(second.clone(), cache_bytes)];
    let mut model = Model::default();
    for (index, step) in steps {
        let process = &processes[*index];
        match step {
            Step::Write(update) => {
                process.toy.write(&tenants[update.tenant], update).await;
                model.write(update);
            }
            Step::Read(caller, place, meanwhile) => {
                let principal = caller.principal(&tenants);
                if let Some(update) = meanwhile {
                    process.toy.write_before_answering(&tenants[update.tenant], update);
                }
                let (asked, figures) = (process.toy.asked(), process.resolver.cache_stats());
                let answer = process.resolver.read(&principal, View::All, &place.uri()).await;
                let asked = process.toy.asked() - asked;
                // Only whoever is asked can be overtaken.
                let overtaken = meanwhile.as_ref().filter(|_| !process.toy.has_something_to_write());
                let kept = model.is_kept(*index, caller, place);
                if let Some(update) = overtaken {
                    model.write(update);
                }
                if !caller.reads {
                    prop_assert_eq!(answer.unwrap_err().kind(), Kind::Scope);
                    prop_assert_eq!(asked, 0, "somebody who may not read made the scheme work");
                    totals.refused.fetch_add(1, Relaxed);
                    process.toy.forget_what_to_write();
                    continue;
                }
                let sealed = answer.unwrap().read;
                let text = String::from_utf8(sealed.contents[0].bytes().to_vec()).unwrap();
                prop_assert_eq!(text, model.answer(caller, place), "{:?} {:?}", caller, place);
                let touched = overtaken.is_some_and(|update| model.touches(update, caller, place));
                match (kept, cache_bytes) {
                    (true, None) => {
                        prop_assert_eq!(asked, 0, "what nobody had changed was computed again");
                        totals.saved.fetch_add(1, Relaxed);
                    }
                    // It may have made room for others.
                    (true, Some(_)) => prop_assert!(asked <= 1 + u64::from(touched)),
                    (false, _) => prop_assert_eq!(asked, 1 + u64::from(touched)),
                }
                let after = process.resolver.cache_stats();
                totals.hits.fetch_add(after.hits - figures.hits, Relaxed);
                totals.overtaken.fetch_add(u64::from(touched), Relaxed);
                // Found, but no longer right: the commit sent it back.
                let outlived = !kept && after.hits > figures.hits;
                totals.outlived.fetch_add(u64::from(outlived), Relaxed);
                totals.evicted.fetch_add(u64::from(kept && asked > 0), Relaxed);
                prop_assert!(after.bytes <= cache_bytes.unwrap_or(quad_core::limits::CACHE_BYTES));
                prop_assert!(after.entries == 0 || after.bytes > 0);
                model.keep(*index, caller, place);
                process.toy.forget_what_to_write();
            }
        }
    }
    Ok(())
}

/// Tries the property on each backend, and returns what happened over all runs of all of them.
fn check(cache_bytes: Option<usize>) -> Totals {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let totals = Totals::default();
    for test in runtime.block_on(stores(&[TABLES])).unwrap() {
        let second = runtime.block_on(Store::open(test.location.clone(), &[TABLES])).unwrap();
        let mut runner =
            TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        let outcome = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
            runtime.block_on(run(&test, &second, cache_bytes, &steps, &totals))
        });
        if let Err(failure) = outcome {
            panic!("{:?}: {failure}", test.store.backend());
        }
    }
    totals
}

#[test]
fn views_never_share_and_nothing_outlives_its_tags() {
    let totals = check(None);
    let seen = |count: &AtomicU64| count.load(Relaxed) > 0;
    assert!(seen(&totals.hits) && seen(&totals.saved), "nothing was found in the cache: {totals:?}");
    assert!(seen(&totals.outlived) && seen(&totals.overtaken), "nothing changed under an answer: {totals:?}");
    assert!(seen(&totals.refused), "{totals:?}");
}

#[test]
fn a_small_cache_stays_small_and_says_nothing_else() {
    let totals = check(Some(SMALL_CACHE_BYTES));
    assert!(totals.hits.load(Relaxed) > 0, "nothing was found in the cache: {totals:?}");
    assert!(totals.evicted.load(Relaxed) > 0, "nothing had to make room: {totals:?}");
}
