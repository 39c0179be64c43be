//! A link to a file of the project.
//!
//! Native: without a label, the text is the last segment of the path. A site sets the target.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, field_meta_element, named_element};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

pub(super) fn transform(rune_use: RuneUse<'_>, _cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let argument_text = |name: &str| rune_use.arguments.get(name).map(to_js_string).unwrap_or_default();
    let (path, label) = (argument_text("path"), argument_text("label"));
    let mut root = RootBuilder::new("file-ref", "span");
    for name in ["path", "lines", "label", "preview"] {
        root = root.child(field_meta_element(&format!("file-ref-{name}"), argument_text(name)));
    }
    let trimmed_path = path.strip_suffix('/').unwrap_or(&path);
    let file = trimmed_path.rsplit('/').next().unwrap_or(trimmed_path).to_owned();
    let text = if label.is_empty() { file } else { label };
    Ok(root
        .child(field_meta_element("__file-ref-sentinel", "true"))
        .child(named_element("a", "link", [text.into()]))
        .build())
}
