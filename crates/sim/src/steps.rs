//! What a step does, and what of its answer is checked.

use std::time::Instant;

use serde_json::{Value, json};

use crate::client::{Answer, contents};
use crate::failure::Failure;
use crate::model::field_name;
use crate::plan::{Action, Step, Way};
use crate::stage::Stage;
use crate::world::{ENVIRONMENT, ENVIRONMENT_URI, TABLES_URI, Thing, Who, rows_uri};

/// Refusals that are nobody's fault: it was tried while too much else changed, and nothing was done.
const MAY_HAPPEN: [&str; 2] = ["BUSY", "SCHEMA_CHANGED"];

impl Stage<'_> {
    /// Does a step.
    pub fn perform(&self, step: &Step) -> Result<(), Failure> {
        let done = match step.action {
            Action::CreateTable(_)
            | Action::UpdateTable(_)
            | Action::AddField(_)
            | Action::DeleteTable(_)
            | Action::CreateRow(..)
            | Action::UpdateRow(..)
            | Action::DeleteRow(..) => self.write(step),
            Action::ReadRows(table, way) => self.read_rows(step, table, way),
            Action::ReadRow(table, row) => self.read_row(step, table, row),
            Action::ReadTables
            | Action::ReadTable(_)
            | Action::ReadEnvironment
            | Action::ReadContext
            | Action::List => self.read(step),
            Action::Watch { table, row, writer } => self.watch(step, table, row, writer),
            Action::Trespass { tenant, table, row } => self.trespass(step, tenant, table, row),
            Action::Revoke | Action::Quarantine => self.withdraw(step),
        };
        done.map_err(|failure| failure.at(step.number))
    }

    /// A step that has nothing to act on, since what it was for was lost or refused.
    pub(crate) fn pass_over(&self) -> Result<(), Failure> {
        self.world().passed_over += 1;
        Ok(())
    }

    fn write(&self, step: &Step) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let Some((thing, present, tool, mut arguments)) = self.with(step.tenant, |tenant| {
            let table_id = |table| tenant.table_id(table);
            Some(match step.action {
                Action::CreateTable(table) => {
                    let fields = json!([
                        {"name": "key", "type": "string", "required": true, "unique": true},
                        {"name": "revision", "type": "int", "required": true},
                        {"name": "mark", "type": "string", "required": true},
                    ]);
                    // The same name in every tenant, so that what is not kept apart gets mixed up.
                    let arguments =
                        json!({"environmentId": ENVIRONMENT, "name": format!("t{table}"), "fields": fields});
                    (Thing::Table(table), true, "backend_table_create", arguments)
                }
                Action::UpdateTable(table) => {
                    let arguments = json!({"tableId": table_id(table)?, "body": {}});
                    (Thing::Table(table), true, "backend_table_update", arguments)
                }
                Action::AddField(table) => {
                    let id = table_id(table)?;
                    let place = tenant.data.tables.get(&table)?.fields.len();
                    let field = json!({"name": field_name(place), "type": "string"});
                    let arguments = json!({"tableId": id, "action": "add", "field": field});
                    (Thing::Field(table, place), true, "backend_field_manage", arguments)
                }
                Action::DeleteTable(table) => {
                    (Thing::Table(table), false, "backend_table_delete", json!({"tableId": table_id(table)?}))
                }
                Action::CreateRow(table, row) => {
                    let data = json!({"key": format!("row {row}"), "mark": tenant.data.marker});
                    let arguments = json!({"tableId": table_id(table)?, "data": data});
                    (Thing::Row(table, row), true, "backend_data_create", arguments)
                }
                Action::UpdateRow(table, row) => {
                    let data = json!({"mark": tenant.data.marker});
                    let id = tenant.row_id(table, row)?;
                    let arguments = json!({"tableId": table_id(table)?, "recordId": id, "data": data});
                    (Thing::Row(table, row), true, "backend_data_update", arguments)
                }
                Action::DeleteRow(table, row) => {
                    let id = tenant.row_id(table, row)?;
                    let arguments = json!({"tableId": table_id(table)?, "recordId": id});
                    (Thing::Row(table, row), false, "backend_data_delete", arguments)
                }
                _ => return None,
            })
        }) else {
            return self.pass_over();
        };
        let revision = self.with(step.tenant, |tenant| {
            let revision = tenant.object(thing).issue(present);
            match thing {
                Thing::Table(table) if present => {
                    let description = tenant.data.description(table, revision).into();
                    if arguments["body"].is_object() {
                        arguments["body"]["description"] = description;
                    } else {
                        arguments["description"] = description;
                    }
                }
                Thing::Row(..) if present => arguments["data"]["revision"] = revision.into(),
                _ => {}
            }
            revision
        });
        let sent = Instant::now();
        let params = json!({"name": tool, "arguments": arguments});
        let answer = self.ask(who, step.node, step.era, "tools/call", &params)?;
        let is_definition = matches!(thing, Thing::Table(_) | Thing::Field(..));
        if is_definition && matches!(answer, Answer::Result(_)) {
            self.with(step.tenant, |tenant| {
                tenant.last_table_change = tenant.last_table_change.max(Some(sent));
            });
        }
        self.take_write(step, thing, revision, &answer)
    }

    /// Takes the answer to a write.
    pub(crate) fn take_write(
        &self,
        step: &Step,
        thing: Thing,
        revision: usize,
        answer: &Answer,
    ) -> Result<(), Failure> {
        match answer {
            Answer::Result(result) => {
                // A watcher writes in the writer's name, whoever it is itself.
                let is_watch = matches!(step.action, Action::Watch { .. });
                if !is_watch && !step.action.is_open_to(step.agent) {
                    return Err(Failure::new("a refusal, for lack of the scope", result.to_string()));
                }
                let id = result["structuredContent"]["id"].as_str().map(str::to_owned);
                self.with(step.tenant, |tenant| {
                    tenant.object(thing).done(revision);
                    let known = match thing {
                        Thing::Table(table) => tenant.data.tables.get_mut(&table).map(|table| &mut table.id),
                        Thing::Row(table, row) => Some(&mut tenant.row(table, row).id),
                        Thing::Field(..) => None,
                    };
                    if let (Some(known @ None), Some(id)) = (known, id) {
                        *known = Some(id);
                    }
                });
                Ok(())
            }
            Answer::Refused(error) => {
                self.with(step.tenant, |tenant| tenant.object(thing).void(revision));
                self.expect_refusal(step, error)
            }
            Answer::Barred => {
                self.with(step.tenant, |tenant| tenant.object(thing).void(revision));
                Ok(())
            }
            // It may be there or not, until somebody has looked.
            Answer::Faulty(_) | Answer::Lost(_) => Ok(()),
        }
    }

    fn expect_refusal(&self, step: &Step, error: &Value) -> Result<(), Failure> {
        let lacks_scope = !step.action.is_open_to(step.agent);
        let may_happen = MAY_HAPPEN.iter().any(|code| error["code"] == *code);
        if (lacks_scope && error["kind"] == "scope") || (!lacks_scope && may_happen) {
            return Ok(());
        }
        let expected = if lacks_scope { "a refusal, for lack of the scope" } else { "success" };
        Err(Failure::new(format!("{step}: {expected}"), error.to_string()))
    }

    fn read_rows(&self, step: &Step, table: usize, way: Way) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let Some(id) = self.with(step.tenant, |tenant| tenant.table_id(table)) else {
            return self.pass_over();
        };
        let floors = self.floors(step.tenant);
        let (answer, page) = match way {
            Way::Tool => {
                let arguments = json!({"tableId": id, "limit": 100});
                let params = json!({"name": "backend_data_list", "arguments": arguments});
                let answer = self.ask(who, step.node, step.era, "tools/call", &params)?;
                let page = result_of(&answer).map(|result| result["structuredContent"].clone());
                (answer, page)
            }
            Way::Resource => {
                let params = json!({"uri": rows_uri(&id)});
                let answer = self.ask(who, step.node, step.era, "resources/read", &params)?;
                let page = result_of(&answer).and_then(contents);
                (answer, page)
            }
            Way::Plain => {
                let answer = self.ask_plainly(who, step.node, &rows_uri(&id))?;
                let page = result_of(&answer).and_then(contents);
                (answer, page)
            }
        };
        self.expect_scope(step, &answer)?;
        self.with(step.tenant, |tenant| match (&page, &answer) {
            (Some(page), _) => tenant.data.see_rows(&floors, table, page),
            (None, Answer::Refused(error)) if error["kind"] == "not_found" => {
                tenant.data.see_no_table(&floors, table)
            }
            (None, answer) => unless_excused(answer),
        })
        .map_err(|seen| self.differs(step.tenant, step.node, seen))
    }

    fn read_row(&self, step: &Step, table: usize, row: usize) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let ids = self.with(step.tenant, |tenant| tenant.table_id(table).zip(tenant.row_id(table, row)));
        let Some((table_id, row_id)) = ids else { return self.pass_over() };
        let floors = self.floors(step.tenant);
        let arguments = json!({"tableId": table_id, "recordId": row_id});
        let params = json!({"name": "backend_data_get", "arguments": arguments});
        let answer = self.ask(who, step.node, step.era, "tools/call", &params)?;
        self.expect_scope(step, &answer)?;
        self.with(step.tenant, |tenant| match &answer {
            Answer::Result(result) => {
                tenant.data.see_row(&floors, table, &result["structuredContent"]).and_then(|seen| {
                    if seen == row { Ok(()) } else { Err(format!("row {seen} instead of {row}")) }
                })
            }
            Answer::Refused(error) if error["kind"] == "not_found" => {
                tenant.data.see_no_row(&floors, table, row)
            }
            answer => unless_excused(answer),
        })
        .map_err(|seen| self.differs(step.tenant, step.node, seen))
    }

    /// The addresses that hold lists and counts.
    fn read(&self, step: &Step) -> Result<(), Failure> {
        let who = Who { tenant: step.tenant, agent: step.agent };
        let uri = match step.action {
            Action::ReadTables => TABLES_URI.to_owned(),
            Action::ReadTable(table) => match self.with(step.tenant, |tenant| tenant.table_id(table)) {
                Some(id) => format!("{TABLES_URI}/{id}"),
                None => return self.pass_over(),
            },
            Action::ReadEnvironment => ENVIRONMENT_URI.to_owned(),
            Action::ReadContext => "bkend://context".to_owned(),
            _ => {
                self.ask(who, step.node, step.era, "resources/list", &json!({}))?;
                return Ok(());
            }
        };
        let floors = self.floors(step.tenant);
        let answer = self.ask(who, step.node, step.era, "resources/read", &json!({"uri": uri}))?;
        self.expect_scope(step, &answer)?;
        let value = result_of(&answer).and_then(contents);
        self.with(step.tenant, |tenant| match (step.action, &value, &answer) {
            (Action::ReadTables, Some(list), _) => tenant.data.see_tables(&floors, list),
            (Action::ReadTable(_), Some(table), _) => tenant.data.see_table(&floors, table).map(|_| ()),
            (Action::ReadTable(table), None, Answer::Refused(error)) if error["kind"] == "not_found" => {
                tenant.data.see_no_table(&floors, table)
            }
            (Action::ReadEnvironment, Some(environment), _) => {
                let count = environment["tableCount"].as_u64().ok_or("no count of tables")?;
                tenant.data.see_table_count(&floors, count as usize)
            }
            (_, Some(_), _) => Ok(()),
            (_, None, answer) => unless_excused(answer),
        })
        .map_err(|seen| self.differs(step.tenant, step.node, seen))
    }

    /// Whoever lacks the scope learns nothing, and whoever has it is not told otherwise.
    pub(crate) fn expect_scope(&self, step: &Step, answer: &Answer) -> Result<(), Failure> {
        let is_open = step.action.is_open_to(step.agent);
        match answer {
            Answer::Result(result) if !is_open => {
                Err(Failure::new("a refusal, for lack of the scope", result.to_string()))
            }
            Answer::Refused(error) if is_open == (error["kind"] == "scope") => {
                Err(Failure::new(format!("{step}: an answer by scope"), error.to_string()))
            }
            _ => Ok(()),
        }
    }
}

/// The result of an answer.
pub(crate) fn result_of(answer: &Answer) -> Option<&Value> {
    match answer {
        Answer::Result(result) => Some(result),
        _ => None,
    }
}

/// An answer without contents: most have been judged already where they came in.
fn unless_excused(answer: &Answer) -> Result<(), String> {
    match answer {
        Answer::Result(result) => Err(format!("an answer without contents: {result}")),
        Answer::Refused(error)
            if error["kind"] != "scope" && !MAY_HAPPEN.iter().any(|code| error["code"] == *code) =>
        {
            Err(error.to_string())
        }
        _ => Ok(()),
    }
}
