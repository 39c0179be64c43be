//! A run: the tenants are made, the rounds are played, and in the end everything is looked at once more.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use crate::failure::Failure;
use crate::listener::{Listener, Waited};
use crate::model::Data;
use crate::node::Node;
use crate::place::Place;
use crate::plan::{Action, Agent, Era, Fault, Plan, Round};
use crate::random::Random;
use crate::stage::Stage;
use crate::trail;
use crate::world::{ENVIRONMENT, ORGANIZATION, PROJECT, TABLES_URI, Tenant, Who, World};

/// What a run did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Steps of the schedule.
    pub steps: usize,
    /// Steps that had nothing to act on.
    pub passed_over: usize,
    /// Calls that were answered.
    pub answered: usize,
    /// Calls that were not.
    pub unanswered: usize,
    /// Notifications after which a read was checked.
    pub notices_followed: usize,
    /// Kills of a node.
    pub kills: usize,
    /// Audit events that were checked.
    pub events: usize,
}

/// Plays a plan.
pub fn run(place: &Place, plan: &Plan, verbose: bool) -> Result<Summary, Failure> {
    let world = Mutex::new(World::default());
    let mut nodes = [Node::start(place, 0)?, Node::start(place, 1)?];
    make_tenants(&Stage { place, nodes: &nodes, world: &world, fault: Fault::None }, plan)?;
    let mut standing: Vec<Option<Standing>> = (0..plan.tenants).map(|_| None).collect();
    for round in &plan.rounds {
        if verbose {
            print!("{round}");
        }
        play(place, &mut nodes, &world, round, &mut standing)?;
    }
    standing.clear();
    finish(place, &mut nodes, &world, plan)
}

/// A tenant's standing subscription to its list of tables.
struct Standing {
    listener: Listener,
    node: usize,
}

/// The agent that keeps the standing subscription.
const LISTENING: Agent = Agent::Reader;

fn make_tenants(stage: &Stage<'_>, plan: &Plan) -> Result<(), Failure> {
    // Another stream of numbers than the planner's, so that markers are no part of the schedule.
    let mut random = Random::new(plan.seed ^ 0x6d61_726b);
    for number in 0..plan.tenants {
        let (name, marker) = (format!("t{number}"), format!("mark{number}x{:016x}", random.next()));
        stage.place.run(0, &["tenant", "add", &name])?;
        let lines = [
            json!({"kind": "organization", "id": ORGANIZATION, "name": format!("organization {marker}")}),
            json!({"kind": "project", "id": PROJECT, "organizationId": ORGANIZATION,
                "name": format!("project {marker}")}),
            json!({"kind": "environment", "id": ENVIRONMENT, "projectId": PROJECT, "name": "dev"}),
        ];
        let file = stage.place.folder().join(format!("{name}.load.jsonl"));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).map_err(|error| Failure::broken("writing a file", error))?;
        stage.place.run(0, &["bkend", "load", &file.display().to_string(), "--tenant", &name])?;
        let data = Data { marker, tables: BTreeMap::new() };
        stage.world().tenants.push(Tenant {
            name,
            data,
            credentials: BTreeMap::new(),
            ledger: Default::default(),
            last_table_change: None,
        });
        for agent in Agent::ALL {
            stage.mint(Who { tenant: number, agent })?;
        }
    }
    Ok(())
}

fn play(
    place: &Place,
    nodes: &mut [Node; 2],
    world: &Mutex<World>,
    round: &Round,
    standing: &mut [Option<Standing>],
) -> Result<(), Failure> {
    let first = round.steps.first().map_or(0, |step| step.number);
    let quiet = Stage { place, nodes, world, fault: Fault::None };
    for (tenant, known) in standing.iter_mut().enumerate() {
        if known.is_none() {
            let (node, era) = round.listening[tenant];
            let who = Who { tenant, agent: LISTENING };
            let listener = quiet.listen(who, node, era, TABLES_URI).map_err(|failure| failure.at(first))?;
            let listener = listener.map_err(|answer| {
                Failure::new("a subscription to the tables", format!("{answer:?}")).at(first)
            })?;
            *known = Some(Standing { listener, node });
        }
        quiet.with(tenant, |tenant| tenant.last_table_change = None);
    }
    let stage = Stage { place, nodes, world, fault: round.fault };
    let outcomes: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
        let stage = &stage;
        let fault = scope.spawn(move || strike(stage).map_err(|failure| failure.at(first)));
        let steps: Vec<_> = round.steps.iter().map(|step| scope.spawn(move || stage.perform(step))).collect();
        let joined = steps.into_iter().chain([fault]).map(|thread| {
            thread.join().unwrap_or_else(|_| Err(Failure::broken("a step's thread", "it panicked")))
        });
        joined.collect()
    });
    outcomes.into_iter().collect::<Result<(), Failure>>()?;
    let severed = stage.is_severed();
    if let Some(node) = round.fault.killed() {
        nodes[node] = Node::start(place, node).map_err(|failure| failure.at(first))?;
    }
    let stage = Stage { place, nodes, world, fault: if severed { round.fault } else { Fault::None } };
    settle(&stage, round).map_err(|failure| failure.at(first))?;
    check_standing(&stage, round, standing).map_err(|failure| failure.at(first))
}

/// Lets happen what goes wrong.
fn strike(stage: &Stage<'_>) -> Result<(), Failure> {
    let pause = |after_us| std::thread::sleep(Duration::from_micros(after_us));
    match stage.fault {
        // The watcher does it, when it hears.
        Fault::None | Fault::KillOnNotice { .. } => Ok(()),
        Fault::Kill { node, after_us } => {
            pause(after_us);
            stage.nodes[node].kill();
            Ok(())
        }
        Fault::Stop { node, after_us, for_ms } => {
            pause(after_us);
            stage.nodes[node].stop(Duration::from_millis(for_ms))
        }
        Fault::Hold { tenant, for_ms } => {
            let name = stage.with(tenant, |tenant| tenant.name.clone());
            stage.place.database.hold(&name, Duration::from_millis(for_ms))
        }
        Fault::Sever { after_us } => {
            pause(after_us);
            stage.place.database.sever()
        }
    }
}

/// After a round in which something broke: waits until nothing is under way, then looks at everything through both nodes,
/// and what nobody saw has not happened.
fn settle(stage: &Stage<'_>, round: &Round) -> Result<(), Failure> {
    let is_open = stage.world().tenants.iter().any(|tenant| tenant.data.is_open());
    if !is_open && round.fault.killed().is_none() && !stage.is_severed() {
        return Ok(());
    }
    stage.place.database.drain()?;
    survey_all(stage)?;
    stage.world().tenants.iter_mut().for_each(|tenant| tenant.data.settle());
    Ok(())
}

fn survey_all(stage: &Stage<'_>) -> Result<(), Failure> {
    let tenants = stage.world().tenants.len();
    for tenant in 0..tenants {
        for node in 0..2 {
            // Either node in either era, by turns.
            let era = if (tenant + node) % 2 == 0 { Era::Modern } else { Era::Legacy };
            stage.survey(tenant, node, era)?;
        }
    }
    Ok(())
}

/// Every standing subscription has heard of the last change, unless it had a reason to end.
fn check_standing(
    stage: &Stage<'_>,
    round: &Round,
    standing: &mut [Option<Standing>],
) -> Result<(), Failure> {
    for (tenant, known) in standing.iter_mut().enumerate() {
        let Some(Standing { listener, node }) = known else { continue };
        stage.refuse_strange_messages(tenant, listener, TABLES_URI)?;
        let was_withdrawn = round.steps.iter().any(|step| {
            step.tenant == tenant
                && step.agent == LISTENING
                && matches!(step.action, Action::Revoke | Action::Quarantine)
        });
        if round.fault.killed() == Some(*node) {
            *known = None;
            continue;
        }
        if was_withdrawn {
            if !listener.wait_for_end() {
                return Err(Failure::new("a stream ends when its token is withdrawn", "it lasts"));
            }
            *known = None;
            continue;
        }
        let Some(changed) = stage.with(tenant, |tenant| tenant.last_table_change) else { continue };
        let waited = listener.wait(TABLES_URI, changed, || false);
        if waited != Waited::Heard {
            return Err(Failure::new(
                format!("t{tenant} hears at node {node} that its list of tables has changed"),
                format!("{waited:?}"),
            ));
        }
    }
    Ok(())
}

/// Looks at everything once more: as it is, after a restart of both nodes, and in the audit trail.
fn finish(
    place: &Place,
    nodes: &mut [Node; 2],
    world: &Mutex<World>,
    plan: &Plan,
) -> Result<Summary, Failure> {
    survey_all(&Stage { place, nodes, world, fault: Fault::None })?;
    for node in nodes.iter() {
        node.end()?;
    }
    *nodes = [Node::start(place, 0)?, Node::start(place, 1)?];
    let stage = Stage { place, nodes, world, fault: Fault::None };
    survey_all(&stage)?;
    let world = stage.world();
    let kills = plan.rounds.iter().filter(|round| round.fault.killed().is_some()).count();
    let mut summary = Summary {
        steps: plan.steps(),
        passed_over: world.passed_over,
        notices_followed: world.notices_followed,
        kills,
        ..Summary::default()
    };
    for tenant in &world.tenants {
        summary.answered += tenant.ledger.answered();
        summary.unanswered += tenant.ledger.deeds.values().map(|count| count.unknown).sum::<usize>();
        summary.events += trail::check(place, &tenant.name, &tenant.ledger)?;
    }
    Ok(summary)
}
