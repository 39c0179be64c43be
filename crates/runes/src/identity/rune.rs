//! Transforms one rune.

use std::borrow::Cow;

use serde_json::Value;

use super::parts::PartStyler;
use super::root_style::RootStyle;
use super::rune_input::RuneInput;
use super::{Engine, ParentRune};
use super::{
    assembly, backdrop, cover, label, list_markers, modifiers, post_transform, projection, style, surface,
    surface_style,
};
use crate::catalogue::{EngineConfig, kebab_case};
use crate::contracts::CLASS_PREFIX;
use crate::js_value::to_js_string;
use crate::render_tree::{Attributes, Element, RenderNode};

/// A rune with its root style: everything that does not depend on its children.
struct PreparedRune<'c> {
    config: Cow<'c, EngineConfig>,
    /// Prefix of its classes.
    block: String,
    root_style: RootStyle,
}

/// Transforms a rune and its descendants.
pub(super) fn transform(
    engine: &Engine<'_>,
    tag: &mut Element,
    rune: &str,
    config: &EngineConfig,
    parent: Option<ParentRune<'_>>,
) {
    // Runes are nested and so is this function: its state is on the heap to save stack.
    let mut prepared = prepare(tag, rune, config, parent);
    let parent_of_children = ParentRune { rune, child_density: config.child_density.as_deref() };
    for child in &mut tag.children {
        engine.transform_node(child, Some(parent_of_children));
    }
    finalize(&mut prepared, tag);
}

/// Computes the root style, places the children and adds their classes.
fn prepare<'c>(
    tag: &mut Element,
    rune: &str,
    config: &'c EngineConfig,
    parent: Option<ParentRune<'_>>,
) -> Box<PreparedRune<'c>> {
    let fields = std::mem::take(&mut tag.fields);
    let config = modifiers::with_variants(config, tag, &fields);
    let block = format!("{CLASS_PREFIX}-{}", config.block_name(rune));
    let mut root_style =
        RootStyle::compute(&RuneInput { tag, config: &config, block: &block, fields: &fields }, parent);
    lay_out_children(&config, &mut root_style, &mut tag.children);
    let part_styler = PartStyler { config: &config, block: &block, root_style: &root_style };
    tag.children
        .iter_mut()
        .filter_map(RenderNode::as_element_mut)
        .for_each(|child| part_styler.apply_classes(child));
    Box::new(PreparedRune { config, block, root_style })
}

/// The steps that need the transformed descendants.
fn finalize(prepared: &mut PreparedRune<'_>, tag: &mut Element) {
    let PreparedRune { config, block, root_style } = prepared;
    if let Some(projection) = &config.projection {
        projection::apply(projection, &PartStyler { config, block, root_style }, &mut tag.children);
    }
    finalize_children(config, root_style, &mut tag.children);
    tag.attributes = root_attributes(&tag.attributes, config, block, root_style);
    if let Some(post_transform) = config.post_transform {
        post_transform::apply(post_transform, tag, root_style);
    }
}

/// Names the parts and places them, with the backdrop first.
fn lay_out_children(config: &EngineConfig, root_style: &mut RootStyle, children: &mut Vec<RenderNode>) {
    let backdrop = root_style.backdrop.take();
    if backdrop.is_some() {
        backdrop::remove_background_sandbox(children);
    }
    if !config.auto_label.is_empty() {
        label::auto_label(children, &config.auto_label);
    }
    let assembled = assembly::assemble(config, &root_style.modifier_values, std::mem::take(children));
    children.extend(backdrop);
    children.extend(assembled);
}

/// Marks children in their final place and removes consumed metas.
fn finalize_children(config: &EngineConfig, root_style: &mut RootStyle, children: &mut Vec<RenderNode>) {
    surface_style::apply_media_attributes(root_style, children);
    cover::disable_media_interaction(root_style, children);
    let modifiers: Vec<String> = config.modifiers.keys().map(|name| kebab_case(name)).collect();
    children.retain(|child| {
        let meta = child.as_element().filter(|tag| tag.is("meta"));
        let field = meta.and_then(|tag| tag.attr_str("data-field"));
        field.is_none_or(|field| {
            !modifiers.iter().chain(&root_style.consumed).any(|consumed| consumed == field)
        })
    });
    if let Some(sequence) = &config.sequence {
        let direction = config.sequence_direction.as_ref().map(|direction| {
            let value = root_style.modifier_values.get(&direction.from_modifier);
            value.map_or_else(|| direction.default.clone(), to_js_string)
        });
        list_markers::mark_lists(children, sequence, direction.as_deref());
    }
    if let (true, Some(name)) = (root_style.is_staggered, &config.stagger_items) {
        list_markers::number_parts(children, name, &mut 0);
    }
    cover::set_content_color_scheme(root_style, children);
}

/// The attributes of the root, in output order.
fn root_attributes(
    original: &Attributes,
    config: &EngineConfig,
    block: &str,
    root_style: &RootStyle,
) -> Attributes {
    let mut tag = Element::default();
    for (name, value) in original {
        let is_consumed = surface::CONSUMED_ATTRIBUTES.contains(&name.as_str())
            || name == "data-rune"
            || modifiers::consumed_attributes(config).any(|consumed| consumed == name);
        if !is_consumed {
            tag.attributes.insert(name.clone(), value.clone());
        }
    }
    let author_class = original.get("class").and_then(Value::as_str).filter(|own| !own.is_empty());
    let classes =
        [block].into_iter().chain(root_style.classes.iter().map(String::as_str)).chain(author_class);
    let class = classes.collect::<Vec<_>>().join(" ");
    tag.attributes.extend(root_style.data_attributes());
    tag.attributes.insert("class".into(), class.into());
    let rune = original.get("data-rune").cloned().unwrap_or(Value::Null);
    tag.attributes.insert("data-rune".into(), rune);
    tag.attributes.insert("data-density".into(), root_style.density.as_str().into());
    for (name, value) in &config.root_attributes {
        tag.attributes.insert(name.clone(), value.as_str().into());
    }
    style::append_styles(&mut tag, &style::root_styles(config, root_style));
    tag.attributes
}
