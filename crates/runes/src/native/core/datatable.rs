//! A table that can be sorted and searched.
//!
//! Native: takes the first table of its content out of its wrapper.

use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, named_element, set_name};
use crate::expand::table::take_table;
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{json_number, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = cx.render_nodes(rune_use.content.take("body"))?;
    let is_table_wrapper = |tag: &Element| tag.is("div") && tag.attr_str("class") == Some("rf-table-wrapper");
    let mut table = take_table(nodes, is_table_wrapper).unwrap_or_else(|_| Element::new("table").into());
    set_name(&mut table, "table");
    let arguments = &rune_use.arguments;
    let root = RootBuilder::new("data-table", "div")
        .type_of("Dataset")
        .value("sortable", arguments.non_null_or("sortable", ""))
        .value("searchable", to_js_string(&arguments.non_null_or("searchable", false)))
        .value("pageSize", to_js_string(&arguments.non_null_or("pageSize", json_number(0.0))))
        .value("defaultSort", arguments.non_null_or("defaultSort", ""));
    Ok(root.child(named_element("div", "scroll", [table])).build())
}
