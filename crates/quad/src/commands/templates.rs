//! `quad templates`

use quad_core::Result;
use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::app::App;
use crate::outcome;

/// Prints the address templates with what they are.
pub fn run(app: &App, as_json: bool) -> Result<()> {
    let templates = app.resolver.templates(View::All);
    if as_json {
        let entries: Vec<Value> = templates.map(|route| route.to_json()).collect();
        outcome::print_json(&json!({"resourceTemplates": entries}));
        return Ok(());
    }
    for route in templates {
        outcome::print_line(format_args!("{}  {}", route.spec.template.as_str(), route.title));
    }
    Ok(())
}
