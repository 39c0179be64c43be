//! Query plans: on both databases, every list and every query order must be a range of an index. A scan or a sort
//! would give the same result and be slow with a million nodes, so the plans themselves are tested.

use quad_store::testing::ExplainSql;
use quad_store::{Backend, Sql, params};

use crate::edge::{Direction, EdgeTypeSet};
use crate::event_type::EventType;
use crate::graph_cache::{GraphCache, GraphReader};
use crate::list::Page;
use crate::node::NodeId;
use crate::query::{Order, Query};
use crate::range_diff::Range;
use crate::search::DocSnapshot;
use crate::search_source::SnapshotDocs;
use crate::session::SessionId;
use crate::testing::test_envs_with_data;
use crate::traversal::EdgeFilter;
use crate::{
    completion, edge, list, neighborhood, quality, query, range_diff, resume, session, supersede, traversal,
};

#[tokio::test(flavor = "multi_thread")]
async fn every_list_and_order_uses_an_index() {
    for env in test_envs_with_data().await {
        let result = env.test_store.store.read(&env.test_store.tenant, |sql| {
            if sql.backend() == Backend::Postgres {
                // PostgreSQL scans a table of four rows; with scans disabled, the plan shows whether the index can
                // be used.
                for setting in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
                    sql.query(&format!("SELECT set_config('{setting}', 'off', true)"), params![])?;
                }
            }
            let mut sql = ExplainSql::new(sql);
            run_all_queries(&mut sql)?;
            Ok((sql.plans, sql.sql.backend()))
        });
        let (plans, backend) = result.await.unwrap();
        assert!(plans.len() > 30, "{} queries", plans.len());
        let mut incoming = 0;
        for (query, plan) in plans {
            let (uses_index, forbidden): (bool, &[&str]) = match backend {
                Backend::Sqlite => (plan.contains("USING"), &["SCAN", "TEMP B-TREE"]),
                Backend::Postgres => (plan.contains("Index"), &["Seq Scan", "Sort"]),
            };
            // The edges of several nodes are few, and may be sorted after the lookup; so may the corrections of one
            // node.
            let is_edge_query = query.contains("FROM amem_edge");
            let has_scan_or_sort = forbidden.iter().any(|step| {
                plan.contains(step) && !(is_edge_query && matches!(*step, "TEMP B-TREE" | "Sort"))
            });
            assert!(uses_index && !has_scan_or_sort, "{query}\n{plan}");
            if backend == Backend::Sqlite && query.contains("MAX(p.id)") {
                let by_key = "amem_node_1 (tenant_id=? AND id=?)";
                let by_session = "amem_node_session (tenant_id=? AND session_id=? AND id";
                assert!(plan.contains(by_key) && plan.matches(by_session).count() == 2, "{query}\n{plan}");
            }
            if backend == Backend::Sqlite
                && query.contains("weight FROM amem_edge")
                && query.contains("AND target_id")
            {
                assert!(
                    plan.contains("COVERING INDEX amem_edge_target"),
                    "one look for each edge: {query}\n{plan}"
                );
                incoming += 1;
            }
        }
        assert!(incoming > 0 || backend == Backend::Postgres);
    }
}

/// Runs each query that must be fast on a graph of any size.
fn run_all_queries(sql: &mut dyn Sql) -> quad_core::Result<()> {
    let now = crate::micros::now();
    list::recent(sql)?;
    list::important(sql, now)?;
    let page = Page { after: Some(NodeId(0)), limit: 2 };
    list::nodes_of_session(sql, SessionId(1), page)?;
    list::nodes_of_type(sql, EventType::Fact, page)?;
    session::page(sql, Some(SessionId(5)), 10)?;
    edge::for_node(sql, NodeId(0), Direction::Incoming, EdgeTypeSet::ALL, 10)?;
    edge::for_node(sql, NodeId(0), Direction::Outgoing, EdgeTypeSet::ALL, 10)?;
    edge::for_nodes_up_to(sql, &[NodeId(0), NodeId(2)], Direction::Incoming, EdgeTypeSet::ALL, 10)?;
    for order in [Order::MostRecent, Order::HighestConfidence, Order::MostAccessed, Order::MostImportant] {
        let query = Query {
            event_types: Vec::new(),
            sessions: Vec::new(),
            min_confidence: 0.0,
            max_confidence: 1.0,
            created_after: 0,
            created_before: i64::MAX,
            order,
            limit: 2,
        };
        let first = query::run(sql, &query, None, now)?;
        let first = quad_core::JsonText::from(first).parse();
        query::run(sql, &query, first["next_cursor"].as_str(), now)?;
        let two_types = vec![EventType::Fact, EventType::Decision];
        query::run(sql, &Query { event_types: vec![EventType::Fact], ..query.clone() }, None, now)?;
        query::run(sql, &Query { event_types: two_types, ..query.clone() }, None, now)?;
        query::run(sql, &Query { sessions: vec![SessionId(1)], ..query }, None, now)?;
    }
    let graph_cache = GraphCache::default();
    let mut graph = GraphReader::new(sql, &graph_cache)?;
    neighborhood::Neighborhood::load(&mut graph, NodeId(0), 2, 0)?;
    traversal::meaningful_path(&mut graph, NodeId(3), NodeId(2), EdgeFilter::ALL, 5)?;
    supersede::resolve(sql, NodeId(0))?;
    let window = Range::Window { start: 0, end: i64::MAX };
    range_diff::diff(sql, &window, &Range::Sessions(vec![SessionId(1)]), None, now)?;
    resume::resume(sql, "agent_1", 15)?;
    let thresholds = quality::Thresholds { low_confidence: 0.45, stale_decay: 0.2, examples: 5 };
    quality::report(sql, thresholds, None, now)?;
    let mut nodes = SnapshotDocs { sql: &mut *sql, include_superseded: false };
    nodes.docs_after(Some(0), 10)?;
    nodes.deleted_after(0, 10)?;
    nodes.get(&[0, 2])?;
    nodes.get_visible(&[0, 2])?;
    nodes.session_neighbors(&[0, 2])?;
    nodes.visible(&[0, 1, 2])?;
    completion::values(sql, completion::VariableKind::Node, "")?;
    completion::values(sql, completion::VariableKind::Session, "1")?;
    Ok(())
}
