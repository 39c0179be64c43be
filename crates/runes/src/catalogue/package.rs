//! A package of runes: one TOML file, read and checked.
//!
//! ```toml
//! [package]
//! name = "@harbour/runes"
//!
//! [runes.berth]
//! description = "A place for one boat"
//! content = ["title: heading?", "body: any*"]
//! [runes.berth.attributes]
//! length = { type = "number", required = true, description = "In metres" }
//!
//! [engine.Berth]
//! default-density = "compact"
//! ```
//!
//! Does not access the file system: the caller passes the text and the file name for errors.

use indexmap::IndexMap;
use serde::Deserialize;

use super::attribute::Attribute;
use super::content_model::ContentModel;
use super::engine_config::EngineConfig;
use super::error::{CatalogueError, KeyError};
use super::names::{is_rune_name, pascal_case};
use super::template::RuneTemplate;
use crate::limits::{CATALOGUE_FILE_BYTES_MAX, PACKAGE_RUNES_MAX};
use crate::native::{self, NativeRune};

/// One package, parsed from its file.
#[derive(Clone, Debug, PartialEq)]
pub struct Package {
    /// npm package name, `core`, or `local` for the project's own runes.
    pub name: String,
    /// Short name, used in commands and scopes.
    pub namespace: String,
    /// Name shown in lists.
    pub label: String,
    /// Version of the package that the file describes.
    pub version: Option<String>,
    /// One line.
    pub description: Option<String>,
    /// Commands of the namespace that work here, each with a description; `None` for a package with runes only.
    pub commands: Option<IndexMap<String, String>>,
    /// Universal attributes; only the core may define them.
    pub universal: IndexMap<String, Attribute>,
    /// Attribute sets that runes share.
    pub presets: IndexMap<String, Preset>,
    /// Runes, by name.
    pub runes: IndexMap<String, Rune>,
    /// Engine configuration, by type.
    pub engine: IndexMap<String, EngineConfig>,
}

/// A set of attributes that several runes share.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Preset {
    /// Name shown in the reference.
    pub title: String,
    /// One line.
    pub description: String,
    /// Its attributes.
    pub attributes: IndexMap<String, Attribute>,
}

/// A rune: a tag that gives the Markdown inside it a meaning.
#[derive(Clone, Debug, PartialEq)]
pub struct Rune {
    /// Name of the tag.
    pub name: String,
    /// Name of the package that defines it.
    pub package: String,
    /// Type name in the engine configuration.
    pub type_name: String,
    /// Other names of the tag.
    pub aliases: Vec<String>,
    /// Group in an editor's menu.
    pub category: Option<String>,
    /// One line for the author of a page.
    pub description: String,
    /// Only other runes emit it. It is not in the reference.
    pub internal: bool,
    /// Whether it has no body.
    pub self_closing: bool,
    /// Whether its body is kept as text.
    pub defer_body: bool,
    /// Whether it has the universal attributes.
    pub universal: bool,
    /// Name of its preset.
    pub preset: Option<String>,
    /// Its own attributes.
    pub attributes: IndexMap<String, Attribute>,
    /// How it reads its body; `None` if the body is not read.
    pub content: Option<ContentModel>,
    /// Its template, if it is rendered by one.
    pub emit: Option<RuneTemplate>,
    /// An example document.
    pub example: Option<String>,
    /// Its code, if it is native. Looked up once, when the package is parsed.
    pub(crate) native: Option<NativeRune>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct PackageToml {
    #[serde(default)]
    package: PackageHeader,
    #[serde(default)]
    universal: IndexMap<String, Attribute>,
    #[serde(default)]
    presets: IndexMap<String, Preset>,
    #[serde(default)]
    runes: IndexMap<String, RuneToml>,
    #[serde(default)]
    engine: IndexMap<String, EngineConfig>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
struct PackageHeader {
    name: Option<String>,
    namespace: Option<String>,
    label: Option<String>,
    version: Option<String>,
    description: Option<String>,
    commands: Option<IndexMap<String, String>>,
}

fn default_true() -> bool {
    true
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RuneToml {
    #[serde(rename = "type")]
    type_name: Option<String>,
    #[serde(default)]
    aliases: Vec<String>,
    category: Option<String>,
    description: String,
    #[serde(default)]
    internal: bool,
    #[serde(default)]
    self_closing: bool,
    #[serde(default)]
    defer_body: bool,
    #[serde(default = "default_true")]
    universal: bool,
    preset: Option<String>,
    #[serde(default)]
    attributes: IndexMap<String, Attribute>,
    content: Option<ContentModel>,
    emit: Option<RuneTemplate>,
    example: Option<String>,
}

impl Package {
    /// Parses a package. `fallback_name` is used if the file has no name: `local`, or the name of the npm package that
    /// contains the file.
    pub fn parse(file: &str, source: &str, fallback_name: &str) -> Result<Package, CatalogueError> {
        if source.len() > CATALOGUE_FILE_BYTES_MAX {
            let message = format!("the file is larger than {CATALOGUE_FILE_BYTES_MAX} bytes");
            return Err(CatalogueError::at_span(file, "", None, &message));
        }
        let parsed: PackageToml = toml::from_str(source)
            .map_err(|error| CatalogueError::at_span(file, source, error.span(), error.message()))?;
        let name = parsed.package.name.unwrap_or_else(|| fallback_name.to_owned());
        let namespace = parsed.package.namespace.unwrap_or_else(|| last_path_segment(&name).to_owned());
        let package = Package {
            label: parsed.package.label.unwrap_or_else(|| name.clone()),
            version: parsed.package.version,
            description: parsed.package.description,
            commands: parsed.package.commands,
            universal: parsed.universal,
            presets: parsed.presets,
            runes: parsed
                .runes
                .into_iter()
                .map(|(rune, table)| (rune.clone(), table.into_rune(rune, &name)))
                .collect(),
            engine: parsed.engine,
            name,
            namespace,
        };
        match package.validate() {
            Ok(()) => Ok(package),
            Err((path, message)) => Err(CatalogueError::at_key(file, source, &path, message)),
        }
    }

    /// Checks what serde cannot. Returns the first error.
    fn validate(&self) -> Result<(), KeyError<'_>> {
        if self.runes.len() > PACKAGE_RUNES_MAX {
            return Err((vec!["runes"], format!("a package holds at most {PACKAGE_RUNES_MAX} runes")));
        }
        if !self.universal.is_empty() && self.name != super::CORE {
            return Err((vec!["universal"], "only the core package adds attributes to every rune".into()));
        }
        let preset_attributes =
            self.presets.iter().map(|(name, preset)| (vec!["presets", name], &preset.attributes));
        let preset_paths =
            preset_attributes.map(|(path, attributes)| ([path, vec!["attributes"]].concat(), attributes));
        let rune_paths =
            self.runes.iter().map(|(name, rune)| (vec!["runes", name, "attributes"], &rune.attributes));
        for (path, attributes) in preset_paths.chain(rune_paths).chain([(vec!["universal"], &self.universal)])
        {
            for (name, attribute) in attributes {
                attribute
                    .validate()
                    .map_err(|message| ([path.as_slice(), &[name.as_str()]].concat(), message))?;
            }
        }
        self.runes.values().try_for_each(Rune::validate)?;
        for (name, config) in &self.engine {
            let in_type = |(path, message)| ([vec!["engine", name.as_str()], path].concat(), message);
            config.validate().map_err(in_type)?;
        }
        Ok(())
    }
}

impl RuneToml {
    fn into_rune(self, name: String, package: &str) -> Rune {
        Rune {
            native: native::find(package, &name),
            type_name: self.type_name.unwrap_or_else(|| pascal_case(&name)),
            name,
            package: package.to_owned(),
            aliases: self.aliases,
            category: self.category,
            description: self.description,
            internal: self.internal,
            self_closing: self.self_closing,
            defer_body: self.defer_body,
            universal: self.universal,
            preset: self.preset,
            attributes: self.attributes,
            content: self.content,
            emit: self.emit,
            example: self.example.map(|text| text.trim_end_matches('\n').to_owned()),
        }
    }
}

impl Rune {
    fn validate(&self) -> Result<(), KeyError<'_>> {
        let path = |key: &'static str| vec!["runes", self.name.as_str(), key];
        let grammar = "a name consists of lower-case letters, digits and hyphens, and starts with a letter";
        if !is_rune_name(&self.name) {
            return Err((vec!["runes", &self.name], grammar.into()));
        }
        if let Some(alias) = self.aliases.iter().find(|alias| !is_rune_name(alias)) {
            return Err((path("aliases"), format!("`{alias}`: {grammar}")));
        }
        if let Some(content) = &self.content {
            content.validate().map_err(|message| (path("content"), message))?;
        }
        let fields = self.content.as_ref().map(ContentModel::field_names).unwrap_or_default();
        // A preset may come from another package, so its attributes are known only after the merge.
        let is_known =
            |name: &str| self.preset.is_some() || self.attributes.contains_key(name) || name == "id";
        if let Some(emit) = &self.emit {
            emit.validate(&fields, &is_known).map_err(|message| (path("emit"), message))?;
        }
        let opening = format!("{{% {}", self.name);
        if self.example.as_ref().is_some_and(|example| !example.contains(&opening)) {
            return Err((path("example"), format!("the example does not use `{opening}`")));
        }
        Ok(())
    }
}

/// `@harbour/runes` → `runes`.
fn last_path_segment(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

/// Attributes of a preset and of the rune, in display order.
pub(crate) fn merged_attributes<'a>(
    rune: &'a Rune,
    preset: Option<&'a Preset>,
) -> IndexMap<&'a str, &'a Attribute> {
    let shared = preset.into_iter().flat_map(|preset| &preset.attributes);
    shared.chain(&rune.attributes).map(|(name, attribute)| (name.as_str(), attribute)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse_error(source: &str) -> String {
        Package::parse("f.toml", source, "local").unwrap_err().to_string()
    }

    #[test]
    fn minimal_package_parses() {
        let source = "[runes.berth]\ndescription = 'A place'\ncontent = 'body: any*'\n";
        let package = Package::parse("f.toml", source, "@harbour/runes").unwrap();
        assert_eq!((package.name.as_str(), package.namespace.as_str()), ("@harbour/runes", "runes"));
        let rune = &package.runes["berth"];
        assert_eq!((rune.type_name.as_str(), rune.universal), ("Berth", true));
    }

    #[test]
    fn parse_error_has_file_line_and_key() {
        let head = "[package]\nname = 'x'\n\n[runes.berth]\ndescription = 'A place'\n";
        let check = |tail: &str, expect: &str| assert_eq!(parse_error(&format!("{head}{tail}")), expect);
        check(
            "descripton = ''",
            "f.toml:6:1: runes.berth.descripton: unknown field `descripton`, expected one of \
             `type`, `aliases`, `category`, `description`, `internal`, `self-closing`, `defer-body`, `universal`, \
             `preset`, `attributes`, `content`, `emit`, `example`",
        );
        check(
            "content = 'body: words'",
            "f.toml:6:11: runes.berth.content: nothing matches `words`; known are any, \
             paragraph, heading, heading:N, list, list:ordered, list:unordered, image, blockquote, fence, hr, table, tag, \
             tag:NAME",
        );
        check(
            "aliases = ['Pier']",
            "f.toml:6:1: runes.berth.aliases: `Pier`: a name consists of lower-case letters, digits and \
             hyphens, and starts with a letter",
        );
        check(
            "[runes.berth.attributes]\nsize = { matches = ['a'], default = 'b', description = '' }",
            "f.toml:7:1: runes.berth.attributes.size: `default` is \"b\", which is not one of a",
        );
        check("example = 'nothing'", "f.toml:6:1: runes.berth.example: the example does not use `{% berth`");
        check(
            "[engine.Berth.blocks]\nb = { fields = ['m'], layout = 'bar' }",
            "f.toml:7:1: engine.Berth.blocks.b: `m` is not one of the meta-fields",
        );
        check(
            "[universal]\na = { description = '' }",
            "f.toml:6:2: universal: only the core package adds attributes to every rune",
        );
        assert_eq!(
            parse_error("[runes.Berth]\ndescription = ''"),
            "f.toml:1:8: runes.Berth: a name consists of lower-case letters, digits \
             and hyphens, and starts with a letter"
        );
        assert!(parse_error("[runes").starts_with("f.toml:1:7: "), "{}", parse_error("[runes"));
    }

    #[test]
    fn oversized_file_is_rejected() {
        let source = "#".repeat(CATALOGUE_FILE_BYTES_MAX + 1);
        assert!(parse_error(&source).contains("larger than"));
    }
}
