//! The built-in packages: the core and the nine official plugins.

use std::sync::{Arc, OnceLock};

use super::package::Package;

/// A built-in package. Parsed on first use: a server without a project needs few of them.
struct BuiltinPackage {
    name: &'static str,
    file: &'static str,
    text: &'static str,
    package: OnceLock<Option<Arc<Package>>>,
}

/// In the order in which npm merges them.
static PACKAGES: [BuiltinPackage; 10] = [
    BuiltinPackage::new("core", "core.toml", include_str!("../../catalogue/core.toml")),
    BuiltinPackage::new(
        "@refrakt-md/marketing",
        "marketing.toml",
        include_str!("../../catalogue/marketing.toml"),
    ),
    BuiltinPackage::new("@refrakt-md/docs", "docs.toml", include_str!("../../catalogue/docs.toml")),
    BuiltinPackage::new(
        "@refrakt-md/storytelling",
        "storytelling.toml",
        include_str!("../../catalogue/storytelling.toml"),
    ),
    BuiltinPackage::new("@refrakt-md/places", "places.toml", include_str!("../../catalogue/places.toml")),
    BuiltinPackage::new(
        "@refrakt-md/business",
        "business.toml",
        include_str!("../../catalogue/business.toml"),
    ),
    BuiltinPackage::new("@refrakt-md/design", "design.toml", include_str!("../../catalogue/design.toml")),
    BuiltinPackage::new(
        "@refrakt-md/learning",
        "learning.toml",
        include_str!("../../catalogue/learning.toml"),
    ),
    BuiltinPackage::new("@refrakt-md/media", "media.toml", include_str!("../../catalogue/media.toml")),
    BuiltinPackage::new("@refrakt-md/plan", "plan.toml", include_str!("../../catalogue/plan.toml")),
];

impl BuiltinPackage {
    const fn new(name: &'static str, file: &'static str, text: &'static str) -> BuiltinPackage {
        BuiltinPackage { name, file, text, package: OnceLock::new() }
    }

    /// `None` if the built-in file does not parse. Tests parse every file, so a release never has one.
    fn package(&self) -> Option<&Arc<Package>> {
        let parse = || Package::parse(self.file, self.text, self.file).ok().map(Arc::new);
        self.package.get_or_init(parse).as_ref()
    }
}

/// All built-in packages, the core first.
pub fn packages() -> impl Iterator<Item = &'static Arc<Package>> {
    PACKAGES.iter().filter_map(BuiltinPackage::package)
}

/// The built-in package with this name.
pub fn package(name: &str) -> Option<&'static Arc<Package>> {
    PACKAGES.iter().find(|builtin| builtin.name == name)?.package()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_builtin_file_parses() {
        for builtin in &PACKAGES {
            let package = Package::parse(builtin.file, builtin.text, builtin.file)
                .unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(package.name, builtin.name);
            assert_eq!(super::package(builtin.name).map(|package| package.name.as_str()), Some(builtin.name));
        }
        assert_eq!(packages().count(), PACKAGES.len());
    }

    #[test]
    fn every_builtin_rune_has_description_and_example() {
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
