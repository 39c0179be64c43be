//! The native runes of the package `learning`, one file each.

mod howto;
mod recipe;

use super::Transform;
use crate::schema::component::{element, name, property};
use crate::tree::Node;

/// The transform of a rune of this package.
pub(super) fn find(rune: &str) -> Option<Transform> {
    Some(match rune {
        "howto" => howto::transform,
        "recipe" => recipe::transform,
        _ => return None,
    })
}

/// What an item of a list is: its name as a part, and its place in the structured data.
struct Kind {
    part: &'static str,
    type_of: &'static str,
    property: &'static str,
    /// What its words are to it.
    words: &'static str,
}

impl Kind {
    /// Marks the items of a list. Their words become a paragraph that tells what they are.
    fn mark(&self, items: &mut [Node]) {
        for item in items {
            name(item, self.part);
            item.set("typeof", self.type_of);
            property(item, self.property);
            if let Some(tag) = item.as_tag_mut() {
                let mut words = element("p", std::mem::take(&mut tag.children));
                property(&mut words, self.words);
                tag.children.push(words);
            }
        }
    }
}

/// The items of lists of this element, taken out.
fn items(nodes: &mut [Node], list: &str) -> Vec<Node> {
    let lists = nodes.iter_mut().filter_map(Node::as_tag_mut).filter(|tag| tag.is(list));
    lists.flat_map(|tag| std::mem::take(&mut tag.children)).collect()
}
