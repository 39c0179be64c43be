//! Runes: what they are ([`catalogue`]), what markup they promise ([`contracts`]) and how they are written ([`reference`]).
//!
//! Pure functions over values: no file, no socket, no database.
#![forbid(unsafe_code)]

pub mod catalogue;
mod collation;
pub mod content;
pub mod contracts;
pub mod html;
pub mod identity;
pub mod inspect;
pub mod limits;
pub mod native;
pub mod reference;
pub mod render;
pub mod schema;
mod script;
pub mod selectors;
pub mod tree;
pub mod value;
