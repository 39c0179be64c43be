//! `backend_access_token_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{Result, Tool};

use super::{Arguments, input_schema, json_output, page_properties, string_schema, unimplemented_tool};
use crate::page::Page;
use crate::token::{self, TokenSummary};
use crate::{Bkend, routes};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::TOKEN_READ, ToolEffect::Reads)
    };
    vec![
        tool(
            "backend_access_token_list",
            "List access tokens",
            "Lists the tokens that may use this server: names, scopes and status, never a secret.",
            input_schema(&page_properties(), &[]),
        ),
        tool(
            "backend_access_token_get",
            "Get an access token",
            "Shows one token's name, scopes and status, never its secret.",
            input_schema(&[("accessTokenId", string_schema("Token id"))], &["accessTokenId"]),
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let (tokens, basis) = bkend.tokens.list(&call.caller.tenant).await?;
    match call.tool.name {
        "backend_access_token_list" => {
            let page = Page::from_arguments(&arguments.root)?;
            let total = tokens.len() as i64;
            let list_json =
                page.to_json(page.slice(tokens).iter().map(TokenSummary::detail).collect(), total);
            Ok(ToolResult::read_only(
                json_output(list_json).with_link("bkend://access-tokens", "Access tokens"),
                basis,
            ))
        }
        "backend_access_token_get" => {
            let id = arguments.required_id("accessTokenId")?;
            let token_json = token::find(&tokens, id)?;
            Ok(ToolResult::read_only(
                json_output(token_json).with_link(format!("bkend://access-tokens/{id}"), "Access token"),
                basis,
            ))
        }
        name => Err(unimplemented_tool(name)),
    }
}
