//! `quad ls [PREFIX]`

use quad_core::Result;
use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::app::App;
use crate::output;

/// Prints every readable resource, one a line.
pub async fn run(app: &App, prefix: Option<&str>, as_json: bool) -> Result<()> {
    let caller = app.local_agent();
    let mut cursor: Option<String> = None;
    let mut entries: Vec<Value> = Vec::new();
    loop {
        let page = app.resolver.list(&caller, View::All, cursor.as_deref()).await?;
        for entry in
            page.entries.iter().filter(|entry| prefix.is_none_or(|prefix| entry.uri.starts_with(prefix)))
        {
            if as_json {
                entries.push(entry.to_json());
            } else {
                output::print_line(format_args!(
                    "{}  {}",
                    entry.uri,
                    entry.title.as_deref().unwrap_or(&entry.name)
                ));
            }
        }
        cursor = page.next_cursor;
        if cursor.is_none() {
            break;
        }
    }
    if as_json {
        output::print_json(&json!({"resources": entries}));
    }
    Ok(())
}
