//! The state of a simulation: each tenant's data, the credentials of its agents, and their calls.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::audit_expectations::AuditExpectations;
use crate::model::{Data, Object, Row};
use crate::plan::Agent;

/// The ids above the tables. They are equal in all tenants, to detect a missing separation of tenants.
pub const ORGANIZATION: &str = "org_sim";
/// See [`ORGANIZATION`].
pub const PROJECT: &str = "proj_sim";
/// See [`ORGANIZATION`].
pub const ENVIRONMENT: &str = "env_sim";

/// The URI of the environment.
pub const ENVIRONMENT_URI: &str = "bkend://orgs/org_sim/projects/proj_sim/environments/env_sim";
/// The URI of its tables.
pub const TABLES_URI: &str = "bkend://orgs/org_sim/projects/proj_sim/environments/env_sim/tables";

/// The tenant and agent of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant.
    pub tenant: usize,
    /// The agent.
    pub agent: Agent,
}

/// The target of a write.
#[derive(Clone, Copy, Debug)]
pub enum ObjectRef {
    /// A table's definition.
    Table(usize),
    /// An added field of a table.
    Field(usize, usize),
    /// A row of a table.
    Row(usize, usize),
}

/// The state of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It is valid.
    Valid,
    /// It is being revoked.
    Revoking,
    /// Its revocation has been acknowledged.
    Revoked,
}

/// A token with its state.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The token.
    pub token: String,
    /// The token id.
    pub id: String,
    /// The state.
    pub state: TokenState,
    /// The number of changes of this credential.
    pub change_count: u64,
}

/// The state of a tenant.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// The readable data.
    pub data: Data,
    /// The tokens of its agents.
    pub credentials: BTreeMap<Agent, Credential>,
    /// The calls of its agents.
    pub audit_expectations: AuditExpectations,
    /// When the last acknowledged change of a table's definition was sent.
    pub last_table_change: Option<Instant>,
}

/// The state of a simulation.
#[derive(Clone, Debug, Default)]
pub struct SimState {
    /// The tenants.
    pub tenants: Vec<Tenant>,
    /// Steps whose target was lost.
    pub skipped_steps: usize,
    /// Notifications after which a read was checked.
    pub notifications_checked: usize,
}

impl Tenant {
    /// The target of a write; created with the first write.
    pub fn object_mut(&mut self, object_ref: ObjectRef) -> &mut Object {
        match object_ref {
            ObjectRef::Table(table) => &mut self.data.tables.entry(table).or_default().object,
            ObjectRef::Field(table, field) => {
                let fields = &mut self.data.tables.entry(table).or_default().fields;
                if fields.len() <= field {
                    fields.resize_with(field + 1, Object::default);
                }
                &mut fields[field]
            }
            ObjectRef::Row(table, row) => &mut self.row_mut(table, row).object,
        }
    }

    /// A row.
    pub fn row_mut(&mut self, table: usize, row: usize) -> &mut Row {
        self.data.tables.entry(table).or_default().rows.entry(row).or_default()
    }

    /// The id of a table, if known.
    pub fn table_id(&self, table: usize) -> Option<String> {
        self.data.tables.get(&table)?.id.clone()
    }

    /// The id of a row, if known.
    pub fn row_id(&self, table: usize, row: usize) -> Option<String> {
        self.data.tables.get(&table)?.rows.get(&row)?.id.clone()
    }
}

impl SimState {
    /// The markers of the other tenants.
    pub fn other_tenant_markers(&self, tenant: usize) -> impl Iterator<Item = (&str, &str)> {
        let others = self.tenants.iter().enumerate().filter(move |(index, _)| *index != tenant);
        others.map(|(_, other)| (other.name.as_str(), other.data.marker.as_str()))
    }
}

/// The URI of all rows of a table on one page.
pub fn rows_uri(table_id: &str) -> String {
    format!("{TABLES_URI}/{table_id}/rows?limit=100")
}
