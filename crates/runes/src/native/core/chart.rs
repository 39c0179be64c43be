//! A table drawn as a chart.
//!
//! Native because the table stays in the page as what is drawn from, with the title as its caption.

use crate::schema::component::{Component, element, name};
use crate::schema::context::Result;
use crate::schema::table::take_table;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = out.nodes(call.content.take("body"))?;
    let arguments = &call.arguments;
    let content = match take_table(nodes, |tag| tag.is("div")) {
        Ok(mut table) => {
            name(&mut table, "data");
            if let (Some(title), Some(tag)) = (arguments.text("title"), table.as_tag_mut()) {
                tag.children.insert(0, element("caption", [title.into()]));
            }
            vec![table]
        }
        Err(nodes) => nodes,
    };
    let written = |name: &str| arguments.get(name).filter(|value| !value.is_null()).map(to_text);
    let root = Component::new("chart", "rf-chart")
        .value("type", arguments.value_or("type", "bar"))
        .value("stacked", to_text(&arguments.value_or("stacked", false)))
        .value_if("tick-count", written("tick-count"))
        .value_if("tick-step", written("tick-step"))
        .value_if("label-angle", written("label-angle").filter(|angle| !angle.is_empty()));
    Ok(root.children(content).build())
}
