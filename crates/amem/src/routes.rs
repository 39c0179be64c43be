//! The routes of this scheme.

use quad_core::{Address, Grammar, Result, RouteDef, RouteTable, ScopeRequirement};

use crate::event_type;
use crate::resource::{ParseResource, Resource};

pub(crate) const MEMORY_READ: ScopeRequirement = ScopeRequirement(&["memory:read"]);
pub(crate) const MEMORY_WRITE: ScopeRequirement = ScopeRequirement(&["memory:write"]);

/// The table of routes. Each row has the function that makes its resource.
pub(crate) const ROUTES: RouteTable<ParseResource> = RouteTable {
    rows: &ROWS,
    grammars: &[
        ("id", Grammar::Integer),
        ("type", Grammar::OneOfAnyCase(&event_type::NAMES)),
        ("limit", Grammar::Integer),
        ("depth", Grammar::Integer),
        ("cursor", Grammar::Text),
        ("q", Grammar::Text),
        ("session", Grammar::Integer),
    ],
};

/// The first rows are the resources without variables, which `resources/list` shows.
pub(crate) const LISTED_ROWS: usize = 3;

const fn route(
    parse: ParseResource,
    template: &'static str,
    name: &'static str,
    description: &'static str,
) -> RouteDef<ParseResource> {
    RouteDef::json(parse, template, name, description, MEMORY_READ)
}

const ROWS: [RouteDef<ParseResource>; 9] = [
    route(
        Resource::stats,
        "amem://graph/stats",
        "Graph Statistics",
        "How many memories, links and sessions there are, by type.",
    ),
    route(
        Resource::recent,
        "amem://graph/recent",
        "Recent Nodes",
        "The twenty newest memories, the newest first.",
    ),
    route(
        Resource::important,
        "amem://graph/important",
        "Important Nodes",
        "The twenty memories that have faded least and that nothing supersedes, with their scores.",
    ),
    route(
        Resource::node,
        "amem://node/{id}",
        "Memory node",
        "One memory with its links in both directions. Reading it counts as an access.",
    ),
    route(
        Resource::session,
        "amem://session/{id}{?limit,cursor}",
        "Memory session",
        "The memories of one session, in the order in which they were made.",
    ),
    route(
        Resource::of_type,
        "amem://types/{type}{?limit,cursor}",
        "Memories of a type",
        "The memories of one type: fact, decision, inference, correction, skill or episode.",
    ),
    route(
        Resource::neighborhood,
        "amem://node/{id}/neighborhood{?depth}",
        "Memory neighborhood",
        "A memory and what lies up to five links around it, with the links between them.",
    ),
    route(
        Resource::sessions,
        "amem://sessions{?limit,cursor}",
        "Memory sessions",
        "The sessions, the newest first, with the number of their memories.",
    ),
    route(
        Resource::search,
        "amem://search{?q,type,session,limit,cursor}",
        "Memory search",
        "The memories that have the words, \"phrases\" or prefixes* of q, the best first; superseded ones left out.",
    ),
];

/// The resource that a URI of this route names.
pub(crate) fn resource(route: usize, address: &Address) -> Result<Resource> {
    ROUTES.resource(route)?(address)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::event_type::EventType;
    use crate::limits;
    use crate::list::Page;
    use crate::node::NodeId;
    use crate::session::SessionId;

    #[test]
    fn template_names_are_distinct_and_in_sentence_case() {
        let names: BTreeSet<&str> = ROWS.iter().map(|row| row.name).collect();
        assert_eq!(names.len(), ROWS.len());
        for row in &ROWS[LISTED_ROWS..] {
            let (first, rest) = row.name.split_at(1);
            assert!(first.chars().all(char::is_uppercase), "{}", row.name);
            assert!(!rest.contains(char::is_uppercase), "{}", row.name);
        }
    }

    #[test]
    fn routes_parse_and_resolve_to_their_resource() {
        let mut router = quad_address::Router::new();
        for (index, route) in ROUTES.routes().unwrap().into_iter().enumerate() {
            router.add(route.spec, index).unwrap();
        }
        let parse = |uri: &str| {
            let (address, route) = router.route(uri).unwrap();
            resource(*route, &address).unwrap()
        };
        let check = |uri: &str, expected: Resource| assert_eq!(parse(uri), expected, "{uri}");
        check("amem://graph/stats", Resource::Stats);
        check("amem://graph/recent", Resource::Recent);
        check("amem://graph/important", Resource::Important);
        check("amem://node/0", Resource::Node(NodeId(0)));
        check("amem://node/%31", Resource::Node(NodeId(1)));
        check("amem://node/18446744073709551615", Resource::Node(NodeId(i64::MAX)));
        check("amem://node/7/neighborhood?depth=1", Resource::Neighborhood { id: NodeId(7), depth: 1 });
        check("amem://node/7/neighborhood", Resource::Neighborhood { id: NodeId(7), depth: 2 });
        check(
            "amem://session/4294967295?limit=5",
            Resource::Session { id: SessionId(u32::MAX), page: Page { after: None, limit: 5 } },
        );
        check(
            "amem://types/FACT",
            Resource::Type {
                event_type: EventType::Fact,
                page: Page { after: None, limit: limits::PAGE_NODES },
            },
        );
        check("amem://sessions", Resource::Sessions { before: None, limit: limits::PAGE_SESSIONS });
        let search = parse("amem://search?q=rate%20limit&type=FACT&session=1");
        assert!(
            matches!(&search, Resource::Search { search, .. } if search.text == "rate limit"),
            "{search:?}"
        );
        assert!(!search.is_cheap() && Resource::Stats.is_cheap());
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
