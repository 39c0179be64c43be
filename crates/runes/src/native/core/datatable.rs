//! A table to sort and to search.
//!
//! Native because it takes the first table out of its content, out of the element that every table stands in.

use crate::schema::component::{Component, name, part};
use crate::schema::context::Result;
use crate::schema::table::take_table;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{number, to_text};

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = out.nodes(call.content.take("body"))?;
    let wrapped = |tag: &Tag| tag.is("div") && tag.text("class") == Some("rf-table-wrapper");
    let mut table = take_table(nodes, wrapped).unwrap_or_else(|_| Tag::new("table").into());
    name(&mut table, "table");
    let arguments = &call.arguments;
    let root = Component::new("data-table", "div")
        .type_of("Dataset")
        .value("sortable", arguments.value_or("sortable", ""))
        .value("searchable", to_text(&arguments.value_or("searchable", false)))
        .value("pageSize", to_text(&arguments.value_or("pageSize", number(0.0))))
        .value("defaultSort", arguments.value_or("defaultSort", ""));
    Ok(root.child(part("div", "scroll", [table])).build())
}
