//! `/healthz`, `/readyz` and `/metrics`: for operators and load balancers.

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::StatusCode;
use http::header::CONTENT_TYPE;

use crate::server::Server;

/// `GET /healthz`: the process runs.
pub(crate) async fn healthz() -> &'static str {
    "ok\n"
}

/// `GET /readyz`: the database answers, so the server can.
pub(crate) async fn readyz(State(server): State<Arc<Server>>) -> Response {
    if (server.ready)().await {
        (StatusCode::OK, "ready\n").into_response()
    } else {
        (StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n").into_response()
    }
}

/// `GET /metrics`.
pub(crate) async fn metrics(State(server): State<Arc<Server>>) -> Response {
    ([(CONTENT_TYPE, "text/plain; version=0.0.4")], server.metrics.render(&server.state)).into_response()
}
