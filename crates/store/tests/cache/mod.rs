//! Property test of the read cache: callers with different views never share an answer, and no cached answer is
//! served after a change of its read set.
//!
//! Resolver, cache and store are the real ones. Two of each on one database stand for two processes. Every answer is
//! compared with a model without a cache. The number of reads that the scheme computes is compared with the number
//! that a correct cache leaves: without that check, a cache that never hits would pass.

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

use model::{Caller, Model, Step, ToyResource, Update};
use scheme::{ROWS, TABLES, ToyScheme};

/// Room for three entries, so that entries are evicted.
const SMALL_CACHE_BYTES: usize = 2_048;

/// Cases per property. Each makes some dozen durable commits.
const CASES: u32 = 32;

/// One resolver with its own cache, on its own handle of the database.
struct Process {
    resolver: Resolver,
    toy: Arc<ToyScheme>,
}

impl Process {
    fn new(store: Store, cache_bytes: Option<usize>) -> Process {
        let toy = Arc::new(ToyScheme::new(store.clone()));
        let store = Arc::new(store);
        let resolver = Resolver::new(vec![toy.clone()], store.clone(), store).unwrap();
        let resolver = match cache_bytes {
            Some(bytes) => resolver.with_cache_bytes(bytes),
            None => resolver,
        };
        Process { resolver, toy }
    }
}

/// Counts over all cases.
#[derive(Debug, Default)]
struct Totals {
    hits: AtomicU64,
    computations_saved: AtomicU64,
    stale_hits: AtomicU64,
    conflicts: AtomicU64,
    denied: AtomicU64,
    evicted: AtomicU64,
}

fn caller() -> impl Strategy<Value = Caller> {
    (0..2usize, prop::bool::weighted(0.9), any::<bool>(), any::<bool>(), any::<bool>()).prop_map(
        |(tenant, can_read, sees_odd, has_extra_scope, is_user)| Caller {
            tenant,
            can_read,
            sees_odd,
            has_extra_scope,
            is_user,
        },
    )
}

fn resource() -> impl Strategy<Value = ToyResource> {
    (any::<bool>(), prop::sample::subsequence((0..ROWS).collect::<Vec<_>>(), 1..=3))
        .prop_map(|(signed, rows)| ToyResource { shows_reader: signed, rows })
}

fn update() -> impl Strategy<Value = Update> {
    (0..2usize, prop::sample::subsequence((0..ROWS).collect::<Vec<_>>(), 0..=2), 0..1_000i64)
        .prop_map(|(tenant, rows, value)| Update { tenant, rows, value })
}

fn step() -> impl Strategy<Value = (usize, Step)> {
    let step = prop_oneof![
        2 => update().prop_map(Step::Write),
        6 => (caller(), resource()).prop_map(|(caller, resource)| Step::Read(caller, resource, None)),
        2 => (caller(), resource(), update())
            .prop_map(|(caller, resource, update)| Step::Read(caller, resource, Some(update))),
    ];
    (0..2usize, step)
}

/// Runs one sequence of steps on two processes.
async fn run_steps(
    test: &TestStore,
    second: &Store,
    cache_bytes: Option<usize>,
    steps: &[(usize, Step)],
    totals: &Totals,
) -> Result<(), TestCaseError> {
    // New tenants, so that no cache has entries of theirs.
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
            Step::Read(caller, resource, conflicting_update) => {
                let principal = caller.principal(&tenants);
                if let Some(update) = conflicting_update {
                    process.toy.schedule_write(&tenants[update.tenant], update);
                }
                let (computed_before, stats_before) =
                    (process.toy.reads_computed(), process.resolver.cache_stats());
                let answer = process.resolver.read(&principal, View::All, &resource.uri()).await;
                let computed = process.toy.reads_computed() - computed_before;
                // A scheduled write that was not taken has not happened: the scheme was not asked.
                let conflict = conflicting_update.as_ref().filter(|_| !process.toy.has_scheduled_write());
                let expected_cached = model.is_cached(*index, caller, resource);
                if let Some(update) = conflict {
                    model.write(update);
                }
                if !caller.can_read {
                    prop_assert_eq!(answer.unwrap_err().kind(), Kind::Scope);
                    prop_assert_eq!(computed, 0, "the scheme computed a read that the caller may not see");
                    totals.denied.fetch_add(1, Relaxed);
                    process.toy.clear_scheduled_write();
                    continue;
                }
                let read = answer.unwrap().read;
                let text = String::from_utf8(read.contents[0].bytes().to_vec()).unwrap();
                prop_assert_eq!(text, model.expected_answer(caller, resource), "{:?} {:?}", caller, resource);
                let invalidated = conflict.is_some_and(|update| model.invalidates(update, caller, resource));
                match (expected_cached, cache_bytes) {
                    (true, None) => {
                        prop_assert_eq!(computed, 0, "an unchanged answer was computed again");
                        totals.computations_saved.fetch_add(1, Relaxed);
                    }
                    // It may have been evicted.
                    (true, Some(_)) => prop_assert!(computed <= 1 + u64::from(invalidated)),
                    (false, _) => prop_assert_eq!(computed, 1 + u64::from(invalidated)),
                }
                let stats_after = process.resolver.cache_stats();
                totals.hits.fetch_add(stats_after.hits - stats_before.hits, Relaxed);
                totals.conflicts.fetch_add(u64::from(invalidated), Relaxed);
                // A hit that was stale: the audit commit rejected it.
                let stale_hit = !expected_cached && stats_after.hits > stats_before.hits;
                totals.stale_hits.fetch_add(u64::from(stale_hit), Relaxed);
                totals.evicted.fetch_add(u64::from(expected_cached && computed > 0), Relaxed);
                prop_assert!(stats_after.bytes <= cache_bytes.unwrap_or(quad_core::limits::CACHE_BYTES));
                prop_assert!(stats_after.entries == 0 || stats_after.bytes > 0);
                model.mark_cached(*index, caller, resource);
                process.toy.clear_scheduled_write();
            }
        }
    }
    Ok(())
}

/// Checks the property on each database; returns the counts over all of them.
fn check_backends(cache_bytes: Option<usize>) -> Totals {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let totals = Totals::default();
    for test in runtime.block_on(stores(&[TABLES])).unwrap() {
        let second = runtime.block_on(Store::open(test.location.clone(), &[TABLES])).unwrap();
        let mut runner =
            TestRunner::new(Config { cases: CASES, failure_persistence: None, ..Config::default() });
        let outcome = runner.run(&prop::collection::vec(step(), 1..60), |steps| {
            runtime.block_on(run_steps(&test, &second, cache_bytes, &steps, &totals))
        });
        if let Err(failure) = outcome {
            panic!("{:?}: {failure}", test.store.backend());
        }
    }
    totals
}

#[test]
fn cache_never_serves_other_views_or_stale_answers() {
    let totals = check_backends(None);
    let happened = |count: &AtomicU64| count.load(Relaxed) > 0;
    assert!(happened(&totals.hits) && happened(&totals.computations_saved), "no cache hit: {totals:?}");
    assert!(
        happened(&totals.stale_hits) && happened(&totals.conflicts),
        "no conflict and no stale hit: {totals:?}"
    );
    assert!(happened(&totals.denied), "{totals:?}");
}

#[test]
fn small_cache_stays_bounded_and_correct() {
    let totals = check_backends(Some(SMALL_CACHE_BYTES));
    assert!(totals.hits.load(Relaxed) > 0, "no cache hit: {totals:?}");
    assert!(totals.evicted.load(Relaxed) > 0, "nothing was evicted: {totals:?}");
}
