//! A preamble, then one section for each heading of a level.

use quad_markdoc::{AttributeMap, Node, Value};

use super::{
    Arguments, ContentFields, FieldContent, ItemFields, field_sequence, node_ext, resolve as resolve_model,
};
use crate::catalogue::{KnownSection, PartExtractor, PartSource, SectionsModel};
use crate::js_value::JsTrim;

/// A heading and the nodes below it.
struct Section {
    heading: Node,
    body: Vec<Node>,
}

/// Splits nodes at headings and resolves preamble and sections. If sections become runes, the field `sections` holds
/// their tags. Otherwise it holds their fields, with `$heading`, `$headingNode` and the parts of the heading.
pub(super) fn resolve(model: &SectionsModel, nodes: Vec<Node>, arguments: &Arguments) -> ContentFields {
    let level = section_level(&model.section_heading, &nodes);
    let (preamble, sections) = split_sections(nodes, level);
    if let (true, Some(attributes), Some(rune)) =
        (sections.is_empty(), &model.implicit_section, &model.emit_tag)
    {
        let attributes = attributes.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let mut resolved = ContentFields::default();
        resolved.insert(
            "sections",
            FieldContent::Nodes(vec![node_ext::new_tag_with(rune, attributes, preamble)]),
        );
        return resolved;
    }
    let mut resolved = field_sequence::resolve(&model.fields, preamble);
    let content = match &model.emit_tag {
        Some(rune) => FieldContent::Nodes(
            sections.into_iter().map(|section| to_rune_node(model, rune, section)).collect(),
        ),
        None => {
            let groups = sections.into_iter().map(|section| section_fields(model, section, arguments));
            FieldContent::Groups(groups.collect())
        }
    };
    resolved.insert("sections", content);
    resolved
}

/// The heading level at which to split: the requested one, or the first heading's. If one shallow heading is followed
/// by two or more deeper ones, it is a title and the deeper ones split.
fn section_level(requested: &str, nodes: &[Node]) -> Option<u8> {
    if let Some((_, level)) = requested.split_once(':') {
        return level.parse().ok();
    }
    let levels: Vec<u8> = nodes.iter().filter_map(node_ext::heading_level).collect();
    match levels.as_slice() {
        [first, second, ..]
            if second > first && levels.iter().filter(|level| *level == second).count() >= 2 =>
        {
            Some(*second)
        }
        [first, ..] => Some(*first),
        [] => None,
    }
}

fn split_sections(nodes: Vec<Node>, level: Option<u8>) -> (Vec<Node>, Vec<Section>) {
    let mut preamble = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    for node in nodes {
        if level.is_some() && node_ext::heading_level(&node) == level {
            sections.push(Section { heading: node, body: Vec::new() });
        } else {
            sections.last_mut().map_or(&mut preamble, |section| &mut section.body).push(node);
        }
    }
    (preamble, sections)
}

/// Converts a section to a tag.
fn to_rune_node(model: &SectionsModel, rune: &str, section: Section) -> Node {
    let heading = node_ext::joined_text(&section.heading, " ");
    let parts = extract_heading_parts(&model.heading_extract, &heading);
    let mut attributes = AttributeMap::new();
    for (name, text) in &model.emit_attributes {
        let value = match text.strip_prefix('$') {
            Some("heading") => heading.clone(),
            Some(part) => parts.get(part).cloned().unwrap_or_default(),
            None => text.clone(),
        };
        attributes.insert(name.clone(), Value::String(value));
    }
    node_ext::new_tag(rune, attributes, section.body)
}

/// The fields of a section that does not become a rune.
fn section_fields(model: &SectionsModel, section: Section, arguments: &Arguments) -> ContentFields {
    let heading = node_ext::joined_text(&section.heading, " ");
    let parts = extract_heading_parts(&model.heading_extract, &heading);
    let canonical = known_section(model, &heading);
    let body =
        canonical.and_then(|(_, definition)| definition.model.as_ref()).unwrap_or(&model.section_model);
    let body = resolve_model(body, section.body, arguments);
    let mut resolved = ContentFields::default();
    resolved.insert("$heading", FieldContent::Text(heading));
    resolved.insert("$headingNode", FieldContent::Nodes(vec![section.heading]));
    if let Some((name, _)) = canonical {
        resolved.insert("$canonicalName", FieldContent::Text(name.to_owned()));
        resolved.insert("$canonicalSlug", FieldContent::Text(crate::expand::slug::section_slug(name)));
    }
    for (name, value) in parts {
        resolved.insert(format!("${name}"), FieldContent::Text(value));
    }
    resolved.fields.extend(body.fields);
    resolved
}

fn known_section<'m>(model: &'m SectionsModel, heading: &str) -> Option<(&'m str, &'m KnownSection)> {
    let heading = heading.to_lowercase();
    let heading = heading.js_trim();
    let mut candidates = model.known_sections.iter();
    let found = candidates.find(|(name, definition)| {
        name.to_lowercase() == heading || definition.alias.iter().any(|alias| alias.to_lowercase() == heading)
    });
    found.map(|(name, known)| (name.as_str(), known))
}

/// The parts of a heading. Each pattern is applied to the text that the previous ones left.
fn extract_heading_parts(model: &[PartExtractor], heading: &str) -> ItemFields {
    let mut parts = ItemFields::new();
    let mut remaining = heading;
    for part in model {
        let value = match &part.from {
            PartSource::Remainder => std::mem::take(&mut remaining),
            PartSource::Pattern(pattern) => match pattern.captures(remaining) {
                Some(captures) => {
                    let whole = captures.get(0).map_or("", |whole| whole.as_str());
                    let inner = captures.get(1).map_or("", |inner| inner.as_str());
                    // As npm does: drops as many characters from the front as matched, even if the match was elsewhere.
                    let end = remaining
                        .char_indices()
                        .nth(whole.chars().count())
                        .map_or(remaining.len(), |(offset, _)| offset);
                    remaining = &remaining[end..];
                    if inner.is_empty() { whole } else { inner }
                }
                None if part.optional == Some(true) => continue,
                None => remaining,
            },
            PartSource::Inline { .. } => continue,
        };
        parts.insert(part.name.clone(), value.js_trim().to_owned());
    }
    parts
}
