//! An endpoint: a view of the schemes, as one path or one stdio session offers it. It also audits rejected messages.

use std::sync::Arc;

use quad_core::event::truncate_for_audit;
use quad_core::resolver::View;
use quad_core::text::truncate;
use quad_core::{BoxFuture, EventDraft, Principal, Resolver};
use serde_json::value::RawValue;

use crate::envelope::raw_str;
use crate::params::Params;
use crate::server_state::ServerState;
use crate::{Era, RpcError, ToolNames, limits};

/// One address that clients talk to: which schemes it shows and which tools it lists.
#[derive(Clone)]
pub struct Endpoint {
    pub(crate) server: Arc<ServerState>,
    pub(crate) view: View,
    pub(crate) all_tools: bool,
    pub(crate) tool_names: ToolNames,
}

impl Endpoint {
    /// An endpoint for a view. `all_tools`: whether `tools/list` shows every tool, not only the core ones.
    pub fn new(server: Arc<ServerState>, view: View, all_tools: bool) -> Endpoint {
        Endpoint { server, view, all_tools, tool_names: ToolNames::default() }
    }

    /// Publishes tools under these names.
    pub fn with_tool_names(self, tool_names: ToolNames) -> Endpoint {
        Endpoint { tool_names, ..self }
    }

    /// The state that all endpoints share.
    pub fn server(&self) -> &Arc<ServerState> {
        &self.server
    }

    pub(crate) fn resolver(&self) -> &Resolver {
        &self.server.resolver
    }

    /// Records in the audit log that a message of `caller` was rejected, unless the resolver has recorded it already.
    /// If that fails, the caller gets the failure instead: an unrecorded rejection would be a gap in the log.
    ///
    /// `method` is the method as the message spells it; the event repeats `params.uri`. The future is boxed so that
    /// the successful path does not carry its size.
    pub(crate) fn audit_error<'a>(
        &'a self,
        caller: &'a Principal,
        method: &'a str,
        params: Option<&'a RawValue>,
        rpc_error: RpcError,
    ) -> BoxFuture<'a, RpcError> {
        Box::pin(async move {
            let RpcError { code, status, error } = rpc_error;
            if !error.needs_audit_event() {
                return RpcError { code, status, error };
            }
            let method = truncate(method, limits::METHOD_CHARS_MAX);
            let mut event = EventDraft::call_with_raw_method(caller, &method);
            let uri = Params::read(params).ok().and_then(|params| raw_str(params.uri?));
            if let Some(uri) = uri {
                event = event.input("uri", truncate_for_audit(&uri));
            }
            let error = self.resolver().record_refusal(caller, event, error).await;
            if error.is_recorded() {
                RpcError { code, status, error }
            } else {
                RpcError::from_error(error, Era::Legacy)
            }
        })
    }
}
