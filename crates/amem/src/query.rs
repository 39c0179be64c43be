//! `memory_query`: nodes by what they are, in one of four orders, in pages.
//!
//! Each order is an index, walked from where the last page ended; what does not match is passed over, and a page ends when it
//! has looked at as many rows as it may. A small session or type is gathered whole and sorted instead; the newest of one type have an
//! index of their own.

use quad_core::{Error, JsonObjectWriter, Result, canonical, cursor};
use quad_store::{Row, Sql, Value as Cell, batch, params};

use crate::event_type::EventType;
use crate::list::{ByImportance, Room};
use crate::node::{self, Field, Node, NodeId};
use crate::session::SessionId;
use crate::{limits, refusal, stats};

/// The orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    MostRecent,
    HighestConfidence,
    MostAccessed,
    /// Leaves out what is superseded.
    MostImportant,
}

/// Their names.
pub(crate) const ORDERS: [&str; 4] = ["most_recent", "highest_confidence", "most_accessed", "most_important"];

impl Order {
    pub(crate) fn expect(name: &str) -> Result<Order> {
        let orders = [Order::MostRecent, Order::HighestConfidence, Order::MostAccessed, Order::MostImportant];
        let place = ORDERS.iter().position(|known| *known == name);
        place
            .and_then(|place| orders.get(place).copied())
            .ok_or_else(|| refusal::unknown("order", name, &ORDERS))
    }
}

/// Which nodes are wanted.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Empty: of every type.
    pub event_types: Vec<EventType>,
    /// Empty: of every session.
    pub sessions: Vec<SessionId>,
    pub min_confidence: f64,
    pub max_confidence: f64,
    /// Inclusive, as is the next.
    pub created_after: i64,
    pub created_before: i64,
    pub order: Order,
    pub limit: usize,
}

impl Query {
    fn matches(&self, node: &Node) -> bool {
        (self.event_types.is_empty() || self.event_types.contains(&node.event_type))
            && (self.sessions.is_empty() || self.sessions.contains(&node.session_id))
            && (self.min_confidence..=self.max_confidence).contains(&node.confidence)
            && (self.created_after..=self.created_before).contains(&node.created_at)
            && (self.order != Order::MostImportant || node.superseded_by.is_none())
    }

    /// The type whose newest nodes are wanted, if it is about one type alone: they are a range of an index.
    fn newest_of(&self) -> Option<EventType> {
        match (self.order, self.event_types.as_slice()) {
            (Order::MostRecent, [event_type]) if self.sessions.is_empty() => Some(*event_type),
            _ => None,
        }
    }

    /// Whether it names neither types nor sessions.
    fn is_open(&self) -> bool {
        self.event_types.is_empty() && self.sessions.is_empty()
    }

    /// The name under which its cursors are sealed: a cursor of one question is none of another.
    fn list(&self) -> String {
        let asked = Query { limit: 0, ..self.clone() };
        format!("amem query {}", canonical::sha256_hex(format!("{asked:?}").as_bytes()))
    }
}

/// Where a page ended: the key of the last node that was looked at.
#[derive(Clone, Debug, PartialEq)]
enum Mark {
    Recent(i64, i64),
    Confidence(f64, i64),
    Accessed(i64, i64),
    /// The moment that the order is of, and how far each of its runs was given out.
    Important(i64, [Option<(i64, i64)>; 3]),
}

impl Mark {
    fn of(order: Order, node: &Node) -> Mark {
        match order {
            Order::MostRecent => Mark::Recent(node.created_at, node.id.0),
            Order::HighestConfidence => Mark::Confidence(node.confidence, node.id.0),
            Order::MostAccessed => Mark::Accessed(node.access_count, node.id.0),
            Order::MostImportant => Mark::Important(0, [None; 3]),
        }
    }

    /// Whether this comes before `other`, in falling order.
    fn is_before(&self, other: &Mark) -> bool {
        match (self, other) {
            (Mark::Recent(a, b), Mark::Recent(c, d)) | (Mark::Accessed(a, b), Mark::Accessed(c, d)) => {
                (a, b) > (c, d)
            }
            (Mark::Confidence(a, b), Mark::Confidence(c, d)) => a > c || (a == c && b > d),
            _ => false,
        }
    }

    fn text(&self) -> String {
        match self {
            Mark::Recent(a, b) | Mark::Accessed(a, b) => format!("{a} {b}"),
            Mark::Confidence(a, b) => format!("{a} {b}"),
            Mark::Important(now, runs) => {
                let runs = runs.map(|run| run.map_or("-".to_owned(), |(a, b)| format!("{a}:{b}")));
                format!("{now} {}", runs.join(" "))
            }
        }
    }

    fn parse(order: Order, text: &str) -> Option<Mark> {
        let mut words = text.split(' ');
        let first = words.next()?;
        if order == Order::MostImportant {
            let mut runs = [None; 3];
            for run in &mut runs {
                *run = match words.next()? {
                    "-" => None,
                    pair => {
                        let (a, b) = pair.split_once(':')?;
                        Some((a.parse().ok()?, b.parse().ok()?))
                    }
                };
            }
            return Some(Mark::Important(first.parse().ok()?, runs));
        }
        let id = words.next()?.parse().ok()?;
        Some(match order {
            Order::MostRecent => Mark::Recent(first.parse().ok()?, id),
            Order::HighestConfidence => Mark::Confidence(first.parse().ok()?, id),
            _ => Mark::Accessed(first.parse().ok()?, id),
        })
    }
}

/// A page.
struct Found {
    nodes: Vec<Node>,
    next: Option<Mark>,
}

/// Runs a query; the document has `next_cursor` while there may be more.
pub(crate) fn run(sql: &mut dyn Sql, query: &Query, cursor: Option<&str>, now: i64) -> Result<JsonObjectWriter> {
    const FIELDS: [Field; 9] = [
        Field::Id,
        Field::EventType,
        Field::Content,
        Field::Confidence,
        Field::Session,
        Field::Created,
        Field::Decay,
        Field::Accesses,
        Field::SupersededBy,
    ];
    let list = query.list();
    let mark = match cursor {
        None => None,
        Some(cursor) => {
            let text = cursor::decode(&list, cursor)?;
            let mark = Mark::parse(query.order, &text);
            Some(mark.ok_or_else(|| Error::internal("a sealed cursor does not parse"))?)
        }
    };
    let found = if query.order == Order::MostImportant {
        important(sql, query, mark, now)?
    } else if query.newest_of().is_some() {
        walked(sql, query, mark)?
    } else if let Some(nodes) = gathered(sql, query)? {
        sorted(sql, query, nodes, mark)?
    } else {
        walked(sql, query, mark)?
    };
    let mut document = JsonObjectWriter::default();
    document.put("count", found.nodes.len());
    document.put_array("nodes", &found.nodes, |shown, node| node.write(shown, &FIELDS, now));
    if let Some(next) = found.next {
        document.put("next_cursor", cursor::encode(&list, &next.text()));
    }
    Ok(document)
}

/// All nodes of the sessions or types that the query names, if they are few.
fn gathered(sql: &mut dyn Sql, query: &Query) -> Result<Option<Vec<Node>>> {
    let tenant = sql.tenant().clone();
    let mut columns: Vec<(&str, i64)> = Vec::new();
    if !query.sessions.is_empty() {
        let mut cells = vec![Cell::from(tenant.as_str())];
        cells.extend(query.sessions.iter().map(|id| Cell::Int(i64::from(id.0))));
        let places = batch::placeholders(query.sessions.len(), 2);
        let rows = sql.query(
            &format!("SELECT node_count FROM amem_session WHERE tenant_id = $1 AND id IN ({places})"),
            &cells,
        )?;
        let mut total = 0;
        for row in &rows {
            total += row.int(0)?;
        }
        if total <= limits::QUERY_GATHERED {
            columns = query.sessions.iter().map(|id| ("session_id", i64::from(id.0))).collect();
        }
    }
    if columns.is_empty() && !query.event_types.is_empty() {
        let stats = stats::read(sql)?;
        let total: i64 = query.event_types.iter().map(|event_type| stats.of_type(*event_type)).sum();
        if total <= limits::QUERY_GATHERED && !is_common(total, stats.nodes(), query.limit) {
            columns = query.event_types.iter().map(|kind| ("event_type", kind.number())).collect();
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let mut nodes = Vec::new();
    for (column, value) in columns {
        let rows = sql.query(
            &format!("SELECT {} FROM amem_node WHERE tenant_id = $1 AND {column} = $2", node::COLUMNS_BARE),
            params![tenant.as_str(), value],
        )?;
        nodes.extend(Node::from_rows(&rows)?);
    }
    Ok(Some(nodes))
}

/// Whether a walk in the order of all meets a page of them sooner than it takes to gather them. Only where a walk may look at all
/// nodes, so that it ends no page early even if they lie at its end.
fn is_common(of_them: i64, of_all: i64, limit: usize) -> bool {
    let walked = (limit as i64).saturating_mul(of_all) / of_them.max(1);
    walked < of_them && usize::try_from(of_all).is_ok_and(|all| all <= limits::QUERY_VISITED)
}

/// Sorts nodes that were gathered without their contents, and fetches those of the first.
fn sorted(sql: &mut dyn Sql, query: &Query, nodes: Vec<Node>, mark: Option<Mark>) -> Result<Found> {
    let mut matching: Vec<(Mark, Node)> = nodes
        .into_iter()
        .filter(|node| query.matches(node))
        .map(|node| (Mark::of(query.order, &node), node))
        .filter(|(key, _)| mark.as_ref().is_none_or(|mark| mark.is_before(key)))
        .collect();
    matching.sort_by(|(a, _), (b, _)| {
        if a.is_before(b) {
            std::cmp::Ordering::Less
        } else if b.is_before(a) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    let mut room = Room::new(query.limit);
    let mut found = Found { nodes: Vec::new(), next: None };
    let mut last = None;
    // One more than is shown tells whether there is more.
    matching.truncate(query.limit + 1);
    let ids: Vec<NodeId> = matching.iter().map(|(_, node)| node.id).collect();
    let mut whole = node::find_many(sql, &ids)?;
    for (key, node) in matching {
        let Some(node) = whole.remove(&node.id) else { continue };
        if !room.take(&node) {
            found.next = last;
            break;
        }
        last = Some(key);
        found.nodes.push(node);
    }
    Ok(found)
}

/// Walks the index of the order.
fn walked(sql: &mut dyn Sql, query: &Query, mut mark: Option<Mark>) -> Result<Found> {
    let mut room = Room::new(query.limit);
    let mut found = Found { nodes: Vec::new(), next: None };
    let mut visited = 0;
    loop {
        let (rows, never_read) = rows_after(sql, query, mark.as_ref())?;
        if rows.is_empty() {
            return Ok(found);
        }
        for row in &rows {
            let node = Node::from_row(row)?;
            let key = if never_read { Mark::Accessed(0, node.id.0) } else { Mark::of(query.order, &node) };
            if query.matches(&node) && !(never_read && node.access_count > 0) {
                if !room.take(&node) {
                    found.next = mark;
                    return Ok(found);
                }
                found.nodes.push(node);
            }
            mark = Some(key);
        }
        visited += rows.len();
        if visited >= limits::QUERY_VISITED {
            found.next = mark;
            return Ok(found);
        }
    }
}

/// The next rows of the order, within the bounds that its key has; and whether they are simply all nodes by falling id, among
/// which those that were never read are wanted.
fn rows_after(sql: &mut dyn Sql, query: &Query, mark: Option<&Mark>) -> Result<(Vec<Row>, bool)> {
    // Where nothing is passed over the next rows are the page, and one more tells whether there are others.
    let newest_of = query.newest_of();
    let step = match query.is_open() || newest_of.is_some() {
        true => (query.limit + 1).min(limits::PAGE_STEP),
        false => limits::PAGE_STEP,
    } as i64;
    let tenant = sql.tenant().clone();
    let columns = node::COLUMNS;
    let rows = match (query.order, mark) {
        (Order::MostRecent, mark) => {
            let (at, id) = match mark {
                Some(Mark::Recent(at, id)) => (*at, *id),
                _ => (query.created_before, i64::MAX),
            };
            let of_type = newest_of
                .map(|event_type| format!(" AND event_type = {}", event_type.number()))
                .unwrap_or_default();
            sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1{of_type} AND (created_at, id) < ($2, $3) \
                     AND created_at >= $4 ORDER BY created_at DESC, id DESC LIMIT $5"
                ),
                params![tenant.as_str(), at, id, query.created_after, step],
            )?
        }
        (Order::HighestConfidence, mark) => {
            let (confidence, id) = match mark {
                Some(Mark::Confidence(confidence, id)) => (*confidence, *id),
                _ => (query.max_confidence, i64::MAX),
            };
            sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND (confidence, id) < ($2, $3) \
                     AND confidence >= $4 ORDER BY confidence DESC, id DESC LIMIT $5"
                ),
                params![tenant.as_str(), confidence, id, query.min_confidence, step],
            )?
        }
        (_, mark) => {
            let (count, id) = match mark {
                Some(Mark::Accessed(count, id)) => (*count, *id),
                _ => (i64::MAX, i64::MAX),
            };
            if count > 0 {
                let rows = sql.query(
                    &format!(
                        "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND access_count > 0 \
                         AND (access_count, id) < ($2, $3) ORDER BY access_count DESC, id DESC LIMIT $4"
                    ),
                    params![tenant.as_str(), count, id, step],
                )?;
                if !rows.is_empty() {
                    return Ok((rows, false));
                }
            }
            // Never read: they have no index of their own, and come last, by falling id.
            let below = if count > 0 { i64::MAX } else { id };
            let rows = sql.query(
                &format!(
                    "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
                ),
                params![tenant.as_str(), below, step],
            )?;
            return Ok((rows, true));
        }
    };
    Ok((rows, false))
}

fn important(sql: &mut dyn Sql, query: &Query, mark: Option<Mark>, now: i64) -> Result<Found> {
    let (now, mut best) = match mark {
        Some(Mark::Important(then, keys)) => (then, ByImportance::resume(then, keys)),
        _ => (now, ByImportance::new(now)),
    };
    let mut room = Room::new(query.limit);
    let mut found = Found { nodes: Vec::new(), next: None };
    for visited in 0.. {
        let keys = best.keys();
        let Some(node) = best.next(sql, limits::PAGE_STEP)? else { break };
        if visited >= limits::QUERY_VISITED || (query.matches(&node) && !room.take(&node)) {
            found.next = Some(Mark::Important(now, keys));
            break;
        }
        if query.matches(&node) {
            found.nodes.push(node);
        }
    }
    Ok(found)
}
