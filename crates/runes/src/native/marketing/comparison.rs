//! `comparison` and `comparison-column`. Native: rows of different columns are matched by name.

use indexmap::IndexMap;
use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use super::comparison_table::{self, Column, Row};
use crate::content::headings::HeadingGroups;
use crate::content::{headings, node_ext};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{is_rune_root, named_element, set_field};
use crate::expand::text::text_node;
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Level of the headings that start a column.
const COLUMN_LEVEL: u8 = 2;

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let highlighted = arguments.non_null_or("highlighted", "");
    let (column_tags, columns) = split_columns(content.take("children"));
    let (labels, columns) = align_rows(columns, highlighted.as_str());
    let mut rendered = Vec::new();
    for column in column_tags.into_iter().chain(columns) {
        rendered.push(render_column(column, cx)?);
    }
    let layout = arguments.non_null_or("layout", "table");
    let body = if layout.as_str() == Some("cards") {
        comparison_table::render_cards(rendered)
    } else {
        let show_labels = arguments.get("labels").and_then(|labels| labels.as_str()) != Some("hidden");
        comparison_table::render_table(rendered, &labels, show_labels)
    };
    let classed_text = |name: &str, tag: &str, class: &str| {
        let text = arguments.truthy(name)?;
        Some(Element::new(tag).with_attr("class", class).with_children([text_node(Some(text))]))
    };
    Ok(RootBuilder::new("comparison", "section")
        .data_field("contentSection")
        .value("layout", layout)
        .child_if(classed_text("title", "h2", "rf-comparison__title"))
        .child(body)
        .child_if(classed_text("verdict", "p", "rf-comparison__verdict"))
        .build())
}

/// A column before rendering: its name and its nodes.
struct ColumnSource {
    name: String,
    body: Vec<MarkdocNode>,
}

/// Columns that are tags, and columns from headings. Without headings, the items of a list at the end are the columns.
fn split_columns(nodes: Vec<MarkdocNode>) -> (Vec<MarkdocNode>, Vec<ColumnSource>) {
    let grouped = headings::group_by_heading_or_list(nodes, Some(COLUMN_LEVEL));
    let HeadingGroups { before: mut tags, groups } =
        grouped.unwrap_or_else(|nodes| HeadingGroups { before: nodes, ..HeadingGroups::default() });
    tags.retain(|node| node.is_tag("comparison-column"));
    let section =
        |(heading, body): (MarkdocNode, _)| ColumnSource { name: node_ext::joined_text(&heading, ""), body };
    (tags, groups.into_iter().map(section).collect())
}

/// The rows of a column by name, and the rows without a name.
struct ColumnRows {
    named: IndexMap<String, MarkdocNode>,
    others: Vec<MarkdocNode>,
    callouts: Vec<MarkdocNode>,
}

/// All row names in order of first use, and each column as a tag with a row for every name.
fn align_rows(sections: Vec<ColumnSource>, highlighted: Option<&str>) -> (Vec<String>, Vec<MarkdocNode>) {
    let columns: Vec<(String, ColumnRows)> =
        sections.into_iter().map(|section| (section.name, read_rows(section.body))).collect();
    let mut labels: IndexMap<String, ()> = IndexMap::new();
    for label in columns.iter().flat_map(|(_, rows)| rows.named.keys()) {
        labels.entry(label.clone()).or_default();
    }
    let labels: Vec<String> = labels.into_keys().collect();
    let tags = columns.into_iter().map(|(name, mut rows)| {
        let empty = |label: &str| row_node(label, "empty", Vec::new());
        let named = labels.iter().map(|label| rows.named.swap_remove(label).unwrap_or_else(|| empty(label)));
        let nodes = named.collect::<Vec<_>>().into_iter().chain(rows.others).chain(rows.callouts).collect();
        let is_highlighted = highlighted == Some(name.as_str());
        let attributes = [("name", name), ("highlighted", is_highlighted.to_string())];
        node_ext::new_tag_with("comparison-column", attributes, nodes)
    });
    let tags = tags.collect();
    (labels, tags)
}

fn read_rows(body: Vec<MarkdocNode>) -> ColumnRows {
    let mut rows = ColumnRows { named: IndexMap::new(), others: Vec::new(), callouts: Vec::new() };
    for node in body {
        match node.kind {
            NodeType::List => {
                for item in node.children.into_iter().filter(|item| item.kind == NodeType::Item) {
                    match row_label(&item).filter(|label| !label.is_empty()) {
                        Some(label) => {
                            let kind = row_kind(&item);
                            rows.named.insert(label.clone(), row_node(&label, kind, row_description(item)));
                        }
                        None => rows.others.push(row_node("", row_kind(&item), row_description(item))),
                    }
                }
            }
            NodeType::Blockquote => rows.callouts.push(row_node("", "callout", node.children)),
            _ => {}
        }
    }
    rows
}

fn row_node(label: &str, kind: &str, nodes: Vec<MarkdocNode>) -> MarkdocNode {
    node_ext::new_tag_with(
        "comparison-row",
        [("label", label.to_owned()), ("rowType", kind.to_owned())],
        nodes,
    )
}

/// The name of a row: the first bold text of the item.
fn row_label(item: &MarkdocNode) -> Option<String> {
    item.descendants()
        .find(|node| node.kind == NodeType::Strong)
        .map(|strong| node_ext::joined_text(strong, ""))
}

/// The kind of an item: checked box, empty box, struck-out text, or text.
fn row_kind(item: &MarkdocNode) -> &'static str {
    let text = node_ext::joined_text(item, "");
    let text = text.js_trim_start();
    if text.starts_with("[x]") || text.starts_with("[X]") {
        return "check";
    }
    if text.strip_prefix('[').is_some_and(|rest| rest.js_trim_start().starts_with(']')) {
        return "cross";
    }
    if item.descendants().any(|node| node.kind == NodeType::Strikethrough) { "negative" } else { "text" }
}

/// The text after the row's name, without the dash or colon between.
fn row_description(item: MarkdocNode) -> Vec<MarkdocNode> {
    let mut nodes = item.children;
    let Some(first) = nodes.first_mut() else { return nodes };
    if !matches!(first.kind, NodeType::Paragraph | NodeType::Inline) {
        return nodes;
    }
    let Some(index) = first.children.iter().position(|node| node.kind == NodeType::Strong) else {
        return nodes;
    };
    let mut rest = first.children.split_off(index + 1);
    if let Some(text) = rest.first_mut().filter(|node| node.kind == NodeType::Text) {
        let content = without_separator(text.attributes.get_str("content").unwrap_or_default()).to_owned();
        if content.is_empty() {
            rest.remove(0);
        } else {
            text.attributes.insert("content".to_owned(), MarkdocValue::String(content));
        }
    }
    if rest.is_empty() {
        nodes.remove(0);
    } else {
        *first = node_ext::new_node(NodeType::Paragraph, std::mem::take(&mut first.attributes), rest);
    }
    nodes
}

fn without_separator(text: &str) -> &str {
    text.js_trim_start().strip_prefix(['-', '–', '—', ':']).map_or(text, str::js_trim_start)
}

/// Renders a column and its rows.
fn render_column(column: MarkdocNode, cx: &mut RenderContext<'_>) -> Result<Column> {
    let text = |map: &AttributeMap, name: &str| {
        map.get(name).and_then(MarkdocValue::as_str).unwrap_or_default().to_owned()
    };
    let name = text(&column.attributes, "name");
    let is_highlighted = text(&column.attributes, "highlighted") == "true";
    let mut rows = Vec::new();
    for row in column.children.into_iter().filter(|row| row.is_tag("comparison-row")) {
        let kind = row.attributes.get("rowType").and_then(MarkdocValue::as_str).unwrap_or("text").to_owned();
        rows.push(Row { label: text(&row.attributes, "label"), kind, body: cx.render_nodes(row.children)? });
    }
    Ok(Column { name, is_highlighted, rows })
}

pub(super) fn transform_column(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut rows = cx.render_nodes(content.take("body"))?;
    rows.retain(|row| is_rune_root(row, "div", "comparison-row"));
    rows.iter_mut().for_each(|row| set_field(row, "row"));
    Ok(RootBuilder::new("comparison-column", "div")
        .value("highlighted", to_js_string(&arguments.non_null_or("highlighted", false)))
        .child(named_element("span", "name", [text_node(arguments.get("name"))]))
        .child(named_element("div", "body", rows))
        .build())
}
