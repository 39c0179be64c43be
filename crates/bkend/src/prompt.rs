//! Prompts: ready-made questions that carry the present state with them.

use quad_core::prompt::{Message, Prompt, PromptArgument, Role};
use quad_core::tool::Block;
use quad_core::{Basis, Error, Principal, Result};
use quad_store::Sql;
use serde_json::{Map, Value};

use crate::refusal::invalid;
use crate::table::Table;
use crate::{Bkend, context, environment, limits, project, routes, table, tags};

/// The prompts.
pub(crate) static PROMPTS: [Prompt; 2] = [
    Prompt {
        name: "backend_overview",
        title: "Explain my backend",
        description: "Describes the projects, environments and tables that there are, and what looks odd about them.",
        arguments: &[PromptArgument {
            name: "projectId",
            description: "The project to look at; all of them if left out",
            required: false,
        }],
        need: routes::TABLE_READ,
    },
    Prompt {
        name: "design_table",
        title: "Design a table",
        description: "Designs a table for a purpose, in view of the tables that exist already.",
        arguments: &[
            PromptArgument { name: "purpose", description: "What the table is for", required: true },
            PromptArgument {
                name: "environmentId",
                description: "The environment that it is for",
                required: false,
            },
        ],
        need: routes::TABLE_READ,
    },
];

/// The messages of a prompt, and what they rest on.
pub(crate) async fn messages(
    bkend: &Bkend,
    caller: &Principal,
    prompt: &'static Prompt,
    arguments: &Map<String, Value>,
) -> Result<(Vec<Message>, Basis)> {
    let argument = |name: &str| {
        let value = arguments.get(name).and_then(Value::as_str).map(str::trim);
        value.filter(|value| !value.is_empty()).map(str::to_owned)
    };
    let view = context::View::of(caller);
    match prompt.name {
        "backend_overview" => {
            let project = argument("projectId");
            bkend.store.read(&caller.tenant, move |sql| overview(sql, view, project.as_deref())).await
        }
        "design_table" => {
            let purpose = argument("purpose").ok_or_else(|| invalid("purpose", "must not be empty"))?;
            if purpose.chars().count() > limits::PURPOSE_CHARS {
                return Err(invalid("purpose", format!("has at most {} characters", limits::PURPOSE_CHARS)));
            }
            let environment = argument("environmentId");
            bkend
                .store
                .read(&caller.tenant, move |sql| design(sql, view, &purpose, environment.as_deref()))
                .await
        }
        other => Err(Error::internal(format!("prompt {other} is published but not implemented"))),
    }
}

fn overview(sql: &mut dyn Sql, view: context::View, project: Option<&str>) -> Result<(Vec<Message>, Basis)> {
    let mut links = Vec::new();
    let (state, basis) = match project {
        None => {
            let (found, basis) = context::read(sql, view)?;
            links.push(("bkend://context".to_owned(), "Context".to_owned()));
            (context::markdown(&found), basis)
        }
        Some(id) => {
            let found = project::find(sql, id)?;
            let mut basis = Basis::at(sql.version()).on(tags::project(id)).on(tags::environments(id));
            let mut state = format!("# Project {} (`{}`)\n", found.name, found.id);
            let mut room = limits::PROMPT_TABLES;
            for environment in environment::of_project(sql, found.organization_id.as_str(), id)? {
                basis = basis.on(tags::tables(environment.id.as_str()));
                let tables = table::of_environment(sql, environment.id.as_str())?;
                state.push_str(&format!("\n## Environment {} (`{}`)\n", environment.name, environment.id));
                state.push_str(&described(&tables, &mut room, &mut basis));
                links.push((
                    environment.tables_uri(),
                    format!("Tables in {} / {}", found.name, environment.name),
                ));
            }
            (state, basis)
        }
    };
    let task = "This is the present state of a backend. Explain in plain words what it is for, how its tables hang together, \
        and what looks odd: missing required fields, fields that should be unique or references, tables without rows. Read the \
        linked addresses where you need more.";
    Ok((said(format!("{task}\n\n{state}"), links), basis))
}

fn design(
    sql: &mut dyn Sql,
    view: context::View,
    purpose: &str,
    environment: Option<&str>,
) -> Result<(Vec<Message>, Basis)> {
    let mut links = Vec::new();
    let (state, basis) = match environment {
        None => {
            let (found, basis) = context::read(sql, view)?;
            links.push(("bkend://context".to_owned(), "Context".to_owned()));
            (
                format!(
                    "Ask which environment it is for if that is not clear.\n\n{}",
                    context::markdown(&found)
                ),
                basis,
            )
        }
        Some(id) => {
            let found = environment::find(sql, id)?;
            let mut basis = Basis::at(sql.version()).on(tags::environment(id)).on(tags::tables(id));
            let tables = table::of_environment(sql, id)?;
            links.push((found.tables_uri(), format!("Tables in {}", found.name)));
            let listed = described(&tables, &mut { limits::PROMPT_TABLES }, &mut basis);
            (format!("The environment {} (`{id}`) has these tables:\n{listed}", found.name), basis)
        }
    };
    let task = format!(
        "Design a table for this purpose:\n\n{purpose}\n\nChoose field names and types (string, number, int, long, boolean, date, \
         object, array, reference, mixed), say which fields are required, unique or have defaults, and which indexes the lists \
         will need. Use references to tables that exist rather than copies. The fields id, createdBy, createdAt and updatedAt are \
         added by the server. Show the design first, then make it with backend_table_create.\n\n{state}"
    );
    Ok((said(task, links), basis))
}

/// Tables, one line each with their fields, as far as there is room.
fn described(tables: &[Table], room: &mut usize, basis: &mut Basis) -> String {
    if tables.is_empty() {
        return "\nno tables yet\n".to_owned();
    }
    let mut text = String::new();
    let shown = tables.len().min(*room);
    for table in &tables[..shown] {
        table.count_into(basis);
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
    *room -= shown;
    if shown < tables.len() {
        text.push_str(&format!("\n…and {} more tables\n", tables.len() - shown));
    }
    text
}

fn said(text: String, links: Vec<(String, String)>) -> Vec<Message> {
    let mut messages = vec![Message { role: Role::User, block: Block::Text(text) }];
    messages.extend(links.into_iter().map(|(uri, name)| Message {
        role: Role::User,
        block: Block::Link { uri, name, mime_type: Some("application/json".into()) },
    }));
    messages
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::{B, worlds};

    fn text(messages: &[Message]) -> &str {
        match &messages[0].block {
            Block::Text(text) => text,
            _ => panic!("the first message is text"),
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn prompts_carry_the_present_state() {
        for world in worlds().await {
            let overview = world.prompt("backend_overview", json!({})).await.unwrap();
            assert!(text(&overview).contains("my-app") && text(&overview).contains("env_dev001"));
            let one = world.prompt("backend_overview", json!({"projectId": "proj_xyz789"})).await.unwrap();
            assert!(
                text(&one).contains("users (`tbl_users`, 1 rows)")
                    && text(&one).contains("email string required unique")
            );
            assert!(matches!(&one[1].block, Block::Link { uri, .. } if *uri == format!("{B}/tables")));
            let design = json!({"purpose": "blog posts", "environmentId": "env_dev001"});
            let design = world.prompt("design_table", design).await.unwrap();
            assert!(text(&design).contains("blog posts") && text(&design).contains("tbl_users"));
            let nowhere =
                world.prompt("design_table", json!({"purpose": "x", "environmentId": "env_none"})).await;
            assert_eq!(nowhere.unwrap_err().code(), "NOT_FOUND");
        }
    }
}
