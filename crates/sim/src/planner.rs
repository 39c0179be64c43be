//! The planner: from a seed to a schedule.
//!
//! The planner tracks the state that would exist without failures, so that most steps have a target. A step whose
//! target was lost in a kill is skipped when it runs. Within a round no object has two writers, so the order of
//! revisions of every row and table is known; reads may observe any of them.

use std::collections::BTreeSet;

use crate::plan::{Action, Agent, Backend, Era, Fault, Plan, ReadPath, Round, Step};
use crate::random::Random;

/// Maximum concurrent steps: enough for every pair of actions to meet, few enough for two cores.
const CONCURRENT_STEPS_MAX: u64 = 6;

/// Maximum tables per tenant, and maximum rows ever created in a table: one page shows all of them, so one read
/// checks them all.
const TABLES_PER_TENANT_MAX: usize = 4;
const ROWS_PER_TABLE_MAX: usize = 60;

/// The kinds of action that are weighted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ActionKind {
    CreateTable,
    UpdateTable,
    AddField,
    DeleteTable,
    CreateRow,
    UpdateRow,
    DeleteRow,
    ReadRows,
    ReadRow,
    ReadTables,
    ReadTable,
    ReadEnvironment,
    ReadContext,
    ListResources,
    Watch,
    CrossTenantAccess,
    Revoke,
    Quarantine,
}

/// The weight of each kind, in percent.
const WEIGHTS: [(u64, ActionKind); 18] = [
    (5, ActionKind::CreateTable),
    (5, ActionKind::UpdateTable),
    (3, ActionKind::AddField),
    (2, ActionKind::DeleteTable),
    (17, ActionKind::CreateRow),
    (18, ActionKind::UpdateRow),
    (4, ActionKind::DeleteRow),
    (12, ActionKind::ReadRows),
    (5, ActionKind::ReadRow),
    (5, ActionKind::ReadTables),
    (3, ActionKind::ReadTable),
    (3, ActionKind::ReadEnvironment),
    (1, ActionKind::ReadContext),
    (1, ActionKind::ListResources),
    (8, ActionKind::Watch),
    (5, ActionKind::CrossTenantAccess),
    (2, ActionKind::Revoke),
    (1, ActionKind::Quarantine),
];

/// Plans `steps` steps.
pub fn plan(seed: u64, steps: usize, backend: Backend) -> Plan {
    let mut random = Random::new(seed);
    let tenant_count = 2 + random.index(2);
    let mut planner =
        Planner { random, backend, tenants: vec![PlannedTenant::default(); tenant_count], next_step: 1 };
    let mut rounds = vec![planner.plan_first_round()];
    while planner.next_step <= steps {
        let remaining_steps = steps + 1 - planner.next_step;
        rounds.push(planner.plan_round(remaining_steps));
    }
    Plan { seed, tenants: tenant_count, rounds }
}

/// A tenant as it would be without failures.
#[derive(Clone, Debug, Default)]
struct PlannedTenant {
    next_table: usize,
    tables: Vec<PlannedTable>,
}

#[derive(Clone, Debug)]
struct PlannedTable {
    number: usize,
    next_row: usize,
    rows: Vec<usize>,
}

/// The objects that the steps of a round use.
#[derive(Default)]
struct Reservations {
    /// Tables that have a writer of their own.
    tables: BTreeSet<(usize, usize)>,
    /// Tables of which rows or fields are written.
    partial_tables: BTreeSet<(usize, usize)>,
    rows: BTreeSet<(usize, usize, usize)>,
    credentials: BTreeSet<(usize, Agent)>,
}

struct Planner {
    random: Random,
    backend: Backend,
    tenants: Vec<PlannedTenant>,
    next_step: usize,
}

impl Planner {
    /// Every tenant creates a table, under the same name and concurrently.
    fn plan_first_round(&mut self) -> Round {
        let steps = (0..self.tenants.len())
            .map(|tenant| {
                let table = self.add_table(tenant);
                self.new_step(tenant, Agent::Writer, Action::CreateTable(table))
            })
            .collect();
        Round { fault: Fault::None, steps, subscriptions: self.random_subscriptions() }
    }

    /// Plans a round of at most `max_steps` steps.
    fn plan_round(&mut self, max_steps: usize) -> Round {
        let mut fault = self.random_fault();
        let mut reservations = Reservations::default();
        let mut steps = Vec::new();
        if let Fault::KillOnNotification { node } = fault {
            match self.watch_before_kill(node, &mut reservations) {
                Some(step) => steps.push(step),
                None => fault = Fault::None,
            }
        }
        let target_len = max_steps.min(1 + self.random.below(CONCURRENT_STEPS_MAX) as usize);
        // Not every choice is possible; a round that cannot be filled is smaller.
        for _ in 0..4 * target_len {
            if steps.len() == target_len {
                break;
            }
            let tenant = self.random.index(self.tenants.len());
            let Some(kind) = self.random.weighted(&WEIGHTS) else { continue };
            if let Some(action) = self.choose_action(kind, tenant, &mut reservations) {
                let agent = self.choose_agent(action);
                if matches!(action, Action::Revoke | Action::Quarantine)
                    && !reservations.credentials.insert((tenant, agent))
                {
                    continue;
                }
                steps.push(self.new_step(tenant, agent, action));
            }
        }
        Round { fault, steps, subscriptions: self.random_subscriptions() }
    }

    /// A watch at the node that gets the write: its stream is the first to report the change, in time for a kill.
    fn watch_before_kill(&mut self, node: usize, reservations: &mut Reservations) -> Option<Step> {
        let tenant = self.random.index(self.tenants.len());
        let Action::Watch { table, row, .. } = self.choose_action(ActionKind::Watch, tenant, reservations)?
        else {
            return None;
        };
        let action = Action::Watch { table, row, writer_node: node };
        let agent = self.choose_agent(action);
        Some(Step { node, era: Era::Modern, ..self.new_step(tenant, agent, action) })
    }

    fn random_subscriptions(&mut self) -> Vec<(usize, Era)> {
        (0..self.tenants.len()).map(|_| (self.random.index(2), self.random_era())).collect()
    }

    fn random_era(&mut self) -> Era {
        if self.random.percent(50) { Era::Modern } else { Era::Legacy }
    }

    fn new_step(&mut self, tenant: usize, agent: Agent, action: Action) -> Step {
        let number = self.next_step;
        self.next_step += 1;
        Step { number, tenant, agent, node: self.random.index(2), era: self.random_era(), action }
    }

    fn random_fault(&mut self) -> Fault {
        let node = self.random.index(2);
        // Most calls take 1 to 10 ms; the faults happen during them.
        let after_us = self.random.below(12_000);
        let for_ms = 20 + self.random.below(400);
        let tenant = self.random.index(self.tenants.len());
        match self.random.below(100) {
            0..12 => Fault::Kill { node, after_us },
            12..24 => Fault::Pause { node, after_us, for_ms },
            24..36 => Fault::HoldLock { tenant, for_ms },
            36..42 => Fault::KillOnNotification { node },
            42..48 if self.backend == Backend::Postgres => Fault::DropConnections { after_us },
            _ => Fault::None,
        }
    }

    /// Mostly an agent that has the scope, sometimes one that has not.
    fn choose_agent(&mut self, action: Action) -> Agent {
        let random_agent = Agent::ALL[self.random.index(Agent::ALL.len())];
        match action {
            Action::Revoke | Action::Quarantine => random_agent,
            // Later steps need the created objects.
            Action::CreateTable(_) | Action::CreateRow(..) => Agent::Writer,
            Action::Watch { .. } | Action::CrossTenantAccess { .. } => {
                if self.random.percent(50) {
                    Agent::Writer
                } else {
                    Agent::Reader
                }
            }
            _ if action.is_allowed_for(random_agent) || self.random.percent(8) => random_agent,
            _ => Agent::Writer,
        }
    }

    fn add_table(&mut self, tenant: usize) -> usize {
        let tenant = &mut self.tenants[tenant];
        let number = tenant.next_table;
        tenant.next_table += 1;
        tenant.tables.push(PlannedTable { number, next_row: 0, rows: Vec::new() });
        number
    }

    /// An action of this kind, if a target exists that this round does not use yet.
    fn choose_action(
        &mut self,
        kind: ActionKind,
        tenant: usize,
        reservations: &mut Reservations,
    ) -> Option<Action> {
        match kind {
            ActionKind::ReadTables => return Some(Action::ReadTables),
            ActionKind::ReadEnvironment => return Some(Action::ReadEnvironment),
            ActionKind::ReadContext => return Some(Action::ReadContext),
            ActionKind::ListResources => return Some(Action::ListResources),
            ActionKind::Revoke => return Some(Action::Revoke),
            ActionKind::Quarantine => return Some(Action::Quarantine),
            ActionKind::CreateTable => {
                if self.tenants[tenant].tables.len() >= TABLES_PER_TENANT_MAX {
                    return None;
                }
                let table = self.add_table(tenant);
                reservations.tables.insert((tenant, table));
                return Some(Action::CreateTable(table));
            }
            ActionKind::CrossTenantAccess => return self.cross_tenant_access(tenant),
            _ => {}
        }
        let index = self.random.index(self.tenants[tenant].tables.len());
        let table = self.tenants[tenant].tables.get(index)?.clone();
        let number = table.number;
        match kind {
            ActionKind::ReadRows => {
                let paths = [ReadPath::Resource, ReadPath::Resource, ReadPath::Tool, ReadPath::Http];
                return Some(Action::ReadRows(number, paths[self.random.index(paths.len())]));
            }
            ActionKind::ReadTable => return Some(Action::ReadTable(number)),
            ActionKind::ReadRow => {
                return self.random_row(&table).map(|row| Action::ReadRow(number, row));
            }
            _ => {}
        }
        if reservations.tables.contains(&(tenant, number)) {
            return None;
        }
        let is_partly_reserved = reservations.partial_tables.contains(&(tenant, number));
        match kind {
            ActionKind::UpdateTable | ActionKind::AddField | ActionKind::DeleteTable | ActionKind::Watch
                if is_partly_reserved =>
            {
                None
            }
            ActionKind::UpdateTable => {
                reservations.tables.insert((tenant, number));
                Some(Action::UpdateTable(number))
            }
            // Rows may be written while the schema changes, to test that race.
            ActionKind::AddField => {
                reservations.partial_tables.insert((tenant, number)).then_some(Action::AddField(number))
            }
            ActionKind::DeleteTable => {
                reservations.tables.insert((tenant, number));
                self.tenants[tenant].tables.retain(|candidate| candidate.number != number);
                Some(Action::DeleteTable(number))
            }
            ActionKind::Watch => {
                let row = self.random_row(&table)?;
                reservations.tables.insert((tenant, number));
                Some(Action::Watch { table: number, row, writer_node: self.random.index(2) })
            }
            ActionKind::CreateRow if table.next_row < ROWS_PER_TABLE_MAX => {
                let row = table.next_row;
                let planned_table = self.tenants[tenant].tables.get_mut(index)?;
                planned_table.next_row += 1;
                planned_table.rows.push(row);
                reservations.partial_tables.insert((tenant, number));
                reservations.rows.insert((tenant, number, row));
                Some(Action::CreateRow(number, row))
            }
            ActionKind::UpdateRow | ActionKind::DeleteRow => {
                let row = self.random_row(&table)?;
                if !reservations.rows.insert((tenant, number, row)) {
                    return None;
                }
                reservations.partial_tables.insert((tenant, number));
                if kind == ActionKind::UpdateRow {
                    return Some(Action::UpdateRow(number, row));
                }
                let planned_table = self.tenants[tenant].tables.get_mut(index)?;
                planned_table.rows.retain(|candidate| *candidate != row);
                Some(Action::DeleteRow(number, row))
            }
            _ => None,
        }
    }

    fn random_row(&mut self, table: &PlannedTable) -> Option<usize> {
        let index = self.random.index(table.rows.len());
        table.rows.get(index).copied()
    }

    fn cross_tenant_access(&mut self, tenant: usize) -> Option<Action> {
        let other_tenant = (tenant + 1 + self.random.index(self.tenants.len() - 1)) % self.tenants.len();
        let index = self.random.index(self.tenants[other_tenant].tables.len());
        let table = self.tenants[other_tenant].tables.get(index)?.clone();
        let row = self.random_row(&table)?;
        Some(Action::CrossTenantAccess { tenant: other_tenant, table: table.number, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn same_seed_gives_same_schedule() {
        let text = |seed, backend| plan(seed, 300, backend).to_string();
        for seed in 0..20 {
            assert_eq!(text(seed, Backend::Sqlite), text(seed, Backend::Sqlite));
            assert_ne!(text(seed, Backend::Sqlite), text(seed + 1, Backend::Sqlite));
        }
        assert!(!text(3, Backend::Sqlite).contains("drops every connection"));
    }

    /// Every table and every row has one writer per round, so that the order of their states is known.
    #[test]
    fn each_object_has_one_writer_per_round() {
        for seed in 0..50 {
            for round in plan(seed, 300, Backend::Postgres).rounds {
                let (mut tables, mut parts) = (Vec::new(), Vec::new());
                for step in &round.steps {
                    let tenant = step.tenant;
                    match step.action {
                        Action::CreateTable(table)
                        | Action::UpdateTable(table)
                        | Action::DeleteTable(table)
                        | Action::Watch { table, .. } => tables.push((tenant, table)),
                        Action::AddField(table) => parts.push((tenant, table, None)),
                        Action::CreateRow(table, row)
                        | Action::UpdateRow(table, row)
                        | Action::DeleteRow(table, row) => parts.push((tenant, table, Some(row))),
                        _ => {}
                    }
                }
                let count = (tables.len(), parts.len());
                assert!(!parts.iter().any(|(tenant, table, _)| tables.contains(&(*tenant, *table))));
                tables.sort();
                tables.dedup();
                parts.sort();
                parts.dedup();
                assert_eq!(count, (tables.len(), parts.len()), "{round}");
            }
        }
    }

    #[test]
    fn plans_cover_every_action_and_fault() {
        let text: String = (0..5).map(|seed| plan(seed, 400, Backend::Postgres).to_string()).collect();
        for phrase in [
            "killed",
            "when it sends a notification",
            "is paused",
            "commit lock",
            "drops every connection",
            "create table",
            "update table",
            "add a field",
            "delete table",
            "create row",
            "update row",
            "delete row",
            "(Resource)",
            "(Tool)",
            "(Http)",
            "read row ",
            "read the tables",
            "read table",
            "read the environment",
            "read the context",
            "list the resources",
            "watch",
            "access row",
            "revoke its token",
            "be quarantined",
            "clerk",
            "legacy",
            "modern",
        ] {
            assert!(text.contains(phrase), "{phrase}");
        }
    }
}
