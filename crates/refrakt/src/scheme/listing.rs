//! What `resources/list` shows: always what the project is; the rest only where the project has it.

use std::borrow::Cow;

use quad_core::scheme::ResourceEntry;

use super::routes::{ROUTES, ResourceKind};
use crate::project_cache::ProjectCache;

/// Which kinds of resources a project has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ListedResources {
    pub sites: bool,
    pub plan: bool,
}

impl ListedResources {
    pub(crate) fn from_project(project: &ProjectCache) -> ListedResources {
        let snapshot = project.project_snapshot();
        ListedResources {
            sites: !snapshot.project.sites.is_empty(),
            plan: snapshot.project.plan.as_ref().is_some_and(|plan| plan.exists),
        }
    }

    fn is_listed(self, kind: ResourceKind) -> bool {
        match kind {
            ResourceKind::Detect => true,
            ResourceKind::Reference | ResourceKind::Contracts => self.sites,
            ResourceKind::PlanIndex | ResourceKind::PlanStatus => self.plan,
            // Those who want these know of them by their templates.
            ResourceKind::Runes
            | ResourceKind::Rune
            | ResourceKind::Pages
            | ResourceKind::Page
            | ResourceKind::PlanContext
            | ResourceKind::PlanEntity => false,
        }
    }

    /// The entries, in a stable order.
    pub(crate) fn entries(self) -> Vec<ResourceEntry> {
        let listed = ROUTES.iter().filter(|route| self.is_listed(route.kind));
        listed
            .map(|route| ResourceEntry {
                uri: route.template.split_once('{').map_or(route.template, |(path, _)| path).to_owned(),
                name: Cow::Borrowed(route.name),
                title: Some(route.title.to_owned()),
                description: Some(route.description.to_owned()),
                mime_type: Cow::Borrowed("application/json"),
                priority: None,
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listing_contains_only_available_resources() {
        let uris = |sites, plan| -> Vec<String> {
            ListedResources { sites, plan }.entries().into_iter().map(|entry| entry.uri).collect()
        };
        assert_eq!(uris(false, false), ["refrakt://detect"]);
        assert_eq!(uris(false, true), ["refrakt://detect", "refrakt://plan/index", "refrakt://plan/status"]);
        assert_eq!(uris(true, false), ["refrakt://detect", "refrakt://reference", "refrakt://contracts"]);
        assert_eq!(uris(true, true).len(), 5);
    }
}
