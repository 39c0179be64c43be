//! Renders a document to HTML.
//!
//! ```
//! use quad_runes::catalogue::Catalogue;
//! use quad_runes::expand::PageVariables;
//! use quad_runes::render::render;
//!
//! let catalogue = Catalogue::core();
//! let rendered = render(&catalogue, "{% hint %}\nMind the gap.\n{% /hint %}", &PageVariables::default())?;
//! assert!(rendered.html.starts_with("<article>"));
//! # Ok::<(), quad_runes::expand::RenderError>(())
//! ```

use quad_markdoc::Document;

use crate::catalogue::Catalogue;
use crate::expand::render_context::Result;
use crate::expand::{PageVariables, RenderError, expand, figure};
use crate::html::to_html;
use crate::identity;
use crate::render_tree::RenderNode;
use crate::selectors::collect_selectors;

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The HTML.
    pub html: String,
    /// The classes and data attributes that a style sheet can select.
    pub selectors: Vec<String>,
}

/// Renders a document.
pub fn render(catalogue: &Catalogue, source: &str, page: &PageVariables) -> Result<Rendered> {
    let document = quad_markdoc::parse(source).map_err(RenderError::SourceTooLong)?;
    Ok(complete(catalogue, expand(catalogue, document, source, page)?))
}

/// Renders a page of a site: a document that was parsed from `source`, in which the runes that show files are replaced.
/// Code blocks that show a file get a figure, which only a site adds.
pub fn render_page(
    catalogue: &Catalogue,
    document: Document,
    source: &str,
    page: &PageVariables,
) -> Result<Rendered> {
    let expanded = expand(catalogue, document, source, page)?;
    Ok(complete(catalogue, figure::wrap_shown_files(expanded)))
}

fn complete(catalogue: &Catalogue, expanded: RenderNode) -> Rendered {
    let tree = identity::transform(catalogue, expanded);
    Rendered { html: to_html(&tree), selectors: collect_selectors(&tree) }
}
