//! A rune shown at work: its example, rendered, with the attributes that the caller wants to see.
//!
//! This is what `refrakt://rune/<name>?attribute=value` answers. The engine itself accepts any value, as the original does; here
//! a value that the rune does not know is refused with the values that it does know ([`check`]).
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

/// The theme that every answer is rendered with.
const THEME: &str = "base";

/// Why a rune cannot be shown.
#[derive(Debug)]
pub enum InspectError {
    /// There is no such rune.
    Unknown(UnknownRune),
    /// It has no such attribute, or the attribute no such value.
    Invalid(InvalidAttribute),
    /// Its example cannot be rendered.
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

    /// What to do about it.
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

/// A rune by name or alias, with attributes as a query gives them: decoded, in order. One attribute of a closed set may be
/// [`ALL`]; then the answer is a list with one entry for each of its values.
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

/// The rune's own example, or the least that it needs.
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
