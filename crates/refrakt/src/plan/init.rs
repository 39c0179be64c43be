//! The files of a new plan: a folder and an example for each type of entity, and a page about how to use them.

use indexmap::IndexMap;

use super::create::{NewEntity, default_attributes};
use super::entity_type::EntityType;
use super::index::PlanIndex;

/// A file of a new plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitialFile {
    /// Path below the plan folder.
    pub path: String,
    /// Its text.
    pub text: String,
    /// The id of its entity, or its name.
    pub id: String,
}

/// The folders of a plan, in the order of the npm package.
pub const DIRS: [&str; 5] = ["work", "bugs", "specs", "decisions", "milestones"];

/// Name of the page about the plan.
const INSTRUCTIONS_FILE: &str = "INSTRUCTIONS.md";

/// Name of the example milestone.
const MILESTONE: &str = "v0.1.0";

/// The files that a new plan gets, in the order in which they are created. `has_entities` says whether the plan has
/// entities of a type already: these get no example. `today` is the date of the decision.
pub fn initial_files(index: &PlanIndex, today: &str) -> Vec<InitialFile> {
    let kinds = [EntityType::Spec, EntityType::Work, EntityType::Decision, EntityType::Milestone];
    let missing = kinds.into_iter().filter(|kind| index.entities().all(|entity| entity.kind != *kind));
    let mut files: Vec<InitialFile> = missing
        .map(|kind| {
            let entity = example(kind, today, index);
            InitialFile { path: entity.file_path(index), text: entity.render(), id: entity.id }
        })
        .filter(|file| !index.contains_id(&file.id) && !index.has_file(&file.path))
        .collect();
    if !index.has_file(INSTRUCTIONS_FILE) {
        files.push(InitialFile {
            path: INSTRUCTIONS_FILE.to_owned(),
            text: INSTRUCTIONS.to_owned(),
            id: INSTRUCTIONS_FILE.to_owned(),
        });
    }
    files
}

/// An example refers to other examples where they are, or will be.
fn example(kind: EntityType, today: &str, index: &PlanIndex) -> NewEntity {
    let will_exist = |kind: EntityType, id: &str| {
        index.contains_id(id) || index.entities().all(|entity| entity.kind != kind)
    };
    let mut attributes = default_attributes(kind, today);
    let mut set = |pairs: &[(&str, &str)]| {
        let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        attributes.extend(pairs.collect::<IndexMap<_, _>>());
    };
    let (id, title, body) = match kind {
        EntityType::Spec => (
            "SPEC-001",
            "Example spec",
            "What the product does for its users, so precise that work can be checked against it.\n\n\
             ## Overview\nReplace this with your first specification, or delete the file.",
        ),
        EntityType::Work => {
            if will_exist(EntityType::Spec, "SPEC-001") {
                set(&[("source", "SPEC-001")]);
            }
            if will_exist(EntityType::Milestone, MILESTONE) {
                set(&[("milestone", MILESTONE)]);
            }
            (
                "WORK-001",
                "Example work item",
                "One piece of work that can be finished in a few days.\n\n\
                 ## Acceptance Criteria\n- [ ] The specification says what to build\n- [ ] A test shows that it works\n\n\
                 ## Approach\nSet the status to ready when this is clear.\n\n\
                 ## References",
            )
        }
        EntityType::Decision => (
            "ADR-001",
            "Example decision",
            "## Context\nPlans get lost in tools that only people open.\n\n\
             ## Options Considered\n1. **Files in the repository**: reviewed with the code, read by people and agents\n\
             2. **A separate service**: more views, but another place to look\n\n\
             ## Decision\nFiles in the repository.\n\n\
             ## Rationale\nA plan beside the code changes with it.\n\n\
             ## Consequences\nChanges of the plan are commits.",
        ),
        EntityType::Milestone => (
            MILESTONE,
            "First release",
            "- One thing that users can do from start to end\n- Its documentation\n- What can wait is left out",
        ),
        EntityType::Bug => ("BUG-001", "Example bug", ""),
    };
    NewEntity { kind, id: id.to_owned(), title: title.to_owned(), attributes, body: Some(body.to_owned()) }
}

/// The page about the plan. Its example is in a code block, so it is no entity.
const INSTRUCTIONS: &str = r#"# How this plan works

Each file holds one entity: a Markdoc tag with attributes, a title and text.

```
{% work id="WORK-012" status="ready" priority="high" milestone="v0.1.0" source="SPEC-001" %}

# Paint the pier

## Acceptance Criteria
- [ ] The paint is dry

{% /work %}
```

| folder | type | its states, the first one initial |
| --- | --- | --- |
| `work/` | `work` | draft, ready, in-progress, review, done, blocked, pending, cancelled, superseded |
| `bugs/` | `bug` | reported, confirmed, in-progress, fixed, wontfix, duplicate |
| `specs/` | `spec` | draft, review, accepted, implemented, shipped, superseded, deprecated |
| `decisions/` | `decision` | proposed, accepted, rejected, superseded, deprecated |
| `milestones/` | `milestone` | planning, active, complete |

## To do

1. `plan_next` says what can be started: ready work and confirmed bugs, the most important first.
2. `plan_context` shows one entity with everything behind it.
3. `plan_update` sets the status, ticks criteria, and records how it was resolved.
4. `plan_create` makes an entity with the next free id.
5. `plan_validate` finds what is wrong with the plan.

Name other entities with `{% ref "SPEC-001" /%}`. What must be done first stands under `## Blocked by`.
"#;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::validate::validate;

    #[test]
    fn new_plan_is_valid_and_complete() {
        let files = initial_files(&PlanIndex::default(), "2026-01-02");
        let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
        let expected = [
            "specs/SPEC-001-example-spec.md",
            "work/WORK-001-example-work-item.md",
            "decisions/ADR-001-example-decision.md",
            "milestones/first-release.md",
            "INSTRUCTIONS.md",
        ];
        assert_eq!(paths, expected);
        let mut texts: Vec<(&str, &str)> =
            files.iter().map(|file| (file.path.as_str(), file.text.as_str())).collect();
        texts.sort_unstable();
        let index = PlanIndex::from_texts(texts);
        assert_eq!(index.entities().count(), 4);
        assert_eq!(validate(&index, true).issues, []);
        assert_eq!(initial_files(&index, ""), [], "a second time nothing is missing");
        let own = PlanIndex::from_texts([("work/WORK-001-own.md", "{% work id=\"WORK-001\" /%}\n")]);
        let paths: Vec<String> = initial_files(&own, "").into_iter().map(|file| file.path).collect();
        assert!(!paths.iter().any(|path| path.starts_with("work/")), "{paths:?}");
        assert_eq!(paths.len(), 4);
    }
}
