//! What `resources/list` shows: `refrakt://detect` always, the rest only where the project has the part.

use std::borrow::Cow;

use quad_core::scheme::ResourceEntry;

use super::routes::{Listed, ROUTES};
use crate::project_cache::ProjectParts;

/// The entries, in the order of the routes.
pub(crate) fn entries(parts: ProjectParts) -> Vec<ResourceEntry> {
    let is_listed = |listed: Listed| match listed {
        Listed::Always => true,
        Listed::WithSites => parts.sites,
        Listed::WithPlan => parts.plan,
        Listed::Never => false,
    };
    let listed = ROUTES.rows.iter().filter(|row| is_listed(row.resource.listed));
    listed
        .map(|row| ResourceEntry {
            uri: row.template.split_once('{').map_or(row.template, |(path, _)| path).to_owned(),
            name: Cow::Borrowed(row.name),
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
    }
}
