//! Reads: what each address holds, and what that rests on.

use quad_core::{Address, ReadSet, Content, Error, JsonText, Kind, JsonObjectWriter, ReadOutput, Result, cursor};
use quad_store::Sql;
use serde_json::{Value, json};

use crate::edge::{self, EdgeTypes, Side};
use crate::event_type::EventType;
use crate::finding::Search;
use crate::held::{Graph, Held};
use crate::list::{self, Page};
use crate::node::{self, Field, NodeId};
use crate::routes::Noun;
use crate::search::{Engine, Filter};
use crate::session::{self, SessionId};
use crate::walk::{self, Neighbourhood};
use crate::{limits, micros, refusal, stats, tags};

/// An address, taken apart into values that a closure can keep.
#[derive(Clone, Debug)]
pub(crate) enum Question {
    Stats,
    Recent,
    Important,
    Node(NodeId),
    Neighbourhood { id: NodeId, depth: usize },
    Session { id: SessionId, page: Page },
    Type { event_type: EventType, page: Page },
    Sessions { before: Option<SessionId>, limit: usize },
    Search { search: Search, cursor: Option<String> },
}

impl Question {
    pub(crate) fn new(noun: Noun, address: &Address) -> Result<Question> {
        let number = |name: &str| address.variable(name).and_then(|value| value.parse::<u64>().ok());
        let cursor = address.variable("cursor");
        let limit = |most: usize| match number("limit") {
            None => Ok(most),
            Some(limit) if (1..=most as u64).contains(&limit) => Ok(limit as usize),
            Some(_) => Err(refusal::invalid("limit", format!("must be 1 to {most}"))),
        };
        let page = |list: &str| -> Result<Page> {
            Ok(Page { after: list::after(list, cursor)?, limit: limit(limits::PAGE_NODES)? })
        };
        let node = || NodeId::of(number("id").unwrap_or(u64::MAX));
        Ok(match noun {
            Noun::Stats => Question::Stats,
            Noun::Recent => Question::Recent,
            Noun::Important => Question::Important,
            Noun::Node => Question::Node(node()),
            Noun::Neighbourhood => {
                let depth = number("depth").unwrap_or(walk::DEPTH_DEFAULT as u64);
                if !(1..=limits::CONTEXT_DEPTH as u64).contains(&depth) {
                    return Err(refusal::invalid("depth", format!("must be 1 to {}", limits::CONTEXT_DEPTH)));
                }
                Question::Neighbourhood { id: node(), depth: depth as usize }
            }
            Noun::Session => {
                let id =
                    number("id").and_then(|id| u32::try_from(id).ok()).map(SessionId).ok_or_else(|| {
                        Error::new(
                            Kind::BadInput,
                            "INVALID_URI",
                            "A session is a whole number below 4294967296",
                        )
                        .with_uri(address.requested())
                    })?;
                Question::Session { id, page: page(&list::session_list(id))? }
            }
            Noun::Type => {
                let event_type = EventType::expect(address.variable("type").unwrap_or_default())?;
                Question::Type { event_type, page: page(&list::type_list(event_type))? }
            }
            Noun::Sessions => {
                let before = match cursor {
                    None => None,
                    Some(cursor) => {
                        let key = cursor::decode(SESSIONS, cursor)?.parse();
                        Some(SessionId(key.map_err(|_| refusal::invalid("cursor", "is not of this list"))?))
                    }
                };
                Question::Sessions { before, limit: limit(limits::PAGE_SESSIONS)? }
            }
            Noun::Search => {
                let text = address.variable("q").unwrap_or_default().trim();
                if text.is_empty() {
                    return Err(refusal::invalid(
                        "q",
                        "says what to look for, such as amem://search?q=rate%20limit",
                    ));
                }
                let types = address.variable("type").map(EventType::expect).transpose()?;
                let session = number("session").map(|id| {
                    u32::try_from(id)
                        .map_err(|_| refusal::invalid("session", "must be a whole number below 4294967296"))
                });
                let filter = Filter {
                    event_types: types.into_iter().map(|kind| kind as u8).collect(),
                    sessions: session.transpose()?.into_iter().collect(),
                    ..Filter::default()
                };
                let limit = match address.variable("limit") {
                    None => limits::SEARCH_DEFAULT,
                    Some(_) => limit(limits::RESULTS_MAX)?,
                };
                let search = Search { text: text.to_owned(), filter, limit, superseded: false };
                Question::Search { search, cursor: cursor.map(str::to_owned) }
            }
        })
    }
}

/// The name under which cursors of the list of sessions are sealed.
const SESSIONS: &str = "amem sessions";

/// Reads what an address names.
pub(crate) fn read(sql: &mut dyn Sql, engine: &Engine, held: &Held, question: &Question) -> Result<ReadOutput> {
    let now = micros::now();
    let basis = ReadSet::at_version(sql.version());
    let (written, basis): (JsonText, ReadSet) = match question {
        Question::Stats => (stats::read(sql)?.document().into(), basis.with_tag(tags::stats())),
        Question::Recent => (list::recent(sql, now)?.into(), basis.with_tag(tags::nodes())),
        Question::Important => {
            let basis = basis.with_tag(tags::nodes());
            let content = Content::from_json_text(list::important(sql, now)?.into());
            return Ok(ReadOutput { cacheable: false, ..ReadOutput::new(content, basis) });
        }
        Question::Node(id) => return one(sql, *id, now, basis),
        Question::Neighbourhood { id, depth } => {
            let found = Neighbourhood::around(&mut Graph::new(sql, held)?, *id, *depth, 0)?;
            (found.document(now).into(), found.rests_on(basis))
        }
        Question::Session { id, page } => {
            (list::session(sql, *id, *page, now)?.into(), basis.with_tag(tags::session(*id)))
        }
        Question::Type { event_type, page } => {
            (list::of_type(sql, *event_type, *page, now)?.into(), basis.with_tag(tags::event_type(*event_type)))
        }
        Question::Sessions { before, limit } => {
            let mut basis = basis.with_tag(tags::sessions());
            // Each session shows how many nodes it has.
            basis.silent_tags.insert(tags::nodes());
            (sessions(sql, *before, *limit)?.into(), basis)
        }
        Question::Search { search, cursor } => {
            (search.by_words(engine, sql, cursor.as_deref(), now)?.into(), basis.with_tag(tags::nodes()))
        }
    };
    Ok(ReadOutput::new(Content::from_json_text(written), basis))
}

/// Whether an address is there, and what that rests on. A node and what lies around it are there if the node is, so neither its
/// edges nor its links are looked at; a link of it may lead to another neighborhood, and from there back.
pub(crate) fn probe(sql: &mut dyn Sql, engine: &Engine, held: &Held, question: &Question) -> Result<ReadSet> {
    match question {
        Question::Node(id) | Question::Neighbourhood { id, .. } => {
            node::expect(sql, *id)?;
            Ok(ReadSet::at_version(sql.version()).with_tag(tags::node(*id)).with_tag(tags::bulk()))
        }
        question => Ok(read(sql, engine, held, question)?.read_set),
    }
}

/// `amem://node/{id}`. Reading it is an access, which it shows already and which is written with the read's audit event.
fn one(sql: &mut dyn Sql, id: NodeId, now: i64, basis: ReadSet) -> Result<ReadOutput> {
    const FIELDS: [Field; 10] = [
        Field::Id,
        Field::EventType,
        Field::Content,
        Field::Confidence,
        Field::Session,
        Field::Created,
        Field::Accesses,
        Field::LastAccessed,
        Field::Decay,
        Field::SupersededBy,
    ];
    let (mut node, mut leaving) = node::expect_leaving(sql, id)?;
    let accessed = node.access(now);
    let mut shown = JsonObjectWriter::with_capacity(node.content.len() + 512);
    node.write(&mut shown, &FIELDS, now);
    for (side, name, cut) in [
        (Side::Outgoing, "outgoing_edges", "outgoing_edges_cut"),
        (Side::Incoming, "incoming_edges", "incoming_edges_cut"),
    ] {
        let mut edges = match leaving.take().filter(|_| side == Side::Outgoing) {
            Some(leaving) => leaving,
            None => edge::of_node(sql, id, side, EdgeTypes::ALL, limits::NODE_EDGES + 1)?,
        };
        let is_cut = edges.len() > limits::NODE_EDGES;
        edges.truncate(limits::NODE_EDGES);
        shown.put_array(name, &edges, |shown, edge| edge.write_from(side, shown));
        if is_cut {
            shown.put(cut, true);
        }
    }
    let errand = quad_store::side_effect(id.0, move |tx| node::count_access(tx, &accessed, now));
    let basis = basis.with_tag(tags::node(id)).with_tag(tags::bulk());
    let reading = ReadOutput::new(Content::from_json_text(shown.into()), basis);
    Ok(ReadOutput { cacheable: false, side_effect: Some(errand), ..reading })
}

/// `amem://sessions`, by falling id.
fn sessions(sql: &mut dyn Sql, before: Option<SessionId>, limit: usize) -> Result<Value> {
    let count = stats::read(sql)?.sessions;
    let mut found = session::page(sql, before, limit + 1)?;
    let more = found.len() > limit;
    found.truncate(limit);
    let shown: Vec<Value> = found.iter().map(session::Session::show).collect();
    let mut document = json!({"count": count, "sessions": shown});
    if let (true, Some(last), Some(document)) = (more, found.last(), document.as_object_mut()) {
        document.insert("next_cursor".into(), cursor::encode(SESSIONS, &last.id.to_string()).into());
    }
    Ok(document)
}
