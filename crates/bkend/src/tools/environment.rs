//! `backend_env_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string, string_enum};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::json;

use super::{
    Arguments, delete_output, environment_id, lookup, organization_id, page_properties, project_id, read,
    results, write,
};
use crate::environment::{self, Environment, NewEnvironment};
use crate::page::Page;
use crate::{Bkend, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let [page, limit] = page_properties();
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_env_list",
                "List environments",
                "Lists the environments of a project or an organization, or all.",
                object(
                    &[
                        ("organizationId", string("Only those of this organization")),
                        ("projectId", string("Only those of this project")),
                        page,
                        limit,
                    ],
                    &[],
                ),
                routes::ENVIRONMENT_READ,
                ToolEffect::Reads,
            )
            .output(results::environments())
            .example(json!({"projectId": "shop"})),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_get",
                "Get an environment",
                "Shows one environment.",
                object(&[organization_id(), project_id(), environment_id()], &[]),
                routes::ENVIRONMENT_READ,
                ToolEffect::Reads,
            )
            .output(results::environment())
            .example(json!({"environmentId": "dev"})),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_create",
                "Create an environment",
                "Creates an environment in a project.",
                object(
                    &[
                        organization_id(),
                        project_id(),
                        ("name", string("Letters, digits, _ and -; unique in the project")),
                        ("environmentType", string_enum(&environment::KINDS, "From the name if left out")),
                    ],
                    &["name"],
                ),
                ScopeRequirement(&["environment:create"]),
                ToolEffect::Creates,
            )
            .output(results::environment())
            .example(json!({"projectId": "shop", "name": "staging"}))
            .aliases(&[("environment", "name")])
            .wrapper("body"),
            |bkend, call| Box::pin(create(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_env_delete",
                "Delete an environment",
                "Deletes an environment with all its tables and rows. This cannot be undone.",
                object(
                    &[organization_id(), project_id(), ("environmentId", string("Environment id or name"))],
                    &["environmentId"],
                ),
                ScopeRequirement(&["environment:delete"]),
                ToolEffect::Deletes,
            )
            .output(results::deleted())
            .example(json!({"environmentId": "env_123"})),
            |bkend, call| Box::pin(delete(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let page = Page::from_arguments(&arguments.values)?;
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version())
            .with_tag(tags::any_environments())
            .with_tag(tags::any_tables());
        let parents = lookup::project_sent(sql, &arguments, &mut read_set)?;
        let uri = match (&parents.organization, &parents.project) {
            (Some(organization), Some(project)) => routes::environments_uri(organization, project),
            _ => "bkend://environments".to_owned(),
        };
        let (environments, total) = environment::list_page(sql, &parents, page)?;
        let list_json = page.to_json(environments.iter().map(Environment::detail).collect(), total);
        Ok((ToolOutput::structured(list_json).with_link(uri, "Environments"), read_set))
    })
    .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let found = lookup::environment(sql, &arguments, &mut read_set)?;
        let read_set = read_set.with_tag(tags::environment(found.id.as_str()));
        Ok((ToolOutput::structured(found.detail()).with_link(found.uri(), found.name), read_set))
    })
    .await
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let mut new = NewEnvironment {
        id: None,
        project_id: String::new(),
        name: arguments.required("name", "Send the name of the environment, such as staging")?.to_owned(),
        kind: arguments.id("environmentType")?.map(str::to_owned),
    };
    write(bkend, call.caller, call.event, move |tx| {
        let project = lookup::project(tx, &arguments, &mut ReadSet::default())?;
        new.project_id = project.id.as_str().to_owned();
        let created = environment::insert(tx, &new)?;
        Ok(ToolOutput::structured(created.detail())
            .with_link(created.tables_uri(), format!("Tables in {}", created.name)))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    write(bkend, call.caller, call.event, move |tx| {
        // The only environment is not meant by a call that names none: a deletion cannot be undone.
        arguments.required("environmentId", crate::errors::listing_hint("Environment"))?;
        let found = lookup::environment(tx, &arguments, &mut ReadSet::default())?;
        let deleted = environment::delete(tx, found.id.as_str())?;
        let uri = routes::environments_uri(deleted.organization_id.as_str(), deleted.project_id.as_str());
        Ok(delete_output(deleted.id.as_str()).with_link(uri, "Environments"))
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
            for named in [
                json!({"projectId": "proj_xyz789", "environmentId": "Dev"}),
                json!({"project": "my-app", "environment": "dev"}),
                json!({"environmentId": "dev"}),
            ] {
                assert_eq!(
                    test_env.call("backend_env_get", named.clone()).await.unwrap()["id"],
                    "env_dev001",
                    "{named}"
                );
            }
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
