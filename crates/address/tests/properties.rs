//! Properties that hold for every generated URI.

// Helpers outside `#[test]` functions are tests too, which clippy does not know.
#![allow(clippy::unwrap_used)]

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use quad_address::{Address, Grammar, RouteSpec, Router, Template, Variables, closest, closest_few};

fn router() -> Router<&'static str> {
    let spec = |source: &str| RouteSpec::parse(source).unwrap();
    let mut router = Router::new();
    for (spec, name) in [
        (spec("ids://one/{a}/two/{b}{?c}"), "ids"),
        (spec("ids://one/{a}"), "id"),
        (
            spec("text://one/{x}/v{y}.json{?z,w}")
                .with_grammar("x", TEXT)
                .with_grammar("y", TEXT)
                .with_grammar("z", TEXT),
            "text",
        ),
        (spec("text://tail/{+rest}{?z}").with_grammar("rest", TEXT).with_grammar("z", TEXT), "tail"),
        (spec("wiki://pages/{+slug}"), "pages"),
        (spec("wiki://{+slug}"), "wiki"),
        (spec("open://{name}{/more}{?site}").with_grammar("name", Grammar::Name).allow_extra_query(), "open"),
        (spec("word://{w}").with_grammar("w", Grammar::OneOfAnyCase(&["fact", "skill"])), "word"),
        (spec("word://fact"), "fact"),
    ] {
        router.add(spec, name).unwrap();
    }
    router
}

const TEXT: Grammar = Grammar::Text;

fn id() -> impl Strategy<Value = String> {
    "[A-Za-z0-9_-]{1,64}"
}

fn slug() -> impl Strategy<Value = String> {
    // Not `pages/…`, which the other wiki template claims.
    "[a-o][a-z0-9_.-]{0,9}(/[A-Za-z0-9_-][A-Za-z0-9_.-]{0,9}){0,5}"
}

/// Text that a path variable accepts: not empty, no control characters, no `.` or `..` parts.
fn path_text() -> impl Strategy<Value = String> {
    "[^\\pC]{1,40}".prop_filter("climbs", |text| !text.split(['/', '\\']).any(|p| p == "." || p == ".."))
}

/// Near misses: pieces of real addresses in random order.
fn scrambled_uri() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("ids://one/".to_owned()),
        Just("text://one/".to_owned()),
        Just("text://tail/".to_owned()),
        Just("wiki://".to_owned()),
        Just("wiki:///pages".to_owned()),
        Just("open://x".to_owned()),
        Just("WORD://FACT".to_owned()),
        "[/.?&=#%@:+{}\\\\-]{1,3}",
        "%[0-9a-fA-F]{2}",
        "(two|pages|site|fact|FACT|skill|v1\\.json|z|c|w)",
        "\\PC{0,4}",
    ];
    prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

/// Percent-encodes bytes that need no encoding: those for which `choose` has `true`.
fn over_encode(text: &str, choose: &[bool]) -> String {
    let mut choices = choose.iter().copied().cycle();
    text.bytes()
        .map(|byte| match choices.next() {
            Some(true) => format!("%{byte:02x}"),
            _ => char::from(byte).to_string(),
        })
        .collect()
}

fn hash_of(address: &Address) -> u64 {
    let mut hasher = DefaultHasher::new();
    address.hash(&mut hasher);
    hasher.finish()
}

/// A URI either routes, and its canonical form routes to the same address, or fails with a short error
/// without control characters.
fn check_routes_or_fails(router: &Router<&'static str>, uri: &str) -> Result<(), TestCaseError> {
    match router.route(uri) {
        Ok((address, name)) => {
            prop_assert_eq!(address.requested(), uri);
            let (rerouted, rerouted_name) = router.route(address.canonical()).unwrap();
            prop_assert_eq!(rerouted.canonical(), address.canonical());
            prop_assert_eq!(rerouted.route(), address.route());
            prop_assert_eq!(rerouted.variables(), address.variables());
            prop_assert_eq!(rerouted.extra_query(), address.extra_query());
            prop_assert_eq!(name, rerouted_name);
            prop_assert_eq!(hash_of(&rerouted), hash_of(&address));
            prop_assert!(address.canonical().is_ascii());
        }
        Err(error) => {
            let message = error.to_string();
            prop_assert!(message.chars().count() < 240, "{}", message);
            prop_assert!(!message.contains(char::is_control));
            prop_assert!(error.hint().is_none_or(|hint| !hint.contains(char::is_control)));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn expand_then_route_returns_same_variables(a in id(), b in id(), c in proptest::option::of(id())) {
        let router = router();
        let (route, template, _) = router.find_template("ids://one/{a}/two/{b}{?c}").unwrap();
        let mut variables: Variables = [("a", a), ("b", b)].into_iter().collect();
        if let Some(c) = c {
            variables.insert("c", c);
        }
        let uri = template.expand(&variables).unwrap();
        let (address, _) = router.route(&uri).unwrap();
        prop_assert_eq!(address.route(), route);
        prop_assert_eq!(address.variables(), &variables);
        prop_assert_eq!(address.canonical(), uri);
    }

    #[test]
    fn free_text_round_trips(x in path_text(), y in path_text(), z in "[^\\pC]{0,40}") {
        let router = router();
        let (_, template, _) = router.find_template("text://one/{x}/v{y}.json{?z,w}").unwrap();
        let variables: Variables = [("x", x), ("y", y), ("z", z)].into_iter().collect();
        let (address, _) = router.route(&template.expand(&variables).unwrap()).unwrap();
        prop_assert_eq!(address.variables(), &variables);
    }

    #[test]
    fn text_tail_round_trips(rest in path_text()) {
        let router = router();
        let (_, template, _) = router.find_template("text://tail/{+rest}{?z}").unwrap();
        let variables: Variables = [("rest", rest)].into_iter().collect();
        let (address, _) = router.route(&template.expand(&variables).unwrap()).unwrap();
        prop_assert_eq!(address.variables(), &variables);
    }

    #[test]
    fn slug_encodings_route_to_same_address(slug in slug(), choose in prop::collection::vec(any::<bool>(), 1..20)) {
        let router = router();
        let (plain, _) = router.route(&format!("wiki://{slug}")).unwrap();
        prop_assert_eq!(plain.variable("slug"), Some(slug.as_str()));
        for uri in [format!("wiki:///{slug}"), format!("WIKI://{}", over_encode(&slug, &choose))] {
            let (address, _) = router.route(&uri).unwrap();
            prop_assert_eq!(&address, &plain);
            prop_assert_eq!(address.variables(), plain.variables());
        }
    }

    #[test]
    fn extra_encoding_does_not_change_address(a in id(), choose in prop::collection::vec(any::<bool>(), 1..20)) {
        let router = router();
        let (plain, _) = router.route(&format!("ids://one/{a}")).unwrap();
        let encoded = format!("ids://{}/{}", over_encode("one", &choose), over_encode(&a, &choose));
        let (address, _) = router.route(&encoded).unwrap();
        prop_assert_eq!(address.canonical(), plain.canonical());
        prop_assert_eq!(address.route(), plain.route());
    }

    #[test]
    fn any_string_routes_or_fails_cleanly(uri in any::<String>()) {
        check_routes_or_fails(&router(), &uri)?;
    }

    #[test]
    fn any_bytes_route_or_fail_cleanly(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let text = String::from_utf8_lossy(&bytes);
        check_routes_or_fails(&router(), &text)?;
        check_routes_or_fails(&router(), &format!("text://tail/{text}"))?;
        check_routes_or_fails(&router(), &format!("open://x?{text}"))?;
    }

    #[test]
    fn near_misses_route_or_fail_cleanly(uri in scrambled_uri()) {
        check_routes_or_fails(&router(), &uri)?;
    }

    #[test]
    fn parsed_templates_round_trip(source in prop_oneof![any::<String>(), "a://[a-c{}/?+,]{0,20}"]) {
        if let Ok(template) = Template::parse(&source) {
            let variables: Variables = template.variables().map(|name| (name, "value")).collect();
            let mut router = Router::new();
            router.add(RouteSpec::new(template.clone()), ()).unwrap();
            let (address, ()) = router.route(&template.expand(&variables).unwrap()).unwrap();
            prop_assert_eq!(address.variables(), &variables);
        }
    }

    #[test]
    fn closest_is_first_of_closest_few(
        word in any::<String>(),
        candidates in prop::collection::vec("[a-d]{0,5}", 0..8),
    ) {
        let candidates = candidates.iter().map(String::as_str);
        let few = closest_few(&word, candidates.clone());
        prop_assert_eq!(closest(&word, candidates), few.first().copied());
        prop_assert!(few.len() <= 3);
    }
}

/// Hostile input gets a short error. The length limit and the single pass bound the time; a benchmark
/// measures it.
#[test]
fn rejects_hostile_input_with_short_error() {
    let router = router();
    for uri in [
        "/".repeat(200_000),
        format!("ids://{}", "/".repeat(8_000)),
        format!("ids://{}", "one/".repeat(2_000)),
        format!("open://x?{}", "a&".repeat(4_000)),
        format!("open://x?{}", (0..1_000).map(|n| format!("k{n}=&")).collect::<String>()),
        format!("ids://{}", "%".repeat(8_000)),
        format!("ids://one/{}", "%2F".repeat(2_500)),
        format!("{}://x", "a".repeat(8_000)),
        format!("ids://one/x?{}", "k".repeat(8_000)),
        "ids://one/%ff".to_owned(),
        "ids://one/a\0b".to_owned(),
    ] {
        let error = router.route(&uri).unwrap_err();
        let message = error.to_string();
        assert!(message.len() < 400 && !message.contains(char::is_control), "{message}");
    }
}
