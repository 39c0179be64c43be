//! A comparison drawn: as a table with a row for each name, or as a card for each column.
//!
//! The classes stand here and not in the engine, as the cells have no names that it could dress them by.

use crate::schema::component::element;
use crate::tree::{Node, Tag};

/// One product.
pub(super) struct Column {
    pub name: String,
    pub is_highlighted: bool,
    pub rows: Vec<Row>,
}

/// What is said of a product in one row.
pub(super) struct Row {
    pub label: String,
    /// `text`, `check`, `cross`, `negative`, `callout` or `empty`.
    pub kind: String,
    pub body: Vec<Node>,
}

fn classed(element: &str, class: &str, children: impl IntoIterator<Item = Node>) -> Node {
    Tag::new(element).with("class", class).holding(children).into()
}

/// A sign that is read out as words.
fn sign(class: &str, said: &str, sign: &str) -> Node {
    Tag::new("span").with("class", class).with("aria-label", said).holding([Node::from(sign)]).into()
}

fn tick(kind: &str) -> Option<Node> {
    match kind {
        "check" => Some(sign("rf-comparison__row-icon rf-comparison__row-icon--check", "Supported", "✓")),
        "cross" => Some(sign("rf-comparison__row-icon rf-comparison__row-icon--cross", "Not supported", "✗")),
        _ => None,
    }
}

/// A table: the names of the rows on the left if wanted, then a column for each product.
pub(super) fn table(mut columns: Vec<Column>, labels: &[String], named: bool) -> Node {
    let corner = named.then(|| classed("th", "rf-comparison__label-col", []));
    let head = element("tr", corner.into_iter().chain(columns.iter().map(heading)));
    let mut body = Vec::new();
    let mut rest: Vec<_> =
        columns.iter_mut().map(|column| std::mem::take(&mut column.rows).into_iter()).collect();
    for label in labels {
        let name = Tag::new("th").with("class", "rf-comparison__row-label").with("scope", "row");
        let name = named.then(|| Node::from(name.holding([Node::from(label.as_str())])));
        let cells = columns.iter().zip(&mut rest).map(|(column, rows)| cell(column, rows.next()));
        body.push(element("tr", name.into_iter().chain(cells)));
    }
    let table = [element("thead", [head]), element("tbody", body)];
    classed("div", "rf-comparison__table-wrapper", [classed("table", "rf-comparison__table", table)])
}

fn heading(column: &Column) -> Node {
    let name = Node::from(column.name.as_str());
    if !column.is_highlighted {
        return element("th", [name]);
    }
    let badge = classed("span", "rf-comparison__recommended-badge", [Node::from("Recommended")]);
    classed("th", "rf-comparison__col-header--highlighted", [name, badge])
}

fn cell(column: &Column, row: Option<Row>) -> Node {
    let (kind, body) = row.map_or_else(|| ("empty".to_owned(), Vec::new()), |row| (row.kind, row.body));
    let mut class = "rf-comparison__cell".to_owned();
    if column.is_highlighted {
        class.push_str(" rf-comparison__cell--highlighted");
    }
    if kind == "empty" {
        class.push_str(" rf-comparison__cell--empty");
    }
    let content = match (tick(&kind), kind.as_str()) {
        (Some(tick), _) => vec![tick],
        (None, "empty") => vec![sign("rf-comparison__cell--empty", "Not applicable", "—")],
        (None, "negative") if !body.is_empty() => vec![classed("span", "rf-comparison__negative", body)],
        (None, "callout") if !body.is_empty() => vec![classed("span", "rf-comparison__callout-badge", body)],
        _ => body,
    };
    classed("td", &class, content)
}

/// A card for each product. Rows that say nothing are left out.
pub(super) fn cards(columns: Vec<Column>) -> Node {
    classed("div", "rf-comparison__cards", columns.into_iter().map(card))
}

fn card(column: Column) -> Node {
    let badge = classed("div", "rf-comparison-card__badge", [Node::from("Recommended")]);
    let badge = column.is_highlighted.then_some(badge);
    let name = classed("h3", "rf-comparison-card__name", [Node::from(column.name)]);
    let rows = column.rows.into_iter().filter(|row| row.kind != "empty").map(line);
    let rows = classed("ul", "rf-comparison-card__rows", rows);
    let class = if column.is_highlighted {
        "rf-comparison-card rf-comparison-card--highlighted"
    } else {
        "rf-comparison-card"
    };
    classed("div", class, badge.into_iter().chain([name, rows]))
}

fn line(row: Row) -> Node {
    let label = (!row.label.is_empty()).then(|| element("strong", [Node::from(row.label)]));
    let start = tick(&row.kind).into_iter();
    match row.kind.as_str() {
        "callout" => {
            let remark = classed("div", "rf-comparison__callout-badge", row.body);
            classed("li", "rf-comparison-card__row rf-comparison-card__row--callout", [remark])
        }
        "negative" => {
            let body = (!row.body.is_empty()).then(|| classed("span", "rf-comparison__negative", row.body));
            let content = label.into_iter().chain(body);
            classed("li", "rf-comparison-card__row rf-comparison-card__row--negative", content)
        }
        _ => classed("li", "rf-comparison-card__row", start.chain(label).chain(row.body)),
    }
}
