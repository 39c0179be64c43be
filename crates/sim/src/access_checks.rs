//! Access checks: agents of other tenants, and agents with revoked credentials.

use serde_json::{Value, json};

use crate::client::Outcome;
use crate::failure::Failure;
use crate::plan::{Action, Agent, Era, Step};
use crate::round::RoundContext;
use crate::state::{Caller, TABLES_URI, TokenState, rows_uri};

impl RoundContext<'_> {
    /// Requests a table and a row of another tenant, and ones that do not exist. Both replies must be byte-identical
    /// except for the ids.
    pub(crate) fn check_cross_tenant(
        &self,
        step: &Step,
        owner: usize,
        table: usize,
        row: usize,
    ) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let foreign_ids =
            self.with_tenant(owner, |owner| owner.table_id(table).zip(owner.row_id(table, row)));
        let Some(foreign_ids) = foreign_ids else { return self.skip_step() };
        let unknown_ids = (format!("tbl_SIM{:023}", step.number), format!("rec_SIM{:023}", step.number));
        let mark = self.with_tenant(step.tenant, |tenant| tenant.data.marker.clone());
        for request_index in 0.. {
            let request_for =
                |ids: &(String, String)| cross_tenant_request(request_index, ids, step.agent, &mark);
            let (Some((method, foreign_params)), Some((_, unknown_params))) =
                (request_for(&foreign_ids), request_for(&unknown_ids))
            else {
                break;
            };
            let send = |params: &Value, (table, row): &(String, String)| -> Result<_, Failure> {
                let reply = self.call_for_reply(caller, step.node, step.era, method, params)?;
                let text = reply.text.replace(table.as_str(), "TABLE").replace(row.as_str(), "ROW");
                Ok((reply.outcome, text))
            };
            let (outcome, observed) = send(&foreign_params, &foreign_ids)?;
            let (unknown_outcome, expected) = send(&unknown_params, &unknown_ids)?;
            let is_busy =
                |outcome: &Outcome| matches!(outcome, Outcome::Rejected(error) if error["kind"] == "limit");
            if is_busy(&outcome) || is_busy(&unknown_outcome) {
                continue;
            }
            match (outcome, unknown_outcome) {
                (Outcome::Rejected(error), Outcome::Rejected(_))
                    if error["kind"] == "not_found" && observed == expected => {}
                (Outcome::Rejected(error), Outcome::Rejected(_)) if error["kind"] == "not_found" => {
                    return Err(Failure::new(
                        format!("{method} {foreign_params} gets the same reply as a missing one: {expected}"),
                        observed,
                    ));
                }
                (Outcome::Result(_) | Outcome::Rejected(_), Outcome::Result(_) | Outcome::Rejected(_)) => {
                    return Err(Failure::new(format!("{method} {foreign_params}: not found"), observed));
                }
                // One of the requests failed, or the credential was revoked meanwhile.
                _ => {}
            }
        }
        Ok(())
    }

    /// Revokes an agent's credential, tries it on every endpoint after the acknowledgement, and restores the agent.
    pub(crate) fn revoke_and_check(&self, step: &Step) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let id = self.set_token_state(caller, TokenState::Revoking);
        match step.action {
            Action::Revoke => self.run_quad_for_tenant(step.tenant, &["token", "revoke", &id])?,
            _ => self.run_quad_for_tenant(step.tenant, &["agent", "quarantine", caller.agent.name()])?,
        };
        self.set_token_state(caller, TokenState::Revoked);
        for node in [step.node, 1 - step.node] {
            for era in [Era::Modern, Era::Legacy] {
                self.try_all_calls(caller, node, era)?;
            }
        }
        match step.action {
            Action::Revoke => self.mint_token(caller)?,
            _ => {
                self.run_quad_for_tenant(step.tenant, &["agent", "restore", caller.agent.name()])?;
                self.set_token_state(caller, TokenState::Valid);
            }
        }
        for node in [1 - step.node, step.node] {
            self.call(caller, node, step.era, "resources/read", &json!({"uri": "bkend://orgs"}))?;
        }
        Ok(())
    }

    /// Mints a new token for an agent.
    pub(crate) fn mint_token(&self, caller: Caller) -> Result<(), Failure> {
        let (name, scopes) = (caller.agent.name(), caller.agent.scopes());
        let output = self.run_quad_for_tenant(
            caller.tenant,
            &["token", "mint", "--subject", name, "--kind", "agent", "--scope", scopes],
        )?;
        let string_field = |field: &str| output[field].as_str().map(str::to_owned);
        let (Some(token), Some(id)) = (string_field("token"), string_field("id")) else {
            return Err(Failure::new("a token and its id", output.to_string()));
        };
        self.with_tenant(caller.tenant, |tenant| {
            let credential = tenant.credentials.entry(caller.agent).or_insert(crate::state::Credential {
                token: String::new(),
                id: String::new(),
                state: TokenState::Valid,
                change_count: 0,
            });
            (credential.token, credential.id, credential.state) = (token, id, TokenState::Valid);
            credential.change_count += 1;
        });
        Ok(())
    }

    /// Sets the state of an agent's credential and returns the token id.
    fn set_token_state(&self, caller: Caller, state: TokenState) -> String {
        self.with_tenant(caller.tenant, |tenant| match tenant.credentials.get_mut(&caller.agent) {
            Some(credential) => {
                credential.state = state;
                credential.change_count += 1;
                credential.id.clone()
            }
            None => String::new(),
        })
    }

    /// Sends every kind of call that is audited; each must return 401. Calls that are not audited (`initialize`,
    /// `ping`, `server/discover`) are not sent: they read no data, and a node may answer them from its token cache
    /// for up to a minute.
    fn try_all_calls(&self, caller: Caller, node: usize, era: Era) -> Result<(), Failure> {
        let table = self.with_tenant(caller.tenant, |tenant| {
            tenant.data.tables.keys().find_map(|table| tenant.table_id(*table)).unwrap_or_default()
        });
        let data = json!({"key": "row of nobody", "revision": 1, "mark": "nobody"});
        let create = json!({"name": "backend_data_create", "arguments": {"tableId": table, "data": data}});
        let calls = [
            ("resources/read", json!({"uri": "bkend://orgs"})),
            ("resources/list", json!({})),
            ("tools/list", json!({})),
            ("tools/call", json!({"name": "backend_org_list", "arguments": {}})),
            ("tools/call", create),
        ];
        for (method, params) in calls {
            self.call(caller, node, era, method, &params)?;
        }
        self.read_http(caller, node, "bkend://orgs")?;
        if let Ok(listener) = self.subscribe(caller, node, era, "bkend://orgs")? {
            return Err(Failure::new("no stream for a revoked token", format!("{listener:?}")));
        }
        Ok(())
    }
}

/// The requests of a cross-tenant access.
fn cross_tenant_request(
    request_index: usize,
    (table, row): &(String, String),
    agent: Agent,
    mark: &str,
) -> Option<(&'static str, Value)> {
    let read_request = |uri: String| ("resources/read", json!({"uri": uri}));
    let tool_call =
        |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let ids = json!({"tableId": table, "recordId": row});
    Some(match request_index {
        0 => read_request(format!("{TABLES_URI}/{table}")),
        1 => read_request(rows_uri(table)),
        2 => read_request(format!("bkend://tables/{table}")),
        3 => tool_call("backend_table_get", json!({"tableId": table})),
        4 => tool_call("backend_data_get", ids),
        5 if agent == Agent::Writer => {
            let data = json!({"mark": mark, "revision": 999_999});
            tool_call("backend_data_update", json!({"tableId": table, "recordId": row, "data": data}))
        }
        6 if agent == Agent::Writer => tool_call("backend_data_delete", ids),
        _ => return None,
    })
}
