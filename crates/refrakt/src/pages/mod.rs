//! The pages of a site: Markdown files below its content folder, each at an address of its own.
//!
//! [`route`] says which address a file has, [`front_matter`] what stands at its top, [`index`] which pages there are, and
//! [`page`] renders one. All of it is pure but for the reading of files, which a [`ProjectDir`](crate::project::folder::Folder)
//! does. This module knows no addresses of ours, no tools and no database.

pub mod front_matter;
pub mod index;
pub mod page;
pub mod route;

pub use front_matter::{FrontMatter, Problem};
pub use index::{Page, PageIndex};

/// The file that lays out the pages of its folder and of those below; it is no page itself.
pub const LAYOUT_FILE: &str = "_layout.md";
