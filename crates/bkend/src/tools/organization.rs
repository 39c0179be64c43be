//! `backend_org_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::{ReadSet, Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, input_schema, json_output, organization_id, read, unimplemented_tool};
use crate::{Bkend, organization, routes, tags};

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::ORGANIZATION_READ, ToolEffect::Reads)
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

pub(super) async fn call(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    match call.tool.name {
        "backend_org_list" => {
            read(bkend, call.caller, |sql| {
                let basis = ReadSet::at_version(sql.version()).with_tag(tags::organizations());
                let organizations: Vec<Value> = organization::all(sql)?
                    .iter()
                    .map(|organization| json!({"id": organization.id.as_str(), "name": organization.name, "slug": organization.slug, "plan": organization.plan}))
                    .collect();
                Ok((json_output(json!({"organizations": organizations})).with_link("bkend://orgs", "Organizations"), basis))
            })
            .await
        }
        "backend_org_get" => {
            read(bkend, call.caller, move |sql| {
                let id = arguments.required_id("organizationId")?;
                let found_organization = organization::find(sql, id)?;
                let basis = ReadSet::at_version(sql.version()).with_tag(tags::organization(id));
                Ok((json_output(found_organization.detail()).with_link(routes::organization_uri(id), found_organization.name), basis))
            })
            .await
        }
        name => Err(unimplemented_tool(name)),
    }
}
