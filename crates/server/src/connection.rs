//! Connections: accepts them, serves their requests, closes idle ones, and drains them at shutdown.
//!
//! One timer per connection. Deadlines are checked whenever the connection is polled, and it is polled at least once
//! per tick. A timer for each request, body and head would be set and cancelled thousands of times a second and almost
//! never fire.

use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use quad_core::BoxFuture;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::admission::{Admission, OpenConnection, OpenConnections};
use crate::credential_cache::ConnectionCredentialCache;
use crate::limits::{self, Timeouts};
use crate::metrics::ConnectionMetrics;
use crate::request;
use crate::server::Server;

/// Serves every connection until `shutdown` is done. Then no connection is accepted, `close` ends the streams, which
/// would never end by themselves, and running requests get [`limits::SHUTDOWN_TIMEOUT`] to finish.
pub(crate) async fn serve(
    listener: TcpListener,
    server: Arc<Server>,
    router: Router,
    shutdown: impl Future<Output = ()>,
    close: impl FnOnce(),
) {
    let mut shutdown = pin!(shutdown);
    let closing = watch::Sender::new(false);
    let mut connections = JoinSet::new();
    let mut open_connections = OpenConnections::default();
    let mut room_log = RoomLog::default();
    let metrics = server.metrics.connections.clone();
    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            // Before new ones, so that connections that have ended do not count.
            Some(ended) = connections.join_next_with_id() => {
                open_connections.remove(ended.map_or_else(|error| error.id(), |(id, ())| id));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, peer)) => {
                    let (admission, has_evicted) = open_connections.admit(peer.ip());
                    room_log.record(admission, has_evicted, &metrics);
                    if admission == Admission::Refused {
                        continue;
                    }
                    let service =
                        ConnectionService::new(server.clone(), router.clone(), peer, admission);
                    let (idle_tracker, is_known) = (service.0.idle_tracker.clone(), service.0.is_known.clone());
                    let abort = connections.spawn(serve_connection(stream, service, closing.subscribe()));
                    let open = OpenConnection { address: peer.ip(), idle_tracker, is_known, abort };
                    open_connections.insert(open.abort.id(), open);
                }
                Err(error) => {
                    tracing::warn!(%error, "connection not accepted");
                    sleep(limits::ACCEPT_BACKOFF).await;
                }
            },
        }
        metrics.open.set(i64::try_from(open_connections.len()).unwrap_or(i64::MAX));
    }
    drop(listener);
    close();
    closing.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits::SHUTDOWN_TIMEOUT, drained).await.is_err() {
        tracing::warn!(open = connections.len(), "connections were still open when the server stopped");
    }
}

/// Logs that connections had to make room, at most once in [`limits::ROOM_LOG_INTERVAL`].
#[derive(Default)]
struct RoomLog {
    last: Option<Instant>,
}

impl RoomLog {
    fn record(&mut self, admission: Admission, has_evicted: bool, metrics: &ConnectionMetrics) {
        if has_evicted {
            metrics.evicted.inc();
        } else if admission == Admission::Full {
            return;
        } else {
            metrics.refused.inc();
        }
        if self.last.is_none_or(|last| last.elapsed() >= limits::ROOM_LOG_INTERVAL) {
            self.last = Some(Instant::now());
            let (evicted, refused) = (metrics.evicted.get(), metrics.refused.get());
            tracing::warn!(evicted, refused, "too many connections; the oldest idle ones are closed");
        }
    }
}

async fn serve_connection(stream: TcpStream, service: ConnectionService, mut closing: watch::Receiver<bool>) {
    // A reply is one or a few small writes. With Nagle's algorithm each would wait for the client's acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY not set");
    }
    let state = service.0.clone();
    let timeouts = state.server.timeouts;
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let interval = tick_interval(&timeouts);
    let mut tick = pin!(sleep(interval));
    let is_closing = closing.clone();
    let mut closed = pin!(closing.changed());
    let (mut tick_registered, mut close_registered, mut closing_sent) = (false, false, false);
    // Not `select!`: that polls every future on each wake-up, and nearly always only the connection is ready. The timer
    // and the shutdown signal are polled once, to register this task, and then only when they can be ready.
    let serving = poll_fn(move |context| {
        loop {
            if let Poll::Ready(result) = connection.as_mut().poll(context) {
                if let Err(error) = result {
                    tracing::debug!(%error, "connection failed");
                }
                return Poll::Ready(());
            }
            if !closing_sent && (!close_registered || is_closing.has_changed().unwrap_or(true)) {
                close_registered = true;
                if closed.as_mut().poll(context).is_ready() {
                    closing_sent = true;
                    connection.as_mut().graceful_shutdown();
                    continue;
                }
            }
            if tick_registered && !tick.is_elapsed() {
                return Poll::Pending;
            }
            tick_registered = tick.as_mut().poll(context).is_pending();
            if tick_registered {
                return Poll::Pending;
            }
            tick.as_mut().reset(tokio::time::Instant::now() + interval);
            if state.idle_tracker.idle_for() >= timeouts.headers {
                return Poll::Ready(());
            }
            // The connection is polled again, and with it the deadlines of its request.
        }
    });
    serving.await;
}

/// The hyper service of one connection.
struct ConnectionService(Arc<ConnectionState>);

/// The state of one connection. Each connection has its own `Arc`: a reference count that all connections shared would
/// move between processor caches with every request.
pub(crate) struct ConnectionState {
    pub(crate) server: Arc<Server>,
    pub(crate) router: Router,
    pub(crate) peer: PeerAddress,
    pub(crate) admission: Admission,
    pub(crate) credential_cache: ConnectionCredentialCache,
    idle_tracker: IdleTracker,
    /// Whether a request on this connection had an accepted credential. See [`crate::admission`].
    is_known: Arc<AtomicBool>,
}

/// The address of the other end of a connection: a client or a proxy.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PeerAddress(pub(crate) SocketAddr);

impl ConnectionService {
    fn new(server: Arc<Server>, router: Router, peer: SocketAddr, admission: Admission) -> ConnectionService {
        ConnectionService(Arc::new(ConnectionState {
            server,
            router,
            peer: PeerAddress(peer),
            admission,
            credential_cache: ConnectionCredentialCache::default(),
            idle_tracker: IdleTracker::new(),
            is_known: Arc::default(),
        }))
    }
}

impl ConnectionState {
    /// A request on this connection had an accepted credential.
    pub(crate) fn mark_known(&self) {
        if !self.is_known.load(Ordering::Relaxed) {
            self.is_known.store(true, Ordering::Relaxed);
        }
    }
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = http::Response<TrackedBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = self.0.clone();
        Box::pin(async move {
            let in_flight = connection.idle_tracker.start_request();
            let response = request::handle(&connection, request).await;
            Ok(response.map(|body| TrackedBody { body, _in_flight: in_flight }))
        })
    }
}

/// The body of a reply. Its connection is not idle until the body has been sent and dropped.
struct TrackedBody {
    body: Body,
    _in_flight: InFlightGuard,
}

impl http_body::Body for TrackedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// How often a connection checks its deadlines: a quarter of the shortest timeout, within fixed bounds.
fn tick_interval(timeouts: &Timeouts) -> Duration {
    let shortest = timeouts.headers.min(timeouts.body).min(timeouts.request);
    (shortest / 4).clamp(limits::TICK_MIN, limits::TICK_MAX)
}

/// Whether a connection has a request in flight, or since when it has been idle.
#[derive(Clone, Debug)]
pub(crate) struct IdleTracker(Arc<IdleState>);

#[derive(Debug)]
struct IdleState {
    opened: Instant,
    /// Milliseconds from `opened` to the end of the last reply; [`IN_FLIGHT`] while a request is in flight.
    idle_since_ms: AtomicU64,
}

const IN_FLIGHT: u64 = u64::MAX;

impl IdleTracker {
    /// The tracker of a new connection, which is idle.
    pub(crate) fn new() -> IdleTracker {
        IdleTracker(Arc::new(IdleState { opened: Instant::now(), idle_since_ms: AtomicU64::new(0) }))
    }

    /// Marks a request as in flight until the guard is dropped.
    pub(crate) fn start_request(&self) -> InFlightGuard {
        self.0.idle_since_ms.store(IN_FLIGHT, Ordering::Relaxed);
        InFlightGuard(self.0.clone())
    }

    /// How long the connection has been idle; `None` while a request is in flight.
    pub(crate) fn idle_time(&self) -> Option<Duration> {
        (self.0.idle_since_ms.load(Ordering::Relaxed) != IN_FLIGHT).then(|| self.idle_for())
    }

    /// How long the connection has been idle; zero while a request is in flight.
    fn idle_for(&self) -> Duration {
        match self.0.idle_since_ms.load(Ordering::Relaxed) {
            IN_FLIGHT => Duration::ZERO,
            since => self.0.opened.elapsed().saturating_sub(Duration::from_millis(since)),
        }
    }
}

/// A request in flight, until the last byte of its reply.
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
