//! `refrakt://`: an agent's project: what its folder holds ([`project`]), what its plan says ([`plan`]), which pages its sites have
//! ([`pages`]), how all of it is followed as it changes ([`live`]), what is wrong with a page ([`content`]), and all of it as
//! addresses and tools ([`Refrakt`]). Its runes are those of `quad-runes`.
//!
//! Reading never writes into the folder. This crate knows no other scheme, no protocol message and no socket.
#![forbid(unsafe_code)]

mod blocking;
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
