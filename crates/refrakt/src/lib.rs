//! `refrakt://`: an agent's project. The plan and the pages are Markdoc files in a folder; the runes come from
//! `quad-runes`.
//!
//! | module | job |
//! | --- | --- |
//! | [`project`] | detects what a folder holds: configuration, sites, plugins, plan folder |
//! | [`plan`] | parses and edits plan entities, and answers questions about the whole plan |
//! | [`pages`] | indexes and renders the pages of a site |
//! | [`page_lint`] | checks one page against the runes of a site |
//! | [`diagnostic`] | a problem in a file, with its position |
//! | [`project_cache`] | holds the current state of all of these, and detects changes of the folder |
//! | `scheme` | URIs and tools ([`Refrakt`]), and writes with a journal |
//!
//! A read never writes into the folder. This crate knows no other scheme, no protocol message and no socket.
//! It compiles on Unix only: folders are identified by device and inode. inotify is used on Linux; on other systems
//! every read checks all files.
#![forbid(unsafe_code)]

mod blocking;
pub mod diagnostic;
pub mod limits;
mod migrations;
pub mod page_lint;
pub mod pages;
pub mod plan;
pub mod project;
pub mod project_cache;
mod scheme;

pub use migrations::COMPONENT;
pub use scheme::{Refrakt, SCOPES, render};
