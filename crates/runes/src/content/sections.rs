//! A preamble, then one section for each heading of a level.

use quad_markdoc::{Map, Node, Value};

use super::{Arguments, Content, Item, Resolved, ast, resolve as resolve_model, sequence};
use crate::catalogue::{Extract, ExtractFrom, KnownSection, Sections};

/// A heading and what stands below it.
struct Section {
    heading: Node,
    body: Vec<Node>,
}

/// Splits at headings and reads preamble and sections. Where sections become runes, `sections` holds their tags; else it holds
/// their fields, with `$heading`, `$headingNode` and the parts of the heading among them.
pub(super) fn resolve(model: &Sections, nodes: Vec<Node>, arguments: &Arguments) -> Resolved {
    let level = level(&model.section_heading, &nodes);
    let (preamble, sections) = split(nodes, level);
    if let (true, Some(attributes), Some(rune)) =
        (sections.is_empty(), &model.implicit_section, &model.emit_tag)
    {
        let attributes = attributes.iter().map(|(name, value)| (name.as_str(), value.clone()));
        let mut resolved = Resolved::default();
        resolved.insert("sections", Content::Nodes(vec![ast::tag_with(rune, attributes, preamble)]));
        return resolved;
    }
    let mut resolved = sequence::resolve(&model.fields, preamble);
    let content = match &model.emit_tag {
        Some(rune) => {
            Content::Nodes(sections.into_iter().map(|section| emitted(model, rune, section)).collect())
        }
        None => {
            let groups = sections.into_iter().map(|section| fields(model, section, arguments));
            Content::Groups(groups.collect())
        }
    };
    resolved.insert("sections", content);
    resolved
}

/// The level that splits: the one that is asked for, else the first heading's. A single shallow heading above two or more
/// deeper ones is a title, and the deeper ones split.
fn level(asked: &str, nodes: &[Node]) -> Option<u8> {
    if let Some((_, level)) = asked.split_once(':') {
        return level.parse().ok();
    }
    let levels: Vec<u8> = nodes.iter().filter_map(ast::heading_level).collect();
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

fn split(nodes: Vec<Node>, level: Option<u8>) -> (Vec<Node>, Vec<Section>) {
    let mut preamble = Vec::new();
    let mut sections: Vec<Section> = Vec::new();
    for node in nodes {
        if level.is_some() && ast::heading_level(&node) == level {
            sections.push(Section { heading: node, body: Vec::new() });
        } else {
            sections.last_mut().map_or(&mut preamble, |section| &mut section.body).push(node);
        }
    }
    (preamble, sections)
}

/// The tag that a section becomes.
fn emitted(model: &Sections, rune: &str, section: Section) -> Node {
    let heading = ast::text_of(&section.heading, " ");
    let parts = heading_parts(&model.heading_extract, &heading);
    let mut attributes = Map::new();
    for (name, text) in &model.emit_attributes {
        let value = match text.strip_prefix('$') {
            Some("heading") => heading.clone(),
            Some(part) => parts.get(part).cloned().unwrap_or_default(),
            None => text.clone(),
        };
        attributes.insert(name.clone(), Value::String(value));
    }
    ast::tag(rune, attributes, section.body)
}

/// The fields of a section that stays one.
fn fields(model: &Sections, section: Section, arguments: &Arguments) -> Resolved {
    let heading = ast::text_of(&section.heading, " ");
    let parts = heading_parts(&model.heading_extract, &heading);
    let known = known_section(model, &heading);
    let body = known.and_then(|(_, known)| known.model.as_ref()).unwrap_or(&model.section_model);
    let body = resolve_model(body, section.body, arguments);
    let mut resolved = Resolved::default();
    resolved.insert("$heading", Content::Text(heading));
    resolved.insert("$headingNode", Content::Nodes(vec![section.heading]));
    if let Some((name, _)) = known {
        resolved.insert("$canonicalName", Content::Text(name.to_owned()));
        resolved.insert("$canonicalSlug", Content::Text(crate::schema::slug::section_slug(name)));
    }
    for (name, value) in parts {
        resolved.insert(format!("${name}"), Content::Text(value));
    }
    resolved.fields.extend(body.fields);
    resolved
}

fn known_section<'m>(model: &'m Sections, heading: &str) -> Option<(&'m str, &'m KnownSection)> {
    let heading = heading.to_lowercase();
    let heading = heading.trim();
    let mut known = model.known_sections.iter();
    let found = known.find(|(name, known)| {
        name.to_lowercase() == heading || known.alias.iter().any(|alias| alias.to_lowercase() == heading)
    });
    found.map(|(name, known)| (name.as_str(), known))
}

/// The parts of a heading. Each pattern looks at what the ones before it left over.
fn heading_parts(model: &[Extract], heading: &str) -> Item {
    let mut parts = Item::new();
    let mut left = heading;
    for part in model {
        let value = match &part.from {
            ExtractFrom::Remainder => std::mem::take(&mut left),
            ExtractFrom::Pattern(pattern) => match pattern.captures(left) {
                Some(found) => {
                    let whole = found.get(0).map_or("", |whole| whole.as_str());
                    let inner = found.get(1).map_or("", |inner| inner.as_str());
                    // As many characters are dropped from the front as were matched, wherever they were.
                    let end = left.char_indices().nth(whole.chars().count()).map_or(left.len(), |(at, _)| at);
                    left = &left[end..];
                    if inner.is_empty() { whole } else { inner }
                }
                None if part.optional == Some(true) => continue,
                None => left,
            },
            ExtractFrom::Inline { .. } => continue,
        };
        parts.insert(part.name.clone(), value.trim().to_owned());
    }
    parts
}
