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
mod chrome;
mod cover;
mod element;
mod find;
mod hook;
mod label;
mod look;
mod modifiers;
mod projection;
mod reading;
mod rune;
mod sequence;
mod style;
mod subject;
mod surface;
mod tint;

use crate::catalogue::{Catalogue, EngineConfig, kebab_case, pascal_case};
use crate::tree::{Node, Tag};
use crate::value::truthy;

/// What the engine makes of a tree.
pub fn transform(catalogue: &Catalogue, mut tree: Node) -> Node {
    Engine { catalogue }.node(&mut tree, None);
    tree
}

/// The rune that stands around a node.
#[derive(Clone, Copy)]
struct Around<'a> {
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
    fn node(&self, node: &mut Node, around: Option<Around<'_>>) {
        let Some(tag) = node.as_tag_mut() else { return };
        if tag.attributes.get(label::TRANSLATED).is_some_and(truthy) {
            label::untranslated(tag);
        } else if let Some((type_name, config)) = self.configuration(tag) {
            rune::transform(self, tag, type_name, config, around);
        } else {
            checklist::mark(tag);
            for child in &mut tag.children {
                self.node(child, around);
            }
        }
    }

    /// The configuration of the rune that a tag is the root of, with the name of its type.
    fn configuration(&self, tag: &Tag) -> Option<(&'a str, &'a EngineConfig)> {
        let rune = tag.text("data-rune").filter(|rune| !rune.is_empty())?;
        let engine = self.catalogue.engine();
        let exact = engine.get_key_value(&pascal_case(rune)).filter(|(name, _)| kebab_case(name) == rune);
        // A type whose name has capitals in a row does not come back from its kebab case.
        let found = exact.or_else(|| engine.iter().find(|(name, _)| kebab_case(name) == rune))?;
        Some((found.0.as_str(), found.1))
    }
}
