//! The pages of a site: Markdown files below its content folder, each with its own URL.
//!
//! [`route`] computes the URL of a file, [`front_matter`] parses its front matter, [`index`] lists the pages, and
//! [`page`] renders one, with the files that `shown_files` and `data_table` put into it. Files are read only through a [`ProjectDir`](crate::project::project_dir::ProjectDir). This
//! module knows nothing of `refrakt://` URIs, tools and the database.

mod data_table;
pub mod front_matter;
pub mod index;
pub mod page;
pub mod route;
mod shown_files;

pub use front_matter::{FrontMatter, Problem};
pub use index::{Page, PageIndex};

/// The layout of the pages in its folder and below. It is not a page itself.
pub const LAYOUT_FILE: &str = "_layout.md";
