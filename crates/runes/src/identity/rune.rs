//! One rune, from its bare element to the finished one.

use std::borrow::Cow;

use serde_json::Value;

use super::element::Parts;
use super::look::Look;
use super::subject::{Subject, bag};
use super::{Around, Engine};
use super::{
    assembly, backdrop, chrome, cover, hook, label, modifiers, projection, sequence, style, surface,
};
use crate::catalogue::{EngineConfig, kebab_case};
use crate::contracts::PREFIX;
use crate::schema::component::FIELDS;
use crate::tree::{Attributes, Node, Tag};
use crate::value::to_text;

/// A rune whose look is settled: everything that its children do not change.
struct Settled<'c> {
    config: Cow<'c, EngineConfig>,
    /// What its classes begin with.
    block: String,
    look: Look,
}

/// Transforms a rune and everything within.
pub(super) fn transform(
    engine: &Engine<'_>,
    tag: &mut Tag,
    type_name: &str,
    config: &EngineConfig,
    around: Option<Around<'_>>,
) {
    // Runes nest, and this function with them: what it holds meanwhile is on the heap.
    let mut settled = settle(tag, type_name, config, around);
    let rune = kebab_case(type_name);
    let within = Around { rune: &rune, child_density: config.child_density.as_deref() };
    for child in &mut tag.children {
        engine.node(child, Some(within));
    }
    finish(&mut settled, tag);
}

/// Works out the look of a rune, puts its children in their places and dresses them.
fn settle<'c>(
    tag: &mut Tag,
    type_name: &str,
    config: &'c EngineConfig,
    around: Option<Around<'_>>,
) -> Box<Settled<'c>> {
    let bag = bag(tag);
    let config = modifiers::varied(config, tag, &bag);
    let block = format!("{PREFIX}-{}", config.block_for(type_name));
    let mut look = Look::of(&Subject { tag, config: &config, block: &block, bag: &bag }, around);
    place(&config, &mut look, &mut tag.children);
    let parts = Parts { config: &config, block: &block, look: &look };
    tag.children.iter_mut().filter_map(Node::as_tag_mut).for_each(|child| parts.dress(child));
    Box::new(Settled { config, block, look })
}

/// What can be done only when everything within is done.
fn finish(settled: &mut Settled<'_>, tag: &mut Tag) {
    let Settled { config, block, look } = settled;
    if let Some(projection) = &config.projection {
        projection::apply(projection, &Parts { config, block, look }, &mut tag.children);
    }
    finish_children(config, look, &mut tag.children);
    tag.attributes = attributes(&tag.attributes, config, block, look);
    if let Some(post_transform) = config.post_transform {
        hook::run(post_transform, tag, look);
    }
}

/// Names the parts and puts them where they belong, with the backdrop in front.
fn place(config: &EngineConfig, look: &mut Look, children: &mut Vec<Node>) {
    let backdrop = look.backdrop.take();
    if backdrop.is_some() {
        backdrop::take_guest_out(children);
    }
    if !config.auto_label.is_empty() {
        label::name_parts(children, &config.auto_label);
    }
    let assembled = assembly::assemble(config, &look.axes, std::mem::take(children));
    children.extend(backdrop);
    children.extend(assembled);
}

/// Marks on children that are in place, and metas that have done their work.
fn finish_children(config: &EngineConfig, look: &mut Look, children: &mut Vec<Node>) {
    chrome::dress_media(look, children);
    cover::quieten_media(look, children);
    let modifiers: Vec<String> = config.modifiers.keys().map(|name| kebab_case(name)).collect();
    children.retain(|child| {
        let meta = child.as_tag().filter(|tag| tag.is("meta"));
        let field = meta.and_then(|tag| tag.text("data-field"));
        field.is_none_or(|field| !modifiers.iter().chain(&look.consumed).any(|done| done == field))
    });
    if let Some(sequence) = &config.sequence {
        let direction = config.sequence_direction.as_ref().map(|direction| {
            let value = look.axes.get(&direction.from_modifier);
            value.map_or_else(|| direction.default.clone(), to_text)
        });
        sequence::mark_lists(children, sequence, direction.as_deref());
    }
    if let (true, Some(name)) = (look.is_staggered, &config.stagger_items) {
        sequence::number_parts(children, name, &mut 0);
    }
    cover::colour_content(look, children);
}

/// The attributes of the root, in the order that is printed.
fn attributes(given: &Attributes, config: &EngineConfig, block: &str, look: &Look) -> Attributes {
    let mut tag = Tag::default();
    for (name, value) in given {
        let is_taken = surface::TAKEN.contains(&name.as_str())
            || matches!(name.as_str(), "data-rune" | FIELDS)
            || modifiers::taken_attributes(config).any(|taken| taken == name);
        if !is_taken {
            tag.attributes.insert(name.clone(), value.clone());
        }
    }
    let own = given.get("class").and_then(Value::as_str).filter(|own| !own.is_empty());
    let classes = [block].into_iter().chain(look.classes.iter().map(String::as_str)).chain(own);
    let class = classes.collect::<Vec<_>>().join(" ");
    tag.attributes.extend(look.attributes());
    tag.attributes.insert("class".into(), class.into());
    let rune = given.get("data-rune").cloned().unwrap_or(Value::Null);
    tag.attributes.insert("data-rune".into(), rune);
    tag.attributes.insert("data-density".into(), look.density.as_str().into());
    for (name, value) in &config.root_attributes {
        tag.attributes.insert(name.clone(), value.as_str().into());
    }
    style::append(&mut tag, &style::of_root(config, look));
    tag.attributes
}
