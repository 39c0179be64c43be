//! The audit chain as it lies in the database: its blocks, forwards and backwards, and what is kept about it.
//!
//! [`walk`] pages backwards under a filter, [`find`] looks one event up by its id, [`block`] reads ranges, [`checkpoint`]
//! keeps the signed statements and the tree above the events, and [`archive`] remembers where the stored chain begins.
//! There is no secondary index over events: what a read costs in commits would be paid by every call, and what an index
//! would save is paid only by those who look back.
//!
//! What a checkpoint says and how it is signed is not known here; its text is stored as given.

pub mod archive;
pub mod block;
pub mod checkpoint;
pub(crate) mod compression;
pub mod lookup;
pub mod query;
pub mod time_search;

pub use block::Block;
pub use query::{Filter, Page};
