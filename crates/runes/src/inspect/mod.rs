//! Renders the example of one rune, with the attributes of the query.
//!
//! This answers `refrakt://rune/<name>?attribute=value`. The engine accepts any value, as npm does. This module rejects
//! attributes and values that the rune does not know, and lists the known ones ([`check_attributes`]).
//!
//! ```
//! use quad_runes::catalogue::Catalogue;
//! use quad_runes::inspect::inspect;
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
//! let refused = inspect(&catalogue, "hint", &[("type".into(), "warnin".into())]).unwrap_err();
//! assert_eq!(refused.hint(), "did you mean warning? Known are caution, check, note, warning");
//! # Ok::<(), quad_runes::inspect::InspectError>(())
//! ```

mod attributes;
mod config;
mod set_attributes;

use std::fmt;

use serde_json::{Value, json};

pub use attributes::{ALL_VALUES, InvalidAttribute, check_attributes};
pub use config::engine_config_json;
pub use set_attributes::set_attributes;

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

impl InspectError {
    /// The code that clients tell errors apart by.
    pub fn code(&self) -> &'static str {
        match self {
            InspectError::Unknown(_) => "RUNE_UNKNOWN",
            InspectError::Invalid(_) => "INVALID_ATTRIBUTE",
            InspectError::Render(_) => "RESOURCE_FAILED",
        }
    }

    /// What the caller can do.
    pub fn hint(&self) -> String {
        match self {
            InspectError::Unknown(error) => error.hint(),
            InspectError::Invalid(error) => error.hint(),
            InspectError::Render(_) => {
                "this rune needs a site around it; write it into a page and render that".into()
            }
        }
    }
}

/// Renders a rune by name or alias, with the decoded attributes of a query. One attribute may have the value
/// [`ALL_VALUES`]: the answer is then a list with one entry for each allowed value.
pub fn inspect(
    catalogue: &Catalogue,
    name: &str,
    attributes: &[(String, String)],
) -> Result<Value, InspectError> {
    let rune = catalogue.rune(name).map_err(InspectError::Unknown)?;
    let checked = check_attributes(catalogue, rune, attributes).map_err(InspectError::Invalid)?;
    let Some((expand_over, values)) = checked.expand_over else {
        return render_preview(catalogue, rune, &checked.values);
    };
    let each = values.into_iter().map(|value| {
        let mut values = checked.values.clone();
        values.insert(expand_over.clone(), value.into());
        render_preview(catalogue, rune, &values)
    });
    each.collect::<Result<Vec<Value>, InspectError>>().map(Value::Array)
}

fn render_preview(
    catalogue: &Catalogue,
    rune: &Rune,
    values: &attributes::AttributeValues,
) -> Result<Value, InspectError> {
    let input = set_attributes(&example_source(rune), &rune.name, values);
    let rendered = render(catalogue, &input, &PageVariables::default()).map_err(InspectError::Render)?;
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
