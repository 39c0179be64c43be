//! `refrakt://`: an agent's project: what its folder holds ([`project`]) and what its plan says ([`plan`]). Its runes are
//! those of `quad-runes`.
#![forbid(unsafe_code)]

pub mod limits;
pub mod plan;
pub mod project;
