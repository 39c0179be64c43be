//! A new entity: its file name and text.

use std::collections::HashMap;

use indexmap::IndexMap;
use quad_markdoc::edit;

use super::entity_type::EntityType;
use super::index::PlanIndex;
use super::parse::{find_entity_tag, parse_file, parse_ignoring_fences};
use crate::limits::FILE_STEM_BYTES_MAX;

/// A new entity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntity {
    /// Its type.
    pub kind: EntityType,
    /// Its id; for a milestone its name.
    pub id: String,
    /// Its first heading.
    pub title: String,
    /// Attributes other than the id, in order.
    pub attributes: IndexMap<String, String>,
    /// The text below the heading. Without it, the file gets the sections that the type requires.
    pub body: Option<String>,
}

impl NewEntity {
    /// The text of its file.
    pub fn render(&self) -> String {
        let kind = self.kind;
        let identity = if kind == EntityType::Milestone { "name" } else { "id" };
        let mut text = format!("{{% {kind} {identity}={}", edit::quote(&self.id));
        for (name, value) in &self.attributes {
            text.push_str(&format!(" {name}={}", edit::quote(value)));
        }
        text.push_str(&format!(" %}}\n# {}\n", self.title.trim()));
        let body = self.body.as_deref().map(str::trim).filter(|body| !body.is_empty());
        let body = body.map_or_else(|| default_body(kind), str::to_owned);
        if !body.is_empty() {
            text.push_str(&format!("\n{body}\n"));
        }
        text.push_str(&format!("{{% /{kind} %}}\n"));
        text
    }

    /// Whether parsing the text gives this entity, without an error and without anything after it.
    pub fn round_trips(&self) -> bool {
        let text = self.render();
        let parsed_file = parse_file("", &text);
        let Some(parsed) = parsed_file.entity.filter(|_| parsed_file.diagnostics.is_empty()) else {
            return false;
        };
        let closing = find_entity_tag(&text).and_then(|tag| tag.node.closing());
        let errors = parse_ignoring_fences(&text).is_none_or(|document| {
            document.errors().any(|(_, error)| error.id.level() == quad_markdoc::Level::Critical)
        });
        let is_whole = closing.is_some_and(|closing| closing.end as usize == text.trim_end().len());
        parsed.kind == self.kind
            && parsed.id() == Some(&self.id)
            && parsed.title.is_some()
            && is_whole
            && !errors
    }

    /// Its file below the plan folder: beside others of its type, named after id and title.
    pub fn file_path(&self, index: &PlanIndex) -> String {
        let dir = dir_for_type(self.kind, index);
        let stem = match self.kind {
            EntityType::Milestone => slug(&self.id),
            _ => {
                let title = slug(&self.title);
                if title.is_empty() { self.id.clone() } else { format!("{}-{title}", self.id) }
            }
        };
        let stem = if stem.is_empty() { "milestone".to_owned() } else { stem };
        if dir.is_empty() { format!("{stem}.md") } else { format!("{dir}/{stem}.md") }
    }
}

/// The sections that an entity of the type needs in some status.
fn default_body(kind: EntityType) -> String {
    let sections: &[&str] = match kind {
        EntityType::Work => &["## Acceptance Criteria"],
        EntityType::Bug => &["## Steps to Reproduce", "## Expected", "## Actual"],
        EntityType::Decision => &["## Context", "## Decision", "## Consequences"],
        EntityType::Spec | EntityType::Milestone => &[],
    };
    sections.join("\n\n")
}

/// The folder that holds most entities of a type, or the usual one if there are none.
fn dir_for_type(kind: EntityType, index: &PlanIndex) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for entity in index.entities().filter(|entity| entity.kind == kind) {
        let dir = entity.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        *counts.entry(dir).or_default() += 1;
    }
    let most_used = counts.into_iter().max_by(|(a, m), (b, n)| m.cmp(n).then_with(|| b.cmp(a)));
    most_used.map_or_else(|| default_dir(kind).to_owned(), |(folder, _)| folder.to_owned())
}

fn default_dir(kind: EntityType) -> &'static str {
    match kind {
        EntityType::Spec => "specs",
        EntityType::Work => "work",
        EntityType::Bug => "bugs",
        EntityType::Decision => "decisions",
        EntityType::Milestone => "milestones",
    }
}

/// The letters and digits of a text in lower case, with one dash for everything between them, up to a length.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for ch in text.chars().flat_map(char::to_lowercase) {
        let is_allowed = ch.is_ascii_alphanumeric() || (ch == '.' && !slug.is_empty());
        if is_allowed {
            slug.push(ch);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= FILE_STEM_BYTES_MAX {
            break;
        }
    }
    slug.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entity(kind: EntityType, id: &str, title: &str) -> NewEntity {
        let attributes = [("status".to_owned(), "draft".to_owned())].into_iter().collect();
        NewEntity { kind, id: id.into(), title: title.into(), attributes, body: None }
    }

    #[test]
    fn new_entity_text_round_trips() {
        for kind in EntityType::ALL {
            let new = entity(kind, "X-1", "Say \"hello\" to `it`");
            let parsed_file = parse_file("a.md", &new.render());
            assert_eq!(parsed_file.diagnostics, [], "{kind}");
            let parsed = parsed_file.entity.unwrap();
            assert_eq!((parsed.kind, parsed.id(), parsed.status()), (kind, Some("X-1"), "draft"));
            assert_eq!(parsed.title.as_deref(), Some("Say \"hello\" to it"));
            for state in kind.allowed_values("status") {
                for section in kind.required_sections(state) {
                    assert!(parsed.known_sections.contains(section), "{kind} {state} {section}");
                }
            }
        }
        for breaks_out in ["{% /work %}", "{% hint %}", "{% work id=\"B\" %}\n{% /work %}\n{% /work %}"] {
            let broken = NewEntity { body: Some(breaks_out.into()), ..entity(EntityType::Work, "W", "T") };
            assert!(!broken.round_trips(), "{breaks_out}");
        }
        assert!(entity(EntityType::Work, "W", "T").round_trips());
        let with_body =
            NewEntity { body: Some("\n- [ ] one\n\n".into()), ..entity(EntityType::Work, "W", "T") };
        assert_eq!(
            with_body.render(),
            "{% work id=\"W\" status=\"draft\" %}\n# T\n\n- [ ] one\n{% /work %}\n"
        );
    }

    #[test]
    fn new_file_path_uses_dir_of_type_and_safe_slug() {
        let empty = PlanIndex::default();
        assert_eq!(
            entity(EntityType::Work, "WORK-001", "Größe & Maß!").file_path(&empty),
            "work/WORK-001-gr-e-ma.md"
        );
        assert_eq!(
            entity(EntityType::Work, "WORK-001", "../../etc").file_path(&empty),
            "work/WORK-001-etc.md"
        );
        assert_eq!(entity(EntityType::Milestone, "v1.2", "x").file_path(&empty), "milestones/v1.2.md");
        assert_eq!(entity(EntityType::Milestone, "../..", "x").file_path(&empty), "milestones/milestone.md");
        let works = [("tasks/a.md", "{% work id=\"A\" /%}\n"), ("b.md", "{% spec id=\"B\" /%}\n")];
        let index = PlanIndex::from_texts(works);
        assert_eq!(entity(EntityType::Work, "W", "T").file_path(&index), "tasks/W-t.md");
        assert_eq!(entity(EntityType::Spec, "S", "T").file_path(&index), "S-t.md");
    }
}
