//! When checkpoints are made: no event is without one for long, and no process does the work of another.
//!
//! The store notifies the signer of many new events, and tells it how old the oldest ones are. A slower query finds
//! events that only other processes have written. Of several processes on one chain, the one that made the last
//! checkpoint goes on; the others take over when it falls behind.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use quad_core::{Error, Result, TenantId, Timestamp};
use quad_store::audit::{block, checkpoint as rows};
use quad_store::chain_ends::UncoveredEvents;
use tokio::task::JoinSet;

use crate::checkpoint_file::FileSync;
use crate::checkpointer::{Attempt, CheckpointSigner, DueRule};
use crate::limits;

/// How far the checkpoints are behind the chains that this process extends: over all tenants, the largest values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckpointLag {
    /// Events of one tenant that no checkpoint covers.
    pub events: u64,
    /// The age of the first event that no checkpoint covers, at most.
    pub age: Duration,
    /// Tenants with such events.
    pub tenants: usize,
}

/// What a signing process remembers between two rounds.
#[derive(Default)]
pub(crate) struct Schedule {
    /// Tenants whose last checkpoint another process made while this one tried to.
    followed: HashSet<TenantId>,
    /// Tenants whose checkpoint failed, and when it is tried again.
    failed: HashMap<TenantId, Instant>,
    /// When the next query over all tenants is due.
    next_query: Option<Instant>,
    last_sync: Option<Instant>,
    has_unsynced_lines: bool,
}

/// A checkpoint is due after so many events, or if the first of them is so old.
#[derive(Clone, Copy, Debug)]
struct Threshold {
    events: i64,
    age: Duration,
}

impl Threshold {
    const OWN: Threshold =
        Threshold { events: quad_store::limits::AUDIT_CHECKPOINT_EVENTS, age: limits::CHECKPOINT_DUE_AGE };

    const TAKE_OVER: Threshold =
        Threshold { events: limits::CHECKPOINT_TAKE_OVER_EVENTS, age: limits::CHECKPOINT_TAKE_OVER_AGE };

    fn is_reached(self, uncovered: &UncoveredEvents) -> bool {
        uncovered.count >= self.events.unsigned_abs() || uncovered.age >= self.age
    }

    fn rule(self) -> DueRule {
        let age = i64::try_from(self.age.as_millis()).unwrap_or(i64::MAX);
        DueRule { events: self.events, made_before: Timestamp::now().plus_ms(-age) }
    }
}

impl Schedule {
    fn threshold(&self, tenant: &TenantId) -> Threshold {
        if self.followed.contains(tenant) { Threshold::TAKE_OVER } else { Threshold::OWN }
    }

    fn is_blocked(&self, tenant: &TenantId) -> bool {
        self.failed.get(tenant).is_some_and(|retry_at| *retry_at > Instant::now())
    }

    /// Logs a failure, the first of a tenant loudly: repeated lines would fill the log.
    fn record_failure(&mut self, tenant: TenantId, error: &Error) {
        let (name, cause) = (tenant.as_str(), error.cause_chain());
        if self.failed.contains_key(&tenant) {
            tracing::debug!(tenant = name, cause, "checkpoint not made: {}", error.message());
        } else {
            tracing::error!(tenant = name, cause, "checkpoint not made: {}", error.message());
        }
        self.failed.insert(tenant, Instant::now() + limits::CHECKPOINT_RETRY_INTERVAL);
    }
}

impl CheckpointSigner {
    /// How far the checkpoints are behind, as far as this process knows. It reads no database.
    pub fn lag(&self) -> CheckpointLag {
        let uncovered = self.store().chain_ends().uncovered();
        CheckpointLag {
            events: uncovered.iter().map(|tenant| tenant.count).max().unwrap_or(0),
            age: uncovered.iter().map(|tenant| tenant.age).max().unwrap_or_default(),
            tenants: uncovered.len(),
        }
    }

    /// Makes checkpoints as they become due. Never returns.
    pub async fn run(self) {
        let mut schedule = Schedule::default();
        loop {
            if let Err(error) = self.sign_due(&mut schedule).await {
                tracing::error!(cause = error.cause_chain(), "checkpoints not made: {}", error.message());
            }
            let many_events = self.store().chain_ends().wait_for_many_uncovered();
            let _ = tokio::time::timeout(limits::CHECKPOINT_TICK, many_events).await;
        }
    }

    /// Makes checkpoints for every event that has none, in every chain, and returns their number. A serving process
    /// calls it when it stops, after its last event. It does not wait for events that other processes append meanwhile.
    pub async fn finish(&self) -> Result<usize> {
        self.store().flush_audit().await?;
        let mut tenants = self.tenants_due(DueRule::ALWAYS).await?;
        tenants.extend(self.own_uncovered());
        self.cover(tenants).await
    }

    /// Makes checkpoints for the events of this process, and returns their number. A command calls it before it ends.
    pub async fn finish_own(&self) -> Result<usize> {
        self.store().flush_audit().await?;
        self.cover(self.own_uncovered()).await
    }

    /// The tenants with events of this process that no checkpoint covers.
    fn own_uncovered(&self) -> Vec<TenantId> {
        self.store().chain_ends().uncovered().into_iter().map(|uncovered| uncovered.tenant).collect()
    }

    /// Makes checkpoints up to the present end of each chain, and syncs the checkpoint file.
    async fn cover(&self, tenants: Vec<TenantId>) -> Result<usize> {
        let _round = self.begin_round().await;
        let deadline = Instant::now() + limits::CHECKPOINT_STOP_TIME_MAX;
        let mut schedule = Schedule::default();
        let mut ends: HashMap<TenantId, i64> = HashMap::new();
        for tenant in tenants {
            let end = self.store().read(&tenant, |sql| block::chain_end(sql)).await?.sequence;
            ends.insert(tenant, end);
        }
        let mut made = 0;
        loop {
            let waiting: Vec<TenantId> = ends.keys().cloned().collect();
            let checkpoints = self.attempt_all(waiting, |_, _| DueRule::ALWAYS, &mut schedule).await?;
            made += checkpoints.len();
            // Also syncs the lines of earlier rounds.
            self.write_to_file(checkpoints, FileSync::Now).await?;
            for tenant in ends.keys().cloned().collect::<Vec<_>>() {
                let latest = self.store().read(&tenant, |sql| rows::latest(sql)).await?;
                let is_covered = latest.map_or(0, |row| row.size) >= ends[&tenant];
                if is_covered || schedule.is_blocked(&tenant) {
                    ends.remove(&tenant);
                }
            }
            if ends.is_empty() || Instant::now() > deadline {
                return Ok(made);
            }
        }
    }

    /// Makes the checkpoints that are due and returns their number.
    pub(crate) async fn sign_due(&self, schedule: &mut Schedule) -> Result<usize> {
        let _round = self.begin_round().await;
        let uncovered = self.store().chain_ends().uncovered();
        let mut due: Vec<TenantId> = uncovered
            .iter()
            .filter(|uncovered| schedule.threshold(&uncovered.tenant).is_reached(uncovered))
            .map(|uncovered| uncovered.tenant.clone())
            .collect();
        if schedule.next_query.is_none_or(|time| time <= Instant::now()) {
            let started = Instant::now();
            let found = self.tenants_due(Threshold::OWN.rule()).await?;
            let pause =
                limits::CHECKPOINT_POLL_INTERVAL.max(started.elapsed() * limits::CHECKPOINT_POLL_SHARE);
            schedule.next_query = Some(Instant::now() + pause);
            // The time of events of this process is known, and other processes may be about to sign.
            let is_known = |tenant: &TenantId| uncovered.iter().any(|uncovered| uncovered.tenant == *tenant);
            due.extend(found.into_iter().filter(|tenant| !is_known(tenant)));
        }
        due.retain(|tenant| !schedule.is_blocked(tenant));
        let rule = |schedule: &Schedule, tenant: &TenantId| schedule.threshold(tenant).rule();
        let checkpoints = self.attempt_all(due, rule, schedule).await?;
        let made = checkpoints.len();
        self.write_round(checkpoints, schedule).await?;
        Ok(made)
    }

    async fn tenants_due(&self, rule: DueRule) -> Result<Vec<TenantId>> {
        let due =
            move |sql: &mut quad_store::Snapshot<'_>| rows::tenants_due(sql, rule.events, rule.made_before);
        self.store().read(&TenantId::system(), due).await
    }

    /// Attempts a checkpoint of each tenant, some at a time.
    async fn attempt_all(
        &self,
        tenants: Vec<TenantId>,
        rule: impl Fn(&Schedule, &TenantId) -> DueRule,
        schedule: &mut Schedule,
    ) -> Result<Vec<crate::Checkpoint>> {
        let mut made = Vec::new();
        let mut waiting = tenants.into_iter();
        let mut attempts = JoinSet::new();
        loop {
            while attempts.len() < limits::CHECKPOINTS_CONCURRENT
                && let Some(tenant) = waiting.next()
            {
                let (signer, rule) = (self.clone(), rule(schedule, &tenant));
                attempts.spawn(async move {
                    let outcome = signer.attempt(&tenant, rule).await;
                    (tenant, outcome)
                });
            }
            let Some(attempt) = attempts.join_next().await else { return Ok(made) };
            let (tenant, outcome) = attempt.map_err(Error::internal)?;
            match outcome {
                Ok(Attempt::Made(checkpoint)) => {
                    schedule.followed.remove(&tenant);
                    schedule.failed.remove(&tenant);
                    made.push(checkpoint);
                }
                Ok(Attempt::MadeByOther) => drop(schedule.followed.insert(tenant)),
                Ok(Attempt::NotDue) => {}
                Err(error) => schedule.record_failure(tenant, &error),
            }
        }
    }

    /// Writes the checkpoints of a round to the file, and syncs it from time to time.
    async fn write_round(&self, checkpoints: Vec<crate::Checkpoint>, schedule: &mut Schedule) -> Result<()> {
        let is_sync_due =
            schedule.last_sync.is_none_or(|time| time.elapsed() >= limits::CHECKPOINT_FILE_SYNC_INTERVAL);
        schedule.has_unsynced_lines |= !checkpoints.is_empty();
        if is_sync_due && schedule.has_unsynced_lines {
            schedule.last_sync = Some(Instant::now());
            schedule.has_unsynced_lines = false;
            return self.write_to_file(checkpoints, FileSync::Now).await;
        }
        self.write_to_file(checkpoints, FileSync::Later).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use quad_store::Store;

    use super::*;
    use crate::export::verify_stored;
    use crate::testing::{ChainFixture, fixtures, read_event, write_events};

    /// Events of the tenant's chain, and events that a checkpoint covers, in one snapshot.
    async fn sizes(store: &Store, tenant: &TenantId) -> (i64, i64) {
        let sizes = store.read(tenant, |sql| Ok((block::chain_end(sql)?.sequence, rows::latest(sql)?)));
        let (end, latest) = sizes.await.unwrap();
        (end, latest.map_or(0, |row| row.size))
    }

    async fn wait_until_covered(fixture: &ChainFixture, limit: Duration) {
        let started = Instant::now();
        loop {
            let (end, covered) = sizes(fixture.store(), fixture.tenant()).await;
            if end == covered {
                return;
            }
            assert!(started.elapsed() < limit, "{covered} of {end} after {limit:?}");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Appends events as fast as it can until `stop` is set.
    fn start_load(store: &Store, tenant: &TenantId, stop: &'static AtomicBool) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        for task in 0..64 {
            let (store, tenant) = (store.clone(), tenant.clone());
            tasks.spawn(async move {
                while !stop.load(Ordering::Relaxed) {
                    let event = read_event(&format!("agent_{task}"), "bkend://orgs/org_abc123");
                    let read_sets = quad_core::ReadSets::new();
                    quad_core::AuditLog::append(&store, &tenant, event, read_sets, None).await.unwrap();
                }
            });
        }
        tasks
    }

    /// Watches the lag in the database for a while: never more than 2,000 events or 2 s.
    async fn check_lag(fixture: &ChainFixture, duration: Duration) {
        let started = Instant::now();
        let mut samples: std::collections::VecDeque<(Instant, i64)> = std::collections::VecDeque::new();
        let (mut events_max, mut age_max) = (0, Duration::ZERO);
        while started.elapsed() < duration {
            tokio::time::sleep(Duration::from_millis(10)).await;
            let (end, covered) = sizes(fixture.store(), fixture.tenant()).await;
            while samples.front().is_some_and(|(_, sampled_end)| *sampled_end <= covered) {
                samples.pop_front();
            }
            samples.push_back((Instant::now(), end));
            // The first event without a checkpoint is at least as old as the first sample that contains it.
            let age = samples[0].0.elapsed();
            (events_max, age_max) = (events_max.max(end - covered), age_max.max(age));
            let within = end - covered <= 2_000 || age <= limits::CHECKPOINT_LAG_MAX;
            assert!(within, "{} events and {age:?} behind at {end}", end - covered);
        }
        let (end, _) = sizes(fixture.store(), fixture.tenant()).await;
        println!("{end} events; at most {events_max} and {age_max:?} behind");
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoints_keep_up_with_full_load() {
        static STOP: AtomicBool = AtomicBool::new(false);
        for fixture in fixtures().await {
            STOP.store(false, Ordering::Relaxed);
            let signing = tokio::spawn(fixture.checkpoint_signer.clone().run());
            let mut load = start_load(fixture.store(), fixture.tenant(), &STOP);
            check_lag(&fixture, Duration::from_secs(4)).await;
            STOP.store(true, Ordering::Relaxed);
            while load.join_next().await.is_some() {}
            wait_until_covered(&fixture, limits::CHECKPOINT_LAG_MAX).await;
            // Waits for the end of a round.
            fixture.checkpoint_signer.finish().await.unwrap();
            signing.abort();
            let trusted = Some(fixture.trusted_checkpoints());
            let report = verify_stored(fixture.store(), fixture.tenant(), trusted, |_, _| {}).await.unwrap();
            assert_eq!(report.trusted_matched, report.checkpoints, "the file has every checkpoint");
            assert!(report.checkpoints > 3, "{report:?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn second_process_takes_over_when_the_first_stops() {
        static STOP: AtomicBool = AtomicBool::new(false);
        for fixture in fixtures().await {
            STOP.store(false, Ordering::Relaxed);
            let second = fixture.open_second_process().await;
            let first_signing = tokio::spawn(fixture.checkpoint_signer.clone().run());
            let second_signing = tokio::spawn(second.clone().run());
            let mut load = start_load(fixture.store(), fixture.tenant(), &STOP);
            let mut second_load = start_load(second.store(), fixture.tenant(), &STOP);
            check_lag(&fixture, Duration::from_secs(1)).await;
            first_signing.abort();
            check_lag(&fixture, Duration::from_secs(2)).await;
            STOP.store(true, Ordering::Relaxed);
            while load.join_next().await.is_some() {}
            while second_load.join_next().await.is_some() {}
            wait_until_covered(&fixture, limits::CHECKPOINT_LAG_MAX).await;
            second_signing.abort();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn single_event_has_checkpoint_within_two_seconds() {
        for fixture in fixtures().await {
            let signing = tokio::spawn(fixture.checkpoint_signer.clone().run());
            fixture.write(1).await;
            wait_until_covered(&fixture, limits::CHECKPOINT_LAG_MAX).await;
            // An event of a process that does not sign.
            let other_process = fixture.open_second_process().await;
            write_events(other_process.store(), fixture.tenant(), 1).await;
            wait_until_covered(&fixture, limits::CHECKPOINT_LAG_MAX).await;
            signing.abort();
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn lag_counts_events_and_tenants_without_checkpoint() {
        for fixture in fixtures().await {
            let signer = &fixture.checkpoint_signer;
            // The chain begins with the event that created the tenant.
            signer.finish().await.unwrap();
            assert_eq!(signer.lag(), CheckpointLag::default());
            let started = Instant::now();
            fixture.write(30).await;
            let other_tenant = quad_store::tenant::create(fixture.store(), "other").await.unwrap();
            write_events(fixture.store(), &other_tenant.id, 5).await;
            let lag = signer.lag();
            assert_eq!((lag.events, lag.tenants), (30, 2));
            assert!(lag.age <= started.elapsed());
            signer.checkpoint(fixture.tenant()).await.unwrap();
            let (lag, other_end) = (signer.lag(), sizes(fixture.store(), &other_tenant.id).await.0);
            assert_eq!((lag.events as i64, lag.tenants), (other_end, 1));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn finish_covers_every_chain() {
        for fixture in fixtures().await {
            let other_tenant = quad_store::tenant::create(fixture.store(), "other").await.unwrap();
            write_events(fixture.store(), &other_tenant.id, 12).await;
            fixture.store().set_audit_mode(quad_store::AuditMode::Async);
            fixture.write(40).await;
            let made = fixture.checkpoint_signer.finish().await.unwrap();
            assert!(made >= 2, "{made}");
            for tenant in [fixture.tenant(), &other_tenant.id] {
                let (end, covered) = sizes(fixture.store(), tenant).await;
                assert!(end == covered && end > 0, "{covered} of {end}");
                let kept = fixture.trusted_checkpoints().of_tenant(tenant.as_str());
                assert_eq!(kept.keys().next_back().copied(), Some(end as u64));
            }
            assert_eq!(fixture.checkpoint_signer.finish().await.unwrap(), 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn finish_own_covers_the_events_of_this_process() {
        for fixture in fixtures().await {
            let other_tenant = quad_store::tenant::create(fixture.store(), "other").await.unwrap();
            fixture.checkpoint_signer.finish().await.unwrap();
            let process = fixture.open_second_process().await;
            fixture.write(3).await;
            write_events(process.store(), &other_tenant.id, 12).await;
            assert_eq!(process.finish_own().await.unwrap(), 1);
            let (end, covered) = sizes(fixture.store(), &other_tenant.id).await;
            assert_eq!(end, covered);
            let (end, covered) = sizes(fixture.store(), fixture.tenant()).await;
            assert_eq!(end, covered + 3, "events of other processes are left to them");
            assert_eq!(process.finish_own().await.unwrap(), 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn finish_does_not_wait_for_other_processes_to_stop() {
        static STOP: AtomicBool = AtomicBool::new(false);
        for fixture in fixtures().await {
            STOP.store(false, Ordering::Relaxed);
            let other_process = fixture.open_second_process().await;
            let mut load = start_load(other_process.store(), fixture.tenant(), &STOP);
            fixture.write(5).await;
            let started = Instant::now();
            let made = fixture.checkpoint_signer.finish().await.unwrap();
            assert!(
                made >= 1 && started.elapsed() < limits::CHECKPOINT_STOP_TIME_MAX,
                "{:?}",
                started.elapsed()
            );
            STOP.store(true, Ordering::Relaxed);
            while load.join_next().await.is_some() {}
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn finish_ends_with_a_broken_chain() {
        for fixture in fixtures().await {
            fixture.write(30).await;
            fixture.tamper_event(17, "resources/read", "resources/list").await;
            fixture.checkpoint_signer.finish().await.unwrap();
            assert_eq!(sizes(fixture.store(), fixture.tenant()).await.1, 0);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn checkpoint_is_due_after_event_limit_or_age() {
        for fixture in fixtures().await {
            let due = async |events: i64, made_before: Timestamp| {
                let due = fixture.checkpoint_signer.tenants_due(DueRule { events, made_before });
                due.await.unwrap().contains(fixture.tenant())
            };
            let (long_ago, now) = (Timestamp(0), || Timestamp::now().plus_ms(1));
            assert!(due(1_000, long_ago).await, "no checkpoint yet");
            let mut schedule = Schedule::default();
            tokio::time::sleep(limits::CHECKPOINT_DUE_AGE).await;
            assert!(fixture.checkpoint_signer.sign_due(&mut schedule).await.unwrap() >= 1);
            assert!(!due(1, now()).await, "nothing is new");
            fixture.write(5).await;
            assert!(!due(6, long_ago).await, "too few, too soon");
            assert!(due(5, long_ago).await, "enough");
            assert!(due(6, now()).await, "long enough ago");
            assert_eq!(
                fixture.checkpoint_signer.sign_due(&mut schedule).await.unwrap(),
                0,
                "neither 500 events nor a second"
            );
            fixture.write(quad_store::limits::AUDIT_CHECKPOINT_EVENTS as usize).await;
            assert_eq!(fixture.checkpoint_signer.sign_due(&mut schedule).await.unwrap(), 1);
            fixture.write(1).await;
            tokio::time::sleep(limits::CHECKPOINT_DUE_AGE).await;
            assert_eq!(fixture.checkpoint_signer.sign_due(&mut schedule).await.unwrap(), 1);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn broken_chain_is_tried_again_only_after_a_pause() {
        for fixture in fixtures().await {
            fixture.write(30).await;
            fixture.tamper_event(17, "resources/read", "resources/list").await;
            let mut schedule = Schedule::default();
            tokio::time::sleep(limits::CHECKPOINT_DUE_AGE).await;
            fixture.checkpoint_signer.sign_due(&mut schedule).await.unwrap();
            assert!(schedule.is_blocked(fixture.tenant()));
            assert_eq!(sizes(fixture.store(), fixture.tenant()).await.1, 0);
        }
    }
}
