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

use crate::acquaintance::Acquaintance;
use crate::clock::{Idleness, Work};
use crate::http::{self as door, Server};
use crate::mcp;

/// The way in, as one connection has it.
pub(crate) struct Entry(Arc<Connection>);

/// What belongs to a connection. It has its own share of everything: a count that all connections keep together would go from
/// processor to processor with every request.
struct Connection {
    server: Arc<Server>,
    router: Router,
    idleness: Idleness,
    acquaintance: Acquaintance,
}

impl Entry {
    /// A way in to these routes, for a connection that is opened now.
    pub(crate) fn new(server: Arc<Server>, router: Router) -> Entry {
        let (idleness, acquaintance) = (Idleness::new(), Acquaintance::default());
        Entry(Arc::new(Connection { server, router, idleness, acquaintance }))
    }

    /// The same for another connection, with a look at its clock.
    pub(crate) fn for_connection(&self) -> (Entry, Idleness) {
        let entry = Entry::new(self.0.server.clone(), self.0.router.clone());
        let idleness = entry.0.idleness.clone();
        (entry, idleness)
    }
}

impl hyper::service::Service<Request<Incoming>> for Entry {
    type Response = http::Response<Reply>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Self::Response, Infallible>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let connection = self.0.clone();
        if request.uri().path() == mcp::PATH {
            return Box::pin(async move {
                let work = connection.idleness.work();
                let server = &connection.server;
                let all = |request, started| mcp::all(server, &connection.acquaintance, request, started);
                let answer = door::enter(server, request, all).await;
                Ok(answer.map(|body| Reply { body, _work: work }))
            });
        }
        Box::pin(async move {
            let work = connection.idleness.work();
            let mut router = connection.router.clone();
            let route = |request: Request<Incoming>, _| async move {
                match router.call(request.map(Body::new)).await {
                    Ok(response) => response,
                    Err(never) => match never {},
                }
            };
            let answer = door::enter(&connection.server, request, route).await;
            Ok(answer.map(|body| Reply { body, _work: work }))
        })
    }
}

/// The body of a reply. Its connection is at work until it is gone.
pub(crate) struct Reply {
    body: Body,
    _work: Work,
}

impl http_body::Body for Reply {
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
