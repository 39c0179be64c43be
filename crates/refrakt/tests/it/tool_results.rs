//! The results of all tools, compared with their output schemas in both directions.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::Scheme as _;
use serde_json::{Value, json};

use crate::fixture::{TestProject, git, test_projects};

/// Declared fields that no call below returns.
const NOT_RETURNED: [&str; 4] = [
    // Answers longer than a page.
    "plan_status.nextCursor",
    "plan_validate.nextCursor",
    // A folder without a project.
    "refrakt_detect.hint",
    // A site with 50,000 pages.
    "refrakt_pages.truncated",
];

const CONFIG: &str = r#"{"sites": {
    "main": {"contentDir": "content", "plugins": ["@refrakt-md/plan", "@refrakt-md/marketing", "@harbour/runes", "@harbour/tide"]}
}}"#;

const WORK: &str = "{% work id=\"WORK-001\" status=\"ready\" priority=\"high\" milestone=\"v1\" source=\"SPEC-001\" tags=\"a,b\" %}\n\
    # Paint the pier\n\nWhy: {% ref \"ADR-001\" /%}, {% ref \"BUG-001\" /%} and {% ref \"gone\" /%}.\n\n\
    ## Acceptance Criteria\n\n- [ ] blue\n- [x] dry\n\n## Blocked by\n\n{% ref \"WORK-003\" /%}\n{% /work %}\n";

/// A project that has everything that the schemas of the results describe.
const FILES: [(&str, &str); 18] = [
    ("refrakt.config.json", CONFIG),
    ("node_modules/@harbour/runes/package.json", r#"{"version": "2.0.0"}"#),
    (
        "node_modules/@harbour/runes/refrakt.runes.toml",
        "[package]\nversion = \"1.0.0\"\n[runes.buoy]\ndescription = \"A buoy\"\n",
    ),
    ("node_modules/@harbour/tide/package.json", r#"{"version": "1.0.0"}"#),
    (
        "content/index.md",
        "---\ntitle: Harbour\nlayout: wide\n---\n# Welcome\n\n{% hint %}\nWet.\n{% /hint %}\n",
    ),
    ("content/broken.md", "---\ntitle: [\n---\n# Still here\n"),
    ("plan/work/WORK-001-pier.md", WORK),
    (
        "plan/work/WORK-002-rope.md",
        "{% work id=\"WORK-002\" status=\"blocked\" milestone=\"v1\" %}\n# Rope\n\n## Depends on\n\n{% ref \"WORK-001\" /%}\n{% /work %}\n",
    ),
    (
        "plan/work/WORK-003-quay.md",
        "{% work id=\"WORK-003\" status=\"done\" pr=\"o/r#1\" source=\"SPEC-001\" %}\n# Quay\n\n## Resolution\n\nCompleted: 2026-01-02\n\nPR: o/r#1\n\nDone.\n{% /work %}\n",
    ),
    ("plan/work/WORK-004-unclosed.md", "{% work id=\"WORK-004\" status=\"draft\" %}\n# Unclosed\n"),
    (
        "plan/bugs/BUG-001-leak.md",
        "{% bug id=\"BUG-001\" status=\"reported\" milestone=\"v9\" %}\n# Leak\n{% /bug %}\n",
    ),
    (
        "plan/specs/SPEC-001-a.md",
        "{% spec id=\"SPEC-001\" status=\"accepted\" %}\n# Pier\n\n- [ ] it floats\n{% /spec %}\n",
    ),
    (
        "plan/decisions/ADR-001-b.md",
        "{% decision id=\"ADR-001\" status=\"accepted\" %}\n# Blue\n\n- [x] agreed\n{% /decision %}\n",
    ),
    (
        "plan/milestones/v1.md",
        "{% milestone name=\"v1\" status=\"active\" target=\"June\" %}\n# Season\n{% /milestone %}\n",
    ),
    ("plan/specs/SPEC-002-c.md", "{% spec id=\"SPEC-002\" status=\"odd\" %}\n{% /spec %}\n"),
    ("plan/work/WORK-005-net.md", "{% work id=\"WORK-005\" status=\"blocked\" %}\n# Net\n{% /work %}\n"),
    ("plan/notes.md", "# Not an entity\n"),
    ("plan/bad.md", "{% work id=\"WORK-9 %}\n{% /work %}\n"),
];

fn calls() -> Vec<(&'static str, Value)> {
    let page = "# T\n\n{% hint type=\"warnin\" %}\nText.\n{% /hint %}\n";
    vec![
        ("refrakt_detect", json!({})),
        ("refrakt_plugins_list", json!({})),
        ("refrakt_reference", json!({})),
        ("refrakt_reference", json!({"rune": "hint"})),
        ("refrakt_reference", json!({"rune": "hero"})),
        ("refrakt_reference", json!({"rune": "hint", "format": "markdown"})),
        ("refrakt_contracts", json!({})),
        ("refrakt_runes", json!({})),
        ("refrakt_inspect", json!({"rune": "hint"})),
        ("refrakt_inspect", json!({"rune": "hint", "attributes": {"type": "all"}})),
        ("refrakt_render", json!({"source": page})),
        ("refrakt_validate_content", json!({"content": page})),
        ("refrakt_pages", json!({})),
        ("refrakt_page", json!({"url": "/"})),
        ("refrakt_page", json!({"url": "/broken"})),
        ("plan_index", json!({})),
        ("plan_status", json!({})),
        ("plan_entity", json!({"id": "WORK-001"})),
        ("plan_context", json!({"id": "WORK-001"})),
        ("plan_context", json!({"id": "SPEC-001"})),
        ("plan_next", json!({"limit": 10})),
        ("plan_next-id", json!({"type": "work"})),
        ("plan_validate", json!({})),
        ("plan_update", json!({"id": "WORK-001", "assignee": "mara", "dryRun": true})),
        ("plan_update", json!({"id": "WORK-001", "assignee": "mara"})),
        ("plan_update", json!({"id": "WORK-001", "assignee": "mara"})),
        ("plan_create", json!({"type": "work", "title": "Sell ice", "dryRun": true})),
        ("plan_create", json!({"type": "work", "title": "Sell ice"})),
        ("plan_init", json!({})),
        ("plan_history", json!({"id": "WORK-001"})),
        ("plan_history", json!({"all": true})),
    ]
}

/// Commits the project twice: first with another text of one work item, then as it is.
fn commit_two_states(project: &TestProject) {
    let earlier = WORK.replace("\"high\"", "\"low\"").replace("- [ ] blue", "- [x] blue");
    git(project.dir.path(), 1, &["init", "--quiet"]);
    for (day, text) in [(1, earlier.as_str()), (2, WORK)] {
        project.save("plan/work/WORK-001-pier.md", text);
        git(project.dir.path(), day, &["add", "."]);
        git(project.dir.path(), day, &["commit", "--quiet", "-m", "plan"]);
    }
}

/// The schema with every object closed and the form of failed calls removed.
fn strict(schema: &Value) -> Value {
    let mut schema = schema.clone();
    close(&mut schema);
    schema["required"] = schema["anyOf"][0]["required"].clone();
    let root = schema.as_object_mut().unwrap();
    root.remove("anyOf");
    root["properties"].as_object_mut().unwrap().remove("error").unwrap();
    schema
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.contains_key("properties") {
                members.insert("additionalProperties".into(), false.into());
            }
        }
        Value::Array(items) => items.iter_mut().for_each(close),
        _ => {}
    }
}

/// Adds the paths of all declared fields, without the positions in arrays.
fn add_declared(path: &str, schema: &Value, fields: &mut BTreeSet<String>) {
    if let Some(items) = schema.get("items") {
        add_declared(path, items, fields);
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        add_declared(&path, property, fields);
        fields.insert(path);
    }
}

/// Adds the paths of all fields of a result, in the form of [`add_declared`].
fn add_returned(path: &str, value: &Value, fields: &mut BTreeSet<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = format!("{path}.{name}");
                add_returned(&path, member, fields);
                fields.insert(path);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_returned(path, item, fields)),
        _ => {}
    }
}

fn output_schemas(project: &TestProject) -> BTreeMap<&'static str, Value> {
    let tools = project.refrakt.tools();
    tools.iter().map(|tool| (tool.name, tool.output_schema.clone().expect(tool.name))).collect()
}

async fn check_call(
    project: &TestProject,
    schemas: &BTreeMap<&str, Value>,
    tool: &str,
    arguments: &Value,
) -> Value {
    let result = project.call_tool(tool, arguments.clone()).await;
    let result = result.unwrap_or_else(|error| panic!("{tool} {arguments}: {}", error.message_with_hint()));
    let validator = jsonschema::validator_for(&schemas[tool]).unwrap();
    let violations: Vec<String> =
        validator.iter_errors(&result).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert_eq!(violations, [""; 0], "{tool} {arguments}: {result}");
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn results_match_output_schemas_exactly() {
    for project in test_projects(&FILES).await {
        let schemas: BTreeMap<&str, Value> =
            output_schemas(&project).into_iter().map(|(name, schema)| (name, strict(&schema))).collect();
        commit_two_states(&project);
        let (mut declared, mut returned) = (BTreeSet::new(), BTreeSet::new());
        schemas.iter().for_each(|(name, schema)| add_declared(name, schema, &mut declared));
        let mut called = BTreeSet::new();
        for (tool, arguments) in calls() {
            let result = check_call(&project, &schemas, tool, &arguments).await;
            add_returned(tool, &result, &mut returned);
            called.insert(tool);
        }
        assert_eq!(called, schemas.keys().copied().collect(), "every tool is called");
        project.save("refrakt.config.json", "{\n  nonsense\n}");
        let malformed = check_call(&project, &schemas, "refrakt_detect", &json!({})).await;
        add_returned("refrakt_detect", &malformed, &mut returned);
        let missing: Vec<&String> = declared.difference(&returned).collect();
        assert_eq!(missing, NOT_RETURNED, "declared, and in no result");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_without_a_project_folder_match_output_schemas() {
    for project in test_projects(&[]).await {
        let schemas: BTreeMap<&str, Value> =
            output_schemas(&project).into_iter().map(|(name, schema)| (name, strict(&schema))).collect();
        for (tool, arguments) in [
            ("refrakt_detect", json!({})),
            ("refrakt_plugins_list", json!({})),
            ("refrakt_inspect", json!({"rune": "hint"})),
            ("refrakt_render", json!({"source": "# T"})),
            ("refrakt_validate_content", json!({"content": "# T"})),
        ] {
            check_call(&project, &schemas, tool, &arguments).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn output_schemas_admit_the_error_of_a_failed_call() {
    for project in test_projects(&[]).await {
        let error = project.call_tool("plan_status", json!({})).await.unwrap_err();
        let failed = json!({"error": error.envelope()});
        for (tool, schema) in output_schemas(&project) {
            assert_eq!(schema["type"], "object", "{tool}");
            assert!(jsonschema::validator_for(&schema).unwrap().is_valid(&failed), "{tool}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_that_carry_text_of_the_project_are_marked() {
    let unmarked: BTreeSet<&str> = BTreeSet::from([
        "refrakt_detect",
        "refrakt_plugins_list",
        "refrakt_contracts",
        "refrakt_render",
        "refrakt_validate_content",
        "plan_next-id",
        "plan_create",
        "plan_init",
    ]);
    for project in test_projects(&[]).await {
        let tools = project.refrakt.tools();
        let found: BTreeSet<&str> =
            tools.iter().filter(|tool| !tool.returns_stored_text).map(|tool| tool.name).collect();
        assert_eq!(found, unmarked);
    }
}
