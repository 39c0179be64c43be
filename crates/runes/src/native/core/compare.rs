//! Code blocks side by side.
//!
//! Native because only code blocks are taken, each with a label that is derived where none is given.

use crate::schema::component::{Component, name, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = out.nodes(call.content.take("body"))?;
    let labels = to_text(&call.arguments.value_or("labels", ""));
    let mut labels = labels.split(',').map(str::trim);
    let mut panels = Vec::new();
    for node in nodes {
        let Some(language) = code_language(&node) else { continue };
        let label = labels.next().filter(|label| !label.is_empty()).map(str::to_owned);
        let label = label.or(language).unwrap_or_else(|| format!("Panel {}", panels.len() + 1));
        let label = Tag::new("span").with("data-label", true).holding([label.into()]);
        panels.push(Tag::new("div").with("data-panel", true).holding([label.into(), node]).into());
    }
    let mut panels: Node = Tag::new("div").with("data-panels", true).holding(panels).into();
    name(&mut panels, "panels");
    let header = call.arguments.text("title").map(|title| part("div", "header", [title.into()]));
    let root =
        Component::new("compare", "div").value("layout", call.arguments.value_or("layout", "side-by-side"));
    Ok(root.child_if(header).child(panels).build().having("data-code-host", true))
}

/// The language of a code block, if the node is one: a `pre`, or the element around it.
fn code_language(node: &Node) -> Option<Option<String>> {
    let tag = node.as_tag()?;
    let pre = match tag.text("class") {
        _ if tag.is("pre") => tag,
        Some("rf-codeblock") if tag.is("div") => {
            tag.children.iter().filter_map(Node::as_tag).find(|child| child.is("pre"))?
        }
        _ => return None,
    };
    Some(pre.text("data-language").filter(|language| !language.is_empty()).map(str::to_owned))
}
