//! `backend_access_token_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{Result, Tool, ToolEntry, ToolOutput};

use super::{Arguments, page_properties};
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
            ),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            tool(
                "backend_access_token_get",
                "Get an access token",
                "Shows one token's name, scopes and status, never its secret.",
                object(&[("accessTokenId", string("Token id"))], &["accessTokenId"]),
            ),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let (tokens, read_set) = bkend.tokens.list(&call.caller.tenant).await?;
    let page = Page::from_arguments(&arguments.root)?;
    let total = tokens.len() as i64;
    let list_json = page.to_json(page.slice(tokens).iter().map(TokenSummary::detail).collect(), total);
    Ok(ToolResult::read_only(
        ToolOutput::structured(list_json).with_link("bkend://access-tokens", "Access tokens"),
        read_set,
    ))
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let (tokens, read_set) = bkend.tokens.list(&call.caller.tenant).await?;
    let id = arguments.required_id("accessTokenId")?;
    let token_json = token::find(&tokens, id)?;
    Ok(ToolResult::read_only(
        ToolOutput::structured(token_json).with_link(format!("bkend://access-tokens/{id}"), "Access token"),
        read_set,
    ))
}
