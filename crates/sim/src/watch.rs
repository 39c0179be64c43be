//! Subscribing, writing, and reading after the notification: the main guarantee.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use serde_json::json;

use crate::client::{Outcome, content_json};
use crate::failure::Failure;
use crate::listener::{Listener, WaitResult};
use crate::plan::{Agent, Era, Fault, Step};
use crate::round::RoundContext;
use crate::state::{Caller, ObjectRef, rows_uri};
use crate::steps::result_of;

impl RoundContext<'_> {
    /// Subscribes to a table's rows, updates one of them, and reads through both nodes as soon as the notification
    /// arrives, whether or not the writer has its reply.
    ///
    /// No other step writes to that table in this round, and the subscription is new. So a notification can only mean
    /// this change, and every later read must return it. A legacy session may be notified twice of a URI, so there
    /// only the acknowledged revision must be returned.
    pub(crate) fn watch(
        &self,
        step: &Step,
        table: usize,
        row: usize,
        writer_node: usize,
    ) -> Result<(), Failure> {
        let watcher = Caller { tenant: step.tenant, agent: step.agent };
        let writer = Caller { tenant: step.tenant, agent: Agent::Writer };
        let ids =
            self.with_tenant(step.tenant, |tenant| tenant.table_id(table).zip(tenant.row_id(table, row)));
        let Some((table_id, row_id)) = ids else { return self.skip_step() };
        let (snapshot, uri) = (self.snapshot_caller(watcher), rows_uri(&table_id));
        let min_revisions = self.min_revisions(step.tenant);
        let listener = match self.subscribe(watcher, step.node, step.era, &uri)? {
            Ok(listener) => listener,
            // A missing resource cannot be subscribed to; a read checks that it is missing.
            Err(Outcome::Rejected(_)) => {
                return self
                    .with_tenant(step.tenant, |tenant| tenant.data.check_table_absent(&min_revisions, table))
                    .map_err(|observed| self.data_mismatch(step.tenant, step.node, observed));
            }
            Err(_) => return Ok(()),
        };
        let opened_at = Instant::now();
        let (revision, mark) = self.with_tenant(step.tenant, |tenant| {
            (tenant.object_mut(ObjectRef::Row(table, row)).begin_write(true), tenant.data.marker.clone())
        });
        let arguments =
            json!({"tableId": table_id, "recordId": row_id, "data": {"mark": mark, "revision": revision}});
        let params = json!({"name": "backend_data_update", "arguments": arguments});
        // Set when no notification is expected any more.
        let write_failed = AtomicBool::new(false);
        let (write_result, wait_result) = std::thread::scope(|scope| {
            let writer_thread = scope.spawn(|| {
                let call_result = self.call(writer, writer_node, step.era, "tools/call", &params);
                let apply_result = call_result.and_then(|outcome| {
                    self.apply_write_result(step, ObjectRef::Row(table, row), revision, &outcome)?;
                    Ok(outcome)
                });
                write_failed.store(!matches!(apply_result, Ok(Outcome::Result(_))), Ordering::Release);
                apply_result
            });
            let follow_result = self.read_after_notification(
                step,
                &listener,
                &uri,
                (table, row, revision),
                opened_at,
                &write_failed,
            );
            let thread_panicked = |_| Err(Failure::environment_error("a thread that writes", "it panicked"));
            (writer_thread.join().unwrap_or_else(thread_panicked), follow_result)
        });
        let (write_outcome, wait_result) = (write_result?, wait_result?);
        self.check_messages(step.tenant, &listener, &uri)?;
        let may_be_closed = self.is_killed(step.node) || self.credential_may_differ(&snapshot);
        match (wait_result, &write_outcome) {
            (WaitResult::Received, Outcome::Rejected(_) | Outcome::Unauthorized)
                if step.era == Era::Modern =>
            {
                Err(Failure::new("no notification, since the write was rejected", "one came"))
            }
            (WaitResult::TimedOut, Outcome::Result(_)) => {
                Err(Failure::new(format!("{step}: a notification of the acknowledged change"), "none came"))
            }
            (WaitResult::Closed, _) if !may_be_closed => {
                Err(Failure::new(format!("{step}: a stream that stays open"), "it ended"))
            }
            _ => Ok(()),
        }
    }

    /// Waits for the notification, then reads through both nodes.
    fn read_after_notification(
        &self,
        step: &Step,
        listener: &Listener,
        uri: &str,
        (table, row, revision): (usize, usize, usize),
        since: Instant,
        write_failed: &AtomicBool,
    ) -> Result<WaitResult, Failure> {
        let wait_result = listener.wait(uri, since, || write_failed.load(Ordering::Acquire));
        if wait_result != WaitResult::Received {
            return Ok(wait_result);
        }
        if let (Fault::KillOnNotification { node }, Era::Modern) = (self.fault, step.era) {
            self.nodes[node].kill();
        }
        let reader = Caller { tenant: step.tenant, agent: step.agent };
        let mut min_revisions = self.min_revisions(step.tenant);
        if step.era == Era::Modern {
            min_revisions.entry(table).or_default().raise_min_revision(row, revision);
        }
        for node in [1 - step.node, step.node] {
            let outcome = self.call(reader, node, step.era, "resources/read", &json!({"uri": uri}))?;
            let Some(page) = result_of(&outcome).and_then(content_json) else { continue };
            self.with_tenant(step.tenant, |tenant| tenant.data.check_rows(&min_revisions, table, &page))
                .map_err(|observed| {
                    Failure::new(
                        format!("node {node} shows what the notification told of, or newer"),
                        observed,
                    )
                })?;
            self.lock_state().notifications_checked += 1;
        }
        Ok(wait_result)
    }

    /// A stream must contain only notifications of the subscribed URI.
    pub(crate) fn check_messages(
        &self,
        tenant: usize,
        listener: &Listener,
        uri: &str,
    ) -> Result<(), Failure> {
        for message in listener.messages() {
            self.check_no_leak(tenant, "a notification", &message)?;
            let parsed: serde_json::Value = serde_json::from_str(&message).unwrap_or_default();
            let notified_uri = &parsed["params"]["uri"];
            if parsed["method"] == "notifications/resources/updated" && notified_uri != uri {
                return Err(Failure::new(format!("notifications of {uri}"), message));
            }
        }
        Ok(())
    }
}
