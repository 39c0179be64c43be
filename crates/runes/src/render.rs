//! A document rendered: parsed, transformed by its runes, dressed by the engine, printed.
//!
//! ```
//! use quad_runes::catalogue::Catalogue;
//! use quad_runes::render::render;
//! use quad_runes::schema::PageVariables;
//!
//! let catalogue = Catalogue::core();
//! let rendered = render(&catalogue, "{% hint %}\nMind the gap.\n{% /hint %}", &PageVariables::default())?;
//! assert!(rendered.html.starts_with("<article>"));
//! # Ok::<(), quad_runes::schema::RenderError>(())
//! ```

use crate::catalogue::Catalogue;
use crate::expand::render_context::Result;
use crate::expand::{PageVariables, RenderContext, RenderError};
use crate::render_tree::RenderNode;
use crate::{html, identity, selectors};

/// A rendered document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// The markup.
    pub html: String,
    /// Every class and every data attribute in it that a style sheet can select.
    pub selectors: Vec<String>,
}

/// Renders a document.
pub fn render(catalogue: &Catalogue, source: &str, page: &PageVariables) -> Result<Rendered> {
    let tree = identity::transform(catalogue, expand_document(catalogue, source, page)?);
    Ok(Rendered { html: html::to_html(&tree), selectors: selectors::collect_selectors(&tree) })
}

/// The first half: the tree that the engine is given.
pub fn expand_document(catalogue: &Catalogue, source: &str, page: &PageVariables) -> Result<RenderNode> {
    let mut root = quad_markdoc::parse(source).map_err(RenderError::SourceTooLong)?.root;
    let mut cx = RenderContext::new(catalogue, page, source, &root);
    cx.evaluate(&mut root);
    let mut nodes = cx.render_nodes(vec![root])?;
    Ok(nodes.pop().unwrap_or(RenderNode::Null))
}
