//! Maps: each list item is a pin.
//!
//! Native: a pin is parsed from prose: bold text is its name, italics its description, a link its URL, two numbers its
//! coordinates, and the remaining text its address.

use std::sync::LazyLock;

use quad_markdoc::{Node as MarkdocNode, NodeType};

use crate::content::node_ext;
use crate::expand::render_context::Result;
use crate::expand::root_builder::{RootBuilder, is_rune_root, named_element, set_field};
use crate::expand::{RenderContext, RuneUse};
use crate::js_regex::JsRegex;
use crate::js_value::{JsTrim, is_js_whitespace, to_js_string};
use crate::render_tree::RenderNode;

/// Latitude and longitude: `48.8566, 2.3522`.
static COORDINATES: LazyLock<Option<JsRegex>> =
    LazyLock::new(|| JsRegex::new(r"(-?[0-9]+\.?[0-9]*)\s*,\s*(-?[0-9]+\.?[0-9]*)").ok());

pub(super) fn transform(mut rune_use: RuneUse<'_>, cx: &mut RenderContext<'_>) -> Result<RenderNode> {
    let mut pins = cx.render_nodes(lists_to_pins(rune_use.content.take("children")))?;
    pins.retain(|node| is_rune_root(node, "li", "map-pin"));
    pins.iter_mut().for_each(|node| set_field(node, "pin"));
    let mut root = RootBuilder::new("map", "rf-map").type_of("Place");
    let texts = [
        ("zoom", ""),
        ("center", ""),
        ("variant", "street"),
        ("height", "medium"),
        ("provider", "openstreetmap"),
    ];
    for (name, default) in texts {
        root = root.value(name, rune_use.arguments.non_null_or(name, default));
    }
    for (name, default) in [("interactive", true), ("route", false), ("cluster", false)] {
        root = root.value(name, to_js_string(&rune_use.arguments.non_null_or(name, default)));
    }
    Ok(root.child(named_element("ol", "pins", pins)).build())
}

/// Converts list items to pins, in the group of the heading above.
fn lists_to_pins(nodes: Vec<MarkdocNode>) -> Vec<MarkdocNode> {
    let mut group = String::new();
    let mut converted = Vec::new();
    for node in nodes {
        match node.kind {
            NodeType::Heading => group = node_ext::joined_text(&node, ""),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                converted.extend(items.map(|item| Place::read(item).into_pin_node(&group)));
            }
            _ => converted.push(node),
        }
    }
    converted
}

/// A place, parsed from a list item.
#[derive(Debug, Default, PartialEq)]
struct Place {
    name: String,
    description: String,
    latitude: String,
    longitude: String,
    address: String,
    url: String,
}

impl Place {
    fn read(item: &MarkdocNode) -> Place {
        let mut place = Place::default();
        for node in item.descendants() {
            match node.kind {
                NodeType::Strong => place.name = node_ext::joined_text(node, ""),
                NodeType::Em if place.description.is_empty() => {
                    place.description = node_ext::joined_text(node, "")
                }
                NodeType::Link => place.url = node.attributes.get_str("href").unwrap_or_default().to_owned(),
                _ => {}
            }
        }
        let text = node_ext::joined_text(item, "");
        let mut remaining = text.replacen(&place.name, "", 1).replacen(&place.description, "", 1);
        if let Some(captures) = COORDINATES.as_ref().and_then(|pattern| pattern.captures(&remaining)) {
            let part = |group_index: usize| {
                captures.get(group_index).map(|part| part.as_str().to_owned()).unwrap_or_default()
            };
            (place.latitude, place.longitude) = (part(1), part(2));
            remaining = remaining.replacen(&part(0), "", 1);
        }
        let words = remaining.split(|c: char| is_js_whitespace(c) || matches!(c, '-' | '–' | '—'));
        place.address = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if place.name.is_empty() {
            place.name = if !place.address.is_empty() {
                place.address.clone()
            } else if place.latitude.is_empty() && place.longitude.is_empty() {
                text.js_trim().to_owned()
            } else {
                format!("{}, {}", place.latitude, place.longitude)
            };
        }
        place
    }

    /// Converts the place to a tag.
    fn into_pin_node(self, group: &str) -> MarkdocNode {
        let attributes = [
            ("name", self.name),
            ("description", self.description),
            ("lat", self.latitude),
            ("lng", self.longitude),
            ("address", self.address),
            ("url", self.url),
            ("group", group.to_owned()),
        ];
        node_ext::new_tag_with("map-pin", attributes, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_place(source: &str) -> Place {
        let root = quad_markdoc::parse(source).unwrap().root;
        Place::read(root.descendants().find(|node| node.kind == NodeType::Item).unwrap())
    }

    #[test]
    fn place_is_parsed_from_list_item_text() {
        let place = read_place("- **Quay** - *old* - 62.01, -6.77");
        assert_eq!(
            (place.name.as_str(), place.description.as_str(), place.address.as_str()),
            ("Quay", "old", "")
        );
        assert_eq!((place.latitude.as_str(), place.longitude.as_str()), ("62.01", "-6.77"));
        assert_eq!(read_place("- [**Pier**](/p) — Main street").url, "/p");
        assert_eq!(read_place("- [**Pier**](/p) — Main street").address, "Main street");
        assert_eq!(read_place("- Main street, 4").name, "Main street, 4");
        assert_eq!(read_place("- 61.5,-6.8").name, "61.5, -6.8");
    }
}
