//! Runes that show a file of the project: snippet, data.
//!
//! Native because this engine reads no files: what a file says must be put in its place before the document is rendered.

use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;

pub(super) fn transform(call: Call<'_>, _out: &mut Context<'_>) -> Result<Node> {
    Err(call.error("shows a file, which is read when the site is built; render the page within its site"))
}
