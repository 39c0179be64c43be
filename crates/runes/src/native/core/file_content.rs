//! Runes that show a file of the project: snippet, data.
//!
//! Native: this engine reads no files. A site inserts the content before rendering.

use crate::expand::render_context::Result;
use crate::expand::{RenderContext, RuneUse};
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    Err(rune_use.error("shows a file, which is read when the site is built; render the page within its site"))
}
