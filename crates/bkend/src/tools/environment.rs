//! `backend_env_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::json;

use super::{
    Arguments, delete_output, environment_id, lookup, organization_id, page_properties, project_id, read,
    write,
};
use crate::environment::{self, Environment, NewEnvironment};
use crate::page::Page;
use crate::{Bkend, errors, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let [page, limit] = page_properties();
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_env_list",
                "List environments",
                "Lists the environments of a project, or all.",
                object(&[organization_id(), project_id(), page, limit], &[]),
                routes::ENVIRONMENT_READ,
                ToolEffect::Reads,
            ),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_get",
                "Get an environment",
                "Shows one environment.",
                object(&[organization_id(), project_id(), environment_id()], &["environmentId"]),
                routes::ENVIRONMENT_READ,
                ToolEffect::Reads,
            ),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_create",
                "Create an environment",
                "Creates an environment in a project. Send projectId and name, or body with projectId and environment.",
                object(
                    &[
                        organization_id(),
                        project_id(),
                        ("name", string("Letters, digits, _ and -; unique in the project")),
                        (
                            "body",
                            object(
                                &[
                                    project_id(),
                                    ("environment", string("The name")),
                                    (
                                        "environmentType",
                                        json!({"type": "string", "enum": environment::KINDS}),
                                    ),
                                ],
                                &[],
                            ),
                        ),
                    ],
                    &[],
                ),
                ScopeRequirement(&["environment:create"]),
                ToolEffect::Creates,
            ),
            |bkend, call| Box::pin(create(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_delete",
                "Delete an environment",
                "Deletes an environment with all its tables and rows. This cannot be undone.",
                object(&[organization_id(), project_id(), environment_id()], &["environmentId"]),
                ScopeRequirement(&["environment:delete"]),
                ToolEffect::Deletes,
            ),
            |bkend, call| Box::pin(delete(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let page = Page::from_arguments(&arguments.root)?;
    read(bkend, call.caller, move |sql| {
        let read_set = ReadSet::at_version(sql.version())
            .with_tag(tags::any_environments())
            .with_tag(tags::any_tables());
        let mut project = None;
        if arguments.id("projectId")?.is_some() {
            project = Some(lookup::project(sql, &arguments)?);
        } else if arguments.id("organizationId")?.is_some() {
            return Err(errors::missing("projectId", errors::listing_hint("Project")));
        }
        let parent = project.as_ref().map(|project| (project.organization_id.as_str(), project.id.as_str()));
        let uri = parent.map_or("bkend://environments".to_owned(), |(organization, project)| {
            routes::environments_uri(organization, project)
        });
        let (environments, total) = environment::list_page(sql, parent, page)?;
        let list_json = page.to_json(environments.iter().map(Environment::detail).collect(), total);
        Ok((ToolOutput::structured(list_json).with_link(uri, "Environments"), read_set))
    })
    .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    read(bkend, call.caller, move |sql| {
        let found_environment = lookup::environment(sql, &arguments)?;
        let read_set =
            ReadSet::at_version(sql.version()).with_tag(tags::environment(found_environment.id.as_str()));
        Ok((
            ToolOutput::structured(found_environment.detail())
                .with_link(found_environment.uri(), found_environment.name),
            read_set,
        ))
    })
    .await
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let name = if arguments.body.is_some() { "environment" } else { "name" };
    let new = NewEnvironment {
        id: None,
        project_id: arguments.required_id("projectId")?.to_owned(),
        name: arguments
            .text(name)?
            .ok_or_else(|| errors::missing(name, "Send the name of the environment"))?
            .to_owned(),
        kind: arguments.text("environmentType")?.map(str::to_owned),
    };
    write(bkend, call.caller, call.event, move |tx| {
        lookup::project(tx, &arguments)?;
        let created = environment::insert(tx, &new)?;
        Ok(ToolOutput::structured(created.detail())
            .with_link(created.tables_uri(), format!("Tables in {}", created.name)))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    write(bkend, call.caller, call.event, move |tx| {
        let found_environment = lookup::environment(tx, &arguments)?;
        let deleted_environment = environment::delete(tx, found_environment.id.as_str())?;
        let uri = routes::environments_uri(
            deleted_environment.organization_id.as_str(),
            deleted_environment.project_id.as_str(),
        );
        Ok(delete_output(deleted_environment.id.as_str()).with_link(uri, "Environments"))
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{ENV_URI, test_envs_with_data};

    #[tokio::test(flavor = "multi_thread")]
    async fn create_environment_sets_name_and_type() {
        for test_env in test_envs_with_data().await {
            let staging = test_env
                .call(
                    "backend_env_create",
                    json!({"organizationId": "org_abc123", "projectId": "proj_xyz789", "name": "staging"}),
                )
                .await
                .unwrap();
            assert_eq!((&staging["type"], &staging["status"]), (&json!("staging"), &json!("active")));
            let body = json!({"body": {"projectId": "proj_xyz789", "environment": "qa", "environmentType": "custom"}});
            assert_eq!(test_env.call("backend_env_create", body).await.unwrap()["type"], "custom");
            let duplicate_name = json!({"projectId": "proj_xyz789", "name": "DEV"});
            assert_eq!(test_env.error_code("backend_env_create", duplicate_name).await, "CONFLICT");
            let bad = json!({"projectId": "proj_xyz789", "name": "a b"});
            assert_eq!(test_env.error_code("backend_env_create", bad).await, "VALIDATION_ERROR");
            let listed = test_env
                .call("backend_env_list", json!({"projectId": "proj_xyz789", "limit": 2}))
                .await
                .unwrap();
            assert_eq!(
                (&listed["pagination"]["total"], &listed["pagination"]["hasNext"]),
                (&json!(3), &json!(true))
            );
            assert_eq!(
                test_env.read("bkend://orgs/org_abc123/projects").await.unwrap()[0]["environmentCount"],
                3
            );
            // With a project, the environment's name is enough.
            let named = json!({"projectId": "proj_xyz789", "environmentId": "Dev"});
            assert_eq!(test_env.call("backend_env_get", named).await.unwrap()["id"], "env_dev001");
            assert_eq!(
                test_env.error_code("backend_env_get", json!({"environmentId": "dev"})).await,
                "NOT_FOUND"
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn delete_environment_cascades() {
        for test_env in test_envs_with_data().await {
            assert!(test_env.read(ENV_URI).await.is_ok());
            test_env.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap();
            assert_eq!(test_env.read(ENV_URI).await.unwrap_err().code(), "NOT_FOUND");
            assert_eq!(
                test_env.error_code("backend_data_list", json!({"tableId": "tbl_users"})).await,
                "NOT_FOUND"
            );
            assert_eq!(
                test_env.read("bkend://orgs/org_abc123/projects").await.unwrap()[0]["environmentCount"],
                0
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn deletion_above_limit_is_rejected() {
        let test_env = test_envs_with_data().await.remove(0);
        let lines: Vec<String> = (0..crate::limits::CASCADE_TABLES)
            .map(|n| format!(r#"{{"kind":"table","id":"tbl_{n}","environmentId":"env_dev001","name":"t{n}","fields":[]}}"#))
            .collect();
        test_env.load(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
        let error =
            test_env.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap_err();
        assert_eq!((error.kind(), error.code()), (quad_core::Kind::Limit, "CASCADE_TOO_LARGE"));
        test_env.call("backend_table_delete", json!({"tableId": "tbl_1"})).await.unwrap();
        test_env.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap();
    }
}
