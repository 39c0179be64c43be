//! `memory_query`: nodes filtered by their fields, in one of four orders, in pages.
//!
//! Each order is an index that is scanned from the end of the previous page. Rows that do not match are skipped,
//! and a page ends after [`limits::MAX_QUERY_ROWS_SCANNED`] rows. A small session or type is loaded and sorted in
//! memory instead. The newest nodes of one type have an index of their own.

use quad_core::{Error, JsonObjectWriter, Result, canonical, cursor};
use quad_store::{Row, Sql, Value as Cell, batch, params};

use crate::event_type::EventType;
use crate::list::ImportanceIter;
use crate::node::{self, Node, NodeField, NodeId, StaticField};
use crate::page_budget::PageBudget;
use crate::session::SessionId;
use crate::{counters, errors, limits};

/// The sort orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    MostRecent,
    HighestConfidence,
    MostAccessed,
    /// Leaves out superseded nodes.
    MostImportant,
}

/// The names of the orders.
pub(crate) const ORDERS: [&str; 4] = ["most_recent", "highest_confidence", "most_accessed", "most_important"];

impl Order {
    pub(crate) fn parse_arg(name: &str) -> Result<Order> {
        let orders = [Order::MostRecent, Order::HighestConfidence, Order::MostAccessed, Order::MostImportant];
        let index = ORDERS.iter().position(|candidate| *candidate == name);
        index
            .and_then(|index| orders.get(index).copied())
            .ok_or_else(|| errors::unknown_value("order", name, &ORDERS))
    }
}

/// The filter, order and limit of a query.
#[derive(Clone, Debug)]
pub(crate) struct Query {
    /// Empty means all types.
    pub event_types: Vec<EventType>,
    /// Empty means all sessions.
    pub sessions: Vec<SessionId>,
    pub min_confidence: f64,
    pub max_confidence: f64,
    /// Inclusive, like `created_before`.
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

    /// The type, if the query asks for the newest nodes of exactly one type: they are a range of an index.
    fn single_type(&self) -> Option<EventType> {
        match (self.order, self.event_types.as_slice()) {
            (Order::MostRecent, [event_type]) if self.sessions.is_empty() => Some(*event_type),
            _ => None,
        }
    }

    /// Whether the query filters by neither types nor sessions.
    fn is_unfiltered(&self) -> bool {
        self.event_types.is_empty() && self.sessions.is_empty()
    }

    /// The scope of its cursors; a cursor of one query is invalid for another.
    fn cursor_scope(&self) -> String {
        let without_limit = Query { limit: 0, ..self.clone() };
        format!("amem query {}", canonical::sha256_hex(format!("{without_limit:?}").as_bytes()))
    }
}

/// Where a page ended: the sort key of the last scanned node.
#[derive(Clone, Debug, PartialEq)]
enum SortKey {
    Recent(i64, i64),
    Confidence(f64, i64),
    Accessed(i64, i64),
    /// The time of the scores, and the position in each of the three score classes.
    Important(i64, [Option<(i64, i64)>; 3]),
}

impl SortKey {
    fn for_node(order: Order, node: &Node) -> SortKey {
        match order {
            Order::MostRecent => SortKey::Recent(node.created_at, node.id.0),
            Order::HighestConfidence => SortKey::Confidence(node.confidence, node.id.0),
            Order::MostAccessed => SortKey::Accessed(node.access_count, node.id.0),
            Order::MostImportant => SortKey::Important(0, [None; 3]),
        }
    }

    /// Whether this key comes before `other` in descending order.
    fn sorts_before(&self, other: &SortKey) -> bool {
        match (self, other) {
            (SortKey::Recent(a, b), SortKey::Recent(c, d))
            | (SortKey::Accessed(a, b), SortKey::Accessed(c, d)) => (a, b) > (c, d),
            (SortKey::Confidence(a, b), SortKey::Confidence(c, d)) => a > c || (a == c && b > d),
            _ => false,
        }
    }

    fn encode(&self) -> String {
        match self {
            SortKey::Recent(a, b) | SortKey::Accessed(a, b) => format!("{a} {b}"),
            SortKey::Confidence(a, b) => format!("{a} {b}"),
            SortKey::Important(now, runs) => {
                let runs = runs.map(|run| run.map_or("-".to_owned(), |(a, b)| format!("{a}:{b}")));
                format!("{now} {}", runs.join(" "))
            }
        }
    }

    fn parse(order: Order, text: &str) -> Option<SortKey> {
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
            return Some(SortKey::Important(first.parse().ok()?, runs));
        }
        let id = words.next()?.parse().ok()?;
        Some(match order {
            Order::MostRecent => SortKey::Recent(first.parse().ok()?, id),
            Order::HighestConfidence => SortKey::Confidence(first.parse().ok()?, id),
            _ => SortKey::Accessed(first.parse().ok()?, id),
        })
    }
}

/// A page of nodes.
struct QueryPage {
    nodes: Vec<Node>,
    next: Option<SortKey>,
}

/// Runs a query. The document has `next_cursor` while there may be more.
pub(crate) fn run(
    sql: &mut dyn Sql,
    query: &Query,
    cursor: Option<&str>,
    now: i64,
) -> Result<JsonObjectWriter> {
    const FIELDS: [NodeField; 9] = [
        NodeField::Static(StaticField::Id),
        NodeField::Static(StaticField::EventType),
        NodeField::Static(StaticField::Content),
        NodeField::Static(StaticField::Confidence),
        NodeField::Static(StaticField::Session),
        NodeField::Static(StaticField::Created),
        NodeField::Decay,
        NodeField::Accesses,
        NodeField::Static(StaticField::SupersededBy),
    ];
    let scope = query.cursor_scope();
    let start = match cursor {
        None => None,
        Some(cursor) => {
            let key = cursor::decode(&scope, cursor)?;
            let parsed = SortKey::parse(query.order, &key);
            Some(parsed.ok_or_else(|| Error::internal("a sealed cursor does not parse"))?)
        }
    };
    let page = if query.order == Order::MostImportant {
        important_page(sql, query, start, now)?
    } else if query.single_type().is_some() {
        scan_index(sql, query, start)?
    } else if let Some(nodes) = fetch_candidates(sql, query)? {
        sort_in_memory(sql, query, nodes, start)?
    } else {
        scan_index(sql, query, start)?
    };
    let mut document = JsonObjectWriter::default();
    document.put("count", page.nodes.len());
    document.put_array("nodes", &page.nodes, |object, node| node.write_json(object, &FIELDS, now));
    if let Some(next) = page.next {
        document.put("next_cursor", cursor::encode(&scope, &next.encode()));
    }
    Ok(document)
}

/// All nodes of the sessions or types in the filter, if they are few.
fn fetch_candidates(sql: &mut dyn Sql, query: &Query) -> Result<Option<Vec<Node>>> {
    let tenant = sql.tenant().clone();
    let mut columns: Vec<(&str, i64)> = Vec::new();
    if !query.sessions.is_empty() {
        let mut cells = vec![Cell::from(tenant.as_str())];
        cells.extend(query.sessions.iter().map(|id| Cell::Int(i64::from(id.0))));
        let placeholders = batch::placeholders(query.sessions.len(), 2);
        let rows = sql.query(
            &format!("SELECT node_count FROM amem_session WHERE tenant_id = $1 AND id IN ({placeholders})"),
            &cells,
        )?;
        let mut total = 0;
        for row in &rows {
            total += row.int(0)?;
        }
        if total <= limits::MAX_IN_MEMORY_SORT {
            columns = query.sessions.iter().map(|id| ("session_id", i64::from(id.0))).collect();
        }
    }
    if columns.is_empty() && !query.event_types.is_empty() {
        let stats = counters::read(sql)?;
        let total: i64 =
            query.event_types.iter().map(|event_type| stats.node_count_of_type(*event_type)).sum();
        if total <= limits::MAX_IN_MEMORY_SORT && !prefer_scan(total, stats.node_count(), query.limit) {
            columns =
                query.event_types.iter().map(|event_type| ("event_type", event_type.number())).collect();
        }
    }
    if columns.is_empty() {
        return Ok(None);
    }
    let mut nodes = Vec::new();
    for (column, value) in columns {
        let rows = sql.query(
            &format!(
                "SELECT {} FROM amem_node WHERE tenant_id = $1 AND {column} = $2",
                node::COLUMNS_NO_CONTENT
            ),
            params![tenant.as_str(), value],
        )?;
        nodes.extend(Node::from_rows(&rows)?);
    }
    Ok(Some(nodes))
}

/// Whether scanning the order's index finds a page sooner than loading all matching nodes. Only if a scan may read
/// all nodes, so that no page ends early when the matches are at the end.
fn prefer_scan(matching: i64, total: i64, limit: usize) -> bool {
    let expected_scanned = (limit as i64).saturating_mul(total) / matching.max(1);
    expected_scanned < matching
        && usize::try_from(total).is_ok_and(|total| total <= limits::MAX_QUERY_ROWS_SCANNED)
}

/// Sorts nodes loaded without contents, then loads the page with contents.
fn sort_in_memory(
    sql: &mut dyn Sql,
    query: &Query,
    nodes: Vec<Node>,
    start: Option<SortKey>,
) -> Result<QueryPage> {
    let mut matching: Vec<(SortKey, Node)> = nodes
        .into_iter()
        .filter(|node| query.matches(node))
        .map(|node| (SortKey::for_node(query.order, &node), node))
        .filter(|(key, _)| start.as_ref().is_none_or(|start| start.sorts_before(key)))
        .collect();
    matching.sort_by(|(a, _), (b, _)| {
        if a.sorts_before(b) {
            std::cmp::Ordering::Less
        } else if b.sorts_before(a) {
            std::cmp::Ordering::Greater
        } else {
            std::cmp::Ordering::Equal
        }
    });
    let mut budget = PageBudget::new(query.limit);
    let mut page = QueryPage { nodes: Vec::new(), next: None };
    let mut last = None;
    // One more than the page shows whether there are more.
    matching.truncate(query.limit + 1);
    let ids: Vec<NodeId> = matching.iter().map(|(_, node)| node.id).collect();
    let mut by_id = node::find_many(sql, &ids)?;
    for (key, node) in matching {
        let Some(node) = by_id.remove(&node.id) else { continue };
        if !budget.try_take(&node.content) {
            page.next = last;
            break;
        }
        last = Some(key);
        page.nodes.push(node);
    }
    Ok(page)
}

/// Scans the index of the order.
fn scan_index(sql: &mut dyn Sql, query: &Query, mut position: Option<SortKey>) -> Result<QueryPage> {
    let mut budget = PageBudget::new(query.limit);
    let mut page = QueryPage { nodes: Vec::new(), next: None };
    let mut visited = 0;
    loop {
        let NextRows { rows, in_zero_access_range } = next_rows(sql, query, position.as_ref())?;
        if rows.is_empty() {
            return Ok(page);
        }
        for row in &rows {
            let node = Node::from_row(row)?;
            let key = if in_zero_access_range {
                SortKey::Accessed(0, node.id.0)
            } else {
                SortKey::for_node(query.order, &node)
            };
            if query.matches(&node) && !(in_zero_access_range && node.access_count > 0) {
                if !budget.try_take(&node.content) {
                    page.next = position;
                    return Ok(page);
                }
                page.nodes.push(node);
            }
            position = Some(key);
        }
        visited += rows.len();
        if visited >= limits::MAX_QUERY_ROWS_SCANNED {
            page.next = position;
            return Ok(page);
        }
    }
}

/// The next rows in the order of a query.
struct NextRows {
    rows: Vec<Row>,
    /// Whether the rows are nodes of any access count by descending id, of which only those without accesses match:
    /// they are not in the index by accesses and follow at its end.
    in_zero_access_range: bool,
}

/// The next rows of the order after the key.
fn next_rows(sql: &mut dyn Sql, query: &Query, position: Option<&SortKey>) -> Result<NextRows> {
    // If every row matches, the page is the next rows, and one more shows whether there are others.
    let batch_size = match query.is_unfiltered() || query.single_type().is_some() {
        true => (query.limit + 1).min(limits::PAGE_BATCH_ROWS),
        false => limits::PAGE_BATCH_ROWS,
    };
    let rows = match query.order {
        Order::MostRecent => rows_by_time(sql, query, position, batch_size)?,
        Order::HighestConfidence => rows_by_confidence(sql, query, position, batch_size)?,
        Order::MostAccessed | Order::MostImportant => return rows_by_accesses(sql, position, batch_size),
    };
    Ok(NextRows { rows, in_zero_access_range: false })
}

fn rows_by_time(
    sql: &mut dyn Sql,
    query: &Query,
    position: Option<&SortKey>,
    batch_size: usize,
) -> Result<Vec<Row>> {
    let (at, id) = match position {
        Some(SortKey::Recent(at, id)) => (*at, *id),
        _ => (query.created_before, i64::MAX),
    };
    let type_condition = query
        .single_type()
        .map(|event_type| format!(" AND event_type = {}", event_type.number()))
        .unwrap_or_default();
    let tenant = sql.tenant().clone();
    Ok(sql.query(
        &format!(
            "SELECT {} FROM amem_node WHERE tenant_id = $1{type_condition} AND (created_at, id) < ($2, $3) \
             AND created_at >= $4 ORDER BY created_at DESC, id DESC LIMIT $5",
            node::COLUMNS
        ),
        params![tenant.as_str(), at, id, query.created_after, batch_size as i64],
    )?)
}

fn rows_by_confidence(
    sql: &mut dyn Sql,
    query: &Query,
    position: Option<&SortKey>,
    batch_size: usize,
) -> Result<Vec<Row>> {
    let (confidence, id) = match position {
        Some(SortKey::Confidence(confidence, id)) => (*confidence, *id),
        _ => (query.max_confidence, i64::MAX),
    };
    let tenant = sql.tenant().clone();
    Ok(sql.query(
        &format!(
            "SELECT {} FROM amem_node WHERE tenant_id = $1 AND (confidence, id) < ($2, $3) \
             AND confidence >= $4 ORDER BY confidence DESC, id DESC LIMIT $5",
            node::COLUMNS
        ),
        params![tenant.as_str(), confidence, id, query.min_confidence, batch_size as i64],
    )?)
}

fn rows_by_accesses(sql: &mut dyn Sql, position: Option<&SortKey>, batch_size: usize) -> Result<NextRows> {
    let (count, id) = match position {
        Some(SortKey::Accessed(count, id)) => (*count, *id),
        _ => (i64::MAX, i64::MAX),
    };
    let tenant = sql.tenant().clone();
    let columns = node::COLUMNS;
    if count > 0 {
        let rows = sql.query(
            &format!(
                "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND access_count > 0 \
                 AND (access_count, id) < ($2, $3) ORDER BY access_count DESC, id DESC LIMIT $4"
            ),
            params![tenant.as_str(), count, id, batch_size as i64],
        )?;
        if !rows.is_empty() {
            return Ok(NextRows { rows, in_zero_access_range: false });
        }
    }
    let below = if count > 0 { i64::MAX } else { id };
    let rows = sql.query(
        &format!(
            "SELECT {columns} FROM amem_node WHERE tenant_id = $1 AND id < $2 ORDER BY id DESC LIMIT $3"
        ),
        params![tenant.as_str(), below, batch_size as i64],
    )?;
    Ok(NextRows { rows, in_zero_access_range: true })
}

fn important_page(sql: &mut dyn Sql, query: &Query, start: Option<SortKey>, now: i64) -> Result<QueryPage> {
    let (now, mut ranked) = match start {
        Some(SortKey::Important(started_at, keys)) => (started_at, ImportanceIter::resume(started_at, keys)),
        _ => (now, ImportanceIter::new(now)),
    };
    let mut budget = PageBudget::new(query.limit);
    let mut page = QueryPage { nodes: Vec::new(), next: None };
    for visited in 0.. {
        let keys = ranked.resume_keys();
        let Some(node) = ranked.next(sql, limits::PAGE_BATCH_ROWS)? else { break };
        if visited >= limits::MAX_QUERY_ROWS_SCANNED
            || (query.matches(&node) && !budget.try_take(&node.content))
        {
            page.next = Some(SortKey::Important(now, keys));
            break;
        }
        if query.matches(&node) {
            page.nodes.push(node);
        }
    }
    Ok(page)
}
