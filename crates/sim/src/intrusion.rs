//! Whoever must not get in: agents of other tenants, and agents whose credential was withdrawn.

use serde_json::{Value, json};

use crate::client::Answer;
use crate::failure::Failure;
use crate::plan::{Action, Agent, Era, Step};
use crate::stage::Stage;
use crate::world::{Standing, TABLES_URI, Who, rows_uri};

impl Stage<'_> {
    /// Asks for another tenant's table and row, and for ones that nobody has: both answers must be the same, byte for byte
    /// but for the ids themselves.
    pub(crate) fn trespass(
        &self,
        step: &Step,
        owner: usize,
        table: usize,
        row: usize,
    ) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let theirs = self.with(owner, |owner| owner.table_id(table).zip(owner.row_id(table, row)));
        let Some(theirs) = theirs else { return self.pass_over() };
        let invented = (format!("tbl_SIM{:023}", step.number), format!("rec_SIM{:023}", step.number));
        let mark = self.with(step.tenant, |tenant| tenant.data.marker.clone());
        for probe in 0.. {
            let asked = |ids: &(String, String)| request(probe, ids, step.agent, &mark);
            let (Some((method, real)), Some((_, unreal))) = (asked(&theirs), asked(&invented)) else {
                break;
            };
            let told = |params: &Value, (table, row): &(String, String)| -> Result<_, Failure> {
                let reply = self.ask_for_text(who, step.node, step.era, method, params)?;
                let text = reply.text.replace(table.as_str(), "TABLE").replace(row.as_str(), "ROW");
                Ok((reply.answer, text))
            };
            let (answer, seen) = told(&real, &theirs)?;
            let (nothing, expected) = told(&unreal, &invented)?;
            let is_busy =
                |answer: &Answer| matches!(answer, Answer::Refused(error) if error["kind"] == "limit");
            if is_busy(&answer) || is_busy(&nothing) {
                continue;
            }
            match (answer, nothing) {
                (Answer::Refused(error), Answer::Refused(_)) if error["kind"] == "not_found" => {
                    if seen != expected {
                        return Err(Failure::new(
                            format!("{method} {real} is answered as if it did not exist: {expected}"),
                            seen,
                        ));
                    }
                }
                (Answer::Result(_) | Answer::Refused(_), Answer::Result(_) | Answer::Refused(_)) => {
                    return Err(Failure::new(format!("{method} {real}: not found"), seen));
                }
                // One of them did not get through, or the credential was withdrawn meanwhile.
                _ => {}
            }
        }
        Ok(())
    }

    /// Withdraws an agent's credential, tries it everywhere once that is acknowledged, and lets the agent in again.
    pub(crate) fn withdraw(&self, step: &Step) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let id = self.stand(who, Standing::Doomed);
        match step.action {
            Action::Revoke => self.command(step.tenant, &["token", "revoke", &id])?,
            _ => self.command(step.tenant, &["agent", "quarantine", who.agent.name()])?,
        };
        self.stand(who, Standing::Dead);
        for node in [step.node, 1 - step.node] {
            for era in [Era::Modern, Era::Legacy] {
                self.try_everything(who, node, era)?;
            }
        }
        match step.action {
            Action::Revoke => self.mint(who)?,
            _ => {
                self.command(step.tenant, &["agent", "restore", who.agent.name()])?;
                self.stand(who, Standing::Good);
            }
        }
        for node in [1 - step.node, step.node] {
            self.ask(who, node, step.era, "resources/read", &json!({"uri": "bkend://orgs"}))?;
        }
        Ok(())
    }

    /// Gives an agent a new token.
    pub(crate) fn mint(&self, who: Who) -> Result<(), Failure> {
        let (name, scopes) = (who.agent.name(), who.agent.scopes());
        let minted = self.command(
            who.tenant,
            &["token", "mint", "--subject", name, "--kind", "agent", "--scope", scopes],
        )?;
        let told = |field: &str| minted[field].as_str().map(str::to_owned);
        let (Some(token), Some(id)) = (told("token"), told("id")) else {
            return Err(Failure::new("a token and its id", minted.to_string()));
        };
        self.with(who.tenant, |tenant| {
            let credential = tenant.credentials.entry(who.agent).or_insert(crate::world::Credential {
                token: String::new(),
                id: String::new(),
                standing: Standing::Good,
                changes: 0,
            });
            (credential.token, credential.id, credential.standing) = (token, id, Standing::Good);
            credential.changes += 1;
        });
        Ok(())
    }

    /// Notes how an agent's credential stands, and returns its id.
    fn stand(&self, who: Who, standing: Standing) -> String {
        self.with(who.tenant, |tenant| match tenant.credentials.get_mut(&who.agent) {
            Some(credential) => {
                credential.standing = standing;
                credential.changes += 1;
                credential.id.clone()
            }
            None => String::new(),
        })
    }

    /// Every kind of call that leaves an event, none of which may be answered: whoever is told anything but 401 fails the
    /// judgement. What leaves no event (`initialize`, `ping`, `server/discover`) touches no data and is not asked: a node may
    /// answer it, for up to a minute, from what it knew of the token.
    fn try_everything(&self, who: Who, node: usize, era: Era) -> Result<(), Failure> {
        let table = self.with(who.tenant, |tenant| {
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
            self.ask(who, node, era, method, &params)?;
        }
        self.ask_plainly(who, node, "bkend://orgs")?;
        if let Ok(listener) = self.listen(who, node, era, "bkend://orgs")? {
            return Err(Failure::new("no stream for a withdrawn token", format!("{listener:?}")));
        }
        Ok(())
    }
}

/// The requests of a trespasser.
fn request(
    probe: usize,
    (table, row): &(String, String),
    agent: Agent,
    mark: &str,
) -> Option<(&'static str, Value)> {
    let read = |uri: String| ("resources/read", json!({"uri": uri}));
    let call = |name: &str, arguments: Value| ("tools/call", json!({"name": name, "arguments": arguments}));
    let ids = json!({"tableId": table, "recordId": row});
    Some(match probe {
        0 => read(format!("{TABLES_URI}/{table}")),
        1 => read(rows_uri(table)),
        2 => read(format!("bkend://tables/{table}")),
        3 => call("backend_table_get", json!({"tableId": table})),
        4 => call("backend_data_get", ids),
        5 if agent == Agent::Writer => {
            let data = json!({"mark": mark, "revision": 999_999});
            call("backend_data_update", json!({"tableId": table, "recordId": row, "data": data}))
        }
        6 if agent == Agent::Writer => call("backend_data_delete", ids),
        _ => return None,
    })
}
