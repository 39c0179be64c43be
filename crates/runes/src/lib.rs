//! Runes: Markdoc tags that give Markdown a meaning. This crate holds their definitions ([`catalogue`]), the markup that
//! they produce ([`contracts`]) and their syntax ([`reference`](mod@reference)). It renders documents that use them
//! ([`render`](mod@render)).
//!
//! [`render::render`] runs four stages:
//!
//! ```text
//! source → quad_markdoc::parse → expand → identity → to_html
//! ```
//!
//! | stage | module |
//! | --- | --- |
//! | expand: sorts the content of a rune into named fields | [`content`] |
//! | expand: turns runes and Markdown into elements, by template or by code | [`expand`], [`native`] |
//! | identity: adds classes, data attributes and structure, by the engine configuration | [`identity`] |
//! | print: HTML, and the selectors that a style sheet can use | [`html`], [`selectors`] |
//!
//! The stages after parsing share one tree, [`render_tree`]. [`inspect`] renders the example of one rune. All functions
//! are pure: no files, no sockets, no database, no clock.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod choices;
mod collation;
pub mod content;
pub mod contracts;
pub mod expand;
pub mod html;
pub mod identity;
pub mod inspect;
pub mod js_regex;
pub mod js_value;
pub mod limits;
pub mod native;
pub mod reference;
pub mod render;
pub mod render_tree;
pub mod selectors;
