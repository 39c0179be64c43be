//! Environments: isolated sets of tables within a project.

use quad_core::{Result, Timestamp, typed_id};
use quad_store::{DbError, Row, Sql, Tx, Value as SqlValue, params};
use serde_json::{Value, json};

use crate::errors::{self, invalid};
use crate::organization::OrganizationId;
use crate::page::Page;
use crate::parents::Parents;
use crate::project::{self, ProjectId};
use crate::table::{self, Table};
use crate::{limits, physical, routes, tags};

typed_id!(
    /// The id of an environment.
    EnvironmentId,
    "env_"
);

/// The types of environments.
pub(crate) const KINDS: [&str; 4] = ["dev", "staging", "prod", "custom"];

/// An environment.
#[derive(Clone, Debug)]
pub struct Environment {
    /// Its id.
    pub id: EnvironmentId,
    /// The project.
    pub organization_id: OrganizationId,
    /// The organization.
    pub project_id: ProjectId,
    /// The name, unique in the project, ignoring case.
    pub name: String,
    /// `dev`, `staging`, `prod` or `custom`.
    pub kind: String,
    /// `active`.
    pub status: String,
    /// Copied from the project.
    pub cloud: String,
    /// Copied from the project.
    pub region: String,
    /// Its name in the database.
    pub physical_name: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The number of its tables.
    pub table_count: i64,
}

/// A new environment.
#[derive(Clone, Debug)]
pub(crate) struct NewEnvironment {
    pub id: Option<EnvironmentId>,
    pub project_id: String,
    pub name: String,
    /// One of [`KINDS`]; derived from the name if absent.
    pub kind: Option<String>,
}

const COLUMNS: &str = "e.id, e.organization_id, e.project_id, e.name, e.type, e.status, e.cloud, e.region, e.physical, \
     e.created_at, e.updated_at, \
     (SELECT COUNT(*) FROM bkend_table t WHERE t.tenant_id = e.tenant_id AND t.environment_id = e.id)";

impl Environment {
    fn from_row(row: &Row) -> Result<Environment, DbError> {
        Ok(Environment {
            id: EnvironmentId::from_db(row.text(0)?),
            organization_id: OrganizationId::from_db(row.text(1)?),
            project_id: ProjectId::from_db(row.text(2)?),
            name: row.text(3)?.to_owned(),
            kind: row.text(4)?.to_owned(),
            status: row.text(5)?.to_owned(),
            cloud: row.text(6)?.to_owned(),
            region: row.text(7)?.to_owned(),
            physical_name: row.text(8)?.to_owned(),
            created_at: Timestamp(row.int(9)?),
            updated_at: Timestamp(row.int(10)?),
            table_count: row.int(11)?,
        })
    }

    /// The element in a list.
    pub(crate) fn summary(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "type": self.kind,
            "status": self.status,
            "tableCount": self.table_count,
            "uri": self.uri(),
        })
    }

    /// The complete JSON.
    pub(crate) fn detail(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "organizationId": self.organization_id.as_str(),
            "projectId": self.project_id.as_str(),
            "name": self.name,
            "type": self.kind,
            "status": self.status,
            "cloud": self.cloud,
            "region": self.region,
            "tableCount": self.table_count,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "uri": self.uri(),
            "tablesUri": self.tables_uri(),
        })
    }

    /// The address.
    pub(crate) fn uri(&self) -> String {
        routes::environment_uri(self.organization_id.as_str(), self.project_id.as_str(), self.id.as_str())
    }

    /// The address of its tables.
    pub(crate) fn tables_uri(&self) -> String {
        routes::tables_uri(self.organization_id.as_str(), self.project_id.as_str(), self.id.as_str())
    }
}

/// Creates an environment. The database gets nothing until the first table.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewEnvironment) -> Result<Environment> {
    tx.lock(&format!("bkend:project:{}", new.project_id))?;
    let project = project::find(tx, &new.project_id)?;
    let name = check_name(&new.name)?;
    let kind = match &new.kind {
        Some(kind) if KINDS.contains(&kind.as_str()) => kind.clone(),
        Some(kind) => return Err(errors::unknown("environment type", kind, KINDS)),
        None => match name.to_ascii_lowercase().as_str() {
            "dev" | "development" => "dev",
            "staging" => "staging",
            "prod" | "production" => "prod",
            _ => "custom",
        }
        .to_owned(),
    };
    let id = match &new.id {
        Some(id) => id.clone(),
        None => EnvironmentId::generate()?,
    };
    let mut created = Environment {
        physical_name: physical::environment_name(tx, id.as_str())?,
        id,
        organization_id: project.organization_id,
        project_id: project.id,
        name,
        kind,
        status: "active".to_owned(),
        cloud: project.primary_cloud,
        region: project.primary_region,
        created_at: tx.now(),
        updated_at: tx.now(),
        table_count: 0,
    };
    let mut inserted = insert_row(tx, &created);
    if matches!(inserted, Ok(0)) {
        // Another tenant's transaction took the same physical name after the check; now it is visible.
        created.physical_name = physical::environment_name(tx, created.id.as_str())?;
        inserted = insert_row(tx, &created);
    }
    match inserted {
        Ok(0) => return Err(quad_core::Error::internal("no free physical name for the environment")),
        Err(DbError::Unique { .. }) => {
            return Err(errors::conflict(
                format!("The project has an environment {} already", created.name),
                "Use that environment, or choose a name that differs by more than case",
            ));
        }
        done => done?,
    };
    tx.audit_output("environment_id", created.id.as_str());
    for tag in tags::for_environment_change(&created) {
        tx.invalidate(tag);
    }
    Ok(created)
}

/// Inserts the row; 0 if its physical name is taken.
fn insert_row(tx: &mut Tx<'_>, new: &Environment) -> Result<u64, DbError> {
    let tenant = tx.tenant().clone();
    tx.execute(
        "INSERT INTO bkend_environment (tenant_id, id, organization_id, project_id, name, name_key, type, status,
            cloud, region, physical, physical_key, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13)
         ON CONFLICT (physical_key) DO NOTHING",
        params![
            tenant.as_str(),
            new.id.as_str(),
            new.organization_id.as_str(),
            new.project_id.as_str(),
            new.name.as_str(),
            new.name.to_ascii_lowercase(),
            new.kind.as_str(),
            new.status.as_str(),
            new.cloud.as_str(),
            new.region.as_str(),
            new.physical_name.as_str(),
            new.physical_name.to_ascii_lowercase(),
            new.created_at,
        ],
    )
}

fn check_name(name: &str) -> Result<String> {
    let has_valid_chars =
        name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    let has_valid_start = name.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric());
    if !has_valid_chars || !has_valid_start || name.len() > limits::IDENTIFIER_BYTES {
        return Err(invalid(
            "name",
            format!("cannot be \"{}\"", errors::truncate_for_message(name)),
            format!(
                "Begin with a letter or digit and use only letters, digits, _ and -, at most {} in all",
                limits::IDENTIFIER_BYTES
            ),
        ));
    }
    Ok(name.to_owned())
}

/// Deletes an environment with all its tables.
pub(crate) fn delete(tx: &mut Tx<'_>, id: &str) -> Result<Environment> {
    // The project's lock comes first, as in every deletion, so that two deletions cannot deadlock.
    let project = find(tx, id)?.project_id;
    tx.lock(&format!("bkend:project:{project}"))?;
    let environment = find(tx, id)?;
    delete_all(tx, std::slice::from_ref(&environment))?;
    tx.audit_output("environment_id", id);
    Ok(environment)
}

/// Removes environments and their contents. Tables come first, because a row write locks a table before its
/// catalogue row.
pub(crate) fn delete_all(tx: &mut Tx<'_>, environments: &[Environment]) -> Result<()> {
    let tenant = tx.tenant().clone();
    for environment in environments {
        tx.lock(&table::lock_name(environment.id.as_str()))?;
    }
    let mut tables: Vec<Table> = Vec::new();
    for environment in environments {
        tables.extend(table::list_in_environment(tx, environment.id.as_str())?);
        if tables.len() > limits::CASCADE_TABLES {
            return Err(project::cascade_too_large(format!(
                "There are more than {} tables",
                limits::CASCADE_TABLES
            )));
        }
    }
    for table in &tables {
        physical::drop_table(tx, table)?;
    }
    for table in &tables {
        table::delete_catalog_rows(tx, table)?;
    }
    for environment in environments {
        physical::drop_environment(tx, &environment.physical_name)?;
        tx.execute(
            "DELETE FROM bkend_environment WHERE tenant_id = $1 AND id = $2",
            params![tenant.as_str(), environment.id.as_str()],
        )?;
        tx.invalidate(tags::tables(environment.id.as_str()));
        for tag in tags::for_environment_change(environment) {
            tx.invalidate(tag);
        }
    }
    Ok(())
}

/// The environments of a project, sorted by id.
pub(crate) fn list_in_project(
    sql: &mut dyn Sql,
    organization: &str,
    project: &str,
) -> Result<Vec<Environment>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_environment e
             WHERE e.tenant_id = $1 AND e.organization_id = $2 AND e.project_id = $3 ORDER BY e.id"
        ),
        params![tenant.as_str(), organization, project],
    )?;
    rows.iter().map(|row| Ok(Environment::from_row(row)?)).collect()
}

/// A page of the environments below these parents, and their total number.
pub(crate) fn list_page(sql: &mut dyn Sql, parents: &Parents, page: Page) -> Result<(Vec<Environment>, i64)> {
    let mut values = vec![SqlValue::from(sql.tenant().as_str())];
    let condition = parents.condition("e", &mut values);
    let total = sql.query_opt(
        &format!("SELECT COUNT(*) FROM bkend_environment e WHERE e.tenant_id = $1{condition}"),
        &values,
    )?;
    let window = page.window(&mut values);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_environment e WHERE e.tenant_id = $1{condition}
             ORDER BY e.id{window}"
        ),
        &values,
    )?;
    let environments = rows.iter().map(|row| Ok(Environment::from_row(row)?)).collect::<Result<_>>()?;
    Ok((environments, total.map_or(Ok(0), |row| row.int(0))?))
}

/// One environment by its id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Environment> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} FROM bkend_environment e WHERE e.tenant_id = $1 AND e.id = $2"),
        params![tenant.as_str(), id],
    )?;
    Ok(Environment::from_row(&row.ok_or_else(|| errors::not_found("Environment", id))?)?)
}

/// The environments with this name below these parents, up to one more than an error lists.
pub(crate) fn find_by_name(sql: &mut dyn Sql, parents: &Parents, name: &str) -> Result<Vec<Environment>> {
    let mut values = vec![SqlValue::from(sql.tenant().as_str()), SqlValue::from(name.to_ascii_lowercase())];
    let condition = parents.condition("e", &mut values);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_environment e WHERE e.tenant_id = $1 AND e.name_key = $2{condition}
             ORDER BY e.id LIMIT {}",
            limits::CANDIDATES_SHOWN + 1
        ),
        &values,
    )?;
    rows.iter().map(|row| Ok(Environment::from_row(row)?)).collect()
}

/// One environment by its id, if it belongs to this project and organization.
pub(crate) fn find_at_path(
    sql: &mut dyn Sql,
    organization: &str,
    project: &str,
    id: &str,
) -> Result<Environment> {
    let environment = find(sql, id)?;
    if environment.organization_id.as_str() == organization && environment.project_id.as_str() == project {
        Ok(environment)
    } else {
        Err(errors::not_found("Environment", id))
    }
}
