//! The URIs of this scheme. A row of the table holds the function that turns a matched address into a query.

use quad_core::{Address, Error, Grammar, Result, RouteDef, RouteTable, ScopeRequirement};

use super::query::ResourceQuery;
use crate::plan::{EntityType, IndexFilter};

/// What a route leads to.
#[derive(Clone, Copy)]
pub(crate) struct Resource {
    /// Builds the query of a matched address.
    pub query: fn(&Address) -> Result<ResourceQuery>,
    /// When `resources/list` shows it.
    pub listed: Listed,
}

/// When `resources/list` shows a resource, and by which name. Clients know these names; templates have others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Listed {
    Always(&'static str),
    /// The project has a site.
    WithSites(&'static str),
    /// The project has a plan folder.
    WithPlan(&'static str),
    /// Clients find it by its template only.
    Never,
}

pub(crate) const READ: ScopeRequirement = ScopeRequirement(&["refrakt:read"]);
pub(crate) const WRITE: ScopeRequirement = ScopeRequirement(&["plan:write"]);

/// The types of entities, as a URI spells them.
pub(crate) const TYPES: [&str; 5] = ["spec", "work", "bug", "decision", "milestone"];

/// The formats of the reference.
pub(crate) const FORMATS: [&str; 2] = ["json", "markdown"];

/// All routes.
pub(crate) const ROUTES: RouteTable<Resource> = RouteTable {
    rows: &ROWS,
    grammars: &[
        ("site", Grammar::Text),
        ("rune", Grammar::Text),
        ("format", Grammar::OneOf(&FORMATS)),
        ("type", Grammar::OneOf(&TYPES)),
        ("status", Grammar::Text),
        ("milestone", Grammar::Text),
        ("cursor", Grammar::Text),
        ("tag", Grammar::Text),
        ("assignee", Grammar::Text),
        // A tag may hold any text as id. It is looked up in the index and never becomes part of a path.
        ("id", Grammar::Text),
        ("url", Grammar::Text),
        ("name", Grammar::Name),
    ],
};

/// The rows, in the order of lists.
const ROWS: [RouteDef<Resource>; 11] = [
    row(
        Resource { query: |_| Ok(ResourceQuery::Detect), listed: Listed::Always("detect") },
        "refrakt://detect",
        "detect",
        "The project",
        "What this project is: plan folder, sites, plugins, and what is wrong with its configuration.",
    ),
    row(
        Resource { query: |address| {
                Ok(ResourceQuery::Reference {
                    site: text(address, "site"),
                    rune: text(address, "rune"),
                    markdown: address.variable("format") == Some("markdown"),
                })
            }, listed: Listed::WithSites("reference") },
        "refrakt://reference{?site,rune,format}",
        "Rune reference",
        "Rune reference",
        "How every rune of a site is written: attributes, values, defaults, content. One rune with ?rune=, Markdown with ?format=markdown.",
    )
    .mime_type(None),
    row(
        Resource { query: |address| Ok(ResourceQuery::Contracts { site: text(address, "site") }), listed: Listed::WithSites("contracts") },
        "refrakt://contracts{?site}",
        "Rune contracts",
        "Structure contracts",
        "The markup that every rune of a site promises: classes, data attributes, named elements.",
    ),
    row(
        Resource { query: |address| Ok(ResourceQuery::Runes { site: text(address, "site") }), listed: Listed::Never },
        "refrakt://runes{?site}",
        "Rune list",
        "List of runes",
        "Names, aliases and one line for every rune of a site, by package.",
    ),
    row(
        Resource { query: rune_query, listed: Listed::Never },
        "refrakt://rune/{name}{?site}",
        "Rune example",
        "Rendered rune example",
        "What a rune's example becomes: HTML, selectors and the engine's configuration. Every other query key is an attribute of the rune (?type=warning); the value all shows each value of one that has a closed set.",
    )
    .with_extra_query(),
    row(
        Resource { query: |address| Ok(ResourceQuery::Index(index_filter(address))), listed: Listed::WithPlan("plan-index") },
        "refrakt://plan/index{?type,status,milestone,tag,assignee}",
        "Plan entities",
        "Plan entities",
        "Every entity of the plan with id, type, status and file; all of them, or those that fit.",
    ),
    row(
        Resource { query: |address| {
                Ok(ResourceQuery::Status { milestone: text(address, "milestone"), cursor: text(address, "cursor") })
            }, listed: Listed::WithPlan("plan-status") },
        "refrakt://plan/status{?milestone,cursor}",
        "Plan status",
        "Plan status",
        "How the plan stands: counts, the current milestone or the one named, what is blocked, ready and done.",
    ),
    row(
        Resource { query: |address| Ok(ResourceQuery::Context { id: text(address, "id").unwrap_or_default() }), listed: Listed::Never },
        "refrakt://plan/context/{id}",
        "Plan context",
        "Context of an entity",
        "An entity's text with the specifications, decisions and dependencies behind it, in one document.",
    ),
    row(
        Resource { query: entity_query, listed: Listed::Never },
        "refrakt://plan/{type}/{id}",
        "Plan entity",
        "One plan entity",
        "The Markdoc source of one entity: type spec, work, bug, decision or milestone, and its id.",
    )
    .mime_type(Some("text/markdown")),
    row(
        Resource { query: |address| Ok(ResourceQuery::Pages { site: text(address, "site") }), listed: Listed::Never },
        "refrakt://pages/index{?site}",
        "Site pages",
        "Pages of a site",
        "Every page of a site with url, file, title, layout, front matter and the runes it uses; a broken one with its problem.",
    ),
    row(
        Resource { query: |address| {
                Ok(ResourceQuery::Page {
                    url: text(address, "url").unwrap_or_default(),
                    site: text(address, "site"),
                })
            }, listed: Listed::Never },
        "refrakt://pages/{+url}{?site}",
        "Site page",
        "One page, rendered",
        "A page's html with its selectors, headings and front matter, by the url that the index gives; the first page is refrakt://pages//.",
    ),
];

const fn row(
    resource: Resource,
    template: &'static str,
    name: &'static str,
    title: &'static str,
    description: &'static str,
) -> RouteDef<Resource> {
    RouteDef::json(resource, template, name, description, READ).title(title)
}

/// A variable of an address that is not empty.
fn text(address: &Address, name: &str) -> Option<String> {
    address.variable(name).filter(|text| !text.is_empty()).map(str::to_owned)
}

fn entity_type(address: &Address) -> Option<EntityType> {
    text(address, "type").as_deref().and_then(EntityType::from_tag)
}

fn rune_query(address: &Address) -> Result<ResourceQuery> {
    let attributes = address.extra_query().iter();
    Ok(ResourceQuery::Rune {
        site: text(address, "site"),
        name: text(address, "name").unwrap_or_default(),
        attributes: attributes.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
    })
}

fn index_filter(address: &Address) -> IndexFilter {
    IndexFilter {
        kind: entity_type(address),
        status: text(address, "status"),
        milestone: text(address, "milestone"),
        tag: text(address, "tag"),
        assignee: text(address, "assignee"),
    }
}

fn entity_query(address: &Address) -> Result<ResourceQuery> {
    let kind = entity_type(address).ok_or_else(|| Error::internal("the address of an entity has no type"))?;
    Ok(ResourceQuery::Entity { kind, id: text(address, "id").unwrap_or_default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn template_names_are_in_sentence_case_and_used_once() {
        let templates = ROWS.iter().filter(|row| row.template.contains('{'));
        let mut names: Vec<&str> = templates.map(|row| row.name).collect();
        for name in &names {
            let (first, rest) = name.split_at(1);
            assert!(first.chars().all(|ch| ch.is_ascii_uppercase()), "{name}");
            assert!(rest.chars().all(|ch| ch.is_ascii_lowercase() || ch == ' '), "{name}");
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn route_templates_parse_and_do_not_shadow_each_other() {
        let mut router = quad_address::Router::new();
        for (index, route) in ROUTES.routes().unwrap().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let assert_route = |uri: &str, expected: &str| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(ROUTES.rows[*index].name, expected, "{uri}");
        };
        assert_route("refrakt://detect", "detect");
        assert_route("refrakt://reference", "Rune reference");
        assert_route("refrakt://contracts?site=main", "Rune contracts");
        assert_route("refrakt://rune/hint?type=warning&site=main", "Rune example");
        assert_route("refrakt://plan/index", "Plan entities");
        assert_route("refrakt://plan/context/WORK-1", "Plan context");
        assert_route("refrakt://plan/milestone/v0.11.0", "Plan entity");
        assert_route("refrakt://pages/index?site=main", "Site pages");
        assert_route("refrakt://pages/docs/intro?site=main", "Site page");
        assert_route("refrakt://pages//docs/intro", "Site page");
        assert_route("refrakt://pages//", "Site page");
        assert_route("refrakt://pages/%C3%BCber%20uns", "Site page");
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
