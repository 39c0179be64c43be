//! `backend_access_token_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{Result, Tool, ToolEntry, ToolOutput};
use serde_json::json;

use super::{Arguments, page_properties, results};
use crate::errors::listing_hint;
use crate::page::Page;
use crate::token::{self, TokenSummary};
use crate::{Bkend, routes};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::TOKEN_READ, ToolEffect::Reads)
    };
    vec![
        ToolEntry::new(
            tool(
                "backend_access_token_list",
                "List access tokens",
                "Lists the tokens that may use this server: names, scopes and status, never a secret.",
                object(&page_properties(), &[]),
            )
            .output(results::tokens())
            .example(json!({"limit": 50})),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            tool(
                "backend_access_token_get",
                "Get an access token",
                "Shows one token's name, scopes and status, never its secret.",
                object(&[("accessTokenId", string("Token id or name"))], &["accessTokenId"]),
            )
            .output(results::token())
            .example(json!({"accessTokenId": "tok_123"})),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let (tokens, read_set) = bkend.tokens.list(&call.caller.tenant).await?;
    let page = Page::from_arguments(&arguments.values)?;
    let total = tokens.len() as i64;
    let list_json = page.to_json(page.slice(tokens).iter().map(TokenSummary::detail).collect(), total);
    Ok(ToolResult::read_only(
        ToolOutput::structured(list_json).with_link("bkend://access-tokens", "Access tokens"),
        read_set,
    ))
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let (tokens, read_set) = bkend.tokens.list(&call.caller.tenant).await?;
    let sent = arguments.required("accessTokenId", listing_hint("Access token"))?;
    let token = token::find_by_id_or_name(&tokens, sent)?;
    let uri = format!("bkend://access-tokens/{}", token.id);
    Ok(ToolResult::read_only(ToolOutput::structured(token.detail()).with_link(uri, "Access token"), read_set))
}
