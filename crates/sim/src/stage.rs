//! The stage of a round: the nodes, the world, and the one way in which every call is made and judged.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;

use crate::client::{Answer, Line, RECEIPT, Reply, contents};
use crate::failure::Failure;
use crate::ledger::{Deed, Receipt};
use crate::listener::{Listener, Opening};
use crate::model::Floors;
use crate::node::Node;
use crate::place::Place;
use crate::plan::{Era, Fault};
use crate::world::{Standing, Tenant, Who, World};

/// How often something is tried again while connections to the database break.
const ATTEMPTS: usize = 20;

/// Where the steps of a round happen.
pub struct Stage<'a> {
    /// The folder and the database.
    pub place: &'a Place,
    /// The two nodes.
    pub nodes: &'a [Node; 2],
    /// What is known.
    pub world: &'a Mutex<World>,
    /// What goes wrong, and so excuses answers that do not come.
    pub fault: Fault,
}

/// What is known of a caller when it starts to ask.
pub struct Before {
    token: String,
    standing: Standing,
    changes: u64,
    sequence: i64,
}

impl<'a> Stage<'a> {
    /// What is known, for as long as it is held.
    pub fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with a tenant.
    pub fn with<T>(&self, tenant: usize, work: impl FnOnce(&mut Tenant) -> T) -> T {
        work(&mut self.world().tenants[tenant])
    }

    /// The floors of a tenant: what whoever asks from now on must see.
    pub fn floors(&self, tenant: usize) -> Floors {
        self.with(tenant, |tenant| tenant.data.floors())
    }

    /// Runs a command of `quad` for a tenant.
    pub fn command(&self, tenant: usize, arguments: &[&str]) -> Result<Value, Failure> {
        let name = self.with(tenant, |tenant| tenant.name.clone());
        let arguments = [arguments, &["--tenant", &name]].concat();
        let mut outcome = self.place.run_json(0, &arguments);
        for _ in 1..ATTEMPTS {
            if outcome.is_ok() || !self.is_severed() {
                break;
            }
            outcome = self.place.run_json(0, &arguments);
        }
        outcome
    }

    /// Asks a node something, in somebody's name, and judges the answer.
    pub fn ask(
        &self,
        who: Who,
        node: usize,
        era: Era,
        method: &str,
        params: &Value,
    ) -> Result<Answer, Failure> {
        self.ask_for_text(who, node, era, method, params).map(|reply| reply.answer)
    }

    /// The same, with the text of the answer.
    pub fn ask_for_text(
        &self,
        who: Who,
        node: usize,
        era: Era,
        method: &str,
        params: &Value,
    ) -> Result<Reply, Failure> {
        let before = self.before(who);
        let line = Line { node: &self.nodes[node], token: &before.token, era, session: None };
        let mut reply = line.ask(method, params);
        reply.answer = self.excused(reply.answer);
        self.judge(who, node, &before, method, params, &reply.answer, &reply.text)?;
        Ok(reply)
    }

    /// Reads an address as plain HTTP.
    pub fn ask_plainly(&self, who: Who, node: usize, uri: &str) -> Result<Answer, Failure> {
        let before = self.before(who);
        let line = Line { node: &self.nodes[node], token: &before.token, era: Era::Modern, session: None };
        let mut reply = line.read_plainly(uri);
        reply.answer = self.excused(reply.answer);
        let params = serde_json::json!({"uri": uri});
        self.judge(who, node, &before, "resources/read", &params, &reply.answer, &reply.text)?;
        Ok(reply.answer)
    }

    /// Subscribes to an address. Without a stream the answer says why there is none.
    pub fn listen(
        &self,
        who: Who,
        node: usize,
        era: Era,
        uri: &str,
    ) -> Result<Result<Listener, Answer>, Failure> {
        let before = self.before(who);
        let line = Line { node: &self.nodes[node], token: &before.token, era, session: None };
        let Opening { outcome, mut calls } = Listener::open(line, uri);
        let outcome = outcome.map_err(|answer| self.excused(answer));
        for (_, _, answer) in &mut calls {
            *answer = self.excused(answer.clone());
        }
        if let (Err(answer), true) = (&outcome, calls.is_empty()) {
            self.judge_credential(who, node, &before, "initialize", answer)?;
        }
        for (method, params, answer) in &calls {
            self.judge(who, node, &before, method, params, answer, "")?;
        }
        Ok(outcome)
    }

    /// Whether the caller's credential was being withdrawn, or has changed since.
    pub fn is_disturbed(&self, who: Who, before: &Before) -> bool {
        before.standing != Standing::Good || self.has_changed(who, before)
    }

    fn has_changed(&self, who: Who, before: &Before) -> bool {
        self.with(who.tenant, |tenant| tenant.credentials[&who.agent].changes != before.changes)
    }

    /// What is known of a caller now.
    pub fn before(&self, who: Who) -> Before {
        self.with(who.tenant, |tenant| {
            let credential = &tenant.credentials[&who.agent];
            Before {
                token: credential.token.clone(),
                standing: credential.standing,
                changes: credential.changes,
                sequence: tenant.ledger.sequence,
            }
        })
    }

    /// Where connections to the database break, whoever is told to try again cannot know how far it got, and even the
    /// refusal may be missing in the trail. An address that could not be read just then is not acknowledged.
    fn excused(&self, answer: Answer) -> Answer {
        match answer {
            Answer::Refused(error)
                if self.is_severed() && (error["code"] == "BUSY" || error["method"].is_string()) =>
            {
                Answer::Faulty(error)
            }
            answer => answer,
        }
    }

    /// Whether connections to the database break in this round.
    pub fn is_severed(&self) -> bool {
        matches!(self.fault, Fault::Sever { .. })
    }

    /// Whether a node is killed in this round.
    pub fn is_killed(&self, node: usize) -> bool {
        self.fault.killed() == Some(node)
    }

    #[allow(clippy::too_many_arguments)]
    fn judge(
        &self,
        who: Who,
        node: usize,
        before: &Before,
        method: &str,
        params: &Value,
        answer: &Answer,
        text: &str,
    ) -> Result<(), Failure> {
        self.refuse_leaks(who.tenant, method, text)?;
        self.judge_credential(who, node, before, method, answer)?;
        if matches!(answer, Answer::Barred) {
            // Refused credentials leave no event of their own.
            return Ok(());
        }
        let mut world = self.world();
        let ledger = &mut world.tenants[who.tenant].ledger;
        let count = ledger.count(Deed::of(who.agent.name(), method, params));
        match answer {
            Answer::Result(_) => count.ok += 1,
            Answer::Refused(_) => count.refused += 1,
            Answer::Faulty(_) | Answer::Lost(_) => count.unknown += 1,
            Answer::Barred => {}
        }
        let (Answer::Result(result), "resources/read") = (answer, method) else { return Ok(()) };
        let receipt = &result["_meta"][RECEIPT];
        let told = |name: &str| receipt[name].as_str().map(str::to_owned);
        let event = told("event").ok_or_else(|| {
            Failure::new(format!("a receipt with every read ({params})"), result["_meta"].to_string())
        })?;
        let sequence = receipt["sequence"].as_i64();
        if let Some(sequence) = sequence {
            if sequence <= before.sequence {
                return Err(Failure::new(
                    format!("an event after number {}, of which an earlier answer told", before.sequence),
                    format!("{receipt} for {params}"),
                ));
            }
            ledger.sequence = ledger.sequence.max(sequence);
        }
        let uri = params["uri"].as_str().unwrap_or_default().to_owned();
        ledger.receipts.push(Receipt { event, sequence, content_hash: told("contentHash"), uri });
        Ok(())
    }

    /// A good token is accepted, a withdrawn one is not; and an answer that does not come has a reason.
    fn judge_credential(
        &self,
        who: Who,
        node: usize,
        before: &Before,
        method: &str,
        answer: &Answer,
    ) -> Result<(), Failure> {
        let (name, agent) = (self.with(who.tenant, |tenant| tenant.name.clone()), who.agent.name());
        let call = format!("{method} by {agent} of {name} at node {node}");
        match answer {
            Answer::Barred if !self.is_disturbed(who, before) => {
                Err(Failure::new(format!("{call}: a good token is accepted"), "401"))
            }
            Answer::Barred => Ok(()),
            Answer::Result(seen) | Answer::Refused(seen) if before.standing == Standing::Dead => {
                Err(Failure::new(format!("{call}: 401, since the token is withdrawn"), seen.to_string()))
            }
            Answer::Result(_) | Answer::Refused(_) => Ok(()),
            Answer::Faulty(_) | Answer::Lost(_) if self.is_severed() => Ok(()),
            Answer::Lost(_) if self.is_killed(node) => Ok(()),
            Answer::Faulty(seen) => {
                Err(Failure::new(format!("{call}: no fault of its own"), seen.to_string()))
            }
            Answer::Lost(seen) => Err(Failure::new(format!("{call}: an answer"), seen.clone())),
        }
    }

    /// Nothing of another tenant's is in what a tenant is told.
    pub fn refuse_leaks(&self, tenant: usize, what: &str, text: &str) -> Result<(), Failure> {
        let world = self.world();
        for (other, marker) in world.foreign_markers(tenant) {
            if text.contains(marker) {
                let name = &world.tenants[tenant].name;
                return Err(Failure::new(format!("{what} tells {name} nothing of {other}"), text));
            }
        }
        Ok(())
    }

    /// Reads everything of a tenant through a node and checks it. Nothing else is under way.
    pub fn survey(&self, tenant: usize, node: usize, era: Era) -> Result<(), Failure> {
        let who = Who { tenant, agent: crate::plan::Agent::Writer };
        let floors = self.floors(tenant);
        let tables = self.insist(who, node, era, crate::world::TABLES_URI)?;
        let Some(tables) = tables else {
            return Err(Failure::new("the list of tables can be read", "not found"));
        };
        self.with(tenant, |tenant| tenant.data.see_tables(&floors, &tables))
            .map_err(|seen| self.differs(tenant, node, seen))?;
        let ids: Vec<(usize, String)> = self.with(tenant, |tenant| {
            let tables = tenant.data.tables.iter();
            tables.filter_map(|(number, table)| Some((*number, table.id.clone()?))).collect()
        });
        for (number, id) in ids {
            let floors = self.floors(tenant);
            let page = self.insist(who, node, era, &crate::world::rows_uri(&id))?;
            self.with(tenant, |tenant| match &page {
                Some(page) => tenant.data.see_rows(&floors, number, page),
                None => tenant.data.see_no_table(&floors, number),
            })
            .map_err(|seen| self.differs(tenant, node, seen))?;
        }
        Ok(())
    }

    /// The failure of a check of the data.
    pub fn differs(&self, tenant: usize, node: usize, seen: String) -> Failure {
        let name = self.with(tenant, |tenant| tenant.name.clone());
        Failure::new(format!("node {node} shows {name} what was acknowledged, or newer"), seen)
    }

    /// Reads an address until it is answered: while connections break, that may take several attempts. `None` where
    /// nothing is found.
    fn insist(&self, who: Who, node: usize, era: Era, uri: &str) -> Result<Option<Value>, Failure> {
        let params = serde_json::json!({"uri": uri});
        for _ in 0..ATTEMPTS {
            match self.ask(who, node, era, "resources/read", &params)? {
                Answer::Result(result) => {
                    let read = contents(&result);
                    return read
                        .map(Some)
                        .ok_or_else(|| Failure::new("contents in JSON", result.to_string()));
                }
                Answer::Refused(error) if error["kind"] == "not_found" => return Ok(None),
                Answer::Refused(error) if error["kind"] != "limit" => {
                    return Err(Failure::new(format!("{uri} can be read"), error.to_string()));
                }
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        }
        Err(Failure::new(format!("{uri} can be read"), format!("no answer in {ATTEMPTS} attempts")))
    }
}
