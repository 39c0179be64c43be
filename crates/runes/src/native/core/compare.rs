//! Code blocks side by side.
//!
//! Native: only code blocks are kept, each with a label that is derived if none is given.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, set_name};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = cx.render_nodes(rune_use.content.take("body"))?;
    let labels = to_js_string(&rune_use.arguments.non_null_or("labels", ""));
    let mut labels = labels.split(',').map(str::js_trim);
    let mut panels = Vec::new();
    for node in nodes {
        let Some(language) = code_language(&node) else { continue };
        let label = labels.next().filter(|label| !label.is_empty()).map(str::to_owned);
        let label = label.or(language).unwrap_or_else(|| format!("Panel {}", panels.len() + 1));
        let label = Element::new("span").with_attr("data-label", true).with_children([label.into()]);
        panels.push(
            Element::new("div").with_attr("data-panel", true).with_children([label.into(), node]).into(),
        );
    }
    let mut panels: RenderNode =
        Element::new("div").with_attr("data-panels", true).with_children(panels).into();
    set_name(&mut panels, "panels");
    let header = rune_use.arguments.text("title").map(|title| named_element("div", "header", [title.into()]));
    let root = RootBuilder::new("compare", "div")
        .value("layout", rune_use.arguments.non_null_or("layout", "side-by-side"));
    Ok(root.child_if(header).child(panels).build().with_attr("data-code-host", true))
}

/// The language of a code block (a `pre`, or its wrapper); `None` for other nodes.
fn code_language(node: &RenderNode) -> Option<Option<String>> {
    let tag = node.as_element()?;
    let pre = match tag.attr_str("class") {
        _ if tag.is("pre") => tag,
        Some("rf-codeblock") if tag.is("div") => {
            tag.children.iter().filter_map(RenderNode::as_element).find(|child| child.is("pre"))?
        }
        _ => return None,
    };
    Some(pre.attr_str("data-language").filter(|language| !language.is_empty()).map(str::to_owned))
}
