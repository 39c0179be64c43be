//! Prompts: prepared questions that include the current state.

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::tool::ContentBlock;
use quad_core::{Error, Principal, ReadSet, Result};
use quad_store::Sql;
use serde_json::{Map, Value};

use crate::errors::invalid;
use crate::table::Table;
use crate::tools::{Arguments, lookup};
use crate::{Bkend, context, environment, limits, routes, table, tags};

/// The prompts.
pub(crate) static PROMPTS: [Prompt; 2] = [
    Prompt {
        name: "backend_overview",
        title: "Explain my backend",
        description: "Describes the projects, environments and tables that there are, and what looks odd about them.",
        arguments: &[PromptArgument {
            name: "projectId",
            description: "The id or the name of the project to look at; all of them if left out",
            required: false,
        }],
        required_scope: routes::TABLE_READ,
    },
    Prompt {
        name: "design_table",
        title: "Design a table",
        description: "Designs a table for a purpose, in view of the tables that exist already.",
        arguments: &[
            PromptArgument { name: "purpose", description: "What the table is for", required: true },
            PromptArgument {
                name: "environmentId",
                description: "The id or the name of the environment that it is for",
                required: false,
            },
        ],
        required_scope: routes::TABLE_READ,
    },
];

/// The messages of a prompt, and their read set.
pub(crate) async fn build_messages(
    bkend: &Bkend,
    caller: &Principal,
    prompt: &'static Prompt,
    arguments: &Map<String, Value>,
) -> Result<(Vec<Message>, ReadSet)> {
    let argument = |name: &str| {
        let value = arguments.get(name).and_then(Value::as_str).map(str::trim);
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let scopes = context::ContextScopes::for_caller(caller);
    match prompt.name {
        "backend_overview" => {
            let arguments = Arguments::new(arguments.clone(), caller);
            bkend.store.read(&caller.tenant, move |sql| overview(sql, scopes, &arguments)).await
        }
        "design_table" => {
            let purpose = argument("purpose")
                .ok_or_else(|| invalid("purpose", "is empty", "Say what the table is for"))?;
            if purpose.chars().count() > limits::PURPOSE_CHARS {
                return Err(invalid(
                    "purpose",
                    format!("has more than {} characters", limits::PURPOSE_CHARS),
                    format!("Shorten it to {} characters", limits::PURPOSE_CHARS),
                ));
            }
            let arguments = Arguments::new(arguments.clone(), caller);
            bkend.store.read(&caller.tenant, move |sql| design(sql, scopes, &purpose, &arguments)).await
        }
        other => Err(Error::internal(format!("prompt {other} is published but not implemented"))),
    }
}

fn overview(
    sql: &mut dyn Sql,
    scopes: context::ContextScopes,
    arguments: &Arguments,
) -> Result<(Vec<Message>, ReadSet)> {
    let mut links = Vec::new();
    let (state, read_set) = match arguments.id("projectId")? {
        None => {
            let (context_json, read_set) = context::read(sql, scopes)?;
            links.push(("bkend://context".to_owned(), "Context".to_owned()));
            (context::to_markdown(&context_json), read_set)
        }
        Some(_) => {
            let mut read_set = ReadSet::at_version(sql.version());
            let selected_project = lookup::project(sql, arguments, &mut read_set)?;
            let id = selected_project.id.as_str();
            read_set = read_set.with_tag(tags::project(id)).with_tag(tags::environments(id));
            let mut state = format!("# Project {} (`{}`)\n", selected_project.name, selected_project.id);
            let mut remaining_tables = limits::PROMPT_TABLES;
            for environment in
                environment::list_in_project(sql, selected_project.organization_id.as_str(), id)?
            {
                read_set = read_set.with_tag(tags::tables(environment.id.as_str()));
                let tables = table::list_in_environment(sql, environment.id.as_str())?;
                state.push_str(&format!("\n## Environment {} (`{}`)\n", environment.name, environment.id));
                state.push_str(&describe_tables(&tables, &mut remaining_tables, &mut read_set));
                links.push((
                    environment.tables_uri(),
                    format!("Tables in {} / {}", selected_project.name, environment.name),
                ));
            }
            (state, read_set)
        }
    };
    let task = "This is the present state of a backend. Explain in plain words what it is for, how its tables hang together, \
        and what looks odd: missing required fields, fields that should be unique or references, tables without rows. Read the \
        linked addresses where you need more.";
    Ok((to_messages(format!("{task}\n\n{state}"), links), read_set))
}

fn design(
    sql: &mut dyn Sql,
    scopes: context::ContextScopes,
    purpose: &str,
    arguments: &Arguments,
) -> Result<(Vec<Message>, ReadSet)> {
    let mut links = Vec::new();
    let (state, read_set) = match arguments.id("environmentId")? {
        None => {
            let (context_json, read_set) = context::read(sql, scopes)?;
            links.push(("bkend://context".to_owned(), "Context".to_owned()));
            (
                format!(
                    "Ask which environment it is for if that is not clear.\n\n{}",
                    context::to_markdown(&context_json)
                ),
                read_set,
            )
        }
        Some(_) => {
            let mut read_set = ReadSet::at_version(sql.version());
            let selected_environment = lookup::environment(sql, arguments, &mut read_set)?;
            let id = selected_environment.id.as_str();
            read_set = read_set.with_tag(tags::environment(id)).with_tag(tags::tables(id));
            let tables = table::list_in_environment(sql, id)?;
            links.push((
                selected_environment.tables_uri(),
                format!("Tables in {}", selected_environment.name),
            ));
            let table_list = describe_tables(&tables, &mut { limits::PROMPT_TABLES }, &mut read_set);
            (
                format!(
                    "The environment {} (`{id}`) has these tables:\n{table_list}",
                    selected_environment.name
                ),
                read_set,
            )
        }
    };
    let task = format!(
        "Design a table for this purpose:\n\n{purpose}\n\nChoose field names and types (string, number, int, long, boolean, date, \
         object, array, reference, mixed), say which fields are required, unique or have defaults, and which indexes the lists \
         will need. Use references to tables that exist rather than copies. The fields id, createdBy, createdAt and updatedAt are \
         added by the server. Show the design first, then make it with backend_table_create.\n\n{state}"
    );
    Ok((to_messages(task, links), read_set))
}

/// Tables, one line each with their fields, up to the limit.
fn describe_tables(tables: &[Table], remaining: &mut usize, read_set: &mut ReadSet) -> String {
    if tables.is_empty() {
        return "\nno tables yet\n".to_owned();
    }
    let mut text = String::new();
    let count = tables.len().min(*remaining);
    for table in &tables[..count] {
        table.depend_on_row_count(read_set);
        let fields: Vec<String> = table
            .fields
            .iter()
            .map(|field| {
                let required = if field.required { " required" } else { "" };
                let unique = if table.is_unique(&field.name) { " unique" } else { "" };
                format!("{} {}{required}{unique}", field.name, field.kind.as_str())
            })
            .collect();
        text.push_str(&format!(
            "\n- {} (`{}`, {} rows): {}\n",
            table.name,
            table.id,
            table.row_count,
            fields.join(", ")
        ));
    }
    *remaining -= count;
    if count < tables.len() {
        text.push_str(&format!("\n…and {} more tables\n", tables.len() - count));
    }
    text
}

fn to_messages(text: String, links: Vec<(String, String)>) -> Vec<Message> {
    let mut messages = vec![Message { role: Role::User, block: ContentBlock::Text(text) }];
    messages.extend(links.into_iter().map(|(uri, name)| Message {
        role: Role::User,
        block: ContentBlock::Link { uri, name, mime_type: Some("application/json".into()) },
    }));
    messages
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{ENV_URI, test_envs_with_data};

    fn text(messages: &[Message]) -> &str {
        match &messages[0].block {
            ContentBlock::Text(text) => text,
            _ => panic!("the first message is text"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn prompts_include_current_schema() {
        for test_env in test_envs_with_data().await {
            let overview = test_env.prompt("backend_overview", json!({})).await.unwrap();
            assert!(text(&overview).contains("my-app") && text(&overview).contains("env_dev001"));
            let project_overview =
                test_env.prompt("backend_overview", json!({"projectId": "proj_xyz789"})).await.unwrap();
            assert!(
                text(&project_overview).contains("users (`tbl_users`, 1 rows)")
                    && text(&project_overview).contains("email string required unique")
            );
            assert!(
                matches!(&project_overview[1].block, ContentBlock::Link { uri, .. } if *uri == format!("{ENV_URI}/tables"))
            );
            let design = json!({"purpose": "blog posts", "environmentId": "env_dev001"});
            let design = test_env.prompt("design_table", design).await.unwrap();
            assert!(text(&design).contains("blog posts") && text(&design).contains("tbl_users"));
            let unknown_environment =
                test_env.prompt("design_table", json!({"purpose": "x", "environmentId": "env_none"})).await;
            assert_eq!(unknown_environment.unwrap_err().code(), "NOT_FOUND");
        }
    }
}
