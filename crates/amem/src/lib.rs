//! An agent's memory, `amem://`: a graph of what it learned, decided and corrected, and the search over it.
#![forbid(unsafe_code)]

pub mod files;
pub mod search;
