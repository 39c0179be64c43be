//! The addresses of this scheme.

use quad_core::{Error, Grammar, Result, Route, RouteSpec, ScopeRequirement};

/// What an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResourceKind {
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

pub(crate) const READ: ScopeRequirement = ScopeRequirement(&["refrakt:read"]);
pub(crate) const WRITE: ScopeRequirement = ScopeRequirement(&["plan:write"]);

/// The types of entities, as an address spells them.
pub(crate) const TYPES: [&str; 5] = ["spec", "work", "bug", "decision", "milestone"];

/// The forms of the reference.
pub(crate) const FORMATS: [&str; 2] = ["json", "markdown"];

/// One line of the table of routes.
pub(crate) struct RouteDef {
    pub kind: ResourceKind,
    pub template: &'static str,
    pub name: &'static str,
    pub title: &'static str,
    pub description: &'static str,
    pub mime_type: Option<&'static str>,
}

const JSON: Option<&str> = Some("application/json");

/// All of them, in the order of lists.
pub(crate) const ROUTES: [RouteDef; 11] = [
    RouteDef {
        kind: ResourceKind::Detect,
        template: "refrakt://detect",
        name: "detect",
        title: "The project",
        description: "What this project is: plan folder, sites, plugins, and what is wrong with its configuration.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::Reference,
        template: "refrakt://reference{?site,rune,format}",
        name: "reference",
        title: "Rune reference",
        description: "How every rune of a site is written: attributes, values, defaults, content. One rune with ?rune=, Markdown with ?format=markdown.",
        mime_type: None,
    },
    RouteDef {
        kind: ResourceKind::Contracts,
        template: "refrakt://contracts{?site}",
        name: "contracts",
        title: "Structure contracts",
        description: "The markup that every rune of a site promises: classes, data attributes, named elements.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::Runes,
        template: "refrakt://runes{?site}",
        name: "runes",
        title: "Runes in a line each",
        description: "Names, aliases and one line for every rune of a site, by package.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::Rune,
        template: "refrakt://rune/{name}{?site}",
        name: "rune",
        title: "A rune at work",
        description: "What a rune's example becomes: HTML, selectors and the engine's configuration. Every other query key is an attribute of the rune (?type=warning); the value all shows each value of one that has a closed set.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::PlanIndex,
        template: "refrakt://plan/index{?type,status,milestone,tag,assignee}",
        name: "plan-index",
        title: "Plan entities",
        description: "Every entity of the plan with id, type, status and file; all of them, or those that fit.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::PlanStatus,
        template: "refrakt://plan/status{?milestone}",
        name: "plan-status",
        title: "Plan status",
        description: "How the plan stands: counts, the current milestone or the one named, what is blocked, ready and done.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::PlanContext,
        template: "refrakt://plan/context/{id}",
        name: "plan-context",
        title: "An entity and what it touches",
        description: "An entity's text with the specifications, decisions and dependencies behind it, in one document.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::PlanEntity,
        template: "refrakt://plan/{type}/{id}",
        name: "plan-entity",
        title: "One plan entity",
        description: "The Markdoc source of one entity: type spec, work, bug, decision or milestone, and its id.",
        mime_type: Some("text/markdown"),
    },
    RouteDef {
        kind: ResourceKind::Pages,
        template: "refrakt://pages/index{?site}",
        name: "pages-index",
        title: "Pages of a site",
        description: "Every page of a site with url, file, title, layout, front matter and the runes it uses; a broken one with its problem.",
        mime_type: JSON,
    },
    RouteDef {
        kind: ResourceKind::Page,
        template: "refrakt://pages/{+url}{?site}",
        name: "page",
        title: "One page, rendered",
        description: "A page's html with its selectors, headings and front matter, by the url that the index gives; the first page is refrakt://pages//.",
        mime_type: JSON,
    },
];

/// All routes, in the order of [`noun`].
pub(crate) fn all() -> Vec<Route> {
    ROUTES.iter().filter_map(|def| build_spec(def).map(|spec| build_route(def, spec)).ok()).collect()
}

fn build_spec(def: &RouteDef) -> Result<RouteSpec> {
    let mut spec = RouteSpec::parse(def.template).map_err(|error| Error::internal(error.to_string()))?;
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
        if spec.template.variables().any(|name| name == variable) {
            spec = spec.with_grammar(variable, grammar);
        }
    }
    if def.kind == ResourceKind::Rune {
        spec = spec.with_grammar("name", Grammar::Name).allow_extra_query();
    }
    Ok(spec)
}

fn build_route(def: &RouteDef, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: def.name,
        title: def.title,
        description: def.description,
        mime_type: def.mime_type,
        required_scope: READ,
        advertised: true,
    }
}

/// What route number so-and-so names.
pub(crate) fn kind_of_route(route: usize) -> Result<ResourceKind> {
    let def = ROUTES.get(route);
    def.map(|def| def.kind).ok_or_else(|| Error::internal(format!("there is no route {route}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn route_templates_parse_and_do_not_shadow_each_other() {
        let mut router = quad_address::Router::new();
        assert_eq!(all().len(), ROUTES.len());
        for (index, route) in all().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let assert_route = |uri: &str, expected: ResourceKind| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(kind_of_route(*index).unwrap(), expected, "{uri}");
        };
        assert_route("refrakt://detect", ResourceKind::Detect);
        assert_route("refrakt://reference", ResourceKind::Reference);
        assert_route("refrakt://contracts?site=main", ResourceKind::Contracts);
        assert_route("refrakt://rune/hint?type=warning&site=main", ResourceKind::Rune);
        assert_route("refrakt://plan/index", ResourceKind::PlanIndex);
        assert_route("refrakt://plan/context/WORK-1", ResourceKind::PlanContext);
        assert_route("refrakt://plan/milestone/v0.11.0", ResourceKind::PlanEntity);
        assert_route("refrakt://pages/index?site=main", ResourceKind::Pages);
        assert_route("refrakt://pages/docs/intro?site=main", ResourceKind::Page);
        assert_route("refrakt://pages//docs/intro", ResourceKind::Page);
        assert_route("refrakt://pages//", ResourceKind::Page);
        assert_route("refrakt://pages/%C3%BCber%20uns", ResourceKind::Page);
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
