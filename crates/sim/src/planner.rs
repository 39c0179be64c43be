//! From a seed to a schedule.
//!
//! The planner knows what would be there if everything went well, so that most steps have something to act on; a step
//! whose row was lost in a kill is passed over when its time comes. Within a round nothing is written twice, so that the
//! order of every row's and every table's states is known; what merely reads may meet any of it.

use std::collections::BTreeSet;

use crate::plan::{Action, Agent, Backend, Era, Fault, Plan, Round, Step, Way};
use crate::random::Random;

/// Steps that run at the same time at most: enough for every pair of kinds to meet, few enough for two cores.
const STEPS_AT_ONCE: u64 = 6;

/// Tables of a tenant at a time, and rows of a table in all: a page shows all of them, so that one read checks them all.
const TABLES: usize = 4;
const ROWS: usize = 60;

/// Kinds of action, for their weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
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
    List,
    Watch,
    Trespass,
    Revoke,
    Quarantine,
}

/// How often each kind is chosen, of a hundred.
const WEIGHTS: [(u64, Kind); 18] = [
    (5, Kind::CreateTable),
    (5, Kind::UpdateTable),
    (3, Kind::AddField),
    (2, Kind::DeleteTable),
    (17, Kind::CreateRow),
    (18, Kind::UpdateRow),
    (4, Kind::DeleteRow),
    (12, Kind::ReadRows),
    (5, Kind::ReadRow),
    (5, Kind::ReadTables),
    (3, Kind::ReadTable),
    (3, Kind::ReadEnvironment),
    (1, Kind::ReadContext),
    (1, Kind::List),
    (8, Kind::Watch),
    (5, Kind::Trespass),
    (2, Kind::Revoke),
    (1, Kind::Quarantine),
];

/// Plans so many steps.
pub fn plan(seed: u64, steps: usize, backend: Backend) -> Plan {
    let mut random = Random::new(seed);
    let tenants = 2 + random.place(2);
    let mut planner = Planner { random, backend, tenants: vec![Tenant::default(); tenants], next_step: 1 };
    let mut rounds = vec![planner.first_round()];
    while planner.next_step <= steps {
        let left = steps + 1 - planner.next_step;
        rounds.push(planner.round(left));
    }
    Plan { seed, tenants, rounds }
}

/// A tenant as it would be.
#[derive(Clone, Debug, Default)]
struct Tenant {
    next_table: usize,
    tables: Vec<Table>,
}

#[derive(Clone, Debug)]
struct Table {
    number: usize,
    next_row: usize,
    rows: Vec<usize>,
}

/// What a round has already laid hands on.
#[derive(Default)]
struct Taken {
    /// Tables that nobody else may write to.
    whole: BTreeSet<(usize, usize)>,
    /// Tables that are written to, though not as a whole.
    partly: BTreeSet<(usize, usize)>,
    rows: BTreeSet<(usize, usize, usize)>,
    credentials: BTreeSet<(usize, Agent)>,
}

struct Planner {
    random: Random,
    backend: Backend,
    tenants: Vec<Tenant>,
    next_step: usize,
}

impl Planner {
    /// Every tenant gets a table, under the same name and at the same time.
    fn first_round(&mut self) -> Round {
        let steps = (0..self.tenants.len())
            .map(|tenant| {
                let table = self.new_table(tenant);
                self.step(tenant, Agent::Writer, Action::CreateTable(table))
            })
            .collect();
        Round { fault: Fault::None, steps, listening: self.listening() }
    }

    /// A round of at most so many steps.
    fn round(&mut self, most: usize) -> Round {
        let mut fault = self.fault();
        let mut taken = Taken::default();
        let mut steps = Vec::new();
        if let Fault::KillOnNotice { node } = fault {
            match self.doomed_watch(node, &mut taken) {
                Some(step) => steps.push(step),
                None => fault = Fault::None,
            }
        }
        let wanted = most.min(1 + self.random.below(STEPS_AT_ONCE) as usize);
        // Not every choice fits; a round that cannot be filled is smaller.
        for _ in 0..4 * wanted {
            if steps.len() == wanted {
                break;
            }
            let tenant = self.random.place(self.tenants.len());
            let Some(kind) = self.random.weighted(&WEIGHTS) else { continue };
            if let Some(action) = self.action(kind, tenant, &mut taken) {
                let agent = self.agent(action);
                if matches!(action, Action::Revoke | Action::Quarantine)
                    && !taken.credentials.insert((tenant, agent))
                {
                    continue;
                }
                steps.push(self.step(tenant, agent, action));
            }
        }
        Round { fault, steps, listening: self.listening() }
    }

    /// A watch at the process that is written to: of all streams its own hears first of a change, in time for a kill.
    fn doomed_watch(&mut self, node: usize, taken: &mut Taken) -> Option<Step> {
        let tenant = self.random.place(self.tenants.len());
        let Action::Watch { table, row, .. } = self.action(Kind::Watch, tenant, taken)? else { return None };
        let action = Action::Watch { table, row, writer: node };
        let agent = self.agent(action);
        Some(Step { node, era: Era::Modern, ..self.step(tenant, agent, action) })
    }

    fn listening(&mut self) -> Vec<(usize, Era)> {
        (0..self.tenants.len()).map(|_| (self.random.place(2), self.era())).collect()
    }

    fn era(&mut self) -> Era {
        if self.random.chance(50) { Era::Modern } else { Era::Legacy }
    }

    fn step(&mut self, tenant: usize, agent: Agent, action: Action) -> Step {
        let number = self.next_step;
        self.next_step += 1;
        Step { number, tenant, agent, node: self.random.place(2), era: self.era(), action }
    }

    fn fault(&mut self) -> Fault {
        let node = self.random.place(2);
        // Most calls take one to ten milliseconds; the moments lie among them.
        let after_us = self.random.below(12_000);
        let for_ms = 20 + self.random.below(400);
        let tenant = self.random.place(self.tenants.len());
        match self.random.below(100) {
            0..12 => Fault::Kill { node, after_us },
            12..24 => Fault::Stop { node, after_us, for_ms },
            24..36 => Fault::Hold { tenant, for_ms },
            36..42 => Fault::KillOnNotice { node },
            42..48 if self.backend == Backend::Postgres => Fault::Sever { after_us },
            _ => Fault::None,
        }
    }

    /// Mostly whoever may, sometimes one who may not.
    fn agent(&mut self, action: Action) -> Agent {
        let drawn = Agent::ALL[self.random.place(Agent::ALL.len())];
        match action {
            Action::Revoke | Action::Quarantine => drawn,
            // What is not made, later steps would miss.
            Action::CreateTable(_) | Action::CreateRow(..) => Agent::Writer,
            Action::Watch { .. } | Action::Trespass { .. } => {
                if self.random.chance(50) {
                    Agent::Writer
                } else {
                    Agent::Reader
                }
            }
            _ if action.is_open_to(drawn) || self.random.chance(8) => drawn,
            _ => Agent::Writer,
        }
    }

    fn new_table(&mut self, tenant: usize) -> usize {
        let tenant = &mut self.tenants[tenant];
        let number = tenant.next_table;
        tenant.next_table += 1;
        tenant.tables.push(Table { number, next_row: 0, rows: Vec::new() });
        number
    }

    /// An action of that kind, if there is something to act on that this round has not taken yet.
    fn action(&mut self, kind: Kind, tenant: usize, taken: &mut Taken) -> Option<Action> {
        match kind {
            Kind::ReadTables => return Some(Action::ReadTables),
            Kind::ReadEnvironment => return Some(Action::ReadEnvironment),
            Kind::ReadContext => return Some(Action::ReadContext),
            Kind::List => return Some(Action::List),
            Kind::Revoke => return Some(Action::Revoke),
            Kind::Quarantine => return Some(Action::Quarantine),
            Kind::CreateTable => {
                if self.tenants[tenant].tables.len() >= TABLES {
                    return None;
                }
                let table = self.new_table(tenant);
                taken.whole.insert((tenant, table));
                return Some(Action::CreateTable(table));
            }
            Kind::Trespass => return self.trespass(tenant),
            _ => {}
        }
        let place = self.random.place(self.tenants[tenant].tables.len());
        let table = self.tenants[tenant].tables.get(place)?.clone();
        let number = table.number;
        match kind {
            Kind::ReadRows => {
                let ways = [Way::Resource, Way::Resource, Way::Tool, Way::Plain];
                return Some(Action::ReadRows(number, ways[self.random.place(ways.len())]));
            }
            Kind::ReadTable => return Some(Action::ReadTable(number)),
            Kind::ReadRow => {
                return self.some_row(&table).map(|row| Action::ReadRow(number, row));
            }
            _ => {}
        }
        if taken.whole.contains(&(tenant, number)) {
            return None;
        }
        let rows_are_taken = taken.partly.contains(&(tenant, number));
        match kind {
            Kind::UpdateTable | Kind::AddField | Kind::DeleteTable | Kind::Watch if rows_are_taken => None,
            Kind::UpdateTable => {
                taken.whole.insert((tenant, number));
                Some(Action::UpdateTable(number))
            }
            // Rows may be written while the schema changes: that race is worth having.
            Kind::AddField => taken.partly.insert((tenant, number)).then_some(Action::AddField(number)),
            Kind::DeleteTable => {
                taken.whole.insert((tenant, number));
                self.tenants[tenant].tables.retain(|known| known.number != number);
                Some(Action::DeleteTable(number))
            }
            Kind::Watch => {
                let row = self.some_row(&table)?;
                taken.whole.insert((tenant, number));
                Some(Action::Watch { table: number, row, writer: self.random.place(2) })
            }
            Kind::CreateRow if table.next_row < ROWS => {
                let row = table.next_row;
                let known = self.tenants[tenant].tables.get_mut(place)?;
                known.next_row += 1;
                known.rows.push(row);
                taken.partly.insert((tenant, number));
                taken.rows.insert((tenant, number, row));
                Some(Action::CreateRow(number, row))
            }
            Kind::UpdateRow | Kind::DeleteRow => {
                let row = self.some_row(&table)?;
                if !taken.rows.insert((tenant, number, row)) {
                    return None;
                }
                taken.partly.insert((tenant, number));
                if kind == Kind::UpdateRow {
                    return Some(Action::UpdateRow(number, row));
                }
                let known = self.tenants[tenant].tables.get_mut(place)?;
                known.rows.retain(|known| *known != row);
                Some(Action::DeleteRow(number, row))
            }
            _ => None,
        }
    }

    fn some_row(&mut self, table: &Table) -> Option<usize> {
        let place = self.random.place(table.rows.len());
        table.rows.get(place).copied()
    }

    fn trespass(&mut self, tenant: usize) -> Option<Action> {
        let other = (tenant + 1 + self.random.place(self.tenants.len() - 1)) % self.tenants.len();
        let place = self.random.place(self.tenants[other].tables.len());
        let table = self.tenants[other].tables.get(place)?.clone();
        let row = self.some_row(&table)?;
        Some(Action::Trespass { tenant: other, table: table.number, row })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_schedule() {
        let text = |seed, backend| plan(seed, 300, backend).to_string();
        for seed in 0..20 {
            assert_eq!(text(seed, Backend::Sqlite), text(seed, Backend::Sqlite));
            assert_ne!(text(seed, Backend::Sqlite), text(seed + 1, Backend::Sqlite));
        }
        assert!(!text(3, Backend::Sqlite).contains("drops every connection"));
    }

    /// The whole of every table and every row has one writer a round, so that the order of their states is known.
    #[test]
    fn nothing_is_written_twice_in_a_round() {
        for seed in 0..50 {
            for round in plan(seed, 300, Backend::Postgres).rounds {
                let (mut whole, mut parts) = (Vec::new(), Vec::new());
                for step in &round.steps {
                    let tenant = step.tenant;
                    match step.action {
                        Action::CreateTable(table)
                        | Action::UpdateTable(table)
                        | Action::DeleteTable(table)
                        | Action::Watch { table, .. } => whole.push((tenant, table)),
                        Action::AddField(table) => parts.push((tenant, table, None)),
                        Action::CreateRow(table, row)
                        | Action::UpdateRow(table, row)
                        | Action::DeleteRow(table, row) => parts.push((tenant, table, Some(row))),
                        _ => {}
                    }
                }
                let count = (whole.len(), parts.len());
                assert!(!parts.iter().any(|(tenant, table, _)| whole.contains(&(*tenant, *table))));
                whole.sort();
                whole.dedup();
                parts.sort();
                parts.dedup();
                assert_eq!(count, (whole.len(), parts.len()), "{round}");
            }
        }
    }

    #[test]
    fn everything_is_planned_sooner_or_later() {
        let text: String = (0..5).map(|seed| plan(seed, 400, Backend::Postgres).to_string()).collect();
        for wanted in [
            "killed",
            "once it has told",
            "stands still",
            "held up",
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
            "(Plain)",
            "read row ",
            "read the tables",
            "read table",
            "read the environment",
            "read the context",
            "list the resources",
            "watch",
            "reach for",
            "lose its token",
            "be kept out",
            "clerk",
            "legacy",
            "modern",
        ] {
            assert!(text.contains(wanted), "{wanted}");
        }
    }
}
