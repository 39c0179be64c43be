//! The driver: creates the tenants, runs the rounds, and checks everything at the end.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;

use crate::audit_check;
use crate::failure::Failure;
use crate::listener::{Listener, WaitResult};
use crate::model::Data;
use crate::node::Node;
use crate::plan::{Action, Agent, Era, Fault, Plan, Round};
use crate::random::Random;
use crate::round::RoundContext;
use crate::sandbox::Sandbox;
use crate::state::{Caller, ENVIRONMENT, ORGANIZATION, PROJECT, SimState, TABLES_URI, Tenant};

/// The counts of a run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Summary {
    /// Steps of the schedule.
    pub steps: usize,
    /// Steps whose target did not exist.
    pub skipped_steps: usize,
    /// Calls with a reply.
    pub answered: usize,
    /// Calls without a reply.
    pub unanswered: usize,
    /// Notifications after which a read was checked.
    pub notifications_checked: usize,
    /// Killed nodes.
    pub kills: usize,
    /// Checked audit events.
    pub events: usize,
}

/// Runs a plan.
pub fn run(sandbox: &Sandbox, plan: &Plan, verbose: bool) -> Result<Summary, Failure> {
    let state = Mutex::new(SimState::default());
    let mut nodes = [Node::start(sandbox, 0)?, Node::start(sandbox, 1)?];
    create_tenants(&RoundContext { sandbox, nodes: &nodes, state: &state, fault: Fault::None }, plan)?;
    let mut subscriptions: Vec<Option<StandingSubscription>> = (0..plan.tenants).map(|_| None).collect();
    for round in &plan.rounds {
        if verbose {
            print!("{round}");
        }
        run_round(sandbox, &mut nodes, &state, round, &mut subscriptions)?;
    }
    subscriptions.clear();
    finish(sandbox, &mut nodes, &state, plan)
}

/// A tenant's standing subscription to its list of tables.
struct StandingSubscription {
    listener: Listener,
    node: usize,
}

/// The agent that holds the standing subscription.
const SUBSCRIBER: Agent = Agent::Reader;

fn create_tenants(context: &RoundContext<'_>, plan: &Plan) -> Result<(), Failure> {
    // A stream of its own, so that markers do not affect the schedule.
    let mut random = Random::new(plan.seed ^ 0x6d61_726b);
    for tenant_index in 0..plan.tenants {
        let (name, marker) =
            (format!("t{tenant_index}"), format!("mark{tenant_index}x{:016x}", random.next_u64()));
        context.sandbox.run_quad(0, &["tenant", "add", &name])?;
        let lines = [
            json!({"kind": "organization", "id": ORGANIZATION, "name": format!("organization {marker}")}),
            json!({"kind": "project", "id": PROJECT, "organizationId": ORGANIZATION,
                "name": format!("project {marker}")}),
            json!({"kind": "environment", "id": ENVIRONMENT, "projectId": PROJECT, "name": "dev"}),
        ];
        let file = context.sandbox.folder().join(format!("{name}.load.jsonl"));
        let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
        std::fs::write(&file, text).map_err(|error| Failure::environment_error("writing a file", error))?;
        context.sandbox.run_quad(0, &["bkend", "load", &file.display().to_string(), "--tenant", &name])?;
        let data = Data { marker, tables: BTreeMap::new() };
        context.lock_state().tenants.push(Tenant {
            name,
            data,
            credentials: BTreeMap::new(),
            audit_expectations: Default::default(),
            last_table_change: None,
        });
        for agent in Agent::ALL {
            context.mint_token(Caller { tenant: tenant_index, agent })?;
        }
    }
    Ok(())
}

fn run_round(
    sandbox: &Sandbox,
    nodes: &mut [Node; 2],
    state: &Mutex<SimState>,
    round: &Round,
    subscriptions: &mut [Option<StandingSubscription>],
) -> Result<(), Failure> {
    let first_step = round.steps.first().map_or(0, |step| step.number);
    let faultless_context = RoundContext { sandbox, nodes, state, fault: Fault::None };
    for (tenant, subscription) in subscriptions.iter_mut().enumerate() {
        if subscription.is_none() {
            let (node, era) = round.subscriptions[tenant];
            let caller = Caller { tenant, agent: SUBSCRIBER };
            let listener = faultless_context
                .subscribe(caller, node, era, TABLES_URI)
                .map_err(|failure| failure.with_step(first_step))?;
            let listener = listener.map_err(|outcome| {
                Failure::new("a subscription to the tables", format!("{outcome:?}")).with_step(first_step)
            })?;
            *subscription = Some(StandingSubscription { listener, node });
        }
        faultless_context.with_tenant(tenant, |tenant| tenant.last_table_change = None);
    }
    let context = RoundContext { sandbox, nodes, state, fault: round.fault };
    let results: Vec<Result<(), Failure>> = std::thread::scope(|scope| {
        let context = &context;
        let fault_thread =
            scope.spawn(move || inject_fault(context).map_err(|failure| failure.with_step(first_step)));
        let step_threads: Vec<_> =
            round.steps.iter().map(|step| scope.spawn(move || context.perform(step))).collect();
        let joined_results = step_threads.into_iter().chain([fault_thread]).map(|thread| {
            thread
                .join()
                .unwrap_or_else(|_| Err(Failure::environment_error("a step's thread", "it panicked")))
        });
        joined_results.collect()
    });
    results.into_iter().collect::<Result<(), Failure>>()?;
    let connections_dropped = context.connections_dropped();
    if let Some(node) = round.fault.killed_node() {
        nodes[node] = Node::start(sandbox, node).map_err(|failure| failure.with_step(first_step))?;
    }
    let context = RoundContext {
        sandbox,
        nodes,
        state,
        fault: if connections_dropped { round.fault } else { Fault::None },
    };
    wait_until_quiet(&context, round).map_err(|failure| failure.with_step(first_step))?;
    check_subscriptions(&context, round, subscriptions).map_err(|failure| failure.with_step(first_step))
}

/// Injects the fault of the round.
fn inject_fault(context: &RoundContext<'_>) -> Result<(), Failure> {
    let sleep_us = |after_us| std::thread::sleep(Duration::from_micros(after_us));
    match context.fault {
        // The watching step does it on its notification.
        Fault::None | Fault::KillOnNotification { .. } => Ok(()),
        Fault::Kill { node, after_us } => {
            sleep_us(after_us);
            context.nodes[node].kill();
            Ok(())
        }
        Fault::Pause { node, after_us, for_ms } => {
            sleep_us(after_us);
            context.nodes[node].pause(Duration::from_millis(for_ms))
        }
        Fault::HoldLock { tenant, for_ms } => {
            let name = context.with_tenant(tenant, |tenant| tenant.name.clone());
            context.sandbox.database.hold_lock(&name, Duration::from_millis(for_ms))
        }
        Fault::DropConnections { after_us } => {
            sleep_us(after_us);
            context.sandbox.database.terminate_connections()
        }
    }
}

/// After a round with a fault: waits until no transaction is open, reads all data through both nodes, and marks
/// unseen writes as not committed.
fn wait_until_quiet(context: &RoundContext<'_>, round: &Round) -> Result<(), Failure> {
    let has_unknown_write = context.lock_state().tenants.iter().any(|tenant| tenant.data.has_unknown_write());
    if !has_unknown_write && round.fault.killed_node().is_none() && !context.connections_dropped() {
        return Ok(());
    }
    context.sandbox.database.wait_for_transactions()?;
    check_all_tenants(context)?;
    context.lock_state().tenants.iter_mut().for_each(|tenant| tenant.data.resolve_unknown());
    Ok(())
}

fn check_all_tenants(context: &RoundContext<'_>) -> Result<(), Failure> {
    let tenants = context.lock_state().tenants.len();
    for tenant in 0..tenants {
        for node in 0..2 {
            // The nodes and eras alternate.
            let era = if (tenant + node) % 2 == 0 { Era::Modern } else { Era::Legacy };
            context.check_all_data(tenant, node, era)?;
        }
    }
    Ok(())
}

/// Every standing subscription must have received the last change, unless its stream had a reason to end.
fn check_subscriptions(
    context: &RoundContext<'_>,
    round: &Round,
    subscriptions: &mut [Option<StandingSubscription>],
) -> Result<(), Failure> {
    for (tenant, subscription) in subscriptions.iter_mut().enumerate() {
        let Some(StandingSubscription { listener, node }) = subscription else { continue };
        context.check_messages(tenant, listener, TABLES_URI)?;
        let is_token_revoked = round.steps.iter().any(|step| {
            step.tenant == tenant
                && step.agent == SUBSCRIBER
                && matches!(step.action, Action::Revoke | Action::Quarantine)
        });
        if round.fault.killed_node() == Some(*node) {
            *subscription = None;
            continue;
        }
        if is_token_revoked {
            if !listener.wait_for_close() {
                return Err(Failure::new("a stream ends when its token is revoked", "it is open"));
            }
            *subscription = None;
            continue;
        }
        let Some(changed_at) = context.with_tenant(tenant, |tenant| tenant.last_table_change) else {
            continue;
        };
        let wait_result = listener.wait(TABLES_URI, changed_at, || false);
        if wait_result != WaitResult::Received {
            return Err(Failure::new(
                format!("t{tenant} is notified at node {node} that its list of tables has changed"),
                format!("{wait_result:?}"),
            ));
        }
    }
    Ok(())
}

/// Checks all data and the audit log, before and after a restart of both nodes.
fn finish(
    sandbox: &Sandbox,
    nodes: &mut [Node; 2],
    state: &Mutex<SimState>,
    plan: &Plan,
) -> Result<Summary, Failure> {
    check_all_tenants(&RoundContext { sandbox, nodes, state, fault: Fault::None })?;
    for node in nodes.iter() {
        node.terminate()?;
    }
    *nodes = [Node::start(sandbox, 0)?, Node::start(sandbox, 1)?];
    let context = RoundContext { sandbox, nodes, state, fault: Fault::None };
    check_all_tenants(&context)?;
    let final_state = context.lock_state();
    let kills = plan.rounds.iter().filter(|round| round.fault.killed_node().is_some()).count();
    let mut summary = Summary {
        steps: plan.step_count(),
        skipped_steps: final_state.skipped_steps,
        notifications_checked: final_state.notifications_checked,
        kills,
        ..Summary::default()
    };
    for tenant in &final_state.tenants {
        summary.answered += tenant.audit_expectations.answered_calls();
        summary.unanswered +=
            tenant.audit_expectations.calls.values().map(|count| count.unknown).sum::<usize>();
        summary.events += audit_check::check_audit_log(sandbox, &tenant.name, &tenant.audit_expectations)?;
    }
    Ok(summary)
}
