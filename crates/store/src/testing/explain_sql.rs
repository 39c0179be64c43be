//! Records the query plan of every query, so that tests can check which index is used.

use quad_core::{TenantId, Version};

use crate::{Backend, DbError, Row, Sql, Value};

/// Explains every query before it runs it.
pub struct ExplainSql<'s> {
    /// Runs the queries.
    pub sql: &'s mut dyn Sql,
    /// Each query and its plan, in the order in which they ran.
    pub plans: Vec<(String, String)>,
}

impl<'s> ExplainSql<'s> {
    /// Explains the queries that `sql` runs.
    pub fn new(sql: &'s mut dyn Sql) -> ExplainSql<'s> {
        ExplainSql { sql, plans: Vec::new() }
    }

    fn explain(&mut self, sql: &str, params: &[Value]) -> Result<(), DbError> {
        let (prefix, column) = match self.sql.backend() {
            Backend::Sqlite => ("EXPLAIN QUERY PLAN", 3),
            Backend::Postgres => ("EXPLAIN (COSTS OFF)", 0),
        };
        let lines = self.sql.query(&format!("{prefix} {sql}"), params)?;
        let plan: Vec<&str> = lines.iter().map(|line| line.text(column)).collect::<Result<_, _>>()?;
        self.plans.push((sql.to_owned(), plan.join("\n")));
        Ok(())
    }
}

impl Sql for ExplainSql<'_> {
    fn backend(&self) -> Backend {
        self.sql.backend()
    }

    fn tenant(&self) -> &TenantId {
        self.sql.tenant()
    }

    fn version(&self) -> Version {
        self.sql.version()
    }

    fn query(&mut self, sql: &str, params: &[Value]) -> Result<Vec<Row>, DbError> {
        self.explain(sql, params)?;
        self.sql.query(sql, params)
    }

    fn query_opt(&mut self, sql: &str, params: &[Value]) -> Result<Option<Row>, DbError> {
        self.explain(sql, params)?;
        self.sql.query_opt(sql, params)
    }
}
