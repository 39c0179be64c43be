//! Completion of template variables: ids, sites, runes, and values of the plan.

use quad_core::scheme::CompletionQuery;
use serde_json::Value;

use super::pages;
use super::routes::{FORMATS, TYPES};
use crate::plan::{Entity, EntityType};
use crate::project_cache::ProjectCache;

/// A completion request. Owned, because it is answered on a thread of the blocking pool.
#[derive(Clone, Debug)]
pub(crate) struct CompletionRequest {
    variable: String,
    prefix: String,
    kind: Option<EntityType>,
    site: Option<String>,
}

impl CompletionRequest {
    pub(crate) fn from_query(query: &CompletionQuery<'_>) -> CompletionRequest {
        let context_value = |name: &str| query.context.get(name).and_then(Value::as_str);
        CompletionRequest {
            variable: query.variable.to_owned(),
            prefix: query.prefix.to_owned(),
            kind: context_value("type").and_then(EntityType::from_tag),
            site: context_value("site").map(str::to_owned),
        }
    }

    /// The matching values, each once. Blocks.
    pub(crate) fn complete(&self, project: Option<&ProjectCache>) -> Vec<String> {
        let mut values = match self.variable.as_str() {
            "type" => TYPES.map(str::to_owned).to_vec(),
            "format" => FORMATS.map(str::to_owned).to_vec(),
            "status" => self.statuses(),
            _ => project.map(|project| self.project_values(project)).unwrap_or_default(),
        };
        values.retain(|value| value.starts_with(&self.prefix));
        let mut seen = std::collections::HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        values
    }

    fn statuses(&self) -> Vec<String> {
        let kinds =
            EntityType::ALL.into_iter().filter(|kind| self.kind.is_none_or(|requested| requested == *kind));
        kinds.flat_map(|kind| kind.allowed_values("status")).cloned().collect()
    }

    fn project_values(&self, project: &ProjectCache) -> Vec<String> {
        let snapshot = project.project_snapshot();
        match self.variable.as_str() {
            "site" => snapshot.project.sites.iter().map(|site| site.name.clone()).collect(),
            "rune" | "name" => {
                let site = snapshot.project.site(self.site.as_deref());
                let runes = site.into_iter().flat_map(|site| site.catalogue.runes());
                let mut names: Vec<String> =
                    runes.filter(|rune| !rune.internal).map(|rune| rune.name.clone()).collect();
                names.sort_unstable();
                names
            }
            "url" => pages::complete_urls(project, self.site.as_deref(), &self.prefix),
            "id" | "milestone" | "tag" | "assignee" => self.plan_values(project),
            _ => Vec::new(),
        }
    }

    fn plan_values(&self, project: &ProjectCache) -> Vec<String> {
        let Ok(Some(plan)) = project.plan() else { return Vec::new() };
        let entities_of_kind = |kind: Option<EntityType>| {
            let matches_kind = move |entity: &&Entity| kind.is_none_or(|requested| entity.kind == requested);
            plan.index.entities().filter(matches_kind)
        };
        let mut values: Vec<String> = match self.variable.as_str() {
            "id" => entities_of_kind(self.kind).filter_map(Entity::id).map(str::to_owned).collect(),
            "milestone" => entities_of_kind(Some(EntityType::Milestone))
                .filter_map(Entity::id)
                .map(str::to_owned)
                .collect(),
            "tag" => {
                entities_of_kind(None).flat_map(|entity| entity.list("tags")).map(str::to_owned).collect()
            }
            _ => entities_of_kind(None)
                .filter_map(|entity| entity.attribute("assignee"))
                .map(str::to_owned)
                .collect(),
        };
        values.sort_unstable();
        values
    }
}
