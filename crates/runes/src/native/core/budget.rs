//! A budget: categories below headings, items as `label: amount`, and the sums of both.
//!
//! Native: amounts are parsed and added up.

use quad_markdoc::{AttributeMap, Node as MarkdocNode, NodeType, Value as MarkdocValue};

use super::money::{Currency, duration_days, parse_amount};
use crate::content::headings::group_by_heading_or_list;
use crate::content::node_ext;
use crate::expand::header::SectionHeader;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_value::{JsTrim, format_js_number, is_truthy, parse_float, to_js_string};
use crate::render_tree::{Element, RenderNode};

pub(super) fn transform_category(
    mut rune_use: RuneUse<'_>,
    cx: &mut RenderContext<'_>,
) -> Result<RenderNode> {
    let nodes: Vec<MarkdocNode> =
        rune_use.content.take("children").into_iter().flat_map(line_items).collect();
    let subtotal: f64 = nodes.iter().filter(|node| node.is_tag("budget-line-item")).map(amount_of).sum();
    let mut items = cx.render_nodes(nodes)?;
    items.retain(|node| is_rune_root(node, "li", "budget-line-item"));
    items.iter_mut().for_each(|item| set_field(item, "lineItem"));
    let estimate = if rune_use.arguments.is_truthy("estimate") { "estimate" } else { "false" };
    let root = RootBuilder::new("budget-category", "div")
        .value("label", rune_use.arguments.non_null_or("label", ""))
        .value("estimate", estimate)
        .value("subtotal", format_js_number(subtotal));
    Ok(root.child(named_element("ul", "line-items", items)).build())
}

fn amount_of(item: &MarkdocNode) -> f64 {
    item.attributes.get_str("amount").map_or(0.0, parse_amount)
}

/// Converts the items of a list to runes; other nodes stay unchanged.
fn line_items(node: MarkdocNode) -> Vec<MarkdocNode> {
    if node.kind != NodeType::List {
        return vec![node];
    }
    let item = |item: &MarkdocNode| {
        let text = node_ext::joined_text(item, " ");
        let (description, amount) = split_amount(text.js_trim());
        let attributes = [("description", description.to_owned()), ("amount", amount.to_owned())];
        node_ext::new_tag_with("budget-line-item", attributes, Vec::new())
    };
    node.children.iter().map(item).collect()
}

/// `Ferry: €12` → `Ferry` and `€12`, split at the last colon before the start of an amount.
fn split_amount(text: &str) -> (&str, &str) {
    let begins_as_amount = |rest: &str| {
        let rest = rest.js_trim_start();
        rest.strip_prefix(['€', '$', '£', '¥'])
            .unwrap_or(rest)
            .js_trim_start()
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let colon = text
        .rmatch_indices(':')
        .map(|(index, _)| index)
        .find(|&index| index > 0 && begins_as_amount(&text[index + 1..]));
    colon.map_or((text, ""), |index| (text[..index].js_trim(), text[index + 1..].js_trim()))
}

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let nodes = group_into_categories(rune_use.content.take("children"));
    let (tags, rest): (Vec<MarkdocNode>, Vec<MarkdocNode>) =
        nodes.into_iter().partition(|node| node.kind == NodeType::Tag);
    let is_header = |node: &MarkdocNode| matches!(node.kind, NodeType::Paragraph | NodeType::Heading);
    let mut header = cx.render_nodes(rest.into_iter().filter(is_header).collect())?;
    SectionHeader::set_part_names(&mut header);
    let mut categories = cx.render_nodes(tags)?;
    categories.retain(|node| is_rune_root(node, "div", "budget-category"));

    let arguments = &rune_use.arguments;
    let currency = Currency::from_code(&to_js_string(&arguments.non_null_or("currency", "USD")));
    let mut total = 0.0;
    for category in &mut categories {
        set_field(category, "category");
        total += add_heading(category, &currency);
    }
    let duration = to_js_string(&arguments.non_null_or("duration", ""));
    let show_per_day = arguments.non_null_or("showPerDay", true);
    let days = duration_days(&duration);
    let per_day = (is_truthy(&show_per_day) && days > 0.0).then(|| total / days);
    let root = RootBuilder::new("budget", "section")
        .type_of("ItemList")
        .data_field("contentSection")
        .value("currency", arguments.non_null_or("currency", "USD"))
        .value("duration", duration)
        .value("showPerDay", to_js_string(&show_per_day))
        .value("variant", arguments.non_null_or("variant", "detailed"))
        .value("total", format_js_number(total))
        .value_if("perDay", per_day.map(format_js_number));
    let root = root.children(header).child(named_element("div", "categories", categories));
    Ok(root.child(footer_element(total, per_day, &currency)).build())
}

fn classed_element(element: &str, class: &str, children: impl IntoIterator<Item = RenderNode>) -> RenderNode {
    Element::new(element).with_attr("class", class).with_children(children).into()
}

/// Puts label and sum before a category; returns the sum.
fn add_heading(category: &mut RenderNode, currency: &Currency) -> f64 {
    let Some(tag) = category.as_element_mut() else { return 0.0 };
    let text = |name: &str| {
        tag.fields.get(name).filter(|value| !value.is_null()).map(to_js_string).unwrap_or_default()
    };
    let subtotal = parse_float(&text("subtotal")).unwrap_or(0.0);
    let heading = classed_element(
        "div",
        "rf-budget-category__header",
        [
            classed_element("span", "rf-budget-category__label", [text("label").into()]),
            classed_element("span", "rf-budget-category__subtotal", [currency.format(subtotal).into()]),
        ],
    );
    tag.children.insert(0, heading);
    subtotal
}

fn footer_element(total: f64, per_day: Option<f64>, currency: &Currency) -> RenderNode {
    let line = |name: &str, key: &str, label: &str, amount: f64| {
        let label_class = format!("rf-budget__{name}-label");
        let label = Element::new("span")
            .with_attr("class", label_class)
            .with_attr("data-i18n", key)
            .with_children([label.into()]);
        let amount =
            classed_element("span", &format!("rf-budget__{name}-amount"), [currency.format(amount).into()]);
        classed_element("div", &format!("rf-budget__{name}"), [label.into(), amount])
    };
    let total = line("total", "core.budget.total", "Total", total);
    let per_day = per_day.map(|amount| line("per-day", "core.budget.perDay", "Per day", amount));
    classed_element("div", "rf-budget__footer", std::iter::once(total).chain(per_day))
}

/// Converts headings and the nodes below them to categories. A first heading above deeper ones is the title.
fn group_into_categories(nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    let mut headings =
        nodes.iter().enumerate().filter_map(|(index, node)| Some((index, node_ext::heading_level(node)?)));
    let title_end = match (headings.next(), headings.next()) {
        (Some((_, first)), Some((index, second))) if first < second => index,
        _ => 0,
    };
    let mut before = nodes;
    let rest = before.split_off(title_end);
    match group_by_heading_or_list(rest, None) {
        Ok(grouped) => {
            before.extend(grouped.before);
            before.extend(grouped.groups.into_iter().map(|(heading, body)| to_category_node(&heading, body)));
        }
        Err(rest) => before.extend(rest),
    }
    before
}

fn to_category_node(heading: &MarkdocNode, body: Vec<MarkdocNode>) -> MarkdocNode {
    let text = node_ext::joined_text(heading, " ");
    let text = text.js_trim();
    let is_struck_through = heading.descendants().any(|node| node.kind == NodeType::Strikethrough);
    let (label, estimate) = match strip_estimate_mark(text) {
        Some(label) => (label, true),
        None => (text, is_struck_through),
    };
    let mut attributes = AttributeMap::new();
    attributes.insert("label", MarkdocValue::String(label.to_owned()));
    attributes.insert("estimate", MarkdocValue::Bool(estimate));
    node_ext::new_tag("budget-category", attributes, body)
}

/// `Fuel (est.)` and `~Fuel~` are estimates.
fn strip_estimate_mark(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    for mark in ["(estimate)", "(est.)", "(est)"] {
        if lower.ends_with(mark) {
            return text.get(..text.len() - mark.len()).map(str::js_trim).filter(|label| !label.is_empty());
        }
    }
    let inner = text.strip_prefix('~')?.strip_suffix('~')?;
    (!inner.is_empty()).then(|| inner.js_trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_item_is_split_at_the_amount() {
        assert_eq!(split_amount("Ferry: €12"), ("Ferry", "€12"));
        assert_eq!(split_amount("Day 1: hotel: 80-100"), ("Day 1: hotel", "80-100"));
        assert_eq!(split_amount("Snacks: few"), ("Snacks: few", ""));
    }

    #[test]
    fn estimate_marks_are_stripped() {
        assert_eq!(strip_estimate_mark("Fuel (Estimate) "), None, "the caller trims");
        assert_eq!(strip_estimate_mark("Fuel (Est.)"), Some("Fuel"));
        assert_eq!(strip_estimate_mark("~Fuel~"), Some("Fuel"));
        assert_eq!(strip_estimate_mark("Fuel"), None);
    }
}
