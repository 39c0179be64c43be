//! `audit://events`: audit events, newest first, in pages of bounded work; and one event with its proof.

use quad_core::{Address, Content, Error, ReadOutput, ReadSet, Result, TenantId, Timestamp, cursor};
use quad_store::audit::{Filter, lookup, query};
use quad_store::{AuditEvent, Sql};
use serde_json::{Map, Value};

use crate::{limits, proof};

/// The outcomes of calls.
pub(crate) const OUTCOMES: &[&str] = &["ok", "refused", "failed"];

/// The filter of a URI of events.
pub(crate) struct EventQuery {
    filter: Filter,
    /// The list that a cursor belongs to: one filter of one tenant.
    cursor_scope: String,
    before_sequence: Option<i64>,
}

impl EventQuery {
    pub(crate) fn new(tenant: &TenantId, address: &Address) -> Result<EventQuery> {
        let text = |name: &str| address.variable(name).map(str::to_owned);
        let time = |name: &str| address.variable(name).map(|value| parse_time(name, value)).transpose();
        let filter = Filter {
            actor: text("agent"),
            uri: text("uri"),
            action: None,
            outcome: text("outcome"),
            since: time("since")?,
            until: time("until")?,
        };
        let cursor_scope = format!("audit of {tenant} {filter:?}");
        let before_sequence = match address.variable("cursor") {
            None => None,
            Some(cursor) => {
                let sequence = cursor::decode(&cursor_scope, cursor)?.parse();
                Some(
                    sequence
                        .map_err(|_| Error::bad_input("The cursor is damaged").with_code("INVALID_CURSOR"))?,
                )
            }
        };
        Ok(EventQuery { filter, cursor_scope, before_sequence })
    }
}

fn parse_time(name: &str, value: &str) -> Result<Timestamp> {
    Timestamp::parse(value).ok_or_else(|| {
        Error::bad_input(format!("{name} is not a valid time"))
            .hint("Use a time such as 2026-02-12T08:30:00Z, or 2026-02-12 for midnight UTC")
    })
}

/// Reads a page of events.
pub(crate) fn read_page(sql: &mut dyn Sql, query: &EventQuery) -> Result<ReadOutput> {
    let page = query::page(sql, &query.filter, query.before_sequence, limits::EVENTS_RETURNED_MAX)?;
    let mut document = Map::new();
    let events = page.events.iter().map(event_json).collect::<Result<Vec<_>>>()?;
    document.insert("events".into(), events.into());
    if let Some(next) = page.next {
        document.insert("nextCursor".into(), cursor::encode(&query.cursor_scope, &next.to_string()).into());
    }
    to_output(sql, &Value::Object(document))
}

/// Reads one event with its proof.
pub(crate) fn read_event(sql: &mut dyn Sql, id: &str, requested: &str) -> Result<ReadOutput> {
    let event = lookup::event_by_id(sql, id)?.ok_or_else(|| Error::not_found(requested))?;
    let document = proof::document(sql, &event)?;
    to_output(sql, &document)
}

/// The JSON of an event in a list: the twenty hashed fields, `null` included, and `address`, `sequence` and
/// `event_hash`. Without these three, with sorted keys and without spaces, it is the text that was hashed.
pub fn event_json(event: &AuditEvent) -> Result<Value> {
    let record: Map<String, Value> = serde_json::from_str(&event.record).map_err(Error::internal)?;
    let mut entry = Map::new();
    entry.insert("id".into(), event.id.as_str().into());
    entry.insert("address".into(), format!("audit://events/{}", event.id).into());
    entry.insert("sequence".into(), event.sequence.into());
    entry.extend(record);
    entry.insert("event_hash".into(), event.hash.as_str().into());
    Ok(Value::Object(entry))
}

/// The answer has no tags: it changes with every call, including the read itself, and has no subscribers.
fn to_output(sql: &mut dyn Sql, document: &Value) -> Result<ReadOutput> {
    let read_set = ReadSet::at_version(sql.version());
    Ok(ReadOutput { cacheable: false, ..ReadOutput::new(Content::json(document)?, read_set) })
}
