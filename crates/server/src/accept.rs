//! Accepts connections, and lets go of them when the server stops.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use crate::connection::ConnectionService;
use crate::connection_timer::{self, IdleTracker};
use crate::limits::{self, Timeouts};

/// Serves every connection until `shutdown` is done. Then no more are taken, `close` ends what would never end by itself,
/// and the rest has a moment to finish.
pub(crate) async fn run(
    listener: TcpListener,
    service: ConnectionService,
    timeouts: Timeouts,
    shutdown: impl Future<Output = ()>,
    close: impl FnOnce(),
) {
    let mut shutdown = pin!(shutdown);
    let closing = watch::Sender::new(false);
    let connection_permits = Arc::new(Semaphore::new(limits::CONNECTIONS_MAX));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let permit = connection_permits.clone().acquire_owned().await.ok();
            (permit, listener.accept().await)
        };
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            (permit, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let connection = serve_stream(stream, &service, timeouts, closing.subscribe());
                    connections.spawn(async move {
                        connection.await;
                        drop(permit);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(limits::ACCEPT_BACKOFF).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    close();
    closing.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits::SHUTDOWN_TIMEOUT, drained).await.is_err() {
        tracing::warn!(left = connections.len(), "connections were still open when the server stopped");
    }
}

fn serve_stream(
    stream: TcpStream,
    service: &ConnectionService,
    timeouts: Timeouts,
    closing: watch::Receiver<bool>,
) -> impl Future<Output = ()> + use<> {
    let (service, idle_tracker) = service.new_connection();
    serve_connection(stream, service, idle_tracker, timeouts, closing)
}

async fn serve_connection(
    stream: TcpStream,
    service: ConnectionService,
    idle_tracker: IdleTracker,
    timeouts: Timeouts,
    mut closing: watch::Receiver<bool>,
) {
    // A reply is one or a few small writes; with Nagle's algorithm each would wait for the other side's acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    let interval = connection_timer::tick_interval(&timeouts);
    let mut tick = pin!(sleep(interval));
    let is_closing = closing.clone();
    let mut closed = pin!(closing.changed());
    let (mut tick_registered, mut close_registered, mut closing_sent) = (false, false, false);
    // By hand, since `select!` asks everything whenever anything has come, and nearly always that is a request. What was asked
    // once wakes this task when there is something.
    let serving = poll_fn(move |context| {
        loop {
            if let Poll::Ready(result) = connection.as_mut().poll(context) {
                if let Err(error) = result {
                    tracing::debug!(%error, "a connection broke");
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
            tick.as_mut().reset(Instant::now() + interval);
            if idle_tracker.idle_for() >= timeouts.headers {
                return Poll::Ready(());
            }
            // The connection is polled once more, and with it whatever it waits for and may be late.
        }
    });
    serving.await;
}
