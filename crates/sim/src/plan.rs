//! The schedule: what is done, by whom, through which process, and what goes wrong meanwhile.
//!
//! A schedule is text before it is anything else: one line a step, and its hash tells whether two runs did the same. It
//! names tables and rows by numbers of its own, since their ids are only known once a server has made them.

use std::fmt;

/// Which database is under the processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Backend {
    /// Two processes on one data folder.
    Sqlite,
    /// Two nodes on one server, with one key.
    Postgres,
}

/// A whole run.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where it came from.
    pub seed: u64,
    /// How many tenants there are.
    pub tenants: usize,
    /// What happens, in order.
    pub rounds: Vec<Round>,
}

/// Steps that run at the same time, and what goes wrong meanwhile.
#[derive(Clone, Debug)]
pub struct Round {
    /// What goes wrong.
    pub fault: Fault,
    /// What is done.
    pub steps: Vec<Step>,
    /// Where each tenant's standing subscription is opened, if it must be opened anew.
    pub subscriptions: Vec<(usize, Era)>,
}

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Nothing.
    None,
    /// A process is killed without warning so long after the steps began, and started again after the round.
    Kill {
        /// Which.
        node: usize,
        /// When.
        after_us: u64,
    },
    /// A process is killed the moment a watcher hears of a change that it was sent: what was told of must be there.
    KillOnNotification {
        /// Which.
        node: usize,
    },
    /// A process stands still for a while: it neither answers nor hears of anything.
    Pause {
        /// Which.
        node: usize,
        /// When.
        after_us: u64,
        /// How long.
        for_ms: u64,
    },
    /// Somebody holds the lock that every commit needs.
    HoldLock {
        /// Whose head, where each tenant has its own lock.
        tenant: usize,
        /// How long.
        for_ms: u64,
    },
    /// Every connection to the database breaks, those that look for changes among them. PostgreSQL only.
    DropConnections {
        /// When.
        after_us: u64,
    },
}

/// One thing that is done.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// Its number, from 1.
    pub number: usize,
    /// For which tenant.
    pub tenant: usize,
    /// By whom.
    pub agent: Agent,
    /// Through which process.
    pub node: usize,
    /// In which era of the protocol.
    pub era: Era,
    /// What.
    pub action: Action,
}

/// Who acts for a tenant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agent {
    /// May do everything with tables and rows.
    Writer,
    /// May read tables and rows.
    Reader,
    /// May read down to projects, not to tables.
    Limited,
}

/// Which protocol a request speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Era {
    /// 2026-07-28.
    Modern,
    /// 2025-11-25, without a session where none is needed.
    Legacy,
}

/// By which way rows are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadPath {
    /// `resources/read`.
    Resource,
    /// A tool.
    Tool,
    /// `GET /v1/resources`.
    Plain,
}

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Makes a table.
    CreateTable(usize),
    /// Changes a table's description.
    UpdateTable(usize),
    /// Adds a field to a table.
    AddField(usize),
    /// Deletes a table with its rows.
    DeleteTable(usize),
    /// Makes a row of a table.
    CreateRow(usize, usize),
    /// Changes a row of a table.
    UpdateRow(usize, usize),
    /// Deletes a row of a table.
    DeleteRow(usize, usize),
    /// Reads the rows of a table.
    ReadRows(usize, ReadPath),
    /// Reads one row of a table.
    ReadRow(usize, usize),
    /// Reads the list of tables.
    ReadTables,
    /// Reads one table, with its count of rows.
    ReadTable(usize),
    /// Reads the environment, with its count of tables.
    ReadEnvironment,
    /// Reads the context of the whole tenant.
    ReadContext,
    /// Lists what can be read.
    ListResources,
    /// Subscribes to a table's rows, then changes one through that process, and reads once it has heard of it.
    Watch {
        /// The table.
        table: usize,
        /// The row.
        row: usize,
        /// The process that is written to.
        writer_node: usize,
    },
    /// Asks for another tenant's table and row, to read and to change them.
    CrossTenantAccess {
        /// Whose.
        tenant: usize,
        /// The table.
        table: usize,
        /// The row.
        row: usize,
    },
    /// Withdraws the agent's token, tries it everywhere, and gives the agent another.
    Revoke,
    /// Keeps the agent out, tries its token everywhere, and lets it in again.
    Quarantine,
}

impl Fault {
    /// The process that is killed, if one is.
    pub fn killed_node(self) -> Option<usize> {
        match self {
            Fault::Kill { node, .. } | Fault::KillOnNotification { node } => Some(node),
            _ => None,
        }
    }
}

impl Agent {
    /// All of them.
    pub const ALL: [Agent; 3] = [Agent::Writer, Agent::Reader, Agent::Limited];

    /// Its name, which is its subject.
    pub fn name(self) -> &'static str {
        match self {
            Agent::Writer => "writer",
            Agent::Reader => "reader",
            Agent::Limited => "clerk",
        }
    }

    /// What it may do.
    pub fn scopes(self) -> &'static str {
        match self {
            Agent::Writer => "organization:read project:read environment:read table:* table:data:*",
            Agent::Reader => "organization:read project:read environment:read table:read table:data:read",
            Agent::Limited => "organization:read project:read",
        }
    }
}

impl Action {
    /// Whether an agent has the scope for it.
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
    /// How many steps there are.
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
            write!(f, " t{tenant} listens at node {node} ({era})")?;
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
            Fault::None => write!(f, "nothing goes wrong"),
            Fault::Kill { node, after_us } => write!(f, "node {node} is killed after {after_us} µs"),
            Fault::KillOnNotification { node } => {
                write!(f, "node {node} is killed once it has told of a change")
            }
            Fault::Pause { node, after_us, for_ms } => {
                write!(f, "node {node} stands still after {after_us} µs for {for_ms} ms")
            }
            Fault::HoldLock { tenant, for_ms } => {
                write!(f, "commits of t{tenant} are held up for {for_ms} ms")
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
                write!(f, "reach for row {row} of table {table} of t{tenant}")
            }
            Action::Revoke => write!(f, "lose its token, try it, get another"),
            Action::Quarantine => write!(f, "be kept out, try it, be let in again"),
        }
    }
}
