//! Where a request comes in: named, timed and checked, then to the protocol's endpoint directly, or by the router to
//! everything else.
//!
//! Nearly every request is a POST to `/mcp`. A router of boxed services would cost it more than the answer itself.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::Router;
use axum::body::Body;
use bytes::Bytes;
use http::Request;
use http_body::{Frame, SizeHint};
use hyper::body::Incoming;
use quad_core::BoxFuture;
use tower_service::Service as _;

use crate::connection_timer::{IdleTracker, InFlightGuard};
use crate::credential_cache::ConnectionCredentialCache;
use crate::http::{self as http_server, Server};
use crate::mcp;

/// The way in, as one connection has it.
pub(crate) struct ConnectionService(Arc<ConnectionState>);

/// What belongs to a connection. It has its own share of everything: a count that all connections keep together would go from
/// processor to processor with every request.
struct ConnectionState {
    server: Arc<Server>,
    router: Router,
    idle_tracker: IdleTracker,
    credential_cache: ConnectionCredentialCache,
}

impl ConnectionService {
    /// A way in to these routes, for a connection that is opened now.
    pub(crate) fn new(server: Arc<Server>, router: Router) -> ConnectionService {
        let (idle_tracker, credential_cache) = (IdleTracker::new(), ConnectionCredentialCache::default());
        ConnectionService(Arc::new(ConnectionState { server, router, idle_tracker, credential_cache }))
    }

    /// The same for another connection, with a look at its clock.
    pub(crate) fn new_connection(&self) -> (ConnectionService, IdleTracker) {
        let service = ConnectionService::new(self.0.server.clone(), self.0.router.clone());
        let idle_tracker = service.0.idle_tracker.clone();
        (service, idle_tracker)
    }
}

impl hyper::service::Service<Request<Incoming>> for ConnectionService {
    type Response = http::Response<TrackedBody>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = self.0.clone();
        if request.uri().path() == mcp::MCP_PATH {
            return Box::pin(async move {
                let in_flight = connection.idle_tracker.start_request();
                let server = &connection.server;
                let handler = |request, started| {
                    mcp::handle_all(server, &connection.credential_cache, request, started)
                };
                let response = http_server::handle_request(server, request, handler).await;
                Ok(response.map(|body| TrackedBody { body, _in_flight: in_flight }))
            });
        }
        Box::pin(async move {
            let in_flight = connection.idle_tracker.start_request();
            let mut router = connection.router.clone();
            let handler = |request: Request<Incoming>, _| async move {
                match router.call(request.map(Body::new)).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            };
            let response = http_server::handle_request(&connection.server, request, handler).await;
            Ok(response.map(|body| TrackedBody { body, _in_flight: in_flight }))
        })
    }
}

/// The body of a reply. Its connection is at work until it is gone.
pub(crate) struct TrackedBody {
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
