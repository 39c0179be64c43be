//! A new entity: its file name and text.

use std::collections::HashMap;

use indexmap::IndexMap;
use quad_markdoc::edit;

use super::entity_type::{DEFAULT_COMPLEXITY, DEFAULT_PRIORITY, DEFAULT_SEVERITY, EntityType};
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
    /// Its title.
    pub title: String,
    /// Attributes other than the id, in order.
    pub attributes: IndexMap<String, String>,
    /// The text below the heading. Without it, the file gets the sections of its type.
    pub body: Option<String>,
}

/// The attributes that a new entity has if the caller gives no others, in order. Empty ones are written too, so that a
/// reader of the file sees what can be set. `today` is the date of a decision.
pub fn default_attributes(kind: EntityType, today: &str) -> IndexMap<String, String> {
    let rest: &[(&str, &str)] = match kind {
        EntityType::Work => &[
            ("priority", DEFAULT_PRIORITY),
            ("complexity", DEFAULT_COMPLEXITY),
            ("source", ""),
            ("tags", ""),
        ],
        EntityType::Bug => &[("severity", DEFAULT_SEVERITY), ("source", ""), ("tags", "")],
        EntityType::Decision => &[("date", today), ("source", ""), ("tags", "")],
        EntityType::Spec => &[("tags", "")],
        EntityType::Milestone => &[],
    };
    let status = kind.initial_status().map(|status| ("status", status));
    let attributes = status.into_iter().chain(rest.iter().copied());
    attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
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
        let body = self.body.as_deref().map(str::trim).filter(|body| !body.is_empty());
        let body = body.unwrap_or_else(|| default_body(kind));
        text.push_str(&format!(" %}}\n\n# {}\n\n{body}\n\n{{% /{kind} %}}\n", self.heading()));
        text
    }

    /// The text of the first heading. That of a milestone begins with its name, unless the name is made from the title.
    fn heading(&self) -> String {
        let title = self.title.trim();
        let names_itself = self.kind != EntityType::Milestone || slug(title) == slug(&self.id);
        if names_itself { title.to_owned() } else { format!("{} — {title}", self.id) }
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

    /// Its file below the plan folder: beside others of its type, named after id and title. A milestone's file is named
    /// after its title; if that file exists, also after its name.
    pub fn file_path(&self, index: &PlanIndex) -> String {
        let dir = dir_for_type(self.kind, index);
        let in_dir =
            |stem: &str| if dir.is_empty() { format!("{stem}.md") } else { format!("{dir}/{stem}.md") };
        let (title, name) = (slug(&self.title), slug(&self.id));
        let parts = |parts: &[&str]| {
            let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
            parts.join("-")
        };
        if self.kind != EntityType::Milestone {
            return in_dir(&parts(&[&self.id, &title]));
        }
        let stem = [title.as_str(), name.as_str(), "milestone"].into_iter().find(|stem| !stem.is_empty());
        let file = in_dir(stem.unwrap_or_default());
        if index.has_file(&file) { in_dir(&parts(&[&title, &name])) } else { file }
    }
}

/// The text below the heading of a new entity: what belongs where, to be replaced.
fn default_body(kind: EntityType) -> &'static str {
    match kind {
        EntityType::Work => {
            "What changes, and why it is worth doing.\n\n\
             ## Acceptance Criteria\n- [ ] A result that can be checked\n- [ ] Another result that can be checked\n\n\
             ## Approach\nHow to get there, and what stays as it is.\n\n\
             ## References"
        }
        EntityType::Bug => {
            "## Steps to Reproduce\n1. Where to start\n2. What to do\n3. Where to look\n\n\
             ## Expected\nWhat should be seen.\n\n\
             ## Actual\nWhat is seen.\n\n\
             ## Environment\n- Version and system"
        }
        EntityType::Decision => {
            "## Context\nWhat has to be decided, and why now.\n\n\
             ## Options Considered\n1. **One option**: what it gives and what it costs\n\
             2. **Another option**: what it gives and what it costs\n\n\
             ## Decision\nThe option that is taken.\n\n\
             ## Rationale\nWhy this one.\n\n\
             ## Consequences\nWhat becomes easier, and what becomes harder."
        }
        EntityType::Spec => "What this describes, in one paragraph.\n\n## Overview",
        EntityType::Milestone => "- A goal\n- A second goal\n- What is left for later",
    }
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
        if ch.is_ascii_alphanumeric() {
            slug.push(ch);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= FILE_STEM_BYTES_MAX {
            break;
        }
    }
    slug.trim_matches('-').to_owned()
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
            let title = parsed.title.unwrap();
            assert_eq!(title.strip_prefix("X-1 — ").unwrap_or(&title), "Say \"hello\" to it");
            assert_eq!(title.starts_with("X-1"), kind == EntityType::Milestone, "{title}");
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
            "{% work id=\"W\" status=\"draft\" %}\n\n# T\n\n- [ ] one\n\n{% /work %}\n"
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
        assert_eq!(
            entity(EntityType::Milestone, "v1.2", "High season").file_path(&empty),
            "milestones/high-season.md"
        );
        assert_eq!(entity(EntityType::Milestone, "v1.2", "!").file_path(&empty), "milestones/v1-2.md");
        assert_eq!(entity(EntityType::Milestone, "../..", "!").file_path(&empty), "milestones/milestone.md");
        let taken = PlanIndex::from_texts([("milestones/x.md", "{% milestone name=\"v1\" /%}\n")]);
        assert_eq!(entity(EntityType::Milestone, "v2", "X").file_path(&taken), "milestones/x-v2.md");
        let works = [("tasks/a.md", "{% work id=\"A\" /%}\n"), ("b.md", "{% spec id=\"B\" /%}\n")];
        let index = PlanIndex::from_texts(works);
        assert_eq!(entity(EntityType::Work, "W", "T").file_path(&index), "tasks/W-t.md");
        assert_eq!(entity(EntityType::Spec, "S", "T").file_path(&index), "S-t.md");
    }
}
