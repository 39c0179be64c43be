//! `bento`: native because its tiles are made of headings, sized by their level.

use quad_markdoc::{Map, Node as Parsed, Value as Written};
use serde_json::Value;

use super::bento_cell::{Span, preset};
use crate::content::ast;
use crate::schema::arguments::written;
use crate::schema::component::{field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::{Arguments, Call, Component, Context};
use crate::tree::Node;
use crate::value::{leading_integer, number, to_text};

/// Chrome that a tile has and the grid has not: where a tile does not say, what the grid says holds.
pub(super) const HANDED_DOWN: [&str; 9] = [
    "frame",
    "frame-aspect",
    "frame-displace",
    "frame-offset",
    "frame-oversize",
    "frame-place",
    "frame-anchor",
    "frame-shadow",
    "elevation",
];

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let nodes = content.take("children");
    let (lead, cells) = if nodes.iter().any(is_cell) {
        // Tiles that are written out stand for everything: what is between them is dropped.
        (Vec::new(), nodes.into_iter().filter(is_cell).collect())
    } else {
        tiles(nodes, &arguments)
    };
    let inherited = inherited(&arguments);
    let cells = cells.into_iter().map(|cell| inherit(cell, &inherited)).collect();
    let lead = context.nodes(lead)?;
    let mut cells = context.nodes(cells)?;
    cells.retain(|cell| is_rune(cell, "div", "bento-cell"));
    cells.iter_mut().for_each(|cell| field(cell, "cell"));
    let mut root = Component::new("bento", "section")
        .value("gap", arguments.value_or("gap", "1rem"))
        .value("columns", to_text(&arguments.value_or("columns", 6)));
    for name in ["row-height", "content-height", "media-ratio", "collapse"] {
        root = root.value(name, arguments.value_or(name, ""));
    }
    Ok(root.children(lead).child(part("div", "grid", cells)).build())
}

fn is_cell(node: &Parsed) -> bool {
    node.is_tag("bento-cell")
}

/// What stands above the first heading, and a tile for each heading.
fn tiles(nodes: Vec<Parsed>, arguments: &Arguments) -> (Vec<Parsed>, Vec<Parsed>) {
    let columns = arguments.value_or("columns", 6);
    let ladder: Vec<Span> = arguments.text("levels").map(|levels| ladder(&levels)).unwrap_or_default();
    let (mut lead, mut cells) = (Vec::new(), Vec::<Parsed>::new());
    for node in nodes {
        let Some(level) = ast::heading_level(&node) else {
            cells.last_mut().map_or(&mut lead, |cell| &mut cell.children).push(node);
            continue;
        };
        let rung = ladder.get(usize::from(level.saturating_sub(1))).or(ladder.last());
        let (size, span) = match rung {
            // A tile whose size was written out has no named size that a theme could change.
            Some(span) => ("", span.clone()),
            None => (size_of(level), preset(size_of(level), &columns)),
        };
        let mut attributes = Map::new();
        attributes.insert("size".to_owned(), Written::String(size.to_owned()));
        attributes.insert("cols".to_owned(), written(&span.columns));
        attributes.insert("rows".to_owned(), written(&span.rows));
        cells.push(ast::tag("bento-cell", attributes, vec![node]));
    }
    (lead, cells)
}

fn size_of(level: u8) -> &'static str {
    match level {
        1 => "full",
        2 => "large",
        3 => "medium",
        _ => "small",
    }
}

/// `4x2` is four columns and two rows, `3` three columns and one row; what is neither is left out.
fn ladder(levels: &str) -> Vec<Span> {
    let whole = |text: &str| {
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| leading_integer(text)).flatten().map(number)
    };
    let rung = |text: &str| {
        let (columns, rows) =
            text.split_once(['x', 'X']).map_or((text, "1"), |(columns, rows)| (columns, rows));
        Some(Span { columns: whole(columns)?, rows: whole(rows)? })
    };
    levels.split(',').filter_map(|text| rung(text.trim())).collect()
}

/// What the grid says for its tiles.
fn inherited(arguments: &Arguments) -> Vec<(&'static str, Value)> {
    let position = arguments.given("media-position").map(|position| ("media-position", position.clone()));
    let chrome = HANDED_DOWN.iter().filter_map(|name| {
        let value = arguments.get(name).filter(|value| !value.is_null() && value.as_str() != Some(""))?;
        Some((*name, Value::from(to_text(value))))
    });
    position.into_iter().chain(chrome).collect()
}

fn inherit(mut cell: Parsed, inherited: &[(&'static str, Value)]) -> Parsed {
    for (name, value) in inherited {
        if !cell.attributes.contains(name) {
            cell.attributes.insert((*name).to_owned(), written(value));
        }
    }
    cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ladder_leaves_out_what_it_does_not_understand() {
        let spans = ladder("6x2, 3, bad, 2X3, x, 4x, ,1x2x3");
        let spans: Vec<String> = spans.iter().map(|span| format!("{}x{}", span.columns, span.rows)).collect();
        assert_eq!(spans, ["6x2", "3x1", "2x3"]);
    }
}
