//! `backend_org_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::object;
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{Arguments, organization_id, read};
use crate::{Bkend, organization, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::ORGANIZATION_READ, ToolEffect::Reads)
    };
    vec![
        ToolEntry::new(
            tool(
                "backend_org_list",
                "List organizations",
                "Lists the organizations that you can see.",
                object(&[], &[]),
            ),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            tool(
                "backend_org_get",
                "Get an organization",
                "Shows one organization.",
                object(&[organization_id()], &["organizationId"]),
            ),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    read(bkend, call.caller, |sql| {
                let read_set = ReadSet::at_version(sql.version()).with_tag(tags::organizations());
                let organizations: Vec<Value> = organization::all(sql)?
                    .iter()
                    .map(|organization| json!({"id": organization.id.as_str(), "name": organization.name, "slug": organization.slug, "plan": organization.plan}))
                    .collect();
                Ok((ToolOutput::structured(json!({"organizations": organizations})).with_link("bkend://orgs", "Organizations"), read_set))
            })
            .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments)?;
    read(bkend, call.caller, move |sql| {
        let id = arguments.required_id("organizationId")?;
        let found_organization = organization::find(sql, id)?;
        let read_set = ReadSet::at_version(sql.version()).with_tag(tags::organization(id));
        Ok((
            ToolOutput::structured(found_organization.detail())
                .with_link(routes::organization_uri(id), found_organization.name),
            read_set,
        ))
    })
    .await
}
