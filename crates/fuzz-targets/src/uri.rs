//! Target `uri`: any text is an address or gives a short error.

use std::sync::OnceLock;

use quad_address::{Address, Grammar, RouteSpec, Router, limits};

const WORDS: &[&str] = &["fact", "skill"];

/// Templates of every form, similar to those of the real schemes.
fn router() -> &'static Router<&'static str> {
    static ROUTER: OnceLock<Router<&'static str>> = OnceLock::new();
    ROUTER.get_or_init(|| {
        let spec = |source: &str| RouteSpec::parse(source).unwrap();
        let text = Grammar::Text;
        let mut router = Router::new();
        for (spec, name) in [
            (spec("bkend://orgs"), "orgs"),
            (spec("bkend://orgs/{orgId}"), "org"),
            (spec("bkend://orgs/{orgId}/projects/{projectId}/environments/{envId}/tables"), "tables"),
            (spec("bkend://tables{/id}{?page,limit}").with_grammar("page", Grammar::Integer), "flat"),
            (
                spec("audit://events{?agent,uri,cursor}")
                    .with_grammar("agent", text)
                    .with_grammar("uri", text),
                "events",
            ),
            (spec("brain://wiki/{+slug}"), "wiki"),
            (spec("brain://wiki/pages/{+page}{?rev}"), "pages"),
            (
                spec("refrakt://rune/{name}{?site}").with_grammar("name", Grammar::Name).allow_extra_query(),
                "rune",
            ),
            (spec("refrakt://file/v{n}.json").with_grammar("n", Grammar::Integer), "file"),
            (spec("amem://types/{type}").with_grammar("type", Grammar::OneOfAnyCase(WORDS)), "types"),
            (spec("amem://types/fact"), "facts"),
            (spec("link://{+uri}").with_grammar("uri", text), "link"),
        ] {
            router.add(spec, name).unwrap();
        }
        router
    })
}

/// Parses any bytes as an address.
pub fn uri(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    match router().route(&text) {
        Ok((address, name)) => check_valid(&text, &address, name),
        Err(error) => {
            let (message, hint) = (error.to_string(), error.hint().unwrap_or_default());
            assert!(message.chars().count() < 240, "the error is too long: {message}");
            assert!(!message.contains(char::is_control) && !hint.contains(char::is_control));
        }
    }
}

/// Checks the properties of a valid address.
fn check_valid(text: &str, address: &Address, name: &str) {
    assert_eq!(address.requested(), text);
    let canonical = address.canonical();
    assert!(canonical.is_ascii() && canonical.len() <= limits::URI_BYTES_MAX, "{canonical}");
    assert!(!canonical.contains(['#', ' ', '\\', '{', '}', '"', '<', '>']), "{canonical}");
    assert!(canonical.starts_with(&format!("{}://", address.scheme())), "{canonical}");
    // Parsing the canonical form gives the same address.
    let (reparsed, reparsed_name) =
        router().route(canonical).unwrap_or_else(|error| panic!("{canonical}: {error}"));
    assert_eq!(reparsed.canonical(), canonical);
    assert_eq!((reparsed.route(), reparsed_name), (address.route(), &name));
    assert_eq!((reparsed.variables(), reparsed.extra_query()), (address.variables(), address.extra_query()));
    // No value is a path traversal or contains control characters.
    let (path, _) = canonical.split_once('?').unwrap_or((canonical, ""));
    let is_dot_segment = |part: &str| matches!(part, "." | "..");
    assert!(!path.split('/').any(is_dot_segment), "{canonical}");
    for (variable, value) in address.variables().iter().chain(address.extra_query().iter()) {
        assert!(!value.contains(char::is_control), "{variable}: {value:?}");
    }
    // The client chooses the names of extra query parameters, so only the template's own variables are checked.
    for (variable, value) in address.variables().iter() {
        if matches!(variable, "slug" | "page" | "name" | "orgId" | "projectId" | "envId" | "id") {
            assert!(!value.split(['/', '\\']).any(is_dot_segment), "{variable}: {value:?}");
        }
    }
}
