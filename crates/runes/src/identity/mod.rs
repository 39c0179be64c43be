//! The identity transform: what configuration makes of the elements that runes emit.
//!
//! A rune hands over a bare element with values and named parts; this stage gives it classes and data attributes, projects
//! values into blocks, puts parts into their places and does the same with whatever stands within. It decides nothing by the
//! name of a rune: all it knows is the catalogue's [`EngineConfig`].
//!
//! [`look`] works out how an element presents itself (modifiers, tint, width, backdrop and so on), [`assembly`] and [`block`]
//! build what is within, [`element`] names the parts, [`rune`] joins them in order.

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

use crate::catalogue::{Catalogue, EngineConfig, kebab_case, pascal_case};
use crate::js_value::is_truthy;
use crate::render_tree::{Element, RenderNode};

/// What the engine makes of a tree.
pub fn transform(catalogue: &Catalogue, mut tree: RenderNode) -> RenderNode {
    Engine { catalogue }.transform_node(&mut tree, None);
    tree
}

/// The rune that stands around a node.
#[derive(Clone, Copy)]
struct ParentRune<'a> {
    /// Its `data-rune`.
    rune: &'a str,
    /// Density that it wants for the runes within.
    child_density: Option<&'a str>,
}

/// One run of the transform.
struct Engine<'a> {
    catalogue: &'a Catalogue,
}

impl<'a> Engine<'a> {
    /// Transforms a node and everything within.
    fn transform_node(&self, node: &mut RenderNode, parent: Option<ParentRune<'_>>) {
        let Some(tag) = node.as_element_mut() else { return };
        if tag.attributes.get(label::I18N_ATTRIBUTE).is_some_and(is_truthy) {
            label::strip_i18n(tag);
        } else if let Some((type_name, config)) = self.config_of(tag) {
            rune::transform(self, tag, type_name, config, parent);
        } else {
            checklist::mark_checked(tag);
            for child in &mut tag.children {
                self.transform_node(child, parent);
            }
        }
    }

    /// The configuration of the rune that a tag is the root of, with the name of its type.
    fn config_of(&self, tag: &Element) -> Option<(&'a str, &'a EngineConfig)> {
        let rune = tag.attr_str("data-rune").filter(|rune| !rune.is_empty())?;
        let engine = self.catalogue.engine_configs();
        let exact = engine.get_key_value(&pascal_case(rune)).filter(|(name, _)| kebab_case(name) == rune);
        // A type whose name has capitals in a row does not come back from its kebab case.
        let entry = exact.or_else(|| engine.iter().find(|(name, _)| kebab_case(name) == rune))?;
        Some((entry.0.as_str(), entry.1))
    }
}
