//! `comparison` and `comparison-column`: native because rows of different columns meet by their names.

use indexmap::IndexMap;
use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use super::comparison_table::{self, Column, Row};
use crate::content::headings::Grouped;
use crate::content::{ast, headings};
use crate::schema::component::{field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::text::shown;
use crate::schema::{Call, Component, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

/// Level of the headings that head a column.
const COLUMN_LEVEL: u8 = 2;

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let highlighted = arguments.value_or("highlighted", "");
    let (written, columns) = columns(content.take("children"));
    let (labels, columns) = aligned(columns, highlighted.as_str());
    let mut drawn = Vec::new();
    for column in written.into_iter().chain(columns) {
        drawn.push(render(column, context)?);
    }
    let layout = arguments.value_or("layout", "table");
    let drawing = if layout.as_str() == Some("cards") {
        comparison_table::cards(drawn)
    } else {
        let named = arguments.get("labels").and_then(|labels| labels.as_str()) != Some("hidden");
        comparison_table::table(drawn, &labels, named)
    };
    let line = |name: &str, tag: &str, class: &str| {
        let text = arguments.given(name)?;
        Some(Tag::new(tag).with("class", class).holding([shown(Some(text))]))
    };
    Ok(Component::new("comparison", "section")
        .property("contentSection")
        .value("layout", layout)
        .child_if(line("title", "h2", "rf-comparison__title"))
        .child(drawing)
        .child_if(line("verdict", "p", "rf-comparison__verdict"))
        .build())
}

/// A column as it was written: its name and what stands below.
struct Section {
    name: String,
    body: Vec<Parsed>,
}

/// Columns that are tags already, and those that headings make. Without headings the items of a list at the end make them.
fn columns(nodes: Vec<Parsed>) -> (Vec<Parsed>, Vec<Section>) {
    let grouped = headings::group(nodes, Some(COLUMN_LEVEL));
    let Grouped { before: mut tags, groups } =
        grouped.unwrap_or_else(|nodes| Grouped { before: nodes, ..Grouped::default() });
    tags.retain(|node| node.is_tag("comparison-column"));
    let section = |(heading, body): (Parsed, _)| Section { name: ast::text_of(&heading, ""), body };
    (tags, groups.into_iter().map(section).collect())
}

/// The rows of a column by their names, and those without one.
struct Rows {
    named: IndexMap<String, Parsed>,
    others: Vec<Parsed>,
    remarks: Vec<Parsed>,
}

/// The names of all rows in the order in which they are first met, and each column as a tag that has a row for each.
fn aligned(sections: Vec<Section>, highlighted: Option<&str>) -> (Vec<String>, Vec<Parsed>) {
    let columns: Vec<(String, Rows)> =
        sections.into_iter().map(|section| (section.name, rows(section.body))).collect();
    let mut labels: IndexMap<String, ()> = IndexMap::new();
    for label in columns.iter().flat_map(|(_, rows)| rows.named.keys()) {
        labels.entry(label.clone()).or_default();
    }
    let labels: Vec<String> = labels.into_keys().collect();
    let tags = columns.into_iter().map(|(name, mut rows)| {
        let empty = |label: &str| row(label, "empty", Vec::new());
        let named = labels.iter().map(|label| rows.named.swap_remove(label).unwrap_or_else(|| empty(label)));
        let nodes = named.collect::<Vec<_>>().into_iter().chain(rows.others).chain(rows.remarks).collect();
        let is_highlighted = highlighted == Some(name.as_str());
        let attributes = [("name", name), ("highlighted", is_highlighted.to_string())];
        ast::tag_with("comparison-column", attributes, nodes)
    });
    let tags = tags.collect();
    (labels, tags)
}

fn rows(body: Vec<Parsed>) -> Rows {
    let mut rows = Rows { named: IndexMap::new(), others: Vec::new(), remarks: Vec::new() };
    for node in body {
        match node.kind {
            NodeType::List => {
                for item in node.children.into_iter().filter(|item| item.kind == NodeType::Item) {
                    match label(&item).filter(|label| !label.is_empty()) {
                        Some(label) => {
                            let kind = kind(&item);
                            rows.named.insert(label.clone(), row(&label, kind, description(item)));
                        }
                        None => rows.others.push(row("", kind(&item), description(item))),
                    }
                }
            }
            NodeType::Blockquote => rows.remarks.push(row("", "callout", node.children)),
            _ => {}
        }
    }
    rows
}

fn row(label: &str, kind: &str, nodes: Vec<Parsed>) -> Parsed {
    ast::tag_with("comparison-row", [("label", label.to_owned()), ("rowType", kind.to_owned())], nodes)
}

/// The first bold words of an item name its row.
fn label(item: &Parsed) -> Option<String> {
    item.walk().find(|node| node.kind == NodeType::Strong).map(|strong| ast::text_of(strong, ""))
}

/// What an item says: a ticked box, an empty one, something crossed out, or words.
fn kind(item: &Parsed) -> &'static str {
    let text = ast::text_of(item, "");
    let text = text.trim_start();
    if text.starts_with("[x]") || text.starts_with("[X]") {
        return "check";
    }
    if text.strip_prefix('[').is_some_and(|rest| rest.trim_start().starts_with(']')) {
        return "cross";
    }
    if item.walk().any(|node| node.kind == NodeType::Strikethrough) { "negative" } else { "text" }
}

/// What follows the name of a row, without the dash or colon between.
fn description(item: Parsed) -> Vec<Parsed> {
    let mut nodes = item.children;
    let Some(first) = nodes.first_mut() else { return nodes };
    if !matches!(first.kind, NodeType::Paragraph | NodeType::Inline) {
        return nodes;
    }
    let Some(at) = first.children.iter().position(|node| node.kind == NodeType::Strong) else { return nodes };
    let mut rest = first.children.split_off(at + 1);
    if let Some(text) = rest.first_mut().filter(|node| node.kind == NodeType::Text) {
        let said = without_separator(text.attributes.text("content").unwrap_or_default()).to_owned();
        if said.is_empty() {
            rest.remove(0);
        } else {
            text.attributes.insert("content".to_owned(), Written::String(said));
        }
    }
    if rest.is_empty() {
        nodes.remove(0);
    } else {
        *first = ast::node(NodeType::Paragraph, std::mem::take(&mut first.attributes), rest);
    }
    nodes
}

fn without_separator(text: &str) -> &str {
    text.trim_start().strip_prefix(['-', '–', '—', ':']).map_or(text, str::trim_start)
}

/// A column with its rows rendered.
fn render(column: Parsed, context: &mut Context<'_>) -> Result<Column> {
    let text = |map: &Map, name: &str| map.get(name).and_then(Written::as_str).unwrap_or_default().to_owned();
    let name = text(&column.attributes, "name");
    let is_highlighted = text(&column.attributes, "highlighted") == "true";
    let mut rows = Vec::new();
    for row in column.children.into_iter().filter(|row| row.is_tag("comparison-row")) {
        let kind = row.attributes.get("rowType").and_then(Written::as_str).unwrap_or("text").to_owned();
        rows.push(Row { label: text(&row.attributes, "label"), kind, body: context.nodes(row.children)? });
    }
    Ok(Column { name, is_highlighted, rows })
}

pub(super) fn transform_column(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut rows = context.nodes(content.take("body"))?;
    rows.retain(|row| is_rune(row, "div", "comparison-row"));
    rows.iter_mut().for_each(|row| field(row, "row"));
    Ok(Component::new("comparison-column", "div")
        .value("highlighted", to_text(&arguments.value_or("highlighted", false)))
        .child(part("span", "name", [shown(arguments.get("name"))]))
        .child(part("div", "body", rows))
        .build())
}
