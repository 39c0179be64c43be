//! `quad call TOOL JSON`

use std::io::Read as _;

use quad_core::resolver::View;
use quad_core::tool::{ContentBlock, NoProgress};
use quad_core::{Error, Kind, Result};
use serde_json::{Map, Value};

use crate::app::App;
use crate::output;

/// Calls a tool and prints the result; with `--json`, on one line.
pub async fn run(app: &App, tool: &str, arguments: &str, as_json: bool) -> Result<()> {
    let arguments = parse_arguments(arguments)?;
    let output = app.resolver.call_tool(&app.local_agent(), View::All, tool, arguments, &NoProgress).await?;
    if output.is_error {
        return Err(Error::new(Kind::Internal, "TOOL_FAILED", "The tool reported an error"));
    }
    match output.structured {
        Some(json) if as_json => output::print_line(json.as_str()),
        Some(json) => output::print_json(&json.parse()),
        None => {
            for block in output.blocks {
                if let ContentBlock::Text(text) = block {
                    output::print_line(text);
                }
            }
        }
    }
    Ok(())
}

fn parse_arguments(arguments: &str) -> Result<Map<String, Value>> {
    let mut input = String::new();
    let arguments = if arguments == "-" {
        std::io::stdin().read_to_string(&mut input).map_err(Error::internal)?;
        &input
    } else {
        arguments
    };
    serde_json::from_str(arguments).map_err(|error| {
        Error::bad_input(format!("The arguments must be a JSON object: {error}"))
            .hint(r#"Quote them for the shell: quad call backend_org_get '{"organizationId":"…"}'"#)
    })
}
