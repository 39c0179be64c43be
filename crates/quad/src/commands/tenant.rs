//! `quad tenant add|list`

use quad_core::Result;
use quad_store::tenant::{self, Tenant};
use serde_json::{Value, json};

use crate::app::App;
use crate::cli::TenantCommand;
use crate::output;

/// Creates or lists tenants.
pub async fn run(app: &App, command: TenantCommand, as_json: bool) -> Result<()> {
    match command {
        TenantCommand::Add { name } => {
            let created = tenant::create(&app.store, &name).await?;
            print_tenants(&[created], as_json);
        }
        TenantCommand::List => print_tenants(&tenant::list(&app.store).await?, as_json),
    }
    Ok(())
}

fn print_tenants(tenants: &[Tenant], as_json: bool) {
    if as_json {
        let entry = |t: &Tenant| json!({"id": t.id.as_str(), "name": t.name, "createdAt": t.created_at});
        let entries: Vec<Value> = tenants.iter().map(entry).collect();
        output::print_json(&json!({"tenants": entries}));
        return;
    }
    for tenant in tenants {
        output::print_line(format_args!("{}  {}  {}", tenant.name, tenant.id, tenant.created_at));
    }
}
