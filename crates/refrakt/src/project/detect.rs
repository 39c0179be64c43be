//! Detects what project a folder is.
//!
//! Reads only. A broken configuration, a broken rune description or a missing package is reported as a problem, and the
//! rest is used.

use std::path::Path;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::config::{Config, config_error, is_package_name};
use super::plugin::{Plugin, PluginRunes, PluginSource};
use super::project_dir::ProjectDir;
use super::site::{self, Site, SiteError};
use super::{CONFIG_FILE, PLAN_DIR};
use crate::diagnostic::{Diagnostic, Severity};
use crate::limits::PLUGINS_MAX;
use crate::project_cache::fs_dependencies::FsDependencies;
use quad_runes::catalogue::{CORE, Catalogue, LOCAL, Package, RUNES_FILE, builtin};

/// The project in a folder, at one time.
#[derive(Clone, Debug)]
pub struct Project {
    /// The folder.
    pub root: String,
    /// The configuration, if there is a usable one.
    pub config: Option<Config>,
    /// The plan folder, if it is configured or exists.
    pub plan: Option<PlanDir>,
    /// The sites with their runes.
    pub sites: Vec<Site>,
    /// Plugins that the configuration names, or that are found in the dependencies.
    pub plugins: Vec<Plugin>,
    /// Problems of all files.
    pub problems: Vec<Diagnostic>,
}

/// The plan folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanDir {
    /// Path below the project's folder.
    pub dir: String,
    /// Whether it exists.
    pub exists: bool,
    /// How many Markdown files are below it.
    pub file_count: usize,
}

/// What to do in a folder without a project.
const EMPTY_PROJECT_HINT: &str = "Make a plan with the tool plan_init or `quad refrakt plan init`, or declare a site in \
    refrakt.config.json; start the server with --project if the project is in another folder";

/// Detects the project in a folder.
pub fn detect(root: &Path) -> Project {
    detect_in(root, &ProjectDir::new(root))
}

/// Detects the project in a folder and records every path that the result depends on.
pub fn detect_recording(root: &Path) -> (Project, FsDependencies) {
    let dependencies = FsDependencies::new();
    (detect_in(root, &ProjectDir::recording(root, dependencies.clone())), dependencies)
}

fn detect_in(root: &Path, folder: &ProjectDir) -> Project {
    let mut problems = Vec::new();
    let config = read_config(folder, &mut problems);
    let plan = find_plan(folder, config.as_ref(), &mut problems);
    let local = read_runes(folder, "", LOCAL).map(|read| read.map_err(|problem| problems.push(problem)).ok());
    let local = local.flatten().map(Arc::new);
    let plugins = find_plugins(folder, config.as_ref());
    let sites = config.iter().flat_map(|config| &config.sites);
    let sites = sites.map(|(name, config)| build_site(name, config, &plugins, local.as_ref())).collect();
    Project { root: root.display().to_string(), config, plan, sites, plugins, problems }
}

/// The configuration, if it is usable. Its problems are added in any case.
fn read_config(folder: &ProjectDir, problems: &mut Vec<Diagnostic>) -> Option<Config> {
    let text = match folder.read_small_file(CONFIG_FILE) {
        Ok(text) => text?,
        Err(error) => {
            let message = format!("the file cannot be read: {error}");
            problems.push(config_error(CONFIG_FILE, 1, 1, message));
            return None;
        }
    };
    let mut config = Config::parse(CONFIG_FILE, &text);
    problems.append(&mut config.problems);
    config.is_usable.then_some(config)
}

fn find_plan(
    folder: &ProjectDir,
    config: Option<&Config>,
    problems: &mut Vec<Diagnostic>,
) -> Option<PlanDir> {
    let configured = config.and_then(|config| config.plan_dir.as_deref());
    let dir = configured.unwrap_or(PLAN_DIR);
    let path = folder.join_checked(dir);
    let exists = folder.has_dir(dir);
    let Some(path) = path.filter(|_| !exists || folder.resolve(dir).is_some()) else {
        let message = format!("the plan folder {dir} lies outside the project and is not read");
        problems.push(config_error(CONFIG_FILE, 1, 1, message));
        return None;
    };
    if !exists && configured.is_none() {
        return None;
    }
    let file_count = ProjectDir::new(path).within(folder.root()).markdown_count();
    let dir = Path::new(dir).components().filter(|part| matches!(part, std::path::Component::Normal(_)));
    let dir: Vec<String> = dir.map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
    Some(PlanDir { dir: dir.join("/"), exists, file_count })
}

/// The rune description of a folder below the project; `None` if there is no such file.
fn read_runes(folder: &ProjectDir, package_dir: &str, name: &str) -> Option<Result<Package, Diagnostic>> {
    let file =
        if package_dir.is_empty() { RUNES_FILE.to_owned() } else { format!("{package_dir}/{RUNES_FILE}") };
    let problem = |line, column, message| Diagnostic {
        code: "invalid-runes",
        ..config_error(&file, line, column, message)
    };
    let source = match folder.read_small_file(&file) {
        Ok(source) => source?,
        Err(error) => return Some(Err(problem(1, 1, format!("the file cannot be read: {error}")))),
    };
    let package = Package::parse(&file, &source, name).map(|mut package| {
        // The folder name decides: a package may not claim the name of another one.
        if package.name != name {
            package.name = name.to_owned();
            package.runes.values_mut().for_each(|rune| rune.package = name.to_owned());
        }
        package
    });
    Some(
        package
            .map_err(|error| problem(error.line, error.column, format!("{}: {}", error.key, error.message))),
    )
}

/// The plugins: those that the configuration names, or else the dependencies that contain runes.
fn find_plugins(folder: &ProjectDir, config: Option<&Config>) -> Vec<Plugin> {
    let (names, source): (Vec<String>, PluginSource) = match config {
        Some(config) if config.has_plugin_list => {
            (config.all_plugins().into_iter().map(str::to_owned).collect(), PluginSource::Config)
        }
        _ => (dependency_names(folder), PluginSource::DependencyScan),
    };
    let plugins = names.into_iter().take(PLUGINS_MAX).map(|name| {
        let package_dir = format!("node_modules/{name}");
        let package = read_runes(folder, &package_dir, &name);
        let package = package.map(|read| {
            read.map_err(|problem| {
                format!("{}:{}:{}: {}", problem.file, problem.line, problem.column, problem.message)
            })
        });
        Plugin::new(&name, source, installed_version(folder, &package_dir), package)
    });
    match source {
        PluginSource::Config => plugins.collect(),
        // Most dependencies contain no runes.
        PluginSource::DependencyScan => plugins.filter(|plugin| plugin.package().is_some()).collect(),
    }
}

fn installed_version(folder: &ProjectDir, package_dir: &str) -> Option<String> {
    let text = folder.read_small_file(&format!("{package_dir}/package.json")).ok()??;
    let manifest: Value = serde_json::from_str(&text).ok()?;
    manifest["version"].as_str().map(str::to_owned)
}

/// Names of the dependencies, and of the official packages in `node_modules`.
fn dependency_names(folder: &ProjectDir) -> Vec<String> {
    let manifest = folder.read_small_file("package.json").ok().flatten();
    let manifest: Value = manifest.and_then(|text| serde_json::from_str(&text).ok()).unwrap_or_default();
    let keys = ["dependencies", "devDependencies"].into_iter();
    let declared = keys.filter_map(|key| manifest[key].as_object()).flat_map(|map| map.keys().cloned());
    let official = folder.dir_names("node_modules/@refrakt-md").into_iter();
    let official = official.map(|name| format!("@refrakt-md/{name}"));
    let official = official.filter(|name| name != CORE && builtin::package(name).is_some());
    let mut names: Vec<String> = declared.filter(|name| is_package_name(name)).chain(official).collect();
    names.sort_unstable();
    names.dedup();
    names
}

fn build_site(
    name: &str,
    config: &super::config::SiteConfig,
    plugins: &[Plugin],
    local: Option<&Arc<Package>>,
) -> Site {
    let mut packages = Vec::new();
    let mut opaque = Vec::new();
    for plugin_name in &config.plugins {
        let Some(plugin) = plugins.iter().find(|plugin| plugin.name == *plugin_name) else { continue };
        match &plugin.runes {
            PluginRunes::BuiltIn(package) | PluginRunes::Described(package) => packages.push(package.clone()),
            PluginRunes::Opaque(reason) => opaque.push((plugin.name.clone(), reason.clone())),
        }
    }
    packages.extend(local.cloned());
    for (rune, module) in &config.local_runes {
        if !local.is_some_and(|package| package.runes.contains_key(rune)) {
            let reason = format!("the local rune is code in {module}; describe it in {RUNES_FILE}");
            opaque.push((rune.clone(), reason));
        }
    }
    let (catalogue, problems) = Catalogue::merge(&packages, &config.rules);
    Site { name: name.to_owned(), config: config.clone(), catalogue: Arc::new(catalogue), problems, opaque }
}

impl Project {
    /// The site that a caller selects: by name, or the only one.
    pub fn site(&self, name: Option<&str>) -> Result<&Site, SiteError> {
        site::select_site(&self.sites, name)
    }

    /// The plan folder, if it exists.
    pub fn plan_dir(&self) -> Option<ProjectDir> {
        let plan = self.plan.as_ref().filter(|plan| plan.exists)?;
        let path = ProjectDir::new(&self.root).join_checked(&plan.dir)?;
        Some(ProjectDir::new(path).within(&self.root))
    }

    /// The answer of `refrakt://detect`. The first five keys are those of the npm package; ours follow, each only if it
    /// has a value.
    pub fn to_json(&self) -> Value {
        let absolute_path = |path: &str| Path::new(&self.root).join(path).display().to_string();
        let plan = self
            .plan
            .as_ref()
            .map(|plan| json!({ "dir": absolute_path(&plan.dir), "fileCount": plan.file_count }));
        let site = self.config.as_ref().filter(|config| !config.sites.is_empty()).map(|config| {
            let sites: Vec<&str> = self.sites.iter().map(|site| site.name.as_str()).collect();
            json!({ "configPath": absolute_path(CONFIG_FILE), "sites": sites, "plugins": config.listed_plugins() })
        });
        let mut commands: Vec<Value> = self.plugins.iter().filter_map(Plugin::command_entry).collect();
        commands.sort_by(|a, b| a["namespace"].as_str().cmp(&b["namespace"].as_str()));
        let source = if self.config.is_some() { "config-file" } else { "autodetect" };

        let mut detected = Map::new();
        detected.insert("cwd".into(), json!(self.root));
        detected.insert("plan".into(), json!(plan));
        detected.insert("site".into(), json!(site));
        detected.insert("plugins".into(), json!(commands));
        detected.insert("configSource".into(), json!(source));
        if let Some(error) = self
            .problems
            .iter()
            .find(|problem| problem.severity == Severity::Error && problem.file == CONFIG_FILE)
        {
            let config_error =
                json!({ "message": error.message, "line": error.line, "column": error.column });
            detected.insert("configError".into(), config_error);
        }
        if self.plan.is_none() && self.sites.is_empty() && self.problems.is_empty() {
            detected.insert("hint".into(), json!(EMPTY_PROJECT_HINT));
        }
        let mut add = |key: &str, values: Vec<Value>| {
            if !values.is_empty() {
                detected.insert(key.into(), Value::Array(values));
            }
        };
        add("runePackages", self.plugins.iter().map(Plugin::runes_entry).collect());
        add("problems", self.problem_entries());
        Value::Object(detected)
    }

    fn problem_entries(&self) -> Vec<Value> {
        let files = self.problems.iter().map(|problem| {
            json!({
                "file": problem.file,
                "line": problem.line,
                "column": problem.column,
                "severity": problem.severity.as_str(),
                "message": problem.message,
            })
        });
        let sites = self.sites.iter().flat_map(|site| {
            let merge = site.problems.iter().map(|problem| problem.message.clone());
            let opaque = site.opaque.iter().map(|(name, reason)| format!("{name}: {reason}"));
            merge
                .chain(opaque)
                .map(|message| json!({ "site": site.name, "severity": "warning", "message": message }))
        });
        files.chain(sites).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn temp_project(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn detect_files(files: &[(&str, &str)]) -> (tempfile::TempDir, Project) {
        let root = temp_project(files);
        let project = detect(root.path());
        (root, project)
    }

    const PLUGINS: &str =
        r#"{"site": {"contentDir": "c", "plugins": ["@refrakt-md/plan", "@refrakt-md/docs", "@x/y"]}}"#;

    #[test]
    fn detect_empty_dir_returns_five_keys_and_what_to_do() {
        let (root, project) = detect_files(&[]);
        let expected = json!({
            "cwd": root.path(), "plan": null, "site": null, "plugins": [], "configSource": "autodetect",
            "hint": EMPTY_PROJECT_HINT,
        });
        assert_eq!(project.to_json(), expected);
        assert_eq!(project.site(None).unwrap_err(), SiteError::Missing);
    }

    #[test]
    fn detect_reports_plan_site_plugins_and_rune_packages() {
        let (root, project) = detect_files(&[
            (CONFIG_FILE, PLUGINS),
            ("plan/work/a.md", ""),
            ("plan/b.md", ""),
            ("plan/c.txt", ""),
            ("node_modules/@refrakt-md/plan/package.json", r#"{"version": "0.29.0"}"#),
            ("node_modules/@refrakt-md/docs/package.json", r#"{"version": "0.25.1"}"#),
        ]);
        let json = project.to_json();
        assert_eq!(json["plan"], json!({ "dir": root.path().join("plan"), "fileCount": 2 }));
        assert_eq!(json["site"]["sites"], json!(["main"]));
        assert_eq!(json["plugins"][0]["namespace"], "docs");
        assert_eq!(json["plugins"][1]["namespace"], "plan");
        assert_eq!(json["plugins"][1]["packageVersion"], "0.29.0");
        assert_eq!(json["configSource"], "config-file");
        assert_eq!(
            json["runePackages"],
            json!([
                { "name": "@refrakt-md/plan", "installed": "0.29.0", "runes": "built-in" },
                { "name": "@refrakt-md/docs", "installed": "0.25.1", "runes": "built-in", "describedVersion": "0.29.0" },
                { "name": "@x/y", "installed": null, "runes": "opaque",
                  "reason": "it is not installed, and its runes are not built in" },
            ])
        );
        let (_, hint) = project.site(None).unwrap().rune("berth").unwrap_err();
        assert!(hint.contains("@x/y (it is not installed"), "{hint}");
    }

    #[test]
    fn runes_file_of_plugin_or_project_defines_runes() {
        let runes = |name: &str| format!("[runes.{name}]\ndescription = 'x'\n");
        let (_root, project) = detect_files(&[
            (
                CONFIG_FILE,
                r#"{"site": {"plugins": ["@x/y"], "runes": {"local": {"pier": "./p.js", "buoy": "./b.js"}}}}"#,
            ),
            ("node_modules/@x/y/package.json", r#"{"version": "1.0.0"}"#),
            ("node_modules/@x/y/refrakt.runes.toml", &runes("berth")),
            ("refrakt.runes.toml", &runes("pier")),
        ]);
        let site = project.site(Some("main")).unwrap();
        assert_eq!(site.rune("berth").unwrap().package, "@x/y");
        assert_eq!(site.rune("pier").unwrap().package, LOCAL);
        assert_eq!(
            site.opaque,
            [("buoy".into(), "the local rune is code in ./b.js; describe it in refrakt.runes.toml".into())]
        );
    }

    #[test]
    fn runes_file_cannot_claim_another_package_name() {
        let (_root, project) = detect_files(&[
            (CONFIG_FILE, r#"{"site": {"plugins": ["@x/y"]}}"#),
            (
                "node_modules/@x/y/refrakt.runes.toml",
                "[package]\nname = 'core'\n[runes.a]\ndescription = ''\n",
            ),
        ]);
        assert_eq!(project.site(None).unwrap().rune("a").unwrap().package, "@x/y");
    }

    #[test]
    fn invalid_runes_file_is_reported_and_others_load() {
        let (_root, project) = detect_files(&[
            (CONFIG_FILE, r#"{"site": {"plugins": ["@x/y"]}}"#),
            ("node_modules/@x/y/refrakt.runes.toml", "[runes.a]\n"),
            ("refrakt.runes.toml", "[runes.b]\ndescription = ''\nx = 1\n"),
        ]);
        assert!(project.site(None).unwrap().rune("hint").is_ok());
        assert_eq!((project.problems[0].line, project.problems[0].column), (3, 1));
        let PluginRunes::Opaque(reason) = &project.plugins[0].runes else { panic!() };
        assert!(reason.starts_with("node_modules/@x/y/refrakt.runes.toml:1:1: "), "{reason}");
    }

    #[test]
    fn plan_is_detected_when_config_is_invalid() {
        let (_root, project) = detect_files(&[(CONFIG_FILE, "{\n  \"site\": {,\n}"), ("plan/a.md", "")]);
        let json = project.to_json();
        assert_eq!(json["configSource"], "autodetect");
        assert_eq!(json["plan"]["fileCount"], 1);
        assert_eq!(json["site"], Value::Null);
        assert_eq!((&json["configError"]["line"], &json["configError"]["column"]), (&json!(2), &json!(12)));
    }

    #[test]
    fn plan_dir_may_be_configured_missing_or_rejected() {
        let plan = |dir: &str| detect_files(&[(CONFIG_FILE, &json!({ "plan": { "dir": dir } }).to_string())]);
        let (root, project) = plan("./docs/planning");
        assert_eq!(
            project.to_json()["plan"],
            json!({ "dir": root.path().join("docs/planning"), "fileCount": 0 })
        );
        assert!(project.plan_dir().is_none());
        let (_root, project) = plan("../elsewhere");
        assert_eq!(project.to_json()["plan"], Value::Null);
        assert!(
            project.to_json()["configError"]["message"].as_str().unwrap().contains("outside the project")
        );
    }

    #[test]
    fn plugins_come_from_dependencies_when_not_configured() {
        let (_root, project) = detect_files(&[
            ("package.json", r#"{"dependencies": {"react": "1", "@x/y": "1"}}"#),
            ("node_modules/@refrakt-md/plan/package.json", r#"{"version": "0.29.0"}"#),
            ("node_modules/@refrakt-md/cli/package.json", r#"{"version": "0.29.0"}"#),
            ("node_modules/@x/y/refrakt.runes.toml", "[runes.a]\ndescription = ''\n"),
        ]);
        let names: Vec<&str> = project.plugins.iter().map(|plugin| plugin.name.as_str()).collect();
        assert_eq!(names, ["@refrakt-md/plan", "@x/y"]);
        assert_eq!(project.to_json()["plugins"][0]["source"], "dependency-scan");
    }

    #[test]
    fn site_lookup_requires_name_when_several_exist() {
        let (_root, project) = detect_files(&[(CONFIG_FILE, r#"{"sites": {"main": {}, "blog": {}}}"#)]);
        assert_eq!(project.site(Some("blog")).unwrap().name, "blog");
        let hint = |name: Option<&str>| project.site(name).unwrap_err().hint();
        assert_eq!(hint(None), "select one: ?site=main or ?site=blog");
        assert_eq!(hint(Some("maim")), "did you mean main? Use one of main, blog");
        assert_eq!(hint(Some("zzzzz")), "use one of main, blog");
    }
}
