//! Engine configuration: what the identity transform does with one type of rune.
//!
//! The keys are the known names of refrakt's own configuration in kebab case, so that an existing one is carried over by
//! renaming. A *type* is written in Pascal case and stands for the element that carries its kebab case in `data-rune`.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// A map that keeps the order of the file.
pub type OrderedMap<T> = IndexMap<String, T>;

/// What the engine does with one type. Empty maps and `None` mean: nothing of the kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct EngineConfig {
    /// Name in classes: `rf-<block>`. The kebab case of the type unless said.
    pub block: Option<String>,
    /// Type whose element this one belongs into; `*` for any.
    pub parent: Option<String>,
    /// Type without which this one makes no sense.
    pub requires_parent: Option<String>,
    /// Namespace that owns the type; that of the package unless said, empty for none.
    pub scope: Option<String>,
    /// Values that become classes and data attributes, in this order.
    pub modifiers: OrderedMap<Modifier>,
    /// Class suffix by the rune that stands around.
    pub context_modifiers: OrderedMap<String>,
    /// Class suffixes that are always there.
    pub static_modifiers: Vec<String>,
    /// Attributes of the root element.
    pub root_attributes: OrderedMap<String>,
    /// Density of the block where neither the author nor the rune around says.
    pub default_density: Option<String>,
    /// Density of the blocks within.
    pub child_density: Option<String>,
    /// Elevation where the author says nothing.
    pub default_elevation: Option<String>,
    /// Width where the author says nothing.
    pub default_width: Option<String>,
    /// Reading register of the body where the author says nothing.
    pub default_reading: Option<String>,
    /// `anchored`: text keeps the page's measure in a wider block.
    pub content_measure: Option<String>,
    /// How media fits its slot.
    pub guest_fit: Option<String>,
    /// What a frame goes around: the media, or the block itself.
    pub frame_target: Option<String>,
    /// Role of a named part: header, title, body, media…
    pub sections: OrderedMap<String>,
    /// Kind of slot that a named part offers to media.
    pub media_slots: OrderedMap<String>,
    /// Element name or field → name of the part.
    pub auto_label: OrderedMap<String>,
    /// How an editor lets a named part be edited.
    pub edit_hints: OrderedMap<String>,
    /// Words of an enumeration that are shown and may be translated.
    pub i18n_enums: OrderedMap<String>,
    /// Inline styles from modifiers.
    pub styles: OrderedMap<Style>,
    /// Values that blocks show, and how.
    pub meta_fields: OrderedMap<MetaField>,
    /// Blocks that the engine makes out of values.
    pub blocks: OrderedMap<Block>,
    /// Where parts stand.
    pub layout: Layout,
    /// Elements before and after the content, as older configurations have them.
    pub structure: OrderedMap<StructureElement>,
    /// Element around the content.
    pub content_wrapper: Option<ContentWrapper>,
    /// Hide, group and move parts after everything else.
    pub projection: Option<Projection>,
    /// How ordered lists count: `numbered` or `connected`.
    pub sequence: Option<String>,
    /// Which way they run.
    pub sequence_direction: Option<SequenceDirection>,
    /// Named part whose elements appear one after another.
    pub stagger_items: Option<String>,
    /// List items are things to tick.
    pub checklist: bool,
    /// The page needs scripts for it.
    pub interactive: bool,
    /// Work that only code does, after everything else.
    pub post_transform: Option<PostTransform>,
    /// What changes when a modifier has a value: modifier → value → configuration laid over this one.
    pub variants: OrderedMap<OrderedMap<EngineConfig>>,
}

/// Where a modifier's value comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModifierSource {
    /// From what the rune hands over.
    #[default]
    Meta,
    /// From an attribute of the element.
    Attribute,
}

impl ModifierSource {
    /// The spelling in contracts.
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
    /// Where the value comes from.
    pub source: ModifierSource,
    /// The value when none is handed over.
    pub default: Option<String>,
    /// Data attribute only, no class.
    pub no_bem_class: bool,
    /// Other words for values.
    pub value_map: OrderedMap<String>,
    /// Attribute that receives the other word.
    pub map_target: Option<String>,
}

/// An inline style that follows a modifier.
#[derive(Clone, Debug, PartialEq)]
pub struct Style {
    /// Property that is set.
    pub prop: String,
    /// Value with `{}` in place of the modifier's.
    pub template: Option<String>,
    /// Translation of the value.
    pub transform: Option<StyleTransform>,
    /// Whether it was written as the bare property, which contracts repeat.
    pub bare: bool,
}

/// A named translation of a style's value.
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
    /// Menus.
    Nav,
    /// Entries of menus.
    NavItem,
    /// Plots and their beats.
    Plot,
    /// Previews of components.
    Preview,
}

/// A value that a block shows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct MetaField {
    /// What sort of value it is: status, category, quantity, temporal, tag, id, code.
    pub meta_type: Option<String>,
    /// Text beside it.
    pub label: Option<String>,
    /// Modifier that must have a value.
    pub condition: Option<String>,
    /// Shown even where that value is empty.
    pub render_when_empty: bool,
    /// `duration`, `uppercase` or `capitalize`.
    pub transform: Option<String>,
    /// Icon in front.
    pub icon: Option<Icon>,
    /// Good or bad news, by value.
    pub sentiment_map: OrderedMap<String>,
    /// Modifier that holds a link.
    pub href: Option<String>,
    /// Shown as stars.
    pub rating: Option<Rating>,
    /// Element for the value, such as `time`.
    pub tag: Option<String>,
    /// Sign at which the value is split into several.
    pub split_on: Option<String>,
}

/// An icon by its group; the value names it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Icon {
    /// Group of the theme's icons.
    pub group: String,
}

/// Stars out of a total.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rating {
    /// Modifier that holds the total.
    pub total: String,
}

/// How a block sets its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BlockLayout {
    /// A row.
    Bar,
    /// Labels and values.
    DefinitionList,
}

impl BlockLayout {
    /// The spelling in contracts and markup.
    pub fn as_str(self) -> &'static str {
        match self {
            BlockLayout::Bar => "bar",
            BlockLayout::DefinitionList => "definition-list",
        }
    }
}

/// A block that the engine makes out of values.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Block {
    /// The values, by name in `meta-fields`.
    pub fields: Vec<BlockField>,
    /// How they are set.
    pub layout: BlockLayout,
    /// May a row break?
    pub wrap: Option<bool>,
}

/// One value of a block.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockField {
    /// Name in `meta-fields`.
    pub field: String,
    /// `end` pushes it to the end of the row.
    pub align: Option<String>,
}

/// Where parts stand.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Layout {
    /// Names in the order in which they stand in the root; `None` leaves the root alone.
    pub root: Option<Vec<String>>,
    /// Containers by name.
    pub containers: OrderedMap<Container>,
}

/// A container of parts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Container {
    /// Element to create; without one the existing part is put in order.
    pub tag: Option<String>,
    /// Attributes of that element.
    pub attrs: OrderedMap<String>,
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

/// The element around the content.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ContentWrapper {
    /// Element name.
    pub tag: String,
    /// Name of the part.
    #[serde(rename = "ref")]
    pub name: String,
}

/// Hide, group and move parts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Projection {
    /// Parts that are dropped.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hide: Vec<String>,
    /// Parts that are put into a new element.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub group: OrderedMap<Group>,
    /// Parts that are moved into another.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub relocate: OrderedMap<Relocation>,
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

/// Where a part is moved.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Relocation {
    /// The part that receives it.
    pub into: String,
    /// `append` or `prepend`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub position: Option<String>,
}

/// Which way an ordered list runs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SequenceDirection {
    /// Modifier that says it.
    pub from_modifier: String,
    /// Where it says nothing.
    pub default: String,
}

impl EngineConfig {
    /// The block's name for a type: as written, or the type in kebab case.
    pub fn block_name(&self, type_name: &str) -> String {
        self.block.clone().unwrap_or_else(|| super::names::kebab_case(type_name))
    }

    /// This configuration with another laid over it. What the other has replaces, but for value fields, blocks, layout
    /// containers and variants, which are joined by name.
    pub fn merged_with(&self, overrides: &EngineConfig) -> EngineConfig {
        fn override_value<T: Clone>(base: &Option<T>, overrides: &Option<T>) -> Option<T> {
            overrides.clone().or_else(|| base.clone())
        }
        fn replace_map<T: Clone>(base: &OrderedMap<T>, overrides: &OrderedMap<T>) -> OrderedMap<T> {
            if overrides.is_empty() { base.clone() } else { overrides.clone() }
        }
        fn union_map<T: Clone>(base: &OrderedMap<T>, overrides: &OrderedMap<T>) -> OrderedMap<T> {
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

    /// What is wrong with the configuration in itself: the key below the type, and one sentence.
    pub(crate) fn validation_error(&self) -> Option<(Vec<&str>, String)> {
        for (name, block) in &self.blocks {
            let missing = block.fields.iter().find(|field| !self.meta_fields.contains_key(&field.field));
            if let Some(missing) = missing {
                let message = format!("`{}` is not one of the meta-fields", missing.field);
                return Some((vec!["blocks", name], message));
            }
        }
        for axis in self.variants.keys() {
            if !self.modifiers.contains_key(axis) {
                return Some((vec!["variants", axis], format!("`{axis}` is not one of the modifiers")));
            }
        }
        for name in self.styles.keys() {
            if !self.modifiers.contains_key(name) {
                return Some((vec!["styles", name], format!("`{name}` is not one of the modifiers")));
            }
        }
        None
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
        let check = |text: &str, expect: &str| {
            assert_eq!(config(text).validation_error().unwrap().1, expect, "{text}")
        };
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
