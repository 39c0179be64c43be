//! The types of entities: their id prefixes, statuses, and what a status means.
//!
//! Statuses, priorities and known sections come from the built-in plan package, so they are defined once.

use quad_runes::catalogue::{ContentModel, Rune, builtin};

/// A type of entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EntityType {
    /// A specification.
    Spec,
    /// A work item.
    Work,
    /// A bug.
    Bug,
    /// A decision that was made.
    Decision,
    /// A milestone.
    Milestone,
}

/// The package that the plan's runes come from.
pub const PLAN_PACKAGE: &str = "@refrakt-md/plan";

impl EntityType {
    /// All types.
    pub const ALL: [EntityType; 5] =
        [EntityType::Spec, EntityType::Work, EntityType::Bug, EntityType::Decision, EntityType::Milestone];

    /// The name of its tag.
    pub fn as_str(self) -> &'static str {
        match self {
            EntityType::Spec => "spec",
            EntityType::Work => "work",
            EntityType::Bug => "bug",
            EntityType::Decision => "decision",
            EntityType::Milestone => "milestone",
        }
    }

    /// The type of a tag. Aliases of the runes are not entity tags.
    pub fn from_tag(tag: &str) -> Option<EntityType> {
        EntityType::ALL.into_iter().find(|kind| kind.as_str() == tag)
    }

    /// The prefix of its ids; `None` for milestones, which have names.
    pub fn id_prefix(self) -> Option<&'static str> {
        match self {
            EntityType::Spec => Some("SPEC"),
            EntityType::Work => Some("WORK"),
            EntityType::Bug => Some("BUG"),
            EntityType::Decision => Some("ADR"),
            EntityType::Milestone => None,
        }
    }

    /// Whether it is a task: a work item or a bug.
    pub fn is_task(self) -> bool {
        matches!(self, EntityType::Work | EntityType::Bug)
    }

    /// The allowed values of an attribute; empty if any value is allowed.
    pub fn allowed_values(self, attribute: &str) -> &'static [String] {
        let rune = plan_rune(self);
        rune.and_then(|rune| rune.attributes.get(attribute)).map_or(&[], |attribute| &attribute.matches)
    }

    /// The allowed value that a caller means: equal but for case and separators, as `In Progress`. Other values stay
    /// as they are.
    pub fn canonical_value<'a>(self, attribute: &str, value: &'a str) -> &'a str {
        let folded = fold(value);
        let mut allowed = self.allowed_values(attribute).iter();
        allowed.find(|allowed| fold(allowed) == folded).map_or(value, String::as_str)
    }

    /// The attributes that an entity of this type may have.
    pub fn attribute_names(self) -> Vec<&'static str> {
        plan_rune(self).map_or_else(Vec::new, |rune| rune.attributes.keys().map(String::as_str).collect())
    }

    /// The status of a new entity.
    pub fn initial_status(self) -> Option<&'static str> {
        self.allowed_values("status").first().map(String::as_str)
    }

    /// The status in which work can start.
    pub fn actionable_status(self) -> Option<&'static str> {
        match self {
            EntityType::Work => Some("ready"),
            EntityType::Bug => Some("confirmed"),
            _ => None,
        }
    }

    /// Whether an entity with this status is closed.
    pub fn is_terminal(self, status: &str) -> bool {
        match self {
            EntityType::Spec => {
                ["accepted", "implemented", "shipped", "superseded", "deprecated"].contains(&status)
            }
            EntityType::Work => ["done", "cancelled", "superseded"].contains(&status),
            EntityType::Bug => ["fixed", "wontfix", "duplicate"].contains(&status),
            EntityType::Decision => ["accepted", "rejected", "superseded", "deprecated"].contains(&status),
            EntityType::Milestone => status == "complete",
        }
    }

    /// Whether entities that depend on it may proceed.
    pub fn unblocks_dependents(self, status: &str) -> bool {
        match self {
            EntityType::Spec => ["accepted", "implemented", "shipped"].contains(&status),
            EntityType::Work | EntityType::Bug => is_done(status),
            EntityType::Decision => status == "accepted",
            EntityType::Milestone => status == "complete",
        }
    }

    /// The sections that an entity with this status must have.
    pub fn required_sections(self, status: &str) -> &'static [&'static str] {
        match self {
            EntityType::Work if ["ready", "in-progress", "review", "done"].contains(&status) => {
                &["Acceptance Criteria"]
            }
            EntityType::Bug if ["confirmed", "in-progress", "fixed"].contains(&status) => {
                &["Steps to Reproduce", "Expected", "Actual"]
            }
            EntityType::Decision if status == "accepted" => &["Context", "Decision"],
            _ => &[],
        }
    }

    /// The known section that a heading opens. Case does not matter.
    pub fn known_section(self, heading: &str) -> Option<&'static str> {
        let Some(ContentModel::Sections(sections)) = plan_rune(self).and_then(|rune| rune.content.as_ref())
        else {
            return None;
        };
        let matches_heading = |name: &str| name.to_lowercase() == heading.trim().to_lowercase();
        let mut known_sections = sections.known_sections.iter();
        known_sections
            .find(|(name, section)| {
                matches_heading(name) || section.alias.iter().any(|alias| matches_heading(alias))
            })
            .map(|(name, _)| name.as_str())
    }
}

impl std::fmt::Display for EntityType {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.as_str())
    }
}

/// A value in lower case without separators.
fn fold(value: &str) -> String {
    value.chars().filter(|ch| !matches!(ch, '-' | '_' | ' ')).flat_map(char::to_lowercase).collect()
}

/// Whether a task with this status is finished. The same for every type.
pub fn is_done(status: &str) -> bool {
    status == "done" || status == "fixed"
}

/// The known section whose references must be achieved first.
pub const BLOCKED_BY: &str = "Blocked by";

/// The known section whose references wait for this entity.
pub const BLOCKS: &str = "Blocks";

/// The priority of an item that sets none.
pub const DEFAULT_PRIORITY: &str = "medium";

/// The complexity of an item that sets none.
pub const DEFAULT_COMPLEXITY: &str = "unknown";

/// The severity of a new bug.
pub const DEFAULT_SEVERITY: &str = "major";

/// The rank of a priority in the order of work. An unknown priority ranks as the default.
pub fn priority_rank(priority: &str) -> usize {
    rank("priority", priority).or_else(|| rank("priority", DEFAULT_PRIORITY)).unwrap_or(usize::MAX)
}

/// The rank of a complexity in the order of work: simple first, unknown last.
pub fn complexity_rank(complexity: &str) -> usize {
    rank("complexity", complexity).or_else(|| rank("complexity", DEFAULT_COMPLEXITY)).unwrap_or(usize::MAX)
}

fn rank(attribute: &str, value: &str) -> Option<usize> {
    EntityType::Work.allowed_values(attribute).iter().position(|allowed| allowed == value)
}

/// The rune of a type.
fn plan_rune(kind: EntityType) -> Option<&'static Rune> {
    builtin::package(PLAN_PACKAGE)?.runes.get(kind.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn catalogue_defines_statuses_and_sections() {
        assert_eq!(EntityType::Milestone.allowed_values("status"), ["planning", "active", "complete"]);
        assert_eq!(EntityType::Work.allowed_values("priority"), ["critical", "high", "medium", "low"]);
        assert!(EntityType::Work.allowed_values("assignee").is_empty());
        assert_eq!(EntityType::Work.known_section("depends ON"), Some(BLOCKED_BY));
        assert_eq!(EntityType::Bug.known_section("Repro"), Some("Steps to Reproduce"));
        assert_eq!(EntityType::Spec.known_section("Blocked by"), None);
    }

    #[test]
    fn terminal_and_actionable_statuses_exist_in_catalogue() {
        for kind in EntityType::ALL {
            let states = kind.allowed_values("status");
            assert!(states.iter().any(|state| kind.is_terminal(state)), "{kind}");
            if let Some(actionable) = kind.actionable_status() {
                assert!(states.iter().any(|state| state == actionable), "{kind}");
            }
        }
    }

    #[test]
    fn canonical_value_ignores_case_and_separators() {
        for given in ["in-progress", "In Progress", "in_progress", "INPROGRESS"] {
            assert_eq!(EntityType::Work.canonical_value("status", given), "in-progress");
        }
        assert_eq!(EntityType::Work.canonical_value("status", "doing"), "doing");
        assert_eq!(EntityType::Work.canonical_value("assignee", "Mara"), "Mara");
    }

    #[test]
    fn ranks_follow_catalogue_order() {
        assert!(priority_rank("critical") < priority_rank("high"));
        assert_eq!(priority_rank("strange"), priority_rank("medium"));
        assert!(complexity_rank("complex") < complexity_rank("unknown"));
        assert_eq!(complexity_rank("strange"), complexity_rank("unknown"));
    }
}
