//! `resources/list`, `resources/templates/list`, `resources/read`.

use quad_core::{EventDraft, Result};
use serde_json::Value;

use crate::dispatch::Exchange;
use crate::params;
use crate::reply::{self, CacheHint, Reply};

/// Answers `resources/list`.
pub(crate) async fn list(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    let cursor = params::optional_text(exchange.params.cursor, "cursor")?;
    let endpoint = exchange.endpoint;
    let page = endpoint.resolver().list(exchange.caller, endpoint.view, cursor.as_deref()).await?;
    let entries: Vec<Value> = page.entries.iter().map(|entry| entry.entry()).collect();
    let reply = Reply::to(exchange.id, 200 * entries.len())
        .field("resources", &entries)?
        .optional("nextCursor", page.next_cursor.as_ref())?;
    Ok(reply.end(&endpoint.hub, exchange.revision, Some(CacheHint::NEVER)))
}

/// Answers `resources/templates/list`.
pub(crate) async fn templates(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    params::no_cursor(exchange.params.cursor)?;
    let endpoint = exchange.endpoint;
    endpoint
        .resolver()
        .note(exchange.caller, EventDraft::call(exchange.caller, "resources/templates/list"))
        .await?;
    let entries: Vec<Value> =
        endpoint.resolver().templates(endpoint.view).map(|route| route.entry()).collect();
    let reply = Reply::to(exchange.id, 300 * entries.len()).field("resourceTemplates", &entries)?;
    Ok(reply.end(&endpoint.hub, exchange.revision, Some(CacheHint::TEMPLATES)))
}

/// Answers `resources/read`: the cached bytes, copied once between the id and the receipt.
pub(crate) async fn read(exchange: &Exchange<'_>) -> Result<Vec<u8>> {
    let uri = params::text(exchange.params.uri, "uri")?;
    let endpoint = exchange.endpoint;
    let meta = exchange.params.meta.as_ref();
    let known = meta.map(crate::meta::Meta::if_none_match).transpose()?.flatten();
    let answer = endpoint.resolver().read(exchange.caller, endpoint.view, &uri).await?;
    let sealed = &answer.sealed;
    // `text` has found a string there, so the raw form is there too.
    let Some(raw_uri) = exchange.params.uri else {
        return Err(quad_core::Error::bad_input("params.uri is missing"));
    };
    let room = sealed.tails.iter().map(|tail| tail.len() + raw_uri.get().len() + 8).sum();
    let hint = if sealed.immutable { CacheHint::IMMUTABLE } else { CacheHint::NEVER };
    let receipt = reply::receipt(sealed, &answer.receipt);
    let receipt = (reply::RECEIPT, receipt.as_str());
    // The audit knows of it as of any other read, since the caller learns that nothing has changed.
    if sealed.cacheable && known.as_deref() == Some(&*sealed.content_hash) {
        let reply = Reply::to(exchange.id, 0).field("contents", &[(); 0])?;
        let entries = [receipt, (reply::NOT_MODIFIED, "true")];
        return Ok(reply.end_with(&endpoint.hub, exchange.revision, Some(hint), &entries));
    }
    let reply = Reply::to(exchange.id, room).contents(raw_uri, sealed);
    Ok(reply.end_with(&endpoint.hub, exchange.revision, Some(hint), &[receipt]))
}
