//! The routes of this scheme.

use quad_core::{Error, Grammar, Result, Route, RouteSpec, ScopeRequirement};

use crate::event_type;

/// The resource that a URI names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    Stats,
    Recent,
    Important,
    Node,
    Session,
    Type,
    Neighborhood,
    Sessions,
    Search,
}

pub(crate) const MEMORY_READ: ScopeRequirement = ScopeRequirement(&["memory:read"]);
pub(crate) const MEMORY_WRITE: ScopeRequirement = ScopeRequirement(&["memory:write"]);

pub(crate) struct RouteDef {
    pub resource: Resource,
    pub template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

macro_rules! route {
    ($resource:ident, $template:literal, $name:literal, $description:literal) => {
        RouteDef {
            resource: Resource::$resource,
            template: $template,
            name: $name,
            description: $description,
        }
    };
}

pub(crate) const ROUTES: [RouteDef; 9] = [
    route!(
        Stats,
        "amem://graph/stats",
        "Graph Statistics",
        "How many memories, links and sessions there are, by type."
    ),
    route!(Recent, "amem://graph/recent", "Recent Nodes", "The twenty newest memories, the newest first."),
    route!(
        Important,
        "amem://graph/important",
        "Important Nodes",
        "The twenty memories that have faded least and that nothing supersedes, with their scores."
    ),
    route!(
        Node,
        "amem://node/{id}",
        "Memory Node",
        "One memory with its links in both directions. Reading it counts as an access."
    ),
    route!(
        Session,
        "amem://session/{id}{?limit,cursor}",
        "Session Nodes",
        "The memories of one session, in the order in which they were made."
    ),
    route!(
        Type,
        "amem://types/{type}{?limit,cursor}",
        "Nodes by Type",
        "The memories of one type: fact, decision, inference, correction, skill or episode."
    ),
    route!(
        Neighborhood,
        "amem://node/{id}/neighborhood{?depth}",
        "Neighborhood",
        "A memory and what lies up to five links around it, with the links between them."
    ),
    route!(
        Sessions,
        "amem://sessions{?limit,cursor}",
        "Sessions",
        "The sessions, the newest first, with the number of their memories."
    ),
    route!(
        Search,
        "amem://search{?q,type,session,limit,cursor}",
        "Search",
        "The memories that have the words, \"phrases\" or prefixes* of q, the best first; superseded ones left out."
    ),
];

pub(crate) fn all() -> Vec<Route> {
    ROUTES.iter().filter_map(|def| parse_spec(def).map(|spec| build_route(def, spec)).ok()).collect()
}

fn parse_spec(def: &RouteDef) -> Result<RouteSpec> {
    let mut spec = RouteSpec::parse(def.template).map_err(|error| Error::internal(error.to_string()))?;
    let grammars = [
        ("id", Grammar::Integer),
        ("type", Grammar::OneOfAnyCase(&event_type::NAMES)),
        ("limit", Grammar::Integer),
        ("depth", Grammar::Integer),
        ("cursor", Grammar::Text),
        ("q", Grammar::Text),
        ("session", Grammar::Integer),
    ];
    for (variable, grammar) in grammars {
        if spec.template.variables().any(|name| name == variable) {
            spec = spec.with_grammar(variable, grammar);
        }
    }
    Ok(spec)
}

fn build_route(def: &RouteDef, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: def.name,
        title: def.name,
        description: def.description,
        mime_type: Some("application/json"),
        required_scope: MEMORY_READ,
        advertised: true,
    }
}

pub(crate) fn resource_at(index: usize) -> Result<Resource> {
    ROUTES
        .get(index)
        .map(|def| def.resource)
        .ok_or_else(|| Error::internal(format!("there is no route {index}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_parse_and_resolve_to_their_resource() {
        let mut router = quad_address::Router::new();
        assert_eq!(all().len(), ROUTES.len());
        for (index, route) in all().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let check = |uri: &str, expect: Resource| {
            let (_, index) = router.route(uri).unwrap();
            assert_eq!(resource_at(*index).unwrap(), expect, "{uri}");
        };
        check("amem://graph/stats", Resource::Stats);
        check("amem://node/0", Resource::Node);
        check("amem://node/%31", Resource::Node);
        check("amem://node/7/neighborhood?depth=1", Resource::Neighborhood);
        check("amem://session/4294967295?limit=5", Resource::Session);
        check("amem://types/FACT", Resource::Type);
        check("amem://sessions", Resource::Sessions);
        check("amem://search?q=rate%20limit&type=FACT&session=1", Resource::Search);
        for invalid_uri in [
            "amem://graph/nope",
            "amem://node/abc",
            "amem://node/-1",
            "amem://node/1.0",
            "amem://node/",
            "amem://node/00",
            "amem://node/+1",
            "amem://types/facts",
            "amem://types/",
            "amem://session/abc",
            "amem://graph/stats/",
            "amem://types/fact?x=1",
        ] {
            assert!(router.route(invalid_uri).is_err(), "{invalid_uri}");
        }
    }
}
