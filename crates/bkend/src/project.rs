//! Projects of an organization. A new project gets an environment `dev`.

use quad_core::{Result, Timestamp, typed_id};
use quad_store::{DbError, Row, Sql, Tx, Value as SqlValue, params};
use serde_json::{Map, Value, json};

use crate::environment::{self, Environment, NewEnvironment};
use crate::errors::{self, invalid};
use crate::organization::{self, OrganizationId};
use crate::page::Page;
use crate::parents::Parents;
use crate::{limits, routes, slug, tags};

typed_id!(
    /// The id of a project.
    ProjectId,
    "proj_"
);

/// A project.
#[derive(Clone, Debug)]
pub struct Project {
    /// Its id.
    pub id: ProjectId,
    /// The organization.
    pub organization_id: OrganizationId,
    /// Its name.
    pub name: String,
    /// The slug, unique in the organization; never changes.
    pub slug: String,
    /// A description.
    pub description: Option<String>,
    /// The cloud; stored as given, nothing is provisioned.
    pub primary_cloud: String,
    /// The region; stored as given.
    pub primary_region: String,
    /// `active`.
    pub status: String,
    /// Settings, free-form.
    pub settings: Map<String, Value>,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
    /// The number of its environments.
    pub environment_count: i64,
}

/// A new project.
#[derive(Clone, Debug)]
pub(crate) struct NewProject {
    pub id: Option<ProjectId>,
    pub organization_id: String,
    pub name: String,
    pub slug: Option<String>,
    pub description: Option<String>,
    pub primary_cloud: Option<String>,
    pub primary_region: Option<String>,
    /// Whether it gets an environment `dev`. A load supplies its own environments.
    pub with_dev: bool,
}

/// Changes of a project. `None` keeps a value.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ProjectChange {
    pub name: Option<String>,
    /// `Some(None)` clears it.
    pub description: Option<Option<String>>,
    pub settings: Option<Map<String, Value>>,
}

const COLUMNS: &str = "p.id, p.organization_id, p.name, p.slug, p.description, p.primary_cloud, p.primary_region, \
     p.status, p.settings, p.created_at, p.updated_at, \
     (SELECT COUNT(*) FROM bkend_environment e WHERE e.tenant_id = p.tenant_id \
        AND e.organization_id = p.organization_id AND e.project_id = p.id)";

impl Project {
    fn from_row(row: &Row) -> Result<Project, DbError> {
        Ok(Project {
            id: ProjectId::from_db(row.text(0)?),
            organization_id: OrganizationId::from_db(row.text(1)?),
            name: row.text(2)?.to_owned(),
            slug: row.text(3)?.to_owned(),
            description: row.opt_text(4)?.map(str::to_owned),
            primary_cloud: row.text(5)?.to_owned(),
            primary_region: row.text(6)?.to_owned(),
            status: row.text(7)?.to_owned(),
            settings: serde_json::from_str(row.text(8)?).map_err(|error| DbError::Other(error.into()))?,
            created_at: Timestamp(row.int(9)?),
            updated_at: Timestamp(row.int(10)?),
            environment_count: row.int(11)?,
        })
    }

    /// The element in a list.
    pub(crate) fn summary(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "slug": self.slug,
            "description": self.description,
            "status": self.status,
            "environmentCount": self.environment_count,
            "uri": self.uri(),
        })
    }

    /// The complete JSON.
    pub(crate) fn detail(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "organizationId": self.organization_id.as_str(),
            "name": self.name,
            "slug": self.slug,
            "description": self.description,
            "primaryCloud": self.primary_cloud,
            "primaryRegion": self.primary_region,
            "status": self.status,
            "settings": self.settings,
            "environmentCount": self.environment_count,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "uri": self.uri(),
            "environmentsUri": routes::environments_uri(self.organization_id.as_str(), self.id.as_str()),
        })
    }

    /// The address.
    pub(crate) fn uri(&self) -> String {
        routes::project_uri(self.organization_id.as_str(), self.id.as_str())
    }
}

/// Creates a project, and its `dev` environment if requested.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewProject) -> Result<(Project, Option<Environment>)> {
    tx.lock(&format!("bkend:org:{}", new.organization_id))?;
    let organization = organization::find(tx, &new.organization_id)?;
    let tenant = tx.tenant().clone();
    let name = slug::check_name("name", &new.name)?;
    let mut is_taken = |slug: &str| -> Result<bool> {
        let row = tx.query_opt(
            "SELECT 1 FROM bkend_project WHERE tenant_id = $1 AND organization_id = $2 AND slug = $3",
            params![tenant.as_str(), organization.id.as_str(), slug],
        )?;
        Ok(row.is_some())
    };
    let slug = match &new.slug {
        Some(chosen) => {
            let chosen = slug::check(chosen)?;
            if is_taken(&chosen)? {
                return Err(errors::conflict(
                    format!("The slug {chosen} is taken in this organization"),
                    "Choose another slug, or leave it out",
                ));
            }
            chosen
        }
        None => slug::derive(&name, "project", is_taken)?,
    };
    let check_location = |parameter: &str, given: &Option<String>| {
        slug::check_name(parameter, given.as_deref().unwrap_or("local"))
    };
    let mut created = Project {
        id: match &new.id {
            Some(id) => id.clone(),
            None => ProjectId::generate()?,
        },
        organization_id: organization.id,
        name,
        slug,
        description: new.description.as_deref().map(slug::check_description).transpose()?,
        primary_cloud: check_location("primaryCloud", &new.primary_cloud)?,
        primary_region: check_location("primaryRegion", &new.primary_region)?,
        status: "active".to_owned(),
        settings: Map::new(),
        created_at: tx.now(),
        updated_at: tx.now(),
        environment_count: 0,
    };
    let inserted = tx.execute(
        "INSERT INTO bkend_project (tenant_id, id, organization_id, name, slug, description, primary_cloud,
            primary_region, status, settings, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '{}', $10, $10)",
        params![
            tenant.as_str(),
            created.id.as_str(),
            created.organization_id.as_str(),
            created.name.as_str(),
            created.slug.as_str(),
            created.description.clone(),
            created.primary_cloud.as_str(),
            created.primary_region.as_str(),
            created.status.as_str(),
            created.created_at,
        ],
    );
    match inserted {
        Err(DbError::Unique { .. }) => {
            return Err(errors::conflict(
                format!("The project {} exists already", created.id),
                "Choose another name or slug, or use the existing project",
            ));
        }
        done => done?,
    };
    tx.audit_output("project_id", created.id.as_str());
    let mut dev = None;
    if new.with_dev {
        let environment = NewEnvironment {
            id: None,
            project_id: created.id.as_str().to_owned(),
            name: "dev".to_owned(),
            kind: None,
        };
        dev = Some(environment::insert(tx, &environment)?);
        created.environment_count = 1;
    }
    for tag in tags::for_project_change(&created) {
        tx.invalidate(tag);
    }
    Ok((created, dev))
}

/// Changes a project.
pub(crate) fn update(tx: &mut Tx<'_>, id: &str, change: &ProjectChange) -> Result<Project> {
    tx.lock(&format!("bkend:project:{id}"))?;
    let mut project = find(tx, id)?;
    if let Some(name) = &change.name {
        project.name = slug::check_name("name", name)?;
    }
    if let Some(description) = &change.description {
        project.description = description.as_deref().map(slug::check_description).transpose()?;
    }
    if let Some(settings) = &change.settings {
        check_settings(settings)?;
        project.settings = settings.clone();
    }
    project.updated_at = tx.now();
    let tenant = tx.tenant().clone();
    tx.execute(
        "UPDATE bkend_project SET name = $3, description = $4, settings = $5, updated_at = $6
         WHERE tenant_id = $1 AND id = $2",
        params![
            tenant.as_str(),
            id,
            project.name.as_str(),
            project.description.clone(),
            Value::Object(project.settings.clone()).to_string(),
            project.updated_at,
        ],
    )?;
    tx.audit_output("project_id", id);
    for tag in tags::for_project_change(&project) {
        tx.invalidate(tag);
    }
    Ok(project)
}

/// Checks settings: their size, and the list of origins.
fn check_settings(settings: &Map<String, Value>) -> Result<()> {
    const MAX_ORIGINS: usize = 3;
    let text = Value::Object(settings.clone()).to_string();
    if text.len() > limits::SETTINGS_BYTES || text.contains("\\u0000") {
        return Err(invalid(
            "settings",
            format!("has more than {} bytes of JSON or a NUL character", limits::SETTINGS_BYTES),
            format!("Shorten it to {} bytes of JSON without NUL", limits::SETTINGS_BYTES),
        ));
    }
    if let Some(origins) = settings.get("allowedOrigins") {
        const HINT: &str = "Send up to 3 full URLs without wildcards, such as [\"https://app.example\"]";
        let refused = |problem: &str| invalid("settings.allowedOrigins", problem, HINT);
        let origins = origins.as_array().ok_or_else(|| refused("is not a list"))?;
        let is_origin = |value: &Value| {
            value.as_str().is_some_and(|text| {
                (text.starts_with("https://") || text.starts_with("http://")) && !text.contains('*')
            })
        };
        if origins.len() > MAX_ORIGINS || !origins.iter().all(is_origin) {
            return Err(refused("has an element that is no full URL, or too many elements"));
        }
    }
    Ok(())
}

/// Deletes a project and its contents.
pub(crate) fn delete(tx: &mut Tx<'_>, id: &str) -> Result<Project> {
    tx.lock(&format!("bkend:project:{id}"))?;
    let project = find(tx, id)?;
    if project.environment_count > limits::CASCADE_ENVIRONMENTS as i64 {
        return Err(cascade_too_large(format!("The project has {} environments", project.environment_count)));
    }
    let environments = environment::list_in_project(tx, project.organization_id.as_str(), id)?;
    environment::delete_all(tx, &environments)?;
    let tenant = tx.tenant().clone();
    tx.execute("DELETE FROM bkend_project WHERE tenant_id = $1 AND id = $2", params![tenant.as_str(), id])?;
    tx.audit_output("project_id", id);
    for tag in tags::for_project_change(&project) {
        tx.invalidate(tag);
    }
    Ok(project)
}

/// The error for a deletion that would hold locks for too long.
pub(crate) fn cascade_too_large(reason: String) -> quad_core::Error {
    errors::limit("CASCADE_TOO_LARGE", format!("{reason}, too many for one deletion"))
        .hint("Delete some of its environments or tables first")
        .with_detail("limit_tables", limits::CASCADE_TABLES)
        .with_detail("limit_environments", limits::CASCADE_ENVIRONMENTS)
}

/// The projects of an organization, sorted by id.
pub(crate) fn list_in_organization(sql: &mut dyn Sql, organization: &str) -> Result<Vec<Project>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!("SELECT {COLUMNS} FROM bkend_project p WHERE p.tenant_id = $1 AND p.organization_id = $2 ORDER BY p.id"),
        params![tenant.as_str(), organization],
    )?;
    rows.iter().map(|row| Ok(Project::from_row(row)?)).collect()
}

/// A page of the projects below these parents, and their total number.
pub(crate) fn list_page(sql: &mut dyn Sql, parents: &Parents, page: Page) -> Result<(Vec<Project>, i64)> {
    let mut values = vec![SqlValue::from(sql.tenant().as_str())];
    let condition = parents.condition("p", &mut values);
    let total = sql.query_opt(
        &format!("SELECT COUNT(*) FROM bkend_project p WHERE p.tenant_id = $1{condition}"),
        &values,
    )?;
    let window = page.window(&mut values);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_project p WHERE p.tenant_id = $1{condition}
             ORDER BY p.id{window}"
        ),
        &values,
    )?;
    let projects = rows.iter().map(|row| Ok(Project::from_row(row)?)).collect::<Result<_>>()?;
    Ok((projects, total.map_or(Ok(0), |row| row.int(0))?))
}

/// The projects with this name or slug below these parents, up to one more than an error lists.
pub(crate) fn find_by_name(sql: &mut dyn Sql, parents: &Parents, name: &str) -> Result<Vec<Project>> {
    let tenant = sql.tenant().clone();
    let mut values = params![tenant.as_str(), name, slug::from_name(name)].to_vec();
    let condition = parents.condition("p", &mut values);
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_project p
             WHERE p.tenant_id = $1 AND (p.name = $2 OR p.slug = $3){condition} ORDER BY p.id LIMIT {}",
            limits::CANDIDATES_SHOWN + 1
        ),
        &values,
    )?;
    rows.iter().map(|row| Ok(Project::from_row(row)?)).collect()
}

/// One project by its id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Project> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} FROM bkend_project p WHERE p.tenant_id = $1 AND p.id = $2"),
        params![tenant.as_str(), id],
    )?;
    Ok(Project::from_row(&row.ok_or_else(|| errors::not_found("Project", id))?)?)
}

/// One project by its id, if it belongs to this organization.
pub(crate) fn find_at_path(sql: &mut dyn Sql, organization: &str, id: &str) -> Result<Project> {
    let project = find(sql, id)?;
    if project.organization_id.as_str() == organization {
        Ok(project)
    } else {
        Err(errors::not_found("Project", id))
    }
}
