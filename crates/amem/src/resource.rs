//! The resources of this scheme, with their typed variables, and how a URI becomes one.

use quad_core::{Address, Error, Kind, Result, cursor};

use crate::event_type::EventType;
use crate::list::{self, Page};
use crate::node::NodeId;
use crate::search::Filter;
use crate::search_results::SearchRequest;
use crate::session::SessionId;
use crate::{errors, limits, neighborhood};

/// Makes the resource of one route from a URI that matches its template.
pub(crate) type ParseResource = fn(&Address) -> Result<Resource>;

/// A resource, owned so that a closure can move it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Resource {
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

/// The cursor scope of the list of sessions.
pub(crate) const SESSIONS_CURSOR_SCOPE: &str = "amem sessions";

impl Resource {
    /// Whether a read takes so few rows that it may run on the calling thread. A search may read an index from disk.
    pub(crate) fn is_cheap(&self) -> bool {
        !matches!(self, Resource::Search { .. })
    }

    pub(crate) fn stats(_: &Address) -> Result<Resource> {
        Ok(Resource::Stats)
    }

    pub(crate) fn recent(_: &Address) -> Result<Resource> {
        Ok(Resource::Recent)
    }

    pub(crate) fn important(_: &Address) -> Result<Resource> {
        Ok(Resource::Important)
    }

    pub(crate) fn node(address: &Address) -> Result<Resource> {
        Ok(Resource::Node(node_id(address)))
    }

    pub(crate) fn neighborhood(address: &Address) -> Result<Resource> {
        let depth = number(address, "depth").unwrap_or(neighborhood::DEFAULT_DEPTH as u64);
        if !(1..=limits::MAX_NEIGHBORHOOD_DEPTH as u64).contains(&depth) {
            let max = limits::MAX_NEIGHBORHOOD_DEPTH;
            return Err(errors::invalid_argument(
                "depth",
                format!("is {depth}"),
                format!("Give a depth from 1 to {max}"),
            ));
        }
        Ok(Resource::Neighborhood { id: node_id(address), depth: depth as usize })
    }

    pub(crate) fn session(address: &Address) -> Result<Resource> {
        let id =
            number(address, "id").and_then(|id| u32::try_from(id).ok()).map(SessionId).ok_or_else(|| {
                Error::new(Kind::BadInput, "INVALID_URI", "A session is a whole number below 4294967296")
                    .hint(errors::FIND_SESSIONS)
                    .with_uri(address.requested())
            })?;
        Ok(Resource::Session { id, page: page(address, &list::session_cursor_scope(id))? })
    }

    pub(crate) fn of_type(address: &Address) -> Result<Resource> {
        let event_type = EventType::parse_arg(address.variable("type").unwrap_or_default())?;
        Ok(Resource::Type { event_type, page: page(address, &list::type_cursor_scope(event_type))? })
    }

    pub(crate) fn sessions(address: &Address) -> Result<Resource> {
        let before = match address.variable("cursor") {
            None => None,
            Some(cursor) => {
                let id = cursor::decode(SESSIONS_CURSOR_SCOPE, cursor)?;
                let id = id.parse().map_err(|_| list::invalid_cursor())?;
                Some(SessionId(id))
            }
        };
        Ok(Resource::Sessions { before, limit: limit(address, limits::PAGE_SESSIONS)? })
    }

    pub(crate) fn search(address: &Address) -> Result<Resource> {
        let text = address.variable("q").unwrap_or_default().trim();
        if text.is_empty() {
            return Err(errors::invalid_argument(
                "q",
                "is missing or empty",
                "Give the words to look for, for example amem://search?q=rate%20limit",
            ));
        }
        let types = address.variable("type").map(EventType::parse_arg).transpose()?;
        let session = number(address, "session")
            .map(|id| u32::try_from(id).map_err(|_| errors::session_out_of_range("session", id)));
        let filter = Filter {
            event_types: types.into_iter().map(|event_type| event_type as u8).collect(),
            sessions: session.transpose()?.into_iter().collect(),
            ..Filter::default()
        };
        let limit = match address.variable("limit") {
            None => limits::SEARCH_DEFAULT,
            Some(_) => limit(address, limits::RESULTS_MAX)?,
        };
        let search = SearchRequest { text: text.to_owned(), filter, limit, include_superseded: false };
        Ok(Resource::Search { search, cursor: address.variable("cursor").map(str::to_owned) })
    }
}

fn number(address: &Address, name: &str) -> Option<u64> {
    address.variable(name)?.parse().ok()
}

fn node_id(address: &Address) -> NodeId {
    NodeId::from_u64_saturating(number(address, "id").unwrap_or(u64::MAX))
}

/// The `limit` of a list; `max` unless given.
fn limit(address: &Address, max: usize) -> Result<usize> {
    match number(address, "limit") {
        None => Ok(max),
        Some(limit) if (1..=max as u64).contains(&limit) => Ok(limit as usize),
        Some(limit) => {
            let hint = format!("Give a limit from 1 to {max}");
            Err(errors::invalid_argument("limit", format!("is {limit}"), hint))
        }
    }
}

fn page(address: &Address, scope: &str) -> Result<Page> {
    let after = list::decode_cursor(scope, address.variable("cursor"))?;
    Ok(Page { after, limit: limit(address, limits::PAGE_NODES)? })
}
