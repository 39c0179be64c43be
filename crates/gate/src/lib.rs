//! The gate: who is asking, and is it still true.
//!
//! [`Gate::authenticate`] turns a bearer token into a [`Principal`](quad_core::Principal), [`Gate::mint`] makes such
//! tokens, and [`Gate::open_session`] gives a legacy client the signed string that it calls its session. All three
//! hang on one signing key, which [`KeyHome`] keeps: a 0600 file beside SQLite, an encrypted row on PostgreSQL.
//!
//! The gate decides *who*, never *what they may do with which address*: that is decided from the address's shape, by
//! the resolver. It knows no socket and no protocol message; it is handed the text of an `Authorization` header.
//! No token, key or session id is ever logged.
#![forbid(unsafe_code)]

mod gate;
mod grant;
mod jws;
mod key;
mod key_home;
mod limits;
mod refusal;
mod schema;
mod secret_file;
mod session;
mod sign;
mod token;
mod verdicts;

pub use gate::Gate;
pub use key_home::KeyHome;
pub use refusal::{Reason, Refusal};
pub use schema::COMPONENT;
pub use session::{Session, SessionRefusal};
pub use sign::Signature;
pub use token::{MintRequest, Minted, TokenRecord};
