//! Engine configuration: what the identity transform does with one type of rune.
//!
//! The keys are refrakt's own configuration keys in kebab case, so an existing configuration only needs its keys
//! renamed. A *type* is written in Pascal case. It applies to the element whose `data-rune` is the same name in kebab
//! case.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use super::error::KeyError;

/// What the engine does with one type of rune. An empty map or `None` means "not set".
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EngineConfig {
    /// Name in classes: `rf-<block>`. Defaults to the type in kebab case.
    pub block: Option<String>,
    /// Type that this one is a child of; `*` for any.
    pub parent: Option<String>,
    /// Type that must enclose this one.
    pub requires_parent: Option<String>,
    /// Namespace that owns the type. Defaults to that of the package; empty for none.
    pub scope: Option<String>,
    /// Values that become classes and data attributes, in this order.
    pub modifiers: IndexMap<String, Modifier>,
    /// Class suffix by the enclosing rune.
    pub context_modifiers: IndexMap<String, String>,
    /// Class suffixes that are always added.
    pub static_modifiers: Vec<String>,
    /// Attributes of the root element.
    pub root_attributes: IndexMap<String, String>,
    /// Density, unless the author or the enclosing rune sets one.
    pub default_density: Option<String>,
    /// Density for nested runes.
    pub child_density: Option<String>,
    /// Elevation, unless the author sets one.
    pub default_elevation: Option<String>,
    /// Width, unless the author sets one.
    pub default_width: Option<String>,
    /// Reading mode of the body, unless the author sets one.
    pub default_reading: Option<String>,
    /// `anchored`: text keeps the page's measure in a wider block.
    pub content_measure: Option<String>,
    /// How media fits its slot.
    pub guest_fit: Option<String>,
    /// What a frame surrounds: the media, or the block itself.
    pub frame_target: Option<String>,
    /// Role of a named part: header, title, body, media…
    pub sections: IndexMap<String, String>,
    /// Kind of media slot that a named part offers.
    pub media_slots: IndexMap<String, String>,
    /// Element name or field → name of the part.
    pub auto_label: IndexMap<String, String>,
    /// How an editor edits a named part.
    pub edit_hints: IndexMap<String, String>,
    /// Values of an enumeration that are shown as text and may be translated.
    pub i18n_enums: IndexMap<String, String>,
    /// Inline styles that follow from modifiers.
    pub styles: IndexMap<String, Style>,
    /// How each value is displayed in blocks.
    pub meta_fields: IndexMap<String, MetaField>,
    /// Blocks that the engine builds from values.
    pub blocks: IndexMap<String, Block>,
    /// Where named parts are placed.
    pub layout: Layout,
    /// Elements before and after the content: the older form of `blocks` and `layout`.
    pub structure: IndexMap<String, StructureElement>,
    /// Element around the content.
    pub content_wrapper: Option<ContentWrapper>,
    /// Parts to hide, group and move at the end of the transform.
    pub projection: Option<Projection>,
    /// How ordered lists are counted: `numbered` or `connected`.
    pub sequence: Option<String>,
    /// The direction of ordered lists.
    pub sequence_direction: Option<SequenceDirection>,
    /// Named part whose elements get a stagger number.
    pub stagger_items: Option<String>,
    /// Whether list items are parsed as check boxes.
    pub checklist: bool,
    /// Whether the page needs JavaScript for it.
    pub interactive: bool,
    /// A change that needs Rust code, made at the end of the transform.
    pub post_transform: Option<PostTransform>,
    /// Overrides by modifier value: modifier → value → configuration that is merged over this one.
    pub variants: IndexMap<String, IndexMap<String, EngineConfig>>,
}

/// Where a modifier's value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModifierSource {
    /// A value that the rune passes to the engine.
    #[default]
    Meta,
    /// An attribute of the element.
    Attribute,
}

impl ModifierSource {
    /// The name in contracts.
    pub fn as_str(self) -> &'static str {
        match self {
            ModifierSource::Meta => "meta",
            ModifierSource::Attribute => "attribute",
        }
    }
}

/// One modifier.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Modifier {
    /// Where its value comes from.
    pub source: ModifierSource,
    /// The value when the rune passes none.
    pub default: Option<String>,
    /// Data attribute only, no class.
    pub no_bem_class: bool,
    /// Replacements for values.
    pub value_map: IndexMap<String, String>,
    /// Attribute that receives the replacement.
    pub map_target: Option<String>,
}

/// An inline style that depends on a modifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// The CSS property.
    pub prop: String,
    /// The value; `{}` is replaced by the modifier's value.
    pub template: Option<String>,
    /// A conversion of the value.
    pub transform: Option<StyleTransform>,
    /// Whether it was written as the bare property name. Contracts repeat that form.
    pub bare: bool,
}

/// A conversion of a style's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StyleTransform {
    /// `top` → `start` and so on.
    Valign,
    /// `2 1` → `2fr 1fr`.
    Ratio,
    /// Named gaps → lengths.
    Gap,
}

/// Code that runs after the transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PostTransform {
    /// Menus (`nav`).
    Nav,
    /// Menu entries (`nav-item`).
    NavItem,
    /// Plots and their beats.
    Plot,
    /// Previews of components.
    Preview,
}

/// How one value is displayed in a block.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MetaField {
    /// Kind of value: status, category, quantity, temporal, tag, id, code.
    pub meta_type: Option<String>,
    /// Label beside the value.
    pub label: Option<String>,
    /// Modifier that must have a value.
    pub condition: Option<String>,
    /// Shown even if that modifier has no value.
    pub render_when_empty: bool,
    /// `duration`, `uppercase` or `capitalize`.
    pub transform: Option<String>,
    /// Icon before the value.
    pub icon: Option<Icon>,
    /// Sentiment (positive, negative…) by value.
    pub sentiment_map: IndexMap<String, String>,
    /// Modifier that holds a link.
    pub href: Option<String>,
    /// Shown as a rating.
    pub rating: Option<Rating>,
    /// Element for the value, such as `time`.
    pub tag: Option<String>,
    /// Separator that splits the value into several.
    pub split_on: Option<String>,
}

/// An icon of a group; the value is its name.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Icon {
    /// Icon group of the theme.
    pub group: String,
}

/// A rating out of a total.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rating {
    /// Modifier that holds the total.
    pub total: String,
}

/// How a block arranges its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockLayout {
    /// A row.
    Bar,
    /// Labels and values.
    DefinitionList,
}

impl BlockLayout {
    /// The name in contracts and markup.
    pub fn as_str(self) -> &'static str {
        match self {
            BlockLayout::Bar => "bar",
            BlockLayout::DefinitionList => "definition-list",
        }
    }
}

/// A block that the engine builds from values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Block {
    /// Its values, by name in `meta-fields`.
    pub fields: Vec<BlockField>,
    /// How they are arranged.
    pub layout: BlockLayout,
    /// Whether the row may wrap.
    pub wrap: Option<bool>,
}

/// One value of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockField {
    /// Name in `meta-fields`.
    pub field: String,
    /// `end` moves it to the end of the row.
    pub align: Option<String>,
}

/// Where named parts are placed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Names of the root's children in order; `None` keeps the root's order.
    pub root: Option<Vec<String>>,
    /// Containers by name.
    pub containers: IndexMap<String, Container>,
}

/// A container of parts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Container {
    /// Element to create. Without it, the existing part of that name is reordered.
    pub tag: Option<String>,
    /// Attributes of that element.
    pub attrs: IndexMap<String, String>,
    /// Names in order.
    pub children: Vec<String>,
}

/// An element before or after the content.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct StructureElement {
    /// Element name.
    pub tag: String,
    /// Before the content rather than after it.
    #[serde(default)]
    pub before: bool,
}

/// An element that wraps the content.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContentWrapper {
    /// Element name.
    pub tag: String,
    /// Name of the part.
    #[serde(rename = "ref")]
    pub name: String,
}

/// Parts to hide, group and move.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Projection {
    /// Parts that are removed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Parts that are wrapped in a new element.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub group: IndexMap<String, Group>,
    /// Parts that are moved into another part.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub relocate: IndexMap<String, Relocation>,
}

/// A new element around parts.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Element name.
    pub tag: String,
    /// The parts.
    pub members: Vec<String>,
}

/// The target of a moved part.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// The part that receives it.
    pub into: String,
    /// `append` or `prepend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// The direction of an ordered list.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SequenceDirection {
    /// Modifier that holds the direction.
    pub from_modifier: String,
    /// Direction without that modifier.
    pub default: String,
}

impl EngineConfig {
    /// The block name of a type: as configured, or the type in kebab case.
    pub fn block_name(&self, type_name: &str) -> String {
        self.block.clone().unwrap_or_else(|| super::names::kebab_case(type_name))
    }

    /// Merges another configuration over this one. Its values replace these; `meta-fields`, `blocks`, layout containers
    /// and variants are merged by name.
    pub fn merged_with(&self, overrides: &EngineConfig) -> EngineConfig {
        fn override_value<T: Clone>(base: &Option<T>, overrides: &Option<T>) -> Option<T> {
            overrides.clone().or_else(|| base.clone())
        }
        fn replace_map<T: Clone>(
            base: &IndexMap<String, T>,
            overrides: &IndexMap<String, T>,
        ) -> IndexMap<String, T> {
            if overrides.is_empty() { base.clone() } else { overrides.clone() }
        }
        fn union_map<T: Clone>(
            base: &IndexMap<String, T>,
            overrides: &IndexMap<String, T>,
        ) -> IndexMap<String, T> {
            let mut union = base.clone();
            union.extend(overrides.iter().map(|(name, value)| (name.clone(), value.clone())));
            union
        }
        EngineConfig {
            block: override_value(&self.block, &overrides.block),
            parent: override_value(&self.parent, &overrides.parent),
            requires_parent: override_value(&self.requires_parent, &overrides.requires_parent),
            scope: override_value(&self.scope, &overrides.scope),
            modifiers: replace_map(&self.modifiers, &overrides.modifiers),
            context_modifiers: replace_map(&self.context_modifiers, &overrides.context_modifiers),
            static_modifiers: if overrides.static_modifiers.is_empty() {
                self.static_modifiers.clone()
            } else {
                overrides.static_modifiers.clone()
            },
            root_attributes: replace_map(&self.root_attributes, &overrides.root_attributes),
            default_density: override_value(&self.default_density, &overrides.default_density),
            child_density: override_value(&self.child_density, &overrides.child_density),
            default_elevation: override_value(&self.default_elevation, &overrides.default_elevation),
            default_width: override_value(&self.default_width, &overrides.default_width),
            default_reading: override_value(&self.default_reading, &overrides.default_reading),
            content_measure: override_value(&self.content_measure, &overrides.content_measure),
            guest_fit: override_value(&self.guest_fit, &overrides.guest_fit),
            frame_target: override_value(&self.frame_target, &overrides.frame_target),
            sections: replace_map(&self.sections, &overrides.sections),
            media_slots: replace_map(&self.media_slots, &overrides.media_slots),
            auto_label: replace_map(&self.auto_label, &overrides.auto_label),
            edit_hints: replace_map(&self.edit_hints, &overrides.edit_hints),
            i18n_enums: replace_map(&self.i18n_enums, &overrides.i18n_enums),
            styles: replace_map(&self.styles, &overrides.styles),
            meta_fields: union_map(&self.meta_fields, &overrides.meta_fields),
            blocks: union_map(&self.blocks, &overrides.blocks),
            layout: Layout {
                root: override_value(&self.layout.root, &overrides.layout.root),
                containers: union_map(&self.layout.containers, &overrides.layout.containers),
            },
            structure: replace_map(&self.structure, &overrides.structure),
            content_wrapper: override_value(&self.content_wrapper, &overrides.content_wrapper),
            projection: override_value(&self.projection, &overrides.projection),
            sequence: override_value(&self.sequence, &overrides.sequence),
            sequence_direction: override_value(&self.sequence_direction, &overrides.sequence_direction),
            stagger_items: override_value(&self.stagger_items, &overrides.stagger_items),
            checklist: self.checklist || overrides.checklist,
            interactive: self.interactive || overrides.interactive,
            post_transform: override_value(&self.post_transform, &overrides.post_transform),
            variants: union_map(&self.variants, &overrides.variants),
        }
    }

    /// Checks the configuration on its own. The path of an error is below the type.
    pub(crate) fn validate(&self) -> Result<(), KeyError<'_>> {
        for (name, block) in &self.blocks {
            let missing = block.fields.iter().find(|field| !self.meta_fields.contains_key(&field.field));
            if let Some(missing) = missing {
                let message = format!("`{}` is not one of the meta-fields", missing.field);
                return Err((vec!["blocks", name], message));
            }
        }
        for axis in self.variants.keys() {
            if !self.modifiers.contains_key(axis) {
                return Err((vec!["variants", axis], format!("`{axis}` is not one of the modifiers")));
            }
        }
        for name in self.styles.keys() {
            if !self.modifiers.contains_key(name) {
                return Err((vec!["styles", name], format!("`{name}` is not one of the modifiers")));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> EngineConfig {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn merged_with_replaces_or_unions_by_key() {
        let base = config(
            "block = 'a'\nstatic-modifiers = ['x']\nroot-attributes = { one = '1' }\n\
             [meta-fields]\nm = {}\n[layout]\nroot = ['p']\np = { tag = 'div' }",
        );
        let overrides =
            config("root-attributes = { two = '2' }\n[meta-fields]\nn = {}\n[layout]\nq = { tag = 'b' }");
        let merged = base.merged_with(&overrides);
        assert_eq!(merged.block.as_deref(), Some("a"));
        assert_eq!(merged.static_modifiers, ["x"]);
        assert_eq!(merged.root_attributes.keys().collect::<Vec<_>>(), ["two"]);
        assert_eq!(merged.meta_fields.keys().collect::<Vec<_>>(), ["m", "n"]);
        assert_eq!(merged.layout.root, Some(vec!["p".into()]));
        assert_eq!(merged.layout.containers.keys().collect::<Vec<_>>(), ["p", "q"]);
    }

    #[test]
    fn validation_rejects_unknown_names() {
        let check =
            |text: &str, expect: &str| assert_eq!(config(text).validate().unwrap_err().1, expect, "{text}");
        check("[blocks]\nb = { fields = ['m'], layout = 'bar' }", "`m` is not one of the meta-fields");
        check("[variants.size.big]\nblock = 'x'", "`size` is not one of the modifiers");
        check("[styles]\ngap = '--gap'", "`gap` is not one of the modifiers");
    }

    #[test]
    fn block_name_defaults_to_the_type() {
        assert_eq!(EngineConfig::default().block_name("TableOfContents"), "table-of-contents");
        assert_eq!(config("block = 'toc'").block_name("TableOfContents"), "toc");
    }
}
