//! Joining packages into the catalogue of one site.
//!
//! The core comes first, then the plugins in the order of the configuration, then the project's own runes. A plugin's rune
//! beats the core's of the same name, a local one beats both. Two plugins with one name are a problem: the first keeps it
//! unless the site's rules prefer the other. Problems are reported beside the catalogue, never instead of it.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use quad_address::nearest_few;

use super::attribute::Attribute;
use super::engine::{EngineConfig, Ordered};
use super::names::is_rune_name;
use super::package::{Package, Preset, Rune, joined_attributes};
use super::{CORE, LOCAL, PREFER_CORE, builtin};

/// What a site's configuration says about its runes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RuneRules {
    /// Rune → package whose version is used; [`PREFER_CORE`] for the core's.
    pub prefer: Vec<(String, String)>,
    /// Further name → rune.
    pub aliases: Vec<(String, String)>,
}

/// Something that the rules or the packages get wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeProblem {
    /// Rune, alias or preset that it is about.
    pub name: String,
    /// One sentence.
    pub message: String,
}

/// Every rune of one site.
#[derive(Clone, Debug)]
pub struct Catalogue {
    packages: Vec<Arc<Package>>,
    /// Rune → package that provides it.
    runes: IndexMap<String, usize>,
    aliases: HashMap<String, String>,
    engine: Ordered<EngineConfig>,
}

/// A name that no rune has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRune {
    /// The name that was asked for.
    pub name: String,
    /// Up to three names that it resembles.
    pub nearest: Vec<String>,
    /// Official package that has such a rune but is not used here.
    pub elsewhere: Option<String>,
}

impl fmt::Display for UnknownRune {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is no rune called {}", self.name)
    }
}

impl std::error::Error for UnknownRune {}

impl UnknownRune {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match (&self.elsewhere, self.nearest.as_slice()) {
            (Some(package), _) => format!("{package} has it; add it to the site's plugins"),
            (None, []) => "refrakt://runes lists them all".into(),
            (None, near) => format!("did you mean {}?", near.join(", ")),
        }
    }
}

impl Catalogue {
    /// The core alone.
    pub fn core() -> Catalogue {
        Catalogue::merge(&[], &RuneRules::default()).0
    }

    /// The core and the nine official plugins.
    pub fn official() -> Catalogue {
        let plugins: Vec<_> = builtin::packages().filter(|package| package.name != CORE).cloned().collect();
        Catalogue::merge(&plugins, &RuneRules::default()).0
    }

    /// Joins the core with packages, in their order.
    pub fn merge(plugins: &[Arc<Package>], rules: &RuneRules) -> (Catalogue, Vec<MergeProblem>) {
        let mut problems = Vec::new();
        let packages: Vec<Arc<Package>> =
            builtin::package(CORE).into_iter().chain(plugins).cloned().collect();
        let preferred: HashMap<&str, &str> =
            rules.prefer.iter().map(|(rune, package)| (rune.as_str(), package.as_str())).collect();

        let mut runes: IndexMap<String, usize> = IndexMap::new();
        for (index, package) in packages.iter().enumerate() {
            for name in package.runes.keys() {
                let Some(&holder) = runes.get(name) else {
                    runes.insert(name.clone(), index);
                    continue;
                };
                let holder = &packages[holder].name;
                let wins = match preferred.get(name.as_str()) {
                    Some(&PREFER_CORE) => holder != CORE,
                    Some(&preferred) => preferred == package.name,
                    None if holder == CORE || package.name == LOCAL => true,
                    None => {
                        let message = format!(
                            "both {holder} and {} have a rune called {name}; say which under `runes.prefer`",
                            package.name
                        );
                        problems.push(MergeProblem { name: name.clone(), message });
                        false
                    }
                };
                if wins {
                    runes.insert(name.clone(), index);
                }
            }
        }
        for (rune, package) in &rules.prefer {
            let wanted = if package == PREFER_CORE { CORE } else { package.as_str() };
            let provides = |one: &&Arc<Package>| one.name == wanted && one.runes.contains_key(rune);
            if !packages.iter().any(|one| provides(&one)) {
                let message = format!("`runes.prefer` asks for {rune} of {package}, which has none");
                problems.push(MergeProblem { name: rune.clone(), message });
            }
        }

        let mut catalogue = Catalogue { packages, runes, aliases: HashMap::new(), engine: Ordered::new() };
        catalogue.collect_aliases(rules, &mut problems);
        catalogue.collect_engine();
        for rune in catalogue.runes() {
            if let Some(preset) = rune.preset.as_ref().filter(|_| catalogue.preset_of(rune).is_none()) {
                let message = format!(
                    "rune {} of {} uses preset {preset}, which is not there",
                    rune.name, rune.package
                );
                problems.push(MergeProblem { name: preset.clone(), message });
            }
        }
        (catalogue, problems)
    }

    fn collect_aliases(&mut self, rules: &RuneRules, problems: &mut Vec<MergeProblem>) {
        let own: Vec<(String, String)> = self
            .runes()
            .flat_map(|rune| rune.aliases.iter().map(|alias| (alias.clone(), rune.name.clone())))
            .collect();
        for (alias, rune) in own {
            if !self.runes.contains_key(&alias) {
                self.aliases.entry(alias).or_insert(rune);
            }
        }
        for (alias, rune) in &rules.aliases {
            let message = if !is_rune_name(alias) {
                format!("`{alias}` cannot be an alias: small letters, digits and hyphens, a letter first")
            } else if self.runes.contains_key(alias) {
                format!("the alias {alias} hides the rune of that name")
            } else if !self.runes.contains_key(rune) {
                format!("the alias {alias} stands for {rune}, which is no rune")
            } else {
                self.aliases.insert(alias.clone(), rune.clone());
                continue;
            };
            problems.push(MergeProblem { name: alias.clone(), message });
        }
    }

    fn collect_engine(&mut self) {
        for package in &self.packages {
            for (name, config) in &package.engine {
                let joined = match self.engine.get(name) {
                    Some(base) => base.overlaid(config),
                    None => config.clone(),
                };
                self.engine.insert(name.clone(), joined);
            }
        }
    }

    /// The packages, the core first.
    pub fn packages(&self) -> &[Arc<Package>] {
        &self.packages
    }

    /// Every rune, in the order of the packages.
    pub fn runes(&self) -> impl Iterator<Item = &Rune> {
        self.runes.iter().filter_map(|(name, &package)| self.packages[package].runes.get(name))
    }

    /// The rune of a name or an alias. Case counts, as in a document.
    pub fn rune(&self, name: &str) -> Result<&Rune, UnknownRune> {
        self.find(name).ok_or_else(|| self.unknown(name))
    }

    /// The same without a word about names that are not there, which costs a search.
    pub fn find(&self, name: &str) -> Option<&Rune> {
        let canonical = self.aliases.get(name).map_or(name, String::as_str);
        self.runes.get(canonical).and_then(|&package| self.packages[package].runes.get(canonical))
    }

    fn unknown(&self, name: &str) -> UnknownRune {
        let known = self.runes.keys().chain(self.aliases.keys()).map(String::as_str);
        let elsewhere = builtin::packages().find(|package| {
            let has = package
                .runes
                .values()
                .any(|rune| rune.name == name || rune.aliases.iter().any(|a| a == name));
            has && !self.packages.iter().any(|mine| mine.name == package.name)
        });
        UnknownRune {
            name: name.to_owned(),
            nearest: nearest_few(name, known).into_iter().map(str::to_owned).collect(),
            elsewhere: elsewhere.map(|package| package.name.clone()),
        }
    }

    /// What the engine does, by type, in the order of the packages.
    pub fn engine(&self) -> &Ordered<EngineConfig> {
        &self.engine
    }

    /// What the engine does with a rune; `None` for the few that leave no element of their own.
    pub fn engine_of(&self, rune: &Rune) -> Option<&EngineConfig> {
        self.engine.get(&rune.type_name)
    }

    /// Attributes that every rune has.
    pub fn universal(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        let core = self.packages.iter().find(|package| package.name == CORE);
        core.into_iter().flat_map(|core| &core.universal).map(|(name, attribute)| (name.as_str(), attribute))
    }

    /// The preset that a rune uses: of its own package, or of the core.
    pub fn preset_of(&self, rune: &Rune) -> Option<&Preset> {
        let name = rune.preset.as_ref()?;
        let own = self.packages.iter().find(|package| package.name == rune.package);
        let core = self.packages.iter().find(|package| package.name == CORE);
        own.into_iter().chain(core).find_map(|package| package.presets.get(name))
    }

    /// An attribute of a rune: its own, its preset's, or one that every rune has.
    pub fn attribute<'a>(&'a self, rune: &'a Rune, name: &str) -> Option<&'a Attribute> {
        let own = joined_attributes(rune, self.preset_of(rune)).get(name).copied();
        own.or_else(|| {
            let universal = rune.universal.then(|| self.universal().find(|(known, _)| *known == name));
            universal.flatten().map(|(_, attribute)| attribute)
        })
    }

    /// Attributes of a rune, the universal ones aside: its preset's, then its own.
    pub fn own_attributes<'a>(&'a self, rune: &'a Rune) -> IndexMap<&'a str, &'a Attribute> {
        joined_attributes(rune, self.preset_of(rune))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package(name: &str, source: &str) -> Arc<Package> {
        Arc::new(Package::parse("f.toml", source, name).unwrap())
    }

    fn rune(name: &str) -> String {
        format!("[runes.{name}]\ndescription = 'x'\n")
    }

    fn merge(
        plugins: &[Arc<Package>],
        prefer: &[(&str, &str)],
        aliases: &[(&str, &str)],
    ) -> (Catalogue, Vec<String>) {
        let pairs =
            |pairs: &[(&str, &str)]| pairs.iter().map(|&(a, b)| (a.to_owned(), b.to_owned())).collect();
        let rules = RuneRules { prefer: pairs(prefer), aliases: pairs(aliases) };
        let (catalogue, problems) = Catalogue::merge(plugins, &rules);
        (catalogue, problems.into_iter().map(|problem| problem.message).collect())
    }

    #[test]
    fn the_official_catalogue_has_no_problems() {
        let plugins: Vec<_> = builtin::packages().skip(1).cloned().collect();
        let (catalogue, problems) = Catalogue::merge(&plugins, &RuneRules::default());
        assert_eq!(problems, []);
        assert_eq!(catalogue.runes().count(), 127);
        assert_eq!(catalogue.engine().len(), 132);
        assert_eq!(Catalogue::core().runes().count(), 60);
        assert_eq!(Catalogue::core().engine().len(), 62);
    }

    #[test]
    fn names_and_aliases_lead_to_runes() {
        let catalogue = Catalogue::official();
        let check =
            |name: &str, expect: &str| assert_eq!(catalogue.rune(name).unwrap().name, expect, "{name}");
        check("hint", "hint");
        check("callout", "hint");
        check("faq", "accordion");
        check("music-playlist", "music-playlist");
        check("ref", "xref");
    }

    #[test]
    fn an_unknown_name_gets_the_nearest_or_its_package() {
        let core = Catalogue::core();
        let near = core.rune("hitn").unwrap_err();
        assert_eq!(near.hint(), "did you mean hint?");
        let elsewhere = core.rune("hero").unwrap_err();
        assert_eq!(elsewhere.hint(), "@refrakt-md/marketing has it; add it to the site's plugins");
        assert_eq!(core.rune("--list").unwrap_err().hint(), "refrakt://runes lists them all");
        assert!(core.rune("Hint").is_err(), "case counts");
    }

    #[test]
    fn a_plugin_beats_the_core_and_a_local_rune_beats_both() {
        let plugin = package("plugin", &rune("hint"));
        let local = package(LOCAL, &rune("hint"));
        assert_eq!(merge(std::slice::from_ref(&plugin), &[], &[]).0.rune("hint").unwrap().package, "plugin");
        let (catalogue, problems) = merge(&[plugin.clone(), local], &[], &[]);
        assert_eq!((catalogue.rune("hint").unwrap().package.as_str(), problems.len()), ("local", 0));
        let (catalogue, problems) = merge(&[plugin], &[("hint", PREFER_CORE)], &[]);
        assert_eq!((catalogue.rune("hint").unwrap().package.as_str(), problems.len()), ("core", 0));
    }

    #[test]
    fn two_plugins_with_one_name_are_a_problem_unless_one_is_preferred() {
        let plugins = [package("one", &rune("berth")), package("two", &rune("berth"))];
        let (catalogue, problems) = merge(&plugins, &[], &[]);
        assert_eq!(catalogue.rune("berth").unwrap().package, "one");
        assert_eq!(problems, ["both one and two have a rune called berth; say which under `runes.prefer`"]);
        let (catalogue, problems) = merge(&plugins, &[("berth", "two")], &[]);
        assert_eq!((catalogue.rune("berth").unwrap().package.as_str(), problems.len()), ("two", 0));
        let (catalogue, problems) = merge(&plugins, &[("berth", "one")], &[]);
        assert_eq!((catalogue.rune("berth").unwrap().package.as_str(), problems.len()), ("one", 0));
    }

    #[test]
    fn rules_that_name_nothing_are_problems() {
        let (catalogue, problems) = merge(
            &[],
            &[("hint", "@no/such")],
            &[("tip", "hint"), ("card", "hint"), ("tap", "nothing"), ("A B", "hint")],
        );
        assert_eq!(catalogue.rune("tip").unwrap().name, "hint");
        assert_eq!(
            problems,
            [
                "`runes.prefer` asks for hint of @no/such, which has none",
                "the alias card hides the rune of that name",
                "the alias tap stands for nothing, which is no rune",
                "`A B` cannot be an alias: small letters, digits and hyphens, a letter first",
            ]
        );
    }

    #[test]
    fn a_plugin_lays_its_engine_configuration_over_the_core() {
        let plugin = package("plugin", "[engine.Hint]\ndefault-density = 'full'\n");
        let (catalogue, _) = merge(&[plugin], &[], &[]);
        let hint = &catalogue.engine()["Hint"];
        assert_eq!((hint.default_density.as_deref(), hint.modifiers.len()), (Some("full"), 1));
    }
}
