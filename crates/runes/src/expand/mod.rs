//! The schema transform: a parsed document becomes the tree of elements that the identity transform dresses.
//!
//! | module | what it does |
//! | --- | --- |
//! | [`context`] | one rendering: the catalogue, the page, the limits; [`RenderContext::nodes`] turns nodes into elements |
//! | [`arguments`] | the attributes of a rune as it receives them |
//! | [`component`] | the root element of a rune: values, parts, structured data |
//! | [`rune`] | what happens around each rune: arguments, content model, tint and background, facets |
//! | [`emit`] | runes that are a template in the catalogue |
//! | [`nodes`] | Markdown: headings, lists, fences, tables, pictures, links |
//! | [`markdoc`] | variables, functions, conditions |
//! | [`header`], [`media`], [`layout`], [`table`], [`text`], [`slug`] | what many runes need |
//!
//! It knows no class names and no themes; those are the engine's.

pub mod arguments;
pub mod builtin_tags;
pub mod header;
pub mod layout;
pub mod markdown_nodes;
pub mod media;
pub mod placeholder;
pub mod render_context;
pub mod root_builder;
pub mod rune;
pub mod slug;
pub mod table;
pub mod template;
pub mod text;

pub use arguments::Arguments;
pub use render_context::{PageVariables, RenderContext, RenderError, RuneUse};
pub use root_builder::RootBuilder;
