//! A budget: categories below headings, items as `what: amount`, and the sums of both.
//!
//! Native because amounts are read and added up.

use quad_markdoc::{Map, Node as Parsed, NodeType, Value as Written};

use super::money::{Currency, days, parse_amount};
use crate::content::ast;
use crate::content::headings::group;
use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::header::Header;
use crate::schema::rune::values_of;
use crate::schema::{Call, Context};
use crate::tree::{Node, Tag};
use crate::value::{leading_number, number_text, to_text, truthy};

pub(super) fn category(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes: Vec<Parsed> = call.content.take("children").into_iter().flat_map(line_items).collect();
    let subtotal: f64 = nodes.iter().filter(|node| node.is_tag("budget-line-item")).map(amount_of).sum();
    let mut items = out.nodes(nodes)?;
    items.retain(|node| is_rune(node, "li", "budget-line-item"));
    items.iter_mut().for_each(|item| field(item, "lineItem"));
    let estimate = if call.arguments.is_given("estimate") { "estimate" } else { "false" };
    let root = Component::new("budget-category", "div")
        .value("label", call.arguments.value_or("label", ""))
        .value("estimate", estimate)
        .value("subtotal", number_text(subtotal));
    Ok(root.child(part("ul", "line-items", items)).build())
}

fn amount_of(item: &Parsed) -> f64 {
    item.attributes.text("amount").map_or(0.0, parse_amount)
}

/// The items of a list as runes; every other node as it is.
fn line_items(node: Parsed) -> Vec<Parsed> {
    if node.kind != NodeType::List {
        return vec![node];
    }
    let item = |item: &Parsed| {
        let text = ast::text_of(item, " ");
        let (what, amount) = described_amount(text.trim());
        let attributes = [("description", what.to_owned()), ("amount", amount.to_owned())];
        ast::tag_with("budget-line-item", attributes, Vec::new())
    };
    node.children.iter().map(item).collect()
}

/// `Ferry: €12` → `Ferry` and `€12`, parted at the last colon before something that begins as an amount does.
fn described_amount(text: &str) -> (&str, &str) {
    let begins_as_amount = |rest: &str| {
        let rest = rest.trim_start();
        rest.strip_prefix(['€', '$', '£', '¥'])
            .unwrap_or(rest)
            .trim_start()
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let found =
        text.rmatch_indices(':').map(|(at, _)| at).find(|&at| at > 0 && begins_as_amount(&text[at + 1..]));
    found.map_or((text, ""), |at| (text[..at].trim(), text[at + 1..].trim()))
}

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let nodes = with_categories(call.content.take("children"));
    let (tags, rest): (Vec<Parsed>, Vec<Parsed>) =
        nodes.into_iter().partition(|node| node.kind == NodeType::Tag);
    let is_header = |node: &Parsed| matches!(node.kind, NodeType::Paragraph | NodeType::Heading);
    let mut header = out.nodes(rest.into_iter().filter(is_header).collect())?;
    Header::name(&mut header);
    let mut categories = out.nodes(tags)?;
    categories.retain(|node| is_rune(node, "div", "budget-category"));

    let arguments = &call.arguments;
    let currency = Currency::of(&to_text(&arguments.value_or("currency", "USD")));
    let mut total = 0.0;
    for category in &mut categories {
        field(category, "category");
        total += add_heading(category, &currency);
    }
    let duration = to_text(&arguments.value_or("duration", ""));
    let show_per_day = arguments.value_or("showPerDay", true);
    let days = days(&duration);
    let per_day = (truthy(&show_per_day) && days > 0.0).then(|| total / days);
    let root = Component::new("budget", "section")
        .type_of("ItemList")
        .property("contentSection")
        .value("currency", arguments.value_or("currency", "USD"))
        .value("duration", duration)
        .value("showPerDay", to_text(&show_per_day))
        .value("variant", arguments.value_or("variant", "detailed"))
        .value("total", number_text(total))
        .value_if("perDay", per_day.map(number_text));
    let root = root.children(header).child(part("div", "categories", categories));
    Ok(root.child(footer(total, per_day, &currency)).build())
}

fn styled(element: &str, class: &str, children: impl IntoIterator<Item = Node>) -> Node {
    Tag::new(element).with("class", class).holding(children).into()
}

/// Puts label and sum in front of a category; returns the sum.
fn add_heading(category: &mut Node, currency: &Currency) -> f64 {
    let Some(tag) = category.as_tag_mut() else { return 0.0 };
    let values = values_of(tag);
    let text =
        |name: &str| values.get(name).filter(|value| !value.is_null()).map(to_text).unwrap_or_default();
    let subtotal = leading_number(&text("subtotal")).unwrap_or(0.0);
    let heading = styled(
        "div",
        "rf-budget-category__header",
        [
            styled("span", "rf-budget-category__label", [text("label").into()]),
            styled("span", "rf-budget-category__subtotal", [currency.print(subtotal).into()]),
        ],
    );
    tag.children.insert(0, heading);
    subtotal
}

fn footer(total: f64, per_day: Option<f64>, currency: &Currency) -> Node {
    let line = |name: &str, key: &str, label: &str, amount: f64| {
        let label_class = format!("rf-budget__{name}-label");
        let label =
            Tag::new("span").with("class", label_class).with("data-i18n", key).holding([label.into()]);
        let amount = styled("span", &format!("rf-budget__{name}-amount"), [currency.print(amount).into()]);
        styled("div", &format!("rf-budget__{name}"), [label.into(), amount])
    };
    let total = line("total", "core.budget.total", "Total", total);
    let per_day = per_day.map(|amount| line("per-day", "core.budget.perDay", "Per day", amount));
    styled("div", "rf-budget__footer", std::iter::once(total).chain(per_day))
}

/// Headings with what stands below them as categories. A first heading above deeper ones is the title.
fn with_categories(nodes: Vec<Parsed>) -> Vec<Parsed> {
    let mut headings =
        nodes.iter().enumerate().filter_map(|(at, node)| Some((at, ast::heading_level(node)?)));
    let title_ends = match (headings.next(), headings.next()) {
        (Some((_, first)), Some((at, second))) if first < second => at,
        _ => 0,
    };
    let mut before = nodes;
    let rest = before.split_off(title_ends);
    match group(rest, None) {
        Ok(grouped) => {
            before.extend(grouped.before);
            before.extend(grouped.groups.into_iter().map(|(heading, body)| category_of(&heading, body)));
        }
        Err(rest) => before.extend(rest),
    }
    before
}

fn category_of(heading: &Parsed, body: Vec<Parsed>) -> Parsed {
    let text = ast::text_of(heading, " ");
    let text = text.trim();
    let struck = heading.walk().any(|node| node.kind == NodeType::Strikethrough);
    let (label, estimate) = match without_estimate_mark(text) {
        Some(label) => (label, true),
        None => (text, struck),
    };
    let mut attributes = Map::new();
    attributes.insert("label", Written::String(label.to_owned()));
    attributes.insert("estimate", Written::Bool(estimate));
    ast::tag("budget-category", attributes, body)
}

/// `Fuel (est.)` and `~Fuel~` are estimates.
fn without_estimate_mark(text: &str) -> Option<&str> {
    let lower = text.to_ascii_lowercase();
    for mark in ["(estimate)", "(est.)", "(est)"] {
        if lower.ends_with(mark) {
            return text.get(..text.len() - mark.len()).map(str::trim).filter(|label| !label.is_empty());
        }
    }
    let inner = text.strip_prefix('~')?.strip_suffix('~')?;
    (!inner.is_empty()).then(|| inner.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_parted_at_the_amount() {
        assert_eq!(described_amount("Ferry: €12"), ("Ferry", "€12"));
        assert_eq!(described_amount("Day 1: hotel: 80-100"), ("Day 1: hotel", "80-100"));
        assert_eq!(described_amount("Snacks: few"), ("Snacks: few", ""));
    }

    #[test]
    fn estimates_are_marked() {
        assert_eq!(without_estimate_mark("Fuel (Estimate) "), None, "the caller trims");
        assert_eq!(without_estimate_mark("Fuel (Est.)"), Some("Fuel"));
        assert_eq!(without_estimate_mark("~Fuel~"), Some("Fuel"));
        assert_eq!(without_estimate_mark("Fuel"), None);
    }
}
