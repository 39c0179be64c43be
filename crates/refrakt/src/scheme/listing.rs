//! What `resources/list` shows: always what the project is; the rest only where the project has it.

use std::borrow::Cow;

use quad_core::scheme::Listed;

use super::routes::{LINES, Noun};
use crate::live::Live;

/// Which kinds of resources a project has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub sites: bool,
    pub plan: bool,
}

impl Exposed {
    pub(crate) fn of(live: &Live) -> Exposed {
        let detected = live.detected();
        Exposed {
            sites: !detected.project.sites.is_empty(),
            plan: detected.project.plan.as_ref().is_some_and(|plan| plan.exists),
        }
    }

    fn shows(self, noun: Noun) -> bool {
        match noun {
            Noun::Detect => true,
            Noun::Reference | Noun::Contracts => self.sites,
            Noun::PlanIndex | Noun::PlanStatus => self.plan,
            // Those who want these know of them by their templates.
            Noun::Runes | Noun::Rune | Noun::Pages | Noun::Page | Noun::PlanContext | Noun::PlanEntity => {
                false
            }
        }
    }

    /// The entries, in a stable order.
    pub(crate) fn entries(self) -> Vec<Listed> {
        let shown = LINES.iter().filter(|line| self.shows(line.noun));
        shown
            .map(|line| Listed {
                uri: line.template.split_once('{').map_or(line.template, |(path, _)| path).to_owned(),
                name: Cow::Borrowed(line.name),
                title: Some(line.title.to_owned()),
                description: Some(line.description.to_owned()),
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
    fn a_project_shows_what_it_has() {
        let uris = |sites, plan| -> Vec<String> {
            Exposed { sites, plan }.entries().into_iter().map(|entry| entry.uri).collect()
        };
        assert_eq!(uris(false, false), ["refrakt://detect"]);
        assert_eq!(uris(false, true), ["refrakt://detect", "refrakt://plan/index", "refrakt://plan/status"]);
        assert_eq!(uris(true, false), ["refrakt://detect", "refrakt://reference", "refrakt://contracts"]);
        assert_eq!(uris(true, true).len(), 5);
    }
}
