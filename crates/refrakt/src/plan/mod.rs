//! The plan: Markdown files with one entity each (a specification, a piece of work, a bug, a decision, a milestone), and what
//! can be said about all of them together.
//!
//! [`scan`](scan::scan) turns one file's text into an [`Entity`]; [`PlanIndex`] holds those of a whole folder; [`status`],
//! [`next`], [`context`], [`validate`] and [`ids`] are questions to it. Only [`load`] looks at a folder, through
//! [`ProjectDir`](crate::project::folder::Folder). [`edit`] and [`create`] say what a changed or a new file holds; nothing here
//! writes it.

mod checklist;
pub mod context;
pub mod create;
mod dependencies;
pub mod diff;
pub mod edit;
mod entity;
pub mod entity_type;
pub mod ids;
mod index;
mod load;
pub mod next;
pub mod parse;
pub mod status;
pub mod validate;

pub use entity::{Criterion, Dependency, Direction, Entity, Fault, ParsedFile, Resolution, ScopedRef};
pub use entity_type::EntityType;
pub use index::{EntityNotFound, IndexFilter, PlanIndex};
pub use load::{load, load_with_scan};
