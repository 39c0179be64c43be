//! `quad call TOOL JSON`

use quad_core::resolver::View;
use quad_core::strict_json::{self, StrictJsonError};
use quad_core::tool::{ContentBlock, NoProgress};
use quad_core::{Error, Kind, Result, input_file};
use serde_json::{Map, Value};

use crate::app::App;
use crate::output;

/// Calls a tool and prints the result; with `--json`, on one line.
pub async fn run(app: &App, tool: &str, arguments: &str, as_json: bool) -> Result<()> {
    let arguments = parse_arguments(arguments)?;
    let output = app.resolver.call_tool(&app.local_agent(), View::All, tool, arguments, &NoProgress).await?;
    if output.is_error {
        return Err(Error::new(Kind::Internal, "TOOL_FAILED", "The tool reported an error")
            .hint(format!("Compare the call with the example of `quad tools {tool}`")));
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

fn not_an_object(reason: &str) -> Error {
    Error::bad_input(format!("The arguments must be a JSON object: {reason}"))
        .hint(r#"Quote them for the shell: quad call backend_org_get '{"organizationId":"…"}'"#)
}

fn parse_arguments(arguments: &str) -> Result<Map<String, Value>> {
    let input;
    let arguments = if arguments == "-" {
        let name = "standard input";
        // The same limit as for a request over stdio.
        let bytes_max = quad_mcp::limits::LINE_BYTES as u64;
        input = input_file::text(input_file::read_stream(std::io::stdin(), name, bytes_max)?, name)?;
        &input
    } else {
        arguments
    };
    strict_json::parse_object(arguments.as_bytes()).map_err(|error| match error {
        StrictJsonError::Duplicate(name) => {
            Error::bad_input(format!("The argument {name} occurs twice")).hint("Send each argument once")
        }
        StrictJsonError::NotAnObject => not_an_object("it is another value"),
        StrictJsonError::Syntax(message) => not_an_object(&message),
    })
}
