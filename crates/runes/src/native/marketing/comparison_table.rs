//! Renders a comparison: as a table with a row for each name, or as a card for each column.
//!
//! The classes are set here because the cells have no names through which the engine could set them.

use crate::expand::root_builder::new_element;
use crate::render_tree::{Element, RenderNode};

/// One product.
pub(super) struct Column {
    pub name: String,
    pub is_highlighted: bool,
    pub rows: Vec<Row>,
}

/// One row of a column.
pub(super) struct Row {
    pub label: String,
    /// `text`, `check`, `cross`, `negative`, `callout` or `empty`.
    pub kind: String,
    pub body: Vec<RenderNode>,
}

fn classed_element(element: &str, class: &str, children: impl IntoIterator<Item = RenderNode>) -> RenderNode {
    Element::new(element).with_attr("class", class).with_children(children).into()
}

/// A symbol with a label for screen readers.
fn labelled_sign(class: &str, aria_label: &str, sign: &str) -> RenderNode {
    Element::new("span")
        .with_attr("class", class)
        .with_attr("aria-label", aria_label)
        .with_children([RenderNode::from(sign)])
        .into()
}

fn kind_icon(kind: &str) -> Option<RenderNode> {
    match kind {
        "check" => {
            Some(labelled_sign("rf-comparison__row-icon rf-comparison__row-icon--check", "Supported", "✓"))
        }
        "cross" => Some(labelled_sign(
            "rf-comparison__row-icon rf-comparison__row-icon--cross",
            "Not supported",
            "✗",
        )),
        _ => None,
    }
}

/// A table: row names on the left on request, then a column for each product.
pub(super) fn render_table(mut columns: Vec<Column>, labels: &[String], show_labels: bool) -> RenderNode {
    let corner = show_labels.then(|| classed_element("th", "rf-comparison__label-col", []));
    let head = new_element("tr", corner.into_iter().chain(columns.iter().map(column_header)));
    let mut body = Vec::new();
    let mut rest: Vec<_> =
        columns.iter_mut().map(|column| std::mem::take(&mut column.rows).into_iter()).collect();
    for label in labels {
        let name =
            Element::new("th").with_attr("class", "rf-comparison__row-label").with_attr("scope", "row");
        let name =
            show_labels.then(|| RenderNode::from(name.with_children([RenderNode::from(label.as_str())])));
        let cells = columns.iter().zip(&mut rest).map(|(column, rows)| table_cell(column, rows.next()));
        body.push(new_element("tr", name.into_iter().chain(cells)));
    }
    let table = [new_element("thead", [head]), new_element("tbody", body)];
    classed_element(
        "div",
        "rf-comparison__table-wrapper",
        [classed_element("table", "rf-comparison__table", table)],
    )
}

fn column_header(column: &Column) -> RenderNode {
    let name = RenderNode::from(column.name.as_str());
    if !column.is_highlighted {
        return new_element("th", [name]);
    }
    let badge =
        classed_element("span", "rf-comparison__recommended-badge", [RenderNode::from("Recommended")]);
    classed_element("th", "rf-comparison__col-header--highlighted", [name, badge])
}

fn table_cell(column: &Column, row: Option<Row>) -> RenderNode {
    let (kind, body) = row.map_or_else(|| ("empty".to_owned(), Vec::new()), |row| (row.kind, row.body));
    let mut class = "rf-comparison__cell".to_owned();
    if column.is_highlighted {
        class.push_str(" rf-comparison__cell--highlighted");
    }
    if kind == "empty" {
        class.push_str(" rf-comparison__cell--empty");
    }
    let content = match (kind_icon(&kind), kind.as_str()) {
        (Some(tick), _) => vec![tick],
        (None, "empty") => vec![labelled_sign("rf-comparison__cell--empty", "Not applicable", "—")],
        (None, "negative") if !body.is_empty() => {
            vec![classed_element("span", "rf-comparison__negative", body)]
        }
        (None, "callout") if !body.is_empty() => {
            vec![classed_element("span", "rf-comparison__callout-badge", body)]
        }
        _ => body,
    };
    classed_element("td", &class, content)
}

/// A card for each product, without empty rows.
pub(super) fn render_cards(columns: Vec<Column>) -> RenderNode {
    classed_element("div", "rf-comparison__cards", columns.into_iter().map(card_element))
}

fn card_element(column: Column) -> RenderNode {
    let badge = classed_element("div", "rf-comparison-card__badge", [RenderNode::from("Recommended")]);
    let badge = column.is_highlighted.then_some(badge);
    let name = classed_element("h3", "rf-comparison-card__name", [RenderNode::from(column.name)]);
    let rows = column.rows.into_iter().filter(|row| row.kind != "empty").map(card_row);
    let rows = classed_element("ul", "rf-comparison-card__rows", rows);
    let class = if column.is_highlighted {
        "rf-comparison-card rf-comparison-card--highlighted"
    } else {
        "rf-comparison-card"
    };
    classed_element("div", class, badge.into_iter().chain([name, rows]))
}

fn card_row(row: Row) -> RenderNode {
    let label = (!row.label.is_empty()).then(|| new_element("strong", [RenderNode::from(row.label)]));
    let icon = kind_icon(&row.kind).into_iter();
    match row.kind.as_str() {
        "callout" => {
            let remark = classed_element("div", "rf-comparison__callout-badge", row.body);
            classed_element("li", "rf-comparison-card__row rf-comparison-card__row--callout", [remark])
        }
        "negative" => {
            let body =
                (!row.body.is_empty()).then(|| classed_element("span", "rf-comparison__negative", row.body));
            let content = label.into_iter().chain(body);
            classed_element("li", "rf-comparison-card__row rf-comparison-card__row--negative", content)
        }
        _ => classed_element("li", "rf-comparison-card__row", icon.chain(label).chain(row.body)),
    }
}
