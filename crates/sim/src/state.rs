//! Everything that the simulation knows: each tenant's data, its agents' credentials, and the calls that were made.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::audit_expectations::AuditExpectations;
use crate::model::{Data, Object, Row};
use crate::plan::Agent;

/// The ids above the tables. All tenants have the same ones: what is not kept apart by tenant gets mixed up.
pub const ORGANIZATION: &str = "org_sim";
/// See [`ORGANIZATION`].
pub const PROJECT: &str = "proj_sim";
/// See [`ORGANIZATION`].
pub const ENVIRONMENT: &str = "env_sim";

/// The address of the environment.
pub const ENVIRONMENT_URI: &str = "bkend://orgs/org_sim/projects/proj_sim/environments/env_sim";
/// The address of its tables.
pub const TABLES_URI: &str = "bkend://orgs/org_sim/projects/proj_sim/environments/env_sim/tables";

/// Whose call it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The tenant.
    pub tenant: usize,
    /// The agent.
    pub agent: Agent,
}

/// What is written to.
#[derive(Clone, Copy, Debug)]
pub enum ObjectRef {
    /// A table's definition.
    Table(usize),
    /// An added field of a table.
    Field(usize, usize),
    /// A row of a table.
    Row(usize, usize),
}

/// Whether a token is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It is.
    Valid,
    /// It is being withdrawn.
    Revoking,
    /// It is withdrawn, and whoever withdrew it has been told so.
    Revoked,
}

/// A token and what is known of it.
#[derive(Clone, Debug)]
pub struct Credential {
    /// The token.
    pub token: String,
    /// Its id.
    pub id: String,
    /// Whether it is good.
    pub state: TokenState,
    /// How often any of this has changed.
    pub change_count: u64,
}

/// A tenant.
#[derive(Clone, Debug)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// What can be read.
    pub data: Data,
    /// Its agents' tokens.
    pub credentials: BTreeMap<Agent, Credential>,
    /// The calls of its agents.
    pub audit_expectations: AuditExpectations,
    /// When the last acknowledged change of a table's definition was sent.
    pub last_table_change: Option<Instant>,
}

/// Everything.
#[derive(Clone, Debug, Default)]
pub struct SimState {
    /// The tenants.
    pub tenants: Vec<Tenant>,
    /// Steps that had nothing to act on, since what they were for was lost.
    pub skipped_steps: usize,
    /// Notifications after which a read was checked.
    pub notifications_checked: usize,
}

impl Tenant {
    /// Something that is written to; made known with its first write.
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

    /// The id of a table, if it is known.
    pub fn table_id(&self, table: usize) -> Option<String> {
        self.data.tables.get(&table)?.id.clone()
    }

    /// The id of a row, if it is known.
    pub fn row_id(&self, table: usize, row: usize) -> Option<String> {
        self.data.tables.get(&table)?.rows.get(&row)?.id.clone()
    }
}

impl SimState {
    /// The markers of every other tenant.
    pub fn other_tenant_markers(&self, tenant: usize) -> impl Iterator<Item = (&str, &str)> {
        let others = self.tenants.iter().enumerate().filter(move |(index, _)| *index != tenant);
        others.map(|(_, other)| (other.name.as_str(), other.data.marker.as_str()))
    }
}

/// The address of a table's rows, all on one page.
pub fn rows_uri(table_id: &str) -> String {
    format!("{TABLES_URI}/{table_id}/rows?limit=100")
}
