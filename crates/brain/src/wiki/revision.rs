//! Revisions: every different text that a page has had, each with an id.
//!
//! A revision is stored when a read renders a new text. Storing it does not advance the version or notify subscribers:
//! the ledger write already did.

use quad_core::{Error, Result, Timestamp};
use quad_store::{Row, Sql, Tx, params};
use serde_json::{Value, json};

use super::{PageName, PageType, RenderedPage};
use crate::ids::PageId;

/// A stored revision.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Revision {
    pub id: PageId,
    pub slug: String,
    pub page_type: PageType,
    pub subject_id: Option<String>,
    pub body_md: String,
    pub source_revision: String,
    pub rendered_at: Timestamp,
}

const COLUMNS: &str = "id, slug, page_type, subject_id, body_md, source_revision, rendered_at";

impl Revision {
    fn from_row(row: &Row) -> Result<Revision> {
        let page_type = row.text(2)?;
        Ok(Revision {
            id: PageId::from_db(row.text(0)?),
            slug: row.text(1)?.to_owned(),
            page_type: PageType::parse(page_type)
                .ok_or_else(|| Error::internal(format!("the stored page type {page_type} is unknown")))?,
            subject_id: row.opt_text(3)?.map(str::to_owned),
            body_md: row.text(4)?.to_owned(),
            source_revision: row.text(5)?.to_owned(),
            rendered_at: Timestamp(row.int(6)?),
        })
    }

    /// The JSON of `wiki_page_get`, in which slugs begin with a slash.
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "id": self.id.as_str(),
            "page_type": self.page_type.as_str(),
            "subject_id": self.subject_id,
            "slug": format!("/{}", self.slug),
            "body_md": self.body_md,
            "rendered_at": self.rendered_at,
            "source_revision": self.source_revision,
            "uri": format!("brain://wiki/{}", self.slug),
        })
    }
}

/// The revision with this id.
pub(crate) fn find(sql: &mut dyn Sql, id: &str) -> Result<Option<Revision>> {
    let query = format!("SELECT {COLUMNS} FROM brain_page_revision WHERE tenant_id = $1 AND id = $2");
    let tenant = sql.tenant().as_str().to_owned();
    sql.query_opt(&query, params![tenant, id])?.as_ref().map(Revision::from_row).transpose()
}

/// The newest revision of a page, and the ledger version at which it was last confirmed.
pub(crate) fn newest(sql: &mut dyn Sql, name: &PageName) -> Result<Option<(Revision, i64)>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT page_id, rendered_version FROM brain_page WHERE tenant_id = $1 AND slug = $2",
        params![tenant, name.slug()],
    )?;
    let Some(row) = row else { return Ok(None) };
    let (id, version) = (row.text(0)?.to_owned(), row.int(1)?);
    Ok(find(sql, &id)?.map(|revision| (revision, version)))
}

/// Stores the page as a new revision if its text has changed, and returns the current revision. `None` if a page of a
/// newer ledger version was stored meanwhile; the caller then renders again.
pub(crate) fn save_if_changed(tx: &mut Tx<'_>, rendered: &RenderedPage) -> Result<Option<Revision>> {
    let slug = rendered.name.slug();
    tx.lock(&format!("brain:page:{slug}"))?;
    let version = rendered.read_set.version.map_or(0, |version| version.0);
    if let Some((latest, latest_version)) = newest(tx, &rendered.name)? {
        if latest.body_md == rendered.body {
            return Ok(Some(latest));
        }
        if latest_version > version {
            return Ok(None);
        }
    }
    let revision = Revision {
        id: PageId::generate()?,
        slug: slug.clone(),
        page_type: rendered.name.page_type(),
        subject_id: rendered.name.subject_id().map(str::to_owned),
        body_md: rendered.body.clone(),
        source_revision: rendered.source_revision.clone(),
        rendered_at: tx.now(),
    };
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        &format!(
            "INSERT INTO brain_page_revision (tenant_id, {COLUMNS}) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
        ),
        params![
            tenant.as_str(),
            revision.id.as_str(),
            slug.as_str(),
            revision.page_type.as_str(),
            revision.subject_id.clone(),
            revision.body_md.as_str(),
            revision.source_revision.as_str(),
            revision.rendered_at
        ],
    )?;
    tx.execute(
        "INSERT INTO brain_page (tenant_id, slug, page_id, rendered_version) VALUES ($1, $2, $3, $4) \
         ON CONFLICT (tenant_id, slug) DO UPDATE SET page_id = excluded.page_id, \
         rendered_version = excluded.rendered_version",
        params![tenant, slug, revision.id.as_str(), version],
    )?;
    Ok(Some(revision))
}
