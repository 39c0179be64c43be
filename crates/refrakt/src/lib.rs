//! `refrakt://`: an agent's project. What its runes are ([`catalogue`]), what markup they promise ([`contracts`]) and how they
//! are written ([`reference`]).
//!
//! Pure functions over values; knows no other scheme, no protocol message and no socket.
#![forbid(unsafe_code)]

pub mod catalogue;
pub mod contracts;
pub mod limits;
pub mod plan;
pub mod project;
pub mod reference;
