//! The integrity check behind `quad doctor --deep`: compares everything that is stored twice, and follows every
//! reference.
//!
//! It reads the whole graph in one snapshot by primary key, page by page, and counts it again. Then it compares the
//! counters, the list indexes, the text index and the sessions with the counts. It changes nothing.

use std::collections::BTreeMap;

use quad_core::{Result, TenantId};
use quad_store::{Backend, Sql, params};

use crate::adjacency::PackedHash;
use crate::counters::{self, Counters};
use crate::edge::{Edge, EdgeType};
use crate::event_type::EventType;
use crate::node::NodeId;
use crate::search::Engine;
use crate::search_source::SnapshotDocs;
use crate::{Amem, decay, limits, vectors};

/// The result of an integrity check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntegrityReport {
    /// The number of nodes read.
    pub nodes: u64,
    /// The number of edges read.
    pub edges: u64,
    /// Violations in the stored data: one line per kind, with examples.
    pub violations: Vec<String>,
    /// Violations in the search index. The index can be deleted; it is rebuilt.
    pub index_violations: Vec<String>,
}

impl Amem {
    /// Checks a tenant's graph.
    pub async fn check_integrity(&self, tenant: &TenantId) -> Result<IntegrityReport> {
        let engine = self.engine.clone();
        self.store.read(tenant, move |sql| check_graph(sql, &engine)).await
    }

    /// The folder of a tenant's search index. It may be deleted at any time.
    pub fn index_folder(&self, tenant: &TenantId) -> std::path::PathBuf {
        self.engine.index_folder(tenant)
    }
}

/// Violations by kind: the count and the first examples.
#[derive(Default)]
struct Violations {
    kinds: BTreeMap<&'static str, (u64, Vec<String>)>,
}

impl Violations {
    fn add(&mut self, kind: &'static str, example: impl FnOnce() -> String) {
        let (count, examples) = self.kinds.entry(kind).or_default();
        *count += 1;
        if examples.len() < limits::VIOLATION_EXAMPLES {
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

const PACKED_EDGES_MISMATCH: &str = "nodes whose packed edges differ from the edge table";

/// What the check has read so far.
#[derive(Default)]
struct Scan {
    /// The ids of all nodes, ascending.
    nodes: Vec<i64>,
    /// A hash of each node's packed edges, removed when the table's edges have been compared with it.
    packed_edge_hashes: Vec<Option<PackedHash>>,
    /// The superseding node of each superseded node, by the node's own row.
    superseded: BTreeMap<i64, i64>,
    /// The newest superseding node and its edge's time, by the edges.
    newest_superseding: BTreeMap<i64, (i64, i64)>,
    nodes_by_session: BTreeMap<i64, i64>,
    counters: Counters,
    accessed_nodes: i64,
}

impl Scan {
    /// Compares the packed edges of a node with its edges in the table. Called after all edges of `source` were
    /// read.
    fn check_packed_edges(&mut self, source: i64, edges: &[Edge], violations: &mut Violations) {
        let index = self.nodes.binary_search(&source).ok();
        let Some(slot) = index.and_then(|index| self.packed_edge_hashes.get_mut(index)) else { return };
        let Some(hash) = slot.take() else { return };
        violations.add_if(!hash.matches(edges), PACKED_EDGES_MISMATCH, || source.to_string());
    }

    /// Checks that the nodes without edges in the table have no packed edges. Called after all edges were read.
    fn check_nodes_without_edges(&self, violations: &mut Violations) {
        for (id, hash) in self.nodes.iter().zip(&self.packed_edge_hashes) {
            violations.add_if(hash.is_some_and(|hash| !hash.matches(&[])), PACKED_EDGES_MISMATCH, || {
                id.to_string()
            });
        }
    }

    fn contains_node(&self, node: i64) -> bool {
        self.nodes.binary_search(&node).is_ok()
    }
}

fn check_graph(sql: &mut dyn Sql, engine: &Engine) -> Result<IntegrityReport> {
    let mut violations = Violations::default();
    check_file(sql, &mut violations)?;
    let mut scan = Scan::default();
    scan_nodes(sql, &mut scan, &mut violations)?;
    scan_edges(sql, &mut scan, &mut violations)?;
    check_supersessions(&scan, &mut violations);
    check_sessions(sql, &mut scan, &mut violations)?;
    check_vectors_positions_deletions(sql, &mut scan, &mut violations)?;
    check_counters(sql, &scan, &mut violations)?;
    check_lists(sql, &scan, &mut violations)?;
    let tenant = sql.tenant().clone();
    let index_violations =
        engine.check_index(&tenant, &mut SnapshotDocs { sql, include_superseded: true }, &scan.nodes)?;
    Ok(IntegrityReport {
        nodes: scan.nodes.len() as u64,
        edges: u64::try_from(scan.counters.edges).unwrap_or_default(),
        violations: violations.into_lines(),
        index_violations,
    })
}

/// Checks pages and indexes of the SQLite file. PostgreSQL checks its own.
fn check_file(sql: &mut dyn Sql, violations: &mut Violations) -> Result<()> {
    if sql.backend() != Backend::Sqlite {
        return Ok(());
    }
    for row in sql.query("PRAGMA integrity_check(20)", &[])? {
        let message = row.text(0)?;
        violations.add_if(message != "ok", "the database file is damaged", || message.to_owned());
    }
    Ok(())
}

fn scan_nodes(sql: &mut dyn Sql, scan: &mut Scan, violations: &mut Violations) -> Result<()> {
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
            scan.nodes.push(id);
            scan.packed_edge_hashes.push(row.opt_text(9)?.map(PackedHash::of_column));
            *scan.nodes_by_session.entry(row.int(2)?).or_default() += 1;
            let (accesses, last_accessed) = (row.int(4)?, row.int(5)?);
            scan.accessed_nodes += i64::from(accesses > 0);
            match EventType::from_db(row.int(1)?) {
                Ok(event_type) => {
                    scan.counters.count_nodes(event_type, 1);
                    let is_wrong = row.int(6)? != event_type.score_class() as i64
                        || row.int(7)? != decay::effective_access(last_accessed, accesses);
                    violations.add_if(is_wrong, "nodes with a wrong score class or effective access", || {
                        id.to_string()
                    });
                }
                Err(_) => violations.add("nodes of an unknown type", || id.to_string()),
            }
            let confidence = row.real(3)?;
            violations.add_if(
                !(0.0..=1.0).contains(&confidence),
                "nodes with a confidence outside 0 to 1",
                || format!("{id} has {confidence}"),
            );
            if let Some(by) = row.opt_int(8)? {
                scan.superseded.insert(id, by);
            }
        }
        if rows.len() < limits::CHECK_ROWS {
            return Ok(());
        }
    }
}

fn scan_edges(sql: &mut dyn Sql, scan: &mut Scan, violations: &mut Violations) -> Result<()> {
    let tenant = sql.tenant().clone();
    let mut after = (-1, -1, -1);
    let (mut current_source, mut edges) = (-1, Vec::new());
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
            if source != current_source {
                scan.check_packed_edges(current_source, &edges, violations);
                current_source = source;
                edges.clear();
            }
            match EdgeType::from_db(after.2) {
                Ok(edge_type) => {
                    edges.push(Edge {
                        source: NodeId(source),
                        target: NodeId(target),
                        edge_type,
                        weight: row.real(3)?,
                    });
                    scan.counters.count_edges(edge_type, 1);
                    if edge_type == EdgeType::Supersedes {
                        let since = (row.int(4)?, source);
                        let newest = scan.newest_superseding.entry(target).or_insert(since);
                        *newest = since.max(*newest);
                    }
                }
                Err(_) => violations.add("edges of an unknown type", name),
            }
            let weight = row.real(3)?;
            violations.add_if(!(0.0..=1.0).contains(&weight), "edges with a weight outside 0 to 1", name);
            violations.add_if(source == target, "edges from a node to itself", name);
            violations.add_if(!scan.contains_node(source), "edges from nodes that do not exist", name);
            violations.add_if(!scan.contains_node(target), "edges to nodes that do not exist", name);
        }
        if rows.len() < limits::CHECK_ROWS {
            scan.check_packed_edges(current_source, &edges, violations);
            scan.check_nodes_without_edges(violations);
            return Ok(());
        }
    }
}

fn check_supersessions(scan: &Scan, violations: &mut Violations) {
    const KIND: &str = "nodes whose superseded_by differs from their edges";
    for (id, by) in &scan.superseded {
        let by_edges = scan.newest_superseding.get(id).map(|(_, source)| source);
        violations
            .add_if(by_edges != Some(by), KIND, || format!("{id} has {by}, its edges have {by_edges:?}"));
    }
    for id in scan.newest_superseding.keys() {
        violations
            .add_if(!scan.superseded.contains_key(id) && scan.contains_node(*id), KIND, || id.to_string());
    }
}

fn check_sessions(sql: &mut dyn Sql, scan: &mut Scan, violations: &mut Violations) -> Result<()> {
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
            scan.counters.sessions += 1;
            scan.counters.next_session = id + 1;
            let (stored, counted) = (row.int(1)?, scan.nodes_by_session.remove(&id).unwrap_or_default());
            scan.counters.sessions_with_nodes += i64::from(counted > 0);
            violations.add_if(stored != counted, "sessions with a wrong node count", || {
                format!("{id} stores {stored}, has {counted}")
            });
            let episode = row.opt_int(2)?;
            violations.add_if(
                episode.is_some_and(|episode| !scan.contains_node(episode)),
                "sessions whose episode does not exist",
                || id.to_string(),
            );
        }
        if rows.len() < limits::CHECK_ROWS {
            break;
        }
    }
    for id in std::mem::take(&mut scan.nodes_by_session).keys() {
        violations.add("sessions that have nodes but no row", || id.to_string());
    }
    Ok(())
}

/// Checks vectors, caller states and deletions.
fn check_vectors_positions_deletions(
    sql: &mut dyn Sql,
    scan: &mut Scan,
    violations: &mut Violations,
) -> Result<()> {
    let tenant = sql.tenant().clone();
    let dimension = vectors::dimension(sql)?.unwrap_or_default();
    let mut after = -1;
    loop {
        let rows = sql.query(
            "SELECT node_id, LENGTH(vector) FROM amem_vector WHERE tenant_id = $1 AND node_id > $2 \
             ORDER BY node_id LIMIT $3",
            params![tenant.as_str(), after, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            after = row.int(0)?;
            let is_wrong = !scan.contains_node(after) || row.int(1)? != 4 * dimension as i64;
            violations
                .add_if(is_wrong, "vectors of a missing node or of another dimension", || after.to_string());
        }
        if rows.len() < limits::CHECK_ROWS {
            break;
        }
    }
    let rows = sql.query(
        "SELECT p.subject, p.last_node, p.session_id, s.id FROM amem_place p LEFT JOIN amem_session s \
         ON s.tenant_id = p.tenant_id AND s.id = p.session_id WHERE p.tenant_id = $1",
        params![tenant.as_str()],
    )?;
    for row in &rows {
        let node_missing = row.opt_int(1)?.is_some_and(|node| !scan.contains_node(node));
        let session_missing = row.opt_int(2)?.is_some() && row.opt_int(3)?.is_none();
        let subject = row.text(0)?;
        violations.add_if(
            node_missing || session_missing,
            "caller states that point to a missing session or node",
            || subject.to_owned(),
        );
    }
    let mut position = 0;
    loop {
        let rows = sql.query(
            "SELECT mark, node_id FROM amem_erased WHERE tenant_id = $1 AND mark > $2 ORDER BY mark LIMIT $3",
            params![tenant.as_str(), position, limits::CHECK_ROWS as i64],
        )?;
        for row in &rows {
            let (next, id) = (row.int(0)?, row.int(1)?);
            violations.add_if(
                next != position + 1 || scan.contains_node(id),
                "deleted nodes that still exist, or gaps in the list of deleted nodes",
                || id.to_string(),
            );
            position = next;
            scan.counters.deleted += 1;
        }
        if rows.len() < limits::CHECK_ROWS {
            return Ok(());
        }
    }
}

fn check_counters(sql: &mut dyn Sql, scan: &Scan, violations: &mut Violations) -> Result<()> {
    let (stored, actual) = (counters::read(sql)?, &scan.counters);
    let mut compare = |name: &str, stored: i64, actual: i64| {
        violations
            .add_if(stored != actual, "wrong counters", || format!("{name} is {stored}, there are {actual}"));
    };
    for event_type in EventType::ALL {
        compare(
            event_type.as_str(),
            stored.node_count_of_type(event_type),
            actual.node_count_of_type(event_type),
        );
    }
    compare("edges", stored.edges, actual.edges);
    compare("supersedes", stored.edges_supersedes, actual.edges_supersedes);
    compare("contradicts", stored.edges_contradicts, actual.edges_contradicts);
    compare("sessions", stored.sessions, actual.sessions);
    compare("sessions with nodes", stored.sessions_with_nodes, actual.sessions_with_nodes);
    compare("deleted nodes", stored.deleted, actual.deleted);
    let newest = scan.nodes.last().copied().unwrap_or(-1);
    violations.add_if(stored.next_id <= newest, "wrong counters", || {
        format!("next_id is {}, and node {newest} exists", stored.next_id)
    });
    violations.add_if(stored.next_session < actual.next_session, "wrong counters", || {
        format!("next_session is {}, and a session below {} exists", stored.next_session, actual.next_session)
    });
    Ok(())
}

/// Each list is an index range: it must have as many entries as were counted.
fn check_lists(sql: &mut dyn Sql, scan: &Scan, violations: &mut Violations) -> Result<()> {
    let tenant = sql.tenant().clone();
    let all = scan.nodes.len() as i64;
    let mut lists: Vec<(String, String, i64)> = vec![
        ("by session".into(), "amem_node WHERE tenant_id = $1 AND session_id >= 0".into(), all),
        ("by time".into(), "amem_node WHERE tenant_id = $1 AND created_at >= 0".into(), all),
        ("by confidence".into(), "amem_node WHERE tenant_id = $1 AND confidence >= 0".into(), all),
        (
            "by accesses".into(),
            "amem_node WHERE tenant_id = $1 AND access_count > 0".into(),
            scan.accessed_nodes,
        ),
        (
            "by importance".into(),
            "amem_node WHERE tenant_id = $1 AND tier >= 0 AND superseded_by IS NULL".into(),
            all - scan.superseded.len() as i64,
        ),
        (
            "edges by target".into(),
            "amem_edge WHERE tenant_id = $1 AND target_id >= 0".into(),
            scan.counters.edges,
        ),
    ];
    for event_type in EventType::ALL {
        let from = format!("amem_node WHERE tenant_id = $1 AND event_type = {}", event_type.number());
        lists.push((
            format!("of type {}", event_type.as_str()),
            from,
            scan.counters.node_count_of_type(event_type),
        ));
    }
    for (name, from, expected) in lists {
        let row = sql.query_opt(&format!("SELECT COUNT(*) FROM {from}"), params![tenant.as_str()])?;
        let count = row.map(|row| row.int(0)).transpose()?.unwrap_or_default();
        violations.add_if(count != expected, "indexes that differ from the table", || {
            format!("{name}: {count} instead of {expected}")
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::testing::{MemoryEnv, test_envs, test_envs_with_data};

    async fn corrupt(env: &MemoryEnv, statement: &'static str) {
        env.test_store
            .store
            .write_unaudited(&env.test_store.tenant, move |tx| {
                tx.execute(statement, &[])?;
                Ok(())
            })
            .await
            .unwrap();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn integrity_check_of_valid_graph_finds_nothing() {
        for env in test_envs().await {
            assert_eq!(env.violations().await, Vec::<String>::new(), "an empty one");
        }
        for env in test_envs_with_data().await {
            env.read("amem://node/1").await.unwrap();
            env.call("memory_forget", json!({"node_id": 2, "reason": "a test"})).await.unwrap();
            env.call("session_end", json!({})).await.unwrap();
            let report = env.scheme.check_integrity(&env.test_store.tenant).await.unwrap();
            assert_eq!((report.nodes, report.violations), (4, Vec::new()));
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn integrity_check_reports_each_corruption() {
        for (statement, kind, example) in [
            ("UPDATE amem_stats SET facts = 7", "wrong counters", "fact is 7, there are 1"),
            ("UPDATE amem_stats SET edges = 0", "wrong counters", "edges is 0, there are 6"),
            ("UPDATE amem_stats SET next_id = 2", "wrong counters", "next_id is 2, and node 3 exists"),
            ("UPDATE amem_stats SET sessions_used = 9", "wrong counters", "sessions with nodes is 9"),
            ("UPDATE amem_stats SET erased = 1", "wrong counters", "deleted nodes is 1, there are 0"),
            ("DELETE FROM amem_node WHERE id = 1", "edges to nodes that do not exist", "0 → 1"),
            ("DELETE FROM amem_node WHERE id = 1", "edges from nodes that do not exist", "1 → 0"),
            ("DELETE FROM amem_node WHERE id = 1", "sessions with a wrong node count", "1 stores 4, has 3"),
            (
                "DELETE FROM amem_node WHERE id = 2",
                "caller states that point to a missing session or node",
                "agent_1",
            ),
            ("DELETE FROM amem_session", "sessions that have nodes but no row", "1"),
            ("UPDATE amem_session SET episode_id = 99", "sessions whose episode does not exist", "1"),
            ("UPDATE amem_node SET event_type = 9 WHERE id = 2", "nodes of an unknown type", "2"),
            (
                "UPDATE amem_node SET effective_access = 5 WHERE id = 2",
                "nodes with a wrong score class or effective access",
                "2",
            ),
            (
                "UPDATE amem_node SET confidence = 5 WHERE id = 2",
                "nodes with a confidence outside",
                "2 has 5",
            ),
            ("UPDATE amem_node SET superseded_by = NULL", "superseded_by differs from their edges", "0"),
            (
                "UPDATE amem_node SET superseded_by = 2 WHERE id = 0",
                "superseded_by differs from their edges",
                "0 has 2",
            ),
            ("UPDATE amem_edge SET weight = 2 WHERE source_id = 1", "edges with a weight outside", "1 → 0"),
            (
                "UPDATE amem_edge SET target_id = 3 WHERE source_id = 3",
                "edges from a node to itself",
                "3 → 3",
            ),
            (
                "UPDATE amem_node SET outgoing = '' WHERE id = 0",
                "packed edges differ from the edge table",
                ": 1 (0)",
            ),
            (
                "UPDATE amem_edge SET weight = 0.25 WHERE source_id = 1",
                "packed edges differ from the edge table",
                ": 1 (1)",
            ),
            (
                "DELETE FROM amem_edge WHERE source_id = 3",
                "packed edges differ from the edge table",
                ": 1 (3)",
            ),
            (
                "INSERT INTO amem_vector (tenant_id, node_id, vector) SELECT tenant_id, 50, created_by FROM amem_node WHERE id = 0",
                "vectors of a missing node",
                "50",
            ),
            (
                "INSERT INTO amem_erased (tenant_id, mark, node_id) SELECT tenant_id, 1, id FROM amem_node WHERE id = 1",
                "deleted nodes that still exist, or gaps in the list of deleted nodes",
                "1",
            ),
        ] {
            // One backend is enough for corruption tests of SQL that both share; the valid graph is tested on each.
            let env = test_envs_with_data().await.remove(0);
            corrupt(&env, statement).await;
            let violations = env.violations().await;
            let reported =
                violations.iter().any(|violation| violation.contains(kind) && violation.contains(example));
            assert!(reported, "{statement}: {violations:#?}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn integrity_check_covers_text_index() {
        for env in test_envs().await {
            for call in 0..3 {
                let nodes: Vec<_> = (0..900)
                    .map(|node| json!({"event_type": "fact", "content": format!("entry {}", call * 900 + node)}))
                    .collect();
                env.call("memory_add_many", json!({"nodes": nodes, "chain": false})).await.unwrap();
            }
            env.scheme.wait_for_index().await.unwrap();
            assert!(env.has_index());
            env.call("memory_forget", json!({"node_id": 7, "reason": "not yet out of the index"}))
                .await
                .unwrap();
            assert_eq!(env.violations().await, Vec::<String>::new());
            corrupt(&env, "DELETE FROM amem_node WHERE id = 8").await;
            let report = env.scheme.check_integrity(&env.test_store.tenant).await.unwrap();
            assert_eq!(report.index_violations, ["1 nodes in the index do not exist, the first is 8"]);
            let folder = env.scheme.index_folder(&env.test_store.tenant);
            let files = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
            let term_file = files
                .into_iter()
                .find(|path| path.extension().is_some_and(|extension| extension == "term"))
                .unwrap();
            let mut bytes = std::fs::read(&term_file).unwrap();
            bytes[10] ^= 1;
            std::fs::write(&term_file, bytes).unwrap();
            let report = env.scheme.check_integrity(&env.test_store.tenant).await.unwrap();
            assert!(report.index_violations[0].contains("checksum"), "{:?}", report.index_violations);
            // Deleting the folder is the documented repair.
            std::fs::remove_dir_all(&folder).unwrap();
            let found = env.call("memory_search", json!({"query": "1234", "mode": "text"})).await.unwrap();
            assert_eq!(found["nodes"][0]["id"], 1_234);
            env.scheme.wait_for_index().await.unwrap();
            assert_eq!(
                env.scheme.check_integrity(&env.test_store.tenant).await.unwrap().index_violations,
                Vec::<String>::new()
            );
        }
    }
}
