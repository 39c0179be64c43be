//! `backend_org_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, json_output, input_schema, organization_id, read, unimplemented_tool};
use crate::{Bkend, organization, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::ORGANIZATION_READ, Effect::Reads)
    };
    vec![
        tool(
            "backend_org_list",
            "List organizations",
            "Lists the organizations that you can see.",
            input_schema(&[], &[]),
        ),
        tool(
            "backend_org_get",
            "Get an organization",
            "Shows one organization.",
            input_schema(&[organization_id()], &["organizationId"]),
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments)?;
    match call.tool.name {
        "backend_org_list" => {
            read(bkend, call.caller, |sql| {
                let basis = Basis::at(sql.version()).on(tags::organizations());
                let organizations: Vec<Value> = organization::all(sql)?
                    .iter()
                    .map(|organization| json!({"id": organization.id.as_str(), "name": organization.name, "slug": organization.slug, "plan": organization.plan}))
                    .collect();
                Ok((json_output(json!({"organizations": organizations})).link("bkend://orgs", "Organizations"), basis))
            })
            .await
        }
        "backend_org_get" => {
            read(bkend, call.caller, move |sql| {
                let id = arguments.required_id("organizationId")?;
                let found_organization = organization::find(sql, id)?;
                let basis = Basis::at(sql.version()).on(tags::organization(id));
                Ok((json_output(found_organization.detail()).link(routes::organization_uri(id), found_organization.name), basis))
            })
            .await
        }
        name => Err(unimplemented_tool(name)),
    }
}
