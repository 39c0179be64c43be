//! One query type for resources and tools, so that a tool answers exactly as the resource that it mirrors.

use std::sync::Arc;

use quad_core::canonical::sha256_hex;
use quad_core::{Content, Error, ReadSet, Result, Tag, Version};
use quad_runes::choices::choices_hint;
use quad_runes::{contracts, reference};
use serde_json::{Value, json};

use super::answer_pages::page_of;
use super::{errors, pages, runes};
use crate::plan::context::build_context;
use crate::plan::status::plan_status;
use crate::plan::{Entity, EntityType, IndexFilter, PlanIndex};
use crate::project::Site;
use crate::project_cache::{PlanSnapshot, ProjectCache, ProjectSnapshot, ProjectTags};

/// What a caller asks about a project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ResourceQuery {
    Detect,
    Reference {
        site: Option<String>,
        rune: Option<String>,
        markdown: bool,
    },
    Contracts {
        site: Option<String>,
    },
    Runes {
        site: Option<String>,
    },
    /// A rune's example, rendered with these attributes.
    Rune {
        site: Option<String>,
        name: String,
        attributes: Vec<(String, String)>,
    },
    Index(IndexFilter),
    Status {
        milestone: Option<String>,
        /// Where the page begins, if the answer has several.
        cursor: Option<String>,
    },
    Context {
        id: String,
    },
    Entity {
        kind: EntityType,
        id: String,
    },
    Pages {
        site: Option<String>,
    },
    Page {
        url: String,
        site: Option<String>,
    },
}

/// An answer, and the tags that it depends on.
#[derive(Debug)]
pub(crate) struct ResourceDocument {
    pub text: Arc<str>,
    pub mime_type: &'static str,
    pub tags: Vec<Tag>,
    /// Whether the cache may keep it. The key of a cached answer tells only the state of the configuration, the plan and
    /// the pages.
    pub cacheable: bool,
}

impl ResourceDocument {
    pub(crate) fn content(&self) -> Content {
        Content::text(self.mime_type, &*self.text)
    }

    pub(crate) fn value(&self) -> Result<Value> {
        serde_json::from_str(&self.text).map_err(Error::internal)
    }

    pub(crate) fn basis(&self, version: Version) -> ReadSet {
        self.tags.iter().cloned().fold(ReadSet::at_version(version), ReadSet::with_tag)
    }
}

impl ResourceQuery {
    /// Answers from the current state of the project; without a project, as for an empty folder. Blocks.
    pub(crate) fn execute(&self, project: Option<&ProjectCache>) -> Result<ResourceDocument> {
        let Some(project) = project else { return self.execute_without_project() };
        let project_tags = project.tags();
        match self {
            ResourceQuery::Detect => {
                let text = project.project_json().to_string().into();
                Ok(ResourceDocument {
                    text,
                    mime_type: "application/json",
                    tags: vec![project_tags.detect()],
                    cacheable: true,
                })
            }
            ResourceQuery::Reference { site, .. }
            | ResourceQuery::Contracts { site }
            | ResourceQuery::Runes { site } => {
                let snapshot = project.project_snapshot();
                let site = require_site(&snapshot, site.as_deref())?;
                let cache_key = format!("{self:?} {}", site.name);
                let (text, mime_type) = (
                    snapshot.documents.get_or_insert_with(&cache_key, || self.site_document(site))?,
                    self.mime_type(),
                );
                Ok(ResourceDocument { text, mime_type, tags: vec![project_tags.sites()], cacheable: true })
            }
            ResourceQuery::Rune { site, name, attributes } => {
                let snapshot = project.project_snapshot();
                let site = require_site(&snapshot, site.as_deref())?;
                let preview = runes::inspect(Some(site), &site.catalogue, name, attributes)?;
                let text = preview.to_string().into();
                let tags = vec![project_tags.sites()];
                Ok(ResourceDocument { text, mime_type: self.mime_type(), tags, cacheable: true })
            }
            ResourceQuery::Pages { site } => pages::index_document(project, site.as_deref()),
            ResourceQuery::Page { url, site } => pages::page_document(project, url, site.as_deref()),
            _ => {
                let plan = require_plan(project)?;
                let (text, tags) = self.plan_document(&plan, project_tags)?;
                Ok(ResourceDocument { text, mime_type: self.mime_type(), tags, cacheable: true })
            }
        }
    }

    /// Whether the answer depends on the plan.
    pub(crate) fn needs_plan(&self) -> bool {
        matches!(
            self,
            ResourceQuery::Index(_)
                | ResourceQuery::Status { .. }
                | ResourceQuery::Context { .. }
                | ResourceQuery::Entity { .. }
        )
    }

    pub(crate) fn mime_type(&self) -> &'static str {
        match self {
            ResourceQuery::Entity { .. } | ResourceQuery::Reference { markdown: true, .. } => "text/markdown",
            _ => "application/json",
        }
    }

    /// The answer for a tenant without a project.
    fn execute_without_project(&self) -> Result<ResourceDocument> {
        match self {
            ResourceQuery::Detect => {
                let empty = json!({
                    "cwd": null, "plan": null, "site": null, "plugins": [], "configSource": "autodetect",
                });
                Ok(ResourceDocument {
                    text: empty.to_string().into(),
                    mime_type: "application/json",
                    tags: Vec::new(),
                    cacheable: true,
                })
            }
            ResourceQuery::Reference { .. }
            | ResourceQuery::Contracts { .. }
            | ResourceQuery::Runes { .. }
            | ResourceQuery::Rune { .. }
            | ResourceQuery::Pages { .. }
            | ResourceQuery::Page { .. } => {
                Err(errors::site_error(&crate::project::SiteError::Missing, None))
            }
            _ => Err(errors::plan_missing(None)),
        }
    }

    fn site_document(&self, site: &Site) -> Result<String> {
        let catalogue = &site.catalogue;
        let find_rune = |name: &str| {
            site.rune(name).map_err(|(unknown, hint)| errors::rune_unknown(&unknown.name, &hint))
        };
        Ok(match self {
            ResourceQuery::Reference { rune: Some(name), markdown: true, .. } => {
                reference::rune_as_markdown(catalogue, find_rune(name)?)
            }
            ResourceQuery::Reference { rune: Some(name), .. } => {
                reference::rune_reference(catalogue, find_rune(name)?).to_string()
            }
            ResourceQuery::Reference { markdown: true, .. } => {
                reference::site_reference_as_markdown(catalogue)
            }
            ResourceQuery::Reference { .. } => {
                reference::site_reference(catalogue, Some(&site.name)).to_string()
            }
            ResourceQuery::Contracts { .. } => contracts::contracts(catalogue).to_string(),
            _ => json!({ "site": site.name, "packages": reference::list(catalogue) }).to_string(),
        })
    }

    fn plan_document(&self, plan: &PlanSnapshot, project_tags: &ProjectTags) -> Result<(Arc<str>, Vec<Tag>)> {
        let index = &plan.index;
        let cache_key = format!("{self:?}");
        let cached_document = |build: &dyn Fn() -> Value| {
            let text =
                plan.documents.get_or_insert_with(&cache_key, || Ok::<_, Error>(build().to_string()))?;
            Ok((text, vec![project_tags.plan()]))
        };
        match self {
            ResourceQuery::Index(filter) => {
                let filter = resolve_filter(index, filter)?;
                cached_document(&|| index.to_json(&filter))
            }
            ResourceQuery::Status { milestone, cursor } => {
                let milestone =
                    milestone.as_deref().map(|name| require_milestone_file(index, name)).transpose()?;
                let list = format!("status {milestone:?} {}", plan.fingerprint());
                let build = || {
                    let status = plan_status(index, milestone.as_deref());
                    Ok(page_of(status, &list, cursor.as_deref())?.to_string())
                };
                let text = plan.documents.get_or_insert_with::<Error>(&cache_key, build)?;
                Ok((text, vec![project_tags.plan()]))
            }
            ResourceQuery::Context { id } => {
                let entity = require_entity(index, None, id)?;
                let read = |file: &str| Some(plan.dir.read_plan_file(file).ok()??.text);
                Ok((build_context(index, entity, read).to_string().into(), vec![project_tags.plan()]))
            }
            ResourceQuery::Entity { kind, id } => {
                let entity = index.find(*kind, id).map_err(|missing| errors::entity_not_found(&missing))?;
                let text = plan.dir.read_plan_file(&entity.file).map_err(errors::io_error)?;
                let missing = || errors::id_not_found(id, &[]);
                Ok((
                    text.ok_or_else(missing)?.text.into(),
                    vec![project_tags.entity(entity), project_tags.bulk_entities()],
                ))
            }
            _ => Err(Error::internal("the query is not about the plan")),
        }
    }
}

/// The plan, or the error that says why there is none.
pub(crate) fn require_plan(project: &ProjectCache) -> Result<Arc<PlanSnapshot>> {
    if let Some(plan) = project.plan().map_err(errors::io_error)? {
        return Ok(plan);
    }
    let snapshot = project.project_snapshot();
    Err(errors::plan_missing(snapshot.project.plan.as_ref().map(|plan| plan.dir.as_str())))
}

/// The site that the caller selects, or the error that says why there is none.
pub(crate) fn require_site<'d>(snapshot: &'d ProjectSnapshot, site: Option<&str>) -> Result<&'d Site> {
    snapshot.project.site(site).map_err(|error| errors::site_error(&error, snapshot.config_error()))
}

/// The entity that a caller means: by the id in its tag, by the exact name of its file, or by what only one entity has
/// as id, title or file in any case.
pub(crate) fn require_entity<'p>(
    index: &'p PlanIndex,
    kind: Option<EntityType>,
    id: &str,
) -> Result<&'p Entity> {
    // Callers also send the address of an entity.
    let id =
        id.strip_prefix("refrakt://plan/").and_then(|rest| rest.split_once('/')).map_or(id, |(_, id)| id);
    let found = match kind {
        Some(kind) => index.find(kind, id).ok(),
        None => index
            .entity(id)
            .or_else(|| EntityType::ALL.into_iter().find_map(|kind| index.find(kind, id).ok())),
    };
    if let Some(entity) = found {
        return Ok(entity);
    }
    match index.named(id, kind).as_slice() {
        [entity] => Ok(entity),
        [] => Err(match kind {
            Some(kind) => index
                .find(kind, id)
                .err()
                .map_or_else(|| errors::id_not_found(id, &[]), |missing| errors::entity_not_found(&missing)),
            None => {
                let near = quad_address::closest_few(id, index.entities().filter_map(Entity::id));
                errors::id_not_found(id, &near)
            }
        }),
        several => {
            let ids: Vec<&str> = several.iter().map(|entity| entity.label()).collect();
            Err(errors::entity_ambiguous(id, &ids))
        }
    }
}

/// The filter with the status and the milestone as the plan spells them. A status that no type has and no entity uses
/// is an error, because such a filter never matches; so is a milestone that does not exist.
fn resolve_filter(index: &PlanIndex, filter: &IndexFilter) -> Result<IndexFilter> {
    let mut filter = filter.clone();
    if let Some(status) = &filter.status {
        filter.status = Some(require_status(index, filter.kind, status)?);
    }
    if let Some(name) = &filter.milestone {
        filter.milestone = Some(require_milestone(index, name)?);
    }
    Ok(filter)
}

fn require_status(index: &PlanIndex, kind: Option<EntityType>, status: &str) -> Result<String> {
    let kinds = EntityType::ALL.into_iter().filter(|other| kind.is_none_or(|requested| requested == *other));
    let mut allowed: Vec<&str> = Vec::new();
    for kind in kinds {
        let canonical = kind.canonical_value("status", status);
        let values = kind.allowed_values("status").iter().map(String::as_str);
        if values.clone().any(|value| value == canonical) {
            return Ok(canonical.to_owned());
        }
        allowed.extend(values);
    }
    if index.entities().any(|entity| entity.status() == status) {
        return Ok(status.to_owned());
    }
    allowed.sort_unstable();
    allowed.dedup();
    let of_kind = kind.map(|kind| format!(" of a {kind}")).unwrap_or_default();
    Err(Error::bad_input(format!("There is no status {}{of_kind}", errors::excerpt(status)))
        .hint(errors::capitalize(&choices_hint(status, allowed))))
}

/// The name of a milestone for a filter: entities belong to it, or it has a file.
pub(crate) fn require_milestone(index: &PlanIndex, name: &str) -> Result<String> {
    if index.entities().any(|entity| entity.attribute("milestone") == Some(name)) {
        return Ok(name.to_owned());
    }
    require_milestone_file(index, name)
}

/// The name of a milestone that has a file.
fn require_milestone_file(index: &PlanIndex, name: &str) -> Result<String> {
    require_entity(index, Some(EntityType::Milestone), name).map(|milestone| milestone.label().to_owned())
}

/// The hash that a caller sends as `ifHash`.
pub(crate) fn hash_text(text: &str) -> String {
    sha256_hex(text.as_bytes())
}
