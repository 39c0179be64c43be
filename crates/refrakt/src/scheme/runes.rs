//! Rendering with the runes of a site: the example of one rune, or a text.

use quad_core::{Error, Kind, Result};
use quad_runes::catalogue::Catalogue;
use quad_runes::expand::{PageVariables, RenderError};
use quad_runes::inspect::{self, InspectError};
use quad_runes::render;
use serde_json::{Value, json};

use super::errors;
use crate::project::Site;

/// A rune's example rendered with these attributes; a list if one attribute has the value `all`.
pub(crate) fn inspect(
    site: Option<&Site>,
    catalogue: &Catalogue,
    name: &str,
    attributes: &[(String, String)],
) -> Result<Value> {
    inspect::inspect(catalogue, name, attributes).map_err(|error| match error {
        InspectError::Unknown(unknown) => {
            let hint =
                site.and_then(|site| site.rune(name).err()).map_or_else(|| unknown.hint(), |(_, hint)| hint);
            errors::rune_unknown(&unknown.name, &hint)
        }
        InspectError::Invalid(invalid) => {
            Error::new(Kind::BadInput, "INVALID_ATTRIBUTE", errors::capitalize(&invalid.message))
                .hint(errors::capitalize(&invalid.hint()))
                .with_detail("attribute", invalid.attribute)
                .with_detail("allowed", invalid.allowed)
        }
        InspectError::Render(error) => render_error(&error),
    })
}

/// Renders a text to `html`, and lists in `selectors` what a style sheet can select.
pub fn render(catalogue: &Catalogue, source: &str) -> Result<Value> {
    let rendered = render::render(catalogue, source, &PageVariables::default());
    let rendered = rendered.map_err(|error| render_error(&error))?;
    Ok(json!({ "html": rendered.html, "selectors": rendered.selectors }))
}

/// The same for a text of a site.
pub(crate) fn render_for_site(site: Option<&Site>, catalogue: &Catalogue, source: &str) -> Result<Value> {
    let Some(site) = site.filter(|site| site.config.is_plain_markdown) else {
        return render(catalogue, source);
    };
    let rendered = quad_markdoc::parse_with(source, &site.parse_options())
        .map_err(RenderError::SourceTooLong)
        .and_then(|document| render::render_page(catalogue, document, source, &PageVariables::default()))
        .map_err(|error| render_error(&error))?;
    Ok(json!({ "html": rendered.html, "selectors": rendered.selectors }))
}

/// The error for a document that could not be rendered.
pub(crate) fn render_error(error: &RenderError) -> Error {
    let message = errors::capitalize(&error.to_string());
    match error {
        RenderError::SourceTooLong(_) | RenderError::TooLarge | RenderError::RunesNestedTooDeep => {
            Error::new(Kind::Limit, "CONTENT_TOO_LONG", message).hint("Split the text")
        }
        RenderError::TooDeep => Error::new(Kind::Limit, "CONTENT_TOO_DEEP", message)
            .hint("Nest fewer runes and lists within each other"),
        RenderError::Rune { rune, .. } => Error::new(Kind::BadInput, "RUNE_NOT_RENDERED", message)
            .hint(format!(
                "Call refrakt_reference with rune {rune} for what it needs; some runes need a site that is being built"
            ))
            .with_detail("rune", rune.as_str()),
    }
}
