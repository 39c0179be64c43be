//! `backend_env_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Need, Result, Tool};
use serde_json::json;

use super::{
    Arguments, answer, deleted, environment_id, input, organization_id, page_properties, place, project_id,
    read, string, unknown, write,
};
use crate::environment::{self, Environment, NewEnvironment};
use crate::page::Page;
use crate::{Bkend, refusal, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let [page, limit] = page_properties();
    vec![
        Tool::new(
            "backend_env_list",
            "List environments",
            "Lists the environments of a project, or all.",
            input(&[organization_id(), project_id(), page, limit], &[]),
            routes::ENVIRONMENT_READ,
            Effect::Reads,
        ),
        Tool::new(
            "backend_env_get",
            "Get an environment",
            "Shows one environment.",
            input(&[organization_id(), project_id(), environment_id()], &["environmentId"]),
            routes::ENVIRONMENT_READ,
            Effect::Reads,
        ),
        Tool::new(
            "backend_env_create",
            "Create an environment",
            "Creates an environment in a project. Send projectId and name, or body with projectId and environment.",
            input(
                &[
                    organization_id(),
                    project_id(),
                    ("name", string("Letters, digits, _ and -; unique in the project")),
                    (
                        "body",
                        input(
                            &[
                                project_id(),
                                ("environment", string("The name")),
                                ("environmentType", json!({"type": "string", "enum": environment::KINDS})),
                            ],
                            &[],
                        ),
                    ),
                ],
                &[],
            ),
            Need(&["environment:create"]),
            Effect::Creates,
        ),
        Tool::new(
            "backend_env_delete",
            "Delete an environment",
            "Deletes an environment with all its tables and rows. This cannot be undone.",
            input(&[organization_id(), project_id(), environment_id()], &["environmentId"]),
            Need(&["environment:delete"]),
            Effect::Deletes,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments.clone())?;
    match call.tool.name {
        "backend_env_list" => {
            let page = Page::from_arguments(&arguments.root)?;
            read(bkend, call.caller, move |sql| {
                let basis = Basis::at(sql.version()).on(tags::any_environments()).on(tags::any_tables());
                let mut owner = None;
                if arguments.id("projectId")?.is_some() {
                    owner = Some(place::project(sql, &arguments)?);
                } else if arguments.id("organizationId")?.is_some() {
                    return Err(refusal::missing("projectId"));
                }
                let within = owner.as_ref().map(|owner| (owner.organization_id.as_str(), owner.id.as_str()));
                let uri = within.map_or("bkend://environments".to_owned(), |(organization, project)| {
                    routes::environments(organization, project)
                });
                let (environments, total) = environment::page(sql, within, page)?;
                let listed = page.envelope(environments.iter().map(Environment::detail).collect(), total);
                Ok((answer(listed).link(uri, "Environments"), basis))
            })
            .await
        }
        "backend_env_get" => {
            read(bkend, call.caller, move |sql| {
                let found = place::environment(sql, &arguments)?;
                let basis = Basis::at(sql.version()).on(tags::environment(found.id.as_str()));
                Ok((answer(found.detail()).link(found.uri(), found.name), basis))
            })
            .await
        }
        "backend_env_create" => {
            let name = if arguments.body.is_some() { "environment" } else { "name" };
            let new = NewEnvironment {
                id: None,
                project_id: arguments.required_id("projectId")?.to_owned(),
                name: arguments.text(name)?.ok_or_else(|| refusal::missing(name))?.to_owned(),
                kind: arguments.text("environmentType")?.map(str::to_owned),
            };
            write(bkend, call, move |tx| {
                place::project(tx, &arguments)?;
                let created = environment::insert(tx, &new)?;
                Ok(answer(created.detail()).link(created.tables_uri(), format!("Tables in {}", created.name)))
            })
            .await
        }
        "backend_env_delete" => {
            write(bkend, call, move |tx| {
                let found = place::environment(tx, &arguments)?;
                let gone = environment::delete(tx, found.id.as_str())?;
                let uri = routes::environments(gone.organization_id.as_str(), gone.project_id.as_str());
                Ok(deleted(gone.id.as_str()).link(uri, "Environments"))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{B, worlds};

    #[tokio::test(flavor = "multi_thread")]
    async fn an_environment_has_a_name_and_a_type() {
        for world in worlds().await {
            let staging = world
                .call(
                    "backend_env_create",
                    json!({"organizationId": "org_abc123", "projectId": "proj_xyz789", "name": "staging"}),
                )
                .await
                .unwrap();
            assert_eq!((&staging["type"], &staging["status"]), (&json!("staging"), &json!("active")));
            let body = json!({"body": {"projectId": "proj_xyz789", "environment": "qa", "environmentType": "custom"}});
            assert_eq!(world.call("backend_env_create", body).await.unwrap()["type"], "custom");
            let again = json!({"projectId": "proj_xyz789", "name": "DEV"});
            assert_eq!(world.refusal("backend_env_create", again).await, "CONFLICT");
            let bad = json!({"projectId": "proj_xyz789", "name": "a b"});
            assert_eq!(world.refusal("backend_env_create", bad).await, "VALIDATION_ERROR");
            let listed = world
                .call("backend_env_list", json!({"projectId": "proj_xyz789", "limit": 2}))
                .await
                .unwrap();
            assert_eq!(
                (&listed["pagination"]["total"], &listed["pagination"]["hasNext"]),
                (&json!(3), &json!(true))
            );
            assert_eq!(
                world.read("bkend://orgs/org_abc123/projects").await.unwrap()[0]["environmentCount"],
                3
            );
            // A name is enough where the project is known.
            let named = json!({"projectId": "proj_xyz789", "environmentId": "Dev"});
            assert_eq!(world.call("backend_env_get", named).await.unwrap()["id"], "env_dev001");
            assert_eq!(world.refusal("backend_env_get", json!({"environmentId": "dev"})).await, "NOT_FOUND");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_deleted_environment_takes_its_tables_with_it() {
        for world in worlds().await {
            assert!(world.read(B).await.is_ok());
            world.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap();
            assert_eq!(world.read(B).await.unwrap_err().code(), "NOT_FOUND");
            assert_eq!(
                world.refusal("backend_data_list", json!({"tableId": "tbl_users"})).await,
                "NOT_FOUND"
            );
            assert_eq!(
                world.read("bkend://orgs/org_abc123/projects").await.unwrap()[0]["environmentCount"],
                0
            );
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_deletion_beyond_its_limit_is_refused() {
        let world = worlds().await.remove(0);
        let lines: Vec<String> = (0..crate::limits::CASCADE_TABLES)
            .map(|n| format!(r#"{{"kind":"table","id":"tbl_{n}","environmentId":"env_dev001","name":"t{n}","fields":[]}}"#))
            .collect();
        world.load(&lines.iter().map(String::as_str).collect::<Vec<_>>()).await.unwrap();
        let refused =
            world.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap_err();
        assert_eq!((refused.kind(), refused.code()), (quad_core::Kind::Limit, "CASCADE_TOO_LARGE"));
        world.call("backend_table_delete", json!({"tableId": "tbl_1"})).await.unwrap();
        world.call("backend_env_delete", json!({"environmentId": "env_dev001"})).await.unwrap();
    }
}
