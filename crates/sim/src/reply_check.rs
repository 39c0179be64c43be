//! The checks of every reply: data of other tenants, credentials, receipts. Each checked call is added to the audit
//! expectations.

use serde_json::Value;

use crate::audit_expectations::{CallKey, Receipt};
use crate::client::{Outcome, RECEIPT_META_KEY};
use crate::failure::Failure;
use crate::round::RoundContext;
use crate::state::{Caller, TokenState};

/// What is known of a caller when it sends a request.
pub struct CallerSnapshot {
    caller: Caller,
    pub(crate) token: String,
    token_state: TokenState,
    change_count: u64,
    last_sequence: i64,
}

impl RoundContext<'_> {
    /// Whether the caller's credential was being revoked, or has changed since.
    pub fn credential_may_differ(&self, snapshot: &CallerSnapshot) -> bool {
        snapshot.token_state != TokenState::Valid || self.credential_changed(snapshot)
    }

    fn credential_changed(&self, snapshot: &CallerSnapshot) -> bool {
        let Caller { tenant, agent } = snapshot.caller;
        self.with_tenant(tenant, |tenant| tenant.credentials[&agent].change_count != snapshot.change_count)
    }

    /// Takes a snapshot of a caller.
    pub fn snapshot_caller(&self, caller: Caller) -> CallerSnapshot {
        self.with_tenant(caller.tenant, |tenant| {
            let credential = &tenant.credentials[&caller.agent];
            CallerSnapshot {
                caller,
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
    pub(crate) fn tolerate_fault(&self, outcome: Outcome) -> Outcome {
        match outcome {
            Outcome::Rejected(error)
                if self.connections_dropped() && (error["code"] == "BUSY" || error["method"].is_string()) =>
            {
                Outcome::ServerError(error)
            }
            outcome => outcome,
        }
    }

    /// Checks a reply and adds the call to the audit expectations.
    pub(crate) fn check_reply(
        &self,
        snapshot: &CallerSnapshot,
        node: usize,
        method: &str,
        params: &Value,
        outcome: &Outcome,
        text: &str,
    ) -> Result<(), Failure> {
        let caller = snapshot.caller;
        self.check_no_leak(caller.tenant, method, text)?;
        self.check_credential(snapshot, node, method, outcome)?;
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
    pub(crate) fn check_credential(
        &self,
        snapshot: &CallerSnapshot,
        node: usize,
        method: &str,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        let caller = snapshot.caller;
        let (name, agent) =
            (self.with_tenant(caller.tenant, |tenant| tenant.name.clone()), caller.agent.name());
        let call = format!("{method} by {agent} of {name} at node {node}");
        match outcome {
            Outcome::Unauthorized if !self.credential_may_differ(snapshot) => {
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
}
