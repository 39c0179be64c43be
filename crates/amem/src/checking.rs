//! Checking: everything that is stored twice is compared, and everything that names something else is followed.
//!
//! All of it is read in one snapshot by primary key, page by page, and counted anew. Then the counters, the indexes of the
//! lists, the text index and the sessions must agree with what was seen. Nothing is changed.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use quad_core::{Result, TenantId};
use quad_store::{Backend, Sql, params};

use crate::corpus::Nodes;
use crate::edge::{Edge, EdgeType};
use crate::event_type::EventType;
use crate::node::NodeId;
use crate::search::Engine;
use crate::stats::{self, Stats};
use crate::{Amem, decay, limits, outgoing};

/// What was looked at, and what is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// Nodes that were looked at.
    pub nodes: u64,
    /// Edges that were looked at.
    pub edges: u64,
    /// What is wrong with what is stored: one line each, with examples.
    pub faults: Vec<String>,
    /// What is wrong with what searches derive from it. It can be thrown away.
    pub index_faults: Vec<String>,
}

impl Amem {
    /// Checks a tenant's graph.
    pub async fn check(&self, tenant: &TenantId) -> Result<Checked> {
        let engine = self.engine.clone();
        self.store.read(tenant, move |sql| check(sql, &engine)).await
    }

    /// Where the indexes of a tenant's searches lie. It may be deleted at any time.
    pub fn index_folder(&self, tenant: &TenantId) -> std::path::PathBuf {
        self.engine.folder_of(tenant)
    }
}

/// Faults by their kind: how many, and the first few.
#[derive(Default)]
struct Faults {
    kinds: BTreeMap<&'static str, (u64, Vec<String>)>,
}

impl Faults {
    fn add(&mut self, kind: &'static str, example: impl FnOnce() -> String) {
        let (count, examples) = self.kinds.entry(kind).or_default();
        *count += 1;
        if examples.len() < limits::FAULT_EXAMPLES {
            examples.push(example());
        }
    }

    fn add_if(&mut self, is_wrong: bool, kind: &'static str, example: impl FnOnce() -> String) {
        if is_wrong {
            self.add(kind, example);
        }
    }

    fn into_lines(self) -> Vec<String> {
        let line = |(kind, (count, examples)): (&str, (u64, Vec<String>))| {
            let more = if count > examples.len() as u64 { ", …" } else { "" };
            format!("{kind}: {count} ({}{more})", examples.join(", "))
        };
        self.kinds.into_iter().map(line).collect()
    }
}

const LEAVING: &str = "nodes that do not say of their outgoing edges what the edges say";

/// What the walk saw.
#[derive(Default)]
struct Seen {
    /// Ids of nodes, ascending.
    nodes: Vec<i64>,
    /// What each of them says that leaves it, as a hash, until the edges have been seen to say the same.
    leaving: Vec<Option<u64>>,
    /// By what each superseded node says that it is.
    superseded: BTreeMap<i64, i64>,
    /// By what the edges say that it is, and since when.
    superseding: BTreeMap<i64, (i64, i64)>,
    in_sessions: BTreeMap<i64, i64>,
    counted: Stats,
    accessed: i64,
}

fn hash_of(packed: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    packed.hash(&mut hasher);
    hasher.finish()
}

impl Seen {
    /// All edges that leave one node have been seen.
    fn compare_leaving(&mut self, source: i64, edges: &[Edge], faults: &mut Faults) {
        let place = self.nodes.binary_search(&source).ok();
        let Some(said) = place.and_then(|place| self.leaving.get_mut(place)) else { return };
        let Some(said) = said.take() else { return };
        let is_wrong = outgoing::pack(edges).is_none_or(|packed| hash_of(&packed) != said);
        faults.add_if(is_wrong, LEAVING, || source.to_string());
    }

    /// All edges have been seen: of those that are left none has any.
    fn compare_left(&self, faults: &mut Faults) {
        let none = hash_of("");
        for (id, said) in self.nodes.iter().zip(&self.leaving) {
            faults.add_if(said.is_some_and(|said| said != none), LEAVING, || id.to_string());
        }
    }

    fn has(&self, node: i64) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

fn check(sql: &mut dyn Sql, engine: &Engine) -> Result<Checked> {
    let mut faults = Faults::default();
    check_file(sql, &mut faults)?;
    let mut seen = Seen::default();
    walk_nodes(sql, &mut seen, &mut faults)?;
    walk_edges(sql, &mut seen, &mut faults)?;
    check_supersessions(&seen, &mut faults);
    check_sessions(sql, &mut seen, &mut faults)?;
    check_rest(sql, &mut seen, &mut faults)?;
    check_counters(sql, &seen, &mut faults)?;
    check_lists(sql, &seen, &mut faults)?;
    let tenant = sql.tenant().clone();
    let index_faults = engine.check(&tenant, &mut Nodes { sql, superseded: true }, &seen.nodes)?;
    Ok(Checked {
        nodes: seen.nodes.len() as u64,
        edges: u64::try_from(seen.counted.edges).unwrap_or_default(),
        faults: faults.into_lines(),
        index_faults,
    })
}

/// On SQLite the pages of the file and all indexes; PostgreSQL looks after its own.
fn check_file(sql: &mut dyn Sql, faults: &mut Faults) -> Result<()> {
    if sql.backend() != Backend::Sqlite {
        return Ok(());
    }
    for row in sql.query("PRAGMA integrity_check(20)", &[])? {
        let said = row.text(0)?;
        faults.add_if(said != "ok", "the database file is damaged", || said.to_owned());
    }
    Ok(())
}

fn walk_nodes(sql: &mut dyn Sql, seen: &mut Seen, faults: &mut Faults) -> Result<()> {
    let tenant = sql.tenant().clone();
    let mut after = -1;
    loop {
        let rows = sql.query(
            "SELECT id, event_type, session_id, confidence, access_count, last_accessed, tier, effective_access, \
             superseded_by, outgoing FROM amem_node WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
            params![tenant.as_str(), after, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            let id = row.int(0)?;
            after = id;
            seen.nodes.push(id);
            seen.leaving.push(row.opt_text(9)?.map(hash_of));
            *seen.in_sessions.entry(row.int(2)?).or_default() += 1;
            let (accesses, last_accessed) = (row.int(4)?, row.int(5)?);
            seen.accessed += i64::from(accesses > 0);
            match EventType::stored(row.int(1)?) {
                Ok(event_type) => {
                    seen.counted.count_nodes(event_type, 1);
                    let is_wrong = row.int(6)? != event_type.tier() as i64
                        || row.int(7)? != decay::effective_access(last_accessed, accesses);
                    faults.add_if(is_wrong, "nodes whose importance is out of order", || id.to_string());
                }
                Err(_) => faults.add("nodes of no type", || id.to_string()),
            }
            let confidence = row.real(3)?;
            faults.add_if(
                !(0.0..=1.0).contains(&confidence),
                "nodes with a confidence beyond 0 to 1",
                || format!("{id} has {confidence}"),
            );
            if let Some(by) = row.opt_int(8)? {
                seen.superseded.insert(id, by);
            }
        }
        if rows.len() < limits::CHECK_ROWS {
            return Ok(());
        }
    }
}

fn walk_edges(sql: &mut dyn Sql, seen: &mut Seen, faults: &mut Faults) -> Result<()> {
    let tenant = sql.tenant().clone();
    let mut after = (-1, -1, -1);
    let (mut of, mut leaving) = (-1, Vec::new());
    loop {
        let rows = sql.query(
            "SELECT source_id, target_id, edge_type, weight, created_at FROM amem_edge \
             WHERE tenant_id = $1 AND (source_id, target_id, edge_type) > ($2, $3, $4) \
             ORDER BY source_id, target_id, edge_type LIMIT $5",
            params![tenant.as_str(), after.0, after.1, after.2, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            let (source, target) = (row.int(0)?, row.int(1)?);
            after = (source, target, row.int(2)?);
            let name = || format!("{source} → {target}");
            if source != of {
                seen.compare_leaving(of, &leaving, faults);
                of = source;
                leaving.clear();
            }
            match EdgeType::stored(after.2) {
                Ok(edge_type) => {
                    leaving.push(Edge {
                        source: NodeId(source),
                        target: NodeId(target),
                        edge_type,
                        weight: row.real(3)?,
                    });
                    seen.counted.count_edges(edge_type, 1);
                    if edge_type == EdgeType::Supersedes {
                        let since = (row.int(4)?, source);
                        let newest = seen.superseding.entry(target).or_insert(since);
                        *newest = since.max(*newest);
                    }
                }
                Err(_) => faults.add("edges of no type", name),
            }
            let weight = row.real(3)?;
            faults.add_if(!(0.0..=1.0).contains(&weight), "edges with a weight beyond 0 to 1", name);
            faults.add_if(source == target, "edges from a node to itself", name);
            faults.add_if(!seen.has(source), "edges from nodes that do not exist", name);
            faults.add_if(!seen.has(target), "edges to nodes that do not exist", name);
        }
        if rows.len() < limits::CHECK_ROWS {
            seen.compare_leaving(of, &leaving, faults);
            seen.compare_left(faults);
            return Ok(());
        }
    }
}

fn check_supersessions(seen: &Seen, faults: &mut Faults) {
    const KIND: &str = "nodes that are not superseded by what their edges say";
    for (id, by) in &seen.superseded {
        let edges_say = seen.superseding.get(id).map(|(_, source)| source);
        faults.add_if(edges_say != Some(by), KIND, || format!("{id} says {by}, its edges {edges_say:?}"));
    }
    for id in seen.superseding.keys() {
        faults.add_if(!seen.superseded.contains_key(id) && seen.has(*id), KIND, || id.to_string());
    }
}

fn check_sessions(sql: &mut dyn Sql, seen: &mut Seen, faults: &mut Faults) -> Result<()> {
    let tenant = sql.tenant().clone();
    let mut after = -1;
    loop {
        let rows = sql.query(
            "SELECT id, node_count, episode_id FROM amem_session WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
            params![tenant.as_str(), after, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            let id = row.int(0)?;
            after = id;
            seen.counted.sessions += 1;
            seen.counted.next_session = id + 1;
            let (stored, found) = (row.int(1)?, seen.in_sessions.remove(&id).unwrap_or_default());
            seen.counted.sessions_used += i64::from(found > 0);
            faults.add_if(stored != found, "sessions that count their nodes wrong", || {
                format!("{id} says {stored} and has {found}")
            });
            let episode = row.opt_int(2)?;
            faults.add_if(
                episode.is_some_and(|episode| !seen.has(episode)),
                "sessions whose episode does not exist",
                || id.to_string(),
            );
        }
        if rows.len() < limits::CHECK_ROWS {
            break;
        }
    }
    for id in std::mem::take(&mut seen.in_sessions).keys() {
        faults.add("sessions that have nodes but no row", || id.to_string());
    }
    Ok(())
}

/// Vectors, callers' places, and what was forgotten.
fn check_rest(sql: &mut dyn Sql, seen: &mut Seen, faults: &mut Faults) -> Result<()> {
    let tenant = sql.tenant().clone();
    let mut after = -1;
    loop {
        let rows = sql.query(
            "SELECT node_id, LENGTH(vector) FROM amem_vector WHERE tenant_id = $1 AND node_id > $2 \
             ORDER BY node_id LIMIT $3",
            params![tenant.as_str(), after, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            after = row.int(0)?;
            let is_wrong = !seen.has(after) || row.int(1)? != 4 * limits::DIMENSION as i64;
            faults.add_if(is_wrong, "vectors of no node or of another dimension", || after.to_string());
        }
        if rows.len() < limits::CHECK_ROWS {
            break;
        }
    }
    let places = sql.query(
        "SELECT p.subject, p.last_node, p.session_id, s.id FROM amem_place p LEFT JOIN amem_session s \
         ON s.tenant_id = p.tenant_id AND s.id = p.session_id WHERE p.tenant_id = $1",
        params![tenant.as_str()],
    )?;
    for row in &places {
        let is_lost = row.opt_int(1)?.is_some_and(|node| !seen.has(node));
        let is_nowhere = row.opt_int(2)?.is_some() && row.opt_int(3)?.is_none();
        let subject = row.text(0)?;
        faults.add_if(is_lost || is_nowhere, "callers who are where nothing is", || subject.to_owned());
    }
    let mut mark = 0;
    loop {
        let rows = sql.query(
            "SELECT mark, node_id FROM amem_erased WHERE tenant_id = $1 AND mark > $2 ORDER BY mark LIMIT $3",
            params![tenant.as_str(), mark, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            let (next, id) = (row.int(0)?, row.int(1)?);
            faults.add_if(next != mark + 1 || seen.has(id), "forgotten nodes that are still there", || {
                id.to_string()
            });
            mark = next;
            seen.counted.erased += 1;
        }
        if rows.len() < limits::CHECK_ROWS {
            return Ok(());
        }
    }
}

fn check_counters(sql: &mut dyn Sql, seen: &Seen, faults: &mut Faults) -> Result<()> {
    let (stored, counted) = (stats::read(sql)?, &seen.counted);
    let mut compare = |name: &str, stored: i64, counted: i64| {
        faults.add_if(stored != counted, "counters that are wrong", || {
            format!("{name} is {stored}, there are {counted}")
        });
    };
    for event_type in EventType::ALL {
        compare(event_type.as_str(), stored.of_type(event_type), counted.of_type(event_type));
    }
    compare("edges", stored.edges, counted.edges);
    compare("supersedes", stored.edges_supersedes, counted.edges_supersedes);
    compare("contradicts", stored.edges_contradicts, counted.edges_contradicts);
    compare("sessions", stored.sessions, counted.sessions);
    compare("sessions with nodes", stored.sessions_used, counted.sessions_used);
    compare("forgotten", stored.erased, counted.erased);
    let newest = seen.nodes.last().copied().unwrap_or(-1);
    faults.add_if(stored.next_id <= newest, "counters that are wrong", || {
        format!("the next id is {}, and node {newest} exists", stored.next_id)
    });
    faults.add_if(stored.next_session < counted.next_session, "counters that are wrong", || {
        format!("the next session is {}, and one before {} exists", stored.next_session, counted.next_session)
    });
    Ok(())
}

/// Each list is a range of an index: as many must be in it as the walk saw.
fn check_lists(sql: &mut dyn Sql, seen: &Seen, faults: &mut Faults) -> Result<()> {
    let tenant = sql.tenant().clone();
    let all = seen.nodes.len() as i64;
    let mut lists: Vec<(String, String, i64)> = vec![
        ("by session".into(), "amem_node WHERE tenant_id = $1 AND session_id >= 0".into(), all),
        ("by time".into(), "amem_node WHERE tenant_id = $1 AND created_at >= 0".into(), all),
        ("by confidence".into(), "amem_node WHERE tenant_id = $1 AND confidence >= 0".into(), all),
        ("by accesses".into(), "amem_node WHERE tenant_id = $1 AND access_count > 0".into(), seen.accessed),
        (
            "by importance".into(),
            "amem_node WHERE tenant_id = $1 AND tier >= 0 AND superseded_by IS NULL".into(),
            all - seen.superseded.len() as i64,
        ),
        (
            "edges by target".into(),
            "amem_edge WHERE tenant_id = $1 AND target_id >= 0".into(),
            seen.counted.edges,
        ),
    ];
    for event_type in EventType::ALL {
        let from = format!("amem_node WHERE tenant_id = $1 AND event_type = {}", event_type.number());
        lists.push((format!("of type {}", event_type.as_str()), from, seen.counted.of_type(event_type)));
    }
    for (name, from, expected) in lists {
        let row = sql.query_opt(&format!("SELECT COUNT(*) FROM {from}"), params![tenant.as_str()])?;
        let found = row.map(|row| row.int(0)).transpose()?.unwrap_or_default();
        faults.add_if(found != expected, "lists that do not agree with the graph", || {
            format!("{name}: {found} instead of {expected}")
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{World, fixtures, worlds};

    async fn harm(world: &World, statement: &'static str) {
        world
            .test
            .store
            .write_unaudited(&world.test.tenant, move |tx| {
                tx.execute(statement, &[])?;
                Ok(())
            })
            .await
            .unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_sound_graph_has_no_faults() {
        for world in worlds().await {
            assert_eq!(world.faults().await, Vec::<String>::new(), "an empty one");
        }
        for world in fixtures().await {
            world.read("amem://node/1").await.unwrap();
            world.call("memory_forget", json!({"node_id": 2, "reason": "a test"})).await.unwrap();
            world.call("session_end", json!({})).await.unwrap();
            let checked = world.amem.check(&world.test.tenant).await.unwrap();
            assert_eq!((checked.nodes, checked.faults), (4, Vec::new()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn every_harm_is_named() {
        for (statement, kind, example) in [
            ("UPDATE amem_stats SET facts = 7", "counters that are wrong", "fact is 7, there are 1"),
            ("UPDATE amem_stats SET edges = 0", "counters that are wrong", "edges is 0, there are 6"),
            (
                "UPDATE amem_stats SET next_id = 2",
                "counters that are wrong",
                "the next id is 2, and node 3 exists",
            ),
            (
                "UPDATE amem_stats SET sessions_used = 9",
                "counters that are wrong",
                "sessions with nodes is 9",
            ),
            ("UPDATE amem_stats SET erased = 1", "counters that are wrong", "forgotten is 1, there are 0"),
            ("DELETE FROM amem_node WHERE id = 1", "edges to nodes that do not exist", "0 → 1"),
            ("DELETE FROM amem_node WHERE id = 1", "edges from nodes that do not exist", "1 → 0"),
            (
                "DELETE FROM amem_node WHERE id = 1",
                "sessions that count their nodes wrong",
                "1 says 4 and has 3",
            ),
            ("DELETE FROM amem_node WHERE id = 2", "callers who are where nothing is", "agent_1"),
            ("DELETE FROM amem_session", "sessions that have nodes but no row", "1"),
            ("UPDATE amem_session SET episode_id = 99", "sessions whose episode does not exist", "1"),
            ("UPDATE amem_node SET event_type = 9 WHERE id = 2", "nodes of no type", "2"),
            (
                "UPDATE amem_node SET effective_access = 5 WHERE id = 2",
                "nodes whose importance is out of order",
                "2",
            ),
            ("UPDATE amem_node SET confidence = 5 WHERE id = 2", "nodes with a confidence beyond", "2 has 5"),
            ("UPDATE amem_node SET superseded_by = NULL", "not superseded by what their edges say", "0"),
            (
                "UPDATE amem_node SET superseded_by = 2 WHERE id = 0",
                "not superseded by what their edges say",
                "0 says 2",
            ),
            ("UPDATE amem_edge SET weight = 2 WHERE source_id = 1", "edges with a weight beyond", "1 → 0"),
            (
                "UPDATE amem_edge SET target_id = 3 WHERE source_id = 3",
                "edges from a node to itself",
                "3 → 3",
            ),
            (
                "UPDATE amem_node SET outgoing = '' WHERE id = 0",
                "do not say of their outgoing edges what",
                ": 1 (0)",
            ),
            (
                "UPDATE amem_edge SET weight = 0.25 WHERE source_id = 1",
                "do not say of their outgoing edges what",
                ": 1 (1)",
            ),
            (
                "DELETE FROM amem_edge WHERE source_id = 3",
                "do not say of their outgoing edges what",
                ": 1 (3)",
            ),
            (
                "INSERT INTO amem_vector (tenant_id, node_id, vector) SELECT tenant_id, 50, created_by FROM amem_node WHERE id = 0",
                "vectors of no node",
                "50",
            ),
            (
                "INSERT INTO amem_erased (tenant_id, mark, node_id) SELECT tenant_id, 1, id FROM amem_node WHERE id = 1",
                "forgotten nodes that are still there",
                "1",
            ),
        ] {
            // One backend is enough for what is plain SQL on both; the sound graph is tested on each.
            let world = fixtures().await.remove(0);
            harm(&world, statement).await;
            let faults = world.faults().await;
            let named = faults.iter().any(|fault| fault.contains(kind) && fault.contains(example));
            assert!(named, "{statement}: {faults:#?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn a_search_index_is_held_against_the_graph() {
        for world in worlds().await {
            for call in 0..3 {
                let nodes: Vec<_> = (0..900)
                    .map(|node| json!({"event_type": "fact", "content": format!("entry {}", call * 900 + node)}))
                    .collect();
                world.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
            }
            world.amem.settle().await.unwrap();
            assert!(world.has_index());
            world
                .call("memory_forget", json!({"node_id": 7, "reason": "not yet out of the index"}))
                .await
                .unwrap();
            assert_eq!(world.faults().await, Vec::<String>::new());
            harm(&world, "DELETE FROM amem_node WHERE id = 8").await;
            let checked = world.amem.check(&world.test.tenant).await.unwrap();
            assert_eq!(checked.index_faults, ["1 nodes are in it that do not exist, the first is 8"]);
            let folder = world.amem.index_folder(&world.test.tenant);
            let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let store = files
                .into_iter()
                .find(|path| path.extension().is_some_and(|ending| ending == "term"))
                .unwrap();
            let mut bytes = std::fs::read(&store).unwrap();
            bytes[10] ^= 1;
            std::fs::write(&store, bytes).unwrap();
            let checked = world.amem.check(&world.test.tenant).await.unwrap();
            assert!(checked.index_faults[0].contains("checksum"), "{:?}", checked.index_faults);
            // What it says to do is enough.
            std::fs::remove_dir_all(&folder).unwrap();
            let found = world.call("memory_search", json!({"query": "1234", "mode": "text"})).await.unwrap();
            assert_eq!(found["nodes"][0]["id"], 1_234);
            world.amem.settle().await.unwrap();
            assert_eq!(
                world.amem.check(&world.test.tenant).await.unwrap().index_faults,
                Vec::<String>::new()
            );
        }
    }
}
