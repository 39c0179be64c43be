//! Renders the example of one rune, with the attributes of the query.
//!
//! This answers `refrakt://rune/<name>?attribute=value`. The engine accepts any value, as npm does. This module rejects
//! attributes and values that the rune does not know, and lists the known ones ([`check_attributes`]).
//!
//! ```
//! use quad_runes::catalogue::Catalogue;
//! use quad_runes::inspect::{InspectError, inspect};
//!
//! let catalogue = Catalogue::core();
//! let shown = inspect(&catalogue, "callout", &[("type".into(), "warning".into())])?;
//! assert_eq!(shown["rune"], "hint");
//! assert_eq!(shown["config"]["block"], "hint");
//! assert!(shown["input"].as_str().unwrap().starts_with("{% hint type=\"warning\""));
//!
//! let every = inspect(&catalogue, "hint", &[("type".into(), "all".into())])?;
//! assert_eq!(every.as_array().map(Vec::len), Some(4));
//!
//! let Err(InspectError::Invalid(invalid)) = inspect(&catalogue, "hint", &[("type".into(), "warnin".into())]) else {
//!     panic!("the value is unknown");
//! };
//! assert_eq!(invalid.hint(), "did you mean warning? Use one of warning, caution, check, note");
//! # Ok::<(), quad_runes::inspect::InspectError>(())
//! ```

mod attributes;
mod config;
mod set_attributes;

use std::fmt;

use serde_json::{Value, json};

pub use attributes::{ALL_VALUES, InvalidAttribute, check_attributes};
pub use config::engine_config_json;
pub use set_attributes::AttributeEditor;

use crate::catalogue::{AttributeType, Catalogue, Rune, UnknownRune};
use crate::expand::{PageVariables, RenderError};
use crate::render::render;

/// The theme of every answer.
const THEME: &str = "base";

/// Why a rune cannot be shown.
#[derive(Debug)]
pub enum InspectError {
    /// The rune does not exist.
    Unknown(UnknownRune),
    /// The attribute or its value is unknown.
    Invalid(InvalidAttribute),
    /// The example cannot be rendered.
    Render(RenderError),
}

impl fmt::Display for InspectError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            InspectError::Unknown(error) => error.fmt(out),
            InspectError::Invalid(error) => error.fmt(out),
            InspectError::Render(error) => error.fmt(out),
        }
    }
}

impl std::error::Error for InspectError {}

/// Renders a rune by name or alias, with the decoded attributes of a query. One attribute may have the value
/// [`ALL_VALUES`]: the answer is then a list with one entry for each allowed value.
pub fn inspect(
    catalogue: &Catalogue,
    name: &str,
    attributes: &[(String, String)],
) -> Result<Value, InspectError> {
    let rune = catalogue.requested_rune(name).map_err(InspectError::Unknown)?;
    let checked = check_attributes(catalogue, rune, attributes).map_err(InspectError::Invalid)?;
    let example = example_source(rune);
    // Without attributes the example is shown unchanged, and is not parsed for its tag.
    if checked.values.is_empty() && checked.expand_over.is_none() {
        return render_preview(catalogue, rune, &example);
    }
    let editor = AttributeEditor::new(&example);
    let preview = |values: &attributes::AttributeValues| {
        render_preview(catalogue, rune, &editor.set_attributes(&rune.name, values))
    };
    let Some((expand_over, values)) = checked.expand_over else { return preview(&checked.values) };
    let each = values.into_iter().map(|value| {
        let mut values = checked.values.clone();
        values.insert(expand_over.clone(), value.into());
        preview(&values)
    });
    each.collect::<Result<Vec<Value>, InspectError>>().map(Value::Array)
}

fn render_preview(catalogue: &Catalogue, rune: &Rune, input: &str) -> Result<Value, InspectError> {
    let rendered = render(catalogue, input, &PageVariables::default()).map_err(InspectError::Render)?;
    Ok(json!({
        "rune": rune.name,
        "theme": THEME,
        "input": input,
        "config": engine_config_json(catalogue, rune),
        "html": rendered.html,
        "selectors": rendered.selectors,
    }))
}

/// The rune's example, or a tag with its required attributes.
fn example_source(rune: &Rune) -> String {
    if let Some(example) = &rune.example {
        return example.clone();
    }
    let mut source = format!("{{% {}", rune.name);
    for (name, attribute) in rune.attributes.iter().filter(|(_, attribute)| attribute.required) {
        let value = match (attribute.kind, attribute.matches.first()) {
            (AttributeType::Number, _) => "1".to_owned(),
            (AttributeType::Boolean, _) => "true".to_owned(),
            (AttributeType::Array, _) => "[]".to_owned(),
            (AttributeType::Object, _) => "{}".to_owned(),
            (_, Some(first)) => format!("\"{first}\""),
            (_, None) => format!("\"{name}\""),
        };
        source.push_str(&format!(" {name}={value}"));
    }
    if rune.self_closing {
        return source + " /%}";
    }
    format!("{source} %}}\nText within.\n{{% /{} %}}", rune.name)
}
