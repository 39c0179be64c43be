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

use crate::clock::{self, Idleness};
use crate::entry::Entry;
use crate::limits::{self, TimeLimits};

/// Serves every connection until `shutdown` is done. Then no more are taken, `close` ends what would never end by itself,
/// and the rest has a moment to finish.
pub(crate) async fn run(
    listener: TcpListener,
    entry: Entry,
    times: TimeLimits,
    shutdown: impl Future<Output = ()>,
    close: impl FnOnce(),
) {
    let mut shutdown = pin!(shutdown);
    let closing = watch::Sender::new(false);
    let places = Arc::new(Semaphore::new(limits::CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let accepted = async {
            let place = places.clone().acquire_owned().await.ok();
            (place, listener.accept().await)
        };
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            (place, accepted) = accepted => match accepted {
                Ok((stream, _)) => {
                    let serving = serve(stream, &entry, times, closing.subscribe());
                    connections.spawn(async move {
                        serving.await;
                        drop(place);
                    });
                }
                Err(error) => {
                    tracing::warn!(%error, "a connection could not be accepted");
                    tokio::time::sleep(limits::ACCEPT_PAUSE).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    }
    drop(listener);
    close();
    closing.send_replace(true);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits::DRAIN_TIME, drained).await.is_err() {
        tracing::warn!(left = connections.len(), "connections were still open when the server stopped");
    }
}

fn serve(
    stream: TcpStream,
    entry: &Entry,
    times: TimeLimits,
    closing: watch::Receiver<bool>,
) -> impl Future<Output = ()> + use<> {
    let (entry, idleness) = entry.for_connection();
    serve_through(stream, entry, idleness, times, closing)
}

async fn serve_through(
    stream: TcpStream,
    entry: Entry,
    idleness: Idleness,
    times: TimeLimits,
    mut closing: watch::Receiver<bool>,
) {
    // A reply is one or a few small writes; with Nagle's algorithm each would wait for the other side's acknowledgement.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "TCP_NODELAY could not be set");
    }
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), entry);
    let mut connection = pin!(connection);
    let every = clock::tick(&times);
    let mut tick = pin!(sleep(every));
    let is_closing = closing.clone();
    let mut closed = pin!(closing.changed());
    let (mut waits_for_tick, mut waits_for_close, mut asked_to_close) = (false, false, false);
    // By hand, since `select!` asks everything whenever anything has come, and nearly always that is a request. What was asked
    // once wakes this task when there is something.
    let serving = poll_fn(move |context| {
        loop {
            if let Poll::Ready(ended) = connection.as_mut().poll(context) {
                if let Err(error) = ended {
                    tracing::debug!(%error, "a connection broke");
                }
                return Poll::Ready(());
            }
            if !asked_to_close && (!waits_for_close || is_closing.has_changed().unwrap_or(true)) {
                waits_for_close = true;
                if closed.as_mut().poll(context).is_ready() {
                    asked_to_close = true;
                    connection.as_mut().graceful_shutdown();
                    continue;
                }
            }
            if waits_for_tick && !tick.is_elapsed() {
                return Poll::Pending;
            }
            waits_for_tick = tick.as_mut().poll(context).is_pending();
            if waits_for_tick {
                return Poll::Pending;
            }
            tick.as_mut().reset(Instant::now() + every);
            if idleness.lasts() >= times.headers {
                return Poll::Ready(());
            }
            // The connection is polled once more, and with it whatever it waits for and may be late.
        }
    });
    serving.await;
}
