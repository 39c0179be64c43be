//! `backend_project_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{Arguments, delete_output, lookup, organization_id, page_properties, project_id, read, write};
use crate::errors::{self, invalid};
use crate::page::Page;
use crate::project::{self, NewProject, Project, ProjectChange};
use crate::{Bkend, organization, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let [page, limit] = page_properties();
    let name = || ("name", string("Name, at most 100 characters"));
    let description =
        || ("description", json!({"type": ["string", "null"], "description": "At most 1,000 characters"}));
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_project_list",
                "List projects",
                "Lists the projects of an organization, or all.",
                object(&[organization_id(), page, limit], &[]),
                routes::PROJECT_READ,
                ToolEffect::Reads,
            ),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_get",
                "Get a project",
                "Shows one project.",
                object(&[organization_id(), project_id()], &["projectId"]),
                routes::PROJECT_READ,
                ToolEffect::Reads,
            ),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_create",
                "Create a project",
                "Creates a project with an environment named dev. Send organizationId and name, or the same in body.",
                object(
                    &[
                        organization_id(),
                        name(),
                        description(),
                        (
                            "body",
                            object(
                                &[
                                    organization_id(),
                                    (
                                        "slug",
                                        string(
                                            "3 to 50 of a-z, 0-9 and -; derived from the name if left out",
                                        ),
                                    ),
                                    name(),
                                    ("primaryCloud", string("Stored as given")),
                                    ("primaryRegion", string("Stored as given")),
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
            |bkend, call| Box::pin(create(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_update",
                "Update a project",
                "Changes a project's name, description or settings. The slug never changes.",
                object(
                    &[
                        organization_id(),
                        project_id(),
                        name(),
                        description(),
                        (
                            "body",
                            object(
                                &[
                                    name(),
                                    ("slug", string("Only the present one: a slug never changes")),
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
            |bkend, call| Box::pin(update(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_delete",
                "Delete a project",
                "Deletes a project with all its environments, tables and rows. This cannot be undone.",
                object(&[organization_id(), project_id()], &["projectId"]),
                ScopeRequirement(&["project:delete"]),
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
            .with_tag(tags::any_projects())
            .with_tag(tags::any_environments());
        let organization = arguments.id("organizationId")?;
        if let Some(organization) = organization {
            organization::find(sql, organization)?;
        }
        let (projects, total) = project::list_page(sql, organization, page)?;
        let list_json = page.to_json(projects.iter().map(Project::detail).collect(), total);
        let uri = organization.map_or("bkend://projects".to_owned(), routes::projects_uri);
        Ok((ToolOutput::structured(list_json).with_link(uri, "Projects"), read_set))
    })
    .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    read(bkend, call.caller, move |sql| {
        let found_project = lookup::project(sql, &arguments)?;
        let read_set = ReadSet::at_version(sql.version()).with_tag(tags::project(found_project.id.as_str()));
        Ok((
            ToolOutput::structured(found_project.detail()).with_link(found_project.uri(), found_project.name),
            read_set,
        ))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    write(bkend, call.caller, call.event, move |tx| {
        let found_project = lookup::project(tx, &arguments)?;
        let deleted_project = project::delete(tx, found_project.id.as_str())?;
        Ok(delete_output(deleted_project.id.as_str())
            .with_link(routes::projects_uri(deleted_project.organization_id.as_str()), "Projects"))
    })
    .await
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let owned_text = |name: &str| arguments.text(name).map(|text| text.map(str::to_owned));
    let new = NewProject {
        id: None,
        organization_id: arguments.required_id("organizationId")?.to_owned(),
        name: owned_text("name")?.ok_or_else(|| errors::missing("name", "Send the name of the project"))?,
        slug: owned_text("slug")?,
        description: owned_text("description")?,
        primary_cloud: owned_text("primaryCloud")?,
        primary_region: owned_text("primaryRegion")?,
        with_dev: true,
    };
    write(bkend, call.caller, call.event, move |tx| {
        let (created, dev) = project::insert(tx, &new)?;
        let mut output =
            ToolOutput::structured(created.detail()).with_link(created.uri(), created.name.as_str());
        if let Some(dev) = dev {
            output = output.with_link(dev.tables_uri(), format!("Tables in {} / {}", created.name, dev.name));
        }
        Ok(output)
    })
    .await
}

async fn update(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    let change = ProjectChange {
        name: arguments.text("name")?.map(str::to_owned),
        description: arguments.nullable_text("description")?,
        settings: match arguments.body_or_root().get("settings") {
            None => None,
            Some(Value::Object(settings)) => Some(settings.clone()),
            Some(_) => return Err(invalid("settings", "is not an object", "Send all settings as an object")),
        },
    };
    if change.name.is_none() && change.description.is_none() && change.settings.is_none() {
        return Err(quad_core::Error::bad_input("There is nothing to change")
            .hint("Send name, description or settings"));
    }
    write(bkend, call.caller, call.event, move |tx| {
        let found_project = lookup::project(tx, &arguments)?;
        if arguments.text("slug")?.is_some_and(|slug| slug != found_project.slug) {
            return Err(invalid("slug", "cannot change", "Leave slug out, or change the name instead"));
        }
        let changed = project::update(tx, found_project.id.as_str(), &change)?;
        Ok(ToolOutput::structured(changed.detail()).with_link(changed.uri(), changed.name.as_str()))
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
        let mut changes =
            test_env.resolver.change_feed().subscribe(&test_env.test_store.tenant).await.unwrap();
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
                .output_as(&test_env.caller, "backend_project_delete", json!({"projectId": "proj_xyz789"}))
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
