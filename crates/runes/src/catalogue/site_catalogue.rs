//! Merges packages into the catalogue of one site.
//!
//! The core comes first, then the plugins in the order of the configuration, then the project's own runes. A plugin's
//! rune replaces the core's rune of the same name; a local rune replaces both. If two plugins have the same rune, the
//! first one wins, unless the site's configuration prefers the other. Problems are returned beside the catalogue.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use indexmap::IndexMap;
use quad_address::closest_few;

use super::attribute::Attribute;
use super::engine_config::EngineConfig;
use super::names::{is_rune_name, kebab_case, pascal_case};
use super::package::{Package, Preset, Rune, merged_attributes};
use super::{CORE, LOCAL, PREFER_CORE, builtin};

/// What a site's configuration says about runes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunePreferences {
    /// Rune → package to take it from; [`PREFER_CORE`] for the core.
    pub prefer: Vec<(String, String)>,
    /// Additional name → rune.
    pub aliases: Vec<(String, String)>,
}

/// A problem of the site's configuration or of its packages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeProblem {
    /// The rune, alias or preset.
    pub name: String,
    /// One sentence.
    pub message: String,
}

/// Every rune of one site.
#[derive(Clone, Debug)]
pub struct Catalogue {
    packages: Vec<Arc<Package>>,
    /// Rune → index of its package.
    runes: IndexMap<String, usize>,
    aliases: HashMap<String, String>,
    engine_configs: IndexMap<String, EngineConfig>,
    /// `data-rune` → index in `engine_configs`.
    engine_config_indices: HashMap<String, usize>,
}

/// A rune name that does not exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRune {
    /// The requested name.
    pub name: String,
    /// Up to three similar names.
    pub nearest: Vec<String>,
    /// An official package that has the rune but is not part of this catalogue.
    pub available_in: Option<String>,
}

impl fmt::Display for UnknownRune {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "there is no rune called {}", self.name)
    }
}

impl std::error::Error for UnknownRune {}

impl UnknownRune {
    /// What the caller can do.
    pub fn hint(&self) -> String {
        match (&self.available_in, self.nearest.as_slice()) {
            (Some(package), _) => {
                format!(
                    "add {package}, which has it, to the site's plugins, or read refrakt://runes for all runes"
                )
            }
            (None, []) => "read refrakt://runes for all runes".into(),
            (None, near) => {
                format!("did you mean {}? Read refrakt://runes for all runes", near.join(" or "))
            }
        }
    }
}

impl Catalogue {
    /// The catalogue of the core alone.
    pub fn core() -> Catalogue {
        Catalogue::merge(&[], &RunePreferences::default()).0
    }

    /// The catalogue of the core and the nine official plugins.
    pub fn all_builtin() -> Catalogue {
        let plugins: Vec<_> = builtin::packages().filter(|package| package.name != CORE).cloned().collect();
        Catalogue::merge(&plugins, &RunePreferences::default()).0
    }

    /// Merges the core and packages, in their order.
    pub fn merge(plugins: &[Arc<Package>], preferences: &RunePreferences) -> (Catalogue, Vec<MergeProblem>) {
        let mut problems = Vec::new();
        let packages: Vec<Arc<Package>> =
            builtin::package(CORE).into_iter().chain(plugins).cloned().collect();
        let preferred: HashMap<&str, &str> =
            preferences.prefer.iter().map(|(rune, package)| (rune.as_str(), package.as_str())).collect();

        let mut runes: IndexMap<String, usize> = IndexMap::new();
        for (index, package) in packages.iter().enumerate() {
            for name in package.runes.keys() {
                let Some(&provider_index) = runes.get(name) else {
                    runes.insert(name.clone(), index);
                    continue;
                };
                let provider = &packages[provider_index].name;
                let wins = match preferred.get(name.as_str()) {
                    Some(&PREFER_CORE) => provider != CORE,
                    Some(&preferred) => preferred == package.name,
                    None if provider == CORE || package.name == LOCAL => true,
                    None => {
                        let message = format!(
                            "both {provider} and {} have a rune called {name}; choose one in `runes.prefer`",
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
        for (rune, package) in &preferences.prefer {
            let package_name = if package == PREFER_CORE { CORE } else { package.as_str() };
            let provides_rune = |candidate: &&Arc<Package>| {
                candidate.name == package_name && candidate.runes.contains_key(rune)
            };
            if !packages.iter().any(|candidate| provides_rune(&candidate)) {
                let message = format!("`runes.prefer` names {rune} of {package}, which does not have it");
                problems.push(MergeProblem { name: rune.clone(), message });
            }
        }

        let mut catalogue = Catalogue {
            packages,
            runes,
            aliases: HashMap::new(),
            engine_configs: IndexMap::new(),
            engine_config_indices: HashMap::new(),
        };
        catalogue.collect_aliases(preferences, &mut problems);
        catalogue.merge_engine_configs();
        for rune in catalogue.runes() {
            if let Some(preset) = rune.preset.as_ref().filter(|_| catalogue.preset_of(rune).is_none()) {
                let message = format!(
                    "rune {} of {} uses preset {preset}, which does not exist",
                    rune.name, rune.package
                );
                problems.push(MergeProblem { name: preset.clone(), message });
            }
        }
        (catalogue, problems)
    }

    fn collect_aliases(&mut self, preferences: &RunePreferences, problems: &mut Vec<MergeProblem>) {
        let declared: Vec<(String, String)> = self
            .runes()
            .flat_map(|rune| rune.aliases.iter().map(|alias| (alias.clone(), rune.name.clone())))
            .collect();
        for (alias, rune) in declared {
            if !self.runes.contains_key(&alias) {
                self.aliases.entry(alias).or_insert(rune);
            }
        }
        for (alias, rune) in &preferences.aliases {
            let message = if !is_rune_name(alias) {
                format!(
                    "`{alias}` cannot be an alias: use lower-case letters, digits and hyphens, and start with a letter"
                )
            } else if self.runes.contains_key(alias) {
                format!("the alias {alias} hides the rune of that name")
            } else if !self.runes.contains_key(rune) {
                format!("the alias {alias} points to {rune}, which does not exist")
            } else {
                self.aliases.insert(alias.clone(), rune.clone());
                continue;
            };
            problems.push(MergeProblem { name: alias.clone(), message });
        }
    }

    fn merge_engine_configs(&mut self) {
        for package in &self.packages {
            for (name, config) in &package.engine {
                let merged = match self.engine_configs.get(name) {
                    Some(base) => base.merged_with(config),
                    None => config.clone(),
                };
                self.engine_configs.insert(name.clone(), merged);
            }
        }
        for (index, name) in self.engine_configs.keys().enumerate() {
            let rune = kebab_case(name);
            // Several types may have one kebab case (`FAQList`, `Faqlist`): the one in Pascal case wins, then the first.
            if pascal_case(&rune) == *name || !self.engine_config_indices.contains_key(&rune) {
                self.engine_config_indices.insert(rune, index);
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

    /// The rune with a name or an alias. Case-sensitive, as in documents.
    pub fn rune(&self, name: &str) -> Result<&Rune, UnknownRune> {
        self.find_rune(name).ok_or_else(|| self.unknown_rune(name))
    }

    /// The rune that a caller asks for: like [`Catalogue::rune`], or else the only one with this name in another case
    /// or with other separators.
    pub fn requested_rune(&self, name: &str) -> Result<&Rune, UnknownRune> {
        if let Some(rune) = self.find_rune(name) {
            return Ok(rune);
        }
        let fold = |text: &str| text.trim().to_lowercase().replace(['_', ' '], "-");
        let wanted = fold(name);
        let names = self.runes.keys().chain(self.aliases.keys());
        let mut similar =
            names.filter(|known| fold(known) == wanted).filter_map(|known| self.find_rune(known));
        match (similar.next(), similar.next()) {
            (Some(rune), None) => Ok(rune),
            _ => Err(self.unknown_rune(name)),
        }
    }

    /// Like [`Catalogue::rune`], without the search for similar names.
    pub fn find_rune(&self, name: &str) -> Option<&Rune> {
        let canonical = self.aliases.get(name).map_or(name, String::as_str);
        self.runes.get(canonical).and_then(|&package| self.packages[package].runes.get(canonical))
    }

    fn unknown_rune(&self, name: &str) -> UnknownRune {
        let known_names = self.runes.keys().chain(self.aliases.keys()).map(String::as_str);
        let available_in = builtin::packages().find(|package| {
            let has_rune = package
                .runes
                .values()
                .any(|rune| rune.name == name || rune.aliases.iter().any(|a| a == name));
            has_rune && !self.packages.iter().any(|installed| installed.name == package.name)
        });
        UnknownRune {
            name: name.to_owned(),
            nearest: closest_few(name, known_names).into_iter().map(str::to_owned).collect(),
            available_in: available_in.map(|package| package.name.clone()),
        }
    }

    /// Engine configuration by type, in the order of the packages.
    pub fn engine_configs(&self) -> &IndexMap<String, EngineConfig> {
        &self.engine_configs
    }

    /// Engine configuration of a rune; `None` for the few that leave no element of their own.
    pub fn engine_config_of(&self, rune: &Rune) -> Option<&EngineConfig> {
        self.engine_configs.get(&rune.type_name)
    }

    /// Engine configuration of an element by its `data-rune`, with the name as the catalogue holds it.
    pub(crate) fn engine_config_by_data_rune(&self, rune: &str) -> Option<(&str, &EngineConfig)> {
        let (rune, &index) = self.engine_config_indices.get_key_value(rune)?;
        self.engine_configs.get_index(index).map(|(_, config)| (rune.as_str(), config))
    }

    /// The universal attributes.
    pub fn universal_attributes(&self) -> impl Iterator<Item = (&str, &Attribute)> {
        let core = self.packages.iter().find(|package| package.name == CORE);
        core.into_iter().flat_map(|core| &core.universal).map(|(name, attribute)| (name.as_str(), attribute))
    }

    /// The preset of a rune: of its own package, or of the core.
    pub fn preset_of(&self, rune: &Rune) -> Option<&Preset> {
        let name = rune.preset.as_ref()?;
        let own = self.packages.iter().find(|package| package.name == rune.package);
        let core = self.packages.iter().find(|package| package.name == CORE);
        own.into_iter().chain(core).find_map(|package| package.presets.get(name))
    }

    /// An attribute of a rune: its own, its preset's, or a universal one.
    pub fn attribute<'a>(&'a self, rune: &'a Rune, name: &str) -> Option<&'a Attribute> {
        let own = merged_attributes(rune, self.preset_of(rune)).get(name).copied();
        own.or_else(|| {
            let universal = rune
                .universal
                .then(|| self.universal_attributes().find(|(attribute_name, _)| *attribute_name == name));
            universal.flatten().map(|(_, attribute)| attribute)
        })
    }

    /// Attributes of a rune without the universal ones: its preset's, then its own.
    pub fn own_attributes<'a>(&'a self, rune: &'a Rune) -> IndexMap<&'a str, &'a Attribute> {
        merged_attributes(rune, self.preset_of(rune))
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
        let preferences = RunePreferences { prefer: pairs(prefer), aliases: pairs(aliases) };
        let (catalogue, problems) = Catalogue::merge(plugins, &preferences);
        (catalogue, problems.into_iter().map(|problem| problem.message).collect())
    }

    #[test]
    fn builtin_catalogue_has_no_merge_problems() {
        let plugins: Vec<_> = builtin::packages().skip(1).cloned().collect();
        let (catalogue, problems) = Catalogue::merge(&plugins, &RunePreferences::default());
        assert_eq!(problems, []);
        assert_eq!(catalogue.runes().count(), 127);
        assert_eq!(catalogue.engine_configs().len(), 132);
        assert_eq!(Catalogue::core().runes().count(), 60);
        assert_eq!(Catalogue::core().engine_configs().len(), 62);
    }

    #[test]
    fn runes_are_found_by_name_and_alias() {
        let catalogue = Catalogue::all_builtin();
        let check =
            |name: &str, expect: &str| assert_eq!(catalogue.rune(name).unwrap().name, expect, "{name}");
        check("hint", "hint");
        check("callout", "hint");
        check("faq", "accordion");
        check("music-playlist", "music-playlist");
        check("ref", "xref");
    }

    #[test]
    fn unknown_rune_hint_has_nearest_names_or_package() {
        let core = Catalogue::core();
        let near = core.rune("hitn").unwrap_err();
        assert_eq!(near.hint(), "did you mean hint? Read refrakt://runes for all runes");
        let available_in = core.rune("hero").unwrap_err();
        assert_eq!(
            available_in.hint(),
            "add @refrakt-md/marketing, which has it, to the site's plugins, or read refrakt://runes for all runes"
        );
        assert_eq!(core.rune("--list").unwrap_err().hint(), "read refrakt://runes for all runes");
        assert!(core.rune("Hint").is_err(), "case counts");
        assert_eq!(core.requested_rune("Hint").unwrap().name, "hint");
        assert!(core.requested_rune("hitn").is_err());
    }

    #[test]
    fn plugin_overrides_core_and_local_overrides_both() {
        let plugin = package("plugin", &rune("hint"));
        let local = package(LOCAL, &rune("hint"));
        assert_eq!(merge(std::slice::from_ref(&plugin), &[], &[]).0.rune("hint").unwrap().package, "plugin");
        let (catalogue, problems) = merge(&[plugin.clone(), local], &[], &[]);
        assert_eq!((catalogue.rune("hint").unwrap().package.as_str(), problems.len()), ("local", 0));
        let (catalogue, problems) = merge(&[plugin], &[("hint", PREFER_CORE)], &[]);
        assert_eq!((catalogue.rune("hint").unwrap().package.as_str(), problems.len()), ("core", 0));
    }

    #[test]
    fn duplicate_plugin_rune_is_a_problem_without_preference() {
        let plugins = [package("one", &rune("berth")), package("two", &rune("berth"))];
        let (catalogue, problems) = merge(&plugins, &[], &[]);
        assert_eq!(catalogue.rune("berth").unwrap().package, "one");
        assert_eq!(problems, ["both one and two have a rune called berth; choose one in `runes.prefer`"]);
        let (catalogue, problems) = merge(&plugins, &[("berth", "two")], &[]);
        assert_eq!((catalogue.rune("berth").unwrap().package.as_str(), problems.len()), ("two", 0));
        let (catalogue, problems) = merge(&plugins, &[("berth", "one")], &[]);
        assert_eq!((catalogue.rune("berth").unwrap().package.as_str(), problems.len()), ("one", 0));
    }

    #[test]
    fn preferences_for_unknown_names_are_problems() {
        let (catalogue, problems) = merge(
            &[],
            &[("hint", "@no/such")],
            &[("tip", "hint"), ("card", "hint"), ("tap", "nothing"), ("A B", "hint")],
        );
        assert_eq!(catalogue.rune("tip").unwrap().name, "hint");
        assert_eq!(
            problems,
            [
                "`runes.prefer` names hint of @no/such, which does not have it",
                "the alias card hides the rune of that name",
                "the alias tap points to nothing, which does not exist",
                "`A B` cannot be an alias: use lower-case letters, digits and hyphens, and start with a letter",
            ]
        );
    }

    #[test]
    fn plugin_engine_config_is_merged_over_core() {
        let plugin = package("plugin", "[engine.Hint]\ndefault-density = 'full'\n");
        let (catalogue, _) = merge(&[plugin], &[], &[]);
        let hint = &catalogue.engine_configs()["Hint"];
        assert_eq!((hint.default_density.as_deref(), hint.modifiers.len()), (Some("full"), 1));
    }
}
