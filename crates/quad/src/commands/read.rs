//! `quad read URI`

use std::io::Write as _;

use quad_core::resolver::View;
use quad_core::{Body, Error, Result};
use serde_json::{Value, json};

use crate::app::App;
use crate::output;

/// Prints the contents; with `--json`, in the form of a reply.
pub async fn run(app: &App, uri: &str, as_json: bool) -> Result<()> {
    let answer = app.resolver.read(&app.local_agent(), View::All, uri).await?;
    if as_json {
        let contents: Value =
            serde_json::from_slice(&answer.read.contents_json(uri)).map_err(Error::internal)?;
        output::print_json(&json!({
            "contents": contents,
            "contentHash": *answer.read.content_hash,
            "version": answer.receipt.version.0,
            "sequence": answer.receipt.sequence,
            "event": &*answer.receipt.event_id,
        }));
        return Ok(());
    }
    for content in answer.read.contents.iter() {
        match &content.body {
            Body::Text(text) if content.mime_type == "application/json" => {
                let value: Value = serde_json::from_str(text).map_err(Error::internal)?;
                output::print_json(&value);
            }
            Body::Text(text) => output::print_line(text),
            Body::Blob(bytes) => {
                // A closed pipe is not an error: the reader stopped reading.
                let _ = std::io::stdout().write_all(bytes);
            }
        }
    }
    Ok(())
}
