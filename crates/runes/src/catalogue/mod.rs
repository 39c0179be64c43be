//! The catalogue: every rune that a site has, out of packages that are data.
//!
//! Ten packages are built in ([`builtin`]): the core and the nine official plugins. A project or a plugin adds its own with a
//! `refrakt.runes.toml` in the same form. [`Catalogue::merge`] joins those that a site uses.
//!
//! This module knows no file system and no Markdoc: text in, values out.

mod attribute;
pub mod builtin;
mod content;
mod content_form;
mod emit;
mod engine;
mod engine_form;
mod error;
mod merge;
mod names;
mod package;

pub use attribute::{Attribute, AttributeType};
pub use content::{
    ModelBranch, Condition, ContentModel, CustomModel, DelimitedModel, PartExtractor, PartSource, Field, KnownSection, NodePattern,
    NodePatternAlternative, SectionsModel, ConditionalModel, Zone,
};
pub use emit::{RuneTemplate, TemplatePart};
pub use engine::{
    Block, BlockField, BlockLayout, Container, ContentWrapper, EngineConfig, Group, Icon, Layout, MetaField,
    Modifier, ModifierSource, OrderedMap, PostTransform, Projection, Rating, Relocation, SequenceDirection,
    StructureElement, Style, StyleTransform,
};
pub use error::{CatalogueError, line_and_column};
pub use merge::{Catalogue, MergeProblem, RunePreferences, UnknownRune};
pub use names::{is_rune_name, kebab_case, pascal_case};
pub use package::{Package, Preset, Rune};

/// Name of the package that every site has.
pub const CORE: &str = "core";

/// Name of the package that a project's own runes form.
pub const LOCAL: &str = "local";

/// The word by which a site's rules prefer the core over a plugin.
pub const PREFER_CORE: &str = "__core__";

/// Name of the file that a project or a plugin describes its runes in.
pub const RUNES_FILE: &str = "refrakt.runes.toml";
