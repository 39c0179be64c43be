//! Target `template`: an expanded template matches itself and gives back the values.
//!
//! The first line is the template. Each further line is the value of the next variable; a variable without a line is
//! absent.

use std::collections::BTreeSet;
use std::sync::Mutex;

use quad_address::{AddressError, Grammar, RouteSpec, Router, Template, Variables, limits};

/// Parses any bytes as a template and its values.
pub fn template(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let mut lines = text.split('\n');
    let source = lines.next().unwrap_or_default();
    let template = match Template::parse(source) {
        Ok(template) => template,
        Err(error) => {
            assert!(error.to_string().len() <= source.len() + 120, "{error}");
            return;
        }
    };
    assert_eq!(template.as_str(), source);
    assert_eq!(Template::parse(template.as_str()).as_ref(), Ok(&template));
    let names: Vec<String> = template.variables().map(str::to_owned).collect();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "a variable occurs twice");
    let values: Variables = names.iter().zip(lines).collect();
    let Ok(uri) = template.expand(&values) else { return };
    let Some(router) = router(template, &names) else { return };
    match router.route(&uri) {
        Ok((address, ())) => {
            assert_eq!(address.variables(), &values, "{source} {uri}");
            assert_eq!(address.canonical(), uri);
        }
        // Expansion does not check grammars, and free text has a maximum length.
        Err(AddressError::BadVariable { name, .. }) => {
            let value = values.get(&name).unwrap_or_default();
            assert!(value.len() > limits::TEXT_BYTES_MAX, "{source} {uri}: {name}");
        }
        Err(AddressError::TooManyKeys { max }) => assert!(values.len() > max, "{source} {uri}"),
        Err(error) => panic!("{source} expands to {uri}, which it does not match: {error}"),
    }
}

/// A router with this template only, in which every variable accepts any text. `None` if too many variable names have
/// been interned: a grammar needs a name with a static lifetime.
fn router(template: Template, names: &[String]) -> Option<Router<()>> {
    let mut spec = RouteSpec::new(template);
    for name in names {
        spec = spec.with_grammar(intern(name)?, Grammar::Text);
    }
    let mut router = Router::new();
    router.add(spec, ()).expect("a router rejected its only template");
    Some(router)
}

/// The name with a static lifetime.
fn intern(name: &str) -> Option<&'static str> {
    const NAMES_MAX: usize = 50_000;
    const NAME_BYTES_MAX: usize = 64;
    static INTERNED: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut interned = INTERNED.lock().ok()?;
    if let Some(existing) = interned.get(name) {
        return Some(existing);
    }
    if interned.len() >= NAMES_MAX || name.len() > NAME_BYTES_MAX {
        return None;
    }
    let new: &'static str = Box::leak(name.into());
    interned.insert(new);
    Some(new)
}
