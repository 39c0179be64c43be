//! A new entity: its file's name and text.

use std::collections::HashMap;

use indexmap::IndexMap;

use super::edit::quoted;
use super::index::PlanIndex;
use super::scan::{entity_tag, parse_hiding_examples, scan};
use super::vocabulary::EntityType;
use crate::limits::FILE_STEM_BYTES_MAX;

/// What a new entity is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEntity {
    /// Its type.
    pub kind: EntityType,
    /// Its id; for a milestone its name.
    pub id: String,
    /// Its first heading.
    pub title: String,
    /// Attributes beside the id, in order.
    pub attributes: IndexMap<String, String>,
    /// What follows the heading; the sections that every entity of the type needs, if nothing is given.
    pub body: Option<String>,
}

impl NewEntity {
    /// The text of its file.
    pub fn text(&self) -> String {
        let kind = self.kind;
        let identity = if kind == EntityType::Milestone { "name" } else { "id" };
        let mut text = format!("{{% {kind} {identity}={}", quoted(&self.id));
        for (name, value) in &self.attributes {
            text.push_str(&format!(" {name}={}", quoted(value)));
        }
        text.push_str(&format!(" %}}\n# {}\n", self.title.trim()));
        let body = self.body.as_deref().map(str::trim).filter(|body| !body.is_empty());
        let body = body.map_or_else(|| skeleton(kind), str::to_owned);
        if !body.is_empty() {
            text.push_str(&format!("\n{body}\n"));
        }
        text.push_str(&format!("{{% /{kind} %}}\n"));
        text
    }

    /// Whether its text is read as what it is meant to be: the whole file, and nothing wrong with it.
    pub fn is_read_back(&self) -> bool {
        let text = self.text();
        let scanned = scan("", &text);
        let Some(read) = scanned.entity.filter(|_| scanned.faults.is_empty()) else { return false };
        let closing = entity_tag(&text).and_then(|tag| tag.node.closing());
        let errors = parse_hiding_examples(&text).is_none_or(|document| {
            document.errors().any(|(_, error)| error.id.level() == quad_markdoc::Level::Critical)
        });
        let is_whole = closing.is_some_and(|closing| closing.end as usize == text.trim_end().len());
        read.kind == self.kind && read.id() == Some(&self.id) && read.title.is_some() && is_whole && !errors
    }

    /// Its file below the plan folder: beside others of its type, named after id and title.
    pub fn file(&self, index: &PlanIndex) -> String {
        let folder = folder_of(self.kind, index);
        let stem = match self.kind {
            EntityType::Milestone => slug(&self.id),
            _ => {
                let title = slug(&self.title);
                if title.is_empty() { self.id.clone() } else { format!("{}-{title}", self.id) }
            }
        };
        let stem = if stem.is_empty() { "milestone".to_owned() } else { stem };
        if folder.is_empty() { format!("{stem}.md") } else { format!("{folder}/{stem}.md") }
    }
}

/// Sections without which an entity of the type would be found wanting as soon as it is worked on.
fn skeleton(kind: EntityType) -> String {
    let sections: &[&str] = match kind {
        EntityType::Work => &["## Acceptance Criteria"],
        EntityType::Bug => &["## Steps to Reproduce", "## Expected", "## Actual"],
        EntityType::Decision => &["## Context", "## Decision", "## Consequences"],
        EntityType::Spec | EntityType::Milestone => &[],
    };
    sections.join("\n\n")
}

/// The folder in which most entities of a type lie; where there are none, the usual one.
fn folder_of(kind: EntityType, index: &PlanIndex) -> String {
    let mut counts: HashMap<&str, usize> = HashMap::new();
    for entity in index.entities().filter(|entity| entity.kind == kind) {
        let folder = entity.file.rsplit_once('/').map_or("", |(folder, _)| folder);
        *counts.entry(folder).or_default() += 1;
    }
    let most = counts.into_iter().max_by(|(a, m), (b, n)| m.cmp(n).then_with(|| b.cmp(a)));
    most.map_or_else(|| usual_folder(kind).to_owned(), |(folder, _)| folder.to_owned())
}

fn usual_folder(kind: EntityType) -> &'static str {
    match kind {
        EntityType::Spec => "specs",
        EntityType::Work => "work",
        EntityType::Bug => "bugs",
        EntityType::Decision => "decisions",
        EntityType::Milestone => "milestones",
    }
}

/// Letters and digits in lower case, with one dash for whatever lies between, up to a length.
fn slug(text: &str) -> String {
    let mut slug = String::new();
    for sign in text.chars().flat_map(char::to_lowercase) {
        let is_kept = sign.is_ascii_alphanumeric() || (sign == '.' && !slug.is_empty());
        if is_kept {
            slug.push(sign);
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
    fn a_new_text_is_read_as_what_it_was_meant_to_be() {
        for kind in EntityType::ALL {
            let new = entity(kind, "X-1", "Say \"hello\" to `it`");
            let scanned = scan("a.md", &new.text());
            assert_eq!(scanned.faults, [], "{kind}");
            let read = scanned.entity.unwrap();
            assert_eq!((read.kind, read.id(), read.status()), (kind, Some("X-1"), "draft"));
            assert_eq!(read.title.as_deref(), Some("Say \"hello\" to it"));
            for state in kind.values("status") {
                for section in kind.required_sections(state) {
                    assert!(read.known_sections.contains(section), "{kind} {state} {section}");
                }
            }
        }
        for breaks_out in ["{% /work %}", "{% hint %}", "{% work id=\"B\" %}\n{% /work %}\n{% /work %}"] {
            let broken = NewEntity { body: Some(breaks_out.into()), ..entity(EntityType::Work, "W", "T") };
            assert!(!broken.is_read_back(), "{breaks_out}");
        }
        assert!(entity(EntityType::Work, "W", "T").is_read_back());
        let with_body =
            NewEntity { body: Some("\n- [ ] one\n\n".into()), ..entity(EntityType::Work, "W", "T") };
        assert_eq!(with_body.text(), "{% work id=\"W\" status=\"draft\" %}\n# T\n\n- [ ] one\n{% /work %}\n");
    }

    #[test]
    fn a_file_lies_beside_its_like_and_stays_inside() {
        let empty = PlanIndex::default();
        assert_eq!(
            entity(EntityType::Work, "WORK-001", "Größe & Maß!").file(&empty),
            "work/WORK-001-gr-e-ma.md"
        );
        assert_eq!(entity(EntityType::Work, "WORK-001", "../../etc").file(&empty), "work/WORK-001-etc.md");
        assert_eq!(entity(EntityType::Milestone, "v1.2", "x").file(&empty), "milestones/v1.2.md");
        assert_eq!(entity(EntityType::Milestone, "../..", "x").file(&empty), "milestones/milestone.md");
        let works = [("tasks/a.md", "{% work id=\"A\" /%}\n"), ("b.md", "{% spec id=\"B\" /%}\n")];
        let index = PlanIndex::of_texts(works);
        assert_eq!(entity(EntityType::Work, "W", "T").file(&index), "tasks/W-t.md");
        assert_eq!(entity(EntityType::Spec, "S", "T").file(&index), "S-t.md");
    }
}
