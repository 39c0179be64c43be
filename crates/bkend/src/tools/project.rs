//! `backend_project_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Need, Result, Tool};
use serde_json::{Value, json};

use super::{
    Arguments, answer, deleted, input, organization_id, page_properties, place, project_id, read, string,
    unknown, write,
};
use crate::page::Page;
use crate::project::{self, NewProject, Project, ProjectChange};
use crate::refusal::{self, invalid};
use crate::{Bkend, organization, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let [page, limit] = page_properties();
    let name = || ("name", string("Name, at most 100 characters"));
    let description =
        || ("description", json!({"type": ["string", "null"], "description": "At most 1,000 characters"}));
    vec![
        Tool::new(
            "backend_project_list",
            "List projects",
            "Lists the projects of an organization, or all.",
            input(&[organization_id(), page, limit], &[]),
            routes::PROJECT_READ,
            Effect::Reads,
        ),
        Tool::new(
            "backend_project_get",
            "Get a project",
            "Shows one project.",
            input(&[organization_id(), project_id()], &["projectId"]),
            routes::PROJECT_READ,
            Effect::Reads,
        ),
        Tool::new(
            "backend_project_create",
            "Create a project",
            "Creates a project with an environment named dev. Send organizationId and name, or the same in body.",
            input(
                &[
                    organization_id(),
                    name(),
                    description(),
                    (
                        "body",
                        input(
                            &[
                                organization_id(),
                                (
                                    "slug",
                                    string("3 to 50 of a-z, 0-9 and -; derived from the name if left out"),
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
            Need(&["project:create"]),
            Effect::Creates,
        ),
        Tool::new(
            "backend_project_update",
            "Update a project",
            "Changes a project's name, description or settings. The slug never changes.",
            input(
                &[
                    organization_id(),
                    project_id(),
                    name(),
                    description(),
                    (
                        "body",
                        input(
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
            Need(&["project:update"]),
            Effect::Updates,
        ),
        Tool::new(
            "backend_project_delete",
            "Delete a project",
            "Deletes a project with all its environments, tables and rows. This cannot be undone.",
            input(&[organization_id(), project_id()], &["projectId"]),
            Need(&["project:delete"]),
            Effect::Deletes,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments.clone())?;
    match call.tool.name {
        "backend_project_list" => {
            let page = Page::from_arguments(&arguments.root)?;
            read(bkend, call.caller, move |sql| {
                let basis = Basis::at(sql.version()).on(tags::any_projects()).on(tags::any_environments());
                let organization = arguments.id("organizationId")?;
                if let Some(organization) = organization {
                    organization::find(sql, organization)?;
                }
                let (projects, total) = project::page(sql, organization, page)?;
                let listed = page.envelope(projects.iter().map(Project::detail).collect(), total);
                let uri = organization.map_or("bkend://projects".to_owned(), routes::projects);
                Ok((answer(listed).link(uri, "Projects"), basis))
            })
            .await
        }
        "backend_project_get" => {
            read(bkend, call.caller, move |sql| {
                let found = place::project(sql, &arguments)?;
                let basis = Basis::at(sql.version()).on(tags::project(found.id.as_str()));
                Ok((answer(found.detail()).link(found.uri(), found.name), basis))
            })
            .await
        }
        "backend_project_create" => create(bkend, call, arguments).await,
        "backend_project_update" => update(bkend, call, arguments).await,
        "backend_project_delete" => {
            write(bkend, call, move |tx| {
                let found = place::project(tx, &arguments)?;
                let gone = project::delete(tx, found.id.as_str())?;
                Ok(deleted(gone.id.as_str())
                    .link(routes::projects(gone.organization_id.as_str()), "Projects"))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}

async fn create(bkend: &Bkend, call: Call<'_>, arguments: Arguments) -> Result<Called> {
    let owned = |name: &str| arguments.text(name).map(|text| text.map(str::to_owned));
    let new = NewProject {
        id: None,
        organization_id: arguments.required_id("organizationId")?.to_owned(),
        name: owned("name")?.ok_or_else(|| refusal::missing("name"))?,
        slug: owned("slug")?,
        description: owned("description")?,
        primary_cloud: owned("primaryCloud")?,
        primary_region: owned("primaryRegion")?,
        with_dev: true,
    };
    write(bkend, call, move |tx| {
        let (created, dev) = project::insert(tx, &new)?;
        let mut output = answer(created.detail()).link(created.uri(), created.name.as_str());
        if let Some(dev) = dev {
            output = output.link(dev.tables_uri(), format!("Tables in {} / {}", created.name, dev.name));
        }
        Ok(output)
    })
    .await
}

async fn update(bkend: &Bkend, call: Call<'_>, arguments: Arguments) -> Result<Called> {
    let change = ProjectChange {
        name: arguments.text("name")?.map(str::to_owned),
        description: arguments.clearable("description")?,
        settings: match arguments.payload().get("settings") {
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
        let found = place::project(tx, &arguments)?;
        if arguments.text("slug")?.is_some_and(|slug| slug != found.slug) {
            return Err(invalid("slug", "a slug never changes").hint("Change the name instead"));
        }
        let changed = project::update(tx, found.id.as_str(), &change)?;
        Ok(answer(changed.detail()).link(changed.uri(), changed.name.as_str()))
    })
    .await
}

#[cfg(test)]
mod tests {
    use quad_core::{Tag, tool::Block};

    use super::*;
    use crate::testing::{B, World, worlds};

    /// What a call's commit touched.
    async fn touched(world: &World, tool: &str, arguments: Value) -> (Value, Vec<Tag>) {
        let mut changes = world.resolver.feed().listen(&world.test.tenant).await.unwrap();
        let result = world.call(tool, arguments).await.unwrap();
        (result, changes.recv().await.unwrap().tags.clone())
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_new_project_comes_with_dev() {
        for world in worlds().await {
            let arguments = json!({"organizationId": "org_abc123", "name": "Shop", "description": "tea"});
            let (shop, tags) = touched(&world, "backend_project_create", arguments).await;
            assert_eq!(
                (&shop["slug"], &shop["environmentCount"], &shop["primaryCloud"]),
                (&json!("shop"), &json!(1), &json!("local"))
            );
            assert!(shop["id"].as_str().unwrap().starts_with("proj_"));
            assert!(tags.contains(&Tag::listing("bkend")));
            let environments = world.read(shop["environmentsUri"].as_str().unwrap()).await.unwrap();
            assert_eq!(environments.as_array().unwrap().len(), 1);
            assert_eq!(
                (&environments[0]["name"], &environments[0]["status"]),
                (&json!("dev"), &json!("active"))
            );
            // The same name again gets a slug of its own; a chosen slug that is taken is refused.
            let second = world
                .call(
                    "backend_project_create",
                    json!({"body": {"organizationId": "org_abc123", "name": "Shop", "primaryCloud": "aws"}}),
                )
                .await
                .unwrap();
            assert_eq!((&second["slug"], &second["primaryCloud"]), (&json!("shop-2"), &json!("aws")));
            let taken = json!({"body": {"organizationId": "org_abc123", "name": "x", "slug": "shop"}});
            assert_eq!(world.refusal("backend_project_create", taken).await, "CONFLICT");
            let nowhere = json!({"organizationId": "org_none", "name": "x"});
            assert_eq!(world.refusal("backend_project_create", nowhere).await, "NOT_FOUND");
            assert_eq!(
                world.refusal("backend_project_create", json!({"organizationId": "org_abc123"})).await,
                "VALIDATION_ERROR"
            );
            let listed =
                world.call("backend_project_list", json!({"organizationId": "org_abc123"})).await.unwrap();
            assert_eq!(listed["pagination"]["total"], 3);
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_project_changes_but_for_its_slug() {
        for world in worlds().await {
            let rename = json!({"projectId": "proj_xyz789", "name": "Renamed", "description": "d"});
            let (renamed, tags) = touched(&world, "backend_project_update", rename).await;
            assert_eq!((&renamed["name"], &renamed["slug"]), (&json!("Renamed"), &json!("my-app")));
            assert!(tags.contains(&Tag::listing("bkend")), "titles of the list name the project");
            let body = json!({"projectId": "proj_xyz789", "body": {"description": null, "settings": {"allowedOrigins": ["https://a.example"]}}});
            let changed = world.call("backend_project_update", body).await.unwrap();
            assert_eq!((&changed["name"], &changed["description"]), (&json!("Renamed"), &json!(null)));
            assert_eq!(changed["settings"]["allowedOrigins"][0], "https://a.example");
            let slug = json!({"projectId": "proj_xyz789", "body": {"name": "x", "slug": "other"}});
            assert_eq!(world.refusal("backend_project_update", slug).await, "VALIDATION_ERROR");
            let elsewhere = json!({"organizationId": "org_none", "projectId": "proj_xyz789", "name": "x"});
            assert_eq!(world.refusal("backend_project_update", elsewhere).await, "NOT_FOUND");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_deleted_project_takes_everything_with_it() {
        for world in worlds().await {
            assert!(world.read(&format!("{B}/tables")).await.is_ok());
            let output =
                world.output("backend_project_delete", json!({"projectId": "proj_xyz789"})).await.unwrap();
            assert_eq!(output.value(), Some(json!({"success": true, "id": "proj_xyz789"})));
            assert!(
                matches!(&output.blocks[0], Block::Link { uri, .. } if uri == "bkend://orgs/org_abc123/projects")
            );
            assert_eq!(world.read("bkend://orgs/org_abc123/projects").await.unwrap(), json!([]));
            for gone in
                [&format!("{B}/tables"), "bkend://tables/tbl_users", "bkend://environments/env_dev001"]
            {
                assert_eq!(world.read(gone).await.unwrap_err().code(), "NOT_FOUND", "{gone}");
            }
            // The physical table is gone too: the same ids can be loaded anew.
            world
                .load(&[
                    r#"{"kind":"project","id":"proj_xyz789","organizationId":"org_abc123","name":"my-app"}"#,
                    r#"{"kind":"environment","id":"env_dev001","projectId":"proj_xyz789","name":"dev"}"#,
                    r#"{"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":[{"name":"a","type":"int"}]}"#,
                ])
                .await
                .unwrap();
            assert_eq!(world.read(&format!("{B}/tables/tbl_users/rows")).await.unwrap()["items"], json!([]));
        }
    }
}
