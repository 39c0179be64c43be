//! `backend_org_*`.

use quad_core::tool::{ToolCall, ToolEffect, ToolResult};
use quad_core::tool_schema::object;
use quad_core::{ReadSet, Result, Tool, ToolEntry, ToolOutput};
use serde_json::{Value, json};

use super::{Arguments, lookup, organization_id, read, results};
use crate::{Bkend, organization, routes, tags};

pub(super) fn entries() -> Vec<ToolEntry<Bkend>> {
    let tool = |name, title, description, input_schema| {
        Tool::new(name, title, description, input_schema, routes::ORGANIZATION_READ, ToolEffect::Reads)
    };
    vec![
        ToolEntry::new(
            tool("backend_org_list", "List organizations", "Lists the organizations.", object(&[], &[]))
                .output(results::organizations()),
            |bkend, call| Box::pin(list(bkend, call)),
        ),
        ToolEntry::new(
            tool(
                "backend_org_get",
                "Get an organization",
                "Shows one organization.",
                object(&[organization_id()], &[]),
            )
            .output(results::organization())
            .example(json!({"organizationId": "org_123"})),
            |bkend, call| Box::pin(get(bkend, call)),
        ),
    ]
}

async fn list(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    read(bkend, call.caller, |sql| {
        let read_set = ReadSet::at_version(sql.version()).with_tag(tags::organizations());
        let organizations: Vec<Value> = organization::all(sql)?
            .iter()
            .map(|organization| {
                json!({
                    "id": organization.id.as_str(),
                    "name": organization.name,
                    "slug": organization.slug,
                    "plan": organization.plan,
                })
            })
            .collect();
        let output = ToolOutput::structured(json!({"organizations": organizations}));
        Ok((output.with_link("bkend://orgs", "Organizations"), read_set))
    })
    .await
}

async fn get(bkend: &Bkend, call: ToolCall<'_>) -> Result<ToolResult> {
    let arguments = Arguments::new(call.arguments, call.caller);
    read(bkend, call.caller, move |sql| {
        let mut read_set = ReadSet::at_version(sql.version());
        let found = lookup::organization(sql, &arguments, &mut read_set)?;
        let read_set = read_set.with_tag(tags::organization(found.id.as_str()));
        let uri = routes::organization_uri(found.id.as_str());
        Ok((ToolOutput::structured(found.detail()).with_link(uri, found.name), read_set))
    })
    .await
}
