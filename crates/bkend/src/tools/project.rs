//! `backend_project_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool};
use serde_json::{Value, json};

use super::{
    Arguments, delete_output, input_schema, json_output, lookup, organization_id, page_properties,
    project_id, read, string_schema, unimplemented_tool, write,
};
use crate::errors::{self, invalid};
use crate::page::Page;
use crate::project::{self, NewProject, Project, ProjectChange};
use crate::{Bkend, organization, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let [page, limit] = page_properties();
    let name = || ("name", string_schema("Name, at most 100 characters"));
    let description =
        || ("description", json!({"type": ["string", "null"], "description": "At most 1,000 characters"}));
    vec![
        Tool::new(
            "backend_project_list",
            "List projects",
            "Lists the projects of an organization, or all.",
            input_schema(&[organization_id(), page, limit], &[]),
            routes::PROJECT_READ,
            ToolEffect::Reads,
        ),
        Tool::new(
            "backend_project_get",
            "Get a project",
            "Shows one project.",
            input_schema(&[organization_id(), project_id()], &["projectId"]),
            routes::PROJECT_READ,
            ToolEffect::Reads,
        ),
        Tool::new(
            "backend_project_create",
            "Create a project",
            "Creates a project with an environment named dev. Send organizationId and name, or the same in body.",
            input_schema(
                &[
                    organization_id(),
                    name(),
                    description(),
                    (
                        "body",
                        input_schema(
                            &[
                                organization_id(),
                                (
                                    "slug",
                                    string_schema(
                                        "3 to 50 of a-z, 0-9 and -; derived from the name if left out",
                                    ),
                                ),
                                name(),
                                ("primaryCloud", string_schema("Stored as given")),
                                ("primaryRegion", string_schema("Stored as given")),
                                description(),
                            ],
                            &[],
                        ),
                    ),
                ],
                &[],
            ),
            ScopeRequirement(&["project:create"]),
            ToolEffect::Creates,
        ),
        Tool::new(
            "backend_project_update",
            "Update a project",
            "Changes a project's name, description or settings. The slug never changes.",
            input_schema(
                &[
                    organization_id(),
                    project_id(),
                    name(),
                    description(),
                    (
                        "body",
                        input_schema(
                            &[
                                name(),
                                ("slug", string_schema("Only the present one: a slug never changes")),
                                description(),
                                (
                                    "settings",
                                    json!({"type": "object", "description": "Replaces all settings"}),
                                ),
                            ],
                            &[],
                        ),
                    ),
                ],
                &["projectId"],
            ),
            ScopeRequirement(&["project:update"]),
            ToolEffect::Updates,
        ),
        Tool::new(
            "backend_project_delete",
            "Delete a project",
            "Deletes a project with all its environments, tables and rows. This cannot be undone.",
            input_schema(&[organization_id(), project_id()], &["projectId"]),
            ScopeRequirement(&["project:delete"]),
            ToolEffect::Deletes,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments.clone())?;
    match call.tool.name {
        "backend_project_list" => {
            let page = Page::from_arguments(&arguments.root)?;
            read(bkend, call.caller, move |sql| {
                let basis = ReadSet::at_version(sql.version())
                    .with_tag(tags::any_projects())
                    .with_tag(tags::any_environments());
                let organization = arguments.id("organizationId")?;
                if let Some(organization) = organization {
                    organization::find(sql, organization)?;
                }
                let (projects, total) = project::list_page(sql, organization, page)?;
                let list_json = page.to_json(projects.iter().map(Project::detail).collect(), total);
                let uri = organization.map_or("bkend://projects".to_owned(), routes::projects_uri);
                Ok((json_output(list_json).with_link(uri, "Projects"), basis))
            })
            .await
        }
        "backend_project_get" => {
            read(bkend, call.caller, move |sql| {
                let found_project = lookup::project(sql, &arguments)?;
                let basis =
                    ReadSet::at_version(sql.version()).with_tag(tags::project(found_project.id.as_str()));
                Ok((
                    json_output(found_project.detail()).with_link(found_project.uri(), found_project.name),
                    basis,
                ))
            })
            .await
        }
        "backend_project_create" => create(bkend, call, arguments).await,
        "backend_project_update" => update(bkend, call, arguments).await,
        "backend_project_delete" => {
            write(bkend, call, move |tx| {
                let found_project = lookup::project(tx, &arguments)?;
                let deleted_project = project::delete(tx, found_project.id.as_str())?;
                Ok(delete_output(deleted_project.id.as_str())
                    .with_link(routes::projects_uri(deleted_project.organization_id.as_str()), "Projects"))
            })
            .await
        }
        name => Err(unimplemented_tool(name)),
    }
}

async fn create(bkend: &Bkend, call: ToolCall<'_>, arguments: Arguments) -> Result<ToolResult> {
    let owned_text = |name: &str| arguments.text(name).map(|text| text.map(str::to_owned));
    let new = NewProject {
        id: None,
        organization_id: arguments.required_id("organizationId")?.to_owned(),
        name: owned_text("name")?.ok_or_else(|| errors::missing("name"))?,
        slug: owned_text("slug")?,
        description: owned_text("description")?,
        primary_cloud: owned_text("primaryCloud")?,
        primary_region: owned_text("primaryRegion")?,
        with_dev: true,
    };
    write(bkend, call, move |tx| {
        let (created, dev) = project::insert(tx, &new)?;
        let mut output = json_output(created.detail()).with_link(created.uri(), created.name.as_str());
        if let Some(dev) = dev {
            output = output.with_link(dev.tables_uri(), format!("Tables in {} / {}", created.name, dev.name));
        }
        Ok(output)
    })
    .await
}

async fn update(bkend: &Bkend, call: ToolCall<'_>, arguments: Arguments) -> Result<ToolResult> {
    let change = ProjectChange {
        name: arguments.text("name")?.map(str::to_owned),
        description: arguments.nullable_text("description")?,
        settings: match arguments.body_or_root().get("settings") {
            None => None,
            Some(Value::Object(settings)) => Some(settings.clone()),
            Some(_) => return Err(invalid("settings", "must be an object")),
        },
    };
    if change.name.is_none() && change.description.is_none() && change.settings.is_none() {
        return Err(quad_core::Error::bad_input("There is nothing to change")
            .hint("Send name, description or settings"));
    }
    write(bkend, call, move |tx| {
        let found_project = lookup::project(tx, &arguments)?;
        if arguments.text("slug")?.is_some_and(|slug| slug != found_project.slug) {
            return Err(invalid("slug", "the slug cannot be changed").hint("Change the name instead"));
        }
        let changed = project::update(tx, found_project.id.as_str(), &change)?;
        Ok(json_output(changed.detail()).with_link(changed.uri(), changed.name.as_str()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use quad_core::{Tag, tool::ContentBlock};

    use super::*;
    use crate::testing::{ENV_URI, TestEnv, test_envs_with_data};

    /// The tags that a call's commit touched.
    async fn call_and_get_tags(test_env: &TestEnv, tool: &str, arguments: Value) -> (Value, Vec<Tag>) {
        let mut changes = test_env.resolver.change_feed().subscribe(&test_env.db.tenant).await.unwrap();
        let result = test_env.call(tool, arguments).await.unwrap();
        (result, changes.recv().await.unwrap().tags.clone())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn create_project_adds_dev_environment() {
        for test_env in test_envs_with_data().await {
            let arguments = json!({"organizationId": "org_abc123", "name": "Shop", "description": "tea"});
            let (shop, tags) = call_and_get_tags(&test_env, "backend_project_create", arguments).await;
            assert_eq!(
                (&shop["slug"], &shop["environmentCount"], &shop["primaryCloud"]),
                (&json!("shop"), &json!(1), &json!("local"))
            );
            assert!(shop["id"].as_str().unwrap().starts_with("proj_"));
            assert!(tags.contains(&Tag::resource_list("bkend")));
            let environments = test_env.read(shop["environmentsUri"].as_str().unwrap()).await.unwrap();
            assert_eq!(environments.as_array().unwrap().len(), 1);
            assert_eq!(
                (&environments[0]["name"], &environments[0]["status"]),
                (&json!("dev"), &json!("active"))
            );
            // An equal name gets another slug; a chosen slug that is taken is refused.
            let second = test_env
                .call(
                    "backend_project_create",
                    json!({"body": {"organizationId": "org_abc123", "name": "Shop", "primaryCloud": "aws"}}),
                )
                .await
                .unwrap();
            assert_eq!((&second["slug"], &second["primaryCloud"]), (&json!("shop-2"), &json!("aws")));
            let taken = json!({"body": {"organizationId": "org_abc123", "name": "x", "slug": "shop"}});
            assert_eq!(test_env.error_code("backend_project_create", taken).await, "CONFLICT");
            let unknown_organization = json!({"organizationId": "org_none", "name": "x"});
            assert_eq!(
                test_env.error_code("backend_project_create", unknown_organization).await,
                "NOT_FOUND"
            );
            assert_eq!(
                test_env.error_code("backend_project_create", json!({"organizationId": "org_abc123"})).await,
                "VALIDATION_ERROR"
            );
            let listed =
                test_env.call("backend_project_list", json!({"organizationId": "org_abc123"})).await.unwrap();
            assert_eq!(listed["pagination"]["total"], 3);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn update_project_keeps_slug() {
        for test_env in test_envs_with_data().await {
            let rename = json!({"projectId": "proj_xyz789", "name": "Renamed", "description": "d"});
            let (renamed, tags) = call_and_get_tags(&test_env, "backend_project_update", rename).await;
            assert_eq!((&renamed["name"], &renamed["slug"]), (&json!("Renamed"), &json!("my-app")));
            assert!(tags.contains(&Tag::resource_list("bkend")), "titles of the list name the project");
            let body = json!({"projectId": "proj_xyz789", "body": {"description": null, "settings": {"allowedOrigins": ["https://a.example"]}}});
            let changed = test_env.call("backend_project_update", body).await.unwrap();
            assert_eq!((&changed["name"], &changed["description"]), (&json!("Renamed"), &json!(null)));
            assert_eq!(changed["settings"]["allowedOrigins"][0], "https://a.example");
            let slug = json!({"projectId": "proj_xyz789", "body": {"name": "x", "slug": "other"}});
            assert_eq!(test_env.error_code("backend_project_update", slug).await, "VALIDATION_ERROR");
            let other_organization =
                json!({"organizationId": "org_none", "projectId": "proj_xyz789", "name": "x"});
            assert_eq!(test_env.error_code("backend_project_update", other_organization).await, "NOT_FOUND");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn delete_project_cascades() {
        for test_env in test_envs_with_data().await {
            assert!(test_env.read(&format!("{ENV_URI}/tables")).await.is_ok());
            let output = test_env
                .call_output("backend_project_delete", json!({"projectId": "proj_xyz789"}))
                .await
                .unwrap();
            assert_eq!(output.structured_value(), Some(json!({"success": true, "id": "proj_xyz789"})));
            assert!(
                matches!(&output.blocks[0], ContentBlock::Link { uri, .. } if uri == "bkend://orgs/org_abc123/projects")
            );
            assert_eq!(test_env.read("bkend://orgs/org_abc123/projects").await.unwrap(), json!([]));
            for uri in
                [&format!("{ENV_URI}/tables"), "bkend://tables/tbl_users", "bkend://environments/env_dev001"]
            {
                assert_eq!(test_env.read(uri).await.unwrap_err().code(), "NOT_FOUND", "{uri}");
            }
            // The physical table is gone too: the same ids can be loaded again.
            test_env
                .load(&[
                    r#"{"kind":"project","id":"proj_xyz789","organizationId":"org_abc123","name":"my-app"}"#,
                    r#"{"kind":"environment","id":"env_dev001","projectId":"proj_xyz789","name":"dev"}"#,
                    r#"{"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":[{"name":"a","type":"int"}]}"#,
                ])
                .await
                .unwrap();
            assert_eq!(
                test_env.read(&format!("{ENV_URI}/tables/tbl_users/rows")).await.unwrap()["items"],
                json!([])
            );
        }
    }
}
