//! Runes: what they are ([`catalogue`]), what markup they promise ([`contracts`]), how they are written ([`reference`]), and what
//! becomes of a document that uses them ([`render`](mod@render)).
//!
//! A document is rendered in four steps that hand each other one [`tree`]:
//!
//! | step | module |
//! | --- | --- |
//! | what stands inside a rune is sorted into named fields | [`content`] |
//! | runes and Markdown become elements, by a template of the catalogue or by code | [`schema`], [`native`] |
//! | elements get classes, data attributes and structure, by the engine's configuration | [`identity`] |
//! | the tree is printed, and asked what a style sheet can select in it | [`html`], [`selectors`] |
//!
//! [`inspect`] shows one rune at work. Pure functions over values: no file, no socket, no database, no clock.
#![forbid(unsafe_code)]

pub mod catalogue;
mod collation;
pub mod content;
pub mod contracts;
pub mod expand;
pub mod html;
pub mod identity;
pub mod inspect;
pub mod js_value;
pub mod limits;
pub mod native;
pub mod reference;
pub mod render;
pub mod render_tree;
pub mod selectors;
