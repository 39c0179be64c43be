//! The packages that are built in: the core and the nine official plugins.

use std::sync::{Arc, OnceLock};

use super::package::Package;

/// A package that is built in: read when it is asked for, since a server that shows no project asks for few.
struct BuiltIn {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    package: OnceLock<Option<Arc<Package>>>,
}

/// In the order in which the original merges them.
static ALL: [BuiltIn; 10] = [
    BuiltIn::new("core", "core.toml", include_str!("../../catalogue/core.toml")),
    BuiltIn::new("@refrakt-md/marketing", "marketing.toml", include_str!("../../catalogue/marketing.toml")),
    BuiltIn::new("@refrakt-md/docs", "docs.toml", include_str!("../../catalogue/docs.toml")),
    BuiltIn::new(
        "@refrakt-md/storytelling",
        "storytelling.toml",
        include_str!("../../catalogue/storytelling.toml"),
    ),
    BuiltIn::new("@refrakt-md/places", "places.toml", include_str!("../../catalogue/places.toml")),
    BuiltIn::new("@refrakt-md/business", "business.toml", include_str!("../../catalogue/business.toml")),
    BuiltIn::new("@refrakt-md/design", "design.toml", include_str!("../../catalogue/design.toml")),
    BuiltIn::new("@refrakt-md/learning", "learning.toml", include_str!("../../catalogue/learning.toml")),
    BuiltIn::new("@refrakt-md/media", "media.toml", include_str!("../../catalogue/media.toml")),
    BuiltIn::new("@refrakt-md/plan", "plan.toml", include_str!("../../catalogue/plan.toml")),
];

impl BuiltIn {
    const fn new(name: &'static str, file: &'static str, text: &'static str) -> BuiltIn {
        BuiltIn { name, file, text, package: OnceLock::new() }
    }

    /// A file that does not parse is a fault of ours that the tests find, and is left out rather than taking the server down.
    fn package(&self) -> Option<&Arc<Package>> {
        let parse = || Package::parse(self.file, self.text, self.file).ok().map(Arc::new);
        self.package.get_or_init(parse).as_ref()
    }
}

/// All of them, the core first.
pub fn packages() -> impl Iterator<Item = &'static Arc<Package>> {
    ALL.iter().filter_map(BuiltIn::package)
}

/// The built-in package of a name.
pub fn package(name: &str) -> Option<&'static Arc<Package>> {
    ALL.iter().find(|known| known.name == name)?.package()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses() {
        for known in &ALL {
            let package =
                Package::parse(known.file, known.text, known.file).unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(package.name, known.name);
            assert_eq!(super::package(known.name).map(|package| package.name.as_str()), Some(known.name));
        }
        assert_eq!(packages().count(), ALL.len());
    }

    #[test]
    fn every_rune_is_described_and_shown() {
        let runes: Vec<_> = packages().flat_map(|package| package.runes.values()).collect();
        assert_eq!(runes.len(), 127);
        for rune in runes {
            assert!(!rune.description.is_empty(), "{}", rune.name);
            assert!(rune.example.is_some(), "{} has no example", rune.name);
            for (name, attribute) in &rune.attributes {
                assert!(!attribute.description.is_empty(), "{} {name}", rune.name);
            }
        }
    }
}
