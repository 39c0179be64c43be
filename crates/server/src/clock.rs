//! The clock of a connection: what is late is noticed when the connection looks up, and it looks up at least once a tick.
//!
//! A timer for each request, each body and each head would be armed and taken back thousands of times a second and ring
//! never. A connection has one that rings once a tick, and what waits in it compares two numbers.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::limits::{self, TimeLimits};

/// How often a connection looks up: often enough for its shortest limit, and not more often than a second otherwise.
pub(crate) fn tick(times: &TimeLimits) -> Duration {
    let shortest = times.headers.min(times.body).min(times.request);
    (shortest / 4).clamp(limits::TICK_SHORTEST, limits::TICK_LONGEST)
}

/// What `work` gives, or nothing if it is not done by then. Must run inside a connection, whose ticks it relies on.
pub(crate) async fn until<T>(deadline: Instant, work: impl Future<Output = T>) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|context: &mut Context<'_>| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending if Instant::now() >= deadline => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Whether a connection is at work, or since when it has had nothing to do.
#[derive(Clone, Debug)]
pub(crate) struct Idleness(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    opened: Instant,
    /// Milliseconds from the opening to the end of the last reply; [`AT_WORK`] while there is no such thing.
    since: AtomicU64,
}

const AT_WORK: u64 = u64::MAX;

impl Idleness {
    /// A connection that was just opened and has sent nothing yet.
    pub(crate) fn new() -> Idleness {
        Idleness(Arc::new(Shared { opened: Instant::now(), since: AtomicU64::new(0) }))
    }

    /// A request has come; the connection is at work until the result is dropped.
    pub(crate) fn work(&self) -> Work {
        self.0.since.store(AT_WORK, Ordering::Relaxed);
        Work(self.0.clone())
    }

    /// How long there has been nothing to do.
    pub(crate) fn lasts(&self) -> Duration {
        match self.0.since.load(Ordering::Relaxed) {
            AT_WORK => Duration::ZERO,
            since => self.0.opened.elapsed().saturating_sub(Duration::from_millis(since)),
        }
    }
}

/// A request being answered, to the last byte of the reply.
#[derive(Debug)]
pub(crate) struct Work(Arc<Shared>);

impl Drop for Work {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(AT_WORK - 1);
        self.0.since.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_idle_while_at_work() {
        let idleness = Idleness::new();
        let work = idleness.work();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(idleness.lasts(), Duration::ZERO);
        drop(work);
        std::thread::sleep(Duration::from_millis(5));
        assert!(idleness.lasts() > Duration::ZERO);
    }

    #[test]
    fn the_tick_fits_the_shortest_limit() {
        assert_eq!(tick(&TimeLimits::default()), limits::TICK_LONGEST);
        let brief = TimeLimits { body: Duration::from_millis(200), ..TimeLimits::default() };
        assert_eq!(tick(&brief), Duration::from_millis(50));
    }
}
