//! A plugin of the project: its installed version, and whether its runes are known.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use quad_runes::catalogue::{CORE, Package, RUNES_FILE, builtin};

/// Where a plugin was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// Named in the configuration.
    Config,
    /// Found in the dependencies, because the configuration names no plugins.
    DependencyScan,
}

impl PluginSource {
    /// The value in `detect`.
    pub fn as_str(self) -> &'static str {
        match self {
            PluginSource::Config => "config",
            PluginSource::DependencyScan => "dependency-scan",
        }
    }
}

/// A plugin.
#[derive(Clone, Debug, PartialEq)]
pub struct Plugin {
    /// Name of the package.
    pub name: String,
    /// Version in `node_modules`; `None` if it is not installed.
    pub installed: Option<String>,
    /// Where it was found.
    pub source: PluginSource,
    /// Its runes.
    pub runes: PluginRunes,
}

/// What is known about a plugin's runes.
#[derive(Clone, Debug, PartialEq)]
pub enum PluginRunes {
    /// Built in: one of the nine official packages.
    BuiltIn(Arc<Package>),
    /// Described by a file in the package.
    Described(Arc<Package>),
    /// Code, which is never executed: the runes are unknown for this reason.
    Opaque(String),
}

impl Plugin {
    /// A plugin from the contents of its folder. `described` is the package's own rune description, or the problem in
    /// it.
    pub(crate) fn new(
        name: &str,
        source: PluginSource,
        installed: Option<String>,
        described: Option<Result<Package, String>>,
    ) -> Plugin {
        let runes = match (described, builtin::package(name).filter(|package| package.name != CORE)) {
            (Some(Ok(package)), _) => PluginRunes::Described(Arc::new(package)),
            (_, Some(package)) => PluginRunes::BuiltIn(package.clone()),
            (Some(Err(error)), None) => PluginRunes::Opaque(error),
            (None, None) if installed.is_none() => {
                PluginRunes::Opaque("it is not installed, and its runes are not built in".into())
            }
            (None, None) => PluginRunes::Opaque(format!(
                "its runes are code, and it has no {RUNES_FILE} that describes them"
            )),
        };
        Plugin { name: name.to_owned(), installed, source, runes }
    }

    /// The package, if it is known.
    pub fn package(&self) -> Option<&Arc<Package>> {
        match &self.runes {
            PluginRunes::BuiltIn(package) | PluginRunes::Described(package) => Some(package),
            PluginRunes::Opaque(_) => None,
        }
    }

    /// The entry in `detect` for a plugin with commands; `None` for one with runes only.
    pub(crate) fn command_entry(&self) -> Option<Value> {
        let package = self.package()?;
        let commands: Vec<Value> = package
            .commands
            .as_ref()?
            .iter()
            .map(|(name, description)| json!({ "name": name, "description": description }))
            .collect();
        Some(json!({
            "namespace": package.namespace,
            "pluginName": self.name,
            "packageVersion": self.installed,
            "commands": commands,
            "source": self.source.as_str(),
        }))
    }

    /// The entry in `detect` about the runes of the plugin.
    pub(crate) fn runes_entry(&self) -> Value {
        let mut entry = Map::new();
        entry.insert("name".into(), json!(self.name));
        entry.insert("installed".into(), json!(self.installed));
        let runes_state = match &self.runes {
            PluginRunes::BuiltIn(_) => "built-in",
            PluginRunes::Described(_) => "described",
            PluginRunes::Opaque(_) => "opaque",
        };
        entry.insert("runes".into(), json!(runes_state));
        if let PluginRunes::Opaque(reason) = &self.runes {
            entry.insert("reason".into(), json!(reason));
        }
        let described = self.package().and_then(|package| package.version.as_ref());
        if let (Some(installed), Some(described)) = (&self.installed, described)
            && installed != described
        {
            entry.insert("describedVersion".into(), json!(described));
        }
        Value::Object(entry)
    }
}
