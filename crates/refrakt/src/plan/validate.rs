//! Validation of a plan: one function per rule, in the order in which issues are reported.

use std::collections::{HashMap, HashSet};

use serde_json::{Map, Value, json};

use super::dependencies::Dependencies;
use super::entity::Entity;
use super::entity_type::{EntityType, is_done};
use super::index::PlanIndex;
use crate::diagnostic::Severity;

/// One issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// How serious it is.
    pub severity: Severity,
    /// A stable code; the key `type` in JSON.
    pub kind: &'static str,
    /// The entity concerned: its id, or its file.
    pub source: String,
    /// The file.
    pub file: String,
    /// Line and column, if the issue has a position.
    pub position: Option<(usize, usize)>,
    /// The other entity or value concerned.
    pub target: Option<String>,
    /// One sentence.
    pub message: String,
}

/// The result of a validation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// How many entities were checked.
    pub scanned: usize,
    /// The issues.
    pub issues: Vec<Issue>,
}

/// Checks a plan. With `strict`, a warning is an error.
pub fn validate(index: &PlanIndex, strict: bool) -> Validation {
    let mut validator = Validator { index, issues: Vec::new() };
    validator.check_files();
    validator.check_ids();
    validator.check_references();
    validator.check_duplicate_ids();
    validator.check_values();
    validator.check_pull_requests_and_releases();
    validator.check_supersedes();
    validator.check_sources();
    validator.check_milestones();
    validator.check_cycles();
    validator.check_required_sections();
    validator.check_milestone_is_set();
    validator.check_complete_milestones();
    validator.check_resolutions();
    validator.check_file_names();
    let mut issues = validator.issues;
    if strict {
        issues.iter_mut().filter(|issue| issue.severity == Severity::Warning).for_each(|issue| {
            issue.severity = Severity::Error;
        });
    }
    Validation { scanned: index.entities().count(), issues }
}

impl Validation {
    fn count(&self, severity: Severity) -> usize {
        self.issues.iter().filter(|issue| issue.severity == severity).count()
    }

    /// The exit code of a command that validates: 1 if there is an error.
    pub fn exit_code(&self) -> u8 {
        u8::from(self.count(Severity::Error) > 0)
    }

    /// As JSON.
    pub fn to_json(&self) -> Value {
        json!({
            "scanned": self.scanned,
            "issues": self.issues.iter().map(Issue::to_json).collect::<Vec<_>>(),
            "counts": {
                "errors": self.count(Severity::Error),
                "warnings": self.count(Severity::Warning),
                "info": self.count(Severity::Info),
            },
            "exitCode": self.exit_code(),
        })
    }
}

impl Issue {
    fn to_json(&self) -> Value {
        let mut issue = Map::new();
        issue.insert("severity".into(), json!(self.severity.as_str()));
        issue.insert("type".into(), json!(self.kind));
        issue.insert("source".into(), json!(self.source));
        issue.insert("file".into(), json!(self.file));
        if let Some((line, column)) = self.position {
            issue.insert("line".into(), json!(line));
            issue.insert("column".into(), json!(column));
        }
        if let Some(target) = &self.target {
            issue.insert("target".into(), json!(target));
        }
        issue.insert("message".into(), json!(self.message));
        Value::Object(issue)
    }
}

struct Validator<'a> {
    index: &'a PlanIndex,
    issues: Vec<Issue>,
}

impl Validator<'_> {
    fn add(
        &mut self,
        severity: Severity,
        kind: &'static str,
        entity: &Entity,
        target: Option<&str>,
        message: String,
    ) {
        self.issues.push(Issue {
            severity,
            kind,
            source: entity.label().to_owned(),
            file: entity.file.clone(),
            position: None,
            target: target.map(str::to_owned),
            message,
        });
    }

    fn error(&mut self, kind: &'static str, entity: &Entity, target: Option<&str>, message: String) {
        self.add(Severity::Error, kind, entity, target, message);
    }

    fn warn(&mut self, kind: &'static str, entity: &Entity, target: Option<&str>, message: String) {
        self.add(Severity::Warning, kind, entity, target, message);
    }

    /// Tags and files that cannot be parsed.
    fn check_files(&mut self) {
        for file in self.index.files() {
            let source = file.parsed.entity.as_ref().map_or(&file.entry.path, |entity| &entity.file);
            let label = file.parsed.entity.as_ref().map_or(source.as_str(), Entity::label);
            for diagnostic in &file.parsed.diagnostics {
                self.issues.push(Issue {
                    severity: diagnostic.severity,
                    kind: diagnostic.code,
                    source: label.to_owned(),
                    file: diagnostic.file.clone(),
                    position: Some((diagnostic.line, diagnostic.column)),
                    target: None,
                    message: diagnostic.message.clone(),
                });
            }
        }
    }

    fn check_ids(&mut self) {
        for entity in self.index.entities().filter(|entity| entity.id().is_none()) {
            let name = if entity.kind == EntityType::Milestone { "name" } else { "id" };
            let message = format!("the {} has no {name}, so nothing can refer to it", entity.kind);
            self.error("missing-id", entity, None, message);
        }
    }

    fn check_references(&mut self) {
        for entity in self.index.entities() {
            for target in entity.refs.iter().filter(|id| !self.index.contains_id(id)) {
                let message =
                    format!("{} points to {target}, which no file of the plan defines", entity.label());
                self.error("broken-ref", entity, Some(target), message);
            }
        }
    }

    fn check_duplicate_ids(&mut self) {
        for entity in self.index.entities() {
            let Some(id) = entity.id() else { continue };
            let Some(first) = self.index.entity(id).filter(|first| !std::ptr::eq(*first, entity)) else {
                continue;
            };
            let message = format!("{id} is already defined in {}", first.file);
            self.error("duplicate-id", entity, Some(&first.file), message);
        }
    }

    fn check_values(&mut self) {
        let rules = [
            ("status", "invalid-status"),
            ("priority", "invalid-priority"),
            ("severity", "invalid-severity"),
            ("complexity", "invalid-complexity"),
        ];
        for entity in self.index.entities() {
            for (attribute, kind) in rules {
                let allowed = entity.kind.allowed_values(attribute);
                let Some(value) = entity.attribute(attribute).filter(|_| !allowed.is_empty()) else {
                    continue;
                };
                if allowed.iter().any(|allowed_value| allowed_value == value) {
                    continue;
                }
                let message = format!(
                    "the {attribute} of {} is {value:?}, but a {} has one of {}",
                    entity.label(),
                    entity.kind,
                    allowed.join(", ")
                );
                self.error(kind, entity, None, message);
            }
        }
    }

    fn check_pull_requests_and_releases(&mut self) {
        for entity in self.index.entities() {
            let label = entity.label();
            if entity.kind.is_task() {
                for pr in entity.list("pr").filter(|pr| !is_pull_request(pr)) {
                    let message =
                        format!("{label} names the pull request {pr:?}; write owner/repository#number");
                    self.error("invalid-pr", entity, Some(pr), message);
                }
            }
            if entity.kind == EntityType::Spec {
                match entity.attribute("released-in").map(str::trim).filter(|release| !release.is_empty()) {
                    None if entity.status() == "shipped" => {
                        let message = format!("{label} has shipped, but released-in is not set");
                        self.error("shipped-without-release", entity, None, message);
                    }
                    Some(release) if !is_version(release) => {
                        let message = format!(
                            "{label} was released in {release:?}, which is not a version such as v1.2.3"
                        );
                        self.error("invalid-released-in", entity, Some(release), message);
                    }
                    _ => {}
                }
            }
        }
    }

    fn check_supersedes(&mut self) {
        for entity in self.index.entities().filter(|entity| entity.kind == EntityType::Work) {
            let label = entity.label();
            match entity.attribute("supersedes").map(str::trim).filter(|id| !id.is_empty()) {
                None if entity.status() == "superseded" => {
                    let message = format!("{label} is superseded, but supersedes is not set");
                    self.warn("superseded-without-target", entity, None, message);
                }
                Some(id) if !self.index.contains_id(id) => {
                    let message = format!("{label} supersedes {id:?}, which no file of the plan defines");
                    self.warn("broken-supersedes", entity, Some(id), message);
                }
                _ => {}
            }
        }
    }

    fn check_sources(&mut self) {
        for entity in self.index.entities() {
            for id in entity.list("source").filter(|id| !self.index.contains_id(id)) {
                let message = format!(
                    "{} names {id:?} as its source, which no file of the plan defines",
                    entity.label()
                );
                self.error("broken-source", entity, Some(id), message);
            }
        }
    }

    fn check_milestones(&mut self) {
        let milestones = self.index.entities().filter(|entity| entity.kind == EntityType::Milestone);
        let names: HashSet<&str> = milestones.filter_map(Entity::id).collect();
        for entity in self.index.entities() {
            if let Some(name) = entity.attribute("milestone").filter(|name| !names.contains(name)) {
                let message = format!(
                    "{} belongs to the milestone {name:?}, which no file of the plan defines",
                    entity.label()
                );
                self.warn("unknown-milestone", entity, Some(name), message);
            }
        }
    }

    fn check_cycles(&mut self) {
        for cycle in Dependencies::new(self.index).cycles() {
            let Some(entity) = cycle.first().and_then(|id| self.index.entity(id)) else { continue };
            let message = format!("dependency cycle: {} → {}", cycle.join(" → "), entity.label());
            self.error("circular-dependency", entity, None, message);
        }
    }

    fn check_required_sections(&mut self) {
        for entity in self.index.entities() {
            let status = entity.status();
            for section in entity.kind.required_sections(status) {
                if !entity.known_sections.contains(section) {
                    let message =
                        format!("{} is {status}, so it needs a section called {section}", entity.label());
                    self.warn("missing-section", entity, None, message);
                }
            }
        }
    }

    fn check_milestone_is_set(&mut self) {
        for entity in self.index.entities() {
            if entity.kind.is_task() && !is_done(entity.status()) && entity.attribute("milestone").is_none() {
                let message = format!("{} belongs to no milestone", entity.label());
                self.warn("no-milestone", entity, None, message);
            }
        }
    }

    fn check_complete_milestones(&mut self) {
        let mut open: HashMap<&str, Vec<&Entity>> = HashMap::new();
        for task in self.index.entities().filter(|entity| entity.kind.is_task() && !is_done(entity.status()))
        {
            if let Some(milestone) = task.attribute("milestone") {
                open.entry(milestone).or_default().push(task);
            }
        }
        let milestones = self.index.entities().filter(|entity| entity.kind == EntityType::Milestone);
        for milestone in milestones.filter(|milestone| milestone.status() == "complete") {
            let name = milestone.id().unwrap_or_default();
            for task in open.get(name).into_iter().flatten() {
                let (label, status) = (task.label(), task.status());
                let message = format!("the milestone {name} is complete, but its {label} is {status}");
                self.warn("complete-milestone-open-item", milestone, Some(label), message);
            }
        }
    }

    fn check_resolutions(&mut self) {
        for entity in self.index.entities().filter(|entity| entity.kind.is_task()) {
            let (label, status) = (entity.label(), entity.status());
            if is_done(status) && entity.resolution.is_none() {
                let message = format!("{label} is {status}, but has no section Resolution");
                self.add(Severity::Info, "done-without-resolution", entity, None, message);
            }
            if entity.resolution.is_some() && !entity.kind.is_terminal(status) {
                let message = format!("{label} has a resolution, but its status is {status:?}");
                self.warn("resolution-not-done", entity, None, message);
            }
            if entity.resolution_count > 1 {
                let count = entity.resolution_count;
                let message = format!("{label} has {count} sections called Resolution; keep one");
                self.warn("multiple-resolutions", entity, None, message);
            }
        }
    }

    fn check_file_names(&mut self) {
        for entity in self.index.entities().filter(|entity| entity.kind != EntityType::Milestone) {
            let Some(id) = entity.attribute("id") else { continue };
            let name = entity.file.rsplit('/').next().unwrap_or(&entity.file);
            if name.strip_prefix(id).is_some_and(|rest| rest.starts_with('-')) {
                continue;
            }
            match id_prefix_of_file(name) {
                Some(other) => {
                    let message =
                        format!("the file of {id} is named after {other}; rename it to begin with {id}-");
                    self.warn("filename-id-mismatch", entity, None, message);
                }
                None => {
                    let message = format!("the name of the file does not begin with {id}-");
                    self.warn("filename-missing-id", entity, None, message);
                }
            }
        }
    }
}

/// `WORK-019-types.md` → `WORK-019`; `None` if the name does not begin with an id.
fn id_prefix_of_file(name: &str) -> Option<&str> {
    let prefixes = EntityType::ALL.into_iter().filter_map(EntityType::id_prefix);
    let rest = prefixes.filter_map(|prefix| name.strip_prefix(prefix)?.strip_prefix('-')).next()?;
    let digits = rest.find(|ch: char| !ch.is_ascii_digit())?;
    (digits > 0 && rest[digits..].starts_with('-')).then(|| &name[..name.len() - rest.len() + digits])
}

/// `<org>/<repo>#<number>`
fn is_pull_request(text: &str) -> bool {
    let is_name = |part: &str| {
        !part.is_empty() && part.chars().all(|ch| ch.is_ascii_alphanumeric() || "-_.".contains(ch))
    };
    text.split_once('/').is_some_and(|(org, rest)| {
        let numbered = rest.split_once('#');
        is_name(org) && numbered.is_some_and(|(repo, number)| is_name(repo) && is_number(number))
    })
}

/// `v1.2.3` or `1.2.3`, with an optional pre-release and build part.
fn is_version(text: &str) -> bool {
    let text = text.strip_prefix('v').unwrap_or(text);
    let plain = text.split(['-', '+']).next().unwrap_or_default();
    let added = &text[plain.len()..];
    let is_allowed_char = |ch: char| ch.is_ascii_alphanumeric() || "-+.".contains(ch);
    plain.split('.').count() == 3
        && plain.split('.').all(is_number)
        && added.chars().all(is_allowed_char)
        && added.len() != 1
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|ch| ch.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pull_request_and_version_formats() {
        for good in ["a/b#1", "refrakt-md/re.frakt_x#142"] {
            assert!(is_pull_request(good), "{good}");
        }
        for bad in ["", "a#1", "a/b", "a/b#", "a/b#x", "/b#1", "a/#1", "a/b/c#1", "not-a-pr"] {
            assert!(!is_pull_request(bad), "{bad}");
        }
        for good in ["v0.11.4", "1.2.3", "v1.0.0-rc.1", "1.0.0+build"] {
            assert!(is_version(good), "{good}");
        }
        for bad in ["", "v", "1.2", "v1.2.3.4", "soon", "1.2.x", "1.2.3-"] {
            assert!(!is_version(bad), "{bad}");
        }
    }

    #[test]
    fn entities_without_id_and_second_entities_are_issues() {
        let index = PlanIndex::from_texts([
            ("a.md", "{% work status=\"draft\" milestone=\"m\" %}\n# T\n{% /work %}\n"),
            ("b.md", "{% milestone name=\"m\" /%}\n\n{% spec id=\"S\" /%}\n"),
            ("c.md", "{% milestone status=\"active\" /%}\n"),
        ]);
        let issues = validate(&index, false).issues;
        let found: Vec<(&str, &str)> = issues.iter().map(|issue| (issue.kind, issue.file.as_str())).collect();
        assert_eq!(found, [("second-entity", "b.md"), ("missing-id", "a.md"), ("missing-id", "c.md")]);
        assert_eq!((issues[0].position, issues[1].source.as_str()), (Some((3, 1)), "a.md"));
    }

    #[test]
    fn id_prefix_of_file_requires_id_and_dash() {
        let assert_prefix =
            |name: &str, expected: Option<&str>| assert_eq!(id_prefix_of_file(name), expected, "{name}");
        assert_prefix("WORK-019-types.md", Some("WORK-019"));
        assert_prefix("ADR-1-x.md", Some("ADR-1"));
        assert_prefix("WORK-019.md", None);
        assert_prefix("WORK--x.md", None);
        assert_prefix("work-1-x.md", None);
        assert_prefix("notes.md", None);
    }
}
