//! Stage 2 of rendering: expands runes and Markdown nodes to elements, which the identity transform then completes.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`render_context`] | the state of one rendering: catalogue, page, limits; [`RenderContext::render_nodes`] |
//! | [`arguments`] | the arguments of a rune |
//! | [`root_builder`] | the root element of a rune: values, named parts, structured data |
//! | [`rune`] | the steps around each rune: arguments, content model, tint, background, universal attributes |
//! | [`template`] | runes that are a template in the catalogue |
//! | [`markdown_nodes`] | Markdown: headings, lists, fences, tables, images, links |
//! | [`builtin_tags`] | Markdoc's own tags, variables, functions, conditions |
//! | `figure` | the figure around a shown file |
//! | [`header`], [`media`], [`layout`], [`table`], [`text`], [`slug`] | helpers for many runes |
//!
//! It knows no class names and no themes; those belong to [`identity`](crate::identity).

pub mod arguments;
pub mod builtin_tags;
pub(crate) mod figure;
pub mod header;
pub mod layout;
pub mod markdown_nodes;
pub mod media;
pub mod placeholder;
pub mod render_context;
pub mod root_builder;
pub mod rune;
pub mod slug;
pub mod table;
pub mod template;
pub mod text;

pub use arguments::Arguments;
pub use render_context::{PageVariables, RenderContext, RenderError, RuneUse};
pub use root_builder::RootBuilder;

use crate::catalogue::Catalogue;
use crate::render_tree::RenderNode;

/// Expands a parsed document. `source` is its text: some runes show a part of it.
pub fn expand(
    catalogue: &Catalogue,
    document: quad_markdoc::Document,
    source: &str,
    page: &PageVariables,
) -> render_context::Result<RenderNode> {
    let mut root = document.root;
    let mut cx = RenderContext::new(catalogue, page, source, &root);
    cx.evaluate(&mut root);
    let mut nodes = cx.render_nodes(vec![root])?;
    Ok(nodes.pop().unwrap_or(RenderNode::Null))
}
