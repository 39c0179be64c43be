//! The plan: Markdown files with one entity each (a specification, a piece of work, a bug, a decision, a milestone), and what
//! can be said about all of them together.
//!
//! [`scan`](scan::scan) turns one file's text into an [`Entity`]; [`PlanIndex`] holds those of a whole folder; [`status`],
//! [`next`], [`validate`] and [`ids`] are questions to it. Only [`load`] looks at a folder, through
//! [`Folder`](crate::project::folder::Folder). Nothing here writes.

mod dependencies;
mod entity;
pub mod ids;
mod index;
mod load;
pub mod next;
mod passages;
pub mod scan;
pub mod status;
pub mod validate;
pub mod vocabulary;

pub use entity::{Criterion, Dependency, Direction, Entity, Fault, Resolution, ScannedFile, ScopedRef};
pub use index::{IndexFilter, NotFound, PlanIndex};
pub use load::load;
pub use vocabulary::EntityType;
