//! What `resources/list` shows: `refrakt://detect` always, the rest only where the project has the part.

use std::borrow::Cow;

use quad_core::scheme::ResourceEntry;

use super::routes::{Listed, ROUTES};
use crate::project_cache::ProjectParts;

/// The entries, in the order of the routes.
pub(crate) fn entries(parts: ProjectParts) -> Vec<ResourceEntry> {
    let listed_name = |listed: Listed| match listed {
        Listed::Always(name) => Some(name),
        Listed::WithSites(name) => parts.sites.then_some(name),
        Listed::WithPlan(name) => parts.plan.then_some(name),
        Listed::Never => None,
    };
    let listed = ROUTES.rows.iter().filter_map(|row| Some((row, listed_name(row.resource.listed)?)));
    listed
        .map(|(row, name)| ResourceEntry {
            uri: row.template.split_once('{').map_or(row.template, |(path, _)| path).to_owned(),
            name: Cow::Borrowed(name),
            title: Some(row.title.to_owned()),
            description: Some(row.description.to_owned()),
            mime_type: Cow::Borrowed("application/json"),
            priority: None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_contains_only_available_resources() {
        let uris = |sites, plan| -> Vec<String> {
            entries(ProjectParts { sites, plan }).into_iter().map(|entry| entry.uri).collect()
        };
        assert_eq!(uris(false, false), ["refrakt://detect"]);
        assert_eq!(uris(false, true), ["refrakt://detect", "refrakt://plan/index", "refrakt://plan/status"]);
        assert_eq!(uris(true, false), ["refrakt://detect", "refrakt://reference", "refrakt://contracts"]);
        assert_eq!(uris(true, true).len(), 5);
        let all = entries(ProjectParts { sites: true, plan: true });
        let names: Vec<&str> = all.iter().map(|entry| &*entry.name).collect();
        assert_eq!(names, ["detect", "reference", "contracts", "plan-index", "plan-status"]);
    }
}
