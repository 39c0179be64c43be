//! The actions of steps, and the checks of their replies.

use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Outcome, content_json};
use crate::failure::Failure;
use crate::model::field_name;
use crate::plan::{Action, ReadPath, Step};
use crate::round::RoundContext;
use crate::state::{Caller, ENVIRONMENT, ENVIRONMENT_URI, ObjectRef, TABLES_URI, rows_uri};

/// Errors caused by concurrent changes. The call had no effect.
const TRANSIENT_CODES: [&str; 2] = ["BUSY", "SCHEMA_CHANGED"];

impl RoundContext<'_> {
    /// Runs a step.
    pub fn perform(&self, step: &Step) -> Result<(), Failure> {
        let result = match step.action {
            Action::CreateTable(_)
            | Action::UpdateTable(_)
            | Action::AddField(_)
            | Action::DeleteTable(_)
            | Action::CreateRow(..)
            | Action::UpdateRow(..)
            | Action::DeleteRow(..) => self.write(step),
            Action::ReadRows(table, path) => self.read_rows(step, table, path),
            Action::ReadRow(table, row) => self.read_row(step, table, row),
            Action::ReadTables
            | Action::ReadTable(_)
            | Action::ReadEnvironment
            | Action::ReadContext
            | Action::ListResources => self.read(step),
            Action::Watch { table, row, writer_node } => self.watch(step, table, row, writer_node),
            Action::CrossTenantAccess { tenant, table, row } => {
                self.check_cross_tenant(step, tenant, table, row)
            }
            Action::Revoke | Action::Quarantine => self.revoke_and_check(step),
        };
        result.map_err(|failure| failure.with_step(step.number))
    }

    /// Counts a step whose target was lost or rejected.
    pub(crate) fn skip_step(&self) -> Result<(), Failure> {
        self.lock_state().skipped_steps += 1;
        Ok(())
    }

    fn write(&self, step: &Step) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let Some((object_ref, present, tool, mut arguments)) = self.with_tenant(step.tenant, |tenant| {
            let table_id = |table| tenant.table_id(table);
            Some(match step.action {
                Action::CreateTable(table) => {
                    let fields = json!([
                        {"name": "key", "type": "string", "required": true, "unique": true},
                        {"name": "revision", "type": "int", "required": true},
                        {"name": "mark", "type": "string", "required": true},
                    ]);
                    // The name is equal in every tenant, to detect a missing separation of tenants.
                    let arguments =
                        json!({"environmentId": ENVIRONMENT, "name": format!("t{table}"), "fields": fields});
                    (ObjectRef::Table(table), true, "backend_table_create", arguments)
                }
                Action::UpdateTable(table) => {
                    let arguments = json!({"tableId": table_id(table)?, "body": {}});
                    (ObjectRef::Table(table), true, "backend_table_update", arguments)
                }
                Action::AddField(table) => {
                    let id = table_id(table)?;
                    let field_index = tenant.data.tables.get(&table)?.fields.len();
                    let field = json!({"name": field_name(field_index), "type": "string"});
                    let arguments = json!({"tableId": id, "action": "add", "field": field});
                    (ObjectRef::Field(table, field_index), true, "backend_field_manage", arguments)
                }
                Action::DeleteTable(table) => (
                    ObjectRef::Table(table),
                    false,
                    "backend_table_delete",
                    json!({"tableId": table_id(table)?}),
                ),
                Action::CreateRow(table, row) => {
                    let data = json!({"key": format!("row {row}"), "mark": tenant.data.marker});
                    let arguments = json!({"tableId": table_id(table)?, "data": data});
                    (ObjectRef::Row(table, row), true, "backend_data_create", arguments)
                }
                Action::UpdateRow(table, row) => {
                    let data = json!({"mark": tenant.data.marker});
                    let id = tenant.row_id(table, row)?;
                    let arguments = json!({"tableId": table_id(table)?, "recordId": id, "data": data});
                    (ObjectRef::Row(table, row), true, "backend_data_update", arguments)
                }
                Action::DeleteRow(table, row) => {
                    let id = tenant.row_id(table, row)?;
                    let arguments = json!({"tableId": table_id(table)?, "recordId": id});
                    (ObjectRef::Row(table, row), false, "backend_data_delete", arguments)
                }
                _ => return None,
            })
        }) else {
            return self.skip_step();
        };
        let revision = self.with_tenant(step.tenant, |tenant| {
            let revision = tenant.object_mut(object_ref).begin_write(present);
            match object_ref {
                ObjectRef::Table(table) if present => {
                    let description = tenant.data.description(table, revision).into();
                    if arguments["body"].is_object() {
                        arguments["body"]["description"] = description;
                    } else {
                        arguments["description"] = description;
                    }
                }
                ObjectRef::Row(..) if present => arguments["data"]["revision"] = revision.into(),
                _ => {}
            }
            revision
        });
        let sent = Instant::now();
        let params = json!({"name": tool, "arguments": arguments});
        let outcome = self.call(caller, step.node, step.era, "tools/call", &params)?;
        let is_definition = matches!(object_ref, ObjectRef::Table(_) | ObjectRef::Field(..));
        if is_definition && matches!(outcome, Outcome::Result(_)) {
            self.with_tenant(step.tenant, |tenant| {
                tenant.last_table_change = tenant.last_table_change.max(Some(sent));
            });
        }
        self.apply_write_result(step, object_ref, revision, &outcome)
    }

    /// Updates the model with the reply to a write.
    pub(crate) fn apply_write_result(
        &self,
        step: &Step,
        object_ref: ObjectRef,
        revision: usize,
        outcome: &Outcome,
    ) -> Result<(), Failure> {
        match outcome {
            Outcome::Result(result) => {
                // A watching step writes as the writer, whichever agent it belongs to.
                let is_watch = matches!(step.action, Action::Watch { .. });
                if !is_watch && !step.action.is_allowed_for(step.agent) {
                    return Err(Failure::new("a refusal, for lack of the scope", result.to_string()));
                }
                let id = result["structuredContent"]["id"].as_str().map(str::to_owned);
                self.with_tenant(step.tenant, |tenant| {
                    tenant.object_mut(object_ref).mark_committed(revision);
                    let known_id = match object_ref {
                        ObjectRef::Table(table) => {
                            tenant.data.tables.get_mut(&table).map(|table| &mut table.id)
                        }
                        ObjectRef::Row(table, row) => Some(&mut tenant.row_mut(table, row).id),
                        ObjectRef::Field(..) => None,
                    };
                    if let (Some(known_id @ None), Some(id)) = (known_id, id) {
                        *known_id = Some(id);
                    }
                });
                Ok(())
            }
            Outcome::Rejected(error) => {
                self.with_tenant(step.tenant, |tenant| tenant.object_mut(object_ref).mark_rejected(revision));
                self.check_rejection(step, error)
            }
            Outcome::Unauthorized => {
                self.with_tenant(step.tenant, |tenant| tenant.object_mut(object_ref).mark_rejected(revision));
                Ok(())
            }
            // The write may be committed or not, until it is observed.
            Outcome::ServerError(_) | Outcome::NoReply(_) => Ok(()),
        }
    }

    fn check_rejection(&self, step: &Step, error: &Value) -> Result<(), Failure> {
        let lacks_scope = !step.action.is_allowed_for(step.agent);
        let is_transient = TRANSIENT_CODES.iter().any(|code| error["code"] == *code);
        if (lacks_scope && error["kind"] == "scope") || (!lacks_scope && is_transient) {
            return Ok(());
        }
        let expected = if lacks_scope { "a refusal, for lack of the scope" } else { "success" };
        Err(Failure::new(format!("{step}: {expected}"), error.to_string()))
    }

    fn read_rows(&self, step: &Step, table: usize, path: ReadPath) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let Some(id) = self.with_tenant(step.tenant, |tenant| tenant.table_id(table)) else {
            return self.skip_step();
        };
        let min_revisions = self.min_revisions(step.tenant);
        let (outcome, page) = match path {
            ReadPath::Tool => {
                let arguments = json!({"tableId": id, "limit": 100});
                let params = json!({"name": "backend_data_list", "arguments": arguments});
                let outcome = self.call(caller, step.node, step.era, "tools/call", &params)?;
                let page = result_of(&outcome).map(|result| result["structuredContent"].clone());
                (outcome, page)
            }
            ReadPath::Resource => {
                let params = json!({"uri": rows_uri(&id)});
                let outcome = self.call(caller, step.node, step.era, "resources/read", &params)?;
                let page = result_of(&outcome).and_then(content_json);
                (outcome, page)
            }
            ReadPath::Http => {
                let outcome = self.read_http(caller, step.node, &rows_uri(&id))?;
                let page = result_of(&outcome).and_then(content_json);
                (outcome, page)
            }
        };
        self.check_scope(step, &outcome)?;
        self.with_tenant(step.tenant, |tenant| match (&page, &outcome) {
            (Some(page), _) => tenant.data.check_rows(&min_revisions, table, page),
            (None, Outcome::Rejected(error)) if error["kind"] == "not_found" => {
                tenant.data.check_table_absent(&min_revisions, table)
            }
            (None, outcome) => check_not_failed(outcome),
        })
        .map_err(|observed| self.data_mismatch(step.tenant, step.node, observed))
    }

    fn read_row(&self, step: &Step, table: usize, row: usize) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let ids =
            self.with_tenant(step.tenant, |tenant| tenant.table_id(table).zip(tenant.row_id(table, row)));
        let Some((table_id, row_id)) = ids else { return self.skip_step() };
        let min_revisions = self.min_revisions(step.tenant);
        let arguments = json!({"tableId": table_id, "recordId": row_id});
        let params = json!({"name": "backend_data_get", "arguments": arguments});
        let outcome = self.call(caller, step.node, step.era, "tools/call", &params)?;
        self.check_scope(step, &outcome)?;
        self.with_tenant(step.tenant, |tenant| match &outcome {
            Outcome::Result(result) => tenant
                .data
                .check_row(&min_revisions, table, &result["structuredContent"])
                .and_then(|row_seen| {
                    if row_seen == row { Ok(()) } else { Err(format!("row {row_seen} instead of {row}")) }
                }),
            Outcome::Rejected(error) if error["kind"] == "not_found" => {
                tenant.data.check_row_absent(&min_revisions, table, row)
            }
            outcome => check_not_failed(outcome),
        })
        .map_err(|observed| self.data_mismatch(step.tenant, step.node, observed))
    }

    /// Reads lists and counts.
    fn read(&self, step: &Step) -> Result<(), Failure> {
        let caller = Caller { tenant: step.tenant, agent: step.agent };
        let uri = match step.action {
            Action::ReadTables => TABLES_URI.to_owned(),
            Action::ReadTable(table) => {
                match self.with_tenant(step.tenant, |tenant| tenant.table_id(table)) {
                    Some(id) => format!("{TABLES_URI}/{id}"),
                    None => return self.skip_step(),
                }
            }
            Action::ReadEnvironment => ENVIRONMENT_URI.to_owned(),
            Action::ReadContext => "bkend://context".to_owned(),
            _ => {
                self.call(caller, step.node, step.era, "resources/list", &json!({}))?;
                return Ok(());
            }
        };
        let min_revisions = self.min_revisions(step.tenant);
        let outcome = self.call(caller, step.node, step.era, "resources/read", &json!({"uri": uri}))?;
        self.check_scope(step, &outcome)?;
        let value = result_of(&outcome).and_then(content_json);
        self.with_tenant(step.tenant, |tenant| match (step.action, &value, &outcome) {
            (Action::ReadTables, Some(list), _) => tenant.data.check_tables(&min_revisions, list),
            (Action::ReadTable(_), Some(table), _) => {
                tenant.data.check_table(&min_revisions, table).map(|_| ())
            }
            (Action::ReadTable(table), None, Outcome::Rejected(error)) if error["kind"] == "not_found" => {
                tenant.data.check_table_absent(&min_revisions, table)
            }
            (Action::ReadEnvironment, Some(environment), _) => {
                let count = environment["tableCount"].as_u64().ok_or("no count of tables")?;
                tenant.data.check_table_count(&min_revisions, count as usize)
            }
            (_, Some(_), _) => Ok(()),
            (_, None, outcome) => check_not_failed(outcome),
        })
        .map_err(|observed| self.data_mismatch(step.tenant, step.node, observed))
    }

    /// An agent without the scope must be refused, and an agent with it must not.
    pub(crate) fn check_scope(&self, step: &Step, outcome: &Outcome) -> Result<(), Failure> {
        let is_allowed = step.action.is_allowed_for(step.agent);
        match outcome {
            Outcome::Result(result) if !is_allowed => {
                Err(Failure::new("a refusal, for lack of the scope", result.to_string()))
            }
            Outcome::Rejected(error) if is_allowed == (error["kind"] == "scope") => {
                Err(Failure::new(format!("{step}: an answer by scope"), error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The result of a successful reply.
pub(crate) fn result_of(outcome: &Outcome) -> Option<&Value> {
    match outcome {
        Outcome::Result(result) => Some(result),
        _ => None,
    }
}

/// Checks a reply without contents. Most of these replies were checked when they were received.
fn check_not_failed(outcome: &Outcome) -> Result<(), String> {
    match outcome {
        Outcome::Result(result) => Err(format!("an answer without contents: {result}")),
        Outcome::Rejected(error)
            if error["kind"] != "scope" && !TRANSIENT_CODES.iter().any(|code| error["code"] == *code) =>
        {
            Err(error.to_string())
        }
        _ => Ok(()),
    }
}
