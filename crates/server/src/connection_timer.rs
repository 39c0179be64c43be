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

use crate::limits::{self, Timeouts};

/// How often a connection looks up: often enough for its shortest limit, and not more often than a second otherwise.
pub(crate) fn tick_interval(timeouts: &Timeouts) -> Duration {
    let shortest = timeouts.headers.min(timeouts.body).min(timeouts.request);
    (shortest / 4).clamp(limits::TICK_MIN, limits::TICK_MAX)
}

/// What `work` gives, or nothing if it is not done by then. Must run inside a connection, whose ticks it relies on.
pub(crate) async fn with_deadline<T>(deadline: Instant, future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context: &mut Context<'_>| match future.as_mut().poll(context) {
        Poll::Ready(output) => Poll::Ready(Some(output)),
        Poll::Pending if Instant::now() >= deadline => Poll::Ready(None),
        Poll::Pending => Poll::Pending,
    })
    .await
}

/// Whether a connection is at work, or since when it has had nothing to do.
#[derive(Clone, Debug)]
pub(crate) struct IdleTracker(Arc<IdleState>);

#[derive(Debug)]
struct IdleState {
    opened: Instant,
    /// Milliseconds from the opening to the end of the last reply; [`IN_FLIGHT`] while there is no such thing.
    idle_since_ms: AtomicU64,
}

const IN_FLIGHT: u64 = u64::MAX;

impl IdleTracker {
    /// A connection that was just opened and has sent nothing yet.
    pub(crate) fn new() -> IdleTracker {
        IdleTracker(Arc::new(IdleState { opened: Instant::now(), idle_since_ms: AtomicU64::new(0) }))
    }

    /// A request has come; the connection is at work until the result is dropped.
    pub(crate) fn start_request(&self) -> InFlightGuard {
        self.0.idle_since_ms.store(IN_FLIGHT, Ordering::Relaxed);
        InFlightGuard(self.0.clone())
    }

    /// How long there has been nothing to do.
    pub(crate) fn idle_for(&self) -> Duration {
        match self.0.idle_since_ms.load(Ordering::Relaxed) {
            IN_FLIGHT => Duration::ZERO,
            since => self.0.opened.elapsed().saturating_sub(Duration::from_millis(since)),
        }
    }
}

/// A request being answered, to the last byte of the reply.
#[derive(Debug)]
pub(crate) struct InFlightGuard(Arc<IdleState>);

impl Drop for InFlightGuard {
    fn drop(&mut self) {
        let now = u64::try_from(self.0.opened.elapsed().as_millis()).unwrap_or(IN_FLIGHT - 1);
        self.0.idle_since_ms.store(now, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_time_is_zero_while_request_is_in_flight() {
        let tracker = IdleTracker::new();
        let in_flight = tracker.start_request();
        std::thread::sleep(Duration::from_millis(5));
        assert_eq!(tracker.idle_for(), Duration::ZERO);
        drop(in_flight);
        std::thread::sleep(Duration::from_millis(5));
        assert!(tracker.idle_for() > Duration::ZERO);
    }

    #[test]
    fn tick_interval_follows_shortest_timeout() {
        assert_eq!(tick_interval(&Timeouts::default()), limits::TICK_MAX);
        let short = Timeouts { body: Duration::from_millis(200), ..Timeouts::default() };
        assert_eq!(tick_interval(&short), Duration::from_millis(50));
    }
}
