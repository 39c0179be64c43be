//! Test support: an endpoint without schemes.

use std::sync::Arc;

use quad_core::resolver::View;
use quad_core::{
    AppendError, AuditLog, Change, ChangeFeed, EventDraft, Principal, ReadSet, Receipt, Resolver, Result,
    TenantId, Version,
};
use tokio::sync::broadcast;

use crate::{Endpoint, ServerOptions, ServerState};

/// An audit log that accepts every event and a change feed without changes.
struct Stub(broadcast::Sender<Arc<Change>>);

#[async_trait::async_trait]
impl AuditLog for Stub {
    async fn append(
        &self,
        _: &TenantId,
        _: EventDraft,
        _: Vec<Arc<ReadSet>>,
    ) -> Result<Receipt, AppendError> {
        Ok(Receipt { version: Version(1), sequence: Some(1), event_id: "evt_1".into() })
    }
}

#[async_trait::async_trait]
impl ChangeFeed for Stub {
    async fn subscribe(&self, _: &TenantId) -> Result<broadcast::Receiver<Arc<Change>>> {
        Ok(self.0.subscribe())
    }
}

/// An endpoint without schemes, and a caller without scopes.
pub(crate) fn empty_endpoint() -> (Endpoint, Principal) {
    let stub = Arc::new(Stub(broadcast::Sender::new(1)));
    let resolver = Arc::new(Resolver::new(Vec::new(), stub.clone(), stub).unwrap());
    let server = ServerState::new(ServerOptions { resolver, sessions: None, name: "test", version: "0" });
    (Endpoint::new(server, View::All, false), Principal::local_agent(TenantId::new("t"), []))
}
