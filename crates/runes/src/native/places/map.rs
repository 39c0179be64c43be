//! Maps: each list item is a pin.
//!
//! Native because a pin is read from prose: bold text names it, italics describe it, a link leads on, two numbers place it, and
//! what is left over is its address.

use std::sync::LazyLock;

use quad_markdoc::{Node as Parsed, NodeType};
use regex::Regex;

use crate::content::ast;
use crate::schema::component::{Component, field, is_rune, part};
use crate::schema::context::Result;
use crate::schema::{Call, Context};
use crate::tree::Node;
use crate::value::to_text;

/// Latitude and longitude: `48.8566, 2.3522`.
static COORDINATES: LazyLock<Option<Regex>> =
    LazyLock::new(|| Regex::new(r"(-?[0-9]+\.?[0-9]*)\s*,\s*(-?[0-9]+\.?[0-9]*)").ok());

pub(super) fn transform(mut call: Call<'_>, out: &mut Context<'_>) -> Result<Node> {
    let mut pins = out.nodes(with_pins(call.content.take("children")))?;
    pins.retain(|node| is_rune(node, "li", "map-pin"));
    pins.iter_mut().for_each(|node| field(node, "pin"));
    let mut root = Component::new("map", "rf-map").type_of("Place");
    let texts = [
        ("zoom", ""),
        ("center", ""),
        ("variant", "street"),
        ("height", "medium"),
        ("provider", "openstreetmap"),
    ];
    for (name, otherwise) in texts {
        root = root.value(name, call.arguments.value_or(name, otherwise));
    }
    for (name, otherwise) in [("interactive", true), ("route", false), ("cluster", false)] {
        root = root.value(name, to_text(&call.arguments.value_or(name, otherwise)));
    }
    Ok(root.child(part("ol", "pins", pins)).build())
}

/// Lists become pins, in the group that the heading above them names.
fn with_pins(nodes: Vec<Parsed>) -> Vec<Parsed> {
    let mut group = String::new();
    let mut found = Vec::new();
    for node in nodes {
        match node.kind {
            NodeType::Heading => group = ast::text_of(&node, ""),
            NodeType::List => {
                let items = node.children.iter().filter(|item| item.kind == NodeType::Item);
                found.extend(items.map(|item| Place::read(item).pin(&group)));
            }
            _ => found.push(node),
        }
    }
    found
}

/// What a list item says about a place.
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
    fn read(item: &Parsed) -> Place {
        let mut place = Place::default();
        for node in item.walk() {
            match node.kind {
                NodeType::Strong => place.name = ast::text_of(node, ""),
                NodeType::Em if place.description.is_empty() => place.description = ast::text_of(node, ""),
                NodeType::Link => place.url = node.attributes.text("href").unwrap_or_default().to_owned(),
                _ => {}
            }
        }
        let text = ast::text_of(item, "");
        let mut left = text.replacen(&place.name, "", 1).replacen(&place.description, "", 1);
        if let Some(found) = COORDINATES.as_ref().and_then(|pattern| pattern.captures(&left)) {
            let part = |at: usize| found.get(at).map(|part| part.as_str().to_owned()).unwrap_or_default();
            (place.latitude, place.longitude) = (part(1), part(2));
            left = left.replacen(&part(0), "", 1);
        }
        let words = left.split(|c: char| c.is_whitespace() || matches!(c, '-' | '–' | '—'));
        place.address = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
        if place.name.is_empty() {
            place.name = if !place.address.is_empty() {
                place.address.clone()
            } else if place.latitude.is_empty() && place.longitude.is_empty() {
                text.trim().to_owned()
            } else {
                format!("{}, {}", place.latitude, place.longitude)
            };
        }
        place
    }

    /// The tag that the place becomes.
    fn pin(self, group: &str) -> Parsed {
        let attributes = [
            ("name", self.name),
            ("description", self.description),
            ("lat", self.latitude),
            ("lng", self.longitude),
            ("address", self.address),
            ("url", self.url),
            ("group", group.to_owned()),
        ];
        ast::tag_with("map-pin", attributes, Vec::new())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(source: &str) -> Place {
        let root = quad_markdoc::parse(source).unwrap().root;
        Place::read(root.walk().find(|node| node.kind == NodeType::Item).unwrap())
    }

    #[test]
    fn a_place_is_read_from_prose() {
        let place = read("- **Quay** - *old* - 62.01, -6.77");
        assert_eq!(
            (place.name.as_str(), place.description.as_str(), place.address.as_str()),
            ("Quay", "old", "")
        );
        assert_eq!((place.latitude.as_str(), place.longitude.as_str()), ("62.01", "-6.77"));
        assert_eq!(read("- [**Pier**](/p) — Main street").url, "/p");
        assert_eq!(read("- [**Pier**](/p) — Main street").address, "Main street");
        assert_eq!(read("- Main street, 4").name, "Main street, 4");
        assert_eq!(read("- 61.5,-6.8").name, "61.5, -6.8");
    }
}
