//! `pricing` and `tier`: native because headings of the form "Name — Price" become tiers and a price is read for its number.

use quad_markdoc::Node as Parsed;
use serde_json::Value;

use crate::content::headings::Grouped;
use crate::content::{ast, headings};
use crate::schema::component::{each_within, element, field, part, property, structured};
use crate::schema::context::Result;
use crate::schema::header::{Header, is_element, is_heading};
use crate::schema::text::shown;
use crate::schema::{Call, Component, Context};
use crate::tree::{Node, Tag};
use crate::value::to_text;

/// What a price begins with, and the money that it is then.
const CURRENCIES: [(&str, &str); 9] = [
    ("$", "USD"),
    ("€", "EUR"),
    ("£", "GBP"),
    ("¥", "JPY"),
    ("₹", "INR"),
    ("kr", "SEK"),
    ("CHF", "CHF"),
    ("A$", "AUD"),
    ("C$", "CAD"),
];

/// The money of a price that does not say.
const CURRENCY: &str = "USD";

pub(super) fn transform(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let mut content = call.content;
    let nodes = context.nodes(tiers_of_headings(content.take("content")))?;
    let (mut tiers, others): (Vec<Node>, Vec<Node>) =
        nodes.into_iter().partition(|node| is_element(node, "li"));
    let mut header: Vec<Node> =
        others.into_iter().filter(|node| is_heading(node) || is_element(node, "p")).collect();
    Header::name(&mut header).describe(&mut header);
    for tier in &mut tiers {
        field(tier, "tier");
        property(tier, "offers");
    }
    let list = Tag::new("ul")
        .with("data-layout", "grid")
        .with("data-columns", tiers.len())
        .with("data-name", "tiers")
        .holding(tiers);
    Ok(Component::new("pricing", "section")
        .property("contentSection")
        .type_of("Product")
        .child(element("header", header))
        .child(list)
        .build())
}

/// Headings that name a price become tiers with what stands below them. The first of them tells the level; others of that
/// level stay as they are.
fn tiers_of_headings(nodes: Vec<Parsed>) -> Vec<Parsed> {
    let is_offer = |node: &Parsed| ast::heading_level(node).is_some() && offer(node).is_some();
    let Some(level) = nodes.iter().find(|node| is_offer(node)).and_then(ast::heading_level) else {
        return nodes;
    };
    let Grouped { before: mut result, groups } = match headings::below_headings(nodes, Some(level)) {
        Ok(grouped) => grouped,
        Err(nodes) => return nodes,
    };
    for (heading, body) in groups {
        match offer(&heading) {
            Some([name, price]) => {
                result.push(ast::tag_with("tier", [("name", name), ("price", price)], body))
            }
            None => {
                result.push(heading);
                result.extend(body);
            }
        }
    }
    result
}

/// Name and price in a heading: what stands before and after the first dash that has something on both sides.
fn offer(heading: &Parsed) -> Option<[String; 2]> {
    let text = ast::text_of(heading, " ");
    let dashes = text.char_indices().skip(1).filter(|(_, c)| matches!(c, '-' | '–' | '—'));
    let mut offers =
        dashes.filter_map(|(at, dash)| Some((text.get(..at)?, text.get(at + dash.len_utf8()..)?)));
    let (name, price) = offers.find(|(_, price)| !price.is_empty())?;
    Some([name.trim().to_owned(), price.trim().to_owned()])
}

pub(super) fn transform_tier(call: Call<'_>, context: &mut Context<'_>) -> Result<Node> {
    let Call { arguments, mut content, .. } = call;
    let mut body = context.nodes(content.take("body"))?;
    if let Some(paragraph) = body.iter_mut().find(|node| is_element(node, "p")) {
        field(paragraph, "description");
    }
    each_within(&mut body, "a", &|link| field(link, "url"));
    let price = arguments.text("price").or_else(|| arguments.text("priceMonthly")).unwrap_or_default();
    let mut name = part("h1", "name", [shown(arguments.get("name"))]);
    property(&mut name, "name");
    let rune = if arguments.is_given("featured") { "featured-tier" } else { "tier" };
    let currency = arguments.given("currency").cloned();
    let money = currency.clone().unwrap_or_else(|| currency_of(&price).into());
    Ok(Component::new(rune, "li")
        .type_of("Offer")
        .value_if("currency", currency)
        .child(name)
        .child(part("p", "price", [Node::from(price.as_str())]))
        .child_if(structured("price", Some(&Value::from(amount_of(&price)))))
        .child_if(structured("priceCurrency", Some(&Value::from(to_text(&money)))))
        .child(part("div", "body", body))
        .build())
}

/// The first run of digits and points in a price; without one the price itself.
fn amount_of(price: &str) -> &str {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let Some(from) = price.find(is_digit) else { return price };
    let rest = price.get(from..).unwrap_or_default();
    rest.find(|c| !is_digit(c)).and_then(|end| rest.get(..end)).unwrap_or(rest)
}

fn currency_of(price: &str) -> &'static str {
    CURRENCIES.iter().find(|(sign, _)| price.starts_with(sign)).map_or(CURRENCY, |(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prices_are_read() {
        let read = |price| (amount_of(price), currency_of(price));
        assert_eq!(read("€250/mo"), ("250", "EUR"));
        assert_eq!(read("C$12.50 / week"), ("12.50", "CAD"));
        assert_eq!(read("kr 90"), ("90", "SEK"));
        assert_eq!(read("Free"), ("Free", "USD"));
        assert_eq!(read(""), ("", "USD"));
    }
}
