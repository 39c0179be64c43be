//! The plan: Markdown files with one entity each (a specification, a work item, a bug, a decision, a milestone).
//!
//! [`parse_file`](parse::parse_file) turns one file's text into an [`Entity`]. [`PlanIndex`] holds the entities of a
//! folder. [`status`], [`next`], [`context`], [`validate`] and [`ids`] answer questions about the index. Only [`load`]
//! reads a folder, through [`ProjectDir`](crate::project::project_dir::ProjectDir). [`edit`] and [`create`] compute the
//! new text of a file; nothing in this module writes it.

mod checklist;
pub mod context;
pub mod create;
mod dependencies;
pub mod diff;
pub mod edit;
mod entity;
pub mod entity_type;
pub mod history;
pub mod ids;
mod index;
pub mod init;
mod load;
pub mod next;
pub mod parse;
pub mod status;
pub mod validate;

pub use entity::{Criterion, Dependency, Direction, Entity, ParsedFile, Resolution, ScopedRef};
pub use entity_type::EntityType;
pub use index::{EntityNotFound, IndexFilter, PlanIndex};
pub(crate) use load::find_by_file_name;
pub use load::load;
