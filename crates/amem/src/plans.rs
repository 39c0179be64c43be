//! How the databases find what is asked for: every list and every order of a query is a range of an index, on both. A list
//! that was sorted or scanned would answer the same, and be slow at a million nodes; so the plans themselves are tested.

use quad_core::{TenantId, Version};
use quad_store::{Backend, DbError, Row, Sql, Value as Cell, params};

use crate::corpus::Nodes;
use crate::edge::{EdgeTypes, Side};
use crate::event_type::EventType;
use crate::held::{Graph, Held};
use crate::list::Page;
use crate::node::NodeId;
use crate::query::{Order, Query};
use crate::search::Corpus;
use crate::session::SessionId;
use crate::temporal::Range;
use crate::testing::fixtures;
use crate::walk::Ways;
use crate::{completion, correcting, edge, list, quality, query, resume, session, temporal, walk};

/// Explains every query before it runs it.
struct Explaining<'s> {
    sql: &'s mut dyn Sql,
    plans: Vec<(String, String)>,
}

impl Explaining<'_> {
    fn explain(&mut self, sql: &str, params: &[Cell]) -> Result<(), DbError> {
        let prefix = match self.sql.backend() {
            Backend::Sqlite => "EXPLAIN QUERY PLAN",
            Backend::Postgres => "EXPLAIN (COSTS OFF)",
        };
        let column = if self.sql.backend() == Backend::Sqlite { 3 } else { 0 };
        let lines = self.sql.query(&format!("{prefix} {sql}"), params)?;
        let plan: Vec<&str> = lines.iter().map(|line| line.text(column)).collect::<Result<_, _>>()?;
        self.plans.push((sql.to_owned(), plan.join("\n")));
        Ok(())
    }
}

impl Sql for Explaining<'_> {
    fn backend(&self) -> Backend {
        self.sql.backend()
    }

    fn tenant(&self) -> &TenantId {
        self.sql.tenant()
    }

    fn version(&self) -> Version {
        self.sql.version()
    }

    fn query(&mut self, sql: &str, params: &[Cell]) -> Result<Vec<Row>, DbError> {
        self.explain(sql, params)?;
        self.sql.query(sql, params)
    }

    fn query_opt(&mut self, sql: &str, params: &[Cell]) -> Result<Option<Row>, DbError> {
        self.explain(sql, params)?;
        self.sql.query_opt(sql, params)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_list_is_a_range_of_an_index() {
    for world in fixtures().await {
        let explained = world.test.store.read(&world.test.tenant, |sql| {
            if sql.backend() == Backend::Postgres {
                // Of four nodes everything is a scan; the question is whether the index can do it.
                for setting in ["enable_seqscan", "enable_bitmapscan", "enable_sort"] {
                    sql.query(&format!("SELECT set_config('{setting}', 'off', true)"), params![])?;
                }
            }
            let mut sql = Explaining { sql, plans: Vec::new() };
            ask(&mut sql)?;
            Ok((sql.plans, sql.sql.backend()))
        });
        let (plans, backend) = explained.await.unwrap();
        assert!(plans.len() > 30, "{} queries", plans.len());
        let mut incoming = 0;
        for (query, plan) in plans {
            let (found, bad): (bool, &[&str]) = match backend {
                Backend::Sqlite => (plan.contains("USING"), &["SCAN", "TEMP B-TREE"]),
                Backend::Postgres => (plan.contains("Index"), &["Seq Scan", "Sort"]),
            };
            // The edges of several nodes at once are few, and may be put in order after they are found; so may be the
            // corrections of one node.
            let few = query.contains("FROM amem_edge");
            let is_bad =
                bad.iter().any(|bad| plan.contains(bad) && !(few && matches!(*bad, "TEMP B-TREE" | "Sort")));
            assert!(found && !is_bad, "{query}\n{plan}");
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

/// Asks everything that is asked of a graph of any size.
fn ask(sql: &mut dyn Sql) -> quad_core::Result<()> {
    let now = crate::micros::now();
    list::recent(sql, now)?;
    list::important(sql, now)?;
    let page = Page { after: Some(NodeId(0)), limit: 2 };
    list::session(sql, SessionId(1), page, now)?;
    list::of_type(sql, EventType::Fact, page, now)?;
    session::page(sql, Some(SessionId(5)), 10)?;
    edge::of_node(sql, NodeId(0), Side::Incoming, EdgeTypes::ALL, 10)?;
    edge::of_node(sql, NodeId(0), Side::Outgoing, EdgeTypes::ALL, 10)?;
    for order in [Order::MostRecent, Order::HighestConfidence, Order::MostAccessed, Order::MostImportant] {
        let asked = Query {
            event_types: Vec::new(),
            sessions: Vec::new(),
            min_confidence: 0.0,
            max_confidence: 1.0,
            created_after: 0,
            created_before: i64::MAX,
            order,
            limit: 2,
        };
        let first = query::run(sql, &asked, None, now)?;
        let first = quad_core::JsonText::from(first).parse();
        query::run(sql, &asked, first["next_cursor"].as_str(), now)?;
        let of_two = vec![EventType::Fact, EventType::Decision];
        query::run(sql, &Query { event_types: vec![EventType::Fact], ..asked.clone() }, None, now)?;
        query::run(sql, &Query { event_types: of_two, ..asked.clone() }, None, now)?;
        query::run(sql, &Query { sessions: vec![SessionId(1)], ..asked }, None, now)?;
    }
    let held = Held::default();
    let mut graph = Graph::new(sql, &held)?;
    walk::Neighbourhood::around(&mut graph, NodeId(0), 2, 0)?;
    walk::path(&mut graph, NodeId(3), NodeId(2), Ways::ALL, 5)?;
    correcting::resolve(sql, NodeId(0))?;
    let window = Range::Window { start: 0, end: i64::MAX };
    temporal::compare(sql, &window, &Range::Sessions(vec![SessionId(1)]), None, now)?;
    resume::resume(sql, "agent_1", 15, now)?;
    let thresholds = quality::Thresholds { low_confidence: 0.45, stale_decay: 0.2, examples: 5 };
    quality::report(sql, thresholds, None, now)?;
    let mut nodes = Nodes { sql: &mut *sql, superseded: false };
    nodes.after(Some(0), 10)?;
    nodes.erased(0, 10)?;
    nodes.keep(&[0, 1, 2])?;
    completion::values(sql, completion::Kind::Node, "")?;
    completion::values(sql, completion::Kind::Session, "1")?;
    Ok(())
}
