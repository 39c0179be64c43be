//! `backend_project_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Need, Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, answer, deleted, input, organization_id, page_properties, place, project_id, read, string, unknown, write};
use crate::page::Page;
use crate::project::{self, NewProject, Project, ProjectChange};
use crate::refusal::{self, invalid};
use crate::{Bkend, organization, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema, need, effect| Tool {
        name,
        title,
        description,
        input_schema,
        output_schema: None,
        need,
        effect,
        core: name == "backend_project_create",
    };
    let [page, limit] = page_properties();
    let name = || ("name", string("Name, at most 100 characters"));
    let description = || ("description", json!({"type": ["string", "null"], "description": "At most 1,000 characters"}));
    vec![
        tool(
            "backend_project_list",
            "List projects",
            "Lists the projects of an organization, or all.",
            input(&[organization_id(), page, limit], &[]),
            routes::PROJECT_READ,
            Effect::Reads,
        ),
        tool(
            "backend_project_get",
            "Get a project",
            "Shows one project.",
            input(&[organization_id(), project_id()], &["projectId"]),
            routes::PROJECT_READ,
            Effect::Reads,
        ),
        tool(
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
                                ("slug", string("3 to 50 of a-z, 0-9 and -; derived from the name if left out")),
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
        tool(
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
                                ("settings", json!({"type": "object", "description": "Replaces all settings"})),
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
        tool(
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
                Ok(deleted(gone.id.as_str()).link(routes::projects(gone.organization_id.as_str()), "Projects"))
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
        return Err(quad_core::Error::bad_input("There is nothing to change").hint("Send name, description or settings"));
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
