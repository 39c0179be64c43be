//! `tools/list`.

use quad_core::{EventDraft, Result};
use serde_json::Value;

use crate::dispatch::RequestContext;
use crate::params;
use crate::response_writer::{CacheHint, ResponseWriter};

/// Answers `tools/list`.
pub(crate) async fn list(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    params::reject_cursor(context.params.cursor)?;
    let endpoint = context.endpoint;
    endpoint
        .resolver()
        .record_success(context.caller, EventDraft::call(context.caller, "tools/list"))
        .await?;
    let tools = endpoint.resolver().tools(context.caller, endpoint.view, endpoint.all_tools);
    let entries: Vec<Value> = tools
        .map(|tool| {
            let mut entry = tool.to_json();
            // These revisions have no structured results, and a client would wait for what the schema promises.
            if let (false, Some(entry)) = (context.revision.has_structured_results(), entry.as_object_mut()) {
                entry.remove("outputSchema");
            }
            endpoint.tool_names.rewrite_value(endpoint.resolver(), &mut entry);
            entry
        })
        .collect();
    let reply = ResponseWriter::new(context.id, 1_024 * entries.len()).field("tools", &entries)?;
    Ok(reply.finish(&endpoint.server, context.revision, Some(CacheHint::NEVER)))
}
