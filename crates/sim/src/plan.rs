//! The schedule: actions, agents, nodes and faults.
//!
//! A schedule has a text form with one line per step. The hash of the text shows whether two runs did the same.
//! Tables and rows have numbers of the schedule's own, because their ids are known only after a server has created
//! them.

use std::fmt;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// Two processes on one data directory.
    Sqlite,
    /// Two nodes on one server, with one key.
    Postgres,
}

/// The schedule of a run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The seed of the schedule.
    pub seed: u64,
    /// The number of tenants.
    pub tenants: usize,
    /// The rounds in their order.
    pub rounds: Vec<Round>,
}

/// Steps that run concurrently, and the fault during them.
#[derive(Clone, Debug)]
pub struct Round {
    /// The fault.
    pub fault: Fault,
    /// The steps.
    pub steps: Vec<Step>,
    /// The node and era of each tenant's standing subscription, if it must be opened again.
    pub subscriptions: Vec<(usize, Era)>,
}

/// A fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No fault.
    None,
    /// A node is killed after a delay and restarted after the round.
    Kill {
        /// The node.
        node: usize,
        /// The delay.
        after_us: u64,
    },
    /// A node is killed as soon as a watching step gets a notification from it: the change must be durable by then.
    KillOnNotification {
        /// The node.
        node: usize,
    },
    /// A node is stopped for some time: it neither replies nor receives changes.
    Pause {
        /// The node.
        node: usize,
        /// The delay.
        after_us: u64,
        /// The duration.
        for_ms: u64,
    },
    /// The lock that every commit needs is held.
    HoldLock {
        /// The tenant whose head is locked, if each tenant has a lock of its own.
        tenant: usize,
        /// The duration.
        for_ms: u64,
    },
    /// Every connection to the database is terminated, including those that listen for changes. PostgreSQL only.
    DropConnections {
        /// The delay.
        after_us: u64,
    },
}

/// One action of the schedule.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// The number of the step, from 1.
    pub number: usize,
    /// The tenant.
    pub tenant: usize,
    /// The agent.
    pub agent: Agent,
    /// The node.
    pub node: usize,
    /// The protocol era.
    pub era: Era,
    /// The action.
    pub action: Action,
}

/// An agent of a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// Reads and writes tables and rows.
    Writer,
    /// Reads tables and rows.
    Reader,
    /// Reads organizations and projects only, no tables.
    Limited,
}

/// A protocol era.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28.
    Modern,
    /// 2025-11-25; without a session if none is needed.
    Legacy,
}

/// How rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// `resources/read`.
    Resource,
    /// A tool call.
    Tool,
    /// `GET /v1/resources`.
    Http,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Creates a table.
    CreateTable(usize),
    /// Updates the description of a table.
    UpdateTable(usize),
    /// Adds a field to a table.
    AddField(usize),
    /// Deletes a table with its rows.
    DeleteTable(usize),
    /// Creates a row.
    CreateRow(usize, usize),
    /// Updates a row.
    UpdateRow(usize, usize),
    /// Deletes a row.
    DeleteRow(usize, usize),
    /// Reads the rows of a table.
    ReadRows(usize, ReadPath),
    /// Reads one row.
    ReadRow(usize, usize),
    /// Reads the list of tables.
    ReadTables,
    /// Reads one table with its row count.
    ReadTable(usize),
    /// Reads the environment with its table count.
    ReadEnvironment,
    /// Reads the context of the tenant.
    ReadContext,
    /// Lists the resources.
    ListResources,
    /// Subscribes to a table's rows, updates one through `writer_node`, and reads after the notification.
    Watch {
        /// The table.
        table: usize,
        /// The row.
        row: usize,
        /// The node that gets the write.
        writer_node: usize,
    },
    /// Tries to read and to change a table and a row of another tenant.
    CrossTenantAccess {
        /// The other tenant.
        tenant: usize,
        /// The table.
        table: usize,
        /// The row.
        row: usize,
    },
    /// Revokes the agent's token, tries it on every endpoint, and mints another.
    Revoke,
    /// Quarantines the agent, tries its token on every endpoint, and restores the agent.
    Quarantine,
}

impl Fault {
    /// The node that is killed, if any.
    pub fn killed_node(self) -> Option<usize> {
        match self {
            Fault::Kill { node, .. } | Fault::KillOnNotification { node } => Some(node),
            _ => None,
        }
    }
}

impl Agent {
    /// All agents.
    pub const ALL: [Agent; 3] = [Agent::Writer, Agent::Reader, Agent::Limited];

    /// The name, which is the subject.
    pub fn name(self) -> &'static str {
        match self {
            Agent::Writer => "writer",
            Agent::Reader => "reader",
            Agent::Limited => "clerk",
        }
    }

    /// The granted scopes.
    pub fn scopes(self) -> &'static str {
        match self {
            Agent::Writer => "organization:read project:read environment:read table:* table:data:*",
            Agent::Reader => "organization:read project:read environment:read table:read table:data:read",
            Agent::Limited => "organization:read project:read",
        }
    }
}

impl Action {
    /// Whether an agent has the scope for the action.
    pub fn is_allowed_for(self, agent: Agent) -> bool {
        match self {
            Action::CreateTable(_)
            | Action::UpdateTable(_)
            | Action::AddField(_)
            | Action::DeleteTable(_)
            | Action::CreateRow(..)
            | Action::UpdateRow(..)
            | Action::DeleteRow(..) => agent == Agent::Writer,
            Action::ReadRows(..) | Action::ReadRow(..) | Action::ReadTables | Action::ReadTable(_) => {
                agent != Agent::Limited
            }
            Action::ReadEnvironment | Action::Watch { .. } | Action::CrossTenantAccess { .. } => {
                agent != Agent::Limited
            }
            Action::ReadContext | Action::ListResources | Action::Revoke | Action::Quarantine => true,
        }
    }
}

impl Plan {
    /// The number of steps.
    pub fn step_count(&self) -> usize {
        self.rounds.iter().map(|round| round.steps.len()).sum()
    }

    /// The hash of the schedule's text.
    pub fn hash(&self) -> String {
        crate::canonical::sha256_hex(self.to_string().as_bytes())
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "seed {}, {} tenants", self.seed, self.tenants)?;
        self.rounds.iter().try_for_each(|round| write!(f, "{round}"))
    }
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "round:")?;
        for (tenant, (node, era)) in self.subscriptions.iter().enumerate() {
            write!(f, " t{tenant} subscribes at node {node} ({era})")?;
        }
        writeln!(f, "; {}", self.fault)?;
        self.steps.iter().try_for_each(|step| writeln!(f, "  {step}"))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Step { number, tenant, agent, node, era, action } = self;
        write!(f, "{number}: t{tenant} {} at node {node} ({era}): {action}", agent.name())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::None => write!(f, "no fault"),
            Fault::Kill { node, after_us } => write!(f, "node {node} is killed after {after_us} µs"),
            Fault::KillOnNotification { node } => {
                write!(f, "node {node} is killed when it sends a notification")
            }
            Fault::Pause { node, after_us, for_ms } => {
                write!(f, "node {node} is paused after {after_us} µs for {for_ms} ms")
            }
            Fault::HoldLock { tenant, for_ms } => {
                write!(f, "the commit lock of t{tenant} is held for {for_ms} ms")
            }
            Fault::DropConnections { after_us } => {
                write!(f, "the database drops every connection after {after_us} µs")
            }
        }
    }
}

impl fmt::Display for Era {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Era::Modern => "modern",
            Era::Legacy => "legacy",
        })
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Backend::Sqlite => "sqlite",
            Backend::Postgres => "postgres",
        })
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Action::CreateTable(table) => write!(f, "create table {table}"),
            Action::UpdateTable(table) => write!(f, "update table {table}"),
            Action::AddField(table) => write!(f, "add a field to table {table}"),
            Action::DeleteTable(table) => write!(f, "delete table {table}"),
            Action::CreateRow(table, row) => write!(f, "create row {row} of table {table}"),
            Action::UpdateRow(table, row) => write!(f, "update row {row} of table {table}"),
            Action::DeleteRow(table, row) => write!(f, "delete row {row} of table {table}"),
            Action::ReadRows(table, path) => write!(f, "read the rows of table {table} ({path:?})"),
            Action::ReadRow(table, row) => write!(f, "read row {row} of table {table}"),
            Action::ReadTables => write!(f, "read the tables"),
            Action::ReadTable(table) => write!(f, "read table {table}"),
            Action::ReadEnvironment => write!(f, "read the environment"),
            Action::ReadContext => write!(f, "read the context"),
            Action::ListResources => write!(f, "list the resources"),
            Action::Watch { table, row, writer_node } => {
                write!(f, "watch the rows of table {table}, update row {row} at node {writer_node}, read")
            }
            Action::CrossTenantAccess { tenant, table, row } => {
                write!(f, "access row {row} of table {table} of t{tenant}")
            }
            Action::Revoke => write!(f, "revoke its token, try it, mint another"),
            Action::Quarantine => write!(f, "be quarantined, try its token, be restored"),
        }
    }
}
