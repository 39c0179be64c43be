//! Calls as models make them: what is understood, and what the errors of the others say.

use quad_core::Scheme as _;
use serde_json::{Value, json};

use crate::fixture::{TestProject, test_projects};

const WORK: &str = "{% work id=\"WORK-001\" status=\"ready\" priority=\"high\" milestone=\"v1\" tags=\"forms\" %}\n\
    # Paint the pier\n\n## Acceptance Criteria\n\n- [ ] blue paint\n- [ ] dry paint\n{% /work %}\n";

const FILES: [(&str, &str); 7] = [
    ("refrakt.config.json", r#"{"site": {"contentDir": "./content", "plugins": ["@refrakt-md/plan"]}}"#),
    ("content/docs/berths.md", "---\ntitle: Free berths\n---\n# Berths\n"),
    ("plan/work/WORK-001-pier.md", WORK),
    ("plan/work/WORK-002-rope.md", "{% work id=\"WORK-002\" status=\"draft\" %}\n# Rope\n{% /work %}\n"),
    ("plan/bugs/BUG-001-rope.md", "{% bug id=\"BUG-001\" status=\"reported\" %}\n# Rope\n{% /bug %}\n"),
    ("plan/specs/SPEC-001-pier.md", "{% spec id=\"SPEC-001\" status=\"draft\" %}\n# Pier\n{% /spec %}\n"),
    (
        "plan/milestones/v1.md",
        "{% milestone name=\"v1\" status=\"active\" %}\n# High season\n{% /milestone %}\n",
    ),
];

/// Whether `value` has everything that `expected` has. The items of an array are compared by position.
fn contains(value: &Value, expected: &Value) -> bool {
    match (value, expected) {
        (Value::Object(value), Value::Object(expected)) => expected
            .iter()
            .all(|(name, expected)| value.get(name).is_some_and(|value| contains(value, expected))),
        (Value::Array(values), Value::Array(expected)) => {
            values.len() == expected.len()
                && values.iter().zip(expected).all(|(value, expected)| contains(value, expected))
        }
        _ => value == expected,
    }
}

async fn assert_understood(project: &TestProject, calls: &[(&str, Value, Value)]) {
    for (tool, arguments, expected) in calls {
        let result = project.call_tool(tool, arguments.clone()).await;
        let result =
            result.unwrap_or_else(|error| panic!("{tool} {arguments}: {}", error.message_with_hint()));
        assert!(contains(&result, expected), "{tool} {arguments}: {result}");
    }
}

/// Checks the message and the hint of each error, and that a hint names default tools only.
async fn assert_refused(project: &TestProject, calls: &[(&str, Value, &str)]) {
    let tools = project.refrakt.tools();
    for (tool, arguments, expected) in calls {
        let result = project.call_tool(tool, arguments.clone()).await;
        let Err(error) = result else { panic!("{tool} {arguments} is not refused: {result:?}") };
        let hint = error.hint_text().unwrap_or_else(|| panic!("{tool} {arguments}: {error} has no hint"));
        let text = format!("{} | {hint}", error.message());
        assert_eq!(text, *expected, "{tool} {arguments}");
        for named in &tools {
            // A caller of a tool outside the default list knows the full list.
            let is_default = named.core || tools.iter().any(|called| called.name == *tool && !called.core);
            let words = hint.split(|ch: char| !ch.is_ascii_alphanumeric() && !"_-".contains(ch));
            assert!(is_default || words.into_iter().all(|word| word != named.name), "{hint}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_and_forms_of_arguments_of_reads_are_understood() {
    let next = json!({"items": [{"id": "WORK-001"}]});
    let pier = json!({"entity": {"id": "WORK-001"}});
    let page = json!({"url": "/docs/berths"});
    for project in test_projects(&FILES).await {
        let calls = [
            ("plan_next", json!({"count": 3, "type": "WORK"}), next.clone()),
            ("plan_next", json!({"max_results": "3", "kind": "work"}), next.clone()),
            ("plan_next", json!({"top_k": 3, "label": "forms", "milestone": "High season"}), next.clone()),
            ("plan.next", json!({"limit": 3.0, "milestone": "V1"}), next.clone()),
            ("plan_next", json!({"milestone": null, "tag": "", "type": "work"}), next.clone()),
            (
                "plan_index",
                json!({"type": "Work", "state": "Ready"}),
                json!({"entities": [{"id": "WORK-001"}]}),
            ),
            ("plan_index", json!({"milestone": "High Season"}), json!({"entities": [{"id": "WORK-001"}]})),
            ("plan_status", json!({"milestone": "High season"}), json!({"milestone": {"name": "v1"}})),
            ("plan_context", json!({"entity_id": "work-001"}), pier.clone()),
            ("plan_context", json!({"task": "Paint the pier"}), pier.clone()),
            ("plan_context", json!({"name": "paint the PIER"}), pier.clone()),
            ("plan_context", json!({"id": "refrakt://plan/work/WORK-001"}), pier.clone()),
            ("plan_context", json!({"id": "work/WORK-001-pier.md"}), pier.clone()),
            ("plan_entity", json!({"id": "rope", "type": "bug"}), json!({"id": "BUG-001"})),
            ("plan_validate", json!({"strict": "true"}), json!({"scanned": 5})),
            ("refrakt_reference", json!({"name": "Hint", "format": "JSON"}), json!({"name": "hint"})),
            (
                "refrakt_inspect",
                json!({"tag": "hint", "attributes": "{\"type\": \"warning\"}"}),
                json!({"rune": "hint"}),
            ),
            (
                "refrakt_render",
                json!({"content": "# T", "site": "Main"}),
                json!({"html": "<article>\n  <h1 id=\"t\">T</h1>\n</article>"}),
            ),
            ("refrakt_validate_content", json!({"text": "# T"}), json!({"valid": true})),
            ("refrakt_page", json!({"path": "docs/berths"}), page.clone()),
            ("refrakt_page", json!({"title": "Free berths"}), page.clone()),
            ("refrakt_page", json!({"file": "content/docs/berths.md"}), page.clone()),
            ("refrakt_page", json!({"url": "docs/berths.md"}), page.clone()),
        ];
        assert_understood(&project, &calls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_names_and_forms_of_arguments_of_writes_are_understood() {
    let one = json!({"changed": 1});
    for project in test_projects(&FILES).await {
        let calls = [
            ("plan_update", json!({"id": "work-001", "status": "In Progress"}), one.clone()),
            ("plan_update", json!({"task": "Paint the pier", "state": "review"}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "fields": {"status": "DONE"}}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "attrs": "{\"priority\": \"low\"}"}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "tags": ["a", "b"]}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "released-in": null, "owner": "mara"}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "check": 2}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "check": "BLUE"}), one.clone()),
            ("plan_update", json!({"id": "WORK-001", "uncheck": "[1, \"dry paint\"]"}), one.clone()),
            (
                "plan_update",
                json!({"id": "WORK-001", "check": ["1", "dry"], "ids": [], "updates": null}),
                one.clone(),
            ),
            ("plan_update", json!({"id": "WORK-002"}), json!({"changed": 0, "changes": []})),
            (
                "plan_update",
                json!({"id": "WORK-002", "status": "review", "attrs": {"status": "done", "pr": ""}}),
                json!({"changes": [{"field": "status", "old": "draft", "new": "review"}]}),
            ),
            ("plan_update", json!({"ids": "WORK-002", "status": "ready"}), one.clone()),
            (
                "plan_update",
                json!({"ids": "[\"WORK-001\", \"WORK-002\"]", "priority": "HIGH", "dry_run": "true"}),
                json!({"dryRun": true, "changed": 2}),
            ),
            ("plan_update", json!({"updates": {"id": "WORK-002", "status": "draft"}}), one.clone()),
            (
                "plan_update",
                json!({"updates": [{"entity": "WORK-002", "state": "ready"}, {"id": "WORK-001", "check": 1, "tags": "x"}]}),
                json!({"changed": 2}),
            ),
            (
                "plan_create",
                json!({"kind": "work", "name": "Sell ice", "dryRun": "true"}),
                json!({"id": "WORK-003", "dryRun": true}),
            ),
            (
                "plan_create",
                json!({"type": "Bug", "title": "Wet", "severity": "Minor", "status": "confirmed", "tags": ["a"], "description": "Text."}),
                json!({"id": "BUG-002"}),
            ),
        ];
        assert_understood(&project, &calls).await;
        let bug = project.read_text("refrakt://plan/bug/BUG-002").await.unwrap();
        assert_eq!(
            bug,
            "{% bug id=\"BUG-002\" status=\"confirmed\" severity=\"minor\" source=\"\" tags=\"a\" %}\n\n# Wet\n\nText.\n\n{% /bug %}\n"
        );
        let pier = project.read_text("refrakt://plan/work/WORK-001").await.unwrap();
        assert!(pier.contains("- [x] blue paint\n- [x] dry paint"), "{pier}");
        assert!(pier.starts_with("{% work id=\"WORK-001\" status=\"done\" priority=\"low\" milestone=\"v1\" tags=\"x\" assignee=\"mara\" %}"), "{pier}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_reads_say_what_to_send() {
    for project in test_projects(&FILES).await {
        let calls = [
            (
                "plan_context",
                json!({}),
                r#"Missing argument id (Id such as WORK-012, milestone name, or title) | Example: plan_context {"id":"WORK-012"}"#,
            ),
            (
                "plan_context",
                json!({"id": "WORK-01"}),
                "plan entity WORK-01 not found | Did you mean WORK-001 or WORK-002? List all with plan_index",
            ),
            (
                "plan_context",
                json!({"id": "zzzzzzzz"}),
                "plan entity zzzzzzzz not found | List all with plan_index",
            ),
            (
                "plan_context",
                json!({"id": "Rope"}),
                "plan entity Rope not found: 2 entities have this title | Send the id, such as one of BUG-001, WORK-002",
            ),
            (
                "plan_entity",
                json!({"id": "SPEC-001", "type": "work"}),
                "plan entity SPEC-001 not found | Send type spec: the id belongs to a spec",
            ),
            (
                "plan_entity",
                json!({"id": "SPEC-001", "type": "task"}),
                r#"type cannot be "task" | Use one of work, spec, bug, decision, milestone"#,
            ),
            (
                "plan_index",
                json!({"type": "feature"}),
                r#"type cannot be "feature" | Use one of work, bug, milestone, spec, decision"#,
            ),
            (
                "plan_index",
                json!({"type": "bug", "status": "fixd"}),
                "There is no status fixd of a bug | Did you mean fixed? Use one of fixed, wontfix, confirmed, reported, duplicate, in-progress",
            ),
            (
                "plan_index",
                json!({"milestone": "v2"}),
                "plan entity v2 not found | Did you mean v1? List all with plan_index {\"type\": \"milestone\"}",
            ),
            (
                "plan_index",
                json!({"limit": 5}),
                "Unknown argument limit | Use only type, tag, status, milestone, assignee",
            ),
            (
                "plan_status",
                json!({"milestone": "zzzzzzzz"}),
                "plan entity zzzzzzzz not found | List all with plan_index {\"type\": \"milestone\"}",
            ),
            (
                "plan_next",
                json!({"limit": 0}),
                "limit is 0, less than 1 | Send a number that is not less than 1: Number of tasks",
            ),
            (
                "plan_next",
                json!({"limit": "many"}),
                r#"limit is a string, "many" | Send limit as an integer (Number of tasks)"#,
            ),
            (
                "plan_next",
                json!({"milestone": "v2"}),
                "plan entity v2 not found | Did you mean v1? List all with plan_index {\"type\": \"milestone\"}",
            ),
            (
                "plan_next-id",
                json!({"type": "milestone"}),
                r#"type cannot be "milestone" | Use one of decision, spec, work, bug"#,
            ),
            ("plan_validate", json!({"fix": true}), "Unknown argument fix | Use only strict, cursor"),
            (
                "refrakt_detect",
                json!({"path": "."}),
                "Unknown argument path | Call the tool without arguments",
            ),
            (
                "refrakt_reference",
                json!({"rune": "hnt"}),
                "There is no rune called hnt | Did you mean hint? Call refrakt_reference without rune for all runes",
            ),
            (
                "refrakt_reference",
                json!({"rune": "zzzzzzzz"}),
                "There is no rune called zzzzzzzz | Call refrakt_reference without rune for all runes",
            ),
            (
                "refrakt_reference",
                json!({"rune": "hero"}),
                "There is no rune called hero | Add @refrakt-md/marketing, which has it, to the site's plugins, or call refrakt_reference without rune for all runes",
            ),
            (
                "refrakt_reference",
                json!({"format": "md"}),
                r#"format cannot be "md" | Use one of json, markdown"#,
            ),
            (
                "refrakt_reference",
                json!({"site": "docs"}),
                "The project has no site called docs | Use one of main",
            ),
            (
                "refrakt_inspect",
                json!({"rune": "hint", "attributes": {"type": "warn"}}),
                "`warn` is not an allowed value of type of hint | Use one of caution, check, note, warning",
            ),
            (
                "refrakt_inspect",
                json!({"rune": "hint", "attributes": {"kind": "note"}}),
                "The rune hint has no attribute called kind | Use one of type",
            ),
            (
                "refrakt_render",
                json!({}),
                r#"Missing argument source (Markdoc text) | Example: refrakt_render {"source":"{% hint type=\"warning\" %}\nThe pier is wet.\n{% /hint %}"}"#,
            ),
            (
                "refrakt_render",
                json!({"file": "content/docs/berths.md"}),
                r#"Unknown argument file. Missing argument source (Markdoc text) | Use only site, source. Example: refrakt_render {"source":"{% hint type=\"warning\" %}\nThe pier is wet.\n{% /hint %}"}"#,
            ),
            (
                "refrakt_validate_content",
                json!({"file": "content/docs/berths.md"}),
                r##"Unknown argument file. Missing argument content (Markdoc text of the page) | Use only site, content. Example: refrakt_validate_content {"content":"# Berths\n\n{% hint %}\nBook early.\n{% /hint %}"}"##,
            ),
            (
                "refrakt_page",
                json!({"url": "/docs/berth"}),
                "There is no page /docs/berth | Did you mean /docs/berths? List all with refrakt_pages",
            ),
            (
                "refrakt_page",
                json!({"url": "/zzzzzzzz"}),
                "There is no page /zzzzzzzz | List all with refrakt_pages",
            ),
        ];
        assert_refused(&project, &calls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_writes_say_what_to_send() {
    for project in test_projects(&FILES).await {
        let calls = [
            (
                "plan_update",
                json!({}),
                r#"Missing argument id: the call names no entity | Send id, ids or updates. Example: plan_update {"id":"WORK-012","status":"in-progress","check":["form works"]}"#,
            ),
            (
                "plan_update",
                json!({"status": "done"}),
                r#"Missing argument id: the call names no entity | Send id, ids or updates. Example: plan_update {"id":"WORK-012","status":"in-progress","check":["form works"]}"#,
            ),
            (
                "plan_update",
                json!({"id": "WORK-009", "status": "done"}),
                "plan entity WORK-009 not found | Did you mean WORK-001 or WORK-002? List all with plan_index",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "status": "doing"}),
                r#"WORK-001: "doing" is not a valid status of a work | Use one of draft, ready, in-progress, review, done, blocked, pending, cancelled, superseded"#,
            ),
            (
                "plan_update",
                json!({"id": "BUG-001", "status": "ready"}),
                r#"BUG-001: "ready" is not a valid status of a bug | Use one of reported, confirmed, in-progress, fixed, wontfix, duplicate"#,
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "priority": "urgent"}),
                r#"WORK-001: "urgent" is not a valid priority of a work | Use one of critical, high, medium, low"#,
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "severity": "major"}),
                "WORK-001: a work has no attribute called severity | Use one of status, priority, complexity, assignee, milestone, source, supersedes, pr, tags, created, modified",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "asignee": "mara"}),
                "Unknown argument asignee | Did you mean assignee?",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "attrs": {"asignee": "mara"}}),
                "WORK-001: a work has no attribute called asignee | Did you mean assignee? Use one of assignee, source, status, tags, created, modified, priority, milestone, pr, supersedes, complexity",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "assignee": ""}),
                "WORK-001: the value of assignee is empty | Leave assignee out, or send attrs with assignee null to remove it",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "attrs": {"tags": {"a": 1}}}),
                "attrs.tags is neither text nor a list of texts | Send attrs.tags as a string",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "attrs": {"id": "WORK-9"}}),
                "WORK-001: the id of an entity cannot be changed | Create a new entity with plan_create, and set supersedes",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "check": "green"}),
                "WORK-001: green matches no criterion | Choose one of 1. blue paint; 2. dry paint",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "check": "paint"}),
                "WORK-001: paint matches several criteria | Send the whole text of one: blue paint; dry paint",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "check": [7]}),
                "WORK-001: 7 matches no criterion | Choose one of 1. blue paint; 2. dry paint",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "check": {"text": "blue"}}),
                "check is not a list of texts | Send check as a list with the text or the number of each criterion",
            ),
            (
                "plan_update",
                json!({"id": "WORK-002", "check": [1]}),
                "WORK-002: 1 matches no criterion | Add criteria to the file as a list of checkboxes: - [ ] text",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "status": "done", "ifHash": "abc"}),
                "WORK-001 has changed since it was read | Read the entity again with plan_context, and send its hash as ifHash",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "ids": ["WORK-002"], "status": "done"}),
                "id and ids cannot be sent together | Send id for one entity, ids for the same change to several, or updates for different changes",
            ),
            (
                "plan_update",
                json!({"ids": ["WORK-001", "WORK-002"], "status": "done", "ifHash": "abc"}),
                "ifHash: one hash cannot match several files | Use updates, with an ifHash in each",
            ),
            (
                "plan_update",
                json!({"updates": [{"id": "WORK-001", "status": "done"}], "status": "done"}),
                "updates: changes must be inside each update | Use ids to make the same change to several entities",
            ),
            (
                "plan_update",
                json!({"ids": ["WORK-001", "Paint the pier"], "status": "done"}),
                "WORK-001 is listed twice | Combine its changes in one update",
            ),
            (
                "plan_update",
                json!({"updates": [{"status": "done"}]}),
                "updates.0: Missing argument id (Entity id or title) | Send an id such as WORK-012; plan_index lists all",
            ),
            (
                "plan_update",
                json!({"updates": ["WORK-001"]}),
                r#"updates.0 is a string, "WORK-001" | Send updates.0 as an object"#,
            ),
            (
                "plan_update",
                json!({"updates": [{"id": "WORK-001", "stauts": "done"}]}),
                "updates.0: Unknown argument stauts | Did you mean status?",
            ),
            (
                "plan_update",
                json!({"updates": [{"id": "WORK-001", "status": "done", "dryRun": true}]}),
                "updates.0: dryRun does not belong inside an update | Send dryRun beside updates, or leave it out",
            ),
            (
                "plan_update",
                json!({"id": "SPEC-001", "resolve": "Done."}),
                "SPEC-001: a spec has no resolution | Send resolve for a work or a bug only",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "resolve": "{% /work %}"}),
                "WORK-001 would not parse to the requested entity after this change | Close every tag that the text opens, and do not include the entity's own tag",
            ),
            (
                "plan_create",
                json!({"type": "work"}),
                r#"Missing argument title (Heading, one line) | Example: plan_create {"type":"work","title":"Sell ice","attrs":{"priority":"low","milestone":"v1.0"}}"#,
            ),
            (
                "plan_create",
                json!({"type": "task", "title": "Paint"}),
                r#"type cannot be "task" | Use one of work, spec, bug, decision, milestone"#,
            ),
            (
                "plan_create",
                json!({"type": "work", "title": " "}),
                "title is empty | Write one line of at most 200 characters",
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Two\nlines"}),
                "title has a line break or another control character | Write one line of at most 200 characters",
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "id": "WORK-001"}),
                "WORK-001 is already used | Use WORK-003, the next free id",
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "id": "a/b"}),
                r#"id cannot be "a/b" | Use up to 64 letters, digits, dashes, underscores and dots; or leave id out for the next free one"#,
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "priority": "urgent"}),
                r#"WORK-003: "urgent" is not a valid priority of a work | Use one of critical, high, medium, low"#,
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "due": "2026-01-02"}),
                "Unknown argument due | Use only type, id, title, body, dryRun, attrs",
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "attrs": {"id": "WORK-9"}}),
                "attrs.id: the id is a separate argument | Pass it as id, or leave it out",
            ),
            (
                "plan_create",
                json!({"type": "milestone", "title": "!!!"}),
                "The title has no letter or digit that a milestone name can be made from | Pass the name of the milestone as id",
            ),
            (
                "plan_create",
                json!({"type": "work", "title": "Paint", "body": "{% hint %}"}),
                "body: the file would not parse to this entity | Close every tag that the body opens, and do not include the entity's own tag and heading",
            ),
        ];
        assert_refused(&project, &calls).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn errors_of_a_project_without_plan_or_site_say_what_to_create() {
    for project in test_projects(&[]).await {
        let calls = [
            (
                "plan_status",
                json!({}),
                "The project has no plan folder | Create a folder called plan in the project, or set plan.dir in refrakt.config.json",
            ),
            (
                "plan_update",
                json!({"id": "WORK-001", "status": "done"}),
                "The project has no plan folder | Create a folder called plan in the project, or set plan.dir in refrakt.config.json",
            ),
            (
                "refrakt_reference",
                json!({}),
                "The project declares no site | Declare one in refrakt.config.json, under site or sites. refrakt_render and refrakt_validate_content need no site",
            ),
            (
                "refrakt_pages",
                json!({}),
                "The project declares no site | Declare one in refrakt.config.json, under site or sites. refrakt_render and refrakt_validate_content need no site",
            ),
            (
                "refrakt_render",
                json!({"source": "# T", "site": "main"}),
                "The project declares no site | Leave site out to use all official runes, or declare a site in refrakt.config.json. refrakt_render and refrakt_validate_content need no site",
            ),
        ];
        assert_refused(&project, &calls).await;
        project.save(
            "refrakt.config.json",
            r#"{"sites": {"main": {"contentDir": "c"}, "blog": {"contentDir": "b"}}}"#,
        );
        let calls = [
            (
                "refrakt_reference",
                json!({}),
                "The project has several sites: main, blog | Send the argument site, one of main, blog",
            ),
            (
                "refrakt_reference",
                json!({"site": "bolg"}),
                "The project has no site called bolg | Did you mean blog? Use one of blog, main",
            ),
        ];
        assert_refused(&project, &calls).await;
    }
}
