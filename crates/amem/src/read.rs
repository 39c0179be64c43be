//! Reads: the document of each resource, and what it depends on.

use quad_core::{
    Address, Content, Error, JsonObjectWriter, JsonText, Kind, ReadOutput, ReadSet, Result, cursor,
};
use quad_store::Sql;
use serde_json::{Value, json};

use crate::edge::{self, Direction, EdgeTypeSet};
use crate::event_type::EventType;
use crate::graph_cache::{GraphCache, GraphReader};
use crate::list::{self, Page};
use crate::node::{self, NodeId, OutputField};
use crate::routes::Resource;
use crate::search::{Engine, Filter};
use crate::search_results::SearchRequest;
use crate::session::{self, SessionId};
use crate::traversal::{self, Neighborhood};
use crate::{counters, errors, limits, micros, tags};

/// A read request: the resource and its typed variables, owned so that a closure can move it.
#[derive(Clone, Debug)]
pub(crate) enum ReadRequest {
    Stats,
    Recent,
    Important,
    Node(NodeId),
    Neighborhood { id: NodeId, depth: usize },
    Session { id: SessionId, page: Page },
    Type { event_type: EventType, page: Page },
    Sessions { before: Option<SessionId>, limit: usize },
    Search { search: SearchRequest, cursor: Option<String> },
}

impl ReadRequest {
    pub(crate) fn new(resource: Resource, address: &Address) -> Result<ReadRequest> {
        let number = |name: &str| address.variable(name).and_then(|value| value.parse::<u64>().ok());
        let cursor = address.variable("cursor");
        let limit = |max: usize| match number("limit") {
            None => Ok(max),
            Some(limit) if (1..=max as u64).contains(&limit) => Ok(limit as usize),
            Some(_) => Err(errors::invalid_argument("limit", format!("must be 1 to {max}"))),
        };
        let page = |scope: &str| -> Result<Page> {
            Ok(Page { after: list::decode_cursor(scope, cursor)?, limit: limit(limits::PAGE_NODES)? })
        };
        let node = || NodeId::from_u64_saturating(number("id").unwrap_or(u64::MAX));
        Ok(match resource {
            Resource::Stats => ReadRequest::Stats,
            Resource::Recent => ReadRequest::Recent,
            Resource::Important => ReadRequest::Important,
            Resource::Node => ReadRequest::Node(node()),
            Resource::Neighborhood => {
                let depth = number("depth").unwrap_or(traversal::DEFAULT_DEPTH as u64);
                if !(1..=limits::MAX_NEIGHBORHOOD_DEPTH as u64).contains(&depth) {
                    return Err(errors::invalid_argument(
                        "depth",
                        format!("must be 1 to {}", limits::MAX_NEIGHBORHOOD_DEPTH),
                    ));
                }
                ReadRequest::Neighborhood { id: node(), depth: depth as usize }
            }
            Resource::Session => {
                let id =
                    number("id").and_then(|id| u32::try_from(id).ok()).map(SessionId).ok_or_else(|| {
                        Error::new(
                            Kind::BadInput,
                            "INVALID_URI",
                            "A session is a whole number below 4294967296",
                        )
                        .with_uri(address.requested())
                    })?;
                ReadRequest::Session { id, page: page(&list::session_cursor_scope(id))? }
            }
            Resource::Type => {
                let event_type = EventType::parse_arg(address.variable("type").unwrap_or_default())?;
                ReadRequest::Type { event_type, page: page(&list::type_cursor_scope(event_type))? }
            }
            Resource::Sessions => {
                let before = match cursor {
                    None => None,
                    Some(cursor) => {
                        let key = cursor::decode(SESSIONS_CURSOR_SCOPE, cursor)?.parse();
                        Some(SessionId(
                            key.map_err(|_| errors::invalid_argument("cursor", "is not of this list"))?,
                        ))
                    }
                };
                ReadRequest::Sessions { before, limit: limit(limits::PAGE_SESSIONS)? }
            }
            Resource::Search => {
                let text = address.variable("q").unwrap_or_default().trim();
                if text.is_empty() {
                    return Err(errors::invalid_argument(
                        "q",
                        "says what to look for, such as amem://search?q=rate%20limit",
                    ));
                }
                let types = address.variable("type").map(EventType::parse_arg).transpose()?;
                let session = number("session").map(|id| {
                    u32::try_from(id).map_err(|_| {
                        errors::invalid_argument("session", "must be a whole number below 4294967296")
                    })
                });
                let filter = Filter {
                    event_types: types.into_iter().map(|event_type| event_type as u8).collect(),
                    sessions: session.transpose()?.into_iter().collect(),
                    ..Filter::default()
                };
                let limit = match address.variable("limit") {
                    None => limits::SEARCH_DEFAULT,
                    Some(_) => limit(limits::RESULTS_MAX)?,
                };
                let search =
                    SearchRequest { text: text.to_owned(), filter, limit, include_superseded: false };
                ReadRequest::Search { search, cursor: cursor.map(str::to_owned) }
            }
        })
    }
}

/// The cursor scope of the list of sessions.
const SESSIONS_CURSOR_SCOPE: &str = "amem sessions";

/// Reads a resource.
pub(crate) fn read_resource(
    sql: &mut dyn Sql,
    engine: &Engine,
    graph_cache: &GraphCache,
    request: &ReadRequest,
) -> Result<ReadOutput> {
    let now = micros::now();
    let basis = ReadSet::at_version(sql.version());
    let (document, basis): (JsonText, ReadSet) = match request {
        ReadRequest::Stats => (counters::read(sql)?.to_json().into(), basis.with_tag(tags::counters())),
        ReadRequest::Recent => (list::recent(sql, now)?.into(), basis.with_tag(tags::nodes())),
        ReadRequest::Important => {
            let basis = basis.with_tag(tags::nodes());
            let content = Content::from_json_text(list::important(sql, now)?.into());
            return Ok(ReadOutput { cacheable: false, ..ReadOutput::new(content, basis) });
        }
        ReadRequest::Node(id) => return read_node(sql, *id, now, basis),
        ReadRequest::Neighborhood { id, depth } => {
            let neighborhood = Neighborhood::load(&mut GraphReader::new(sql, graph_cache)?, *id, *depth, 0)?;
            (neighborhood.document(now).into(), neighborhood.add_dependencies(basis))
        }
        ReadRequest::Session { id, page } => {
            (list::nodes_of_session(sql, *id, *page, now)?.into(), basis.with_tag(tags::session(*id)))
        }
        ReadRequest::Type { event_type, page } => (
            list::nodes_of_type(sql, *event_type, *page, now)?.into(),
            basis.with_tag(tags::event_type(*event_type)),
        ),
        ReadRequest::Sessions { before, limit } => {
            let mut basis = basis.with_tag(tags::sessions());
            // Each entry shows its number of nodes. A new node makes the list stale but does not notify
            // subscribers.
            basis.silent_tags.insert(tags::nodes());
            (sessions_json(sql, *before, *limit)?.into(), basis)
        }
        ReadRequest::Search { search, cursor } => {
            (search.text_json(engine, sql, cursor.as_deref(), now)?.into(), basis.with_tag(tags::nodes()))
        }
    };
    Ok(ReadOutput::new(Content::from_json_text(document), basis))
}

/// Checks that a resource exists, and returns what that depends on. For a node and its neighborhood the node's row
/// is enough. Links are not followed here: a link can lead to another neighborhood and back to this one, without
/// end.
pub(crate) fn check_exists(
    sql: &mut dyn Sql,
    engine: &Engine,
    graph_cache: &GraphCache,
    request: &ReadRequest,
) -> Result<ReadSet> {
    match request {
        ReadRequest::Node(id) | ReadRequest::Neighborhood { id, .. } => {
            node::get(sql, *id)?;
            Ok(ReadSet::at_version(sql.version()).with_tag(tags::node(*id)).with_tag(tags::any_node()))
        }
        request => Ok(read_resource(sql, engine, graph_cache, request)?.read_set),
    }
}

/// `amem://node/{id}`. Reading it is an access. The document already counts it, and a side effect of the read's
/// audit event stores it.
fn read_node(sql: &mut dyn Sql, id: NodeId, now: i64, basis: ReadSet) -> Result<ReadOutput> {
    const FIELDS: [OutputField; 10] = [
        OutputField::Id,
        OutputField::EventType,
        OutputField::Content,
        OutputField::Confidence,
        OutputField::Session,
        OutputField::Created,
        OutputField::Accesses,
        OutputField::LastAccessed,
        OutputField::Decay,
        OutputField::SupersededBy,
    ];
    let (mut node, mut packed_edges) = node::get_with_edges(sql, id)?;
    let access_update = node.touch(now);
    let mut document = JsonObjectWriter::with_capacity(node.content.len() + 512);
    node.write_json(&mut document, &FIELDS, now);
    for (direction, name, cut_flag) in [
        (Direction::Outgoing, "outgoing_edges", "outgoing_edges_cut"),
        (Direction::Incoming, "incoming_edges", "incoming_edges_cut"),
    ] {
        let mut edges = match packed_edges.take().filter(|_| direction == Direction::Outgoing) {
            Some(packed) => packed,
            None => edge::for_node(sql, id, direction, EdgeTypeSet::ALL, limits::NODE_EDGES + 1)?,
        };
        let is_cut = edges.len() > limits::NODE_EDGES;
        edges.truncate(limits::NODE_EDGES);
        document.put_array(name, &edges, |object, edge| edge.write_json_from(direction, object));
        if is_cut {
            document.put(cut_flag, true);
        }
    }
    let side_effect = quad_store::side_effect(id.0, move |tx| node::save_access(tx, &access_update, now));
    let basis = basis.with_tag(tags::node(id)).with_tag(tags::any_node());
    let output = ReadOutput::new(Content::from_json_text(document.into()), basis);
    Ok(ReadOutput { cacheable: false, side_effect: Some(side_effect), ..output })
}

/// `amem://sessions`, by descending id.
fn sessions_json(sql: &mut dyn Sql, before: Option<SessionId>, limit: usize) -> Result<Value> {
    let count = counters::read(sql)?.sessions;
    let mut page = session::page(sql, before, limit + 1)?;
    let has_more = page.len() > limit;
    page.truncate(limit);
    let sessions: Vec<Value> = page.iter().map(session::Session::to_json).collect();
    let mut document = json!({"count": count, "sessions": sessions});
    if let (true, Some(last), Some(document)) = (has_more, page.last(), document.as_object_mut()) {
        document
            .insert("next_cursor".into(), cursor::encode(SESSIONS_CURSOR_SCOPE, &last.id.to_string()).into());
    }
    Ok(document)
}
