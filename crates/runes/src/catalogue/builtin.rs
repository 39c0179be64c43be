//! The packages that are built in: the core and the nine official plugins.

use std::sync::{Arc, OnceLock};

use super::package::Package;

/// Name and text of each file, in the order in which the original merges them.
const FILES: [(&str, &str); 10] = [
    ("core.toml", include_str!("../../catalogue/core.toml")),
    ("marketing.toml", include_str!("../../catalogue/marketing.toml")),
    ("docs.toml", include_str!("../../catalogue/docs.toml")),
    ("storytelling.toml", include_str!("../../catalogue/storytelling.toml")),
    ("places.toml", include_str!("../../catalogue/places.toml")),
    ("business.toml", include_str!("../../catalogue/business.toml")),
    ("design.toml", include_str!("../../catalogue/design.toml")),
    ("learning.toml", include_str!("../../catalogue/learning.toml")),
    ("media.toml", include_str!("../../catalogue/media.toml")),
    ("plan.toml", include_str!("../../catalogue/plan.toml")),
];

/// All of them, the core first. Read once; a file that does not parse is a fault of ours that the tests find, and is left
/// out rather than taking the server down.
pub fn packages() -> &'static [Arc<Package>] {
    static PACKAGES: OnceLock<Vec<Arc<Package>>> = OnceLock::new();
    PACKAGES.get_or_init(|| {
        FILES
            .iter()
            .filter_map(|(file, source)| Package::parse(file, source, file).ok().map(Arc::new))
            .collect()
    })
}

/// The built-in package of a name.
pub fn package(name: &str) -> Option<Arc<Package>> {
    packages().iter().find(|package| package.name == name).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_parses() {
        for (file, source) in FILES {
            if let Err(error) = Package::parse(file, source, file) {
                panic!("{error}");
            }
        }
        assert_eq!(packages().len(), FILES.len());
    }

    #[test]
    fn every_rune_is_described_and_shown() {
        let runes: Vec<_> = packages().iter().flat_map(|package| package.runes.values()).collect();
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
