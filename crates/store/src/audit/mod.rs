//! Reading the stored audit chain, and the rows about it.
//!
//! [`query`] pages backwards with a filter, [`lookup`] finds one event by its id, [`time_search`] finds a position by
//! time, [`block`] reads ranges, [`checkpoint`] stores signed checkpoints and the tiles of the hash tree, and
//! [`archive`] records where the stored chain begins. Events are written by `crate::chain`, during the commit.
//!
//! Events have no secondary index: every call would pay for it, and only audit queries would use it.
//!
//! This module does not know what a checkpoint says or how it is signed; it stores the text as given.

pub mod archive;
pub mod block;
pub mod checkpoint;
pub(crate) mod compression;
pub mod lookup;
pub mod query;
pub mod time_search;

pub use block::Block;
pub use query::{Filter, Page};
