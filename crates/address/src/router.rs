//! The router: from a URI to an address and the value that was registered with its template.
//!
//! It is built at start and then only read. If several templates match a URI:
//!
//! 1. a match of the whole path wins over a `{+x}` tail;
//! 2. then, from the left, a literal segment wins over `v{x}`, and `v{x}` over `{x}`;
//! 3. among tails, the one that begins deepest wins.
//!
//! The match is final. If a value does not match its grammar, the result is that error and no other
//! template is tried: an agent that reads `amem://node/abc` gets the grammar of an id.

use std::collections::HashMap;

use crate::address::Address;
use crate::closest::{closest, edit_distance, nearest_first};
use crate::error::{AddressError, sanitize};
use crate::grammar::Grammar;
use crate::limits::{CANONICAL_PASSES_MAX, SUGGESTIONS_MAX, TEMPLATES_LISTED_MAX, URI_BYTES_MAX};
use crate::path::UriPath;
use crate::raw_uri::RawUri;
use crate::route::{Route, RouteError, RouteId, RouteSpec};
use crate::template::{Segment, Template};
use crate::trie::Trie;

/// Templates by scheme, each with a value `T` that the caller gets with a routed URI.
#[derive(Debug)]
pub struct Router<T> {
    schemes: HashMap<String, Trie>,
    routes: Vec<Route<T>>,
    by_source: HashMap<String, RouteId>,
}

impl<T> Default for Router<T> {
    fn default() -> Router<T> {
        Router::new()
    }
}

impl<T> Router<T> {
    /// A router without routes.
    pub fn new() -> Router<T> {
        Router { schemes: HashMap::new(), routes: Vec::new(), by_source: HashMap::new() }
    }

    /// Adds a route. Rejects a template that matches the same paths as another one, because no rule
    /// would choose between them.
    pub fn add(&mut self, spec: RouteSpec, value: T) -> Result<RouteId, RouteError> {
        let grammars = spec.ordered_grammars()?;
        let route = RouteId::new(self.routes.len());
        let RouteSpec { template, allows_extra_query, .. } = spec;
        let trie = self.schemes.entry(template.scheme().to_owned()).or_insert_with(Trie::new);
        trie.insert(template.segments(), route).map_err(|existing| RouteError::SameShape {
            existing: self.routes[existing.index()].template.as_str().to_owned(),
            added: template.as_str().to_owned(),
        })?;
        self.by_source.insert(template.as_str().to_owned(), route);
        self.routes.push(Route { template, grammars, allows_extra_query, value });
        Ok(route)
    }

    /// Parses and routes a URI. The cost depends on its length, not on the number of templates.
    pub fn route(&self, uri: &str) -> Result<(Address, &T), AddressError> {
        let mut address = self.route_once(uri)?;
        // The canonical form can have a more specific route than the URI as sent: `wiki//pages/x` is
        // the page `pages/x`, whose canonical form `wiki/pages/x` may match another template. Equal
        // addresses must have equal routes, so the route of the canonical form counts.
        for _ in 1..CANONICAL_PASSES_MAX {
            if address.canonical == address.requested {
                break;
            }
            let rerouted = self.route_once(&address.canonical)?;
            let is_stable = rerouted.canonical == address.canonical;
            address = rerouted;
            if is_stable {
                break;
            }
        }
        uri.clone_into(&mut address.requested);
        let value = self.get(address.route);
        Ok((address, value))
    }

    /// The value that was registered with a route.
    ///
    /// # Panics
    /// Only if the id comes from another router with more routes.
    pub fn get(&self, route: RouteId) -> &T {
        &self.routes[route.index()].value
    }

    /// The route of a template, by its exact source text: `completion/complete` names templates so.
    pub fn find_template(&self, source: &str) -> Option<(RouteId, &Template, &T)> {
        let id = *self.by_source.get(source)?;
        let route = self.routes.get(id.index())?;
        Some((id, &route.template, &route.value))
    }

    /// The grammar of a route's variable.
    pub fn grammar(&self, route: RouteId, variable: &str) -> Option<&Grammar> {
        let route = self.routes.get(route.index())?;
        let index = route.template.variables().position(|name| name == variable)?;
        route.grammars.get(index)
    }

    /// All templates, in the order in which they were added.
    pub fn templates(&self) -> impl Iterator<Item = (&Template, &T)> {
        self.routes.iter().map(|route| (&route.template, &route.value))
    }

    fn route_once(&self, uri: &str) -> Result<Address, AddressError> {
        let raw = RawUri::split(uri)?;
        let Some(trie) = self.schemes.get(&raw.scheme) else {
            let mut schemes: Vec<String> = self.schemes.keys().cloned().collect();
            schemes.sort_unstable();
            return Err(AddressError::UnknownScheme {
                schemes,
                closest: closest(&raw.scheme, self.schemes.keys().map(String::as_str)).map(str::to_owned),
                scheme: sanitize(&raw.scheme),
            });
        };
        let path = UriPath::split(raw.path, raw.path_offset, trie.depth())?;
        let Some(route_id) = trie.walk(&path) else {
            return Err(match path.first_empty_offset {
                Some(offset) => AddressError::EmptySegment { offset },
                None => AddressError::NoTemplate {
                    closest: self.closest_templates(&raw.scheme, &path),
                    templates: self.templates_of(&raw.scheme, raw.path),
                },
            });
        };
        let route = &self.routes[route_id.index()];
        let mut variables = route.read_path(&path)?;
        let extra = route.read_query(&raw, &mut variables)?;
        let canonical = route.canonical(&variables, &extra);
        if canonical.len() > URI_BYTES_MAX {
            return Err(AddressError::TooLong { bytes: canonical.len(), max: URI_BYTES_MAX });
        }
        Ok(Address {
            requested: uri.to_owned(),
            canonical,
            scheme_len: raw.scheme.len(),
            route: route_id,
            variables,
            extra_query: extra,
        })
    }

    /// Templates of a scheme, those that resemble the path most first.
    fn templates_of(&self, scheme: &str, path: &str) -> Vec<String> {
        let templates = self.routes.iter().map(|route| &route.template);
        let sources = templates.filter(|template| template.scheme() == scheme).map(Template::as_str);
        let nearest = nearest_first(&format!("{scheme}://{path}"), sources);
        nearest.into_iter().take(TEMPLATES_LISTED_MAX).map(str::to_owned).collect()
    }

    fn closest_templates(&self, scheme: &str, path: &UriPath<'_>) -> Vec<String> {
        let mut candidates: Vec<(usize, &str)> = self
            .routes
            .iter()
            .filter(|route| route.template.scheme() == scheme)
            .filter_map(|route| Some((template_distance(&route.template, path)?, route.template.as_str())))
            .collect();
        candidates.sort_unstable();
        candidates.into_iter().take(SUGGESTIONS_MAX).map(|(_, source)| source.to_owned()).collect()
    }
}

/// The distance of a path from a template: the edits in its literals, plus a fixed cost for each
/// literal that differs completely and each missing or extra segment. `None` if the distance is too
/// large for a hint, or if no literal is similar: variables match everything, so they prove nothing.
fn template_distance(template: &Template, path: &UriPath<'_>) -> Option<usize> {
    const LITERAL_MISMATCH_COST: usize = 4;
    const SEGMENT_COUNT_COST: usize = 3;
    const HINT_DISTANCE_MAX: usize = 4;

    let segments = template.segments();
    let allowed_counts = match segments.last() {
        Some(Segment::Tail { .. }) => segments.len()..=usize::MAX,
        Some(Segment::Optional { .. }) => segments.len() - 1..=segments.len(),
        _ => segments.len()..=segments.len(),
    };
    let segment_count = path.segment_count.clamp(*allowed_counts.start(), *allowed_counts.end());
    let mut total = segment_count.abs_diff(path.segment_count) * SEGMENT_COUNT_COST;
    let mut shares_literal = false;
    for (segment, path_segment) in segments.iter().zip(&path.segments) {
        if let Segment::Literal(literal) = segment {
            let edits = edit_distance(&path_segment.text, literal);
            shares_literal |= edits.is_some();
            total += edits.unwrap_or(LITERAL_MISMATCH_COST);
        }
    }
    (shares_literal && total <= HINT_DISTANCE_MAX).then_some(total)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::UriSyntaxError;

    const TYPES: &[&str] = &["fact", "decision", "inference", "correction", "skill", "episode"];

    /// Templates like those of the real schemes.
    fn router() -> Router<()> {
        let spec = |source: &str| RouteSpec::parse(source).unwrap();
        let mut router = Router::new();
        for spec in [
            spec("amem://graph/stats"),
            spec("amem://graph/recent"),
            spec("amem://node/{id}").with_grammar("id", Grammar::Integer),
            spec("amem://types/{type}{?limit,cursor}")
                .with_grammar("type", Grammar::OneOfAnyCase(TYPES))
                .with_grammar("limit", Grammar::Integer)
                .with_grammar("cursor", Grammar::Text),
            spec("amem://search{?q,limit}").with_grammar("q", Grammar::Text),
            spec("bkend://orgs"),
            spec("bkend://orgs/{orgId}/projects"),
            spec("bkend://tables{/id}"),
            spec("brain://wiki/{+slug}"),
            spec("brain://wiki/pages/{+page}"),
            spec("refrakt://rune/{name}{?site}").with_grammar("name", Grammar::Name).allow_extra_query(),
            spec("refrakt://plan/{type}/{id}").with_grammar("type", Grammar::OneOf(&["work", "spec"])),
            spec("refrakt://file/v{n}.json").with_grammar("n", Grammar::Integer),
            spec("link://{+uri}").with_grammar("uri", Grammar::Text),
        ] {
            router.add(spec, ()).unwrap();
        }
        router
    }

    #[test]
    fn route_parses_and_canonicalizes_addresses() {
        let router = router();
        let check = |uri: &str, canonical: &str, values: &[(&str, &str)]| {
            let (address, ()) = router.route(uri).unwrap_or_else(|error| panic!("{uri}: {error}"));
            assert_eq!(address.requested(), uri);
            assert_eq!(address.canonical(), canonical);
            assert_eq!(address.to_string(), canonical);
            assert!(canonical.starts_with(&format!("{}://", address.scheme())));
            let actual: Vec<_> = address.variables().iter().chain(address.extra_query().iter()).collect();
            assert_eq!(actual, values, "{uri}");
        };
        check("amem://graph/stats", "amem://graph/stats", &[]);
        check("AMEM://gr%61ph/stats?", "amem://graph/stats", &[]);
        check("amem://node/%31", "amem://node/1", &[("id", "1")]);
        check("amem://types/FACT", "amem://types/fact", &[("type", "fact")]);
        check(
            "amem://types/fact?cursor=&limit=2",
            "amem://types/fact?limit=2&cursor=",
            &[("type", "fact"), ("limit", "2"), ("cursor", "")],
        );
        check("amem://search?q=é+%2F", "amem://search?q=%C3%A9%2B%2F", &[("q", "é+/")]);
        check("amem://search?q", "amem://search?q=", &[("q", "")]);
        check("bkend://orgs/org_1/projects", "bkend://orgs/org_1/projects", &[("orgId", "org_1")]);
        check("bkend://tables", "bkend://tables", &[]);
        check("bkend://tables/t%5f1", "bkend://tables/t_1", &[("id", "t_1")]);
        for slug in ["monthly/2025-09", "/monthly/2025-09", "monthly%2f2025-09", "%2Fmonthly%2F2025%2D09"] {
            let uri = format!("brain://wiki/{slug}");
            check(&uri, "brain://wiki/monthly/2025-09", &[("slug", "monthly/2025-09")]);
        }
        check(
            "refrakt://rune/hint?title=a%20b&site=main&kind=x",
            "refrakt://rune/hint?site=main&kind=x&title=a%20b",
            &[("name", "hint"), ("site", "main"), ("kind", "x"), ("title", "a b")],
        );
        check(
            "refrakt://rune/hint?b=1&a",
            "refrakt://rune/hint?a=&b=1",
            &[("name", "hint"), ("a", ""), ("b", "1")],
        );
        check("refrakt://file/v12.json", "refrakt://file/v12.json", &[("n", "12")]);
        check("link://brain://wiki/x", "link://brain://wiki/x", &[("uri", "brain://wiki/x")]);
    }

    #[test]
    fn equal_addresses_have_equal_routes() {
        let router = router();
        let (plain, ()) = router.route("brain://wiki/pages/x").unwrap();
        for uri in ["brain://wiki//pages/x", "brain://wiki/pages%2Fx", "brain://wiki/pages//x"] {
            let (address, ()) = router.route(uri).unwrap();
            assert_eq!((address.route(), address.variables()), (plain.route(), plain.variables()), "{uri}");
            assert_eq!(address, plain);
            assert_eq!(address.requested(), uri);
        }
        assert_eq!(plain.variable("page"), Some("x"));
    }

    #[test]
    fn errors_have_message_and_hint() {
        let router = router();
        let check = |uri: &str, message: &str, hint: Option<&str>| {
            let error = router.route(uri).expect_err(uri);
            assert_eq!((error.to_string().as_str(), error.hint().as_deref()), (message, hint), "{uri}");
        };
        check("", "The URI is malformed: it is empty", Some("Write the address as scheme://path"));
        check(
            "amem://node/{id}",
            "The URI is malformed: it has an unexpanded `{` or `}` at byte 12",
            Some("Replace each {name} of the template by a value"),
        );
        check("ames://node/1", "The scheme `ames` is not served here", Some("Did you mean `amem`?"));
        check(
            "http://x",
            "The scheme `http` is not served here",
            Some("Use one of the schemes amem, bkend, brain, link, refrakt"),
        );
        let no_template = "The URI matches no template of its scheme";
        check("amem://nodes/5", no_template, Some("Use amem://node/{id}, the nearest template"));
        check(
            "amem://graph/nope",
            no_template,
            Some("Use one of the nearest templates amem://graph/recent, amem://graph/stats"),
        );
        check(
            "bkend://orgs/o1/project",
            no_template,
            Some("Use bkend://orgs/{orgId}/projects, the nearest template"),
        );
        check("brain://wki/a/b/c", no_template, Some("Use brain://wiki/{+slug}, the nearest template"));
        check("amem://Node/5", no_template, Some("Use amem://node/{id}, the nearest template"));
        check(
            "refrakt://x/y/z/z/y",
            no_template,
            Some(
                "Use one of the templates refrakt://plan/{type}/{id}, refrakt://file/v{n}.json, refrakt://rune/{name}{?site}",
            ),
        );
        check(
            "amem://node/abc",
            "`id` must be a whole number from 0 to 18446744073709551615, without leading zeros",
            None,
        );
        check(
            "amem://types/facts",
            "`type` must be one of fact, decision, inference, correction, skill, episode",
            Some("Did you mean `fact`?"),
        );
        let id = "must be an id: 1 to 64 characters of A-Z, a-z, 0-9, _ and -";
        check("bkend://orgs/a%2Fb/projects", &format!("`orgId` {id}"), None);
        check("bkend://tables/a.b", &format!("`id` {id}"), None);
        check("refrakt://plan/Work/W-1", "`type` must be one of work, spec", Some("Did you mean `work`?"));
        check(
            "amem://types/fact?limt=2",
            "`limt` is not a query key of this address",
            Some("Did you mean `limit`?"),
        );
        check(
            "amem://types/fact?colour=2",
            "`colour` is not a query key of this address",
            Some("Use one of the query keys limit, cursor"),
        );
        check(
            "bkend://orgs?x",
            "`x` is not a query key of this address",
            Some("Remove the query; this address has none"),
        );
        let duplicate = "is given more than once";
        let hint = Some("Give each query key once");
        check("amem://search?q=1&%71=2", &format!("The query key `q` {duplicate}"), hint);
        check("refrakt://rune/hint?a=1&b=2&a=1", &format!("The query key `a` {duplicate}"), hint);
        check(
            "refrakt://rune/hint?a%20b=1",
            "`a b` must be a query key that is a name: 1 to 128 characters of A-Z, a-z, 0-9, _, - and ., \
             not beginning with a dot",
            None,
        );
    }

    #[test]
    fn route_rejects_malformed_paths() {
        use AddressError::*;
        let router = router();
        let check = |uri: &str, expect: AddressError| assert_eq!(router.route(uri), Err(expect), "{uri}");
        check("amem://", EmptySegment { offset: 7 });
        check("amem://node/", EmptySegment { offset: 12 });
        check("bkend:///orgs", EmptySegment { offset: 8 });
        check("bkend://orgs//projects", EmptySegment { offset: 13 });
        check("bkend://tables/", EmptySegment { offset: 15 });
        check("brain://wiki/", EmptySegment { offset: 13 });
        check("brain://wiki//", EmptySegment { offset: 14 });
        check("brain://wiki/a/", EmptySegment { offset: 15 });
        check("brain://wiki/a//b", EmptySegment { offset: 15 });
        check("brain://wiki///a", EmptySegment { offset: 14 });
        check("brain://wiki/a%2F%2Fb", EmptySegment { offset: 13 });
        check("link://", EmptySegment { offset: 7 });
        check("brain://wiki/a/%2E%2e/b", DotSegment { offset: 15 });
        check("brain://wiki/a%2F..", DotSegment { offset: 13 });
        check("link://a/..", DotSegment { offset: 9 });
        check("amem://node/%ff", NotUtf8 { offset: 12 });
        check("amem://search?q=%0a", ControlCharacter { offset: 16 });
        check("amem://node/1#x", Fragment);
        check("amem://me@node/1", UserInfo);
        check("amem://node/ 1", NotAUri { reason: UriSyntaxError::Space { offset: 12 } });
        check(&"/".repeat(200_000), TooLong { bytes: 200_000, max: URI_BYTES_MAX });
        let keys: String = (0..65).map(|n| format!("k{n}=&")).collect();
        check(&format!("refrakt://rune/hint?{keys}"), TooManyKeys { max: 64 });
        // Short enough as sent, too long once each letter is six bytes.
        let long = format!("amem://search?q={}", "é".repeat(2000));
        check(&long, TooLong { bytes: 16 + 12_000, max: URI_BYTES_MAX });
    }

    #[test]
    fn add_rejects_conflicting_routes_and_grammars() {
        let check = |sources: &[&str], grammars: &[(&'static str, Grammar)], expect: &str| {
            let mut router = Router::new();
            let results: Result<Vec<_>, _> = sources
                .iter()
                .map(|source| {
                    let template = Template::parse(source).unwrap();
                    router.add(
                        RouteSpec { template, grammars: grammars.to_vec(), allows_extra_query: false },
                        (),
                    )
                })
                .collect();
            assert_eq!(results.unwrap_err().to_string(), expect);
        };
        check(&["a://{x}", "a://{y}"], &[], "`a://{y}` matches the same paths as `a://{x}`");
        check(
            &["a://{x}"],
            &[("y", Grammar::Id)],
            "`a://{x}` has no variable `y`, or it has a grammar already",
        );
        check(
            &["a://{x}"],
            &[("x", Grammar::Id), ("x", Grammar::Text)],
            "`a://{x}` has no variable `x`, or it has a grammar already",
        );
        let unsuitable =
            |template: &str| format!("the grammar of `x` is not allowed at its position in `{template}`");
        check(&["a://v{x}"], &[("x", Grammar::Slug)], &unsuitable("a://v{x}"));
        check(&["a://{+x}"], &[("x", Grammar::Id)], &unsuitable("a://{+x}"));
        check(&["a://{x}"], &[("x", Grammar::OneOfAnyCase(&["Fact"]))], &unsuitable("a://{x}"));
    }

    #[test]
    fn finds_templates_by_source() {
        let router = router();
        let source = "amem://types/{type}{?limit,cursor}";
        let (route, template, ()) = router.find_template(source).unwrap();
        assert_eq!(template.as_str(), source);
        assert_eq!(router.grammar(route, "type"), Some(&Grammar::OneOfAnyCase(TYPES)));
        assert_eq!(router.grammar(route, "cursor"), Some(&Grammar::Text));
        let (route, ..) = router.find_template("bkend://tables{/id}").unwrap();
        assert_eq!(router.grammar(route, "id"), Some(&Grammar::Id));
        assert_eq!(router.grammar(route, "other"), None);
        assert!(router.find_template("amem://types/{type}").is_none());
        assert_eq!(router.templates().count(), 14);
    }

    #[test]
    fn escaped_slashes_route_like_plain_slashes() {
        let mut router = Router::new();
        router
            .add(RouteSpec::parse("w://{slug}").unwrap().with_grammar("slug", Grammar::Slug), "one")
            .unwrap();
        router.add(RouteSpec::parse("w://{+slug}").unwrap(), "many").unwrap();
        for uri in ["w://a/b", "w:///a/b", "w://a%2Fb", "w://%2Fa%2Fb"] {
            let (address, route) = router.route(uri).unwrap();
            assert_eq!((address.canonical(), *route), ("w://a/b", "many"), "{uri}");
            assert_eq!(address.variable("slug"), Some("a/b"));
        }
        assert_eq!(*router.route("w://a").unwrap().1, "one");
        assert!(router.route("w://a%2F%2Fb").is_err());
        let affixed = RouteSpec::parse("w://v{slug}").unwrap().with_grammar("slug", Grammar::Slug);
        assert!(matches!(router.add(affixed, "x"), Err(RouteError::UnsuitableGrammar { .. })));
    }
}
