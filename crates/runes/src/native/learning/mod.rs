//! Native runes of the package `learning`, one file each.

mod howto;
mod recipe;

use super::RuneTransform;
use crate::expand::root_builder::{new_element, set_name, set_rdfa_property};
use crate::render_tree::RenderNode;

/// The transform of a rune of this package.
pub(super) fn find_transform(rune: &str) -> Option<RuneTransform> {
    Some(match rune {
        "howto" => howto::transform,
        "recipe" => recipe::transform,
        _ => return None,
    })
}

/// The kind of a list item: its part name and its structured data.
struct ItemKind {
    part: &'static str,
    type_of: &'static str,
    property: &'static str,
    /// RDFa property of the item's text.
    text_property: &'static str,
}

impl ItemKind {
    /// Marks the items of a list. Their text becomes a paragraph with a property.
    fn mark_items(&self, items: &mut [RenderNode]) {
        for item in items {
            set_name(item, self.part);
            item.set_attr("typeof", self.type_of);
            set_rdfa_property(item, self.property);
            if let Some(tag) = item.as_element_mut() {
                let mut paragraph = new_element("p", std::mem::take(&mut tag.children));
                set_rdfa_property(&mut paragraph, self.text_property);
                tag.children.push(paragraph);
            }
        }
    }
}

/// Takes the items of all lists with this element.
fn take_list_items(nodes: &mut [RenderNode], list: &str) -> Vec<RenderNode> {
    let lists = nodes.iter_mut().filter_map(RenderNode::as_element_mut).filter(|tag| tag.is(list));
    lists.flat_map(|tag| std::mem::take(&mut tag.children)).collect()
}
