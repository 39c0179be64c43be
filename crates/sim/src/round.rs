//! The context of a round: the nodes, the state, and the one path on which every call is made.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::client::{Client, Outcome, Reply, content_json};
use crate::failure::Failure;
use crate::listener::{Listener, SubscribeResult};
use crate::model::MinRevisions;
use crate::node::Node;
use crate::plan::{Era, Fault};
use crate::sandbox::Sandbox;
use crate::state::{Caller, SimState, Tenant};

/// Maximum attempts of a read while connections to the database are terminated.
const ATTEMPTS_MAX: usize = 20;

/// What the steps of a round share.
pub struct RoundContext<'a> {
    /// The folder and the database.
    pub sandbox: &'a Sandbox,
    /// The two nodes.
    pub nodes: &'a [Node; 2],
    /// The known state.
    pub state: &'a Mutex<SimState>,
    /// The fault of the round, which excuses missing replies.
    pub fault: Fault,
}

impl<'a> RoundContext<'a> {
    /// Locks the known state.
    pub fn lock_state(&self) -> MutexGuard<'_, SimState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `f` on a tenant.
    pub fn with_tenant<T>(&self, tenant: usize, f: impl FnOnce(&mut Tenant) -> T) -> T {
        f(&mut self.lock_state().tenants[tenant])
    }

    /// The minimum revisions of a tenant: a read that starts now must not return older ones.
    pub fn min_revisions(&self, tenant: usize) -> MinRevisions {
        self.with_tenant(tenant, |tenant| tenant.data.min_revisions())
    }

    /// Runs a `quad` command for a tenant.
    pub fn run_quad_for_tenant(&self, tenant: usize, arguments: &[&str]) -> Result<Value, Failure> {
        let name = self.with_tenant(tenant, |tenant| tenant.name.clone());
        let arguments = [arguments, &["--tenant", &name]].concat();
        let mut result = self.sandbox.run_quad_json(0, &arguments);
        for _ in 1..ATTEMPTS_MAX {
            if result.is_ok() || !self.connections_dropped() {
                break;
            }
            result = self.sandbox.run_quad_json(0, &arguments);
        }
        result
    }

    /// Sends a call to a node as `caller` and checks the reply.
    pub fn call(
        &self,
        caller: Caller,
        node: usize,
        era: Era,
        method: &str,
        params: &Value,
    ) -> Result<Outcome, Failure> {
        self.call_for_reply(caller, node, era, method, params).map(|reply| reply.outcome)
    }

    /// Like [`RoundContext::call`], but returns the text of the reply as well.
    pub fn call_for_reply(
        &self,
        caller: Caller,
        node: usize,
        era: Era,
        method: &str,
        params: &Value,
    ) -> Result<Reply, Failure> {
        let snapshot = self.snapshot_caller(caller);
        let client = Client { node: &self.nodes[node], token: &snapshot.token, era, session: None };
        let mut reply = client.call(method, params);
        reply.outcome = self.tolerate_fault(reply.outcome);
        self.check_reply(&snapshot, node, method, params, &reply.outcome, &reply.text)?;
        Ok(reply)
    }

    /// Reads a URI over plain HTTP.
    pub fn read_http(&self, caller: Caller, node: usize, uri: &str) -> Result<Outcome, Failure> {
        let snapshot = self.snapshot_caller(caller);
        let client =
            Client { node: &self.nodes[node], token: &snapshot.token, era: Era::Modern, session: None };
        let mut reply = client.read_http(uri);
        reply.outcome = self.tolerate_fault(reply.outcome);
        let params = serde_json::json!({"uri": uri});
        self.check_reply(&snapshot, node, "resources/read", &params, &reply.outcome, &reply.text)?;
        Ok(reply.outcome)
    }

    /// Subscribes to a URI. Without a stream it returns the reply that prevented it.
    pub fn subscribe(
        &self,
        caller: Caller,
        node: usize,
        era: Era,
        uri: &str,
    ) -> Result<Result<Listener, Outcome>, Failure> {
        let snapshot = self.snapshot_caller(caller);
        let client = Client { node: &self.nodes[node], token: &snapshot.token, era, session: None };
        let SubscribeResult { listener, mut calls } = Listener::subscribe(client, uri);
        let listener = listener.map_err(|outcome| self.tolerate_fault(outcome));
        for (_, _, outcome) in &mut calls {
            *outcome = self.tolerate_fault(outcome.clone());
        }
        if let (Err(outcome), true) = (&listener, calls.is_empty()) {
            self.check_credential(&snapshot, node, "initialize", outcome)?;
        }
        for (method, params, outcome) in &calls {
            self.check_reply(&snapshot, node, method, params, outcome, "")?;
        }
        Ok(listener)
    }

    /// Whether connections to the database are terminated in this round.
    pub fn connections_dropped(&self) -> bool {
        matches!(self.fault, Fault::DropConnections { .. })
    }

    /// Whether a node is killed in this round.
    pub fn is_killed(&self, node: usize) -> bool {
        self.fault.killed_node() == Some(node)
    }

    /// Reads all data of a tenant through a node and checks it. No other call may be running.
    pub fn check_all_data(&self, tenant: usize, node: usize, era: Era) -> Result<(), Failure> {
        let caller = Caller { tenant, agent: crate::plan::Agent::Writer };
        let min_revisions = self.min_revisions(tenant);
        let tables = self.read_with_retry(caller, node, era, crate::state::TABLES_URI)?;
        let Some(tables) = tables else {
            return Err(Failure::new("the list of tables can be read", "not found"));
        };
        self.with_tenant(tenant, |tenant| tenant.data.check_tables(&min_revisions, &tables))
            .map_err(|observed| self.data_mismatch(tenant, node, observed))?;
        let ids: Vec<(usize, String)> = self.with_tenant(tenant, |tenant| {
            let tables = tenant.data.tables.iter();
            tables.filter_map(|(number, table)| Some((*number, table.id.clone()?))).collect()
        });
        for (number, id) in ids {
            let min_revisions = self.min_revisions(tenant);
            let page = self.read_with_retry(caller, node, era, &crate::state::rows_uri(&id))?;
            self.with_tenant(tenant, |tenant| match &page {
                Some(page) => tenant.data.check_rows(&min_revisions, number, page),
                None => tenant.data.check_table_absent(&min_revisions, number),
            })
            .map_err(|observed| self.data_mismatch(tenant, node, observed))?;
        }
        Ok(())
    }

    /// The failure of a data check.
    pub fn data_mismatch(&self, tenant: usize, node: usize, observed: String) -> Failure {
        let name = self.with_tenant(tenant, |tenant| tenant.name.clone());
        Failure::new(format!("node {node} shows {name} what was acknowledged, or newer"), observed)
    }

    /// Reads a URI with retries while connections are terminated. `None` if it is not found.
    fn read_with_retry(
        &self,
        caller: Caller,
        node: usize,
        era: Era,
        uri: &str,
    ) -> Result<Option<Value>, Failure> {
        let params = serde_json::json!({"uri": uri});
        for _ in 0..ATTEMPTS_MAX {
            match self.call(caller, node, era, "resources/read", &params)? {
                Outcome::Result(result) => {
                    let content = content_json(&result);
                    return content
                        .map(Some)
                        .ok_or_else(|| Failure::new("contents in JSON", result.to_string()));
                }
                Outcome::Rejected(error) if error["kind"] == "not_found" => return Ok(None),
                Outcome::Rejected(error) if error["kind"] != "limit" => {
                    return Err(Failure::new(format!("{uri} can be read"), error.to_string()));
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        Err(Failure::new(format!("{uri} can be read"), format!("no answer in {ATTEMPTS_MAX} attempts")))
    }
}
