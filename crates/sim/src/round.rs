//! The context of a round: the nodes, the state, and the one path on which every call is made and checked.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::audit_expectations::{CallKey, Receipt};
use crate::client::{Client, Outcome, RECEIPT_META_KEY, Reply, content_json};
use crate::failure::Failure;
use crate::listener::{Listener, SubscribeResult};
use crate::model::MinRevisions;
use crate::node::Node;
use crate::plan::{Era, Fault};
use crate::sandbox::Sandbox;
use crate::state::{Caller, SimState, Tenant, TokenState};

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

/// What is known of a caller when it sends a request.
pub struct CallerSnapshot {
    token: String,
    token_state: TokenState,
    change_count: u64,
    last_sequence: i64,
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
        self.check_reply(caller, node, &snapshot, method, params, &reply.outcome, &reply.text)?;
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
        self.check_reply(caller, node, &snapshot, "resources/read", &params, &reply.outcome, &reply.text)?;
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
            self.check_credential(caller, node, &snapshot, "initialize", outcome)?;
        }
        for (method, params, outcome) in &calls {
            self.check_reply(caller, node, &snapshot, method, params, outcome, "")?;
        }
        Ok(listener)
    }

    /// Whether the caller's credential was being revoked, or has changed since.
    pub fn credential_may_differ(&self, caller: Caller, snapshot: &CallerSnapshot) -> bool {
        snapshot.token_state != TokenState::Valid || self.credential_changed(caller, snapshot)
    }

    fn credential_changed(&self, caller: Caller, snapshot: &CallerSnapshot) -> bool {
        self.with_tenant(caller.tenant, |tenant| {
            tenant.credentials[&caller.agent].change_count != snapshot.change_count
        })
    }

    /// Takes a snapshot of a caller.
    pub fn snapshot_caller(&self, caller: Caller) -> CallerSnapshot {
        self.with_tenant(caller.tenant, |tenant| {
            let credential = &tenant.credentials[&caller.agent];
            CallerSnapshot {
                token: credential.token.clone(),
                token_state: credential.state,
                change_count: credential.change_count,
                last_sequence: tenant.audit_expectations.last_sequence,
            }
        })
    }

    /// While connections are terminated, a caller that is told to retry cannot know how far the call got, and even
    /// the event of the error may be missing. A subscription to a URI that could not be read then is not
    /// acknowledged.
    fn tolerate_fault(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Rejected(error)
                if self.connections_dropped() && (error["code"] == "BUSY" || error["method"].is_string()) =>
            {
                Outcome::ServerError(error)
            }
            outcome => outcome,
        }
    }

    /// Whether connections to the database are terminated in this round.
    pub fn connections_dropped(&self) -> bool {
        matches!(self.fault, Fault::DropConnections { .. })
    }

    /// Whether a node is killed in this round.
    pub fn is_killed(&self, node: usize) -> bool {
        self.fault.killed_node() == Some(node)
    }

    #[allow(clippy::too_many_arguments)]
    fn check_reply(
        &self,
        caller: Caller,
        node: usize,
        snapshot: &CallerSnapshot,
        method: &str,
        params: &Value,
        outcome: &Outcome,
        text: &str,
    ) -> Result<(), Failure> {
        self.check_no_leak(caller.tenant, method, text)?;
        self.check_credential(caller, node, snapshot, method, outcome)?;
        if matches!(outcome, Outcome::Unauthorized) {
            // Rejected credentials have no event of their own.
            return Ok(());
        }
        let mut state = self.lock_state();
        let expectations = &mut state.tenants[caller.tenant].audit_expectations;
        let counts = expectations.counts_mut(CallKey::from_request(caller.agent.name(), method, params));
        match outcome {
            Outcome::Result(_) => counts.ok += 1,
            Outcome::Rejected(_) => counts.rejected += 1,
            Outcome::ServerError(_) | Outcome::NoReply(_) => counts.unknown += 1,
            Outcome::Unauthorized => {}
        }
        let (Outcome::Result(result), "resources/read") = (outcome, method) else { return Ok(()) };
        let receipt = &result["_meta"][RECEIPT_META_KEY];
        let receipt_field = |name: &str| receipt[name].as_str().map(str::to_owned);
        let event_id = receipt_field("event").ok_or_else(|| {
            Failure::new(format!("a receipt with every read ({params})"), result["_meta"].to_string())
        })?;
        let sequence = receipt["sequence"].as_i64();
        if let Some(sequence) = sequence {
            if sequence <= snapshot.last_sequence {
                return Err(Failure::new(
                    format!("an event after sequence {}, which an earlier reply had", snapshot.last_sequence),
                    format!("{receipt} for {params}"),
                ));
            }
            expectations.last_sequence = expectations.last_sequence.max(sequence);
        }
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        expectations.receipts.push(Receipt {
            event_id,
            sequence,
            content_hash: receipt_field("contentHash"),
            uri,
        });
        Ok(())
    }

    /// A valid token must be accepted and a revoked one rejected; a missing reply must have a reason.
    fn check_credential(
        &self,
        caller: Caller,
        node: usize,
        snapshot: &CallerSnapshot,
        method: &str,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let (name, agent) =
            (self.with_tenant(caller.tenant, |tenant| tenant.name.clone()), caller.agent.name());
        let call = format!("{method} by {agent} of {name} at node {node}");
        match outcome {
            Outcome::Unauthorized if !self.credential_may_differ(caller, snapshot) => {
                Err(Failure::new(format!("{call}: a valid token is accepted"), "401"))
            }
            Outcome::Unauthorized => Ok(()),
            Outcome::Result(observed) | Outcome::Rejected(observed)
                if snapshot.token_state == TokenState::Revoked =>
            {
                Err(Failure::new(format!("{call}: 401, since the token is revoked"), observed.to_string()))
            }
            Outcome::Result(_) | Outcome::Rejected(_) => Ok(()),
            Outcome::ServerError(_) | Outcome::NoReply(_) if self.connections_dropped() => Ok(()),
            Outcome::NoReply(_) if self.is_killed(node) => Ok(()),
            Outcome::ServerError(observed) => {
                Err(Failure::new(format!("{call}: no internal error"), observed.to_string()))
            }
            Outcome::NoReply(observed) => Err(Failure::new(format!("{call}: an answer"), observed.clone())),
        }
    }

    /// The text must not contain data of another tenant.
    pub fn check_no_leak(&self, tenant: usize, source: &str, text: &str) -> Result<(), Failure> {
        let state = self.lock_state();
        for (other, marker) in state.other_tenant_markers(tenant) {
            if text.contains(marker) {
                let name = &state.tenants[tenant].name;
                return Err(Failure::new(format!("{source} contains no data of {other} for {name}"), text));
            }
        }
        Ok(())
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
