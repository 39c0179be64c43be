//! The catalogue: every rune that a site has, out of packages that are data.
//!
//! Ten packages are built in ([`builtin`]): the core and the nine official plugins. A project or a plugin adds its own with a
//! `refrakt.runes.toml` in the same form. [`Catalogue::merge`] joins those that a site uses.
//!
//! This module knows no file system and no Markdoc: text in, values out.

mod attribute;
pub mod builtin;
mod content_model;
mod content_serde;
mod engine_config;
mod engine_serde;
mod error;
mod names;
mod package;
mod site_catalogue;
mod template;

pub use attribute::{Attribute, AttributeType};
pub use content_model::{
    Condition, ConditionalModel, ContentModel, CustomModel, DelimitedModel, Field, KnownSection, ModelBranch,
    NodePattern, NodePatternAlternative, PartExtractor, PartSource, SectionsModel, Zone,
};
pub use engine_config::{
    Block, BlockField, BlockLayout, Container, ContentWrapper, EngineConfig, Group, Icon, Layout, MetaField,
    Modifier, ModifierSource, OrderedMap, PostTransform, Projection, Rating, Relocation, SequenceDirection,
    StructureElement, Style, StyleTransform,
};
pub use error::{CatalogueError, line_and_column};
pub use names::{is_rune_name, kebab_case, pascal_case};
pub use package::{Package, Preset, Rune};
pub use site_catalogue::{Catalogue, MergeProblem, RunePreferences, UnknownRune};
pub use template::{RuneTemplate, TemplatePart};

/// Name of the package that every site has.
pub const CORE: &str = "core";

/// Name of the package that a project's own runes form.
pub const LOCAL: &str = "local";

/// The word by which a site's rules prefer the core over a plugin.
pub const PREFER_CORE: &str = "__core__";

/// Name of the file that a project or a plugin describes its runes in.
pub const RUNES_FILE: &str = "refrakt.runes.toml";
