//! `quad templates`

use quad_core::Result;
use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::app::App;
use crate::output;

/// Prints the address templates with their titles.
pub fn run(app: &App, as_json: bool) -> Result<()> {
    let templates = app.resolver.templates(View::All);
    if as_json {
        let entries: Vec<Value> = templates.map(|route| route.to_json()).collect();
        output::print_json(&json!({"resourceTemplates": entries}));
        return Ok(());
    }
    for route in templates {
        output::print_line(format_args!("{}  {}", route.spec.template.as_str(), route.title));
    }
    Ok(())
}
