//! Parses one file into its entity.
//!
//! The first entity tag at the top level of the document is the entity. Tags in code blocks are examples and are not
//! parsed as tags.

use std::collections::HashSet;

use indexmap::IndexMap;
use quad_markdoc::{Document, ErrorId, Node, NodeType, Options, Value};

use super::checklist;
use super::entity::{Dependency, Direction, Entity, ParsedFile, ScopedRef};
use super::entity_type::{BLOCKED_BY, BLOCKS, EntityType};
use crate::diagnostic::{Diagnostic, Severity};
use quad_runes::catalogue::line_and_column;

/// Parses one file.
pub fn parse_file(file: &str, text: &str) -> ParsedFile {
    // A byte order mark would keep the first tag from standing alone on its line.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if !text.contains("{%") {
        return ParsedFile::default();
    }
    let Some(document) = parse_ignoring_fences(text) else { return ParsedFile::default() };
    let mut diagnostics = Vec::new();
    let mut entity = None;
    for node in &document.root.children {
        let Some(kind) =
            node.tag.as_deref().filter(|_| node.kind == NodeType::Tag).and_then(EntityType::from_tag)
        else {
            continue;
        };
        let Some(opening) = node.opening() else {
            // A closing tag behind the entity is not a broken opening tag of it.
            if entity.is_some() {
                continue;
            }
            diagnostics.push(broken_opening_diagnostic(file, text, node, kind));
            continue;
        };
        if entity.is_some() {
            let (line, column) = line_and_column(text, opening.start as usize);
            let message = format!(
                "the file has a second entity, a {kind}, which is ignored; move it to a file of its own"
            );
            let file = file.to_owned();
            let (severity, code) = (Severity::Warning, "second-entity");
            diagnostics.push(Diagnostic { severity, code, file, line, column, message });
            continue;
        }
        let unclosed = node.errors.iter().any(|error| error.id == ErrorId::MissingClosing);
        if unclosed {
            let (line, column) = line_and_column(text, opening.start as usize);
            let message = format!("this {kind} is never closed; end it with {{% /{kind} %}}");
            diagnostics.push(Diagnostic {
                severity: Severity::Warning,
                code: "unclosed-tag",
                file: file.to_owned(),
                line,
                column,
                message,
            });
        }
        let end = node
            .closing()
            .map_or(if unclosed { text.len() } else { node.span.end as usize }, |tag| tag.start as usize);
        let inner = text.get(opening.end as usize..end.max(opening.end as usize)).unwrap_or_default();
        entity = Some(build_entity(file, kind, node, inner));
    }
    ParsedFile { entity, diagnostics }
}

/// The tag of a file's entity, with the source positions of its parts.
pub(crate) struct EntityTag {
    pub kind: EntityType,
    pub node: Node,
    /// Length of the byte order mark, in bytes: the positions of `node` count from behind it.
    pub offset: usize,
}

/// Finds the tag that [`parse_file`] reads, for edits.
pub(crate) fn find_entity_tag(text: &str) -> Option<EntityTag> {
    let without_bom = text.strip_prefix('\u{feff}').unwrap_or(text);
    let is_entity = |node: &Node| node.kind == NodeType::Tag && node.opening().is_some();
    let kind_of = |node: &Node| node.tag.as_deref().and_then(EntityType::from_tag);
    let nodes = parse_ignoring_fences(without_bom)?.root.children.into_iter();
    let (node, kind) = nodes.filter(is_entity).find_map(|node| kind_of(&node).map(|kind| (node, kind)))?;
    Some(EntityTag { kind, node, offset: text.len() - without_bom.len() })
}

/// Parses a text without the tags in its code blocks, which are examples.
pub(crate) fn parse_ignoring_fences(text: &str) -> Option<Document> {
    parse_ignoring_fences_with(text, Options::default())
}

/// The same with other options.
pub(crate) fn parse_ignoring_fences_with(text: &str, options: Options) -> Option<Document> {
    quad_markdoc::parse_with(text, &Options { tags_in_fences: false, ..options }).ok()
}

/// A closing tag without an opening one: reports the last text before it that looks like the opening tag.
fn broken_opening_diagnostic(file: &str, text: &str, closing_tag: &Node, kind: EntityType) -> Diagnostic {
    let before = text.get(..closing_tag.span.start as usize).unwrap_or(text);
    let mut openings = before.rmatch_indices("{%");
    let looks_like = |at: usize| before[at + 2..].trim_start().starts_with(kind.as_str());
    let offset = openings.find(|(at, _)| looks_like(*at)).map_or(before.len(), |(at, _)| at);
    let (line, column) = line_and_column(text, offset);
    let message = format!("the opening tag of this {kind} cannot be read; check its quotes and attributes");
    Diagnostic { severity: Severity::Error, code: "broken-tag", file: file.to_owned(), line, column, message }
}

fn build_entity(file: &str, kind: EntityType, node: &Node, inner: &str) -> Entity {
    let (resolution, resolution_count) = checklist::parse_resolution(inner);
    let mut entity = Entity {
        file: file.to_owned(),
        kind,
        attributes: attribute_texts(node),
        title: find_title(node),
        criteria: checklist::parse_criteria(inner),
        refs: Vec::new(),
        scoped_refs: Vec::new(),
        dependencies: Vec::new(),
        known_sections: Vec::new(),
        resolution,
        resolution_count,
    };
    let mut seen_refs = HashSet::new();
    let mut section = None;
    for child in &node.children {
        if child.kind == NodeType::Heading && heading_level(child) == Some(2) {
            section = kind.known_section(&plain_text(child));
            if let Some(section_name) =
                section.filter(|section_name| !entity.known_sections.contains(section_name))
            {
                entity.known_sections.push(section_name);
            }
        }
        for id in reference_ids(child) {
            entity.add_reference(id, section, &mut seen_refs);
        }
    }
    entity
}

/// References seen so far: by id (`None`), and by id and section.
type SeenRefs<'a> = HashSet<(&'a str, Option<Option<&'static str>>)>;

impl Entity {
    fn add_reference<'a>(
        &mut self,
        id: &'a str,
        section: Option<&'static str>,
        seen_refs: &mut SeenRefs<'a>,
    ) {
        if seen_refs.insert((id, None)) {
            self.refs.push(id.to_owned());
        }
        if !seen_refs.insert((id, Some(section))) {
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

/// Attributes as text. A value that is known only when rendering (a variable, a function) or is null counts as not set.
pub(crate) fn attribute_texts(node: &Node) -> IndexMap<String, String> {
    let written = node.attributes.iter();
    written.filter_map(|(name, value)| Some((name.to_owned(), scalar_to_string(value)?))).collect()
}

fn scalar_to_string(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(value.to_string()),
        Value::Array(values) => {
            values.iter().map(scalar_to_string).collect::<Option<Vec<_>>>().map(|parts| parts.join(","))
        }
        Value::Null | Value::Hash(_) | Value::Variable(_) | Value::Function(_) => None,
    }
}

fn heading_level(heading: &Node) -> Option<u8> {
    heading.attributes.get("level").and_then(Value::as_number).map(|level| level as u8)
}

/// The text of the first heading of level 1.
pub(crate) fn find_title(node: &Node) -> Option<String> {
    let heading = node
        .descendants()
        .find(|child| child.kind == NodeType::Heading && heading_level(child) == Some(1))?;
    Some(plain_text(heading).trim().to_owned()).filter(|text| !text.is_empty())
}

/// The text and the inline code of a node.
fn plain_text(node: &Node) -> String {
    let mut text = String::new();
    for part in node.descendants() {
        match part.kind {
            NodeType::Text | NodeType::Code => {
                text.push_str(part.attributes.get_str("content").unwrap_or_default())
            }
            NodeType::Softbreak | NodeType::Hardbreak => text.push(' '),
            _ => {}
        }
    }
    text
}

/// Ids that a node refers to, in order.
fn reference_ids(node: &Node) -> impl Iterator<Item = &str> {
    std::iter::once(node)
        .chain(node.descendants())
        .filter(|part| part.is_tag("ref") || part.is_tag("xref"))
        .filter_map(|tag| tag.attributes.get_str("primary"))
        .filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(text: &str) -> Entity {
        parse_file("a.md", text).entity.unwrap_or_else(|| panic!("no entity in {text}"))
    }

    #[test]
    fn parse_file_reads_all_entity_parts() {
        let entity = entity(
            "Before.\n\n{% work id=\"WORK-1\" status=\"ready\" %}\n# Read the `x` *now*\n\nSee {% ref \"SPEC-1\" /%}.\n\n\
             ## Depends on\n\n- {% ref \"WORK-2\" /%}\n- {% xref \"WORK-2\" /%}\n\n## Notes\n\n{% ref \"WORK-2\" /%}\n\n\
             ## Unblocks\n\n{% ref \"BUG-1\" /%}\n\n## AC\n\n- [x] one\n- [ ] two\n{% /work %}\n",
        );
        assert_eq!(entity.title.as_deref(), Some("Read the x now"));
        assert_eq!(entity.refs, ["SPEC-1", "WORK-2", "BUG-1"]);
        assert_eq!(entity.known_sections, ["Blocked by", "Blocks", "Acceptance Criteria"]);
        let dependencies: Vec<(&str, Direction)> = entity
            .dependencies
            .iter()
            .map(|dependency| (dependency.id.as_str(), dependency.direction))
            .collect();
        assert_eq!(dependencies, [("WORK-2", Direction::BlockedBy), ("BUG-1", Direction::Blocks)]);
        assert_eq!(entity.criteria.len(), 2);
        assert_eq!((entity.id(), entity.status()), (Some("WORK-1"), "ready"));
    }

    #[test]
    fn attribute_values_become_text_or_are_dropped() {
        let entity = entity("{% work id=19 a=true b=null c=$v d=[\"x\", 2] e=\"\" %}\n{% /work %}\n");
        let pairs: Vec<(&str, &str)> =
            entity.attributes.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(pairs, [("id", "19"), ("a", "true"), ("d", "x,2"), ("e", "")]);
    }

    #[test]
    fn tags_in_code_blocks_are_ignored() {
        for fence in [
            "```\n{% spec id=\"X\" %}\n```",
            "- a\n\n  ```\n  {% spec id=\"X\" %}\n  ```",
            "~~~~\n{% /work %}\n~~~~",
        ] {
            let text = format!("{fence}\n\n{{% work id=\"WORK-1\" %}}\n# T\n\n{fence}\n{{% /work %}}\n");
            let parsed = parse_file("a.md", &text);
            assert_eq!(parsed.entity.as_ref().and_then(Entity::id), Some("WORK-1"), "{text}");
            assert_eq!(parsed.diagnostics, [], "{text}");
        }
        assert_eq!(parse_file("a.md", "```\n{% work id=\"WORK-1\" %}\n{% /work %}\n```\n").entity, None);
    }

    #[test]
    fn only_top_level_tags_are_entities() {
        assert_eq!(
            parse_file("a.md", "{% section %}\n{% work id=\"W\" %}\n{% /work %}\n{% /section %}\n").entity,
            None
        );
        assert_eq!(parse_file("a.md", "{% task id=\"W\" %}\n{% /task %}\n").entity, None);
        let two = "{% work id=\"A\" %}\n{% /work %}\n\n{% work id=\"B\" %}\n{% /work %}\n";
        assert_eq!(entity(two).id(), Some("A"));
        let second = &parse_file("a.md", two).diagnostics[0];
        assert_eq!((second.code, second.line, second.column), ("second-entity", 4, 1));
    }

    #[test]
    fn parse_file_accepts_bom_and_crlf() {
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
    fn unclosed_entity_keeps_criteria_and_reports_diagnostic() {
        let parsed = parse_file("a.md", "x\n\n{% work id=\"W\" %}\n# T\n\n- [ ] a\n");
        assert_eq!(parsed.entity.unwrap().criteria.len(), 1);
        assert_eq!((parsed.diagnostics[0].code, parsed.diagnostics[0].line), ("unclosed-tag", 3));
    }

    #[test]
    fn broken_opening_tag_reports_diagnostic_without_entity() {
        for opening in ["{% work id=\"W\" status=\"ready %}", "{% work id=\"W\" status=ready %}"] {
            let parsed = parse_file("a.md", &format!("x\n\n{opening}\n# T\n{{% /work %}}\n"));
            assert_eq!(parsed.entity, None, "{opening}");
            assert_eq!(
                (parsed.diagnostics[0].code, parsed.diagnostics[0].line),
                ("broken-tag", 3),
                "{opening}"
            );
        }
    }

    #[test]
    fn self_closing_tag_is_an_entity() {
        assert_eq!(entity("{% milestone name=\"m\" status=\"active\" /%}\n").id(), Some("m"));
    }
}
