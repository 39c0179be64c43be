//! `pricing` and `tier`. Native: headings "Name — Price" become tiers, and the amount is parsed from the price.

use quad_markdoc::Node as MarkdocNode;
use serde_json::Value;

use crate::content::headings::HeadingGroups;
use crate::content::{headings, node_ext};
use crate::expand::header::{SectionHeader, is_element, is_heading};
use crate::expand::render_context::Result;
use crate::expand::root_builder::{
    for_each_descendant, named_element, new_element, rdfa_meta_element, set_field, set_rdfa_property,
};
use crate::expand::text::text_node;
use crate::expand::{RenderContext, RootBuilder, RuneUse};
use crate::js_value::{JsTrim, to_js_string};
use crate::render_tree::{Element, RenderNode};

/// Prefix of a price → currency code.
const CURRENCY_SIGNS: [(&str, &str); 9] = [
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

/// Currency of a price without a symbol.
const DEFAULT_CURRENCY: &str = "USD";

pub(super) fn transform(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut content = rune_use.content;
    let nodes = cx.render_nodes(headings_to_tiers(content.take("content")))?;
    let (mut tiers, others): (Vec<RenderNode>, Vec<RenderNode>) =
        nodes.into_iter().partition(|node| is_element(node, "li"));
    let mut header: Vec<RenderNode> =
        others.into_iter().filter(|node| is_heading(node) || is_element(node, "p")).collect();
    SectionHeader::set_part_names(&mut header).set_rdfa_properties(&mut header);
    for tier in &mut tiers {
        set_field(tier, "tier");
        set_rdfa_property(tier, "offers");
    }
    let list = Element::new("ul")
        .with_attr("data-layout", "grid")
        .with_attr("data-columns", tiers.len())
        .with_attr("data-name", "tiers")
        .with_children(tiers);
    Ok(RootBuilder::new("pricing", "section")
        .data_field("contentSection")
        .type_of("Product")
        .child(new_element("header", header))
        .child(list)
        .build())
}

/// Converts headings with a price, and the nodes below them, to tiers. The first one determines the level; other
/// headings of that level stay unchanged.
fn headings_to_tiers(nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    let is_tier_heading =
        |node: &MarkdocNode| node_ext::heading_level(node).is_some() && name_and_price(node).is_some();
    let Some(level) = nodes.iter().find(|node| is_tier_heading(node)).and_then(node_ext::heading_level)
    else {
        return nodes;
    };
    let HeadingGroups { before: mut result, groups } = match headings::group_by_heading(nodes, Some(level)) {
        Ok(grouped) => grouped,
        Err(nodes) => return nodes,
    };
    for (heading, body) in groups {
        match name_and_price(&heading) {
            Some([name, price]) => {
                result.push(node_ext::new_tag_with("tier", [("name", name), ("price", price)], body))
            }
            None => {
                result.push(heading);
                result.extend(body);
            }
        }
    }
    result
}

/// Name and price of a heading: the text before and after the first dash with text on both sides.
fn name_and_price(heading: &MarkdocNode) -> Option<[String; 2]> {
    let text = node_ext::joined_text(heading, " ");
    let dashes = text.char_indices().skip(1).filter(|(_, c)| matches!(c, '-' | '–' | '—'));
    let mut offers =
        dashes.filter_map(|(index, dash)| Some((text.get(..index)?, text.get(index + dash.len_utf8()..)?)));
    let (name, price) = offers.find(|(_, price)| !price.is_empty())?;
    Some([name.js_trim().to_owned(), price.js_trim().to_owned()])
}

pub(super) fn transform_tier(rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let RuneUse { arguments, mut content, .. } = rune_use;
    let mut body = cx.render_nodes(content.take("body"))?;
    if let Some(paragraph) = body.iter_mut().find(|node| is_element(node, "p")) {
        set_field(paragraph, "description");
    }
    for_each_descendant(&mut body, "a", &|link| set_field(link, "url"));
    let price = arguments.text("price").or_else(|| arguments.text("priceMonthly")).unwrap_or_default();
    let mut name = named_element("h1", "name", [text_node(arguments.get("name"))]);
    set_rdfa_property(&mut name, "name");
    let rune = if arguments.is_truthy("featured") { "featured-tier" } else { "tier" };
    let currency = arguments.truthy("currency").cloned();
    let currency_code = currency.clone().unwrap_or_else(|| price_currency(&price).into());
    Ok(RootBuilder::new(rune, "li")
        .type_of("Offer")
        .value_if("currency", currency)
        .child(name)
        .child(named_element("p", "price", [RenderNode::from(price.as_str())]))
        .child_if(rdfa_meta_element("price", Some(&Value::from(price_amount(&price)))))
        .child_if(rdfa_meta_element("priceCurrency", Some(&Value::from(to_js_string(&currency_code)))))
        .child(named_element("div", "body", body))
        .build())
}

/// The first run of digits and points in a price, or the whole price.
fn price_amount(price: &str) -> &str {
    let is_digit = |c: char| c.is_ascii_digit() || c == '.';
    let Some(start) = price.find(is_digit) else { return price };
    let rest = price.get(start..).unwrap_or_default();
    rest.find(|c| !is_digit(c)).and_then(|end| rest.get(..end)).unwrap_or(rest)
}

fn price_currency(price: &str) -> &'static str {
    CURRENCY_SIGNS.iter().find(|(sign, _)| price.starts_with(sign)).map_or(DEFAULT_CURRENCY, |(_, code)| code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_amount_and_currency_are_parsed() {
        let read = |price| (price_amount(price), price_currency(price));
        assert_eq!(read("€250/mo"), ("250", "EUR"));
        assert_eq!(read("C$12.50 / week"), ("12.50", "CAD"));
        assert_eq!(read("kr 90"), ("90", "SEK"));
        assert_eq!(read("Free"), ("Free", "USD"));
        assert_eq!(read(""), ("", "USD"));
    }
}
