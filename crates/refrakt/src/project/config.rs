//! Parses `refrakt.config.json`, which has three shapes.
//!
//! Several sites are under `sites`, one under `site`, and old files have the keys of one site at the top. Errors are
//! reported with line and column; the valid parts are used.

use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::json_position::key_position;
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits::{PLUGINS_MAX, SITES_MAX};
use quad_runes::catalogue::{RunePreferences, line_and_column};

/// A parsed configuration.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// Whether the file is a JSON object. Otherwise the configuration is empty and has one problem.
    pub is_usable: bool,
    /// Its shape.
    pub shape: ConfigShape,
    /// The sites by name, in the order of the file.
    pub sites: IndexMap<String, SiteConfig>,
    /// `plan.dir`, if set.
    pub plan_dir: Option<String>,
    /// Plugins named at the top.
    pub plugins: Vec<String>,
    /// Whether the file has any list of plugins. If so, dependencies are not searched for plugins.
    pub has_plugin_list: bool,
    /// Errors and deprecated parts.
    pub problems: Vec<Diagnostic>,
}

/// The shape of a configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ConfigShape {
    /// No site at all.
    #[default]
    None,
    /// `sites`.
    Plural,
    /// `site`.
    Singular,
    /// The keys of one site at the top.
    Flat,
}

/// One site, as configured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SiteConfig {
    /// Packages of runes, in order.
    pub plugins: Vec<String>,
    /// Preferences and aliases.
    pub rules: RunePreferences,
    /// Runes of the project that are code: name and module.
    pub local_runes: Vec<(String, String)>,
    /// Content folder, relative to the configuration.
    pub content_dir: Option<String>,
    /// Whether `"markdoc": false` is set: the pages are plain Markdown, and `{% … %}` in them is text.
    pub is_plain_markdown: bool,
}

/// Keys of a site. Any of these at the top makes the shape flat; a plan or plugins alone do not.
const SITE_KEYS: [&str; 12] = [
    "contentDir",
    "theme",
    "target",
    "runes",
    "overrides",
    "routeRules",
    "highlight",
    "icons",
    "backgrounds",
    "tints",
    "baseUrl",
    "siteName",
];

/// The name of a site without a name.
pub const DEFAULT_SITE_NAME: &str = "main";

impl Config {
    /// Parses a configuration.
    pub fn parse(file: &str, text: &str) -> Config {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut parser = ConfigParser { file, text, config: Config::default() };
        match serde_json::from_str::<Value>(text) {
            Ok(Value::Object(root)) => {
                parser.config.is_usable = true;
                parser.parse_root(&root);
            }
            Ok(_) => parser.add_error(&[], "the configuration must be a JSON object".into()),
            Err(error) => {
                // serde_json appends the position, which has fields of its own here.
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or_default().to_owned();
                let (line, column) = (error.line().max(1), error.column().max(1));
                let problem = config_error(file, line, column, message);
                parser.config.problems.push(problem);
            }
        }
        parser.config
    }

    /// Every plugin that is named anywhere, each once: those at the top first, then site by site.
    pub fn all_plugins(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        let candidates = self.plugins.iter().chain(self.sites.values().flat_map(|site| &site.plugins));
        for name in candidates {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// The plugins that `detect` shows for the project: those of the only site, or those named at the top.
    pub fn listed_plugins(&self) -> &[String] {
        match self.sites.first() {
            Some((_, site)) if self.sites.len() == 1 => &site.plugins,
            _ => &self.plugins,
        }
    }
}

/// An error in the configuration file.
pub(super) fn config_error(file: &str, line: usize, column: usize, message: String) -> Diagnostic {
    let file = file.to_owned();
    Diagnostic { severity: Severity::Error, code: "invalid-config", file, line, column, message }
}

struct ConfigParser<'a> {
    file: &'a str,
    text: &'a str,
    config: Config,
}

impl ConfigParser<'_> {
    fn add_problem(&mut self, path: &[&str], message: String, severity: Severity) {
        let (line, column) =
            if path.is_empty() { line_and_column(self.text, 0) } else { key_position(self.text, path) };
        let error = config_error(self.file, line, column, message);
        self.config.problems.push(Diagnostic { severity, ..error });
    }

    fn add_error(&mut self, path: &[&str], message: String) {
        self.add_problem(path, message, Severity::Error);
    }

    fn parse_root(&mut self, root: &Map<String, Value>) {
        self.config.plugins = self.parse_plugins(root, &[]);
        match root.get("plan") {
            None | Some(Value::Null) => {}
            Some(Value::Object(plan)) => self.config.plan_dir = self.parse_text(plan, &["plan"], "dir"),
            Some(_) => {
                self.add_error(&["plan"], "`plan` must be an object such as {\"dir\": \"plan\"}".into())
            }
        }
        if root.contains_key("site") && root.contains_key("sites") {
            self.add_error(&["site"], "both `site` and `sites` are declared; `site` is ignored".into());
        }
        match (root.get("sites"), root.get("site")) {
            (Some(Value::Object(sites)), _) if !sites.is_empty() => {
                self.config.shape = ConfigShape::Plural;
                for (name, site) in sites.iter().take(SITES_MAX) {
                    self.parse_site(name, site, &["sites", name]);
                }
                if sites.len() > SITES_MAX {
                    self.add_error(&["sites"], format!("only the first {SITES_MAX} sites are used"));
                }
            }
            (Some(_), _) => {
                self.add_error(&["sites"], "`sites` must be an object with at least one site".into())
            }
            (None, Some(site)) => {
                self.config.shape = ConfigShape::Singular;
                self.parse_site(DEFAULT_SITE_NAME, site, &["site"]);
                self.inherit_plugins();
            }
            (None, None) => {
                let Some(key) = SITE_KEYS.into_iter().find(|key| root.contains_key(*key)) else { return };
                self.config.shape = ConfigShape::Flat;
                self.add_problem(
                    &[key],
                    "keys of a site at the top are deprecated; move them under `site`".into(),
                    Severity::Warning,
                );
                self.parse_site(DEFAULT_SITE_NAME, &Value::Object(root.clone()), &[]);
            }
        }
        if self.config.sites.is_empty() {
            self.config.shape = ConfigShape::None;
        }
    }

    /// If there is only one site, it also gets the plugins named at the top.
    fn inherit_plugins(&mut self) {
        let inherited = self.config.plugins.clone();
        if let Some(site) = self.config.sites.get_mut(DEFAULT_SITE_NAME) {
            let missing: Vec<String> =
                inherited.into_iter().filter(|name| !site.plugins.contains(name)).collect();
            site.plugins.extend(missing);
        }
    }

    fn parse_site(&mut self, name: &str, site: &Value, path: &[&str]) {
        let Some(site) = site.as_object() else {
            return self.add_error(path, format!("site {name} must be an object"));
        };
        let plugins =
            if path.is_empty() { self.config.plugins.clone() } else { self.parse_plugins(site, path) };
        let content_dir = self.parse_text(site, path, "contentDir");
        let is_plain_markdown = match site.get("markdoc") {
            None | Some(Value::Null | Value::Bool(true)) => false,
            Some(Value::Bool(false)) => true,
            Some(_) => {
                self.add_error(&[path, &["markdoc"]].concat(), "`markdoc` must be true or false".into());
                false
            }
        };
        let mut config = SiteConfig { plugins, content_dir, is_plain_markdown, ..SiteConfig::default() };
        let runes_path = [path, &["runes"]].concat();
        match site.get("runes") {
            None | Some(Value::Null) => {}
            Some(Value::Object(runes)) => {
                config.rules.prefer = self.string_map(runes, &runes_path, "prefer");
                config.rules.aliases = self.string_map(runes, &runes_path, "aliases");
                config.local_runes = self.string_map(runes, &runes_path, "local");
            }
            Some(_) => self.add_error(&runes_path, "`runes` must be an object".into()),
        }
        self.config.sites.insert(name.to_owned(), config);
    }

    /// The values of `plugins`, then those of the older key `packages`.
    fn parse_plugins(&mut self, object: &Map<String, Value>, path: &[&str]) -> Vec<String> {
        let mut plugins: Vec<String> = Vec::new();
        for key in ["plugins", "packages"] {
            let key_path = [path, &[key]].concat();
            let Some(value) = object.get(key).filter(|value| !value.is_null()) else { continue };
            if key == "packages" {
                self.add_problem(
                    &key_path,
                    "`packages` is the old name of `plugins`".into(),
                    Severity::Warning,
                );
            }
            let Some(names) = value.as_array() else {
                self.add_error(&key_path, format!("`{key}` must be a list of package names"));
                continue;
            };
            self.config.has_plugin_list = true;
            for name in names {
                match name.as_str() {
                    Some(name) if is_package_name(name) => {
                        if !plugins.iter().any(|existing| existing == name) {
                            plugins.push(name.to_owned());
                        }
                    }
                    _ => self.add_error(&key_path, format!("{name} is not the name of a package")),
                }
            }
        }
        if plugins.len() > PLUGINS_MAX {
            plugins.truncate(PLUGINS_MAX);
            self.add_error(path, format!("only the first {PLUGINS_MAX} plugins are used"));
        }
        plugins
    }

    fn parse_text(&mut self, object: &Map<String, Value>, path: &[&str], key: &str) -> Option<String> {
        match object.get(key) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) if !text.trim().is_empty() => Some(text.clone()),
            Some(_) => {
                self.add_error(&[path, &[key]].concat(), format!("`{key}` must be a string"));
                None
            }
        }
    }

    fn string_map(&mut self, object: &Map<String, Value>, path: &[&str], key: &str) -> Vec<(String, String)> {
        let key_path = [path, &[key]].concat();
        let map = match object.get(key) {
            None | Some(Value::Null) => return Vec::new(),
            Some(Value::Object(map)) => map,
            Some(_) => {
                self.add_error(&key_path, format!("`runes.{key}` must be an object"));
                return Vec::new();
            }
        };
        let mut pairs = Vec::new();
        for (name, value) in map {
            match value.as_str() {
                Some(value) => pairs.push((name.clone(), value.to_owned())),
                None => {
                    let entry_path = [key_path.as_slice(), &[name.as_str()]].concat();
                    self.add_error(&entry_path, format!("`runes.{key}.{name}` must be a string"));
                }
            }
        }
        pairs
    }
}

/// Whether a name is a valid npm package name, and so safe as a path below `node_modules`.
pub(crate) fn is_package_name(name: &str) -> bool {
    let is_valid_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|ch| ch.is_ascii_alphanumeric() || "-_.~".contains(ch))
    };
    name.len() <= 214
        && match name.strip_prefix('@') {
            Some(scoped) => scoped
                .split_once('/')
                .is_some_and(|(scope, name)| is_valid_part(scope) && is_valid_part(name)),
            None => is_valid_part(name),
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse("refrakt.config.json", text)
    }

    fn problems(config: &Config) -> Vec<(usize, usize, &str)> {
        config
            .problems
            .iter()
            .map(|problem| (problem.line, problem.column, problem.message.as_str()))
            .collect()
    }

    #[test]
    fn config_shapes_are_equivalent() {
        let plural = parse(r#"{"sites": {"main": {"contentDir": "c", "plugins": ["@a/b"]}}}"#);
        let singular = parse(r#"{"site": {"contentDir": "c", "plugins": ["@a/b"]}}"#);
        let flat = parse(r#"{"contentDir": "c", "plugins": ["@a/b"]}"#);
        assert_eq!(plural.sites, singular.sites);
        assert_eq!(plural.sites, flat.sites);
        assert_eq!(
            (plural.shape, singular.shape, flat.shape),
            (ConfigShape::Plural, ConfigShape::Singular, ConfigShape::Flat)
        );
        for config in [&plural, &singular, &flat] {
            assert_eq!(config.listed_plugins(), ["@a/b"]);
        }
        assert!(plural.problems.is_empty() && singular.problems.is_empty());
        assert_eq!(flat.problems.len(), 1);
        assert_eq!(flat.problems[0].severity, Severity::Warning);
    }

    #[test]
    fn config_with_only_plan_has_no_site() {
        let config = parse(r#"{"plan": {"dir": "docs/planning"}, "plugins": ["@refrakt-md/plan"]}"#);
        assert_eq!((config.sites.len(), config.plan_dir.as_deref()), (0, Some("docs/planning")));
        assert_eq!(parse("{}"), Config { is_usable: true, ..Config::default() });
    }

    #[test]
    fn site_can_be_plain_markdown() {
        let config =
            parse(r#"{"sites": {"a": {"markdoc": false}, "b": {"markdoc": true}, "c": {"markdoc": "no"}}}"#);
        let plain: Vec<bool> = config.sites.values().map(|site| site.is_plain_markdown).collect();
        assert_eq!(plain, [true, false, false]);
        assert_eq!(problems(&config).len(), 1);
        assert_eq!(config.problems[0].message, "`markdoc` must be true or false");
    }

    #[test]
    fn packages_key_is_merged_into_plugins() {
        let config = parse(r#"{"contentDir": "c", "packages": ["b", "a"], "plugins": ["a"]}"#);
        assert_eq!(config.sites["main"].plugins, ["a", "b"]);
        assert!(config.has_plugin_list);
    }

    #[test]
    fn listed_plugins_is_empty_for_several_sites() {
        let config = parse(r#"{"sites": {"main": {"plugins": ["a"]}, "blog": {"plugins": ["b", "a"]}}}"#);
        assert_eq!(config.listed_plugins(), Vec::<String>::new());
        assert_eq!(config.all_plugins(), ["a", "b"]);
    }

    #[test]
    fn invalid_json_error_has_line_and_column() {
        let config = parse("{\n  \"site\": {\n    \"a\": ,\n  }\n}");
        assert_eq!(problems(&config), [(3, 10, "expected value")]);
        assert!(config.sites.is_empty());
        assert_eq!(problems(&parse("[]")), [(1, 1, "the configuration must be a JSON object")]);
        assert_eq!(parse("\u{feff}{}").problems, []);
    }

    #[test]
    fn invalid_value_is_reported_and_other_keys_still_parse() {
        let config = parse(
            "{\n \"plan\": {\"dir\": 7},\n \"sites\": {\n  \"main\": {\"plugins\": [\"a\", \"../b\"], \"runes\": {\"prefer\": \
             {\"x\": 1, \"y\": \"a\"}}},\n  \"blog\": 3\n }\n}",
        );
        assert_eq!(
            problems(&config),
            [
                (2, 11, "`dir` must be a string"),
                (4, 12, "\"../b\" is not the name of a package"),
                (4, 59, "`runes.prefer.x` must be a string"),
                (5, 3, "site blog must be an object"),
            ]
        );
        assert_eq!(config.sites.keys().collect::<Vec<_>>(), ["main"]);
        assert_eq!(config.sites["main"].plugins, ["a"]);
        assert_eq!(config.sites["main"].rules.prefer, [("y".to_owned(), "a".to_owned())]);
    }

    #[test]
    fn config_with_site_and_sites_reports_problem() {
        let config = parse(r#"{"site": {}, "sites": {"a": {}}}"#);
        assert_eq!(config.sites.keys().collect::<Vec<_>>(), ["a"]);
        assert_eq!(config.problems.len(), 1);
        assert_eq!(
            problems(&parse(r#"{"sites": {}}"#)),
            [(1, 2, "`sites` must be an object with at least one site")]
        );
    }

    #[test]
    fn is_package_name_rejects_path_traversal() {
        for good in ["@refrakt-md/plan", "runes", "a.b", "@a/b_c"] {
            assert!(is_package_name(good), "{good}");
        }
        for bad in ["", ".", "..", "../a", "@a", "@/b", "@a/../b", "a/b", "@a/b/c", "a b", "/etc", ".hidden"]
        {
            assert!(!is_package_name(bad), "{bad}");
        }
    }
}
