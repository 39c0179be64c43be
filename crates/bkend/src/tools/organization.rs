//! `backend_org_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Result, Tool};
use serde_json::{Value, json};

use super::{Arguments, answer, input, organization_id, read, unknown};
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
            input(&[], &[]),
        ),
        tool(
            "backend_org_get",
            "Get an organization",
            "Shows one organization.",
            input(&[organization_id()], &["organizationId"]),
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
                    .map(|one| json!({"id": one.id.as_str(), "name": one.name, "slug": one.slug, "plan": one.plan}))
                    .collect();
                Ok((answer(json!({"organizations": organizations})).link("bkend://orgs", "Organizations"), basis))
            })
            .await
        }
        "backend_org_get" => {
            read(bkend, call.caller, move |sql| {
                let id = arguments.required_id("organizationId")?;
                let found = organization::find(sql, id)?;
                let basis = Basis::at(sql.version()).on(tags::organization(id));
                Ok((answer(found.detail()).link(routes::organization(id), found.name), basis))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}
