//! The catalogue: every rune of a site, merged from packages of data.
//!
//! Ten packages are built in ([`builtin`]): the core and the nine official plugins. A project or a plugin adds its own
//! in `refrakt.runes.toml`, in the same format. [`Catalogue::merge`] merges the packages that a site uses.
//!
//! This module does not access the file system and does not parse Markdoc.

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
    Modifier, ModifierSource, PostTransform, Projection, Rating, Relocation, SequenceDirection,
    StructureElement, Style, StyleTransform,
};
pub use error::{CatalogueError, line_and_column};
pub use names::{is_rune_name, kebab_case, pascal_case};
pub use package::{Package, Preset, Rune};
pub use site_catalogue::{Catalogue, MergeProblem, RunePreferences, UnknownRune};
pub use template::{RuneTemplate, TemplatePart};

/// Name of the package that every site has.
pub const CORE: &str = "core";

/// Package name of a project's own runes.
pub const LOCAL: &str = "local";

/// Value with which a site's configuration prefers the core's rune over a plugin's.
pub const PREFER_CORE: &str = "__core__";

/// File in which a project or a plugin defines its runes.
pub const RUNES_FILE: &str = "refrakt.runes.toml";
