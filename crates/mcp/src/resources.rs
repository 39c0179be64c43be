//! `resources/list`, `resources/templates/list`, `resources/read`.

use quad_core::{EventDraft, Result};
use serde_json::Value;

use crate::dispatch::RequestContext;
use crate::params::{self, Meta};
use crate::response_writer::{self, CacheHint, ResponseWriter};

/// Answers `resources/list`.
pub(crate) async fn list(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    let cursor = params::optional_str(context.params.cursor, "cursor")?;
    let endpoint = context.endpoint;
    let page = endpoint.resolver().list(context.caller, endpoint.view, cursor.as_deref()).await?;
    let entries: Vec<Value> = page.entries.iter().map(|entry| entry.to_json()).collect();
    let reply = ResponseWriter::new(context.id, 200 * entries.len())
        .field("resources", &entries)?
        .optional_field("nextCursor", page.next_cursor.as_ref())?;
    Ok(reply.finish(&endpoint.server, context.revision, Some(CacheHint::NEVER)))
}

/// Answers `resources/templates/list`.
pub(crate) async fn templates(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    params::reject_cursor(context.params.cursor)?;
    let endpoint = context.endpoint;
    endpoint
        .resolver()
        .record_success(context.caller, EventDraft::call(context.caller, "resources/templates/list"))
        .await?;
    let entries: Vec<Value> =
        endpoint.resolver().templates(endpoint.view).map(|route| route.to_json()).collect();
    let reply = ResponseWriter::new(context.id, 300 * entries.len()).field("resourceTemplates", &entries)?;
    Ok(reply.finish(&endpoint.server, context.revision, Some(CacheHint::TEMPLATES)))
}

/// Answers `resources/read`: the cached bytes, copied once into the response.
pub(crate) async fn read(context: &RequestContext<'_>) -> Result<Vec<u8>> {
    let uri = params::required_str(context.params.uri, "uri")?;
    let endpoint = context.endpoint;
    let meta = context.params.meta.as_ref();
    let cached_hash = meta.map(Meta::if_none_match).transpose()?.flatten();
    let answer = endpoint.resolver().read(context.caller, endpoint.view, &uri).await?;
    let read = &answer.read;
    // Present: `required_str` has read it. The response repeats the URI as the caller spelled it.
    let Some(raw_uri) = context.params.uri else {
        return Err(quad_core::Error::bad_input("params.uri is missing"));
    };
    let capacity = read.contents_json_len(raw_uri.get().len());
    let hint = if read.immutable { CacheHint::IMMUTABLE } else { CacheHint::NEVER };
    let receipt = response_writer::receipt_json(read, &answer.receipt);
    let receipt = (response_writer::RECEIPT_KEY, receipt.as_str());
    // Audited like any read: the caller learns that the contents have not changed.
    if read.cacheable && cached_hash.as_deref() == Some(&*read.content_hash) {
        let reply = ResponseWriter::new(context.id, 0).field("contents", &[(); 0])?;
        let entries = [receipt, (response_writer::NOT_MODIFIED_KEY, "true")];
        return Ok(reply.finish_with_meta(&endpoint.server, context.revision, Some(hint), &entries));
    }
    let reply = ResponseWriter::new(context.id, capacity).contents(raw_uri, read);
    Ok(reply.finish_with_meta(&endpoint.server, context.revision, Some(hint), &[receipt]))
}
