//! The addresses of this scheme.

use quad_core::{Error, Grammar, Need, Result, Route, RouteSpec};

/// What an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noun {
    Detect,
    Reference,
    Contracts,
    Runes,
    Rune,
    PlanIndex,
    PlanStatus,
    PlanContext,
    PlanEntity,
    Pages,
    Page,
}

pub(crate) const READ: Need = Need(&["refrakt:read"]);
pub(crate) const WRITE: Need = Need(&["plan:write"]);

/// The types of entities, as an address spells them.
pub(crate) const TYPES: [&str; 5] = ["spec", "work", "bug", "decision", "milestone"];

/// The forms of the reference.
pub(crate) const FORMATS: [&str; 2] = ["json", "markdown"];

/// One line of the table of routes.
pub(crate) struct Line {
    pub noun: Noun,
    pub template: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: Option<&'static str>,
}

const JSON: Option<&str> = Some("application/json");

/// All of them, in the order of lists.
pub(crate) const LINES: [Line; 11] = [
    Line {
        noun: Noun::Detect,
        template: "refrakt://detect",
        name: "detect",
        title: "The project",
        description: "What this project is: plan folder, sites, plugins, and what is wrong with its configuration.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::Reference,
        template: "refrakt://reference{?site,rune,format}",
        name: "reference",
        title: "Rune reference",
        description: "How every rune of a site is written: attributes, values, defaults, content. One rune with ?rune=, Markdown with ?format=markdown.",
        mime_type: None,
    },
    Line {
        noun: Noun::Contracts,
        template: "refrakt://contracts{?site}",
        name: "contracts",
        title: "Structure contracts",
        description: "The markup that every rune of a site promises: classes, data attributes, named elements.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::Runes,
        template: "refrakt://runes{?site}",
        name: "runes",
        title: "Runes in a line each",
        description: "Names, aliases and one line for every rune of a site, by package.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::Rune,
        template: "refrakt://rune/{name}{?site}",
        name: "rune",
        title: "A rune at work",
        description: "What a rune's example becomes: HTML, selectors and the engine's configuration. Every other query key is an attribute of the rune (?type=warning); the value all shows each value of one that has a closed set.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::PlanIndex,
        template: "refrakt://plan/index{?type,status,milestone,tag,assignee}",
        name: "plan-index",
        title: "Plan entities",
        description: "Every entity of the plan with id, type, status and file; all of them, or those that fit.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::PlanStatus,
        template: "refrakt://plan/status{?milestone}",
        name: "plan-status",
        title: "Plan status",
        description: "How the plan stands: counts, the current milestone or the one named, what is blocked, ready and done.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::PlanContext,
        template: "refrakt://plan/context/{id}",
        name: "plan-context",
        title: "An entity and what it touches",
        description: "An entity's text with the specifications, decisions and dependencies behind it, in one document.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::PlanEntity,
        template: "refrakt://plan/{type}/{id}",
        name: "plan-entity",
        title: "One plan entity",
        description: "The Markdoc source of one entity: type spec, work, bug, decision or milestone, and its id.",
        mime_type: Some("text/markdown"),
    },
    Line {
        noun: Noun::Pages,
        template: "refrakt://pages/index{?site}",
        name: "pages-index",
        title: "Pages of a site",
        description: "Every page of a site with url, file, title, layout, front matter and the runes it uses; a broken one with its problem.",
        mime_type: JSON,
    },
    Line {
        noun: Noun::Page,
        template: "refrakt://pages/{+url}{?site}",
        name: "page",
        title: "One page, rendered",
        description: "A page's html with its selectors, headings and front matter, by the url that the index gives; the first page is refrakt://pages//.",
        mime_type: JSON,
    },
];

/// All routes, in the order of [`noun`].
pub(crate) fn all() -> Vec<Route> {
    LINES.iter().filter_map(|line| spec(line).map(|spec| route(line, spec)).ok()).collect()
}

fn spec(line: &Line) -> Result<RouteSpec> {
    let mut spec = RouteSpec::parse(line.template).map_err(|error| Error::internal(error.to_string()))?;
    let grammars = [
        ("site", Grammar::Text),
        ("rune", Grammar::Text),
        ("format", Grammar::OneOf(&FORMATS)),
        ("type", Grammar::OneOf(&TYPES)),
        ("status", Grammar::Text),
        ("milestone", Grammar::Text),
        ("tag", Grammar::Text),
        ("assignee", Grammar::Text),
        // Whatever somebody wrote into a tag is an id; it is looked up, never made into a path.
        ("id", Grammar::Text),
        ("url", Grammar::Text),
    ];
    for (variable, grammar) in grammars {
        if spec.template.variables().any(|known| known == variable) {
            spec = spec.with(variable, grammar);
        }
    }
    if line.noun == Noun::Rune {
        spec = spec.with("name", Grammar::Name).with_open_query();
    }
    Ok(spec)
}

fn route(line: &Line, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: line.name,
        title: line.title,
        description: line.description,
        mime_type: line.mime_type,
        need: READ,
        advertised: true,
    }
}

/// What route number so-and-so names.
pub(crate) fn noun(route: usize) -> Result<Noun> {
    let line = LINES.get(route);
    line.map(|line| line.noun).ok_or_else(|| Error::internal(format!("there is no route {route}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_template_is_well_formed_and_none_shadows_another() {
        let mut router = quad_address::Router::new();
        assert_eq!(all().len(), LINES.len());
        for (index, route) in all().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let check = |uri: &str, expect: Noun| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(noun(*index).unwrap(), expect, "{uri}");
        };
        check("refrakt://detect", Noun::Detect);
        check("refrakt://reference", Noun::Reference);
        check("refrakt://contracts?site=main", Noun::Contracts);
        check("refrakt://rune/hint?type=warning&site=main", Noun::Rune);
        check("refrakt://plan/index", Noun::PlanIndex);
        check("refrakt://plan/context/WORK-1", Noun::PlanContext);
        check("refrakt://plan/milestone/v0.11.0", Noun::PlanEntity);
        check("refrakt://pages/index?site=main", Noun::Pages);
        check("refrakt://pages/docs/intro?site=main", Noun::Page);
        check("refrakt://pages//docs/intro", Noun::Page);
        check("refrakt://pages//", Noun::Page);
        check("refrakt://pages/%C3%BCber%20uns", Noun::Page);
        for wrong in [
            "refrakt://pages",
            "refrakt://pages/docs/../../etc/passwd",
            "refrakt://pages/%2e%2e/x",
            "refrakt://plan",
            "refrakt://plan/work",
            "refrakt://plan/work/",
            "refrakt://plan/banana/WORK-1",
            "refrakt://plan/../CLAUDE",
            "refrakt://plan/%2e%2e/CLAUDE",
            "refrakt://contracts?sit=main",
            "refrakt://nope",
        ] {
            assert!(router.route(wrong).is_err(), "{wrong}");
        }
    }
}
