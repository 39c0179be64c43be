//! `backend_access_token_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Result, Tool};

use super::{Arguments, answer, input, page_properties, string, unknown};
use crate::page::Page;
use crate::token::{self, TokenSummary};
use crate::{Bkend, routes};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::TOKEN_READ, Effect::Reads)
    };
    vec![
        tool(
            "backend_access_token_list",
            "List access tokens",
            "Lists the tokens that may use this server: names, scopes and status, never a secret.",
            input(&page_properties(), &[]),
        ),
        tool(
            "backend_access_token_get",
            "Get an access token",
            "Shows one token's name, scopes and status, never its secret.",
            input(&[("accessTokenId", string("Token id"))], &["accessTokenId"]),
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments)?;
    let (tokens, basis) = bkend.tokens.list(&call.caller.tenant).await?;
    match call.tool.name {
        "backend_access_token_list" => {
            let page = Page::from_arguments(&arguments.root)?;
            let total = tokens.len() as i64;
            let listed = page.envelope(page.cut(tokens).iter().map(TokenSummary::detail).collect(), total);
            Ok(Called::read(answer(listed).link("bkend://access-tokens", "Access tokens"), basis))
        }
        "backend_access_token_get" => {
            let id = arguments.required_id("accessTokenId")?;
            let found = token::find(&tokens, id)?;
            Ok(Called::read(answer(found).link(format!("bkend://access-tokens/{id}"), "Access token"), basis))
        }
        name => Err(unknown(name)),
    }
}
