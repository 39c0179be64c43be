//! `backend_data_*`.

use quad_core::tool::{Call, Called, Effect};
use quad_core::{Basis, Error, Need, Result, Timestamp, Tool, ToolOutput};
use quad_store::{Tx, Writer};
use serde_json::{Map, Value, json};

use super::{Arguments, answer, deleted, input, page_properties, place, read, string, table_path, unknown};
use crate::page::Page;
use crate::record::{self, NewRecord, Sort};
use crate::refusal::{self, invalid};
use crate::table::Table;
use crate::{Bkend, limits, routes, tags};

/// What other servers of this kind take and this one does not.
const NOT_AVAILABLE: [&str; 5] = ["andFilters", "orFilters", "search", "searchType", "select"];

pub(super) fn tools() -> Vec<Tool> {
    let tool = |name, title, description, input_schema, need, effect| Tool {
        name,
        title,
        description,
        input_schema,
        output_schema: None,
        need,
        effect,
        core: name != "backend_data_delete",
    };
    let record_id = || ("recordId", string("Record id (rec_…)"));
    let data = |description: &str| ("data", json!({"type": "object", "description": description}));
    let mut list = input(
        &[
            &table_path()[..],
            &page_properties(),
            &[
                ("sortBy", string("A field; createdAt unless said otherwise")),
                ("sortDirection", json!({"type": "string", "enum": ["asc", "desc"], "default": "desc"})),
            ],
        ]
        .concat(),
        &["tableId"],
    );
    if let Some(list) = list.as_object_mut() {
        // The tool itself refuses what it does not know, and can say more about it than a schema.
        list.remove("additionalProperties");
    }
    vec![
        tool(
            "backend_data_list",
            "List rows",
            "Lists a table's rows in pages, the newest first unless sorted otherwise.",
            list,
            routes::ROWS_READ,
            Effect::Reads,
        ),
        tool(
            "backend_data_get",
            "Get a row",
            "Shows one row of a table.",
            input(&[&table_path()[..], &[record_id()]].concat(), &["tableId", "recordId"]),
            routes::ROWS_READ,
            Effect::Reads,
        ),
        tool(
            "backend_data_create",
            "Create a row",
            "Adds a row to a table. Values are checked against the table's fields; id and times are set by the server.",
            input(&[&table_path()[..], &[data("Values by field name")]].concat(), &["tableId", "data"]),
            Need(&["table:data:create"]),
            Effect::Creates,
        ),
        tool(
            "backend_data_update",
            "Update a row",
            "Changes the fields that you send and leaves the others. null clears a field.",
            input(
                &[
                    &table_path()[..],
                    &[
                        record_id(),
                        data("Only what changes"),
                        ("ifUpdatedAt", string("Only if the row's updatedAt is still this")),
                    ],
                ]
                .concat(),
                &["tableId", "recordId", "data"],
            ),
            Need(&["table:data:update"]),
            Effect::Updates,
        ),
        tool(
            "backend_data_delete",
            "Delete a row",
            "Deletes one row. This cannot be undone.",
            input(&[&table_path()[..], &[record_id()]].concat(), &["tableId", "recordId"]),
            Need(&["table:data:delete"]),
            Effect::Deletes,
        ),
    ]
}

pub(super) async fn call(bkend: &Bkend, call: Call<'_>) -> Result<Called> {
    let arguments = Arguments::new(call.arguments.clone())?;
    match call.tool.name {
        "backend_data_list" => list(bkend, call, arguments).await,
        "backend_data_get" => {
            read(bkend, call.caller, move |sql| {
                let table = place::table(sql, &arguments)?;
                let basis =
                    Basis::at(sql.version()).on(tags::table(table.id.as_str())).on(tags::rows(table.id.as_str()));
                let found = record::find(sql, &table, arguments.required_id("recordId")?)?;
                Ok((shown(&table, found), basis))
            })
            .await
        }
        "backend_data_create" => {
            let new = NewRecord {
                id: None,
                data: data(&arguments)?,
                created_by: call.caller.subject.to_string(),
                created_at: None,
                updated_at: None,
            };
            write_rows(bkend, call, arguments, move |tx, table, _| {
                let created = record::insert(tx, table, &new)?;
                Ok(shown(table, created))
            })
            .await
        }
        "backend_data_update" => {
            let changes = data(&arguments)?;
            let if_updated_at = match arguments.id("ifUpdatedAt")? {
                None => None,
                Some(text) => Some(
                    Timestamp::parse(text).ok_or_else(|| invalid("ifUpdatedAt", "must be an updatedAt as you read it"))?,
                ),
            };
            write_rows(bkend, call, arguments, move |tx, table, arguments| {
                let id = arguments.required_id("recordId")?;
                let changed = record::update(tx, table, id, &changes, if_updated_at)?;
                Ok(shown(table, changed))
            })
            .await
        }
        "backend_data_delete" => {
            write_rows(bkend, call, arguments, |tx, table, arguments| {
                let id = arguments.required_id("recordId")?;
                record::delete(tx, table, id)?;
                Ok(deleted(id).link(routes::rows(&table.uri()), format!("{} rows", table.name)))
            })
            .await
        }
        name => Err(unknown(name)),
    }
}

/// A record as a result.
fn shown(table: &Table, record: Map<String, Value>) -> ToolOutput {
    answer(Value::Object(record)).link(routes::rows(&table.uri()), format!("{} rows", table.name))
}

fn data(arguments: &Arguments) -> Result<Map<String, Value>> {
    match arguments.root.get("data") {
        Some(Value::Object(data)) => Ok(data.clone()),
        None => Err(refusal::missing("data")),
        Some(_) => Err(invalid("data", "must be an object")),
    }
}

/// Writes a row, again from the start if the table's schema changed meanwhile.
async fn write_rows(
    bkend: &Bkend,
    call: Call<'_>,
    arguments: Arguments,
    work: impl FnMut(&mut Tx<'_>, &Table, &Arguments) -> Result<ToolOutput> + Clone + Send + 'static,
) -> Result<Called> {
    let writer = Writer::from(call.caller);
    let event = call.event.succeeded();
    let mut attempt = 1;
    loop {
        let (arguments, mut work) = (arguments.clone(), work.clone());
        let written = bkend
            .store
            .write(&writer, event.clone(), move |tx| {
                let table = place::table(tx, &arguments)?;
                work(tx, &table, &arguments)
            })
            .await;
        match written {
            Err(error) if record::is_outdated(&error) && attempt < limits::WRITE_ATTEMPTS => attempt += 1,
            written => return written.map(|(output, receipt)| Called::wrote(output, receipt)),
        }
    }
}

async fn list(bkend: &Bkend, call: Call<'_>, arguments: Arguments) -> Result<Called> {
    const KNOWN: [&str; 8] =
        ["organizationId", "projectId", "environmentId", "tableId", "page", "limit", "sortBy", "sortDirection"];
    for name in arguments.root.keys().map(String::as_str) {
        if NOT_AVAILABLE.contains(&name) {
            return Err(invalid(name, "this parameter is not available on this server")
                .hint("Leave it out: sort and page through the rows, and pick what you need yourself"));
        }
        if !KNOWN.contains(&name) {
            return Err(refusal::unknown("parameter named", name, KNOWN));
        }
    }
    if arguments.body.is_some() {
        return Err(Error::bad_input("backend_data_list takes no body").hint("Send the parameters themselves"));
    }
    let page = Page::from_arguments(&arguments.root)?;
    read(bkend, call.caller, move |sql| {
        let table = place::table(sql, &arguments)?;
        let basis = Basis::at(sql.version()).on(tags::table(table.id.as_str())).on(tags::rows(table.id.as_str()));
        let sort = Sort::read(&table, arguments.id("sortBy")?, arguments.id("sortDirection")?)?;
        let rows = record::page(sql, &table, page, &sort)?;
        let listed = page.envelope(rows, table.row_count);
        Ok((answer(listed).link(routes::rows(&table.uri()), format!("{} rows", table.name)), basis))
    })
    .await
}
