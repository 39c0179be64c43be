//! Stage 3 of rendering, the identity transform: applies the engine configuration to expanded elements.
//!
//! A rune is expanded to a bare element with values and named parts. This stage adds classes and data attributes, turns
//! values into blocks, places the parts, and does the same for all nested runes. It does not depend on rune names: it
//! only reads the catalogue's [`EngineConfig`].
//!
//! `root_style` computes the root's attributes (modifiers, tint, width, backdrop and so on), `assembly` and `block`
//! build the children, `parts` adds classes to named parts, `rune` runs these steps in order.

mod assembly;
mod backdrop;
mod block;
mod checklist;
mod cover;
mod find;
mod label;
mod list_markers;
mod modifiers;
mod parts;
mod post_transform;
mod projection;
mod reading_mode;
mod root_style;
mod rune;
mod rune_input;
mod style;
mod surface;
mod surface_style;
mod tint;

use std::borrow::Cow;

use crate::catalogue::{Catalogue, EngineConfig};
use crate::js_value::is_truthy;
use crate::render_tree::{Element, RenderNode};

/// Transforms a tree.
pub fn transform(catalogue: &Catalogue, mut tree: RenderNode) -> RenderNode {
    Engine { catalogue }.transform_node(&mut tree, None);
    tree
}

/// The rune that encloses a node.
#[derive(Clone, Copy)]
struct ParentRune<'a> {
    /// Its `data-rune`.
    rune: &'a str,
    /// Density for its nested runes.
    child_density: Option<&'a str>,
}

/// One run of the transform.
struct Engine<'a> {
    catalogue: &'a Catalogue,
}

impl<'a> Engine<'a> {
    /// Transforms a node and its descendants.
    fn transform_node(&self, node: &mut RenderNode, parent: Option<ParentRune<'_>>) {
        let Some(tag) = node.as_element_mut() else { return };
        if tag.attributes.get(label::I18N_ATTRIBUTE).is_some_and(is_truthy) {
            label::strip_i18n(tag);
        } else if let Some((rune, config)) = self.config_of(tag) {
            rune::transform(self, tag, rune, config, parent);
        } else {
            // No configuration consumes the fields, so the page shows them.
            if let Cow::Owned(attributes) = tag.attributes_with_fields() {
                tag.attributes = attributes;
                tag.fields.clear();
            }
            checklist::mark_checked(tag);
            for child in &mut tag.children {
                self.transform_node(child, parent);
            }
        }
    }

    /// The name and the configuration of the rune whose root a tag is.
    fn config_of(&self, tag: &Element) -> Option<(&'a str, &'a EngineConfig)> {
        let rune = tag.attr_str("data-rune").filter(|rune| !rune.is_empty())?;
        self.catalogue.engine_config_by_data_rune(rune)
    }
}
