//! One file's text → its entity.
//!
//! The first tag of the plan at the top of the document is the entity. Tags in code blocks are examples: Markdoc would read
//! them, so they are hidden from it first, byte for byte, and every position stays true.

use std::collections::HashSet;

use indexmap::IndexMap;
use quad_markdoc::{Document, ErrorId, Node, NodeType, Value};

use super::entity::{Dependency, Direction, Entity, Fault, ScannedFile, ScopedRef};
use super::passages;
use super::vocabulary::{BLOCKED_BY, BLOCKS, EntityType};
use quad_runes::catalogue::line_and_column;

/// Reads one file.
pub fn scan(file: &str, text: &str) -> ScannedFile {
    // A byte order mark is no text, and would keep the first tag from standing alone on its line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains("{%") {
        return ScannedFile::default();
    }
    let Some(document) = parse_hiding_examples(text) else { return ScannedFile::default() };
    let mut faults = Vec::new();
    let mut entity = None;
    for node in &document.root.children {
        let Some(kind) =
            node.tag.as_deref().filter(|_| node.kind == NodeType::Tag).and_then(EntityType::of_tag)
        else {
            continue;
        };
        let Some(opening) = node.opening() else {
            faults.push(broken_opening(text, node, kind));
            continue;
        };
        let unclosed = node.errors.iter().any(|error| error.id == ErrorId::MissingClosing);
        if unclosed {
            let (line, column) = line_and_column(text, opening.start as usize);
            let message = format!("this {kind} is never closed; end it with {{% /{kind} %}}");
            faults.push(Fault { code: "unclosed-tag", line, column, message });
        }
        let end = node
            .closing()
            .map_or(if unclosed { text.len() } else { node.span.end as usize }, |tag| tag.start as usize);
        let inner = text.get(opening.end as usize..end.max(opening.end as usize)).unwrap_or_default();
        entity = Some(read(file, kind, node, inner));
        break;
    }
    ScannedFile { entity, faults }
}

/// The tag of a file's entity, with the bytes that each part of it was written with.
pub(crate) struct EntityTag {
    pub kind: EntityType,
    pub node: Node,
    /// How many bytes stand before the text that the positions count from: a byte order mark has three.
    pub offset: usize,
}

/// Finds the tag that [`scan`] reads, for those who change it.
pub(crate) fn entity_tag(text: &str) -> Option<EntityTag> {
    let bare = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_entity = |node: &Node| node.kind == NodeType::Tag && node.opening().is_some();
    let kind_of = |node: &Node| node.tag.as_deref().and_then(EntityType::of_tag);
    let nodes = parse_hiding_examples(bare)?.root.children.into_iter();
    let (node, kind) = nodes.filter(is_entity).find_map(|node| kind_of(&node).map(|kind| (node, kind)))?;
    Some(EntityTag { kind, node, offset: text.len() - bare.len() })
}

/// Parses a text with the tags in its code blocks hidden. Every position stays that of the text.
pub(crate) fn parse_hiding_examples(text: &str) -> Option<Document> {
    let document = quad_markdoc::parse(text).ok()?;
    let mut bytes = Vec::new();
    for fence in document.root.walk().filter(|node| node.kind == NodeType::Fence) {
        // By lines: a tag in the fence that is never closed would stretch its span to the end of the document.
        let [first, after, ..] = fence.lines[..] else { continue };
        let start = document.lines.line_start(first).map_or(text.len(), |start| start as usize);
        let end = document.lines.line_start(after).map_or(text.len(), |start| start as usize);
        let Some(code) = text.get(start..end) else { continue };
        for (at, _) in code.match_indices("{%") {
            if bytes.is_empty() {
                bytes = text.as_bytes().to_vec();
            }
            // One sign for another of the same length: nothing moves.
            if let Some(sign) = bytes.get_mut(start + at + 1) {
                *sign = b'#';
            }
        }
    }
    if bytes.is_empty() {
        return Some(document);
    }
    let hidden = String::from_utf8(bytes).ok()?;
    quad_markdoc::parse(&hidden).ok()
}

/// A closing tag without its opening one: the last thing before it that looks like one is what cannot be read.
fn broken_opening(text: &str, stray: &Node, kind: EntityType) -> Fault {
    let before = text.get(..stray.span.start as usize).unwrap_or(text);
    let mut openings = before.rmatch_indices("{%");
    let looks_like = |at: usize| before[at + 2..].trim_start().starts_with(kind.as_str());
    let place = openings.find(|(at, _)| looks_like(*at)).map_or(before.len(), |(at, _)| at);
    let (line, column) = line_and_column(text, place);
    let message = format!("the opening tag of this {kind} cannot be read; check its quotes and attributes");
    Fault { code: "broken-tag", line, column, message }
}

fn read(file: &str, kind: EntityType, node: &Node, inner: &str) -> Entity {
    let (resolution, resolution_count) = passages::resolution(inner);
    let mut entity = Entity {
        file: file.to_owned(),
        kind,
        attributes: attributes(node),
        title: title(node),
        criteria: passages::criteria(inner),
        refs: Vec::new(),
        scoped_refs: Vec::new(),
        dependencies: Vec::new(),
        known_sections: Vec::new(),
        resolution,
        resolution_count,
    };
    let mut seen = HashSet::new();
    let mut section = None;
    for child in &node.children {
        if child.kind == NodeType::Heading && level(child) == Some(2) {
            section = kind.known_section(&text_of(child));
            if let Some(known) = section.filter(|known| !entity.known_sections.contains(known)) {
                entity.known_sections.push(known);
            }
        }
        for id in references(child) {
            entity.refer(id, section, &mut seen);
        }
    }
    entity
}

/// References that were met: the id alone (`None`), and with the section that it stood in.
type Seen<'a> = HashSet<(&'a str, Option<Option<&'static str>>)>;

impl Entity {
    fn refer<'a>(&mut self, id: &'a str, section: Option<&'static str>, seen: &mut Seen<'a>) {
        if seen.insert((id, None)) {
            self.refs.push(id.to_owned());
        }
        if !seen.insert((id, Some(section))) {
            return;
        }
        self.scoped_refs.push(ScopedRef { id: id.to_owned(), section });
        let direction = match section {
            Some(BLOCKED_BY) => Direction::BlockedBy,
            Some(BLOCKS) => Direction::Blocks,
            _ => return,
        };
        self.dependencies.push(Dependency { id: id.to_owned(), direction });
    }
}

/// Attributes as text. A value that only a renderer knows (a variable, a call) or that is none counts as not written.
fn attributes(node: &Node) -> IndexMap<String, String> {
    let written = node.attributes.iter();
    written.filter_map(|(name, value)| Some((name.to_owned(), plain(value)?))).collect()
}

fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Array(values) => {
            values.iter().map(plain).collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
        }
        Value::Null | Value::Hash(_) | Value::Variable(_) | Value::Function(_) => None,
    }
}

fn level(heading: &Node) -> Option<u8> {
    heading.attributes.get("level").and_then(Value::as_number).map(|level| level as u8)
}

/// The text of the first heading of level 1.
pub(crate) fn title(node: &Node) -> Option<String> {
    let heading = node.walk().find(|child| child.kind == NodeType::Heading && level(child) == Some(1))?;
    Some(text_of(heading).trim().to_owned()).filter(|text| !text.is_empty())
}

/// The words of a node: its texts and its code.
fn text_of(node: &Node) -> String {
    let mut words = String::new();
    for part in node.walk() {
        match part.kind {
            NodeType::Text | NodeType::Code => {
                words.push_str(part.attributes.text("content").unwrap_or_default())
            }
            NodeType::Softbreak | NodeType::Hardbreak => words.push(' '),
            _ => {}
        }
    }
    words
}

/// Ids that a node refers to, in order.
fn references(node: &Node) -> impl Iterator<Item = &str> {
    std::iter::once(node)
        .chain(node.walk())
        .filter(|part| part.is_tag("ref") || part.is_tag("xref"))
        .filter_map(|tag| tag.attributes.text("primary"))
        .filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(text: &str) -> Entity {
        scan("a.md", text).entity.unwrap_or_else(|| panic!("no entity in {text}"))
    }

    #[test]
    fn an_entity_is_read() {
        let entity = entity(
            "Before.\n\n{% work id=\"WORK-1\" status=\"ready\" %}\n# Read the `x` *now*\n\nSee {% ref \"SPEC-1\" /%}.\n\n\
             ## Depends on\n\n- {% ref \"WORK-2\" /%}\n- {% xref \"WORK-2\" /%}\n\n## Notes\n\n{% ref \"WORK-2\" /%}\n\n\
             ## Unblocks\n\n{% ref \"BUG-1\" /%}\n\n## AC\n\n- [x] one\n- [ ] two\n{% /work %}\n",
        );
        assert_eq!(entity.title.as_deref(), Some("Read the x now"));
        assert_eq!(entity.refs, ["SPEC-1", "WORK-2", "BUG-1"]);
        assert_eq!(entity.known_sections, ["Blocked by", "Blocks", "Acceptance Criteria"]);
        let dependencies: Vec<(&str, Direction)> =
            entity.dependencies.iter().map(|one| (one.id.as_str(), one.direction)).collect();
        assert_eq!(dependencies, [("WORK-2", Direction::BlockedBy), ("BUG-1", Direction::Blocks)]);
        assert_eq!(entity.criteria.len(), 2);
        assert_eq!((entity.id(), entity.status()), (Some("WORK-1"), "ready"));
    }

    #[test]
    fn values_become_text_or_nothing() {
        let entity = entity("{% work id=19 a=true b=null c=$v d=[\"x\", 2] e=\"\" %}\n{% /work %}\n");
        let pairs: Vec<(&str, &str)> =
            entity.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("id", "19"), ("a", "true"), ("d", "x,2"), ("e", "")]);
    }

    #[test]
    fn examples_in_code_are_no_entities() {
        for fence in [
            "```\n{% spec id=\"X\" %}\n```",
            "- a\n\n  ```\n  {% spec id=\"X\" %}\n  ```",
            "~~~~\n{% /work %}\n~~~~",
        ] {
            let text = format!("{fence}\n\n{{% work id=\"WORK-1\" %}}\n# T\n\n{fence}\n{{% /work %}}\n");
            let scanned = scan("a.md", &text);
            assert_eq!(scanned.entity.as_ref().and_then(Entity::id), Some("WORK-1"), "{text}");
            assert_eq!(scanned.faults, [], "{text}");
        }
        assert_eq!(scan("a.md", "```\n{% work id=\"WORK-1\" %}\n{% /work %}\n```\n").entity, None);
    }

    #[test]
    fn only_the_top_of_the_document_counts() {
        assert_eq!(
            scan("a.md", "{% section %}\n{% work id=\"W\" %}\n{% /work %}\n{% /section %}\n").entity,
            None
        );
        assert_eq!(scan("a.md", "{% task id=\"W\" %}\n{% /task %}\n").entity, None);
        let two = "{% work id=\"A\" %}\n{% /work %}\n\n{% work id=\"B\" %}\n{% /work %}\n";
        assert_eq!(entity(two).id(), Some("A"));
    }

    #[test]
    fn a_byte_order_mark_and_windows_lines_do_not_matter() {
        let text = "\u{feff}{% work id=\"W\" status=\"done\" %}\r\n# T\r\n\r\n- [x] a\r\n\r\n## Resolution\r\n\r\nCompleted: 2024-01-01\r\n\
                    PR: a/b#1\r\n{% /work %}\r\n";
        let entity = entity(text);
        assert_eq!(entity.criteria[0].text, "a");
        let resolution = entity.resolution.unwrap();
        assert_eq!(
            (resolution.date.as_deref(), resolution.pr.as_deref()),
            (Some("2024-01-01"), Some("a/b#1"))
        );
        assert_eq!(resolution.body, "");
    }

    #[test]
    fn an_unclosed_entity_keeps_its_criteria_and_is_reported() {
        let scanned = scan("a.md", "x\n\n{% work id=\"W\" %}\n# T\n\n- [ ] a\n");
        assert_eq!(scanned.entity.unwrap().criteria.len(), 1);
        assert_eq!((scanned.faults[0].code, scanned.faults[0].line), ("unclosed-tag", 3));
    }

    #[test]
    fn a_broken_opening_tag_is_reported_and_is_no_entity() {
        for opening in ["{% work id=\"W\" status=\"ready %}", "{% work id=\"W\" status=ready %}"] {
            let scanned = scan("a.md", &format!("x\n\n{opening}\n# T\n{{% /work %}}\n"));
            assert_eq!(scanned.entity, None, "{opening}");
            assert_eq!((scanned.faults[0].code, scanned.faults[0].line), ("broken-tag", 3), "{opening}");
        }
    }

    #[test]
    fn a_self_closing_tag_is_an_entity() {
        assert_eq!(entity("{% milestone name=\"m\" status=\"active\" /%}\n").id(), Some("m"));
    }
}
