//! The figure around a code block that shows a file of the project.
//!
//! The original adds it after expanding, so that runes that arrange code blocks, such as a group of tabs, see plain code
//! blocks.

use crate::render_tree::{Element, RenderNode};

/// Runes that arrange code blocks themselves, by `data-rune`.
const ARRANGES_CODE: [&str; 2] = ["code-group", "diff"];

/// Puts each `<pre>` with a source file into a `<figure>`, except within the runes that arrange code blocks.
pub(crate) fn wrap_shown_files(node: RenderNode) -> RenderNode {
    let RenderNode::Element(mut element) = node else { return node };
    if element.attr_str("data-rune").is_some_and(|rune| ARRANGES_CODE.contains(&rune)) {
        return RenderNode::Element(element);
    }
    let source = element.attributes.get("data-source").filter(|_| element.is("pre")).cloned();
    let Some(source) = source else {
        element.children = std::mem::take(&mut element.children).into_iter().map(wrap_shown_files).collect();
        return RenderNode::Element(element);
    };
    let mut figure =
        Element::new("figure").with_attr("data-rune", "snippet").with_attr("data-source-path", source);
    if let Some(lines) = element.attributes.get("data-lines") {
        figure = figure.with_attr("data-lines", lines.clone());
    }
    figure.with_children([RenderNode::Element(element)]).into()
}
