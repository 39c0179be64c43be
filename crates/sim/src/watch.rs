//! Hearing of a change and reading after it: the centre of the promise.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;

use crate::client::{Answer, contents};
use crate::failure::Failure;
use crate::listener::{Listener, Waited};
use crate::plan::{Agent, Era, Fault, Step};
use crate::stage::Stage;
use crate::steps::result_of;
use crate::world::{Thing, Who, rows_uri};

impl Stage<'_> {
    /// Subscribes to a table's rows, changes one of them, and reads through both nodes as soon as the notification is here,
    /// whether or not the writer has had its answer.
    ///
    /// Nobody else writes to that table in this round, and the subscription is new: so a notification can only mean this
    /// change, and every reader from then on must see it. A legacy session may be told twice of what it subscribed to, so
    /// there only what was acknowledged must be seen.
    pub(crate) fn watch(
        &self,
        step: &Step,
        table: usize,
        row: usize,
        writer_node: usize,
    ) -> Result<(), Failure> {
        let watcher = Who { tenant: step.tenant, agent: step.agent };
        let writer = Who { tenant: step.tenant, agent: Agent::Writer };
        let ids = self.with(step.tenant, |tenant| tenant.table_id(table).zip(tenant.row_id(table, row)));
        let Some((table_id, row_id)) = ids else { return self.pass_over() };
        let (before, uri) = (self.before(watcher), rows_uri(&table_id));
        let floors = self.floors(step.tenant);
        let listener = match self.listen(watcher, step.node, step.era, &uri)? {
            Ok(listener) => listener,
            // What is not there cannot be listened to; that it is there is checked by a read.
            Err(Answer::Refused(_)) => {
                return self
                    .with(step.tenant, |tenant| tenant.data.see_no_table(&floors, table))
                    .map_err(|seen| self.differs(step.tenant, step.node, seen));
            }
            Err(_) => return Ok(()),
        };
        let opened = Instant::now();
        let (revision, mark) = self.with(step.tenant, |tenant| {
            (tenant.object(Thing::Row(table, row)).issue(true), tenant.data.marker.clone())
        });
        let arguments =
            json!({"tableId": table_id, "recordId": row_id, "data": {"mark": mark, "revision": revision}});
        let params = json!({"name": "backend_data_update", "arguments": arguments});
        // Set once nothing needs to be heard of any more.
        let failed = AtomicBool::new(false);
        let (written, heard) = std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let written = self.ask(writer, writer_node, step.era, "tools/call", &params);
                let taken = written.and_then(|answer| {
                    self.take_write(step, Thing::Row(table, row), revision, &answer)?;
                    Ok(answer)
                });
                failed.store(!matches!(taken, Ok(Answer::Result(_))), Ordering::Release);
                taken
            });
            let heard = self.follow(step, &listener, &uri, (table, row, revision), opened, &failed);
            let broken = |_| Err(Failure::broken("a thread that writes", "it panicked"));
            (writing.join().unwrap_or_else(broken), heard)
        });
        let (written, heard) = (written?, heard?);
        self.refuse_strange_messages(step.tenant, &listener, &uri)?;
        let is_over_for_a_reason = self.is_killed(step.node) || self.is_disturbed(watcher, &before);
        match (heard, &written) {
            (Waited::Heard, Answer::Refused(_) | Answer::Barred) if step.era == Era::Modern => {
                Err(Failure::new("no notification, since the write was refused", "one came"))
            }
            (Waited::Silence, Answer::Result(_)) => {
                Err(Failure::new(format!("{step}: a notification of the acknowledged change"), "none came"))
            }
            (Waited::Over, _) if !is_over_for_a_reason => {
                Err(Failure::new(format!("{step}: a stream that lasts"), "it ended"))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the notification, then reads through both nodes.
    fn follow(
        &self,
        step: &Step,
        listener: &Listener,
        uri: &str,
        (table, row, revision): (usize, usize, usize),
        since: Instant,
        failed: &AtomicBool,
    ) -> Result<Waited, Failure> {
        let waited = listener.wait(uri, since, || failed.load(Ordering::Acquire));
        if waited != Waited::Heard {
            return Ok(waited);
        }
        if let (Fault::KillOnNotice { node }, Era::Modern) = (self.fault, step.era) {
            self.nodes[node].kill();
        }
        let reader = Who { tenant: step.tenant, agent: step.agent };
        let mut floors = self.floors(step.tenant);
        if step.era == Era::Modern {
            floors.entry(table).or_default().raise_row(row, revision);
        }
        for node in [1 - step.node, step.node] {
            let answer = self.ask(reader, node, step.era, "resources/read", &json!({"uri": uri}))?;
            let Some(page) = result_of(&answer).and_then(contents) else { continue };
            self.with(step.tenant, |tenant| tenant.data.see_rows(&floors, table, &page)).map_err(|seen| {
                Failure::new(format!("node {node} shows what the notification told of, or newer"), seen)
            })?;
            self.world().notices_followed += 1;
        }
        Ok(waited)
    }

    /// A stream tells of what was subscribed to, and of nothing else.
    pub(crate) fn refuse_strange_messages(
        &self,
        tenant: usize,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), Failure> {
        for message in listener.messages() {
            self.refuse_leaks(tenant, "a notification", &message)?;
            let parsed: serde_json::Value = serde_json::from_str(&message).unwrap_or_default();
            let told = &parsed["params"]["uri"];
            if parsed["method"] == "notifications/resources/updated" && told != uri {
                return Err(Failure::new(format!("notifications of {uri}"), message));
            }
        }
        Ok(())
    }
}
