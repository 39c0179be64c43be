//! `backend_project_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::{object, string};
use quad_core::{Error, ReadSet, Result, ScopeRequirement, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{
    Arguments, delete_output, lookup, nullable, organization_id, page_properties, project_id, read, results,
    write,
};
use crate::errors::{self, invalid};
use crate::page::Page;
use crate::project::{self, NewProject, Project, ProjectChange};
use crate::{Bkend, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let [page, limit] = page_properties();
    let name = || ("name", string("At most 100 characters"));
    let description = || ("description", nullable("At most 1,000 characters"));
    vec![
        ToolEntry::new(
            Tool::new(
                "backend_project_list",
                "List projects",
                "Lists the projects of an organization, or all.",
                object(&[("organizationId", string("Only those of this organization")), page, limit], &[]),
                routes::PROJECT_READ,
                ToolEffect::Reads,
            )
            .output(results::projects())
            .example(json!({"limit": 50})),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_get",
                "Get a project",
                "Shows one project.",
                object(&[organization_id(), project_id()], &[]),
                routes::PROJECT_READ,
                ToolEffect::Reads,
            )
            .output(results::project())
            .example(json!({"projectId": "shop"})),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_create",
                "Create a project",
                "Creates a project with an environment named dev.",
                object(
                    &[
                        organization_id(),
                        name(),
                        description(),
                        ("slug", string("3 to 50 of a-z, 0-9 and -; from the name if left out")),
                    ],
                    &["name"],
                ),
                ScopeRequirement(&["project:create"]),
                ToolEffect::Creates,
            )
            .output(results::project())
            .example(json!({"name": "Shop"}))
            .unpublished(&["primaryCloud", "primaryRegion"])
            .wrapper("body"),
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
                        ("settings", json!({"type": "object", "description": "Replaces all settings"})),
                    ],
                    &[],
                ),
                ScopeRequirement(&["project:update"]),
                ToolEffect::Updates,
            )
            .output(results::project())
            .example(json!({"projectId": "shop", "description": "Sells tea"}))
            .unpublished(&["slug"])
            .wrapper("body"),
            |bkend, call| Box::pin(update(bkend, call)),
        ),
        ToolEntry::new(
            Tool::new(
                "backend_project_delete",
                "Delete a project",
                "Deletes a project with all its environments, tables and rows. This cannot be undone.",
                object(&[organization_id(), ("projectId", string("Project id or name"))], &["projectId"]),
                ScopeRequirement(&["project:delete"]),
                ToolEffect::Deletes,
            )
            .output(results::deleted())
            .example(json!({"projectId": "proj_123"})),
            |bkend, call| Box::pin(delete(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let page = Page::from_arguments(&arguments.values)?;
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version())
            .with_tag(tags::any_projects())
            .with_tag(tags::any_environments());
        let parents = lookup::organization_sent(sql, &arguments, &mut read_set)?;
        let (projects, total) = project::list_page(sql, &parents, page)?;
        let list_json = page.to_json(projects.iter().map(Project::detail).collect(), total);
        let organization = parents.organization.as_deref();
        let uri = organization.map_or("bkend://projects".to_owned(), routes::projects_uri);
        Ok((ToolOutput::structured(list_json).with_link(uri, "Projects"), read_set))
    })
    .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let found = lookup::project(sql, &arguments, &mut read_set)?;
        let read_set = read_set.with_tag(tags::project(found.id.as_str()));
        Ok((ToolOutput::structured(found.detail()).with_link(found.uri(), found.name), read_set))
    })
    .await
}

async fn delete(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    write(bkend, call.caller, call.event, move |tx| {
        // The only project is not meant by a call that names none: a deletion cannot be undone.
        arguments.required("projectId", errors::listing_hint("Project"))?;
        let found = lookup::project(tx, &arguments, &mut ReadSet::default())?;
        let deleted = project::delete(tx, found.id.as_str())?;
        Ok(delete_output(deleted.id.as_str())
            .with_link(routes::projects_uri(deleted.organization_id.as_str()), "Projects"))
    })
    .await
}

async fn create(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    let text = |name: &str| arguments.text(name).map(|text| text.map(str::to_owned));
    let mut new = NewProject {
        id: None,
        organization_id: String::new(),
        name: text("name")?.unwrap_or_default(),
        slug: text("slug")?,
        description: text("description")?,
        primary_cloud: text("primaryCloud")?,
        primary_region: text("primaryRegion")?,
        with_dev: true,
    };
    write(bkend, call.caller, call.event, move |tx| {
        let organization = lookup::organization(tx, &arguments, &mut ReadSet::default())?;
        new.organization_id = organization.id.as_str().to_owned();
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
    let arguments = Arguments::new(call.arguments, call.caller);
    let change = ProjectChange {
        name: arguments.text("name")?.map(str::to_owned),
        description: arguments.nullable_text("description")?,
        settings: arguments.value("settings").and_then(Value::as_object).cloned(),
    };
    let slug_sent = arguments.text("slug")?.map(str::to_owned);
    if change == ProjectChange::default() && slug_sent.is_none() {
        return Err(Error::bad_input("The call changes nothing").hint("Send name, description or settings"));
    }
    write(bkend, call.caller, call.event, move |tx| {
        let found = lookup::project(tx, &arguments, &mut ReadSet::default())?;
        if slug_sent.as_ref().is_some_and(|slug| *slug != found.slug) {
            return Err(invalid("slug", "cannot change", "Leave slug out, or change the name instead"));
        }
        let changed = project::update(tx, found.id.as_str(), &change)?;
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
