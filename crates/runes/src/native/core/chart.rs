//! A chart of a table.
//!
//! Native: the table stays in the page as the chart's data, with the title as its caption.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, new_element, set_name};
use crate::expand::table::take_table;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::to_js_string;
use crate::render_tree::RenderNode;

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = cx.render_nodes(rune_use.content.take("body"))?;
    let arguments = &rune_use.arguments;
    let content = match take_table(nodes, |tag| tag.is("div")) {
        Ok(mut table) => {
            set_name(&mut table, "data");
            if let (Some(title), Some(tag)) = (arguments.text("title"), table.as_element_mut()) {
                tag.children.insert(0, new_element("caption", [title.into()]));
            }
            vec![table]
        }
        Err(nodes) => nodes,
    };
    let non_null_text = |name: &str| arguments.get(name).filter(|value| !value.is_null()).map(to_js_string);
    let root = RootBuilder::new("chart", "rf-chart")
        .value("type", arguments.non_null_or("type", "bar"))
        .value("stacked", to_js_string(&arguments.non_null_or("stacked", false)))
        .value_if("tick-count", non_null_text("tick-count"))
        .value_if("tick-step", non_null_text("tick-step"))
        .value_if("label-angle", non_null_text("label-angle").filter(|angle| !angle.is_empty()));
    Ok(root.children(content).build())
}
