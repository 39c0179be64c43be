//! Organizations: the top of the tree. Created on the command line; callers only read them.

use quad_core::{EventDraft, Result, TenantId, Timestamp, typed_id};
use quad_store::{DbError, Row, Sql, Store, Tx, WriteContext, params};
use serde_json::{Value, json};

use crate::page::Page;
use crate::{errors, limits, routes, slug, tags};

typed_id!(
    /// The id of an organization.
    OrganizationId,
    "org_"
);

/// The owner of projects.
#[derive(Clone, Debug)]
pub struct Organization {
    /// Its id.
    pub id: OrganizationId,
    /// Its name.
    pub name: String,
    /// The slug; never changes.
    pub slug: String,
    /// A display name for people.
    pub display_name: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// The plan; free text.
    pub plan: String,
    /// `active`, `suspended` or `deleted`.
    pub status: String,
    /// When it was created.
    pub created_at: Timestamp,
    /// When it was last changed.
    pub updated_at: Timestamp,
}

/// A new organization.
#[derive(Clone, Debug, Default)]
pub struct NewOrganization {
    /// The id, if an import supplies one.
    pub id: Option<OrganizationId>,
    /// The name.
    pub name: String,
    /// The slug; derived from the name if absent.
    pub slug: Option<String>,
    /// A display name for people.
    pub display_name: Option<String>,
    /// A description.
    pub description: Option<String>,
    /// The plan; `self-hosted` if absent.
    pub plan: Option<String>,
}

const COLUMNS: &str = "id, name, slug, display_name, description, plan, status, created_at, updated_at";

impl Organization {
    fn from_row(row: &Row) -> Result<Organization, DbError> {
        Ok(Organization {
            id: OrganizationId::from_db(row.text(0)?),
            name: row.text(1)?.to_owned(),
            slug: row.text(2)?.to_owned(),
            display_name: row.opt_text(3)?.map(str::to_owned),
            description: row.opt_text(4)?.map(str::to_owned),
            plan: row.text(5)?.to_owned(),
            status: row.text(6)?.to_owned(),
            created_at: Timestamp(row.int(7)?),
            updated_at: Timestamp(row.int(8)?),
        })
    }

    /// The element in a list.
    pub(crate) fn summary(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "slug": self.slug,
            "plan": self.plan,
            "status": self.status,
            "uri": routes::organization_uri(self.id.as_str()),
        })
    }

    /// The complete JSON.
    pub fn detail(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "name": self.name,
            "slug": self.slug,
            "displayName": self.display_name,
            "description": self.description,
            "plan": self.plan,
            "status": self.status,
            "createdAt": self.created_at,
            "updatedAt": self.updated_at,
            "uri": routes::organization_uri(self.id.as_str()),
            "projectsUri": routes::projects_uri(self.id.as_str()),
        })
    }
}

/// Creates an organization in a transaction of its own, with `actor` as the author of the event.
pub async fn create(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    new: NewOrganization,
) -> Result<Organization> {
    let event = EventDraft::system("backend", "organization_created", actor)
        .input("name", new.name.as_str())
        .succeeded();
    let (created, _) = store.write(writer, event, move |tx| insert(tx, &new)).await?;
    Ok(created)
}

/// All organizations of a tenant, sorted by id.
pub async fn list(store: &Store, tenant: &TenantId) -> Result<Vec<Organization>> {
    store.read(tenant, |sql| all(sql)).await
}

/// Creates an organization within a transaction.
pub(crate) fn insert(tx: &mut Tx<'_>, new: &NewOrganization) -> Result<Organization> {
    tx.lock("bkend:orgs")?;
    let tenant = tx.tenant().clone();
    let name = slug::check_name("name", &new.name)?;
    let mut is_taken = |slug: &str| -> Result<bool> {
        let row = tx.query_opt(
            "SELECT 1 FROM bkend_organization WHERE tenant_id = $1 AND slug = $2",
            params![tenant.as_str(), slug],
        )?;
        Ok(row.is_some())
    };
    let slug = match &new.slug {
        Some(chosen) => {
            let chosen = slug::check(chosen)?;
            if is_taken(&chosen)? {
                return Err(errors::conflict(format!("The slug {chosen} is taken"), "Choose another slug"));
            }
            chosen
        }
        None => slug::derive(&name, "organization", is_taken)?,
    };
    let created = Organization {
        id: match &new.id {
            Some(id) => id.clone(),
            None => OrganizationId::generate()?,
        },
        name,
        slug,
        display_name: new
            .display_name
            .as_deref()
            .map(|text| slug::check_name("displayName", text))
            .transpose()?,
        description: new.description.as_deref().map(slug::check_description).transpose()?,
        plan: slug::check_name("plan", new.plan.as_deref().unwrap_or("self-hosted"))?,
        status: "active".to_owned(),
        created_at: tx.now(),
        updated_at: tx.now(),
    };
    let inserted = tx.execute(
        "INSERT INTO bkend_organization
            (tenant_id, id, name, slug, display_name, description, plan, status, created_at, updated_at)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9)",
        params![
            tenant.as_str(),
            created.id.as_str(),
            created.name.as_str(),
            created.slug.as_str(),
            created.display_name.clone(),
            created.description.clone(),
            created.plan.as_str(),
            created.status.as_str(),
            created.created_at,
        ],
    );
    match inserted {
        Err(DbError::Unique { .. }) => {
            return Err(errors::conflict(
                format!("The organization {} exists already", created.id),
                "Choose another id, or use the existing organization",
            ));
        }
        done => done?,
    };
    tx.audit_output("organization_id", created.id.as_str());
    for tag in tags::for_organization_change(created.id.as_str()) {
        tx.invalidate(tag);
    }
    Ok(created)
}

/// All organizations, sorted by id.
pub(crate) fn all(sql: &mut dyn Sql) -> Result<Vec<Organization>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!("SELECT {COLUMNS} FROM bkend_organization WHERE tenant_id = $1 ORDER BY id"),
        params![tenant.as_str()],
    )?;
    rows.iter().map(|row| Ok(Organization::from_row(row)?)).collect()
}

/// A page of organizations, and their total number.
pub(crate) fn list_page(sql: &mut dyn Sql, page: Page) -> Result<(Vec<Organization>, i64)> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_organization WHERE tenant_id = $1 ORDER BY id LIMIT $2 OFFSET $3"
        ),
        params![tenant.as_str(), page.size(), page.offset()],
    )?;
    let organizations = rows.iter().map(|row| Ok(Organization::from_row(row)?)).collect::<Result<_>>()?;
    let total = sql.query_opt(
        "SELECT COUNT(*) FROM bkend_organization WHERE tenant_id = $1",
        params![tenant.as_str()],
    )?;
    Ok((organizations, total.map_or(Ok(0), |row| row.int(0))?))
}

/// One organization by its id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Organization> {
    let tenant = sql.tenant().clone();
    let row = sql.query_opt(
        &format!("SELECT {COLUMNS} FROM bkend_organization WHERE tenant_id = $1 AND id = $2"),
        params![tenant.as_str(), id],
    )?;
    Ok(Organization::from_row(&row.ok_or_else(|| errors::not_found("Organization", id))?)?)
}

/// The organizations with this name or slug, up to one more than an error lists.
pub(crate) fn find_by_name(sql: &mut dyn Sql, name: &str) -> Result<Vec<Organization>> {
    let tenant = sql.tenant().clone();
    let rows = sql.query(
        &format!(
            "SELECT {COLUMNS} FROM bkend_organization WHERE tenant_id = $1 AND (name = $2 OR slug = $3)
             ORDER BY id LIMIT {}",
            limits::CANDIDATES_SHOWN + 1
        ),
        params![tenant.as_str(), name, slug::from_name(name)],
    )?;
    rows.iter().map(|row| Ok(Organization::from_row(row)?)).collect()
}
