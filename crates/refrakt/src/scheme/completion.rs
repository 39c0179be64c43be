//! Possible values of the variables: ids, sites, runes, and the words of the plan.

use quad_core::scheme::CompletionQuery;
use serde_json::Value;

use super::pages;
use super::routes::{FORMATS, TYPES};
use crate::live::Live;
use crate::plan::{Entity, EntityType};

/// Which values are wanted; owned, since looking at a folder is done elsewhere.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    variable: String,
    prefix: String,
    kind: Option<EntityType>,
    site: Option<String>,
}

impl Wanted {
    pub(crate) fn of(query: &CompletionQuery<'_>) -> Wanted {
        let known = |name: &str| query.context.get(name).and_then(Value::as_str);
        Wanted {
            variable: query.variable.to_owned(),
            prefix: query.prefix.to_owned(),
            kind: known("type").and_then(EntityType::of_tag),
            site: known("site").map(str::to_owned),
        }
    }

    /// The values, in order. Blocks.
    pub(crate) fn values(&self, live: Option<&Live>) -> Vec<String> {
        let mut values = match self.variable.as_str() {
            "type" => TYPES.map(str::to_owned).to_vec(),
            "format" => FORMATS.map(str::to_owned).to_vec(),
            "status" => self.statuses(),
            _ => live.map(|live| self.of_folder(live)).unwrap_or_default(),
        };
        values.retain(|value| value.starts_with(&self.prefix));
        let mut seen = std::collections::HashSet::new();
        values.retain(|value| seen.insert(value.clone()));
        values
    }

    fn statuses(&self) -> Vec<String> {
        let kinds = EntityType::ALL.into_iter().filter(|kind| self.kind.is_none_or(|wanted| wanted == *kind));
        kinds.flat_map(|kind| kind.values("status")).cloned().collect()
    }

    fn of_folder(&self, live: &Live) -> Vec<String> {
        let detected = live.detected();
        match self.variable.as_str() {
            "site" => detected.project.sites.iter().map(|site| site.name.clone()).collect(),
            "rune" | "name" => {
                let site = detected.project.site(self.site.as_deref());
                let runes = site.into_iter().flat_map(|site| site.catalogue.runes());
                let mut names: Vec<String> =
                    runes.filter(|rune| !rune.internal).map(|rune| rune.name.clone()).collect();
                names.sort_unstable();
                names
            }
            "url" => pages::urls(live, self.site.as_deref(), &self.prefix),
            "id" | "milestone" | "tag" | "assignee" => self.of_plan(live),
            _ => Vec::new(),
        }
    }

    fn of_plan(&self, live: &Live) -> Vec<String> {
        let Ok(Some(plan)) = live.plan() else { return Vec::new() };
        let of = |kind: Option<EntityType>| {
            let fits = move |entity: &&Entity| kind.is_none_or(|wanted| entity.kind == wanted);
            plan.index.entities().filter(fits)
        };
        let mut values: Vec<String> = match self.variable.as_str() {
            "id" => of(self.kind).filter_map(Entity::id).map(str::to_owned).collect(),
            "milestone" => {
                of(Some(EntityType::Milestone)).filter_map(Entity::id).map(str::to_owned).collect()
            }
            "tag" => of(None).flat_map(|entity| entity.list("tags")).map(str::to_owned).collect(),
            _ => of(None).filter_map(|entity| entity.attribute("assignee")).map(str::to_owned).collect(),
        };
        values.sort_unstable();
        values
    }
}
