//! The addresses of this scheme.

use quad_core::{Error, Grammar, ScopeRequirement, Result, Route, RouteSpec};

use crate::event_type;

/// What an address names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Noun {
    Stats,
    Recent,
    Important,
    Node,
    Session,
    Type,
    Neighbourhood,
    Sessions,
    Search,
}

pub(crate) const MEMORY_READ: ScopeRequirement = ScopeRequirement(&["memory:read"]);
pub(crate) const MEMORY_WRITE: ScopeRequirement = ScopeRequirement(&["memory:write"]);

/// One line of the table of routes.
pub(crate) struct Line {
    pub noun: Noun,
    pub template: &'static str,
    pub name: &'static str,
    pub description: &'static str,
}

macro_rules! line {
    ($noun:ident, $template:literal, $name:literal, $description:literal) => {
        Line { noun: Noun::$noun, template: $template, name: $name, description: $description }
    };
}

/// All of them; the three of the graph are what `resources/list` shows.
pub(crate) const LINES: [Line; 9] = [
    line!(
        Stats,
        "amem://graph/stats",
        "Graph Statistics",
        "How many memories, links and sessions there are, by type."
    ),
    line!(Recent, "amem://graph/recent", "Recent Nodes", "The twenty newest memories, the newest first."),
    line!(
        Important,
        "amem://graph/important",
        "Important Nodes",
        "The twenty memories that have faded least and that nothing supersedes, with their scores."
    ),
    line!(
        Node,
        "amem://node/{id}",
        "Memory Node",
        "One memory with its links in both directions. Reading it counts as an access."
    ),
    line!(
        Session,
        "amem://session/{id}{?limit,cursor}",
        "Session Nodes",
        "The memories of one session, in the order in which they were made."
    ),
    line!(
        Type,
        "amem://types/{type}{?limit,cursor}",
        "Nodes by Type",
        "The memories of one type: fact, decision, inference, correction, skill or episode."
    ),
    line!(
        Neighbourhood,
        "amem://node/{id}/neighborhood{?depth}",
        "Neighborhood",
        "A memory and what lies up to five links around it, with the links between them."
    ),
    line!(
        Sessions,
        "amem://sessions{?limit,cursor}",
        "Sessions",
        "The sessions, the newest first, with the number of their memories."
    ),
    line!(
        Search,
        "amem://search{?q,type,session,limit,cursor}",
        "Search",
        "The memories that have the words, \"phrases\" or prefixes* of q, the best first; superseded ones left out."
    ),
];

/// All routes, in the order of [`noun`].
pub(crate) fn all() -> Vec<Route> {
    LINES.iter().filter_map(|line| spec(line).map(|spec| route(line, spec)).ok()).collect()
}

fn spec(line: &Line) -> Result<RouteSpec> {
    let mut spec = RouteSpec::parse(line.template).map_err(|error| Error::internal(error.to_string()))?;
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
        if spec.template.variables().any(|known| known == variable) {
            spec = spec.with_grammar(variable, grammar);
        }
    }
    Ok(spec)
}

fn route(line: &Line, spec: RouteSpec) -> Route {
    Route {
        spec,
        name: line.name,
        title: line.name,
        description: line.description,
        mime_type: Some("application/json"),
        required_scope: MEMORY_READ,
        advertised: true,
    }
}

/// What route number so-and-so names.
pub(crate) fn noun(route: usize) -> Result<Noun> {
    LINES
        .get(route)
        .map(|line| line.noun)
        .ok_or_else(|| Error::internal(format!("there is no route {route}")))
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
        check("amem://graph/stats", Noun::Stats);
        check("amem://node/0", Noun::Node);
        check("amem://node/%31", Noun::Node);
        check("amem://node/7/neighborhood?depth=1", Noun::Neighbourhood);
        check("amem://session/4294967295?limit=5", Noun::Session);
        check("amem://types/FACT", Noun::Type);
        check("amem://sessions", Noun::Sessions);
        check("amem://search?q=rate%20limit&type=FACT&session=1", Noun::Search);
        for bad in [
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
            assert!(router.route(bad).is_err(), "{bad}");
        }
    }
}
