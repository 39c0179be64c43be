//! `quad bkend …`

use std::path::Path;

use quad_bkend::organization::{self, NewOrganization, Organization, OrganizationId};
use quad_core::{Error, Result, input_file};
use quad_store::WriteContext;
use serde_json::{Value, json};

use super::backup::new_bar;
use crate::app::App;
use crate::cli::{BkendCommand, OrgCommand};
use crate::output;

/// The actor in audit events of this command.
const ACTOR: &str = "quad bkend";

/// Manages organizations, or loads a backend from a file.
pub async fn run(app: &App, command: BkendCommand, as_json: bool) -> Result<()> {
    match command {
        BkendCommand::Org { command: OrgCommand::Add { name, slug, id } } => {
            let id = id.as_deref().map(organization_id).transpose()?;
            let new = NewOrganization { id, name, slug, ..NewOrganization::default() };
            let created =
                organization::create(&app.store, &WriteContext::from(&app.tenant.id), ACTOR, new).await?;
            print_organizations(&[created], as_json);
            Ok(())
        }
        BkendCommand::Org { command: OrgCommand::List } => {
            print_organizations(&organization::list(&app.store, &app.tenant.id).await?, as_json);
            Ok(())
        }
        BkendCommand::Load { file } => load(app, &file, as_json).await,
    }
}

async fn load(app: &App, file: &Path, as_json: bool) -> Result<()> {
    let (input, bytes) = input_file::open(file)?;
    let bar = new_bar("bytes");
    bar.set_length(bytes);
    let lines = input_file::lines(std::io::BufReader::new(input), quad_bkend::limits::LOAD_LINE_BYTES);
    let lines = lines.inspect(|line| {
        if let Ok(line) = line {
            bar.inc(line.len() as u64 + 1);
        }
    });
    let loaded = quad_bkend::load::load(&app.store, &WriteContext::from(&app.tenant.id), lines).await?;
    bar.finish_and_clear();
    if as_json {
        output::print_json(&json!({"created": loaded.created, "skipped": loaded.skipped}));
    } else {
        output::print_line(format_args!("{} created, {} already present", loaded.created, loaded.skipped));
    }
    Ok(())
}

fn organization_id(text: &str) -> Result<OrganizationId> {
    OrganizationId::parse(text).ok_or_else(|| {
        Error::bad_input("An id must be 1 to 64 letters, digits, hyphens and underscores")
            .hint("Leave out --id to get a new id")
    })
}

fn print_organizations(organizations: &[Organization], as_json: bool) {
    if as_json {
        let entries: Vec<Value> = organizations.iter().map(Organization::detail).collect();
        output::print_json(&json!({"organizations": entries}));
        return;
    }
    for organization in organizations {
        output::print_line(format_args!("{}  {}  {}", organization.id, organization.slug, organization.name));
    }
}
