//! One commit: a group of jobs in one transaction.
//!
//! Work first, each job in its own savepoint; then, tenant by tenant in order, the head is locked, every job that went
//! well gets its version and its link in the chain, and every record is checked: an answer that a newer change has
//! touched leaves the group and is computed again. Then the commit, and only after it does anybody hear of anything.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quad_core::facts::AuditFields;
use quad_core::id::UlidGenerator;
use quad_core::{
    ReadSets, ReadSet, Change, SideEffect, Error, EventDraft, Kind, AppendError, Receipt, Result, Tag, TenantId,
    Timestamp, Version,
};
use tokio::sync::oneshot;

use crate::connection::Connection;
use crate::feed::Mirror;
use crate::sql::Tx;
use crate::{AuditMode, Backend, chain, change, head, limits};

/// Something to be done in a commit.
pub(crate) enum Job {
    Work(Box<dyn Work>),
    Record(Box<Record>),
}

/// What the audit trail hears of work.
pub(crate) enum Telling {
    /// Nothing: it advances no version and is announced to nobody.
    Nothing,
    /// One event, named before the work begins.
    One(Box<EventDraft>),
    /// What the work tells with [`Tx::tell`].
    Itself,
}

/// A closure that writes.
pub(crate) trait Work: Send {
    fn tenant(&self) -> &TenantId;
    /// What the caller's credential rests on.
    fn proof(&self) -> Option<&ReadSet>;
    fn telling(&self) -> &Telling;
    fn run(&mut self, tx: &mut Tx<'_>) -> Result<()>;
    fn finish(self: Box<Self>, outcome: Result<Option<Receipt>>);
}

/// An audit event of something that wrote nothing.
pub(crate) struct Record {
    pub(crate) tenant: TenantId,
    pub(crate) event: EventDraft,
    pub(crate) errand: Option<SideEffect>,
    pub(crate) answer: Answer,
}

/// How far the answer is that an event is about.
pub(crate) enum Answer {
    /// It waits for the event, and for the word that what it rests on still holds.
    Waits { bases: ReadSets, reply: oneshot::Sender<Result<Receipt, AppendError>> },
    /// It was given at that time, with this id for its event: nothing can make it stale any more.
    Given { ulid: String, at: Timestamp },
}

impl Answer {
    fn bases(&self) -> &[Arc<ReadSet>] {
        match self {
            Answer::Waits { bases, .. } => bases,
            Answer::Given { .. } => &[],
        }
    }
}

/// What a group leaves behind.
#[derive(Default)]
pub(crate) struct Left {
    /// Jobs that no longer fitted into its time: for the next.
    pub(crate) undone: Vec<Job>,
    /// Events of answers that were given, if the commit failed.
    pub(crate) unwritten: VecDeque<Box<Record>>,
}

impl Job {
    fn wrote_nothing(&self) -> bool {
        matches!(self, Job::Record(_))
    }

    fn tenant(&self) -> &TenantId {
        match self {
            Job::Work(work) => work.tenant(),
            Job::Record(record) => &record.tenant,
        }
    }

    fn finish(self, verdict: Verdict) {
        match self {
            Job::Work(work) => work.finish(match verdict {
                Verdict::Done(receipt) => Ok(receipt),
                Verdict::Refused(error) => Err(error),
                Verdict::Stale(_) => Err(credential_changed()),
            }),
            Job::Record(record) => {
                let outcome = match verdict {
                    Verdict::Done(Some(receipt)) => Ok(receipt),
                    Verdict::Done(None) => {
                        Err(AppendError::Failed(Error::internal("a record without a receipt")))
                    }
                    Verdict::Refused(error) => Err(AppendError::Failed(error)),
                    Verdict::Stale(index) => Err(AppendError::Stale(index)),
                };
                match (record.answer, outcome) {
                    // A caller that has gone away has no use for its receipt; the event stays.
                    (Answer::Waits { reply, .. }, outcome) => drop(reply.send(outcome)),
                    (Answer::Given { .. }, Ok(_) | Err(AppendError::Stale(_))) => {}
                    (Answer::Given { .. }, Err(AppendError::Failed(error))) => {
                        tracing::error!(cause = error.cause_chain(), "an event of an answered call was refused");
                    }
                }
            }
        }
    }
}

/// What became of a job.
enum Verdict {
    Done(Option<Receipt>),
    Refused(Error),
    Stale(usize),
}

/// What a job left for the head.
enum Ran {
    /// A record, and whether its errand was run.
    Record { errand: bool },
    /// Work.
    Work(Box<Done>),
}

/// What work has done.
struct Done {
    tags: Vec<Tag>,
    outputs: AuditFields,
    told: Vec<EventDraft>,
}

/// Runs a group to its end and answers every job in it, except those that it leaves behind.
pub(crate) fn run(connection: &mut Connection, mirror: &Mirror, mode: AuditMode, mut jobs: Vec<Job>) -> Left {
    for attempt in 1.. {
        connection.take_was_busy();
        match transaction(connection, mirror, mode, &mut jobs) {
            Ok((verdicts, announced)) => {
                for (tenant, locked, version, changes) in announced {
                    mirror.extend(&tenant, locked, version, &changes);
                }
                let undone = jobs.split_off(verdicts.len());
                for (job, verdict) in jobs.into_iter().zip(verdicts) {
                    job.finish(verdict);
                }
                return Left { undone, unwritten: VecDeque::new() };
            }
            Err(error) => {
                connection.rollback();
                let busy = connection.take_was_busy();
                if busy && attempt < limits::ATTEMPTS && connection.is_alive() {
                    std::thread::sleep(Duration::from_millis(1 << attempt));
                    continue;
                }
                return Left { undone: Vec::new(), unwritten: fail(jobs, error) };
            }
        }
    }
    Left::default()
}

/// Answers every job that waits with a failure, and hands back what has been answered. All but the first get a failure of their
/// own making, since an error is not shared.
fn fail(jobs: Vec<Job>, error: Error) -> VecDeque<Box<Record>> {
    let mut unwritten = VecDeque::new();
    let mut error = Some(error);
    for job in jobs {
        match job {
            Job::Record(record) if matches!(record.answer, Answer::Given { .. }) => {
                unwritten.push_back(record)
            }
            job => {
                let error =
                    error.take().unwrap_or_else(|| Error::internal("another job of the same commit failed"));
                job.finish(Verdict::Refused(error));
            }
        }
    }
    if let (Some(error), false) = (error, unwritten.is_empty()) {
        tracing::error!(cause = error.cause_chain(), "events of answered calls could not be written yet");
    }
    unwritten
}

/// Writes the events of answers for which the heads are held, in the transaction that holds them, if at least so many can be written.
pub(crate) fn write_held(
    connection: &mut Connection,
    mirror: &Mirror,
    jobs: Vec<Job>,
    at_least: usize,
    now: Timestamp,
) {
    let ran = jobs.iter().map(|_| Ok(Ran::Record { errand: false })).collect();
    let settled = settle(connection, mirror, &jobs, ran, now).and_then(|(mut verdicts, _)| {
        let is_done = |verdict: &&mut Verdict| matches!(verdict, Verdict::Done(_));
        if verdicts.iter_mut().filter(is_done).count() >= at_least.max(1) {
            connection.commit()?;
        } else {
            connection.rollback();
            verdicts.iter_mut().filter(is_done).for_each(|verdict| *verdict = Verdict::Stale(0));
        }
        Ok(verdicts)
    });
    match settled {
        Ok(verdicts) => jobs.into_iter().zip(verdicts).for_each(|(job, verdict)| job.finish(verdict)),
        Err(error) => {
            connection.rollback();
            fail(jobs, error);
        }
    }
}

/// For each tenant: its version before and after the commit, and what lies between.
type Announced = Vec<(TenantId, Version, Version, Vec<Arc<Change>>)>;

fn transaction(
    connection: &mut Connection,
    mirror: &Mirror,
    mode: AuditMode,
    jobs: &mut [Job],
) -> Result<(Vec<Verdict>, Announced)> {
    let now = Timestamp::now();
    connection.wait_for_disk(mode == AuditMode::Durable || !jobs.iter().all(Job::wrote_nothing))?;
    connection.begin_write()?;
    let ran = work(connection, mirror, jobs, now)?;
    let jobs = &jobs[..ran.len()];
    if ran.iter().all(|ran| matches!(ran, Err(Verdict::Refused(_) | Verdict::Stale(_)))) {
        connection.rollback();
        let verdicts = ran.into_iter().map(|ran| ran.err().unwrap_or(Verdict::Done(None))).collect();
        return Ok((verdicts, Vec::new()));
    }
    let settled = settle(connection, mirror, jobs, ran, now)?;
    connection.commit()?;
    Ok(settled)
}

/// Runs the work of the group, until its time is up. The result covers the jobs that were reached.
fn work(
    connection: &mut Connection,
    mirror: &Mirror,
    jobs: &mut [Job],
    now: Timestamp,
) -> Result<Vec<Result<Ran, Verdict>>> {
    let started = Instant::now();
    // With a single job the transaction is savepoint enough.
    let savepoints = jobs.len() > 1;
    let mut touched: BTreeMap<TenantId, Vec<Arc<Change>>> = BTreeMap::new();
    let mut ran = Vec::with_capacity(jobs.len());
    let mut in_order = errands_in_order(connection, mirror, jobs, now)?;
    for (index, job) in jobs.iter_mut().enumerate() {
        let work = match job {
            Job::Work(work) => work,
            Job::Record(record) => {
                let errand = match in_order.remove(&index) {
                    Some(was_run) => was_run,
                    None => {
                        let earlier = touched.get(&record.tenant).map_or(&[] as &[_], Vec::as_slice);
                        run_errand(connection, mirror, record, earlier, now)?
                    }
                };
                ran.push(Ok(Ran::Record { errand }));
                continue;
            }
        };
        if !ran.is_empty() && started.elapsed() > limits::GROUP_TIME {
            break;
        }
        let tenant = work.tenant().clone();
        let known = head::version(connection, &tenant)?;
        let version = known.unwrap_or(Version(0));
        let earlier = touched.get(&tenant).map_or(&[] as &[_], Vec::as_slice);
        if let Some(proof) = work.proof()
            && !still_holds(connection, mirror, &tenant, proof, version, earlier, now)?
        {
            ran.push(Err(Verdict::Stale(0)));
            continue;
        }
        if savepoints {
            connection.control("SAVEPOINT job")?;
        }
        let mut tx = Tx {
            connection: &mut *connection,
            tenant: &tenant,
            version,
            now,
            tags: Vec::new(),
            outputs: AuditFields::default(),
            told: Vec::new(),
        };
        let outcome = catch_unwind(AssertUnwindSafe(|| work.run(&mut tx)))
            .unwrap_or_else(|_| Err(Error::internal("a job panicked inside its transaction")));
        let Tx { tags, outputs, told, .. } = tx;
        // Only the job that makes a tenant may begin without its head, and then it has made one.
        let outcome = match outcome {
            Ok(()) if known.is_none() && head::version(connection, &tenant)?.is_none() => {
                Err(head::unknown_tenant())
            }
            Ok(()) if matches!(work.telling(), Telling::Itself) && told.is_empty() => {
                Err(Error::internal("work that was to tell its events has told none"))
            }
            // Whoever has read what it changes would go on with the old.
            Ok(()) if matches!(work.telling(), Telling::Nothing) && !tags.is_empty() => {
                Err(Error::internal("work that is announced to nobody has touched what others read"))
            }
            outcome => outcome,
        };
        match outcome {
            Ok(()) => {
                if savepoints {
                    connection.control("RELEASE job")?;
                }
                let change = Change { version: Version(i64::MAX), tags: tags.clone() };
                touched.entry(tenant).or_default().push(Arc::new(change));
                ran.push(Ok(Ran::Work(Box::new(Done { tags, outputs, told }))));
            }
            // The statement that failed may succeed when all of it is done again.
            Err(error) if !savepoints && connection_was_busy(connection) => return Err(error),
            Err(error) => {
                if savepoints {
                    connection.control("ROLLBACK TO job")?;
                    connection.control("RELEASE job")?;
                }
                ran.push(Err(Verdict::Refused(error)));
            }
        }
    }
    Ok(ran)
}

/// On PostgreSQL, where several processes record at once, errands are run before all else and in one order, so that no two of
/// these processes wait for each other. Says by the jobs' numbers which were run.
fn errands_in_order(
    connection: &mut Connection,
    mirror: &Mirror,
    jobs: &[Job],
    now: Timestamp,
) -> Result<BTreeMap<usize, bool>> {
    let mut ran = BTreeMap::new();
    if connection.backend() == Backend::Sqlite {
        return Ok(ran);
    }
    let mut errands: Vec<(&TenantId, i64, usize, &Record)> = Vec::new();
    for (index, job) in jobs.iter().enumerate() {
        if let Job::Record(record) = job
            && let Some(errand) = &record.errand
        {
            errands.push((&record.tenant, errand.lock_order, index, record));
        }
    }
    errands.sort_unstable_by_key(|(tenant, order, index, _)| (*tenant, *order, *index));
    for (_, _, index, record) in errands {
        ran.insert(index, run_errand(connection, mirror, record, &[], now)?);
    }
    Ok(ran)
}

/// Runs the errand of a record whose answer still holds, and says whether it did. It belongs to the work and not behind the
/// head: a row that another transaction holds while it waits for the head must not be waited for with the head in hand.
fn run_errand(
    connection: &mut Connection,
    mirror: &Mirror,
    record: &Record,
    earlier: &[Arc<Change>],
    now: Timestamp,
) -> Result<bool> {
    let Some(errand) = &record.errand else { return Ok(false) };
    let version = head::version(connection, &record.tenant)?.unwrap_or(Version(0));
    for basis in record.answer.bases() {
        if !still_holds(connection, mirror, &record.tenant, basis, version, earlier, now)? {
            return Ok(false);
        }
    }
    crate::errand::run(connection, &record.tenant, version, now, errand)?;
    Ok(true)
}

/// Peeks at the flag and leaves it set for [`run`].
fn connection_was_busy(connection: &mut Connection) -> bool {
    let busy = connection.take_was_busy();
    set_busy(connection, busy);
    busy
}

fn set_busy(connection: &mut Connection, busy: bool) {
    match connection {
        Connection::Sqlite(conn) => conn.was_busy = busy,
        Connection::Postgres(conn) => conn.was_busy = busy,
    }
}

/// Locks the heads in tenant order and gives every job its place.
fn settle(
    connection: &mut Connection,
    mirror: &Mirror,
    jobs: &[Job],
    ran: Vec<Result<Ran, Verdict>>,
    now: Timestamp,
) -> Result<(Vec<Verdict>, Announced)> {
    let mut verdicts: Vec<Option<Verdict>> = Vec::with_capacity(ran.len());
    let mut left: Vec<Option<Ran>> = Vec::with_capacity(ran.len());
    for ran in ran {
        match ran {
            Ok(ran) => {
                verdicts.push(None);
                left.push(Some(ran));
            }
            Err(verdict) => {
                verdicts.push(Some(verdict));
                left.push(None);
            }
        }
    }
    let mut announced = Vec::new();
    let mut ids = UlidGenerator::new()?;
    let tenants: BTreeSet<&TenantId> = jobs.iter().filter(|job| has_event(job)).map(Job::tenant).collect();
    for tenant in tenants {
        let Some(locked) = head::lock(connection, tenant)? else {
            // Only records can be left: work for an unknown tenant was refused when it ran.
            for (index, _) in jobs.iter().enumerate().filter(|(_, job)| job.tenant() == tenant) {
                left[index] = None;
                verdicts[index].get_or_insert_with(|| Verdict::Refused(head::unknown_tenant()));
            }
            continue;
        };
        let mut head = locked.clone();
        let theirs = || jobs.iter().enumerate().filter(|(_, job)| job.tenant() == tenant);
        let mut links = chain::Links::with_room_for(theirs().count());
        let mut changes: Vec<Arc<Change>> = Vec::new();
        for (index, job) in theirs() {
            let verdict = match (job, left[index].take()) {
                (Job::Record(record), Some(Ran::Record { errand })) => {
                    let mut stale = None;
                    for (number, basis) in record.answer.bases().iter().enumerate() {
                        if !still_holds(connection, mirror, tenant, basis, locked.version, &changes, now)? {
                            stale = Some(number);
                            break;
                        }
                    }
                    match stale {
                        // Touched between the errand and the head, by another process. All of it again, without the errand.
                        Some(_) if errand => {
                            set_busy(connection, true);
                            return Err(Error::internal("an answer became stale behind its errand"));
                        }
                        Some(number) => Verdict::Stale(number),
                        None => {
                            let receipt = match &record.answer {
                                Answer::Waits { .. } => {
                                    links.add(&mut head, &ids.next_ulid(), tenant, &record.event, now)?
                                }
                                Answer::Given { ulid, at } => {
                                    links.add(&mut head, ulid, tenant, &record.event, *at)?
                                }
                            };
                            Verdict::Done(Some(receipt))
                        }
                    }
                }
                (Job::Work(work), Some(Ran::Work(done))) => {
                    let told = match work.telling() {
                        Telling::Nothing => {
                            verdicts[index] = Some(Verdict::Done(None));
                            continue;
                        }
                        Telling::One(event) => {
                            let mut event = EventDraft::clone(event);
                            event.outputs.extend(done.outputs);
                            vec![event]
                        }
                        Telling::Itself => done.told,
                    };
                    if connection.backend() == Backend::Postgres
                        && let Some(proof) = work.proof()
                        && !still_holds(connection, mirror, tenant, proof, locked.version, &changes, now)?
                    {
                        // Withdrawn while the work ran. On PostgreSQL a job is alone in its transaction.
                        return Err(credential_changed());
                    }
                    if !done.tags.is_empty() {
                        head.version = Version(head.version.0 + 1);
                        let made = Change { version: head.version, tags: done.tags };
                        change::insert(connection, tenant, &made, now)?;
                        changes.push(Arc::new(made));
                    }
                    let mut last = None;
                    for event in told {
                        let event = event.succeeded().output("version", head.version.0);
                        last = Some(links.add(&mut head, &ids.next_ulid(), tenant, &event, now)?);
                    }
                    Verdict::Done(last)
                }
                // Refused already.
                _ => continue,
            };
            verdicts[index] = Some(verdict);
        }
        if head != locked {
            links.store(connection, tenant, &head, now)?;
            head::advance(connection, tenant, &head)?;
        }
        if !changes.is_empty() {
            catch_up(connection, mirror, tenant, locked.version)?;
            announced.push((tenant.clone(), locked.version, head.version, changes));
        }
    }
    let verdicts = verdicts.into_iter().map(|verdict| verdict.unwrap_or(Verdict::Done(None))).collect();
    Ok((verdicts, announced))
}

fn has_event(job: &Job) -> bool {
    match job {
        Job::Record(_) => true,
        Job::Work(work) => !matches!(work.telling(), Telling::Nothing),
    }
}

/// Whether all that an answer rests on holds now: the version at which it does, or the number of the basis that does not.
pub(crate) fn check(
    connection: &mut Connection,
    mirror: &Mirror,
    tenant: &TenantId,
    bases: &[Arc<ReadSet>],
    now: Timestamp,
) -> Result<Result<Version, usize>> {
    let version = head::version(connection, tenant)?.ok_or_else(head::unknown_tenant)?;
    for (number, basis) in bases.iter().enumerate() {
        if !still_holds(connection, mirror, tenant, basis, version, &[], now)? {
            return Ok(Err(number));
        }
    }
    Ok(Ok(version))
}

/// Whether a basis holds at `version` and after the changes that this group is about to make.
fn still_holds(
    connection: &mut Connection,
    mirror: &Mirror,
    tenant: &TenantId,
    basis: &ReadSet,
    version: Version,
    pending: &[Arc<Change>],
    now: Timestamp,
) -> Result<bool> {
    if basis.version.is_some_and(|of_basis| of_basis < version) {
        catch_up(connection, mirror, tenant, version)?;
    }
    Ok(mirror.holds(tenant, basis, version, pending, now))
}

/// Brings the mirror to `version`, which this transaction has seen committed.
pub(crate) fn catch_up(
    connection: &mut Connection,
    mirror: &Mirror,
    tenant: &TenantId,
    version: Version,
) -> Result<()> {
    // Of a tenant that this process meets for the first time it learns as much as it would remember, so that what was
    // read before a restart of the mirror need not be read again.
    let furthest = Version((version.0 - limits::CHANGES_REMEMBERED as i64).max(0));
    let known = mirror.known_to(tenant).unwrap_or(furthest);
    if known < version {
        let changes = change::since(connection, tenant, known)?;
        mirror.extend(tenant, known, version, &changes);
    }
    Ok(())
}

fn credential_changed() -> Error {
    Error::new(Kind::Credential, "CREDENTIAL_CHANGED", "The credential was withdrawn or changed")
}

#[cfg(test)]
mod tests {
    use quad_core::Tag;

    use super::*;
    use crate::connection::{postgres, sqlite};
    use crate::{Location, testing};

    struct Touch(TenantId, Telling, oneshot::Sender<Result<Option<Receipt>>>);

    impl Work for Touch {
        fn tenant(&self) -> &TenantId {
            &self.0
        }
        fn proof(&self) -> Option<&ReadSet> {
            None
        }
        fn telling(&self) -> &Telling {
            &self.1
        }
        fn run(&mut self, tx: &mut Tx<'_>) -> Result<()> {
            tx.touch(Tag::new("a"));
            Ok(())
        }
        fn finish(self: Box<Self>, outcome: Result<Option<Receipt>>) {
            self.2.send(outcome).unwrap();
        }
    }

    /// Whether a commit on this connection waits for the disk, as the database itself sees it.
    fn waits(connection: &mut Connection) -> bool {
        let (ask, no) = match connection.backend() {
            Backend::Sqlite => ("SELECT CAST(synchronous AS TEXT) FROM pragma_synchronous", "1"),
            Backend::Postgres => ("SHOW synchronous_commit", "off"),
        };
        connection.query(ask, &[]).unwrap()[0].text(0).unwrap() != no
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn only_an_async_group_of_mere_records_does_not_wait_for_the_disk() {
        for place in testing::stores(&[]).await.unwrap() {
            let (location, tenant) = (place.location.clone(), place.tenant.clone());
            let runtime = tokio::runtime::Handle::current();
            let check = move || {
                let mut connection = match &location {
                    Location::Sqlite(file) => Connection::Sqlite(sqlite::Conn::open(file).unwrap()),
                    Location::Postgres(url) => {
                        Connection::Postgres(postgres::Conn::open(url, &runtime).unwrap())
                    }
                };
                let mirror = Mirror::default();
                let event = || EventDraft::system("agent", "test", "tester");
                for (mode, writes, waited) in [
                    (AuditMode::Durable, false, true),
                    (AuditMode::Async, false, false),
                    (AuditMode::Async, true, true),
                    (AuditMode::Async, false, false),
                    (AuditMode::Durable, false, true),
                ] {
                    let (reply, recorded) = oneshot::channel();
                    let (done, written) = oneshot::channel();
                    let answer = Answer::Waits { bases: ReadSets::new(), reply };
                    let record = Record { tenant: tenant.clone(), event: event(), errand: None, answer };
                    let mut jobs = vec![Job::Record(Box::new(record))];
                    if writes {
                        jobs.push(Job::Work(Box::new(Touch(
                            tenant.clone(),
                            Telling::One(Box::new(event())),
                            done,
                        ))));
                    }
                    assert!(run(&mut connection, &mirror, mode, jobs).undone.is_empty());
                    recorded.blocking_recv().unwrap().unwrap();
                    if writes {
                        written.blocking_recv().unwrap().unwrap();
                    }
                    assert_eq!(waits(&mut connection), waited, "{mode:?}, writes: {writes}");
                }
            };
            tokio::task::spawn_blocking(check).await.unwrap();
        }
    }
}
