//! The tools of this scheme: one for every resource, questions that a URI expresses badly, and the two that write.

mod attributes;
mod create;
mod history;
mod init;
mod pages;
mod plan;
mod project;
mod results;
mod schema;
mod update;

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{ReadSet, Result, Tool, ToolOutput, ToolTable};
use serde_json::{Map, Value, json};

use super::query::{ResourceQuery, require_plan};
use super::routes::READ;
use super::{Refrakt, errors};
use crate::plan::EntityType;
use crate::project_cache::{PlanSnapshot, ProjectCache};

/// The tools of the default profile.
pub(crate) const CORE_TOOLS: [&str; 11] = [
    "refrakt_detect",
    "refrakt_reference",
    "refrakt_render",
    "refrakt_validate_content",
    "plan_index",
    "plan_status",
    "plan_next",
    "plan_context",
    "plan_update",
    "plan_create",
    "plan_validate",
];

/// All tools, in the order in which they are published.
pub(crate) fn table() -> ToolTable<Refrakt> {
    let mut entries = project::tools();
    entries.extend(pages::tools());
    entries.extend(plan::tools());
    entries.extend([history::tool(), update::tool(), create::tool(), init::tool()]);
    ToolTable::new(entries, |name| CORE_TOOLS.contains(&name))
}

/// The arguments of a call.
struct ToolArguments(Map<String, Value>);

impl ToolArguments {
    /// A text argument that is not empty.
    fn text(&self, name: &str) -> Option<String> {
        non_empty_text(&self.0, name)
    }

    fn flag(&self, name: &str) -> bool {
        self.0.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    /// The argument `type`.
    fn entity_type(&self) -> Option<EntityType> {
        self.text("type").as_deref().and_then(EntityType::from_tag)
    }
}

fn read_tool(name: &'static str, title: &'static str, description: &'static str, schema: Value) -> Tool {
    Tool::new(name, title, description, schema, READ, ToolEffect::Reads)
}

/// Answers a tool that mirrors a resource.
async fn read_resource(
    refrakt: &Refrakt,
    call: ToolCall<'_>,
    query: fn(&ToolArguments) -> ResourceQuery,
) -> Result<ToolResult> {
    let query = query(&ToolArguments(call.arguments));
    let (document, version) = refrakt.answer(call.caller, query).await?;
    let value = match document.mime_type {
        "text/markdown" => json!({ "markdown": &*document.text }),
        _ => document.value()?,
    };
    Ok(ToolResult::read_only(output(value), document.basis(version)))
}

/// Answers a tool from the project, which may not exist.
async fn read_project(
    refrakt: &Refrakt,
    call: ToolCall<'_>,
    read: fn(&ToolArguments, Option<&ProjectCache>) -> Result<Value>,
) -> Result<ToolResult> {
    let arguments = ToolArguments(call.arguments);
    let execute = move |project: Option<&ProjectCache>| {
        let tags = project.map(|project| project.tags().sites());
        Ok((read(&arguments, project)?, tags.into_iter().fold(ReadSet::default(), ReadSet::with_tag)))
    };
    let ((value, read_set), version) = refrakt.with_project_before_plan(call.caller, execute).await?;
    Ok(ToolResult::read_only(output(value), read_set.merge(&ReadSet::at_version(version))))
}

/// Answers a tool from the plan.
async fn read_plan(
    refrakt: &Refrakt,
    call: ToolCall<'_>,
    read: fn(&ToolArguments, &PlanSnapshot) -> Result<Value>,
) -> Result<ToolResult> {
    let arguments = ToolArguments(call.arguments);
    let execute = move |project: Option<&ProjectCache>| {
        let project = project.ok_or_else(|| errors::plan_missing(None))?;
        Ok((read(&arguments, &*require_plan(project)?)?, project.tags().plan()))
    };
    let ((value, tag), version) = refrakt.with_project(call.caller, execute).await?;
    Ok(ToolResult::read_only(output(value), ReadSet::at_version(version).with_tag(tag)))
}

/// A structured result.
fn output(value: Value) -> ToolOutput {
    ToolOutput::structured(value)
}

/// A text argument that is not empty.
fn non_empty_text(arguments: &Map<String, Value>, name: &str) -> Option<String> {
    arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()).map(str::to_owned)
}

/// Today's date (UTC) as a plan writes it: `2024-02-20`.
fn today() -> String {
    quad_core::Timestamp::now().to_string().chars().take(10).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::INSTRUCTIONS;

    #[test]
    fn every_example_matches_its_input_schema() {
        for tool in table().tools() {
            let input = jsonschema::validator_for(&tool.input_schema).unwrap();
            let problems: Vec<String> =
                input.iter_errors(&tool.example).map(|error| error.to_string()).collect();
            assert!(problems.is_empty(), "{}: {problems:?}", tool.name);
            let takes_arguments = tool.input_schema["properties"] != json!({});
            assert_eq!(takes_arguments, tool.example != json!({}), "{} has no example", tool.name);
        }
    }

    #[test]
    fn input_schemas_are_flat_and_arrays_have_items() {
        fn check(path: &str, schema: &Value) {
            for keyword in ["oneOf", "anyOf", "allOf", "not", "$ref"] {
                assert!(schema.get(keyword).is_none(), "{path}: {keyword}");
            }
            assert!(schema["type"].is_string(), "{path}: {schema}");
            assert_eq!(schema["type"] == "array", schema["items"].is_object(), "{path}: {schema}");
            if let Some(items) = schema.get("items") {
                check(&format!("{path}[]"), items);
            }
            for (name, property) in schema["properties"].as_object().into_iter().flatten() {
                check(&format!("{path}.{name}"), property);
            }
        }
        for tool in table().tools() {
            check(tool.name, &tool.input_schema);
            assert_eq!(tool.input_schema["additionalProperties"], false, "{}", tool.name);
        }
    }

    #[test]
    fn names_are_portable_and_dotted_names_are_those_of_the_original() {
        for tool in table().tools() {
            let dotted = tool.dotted_name.unwrap_or_else(|| panic!("{} has no name with dots", tool.name));
            assert_eq!(dotted.replace('.', "_"), tool.name);
        }
        let names = table().names();
        for core in CORE_TOOLS {
            assert!(names.contains(&core), "{core}");
        }
    }

    #[test]
    fn texts_name_only_default_tools() {
        let tools = table().tools();
        let descriptions = tools.iter().filter(|tool| tool.core).map(|tool| {
            let text = format!("{} {}", tool.description, tool.input_schema);
            (tool.name, text)
        });
        for (of, text) in descriptions.chain([("instructions", INSTRUCTIONS.to_owned())]) {
            for tool in &tools {
                assert!(!text.contains(tool.dotted_name.unwrap()), "{of}: {text}");
                let words = text.split(|ch: char| !ch.is_ascii_alphanumeric() && !"_-".contains(ch));
                assert!(tool.core || words.into_iter().all(|word| word != tool.name), "{of}: {text}");
            }
        }
    }

    #[test]
    fn default_tools_are_below_6_kib_as_hosts_send_them() {
        let sent: Vec<Value> = table()
            .tools()
            .iter()
            .filter(|tool| tool.core)
            .map(|tool| {
                json!({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
            })
            .collect();
        let bytes = Value::Array(sent).to_string().len();
        assert!(bytes <= 6 * 1_024, "{bytes} bytes");
    }
}
