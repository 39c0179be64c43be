//! `/healthz`, `/readyz` and `/metrics`: for operators and load balancers.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Extension, State};
use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, FORWARDED, HeaderName};
use http::{HeaderMap, StatusCode};
use quad_core::{BoxFuture, Error};
use tokio::sync::Mutex;

use crate::auth::RequestAuth;
use crate::connection::PeerAddress;
use crate::metrics::MEDIA_TYPE;
use crate::server::Server;
use crate::{limits, response};

/// Whether the server can write what a call writes. The message of the error is sent to whom asks, so it names no path
/// and no host.
pub type ReadinessCheck = Arc<dyn Fn() -> BoxFuture<'static, Result<(), Error>> + Send + Sync>;

/// Headers that a proxy adds. Behind one, the address of the connection says nothing about the client.
const PROXY_HEADERS: [HeaderName; 3] =
    [FORWARDED, HeaderName::from_static("x-forwarded-for"), HeaderName::from_static("x-real-ip")];

/// `GET /healthz`: the process runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the server can answer calls, since it can write their audit events.
pub(crate) async fn readyz(State(server): State<Arc<Server>>) -> Response {
    match server.readiness.check().await {
        Ok(()) => (StatusCode::OK, "ready\n").into_response(),
        Err(reason) => (StatusCode::SERVICE_UNAVAILABLE, format!("not ready: {reason}\n")).into_response(),
    }
}

/// `GET /metrics`: for clients on this machine, and for callers with a token.
pub(crate) async fn metrics(
    State(server): State<Arc<Server>>,
    Extension(peer): Extension<PeerAddress>,
    headers: HeaderMap,
) -> Response {
    // A public URL means that a proxy is in front, whether it adds headers or not.
    let is_local = server.public_url.is_none()
        && peer.0.ip().to_canonical().is_loopback()
        && !PROXY_HEADERS.iter().any(|name| headers.contains_key(name));
    if !is_local {
        let auth = RequestAuth { server: &server, headers: &headers, cache: None, started: Instant::now() };
        if let Err(response) = auth.authenticate_and_limit().await {
            return *response;
        }
    }
    match server.metrics.render() {
        Ok(metrics) => ([(CONTENT_TYPE, MEDIA_TYPE)], metrics).into_response(),
        Err(error) => {
            response::error_response(StatusCode::INTERNAL_SERVER_ERROR, &Error::internal(error.to_string()))
        }
    }
}

/// Runs the readiness check: one at a time, for a limited time, and not more often than
/// [`limits::READINESS_INTERVAL`], however many ask.
pub(crate) struct Readiness {
    check: ReadinessCheck,
    last: Mutex<Option<(Instant, Result<(), String>)>>,
}

impl Readiness {
    pub(crate) fn new(check: ReadinessCheck) -> Readiness {
        Readiness { check, last: Mutex::new(None) }
    }

    /// The reason, if the server is not ready. The check goes on if its request is cancelled: a client that disconnects
    /// must not leave an unfinished check behind, nor start another one each time.
    pub(crate) async fn check(self: &Arc<Readiness>) -> Result<(), String> {
        let readiness = self.clone();
        let task = tokio::spawn(async move { readiness.check_once().await });
        task.await.unwrap_or_else(|error| Err(format!("the check failed: {error}")))
    }

    async fn check_once(&self) -> Result<(), String> {
        let too_slow = || Err("the check did not end in time".to_owned());
        let deadline = Instant::now() + limits::READINESS_TIMEOUT;
        let locked = tokio::time::timeout_at(deadline.into(), self.last.lock()).await;
        let Ok(mut last) = locked else { return too_slow() };
        if let Some((at, outcome)) = &*last
            && at.elapsed() < limits::READINESS_INTERVAL
        {
            return outcome.clone();
        }
        let outcome = match tokio::time::timeout_at(deadline.into(), (self.check)()).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => {
                tracing::debug!(code = error.code(), cause = error.cause_chain(), "readiness check failed");
                Err(error.message().to_owned())
            }
            Err(_) => too_slow(),
        };
        let was_ready = last.as_ref().is_none_or(|(_, outcome)| outcome.is_ok());
        match &outcome {
            Err(reason) if was_ready => tracing::error!(reason, "not ready"),
            Ok(()) if !was_ready => tracing::info!("ready again"),
            _ => {}
        }
        *last = Some((Instant::now(), outcome.clone()));
        outcome
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn check_goes_on_when_its_request_is_cancelled() {
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = runs.clone();
        let readiness = Arc::new(Readiness::new(Arc::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Box::pin(async {
                tokio::time::sleep(Duration::from_millis(20)).await;
                Ok(())
            })
        })));
        assert!(tokio::time::timeout(Duration::from_millis(1), readiness.check()).await.is_err());
        assert_eq!(readiness.check().await, Ok(()));
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn many_requests_share_one_check() {
        let runs = Arc::new(AtomicUsize::new(0));
        let counter = runs.clone();
        let readiness = Arc::new(Readiness::new(Arc::new(move || {
            counter.fetch_add(1, Ordering::Relaxed);
            Box::pin(async { Err(Error::unavailable("DISK_FULL", "The disk is full")) })
        })));
        let mut tasks = tokio::task::JoinSet::new();
        for _ in 0..100 {
            let readiness = readiness.clone();
            tasks.spawn(async move { readiness.check().await });
        }
        while let Some(outcome) = tasks.join_next().await {
            assert_eq!(outcome.unwrap(), Err("The disk is full".to_owned()));
        }
        assert_eq!(runs.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn check_that_hangs_is_red_in_time() {
        let readiness = Arc::new(Readiness::new(Arc::new(|| Box::pin(std::future::pending()))));
        let started = Instant::now();
        assert!(readiness.check().await.is_err());
        assert!(started.elapsed() < Duration::from_secs(2), "{:?}", started.elapsed());
    }
}
