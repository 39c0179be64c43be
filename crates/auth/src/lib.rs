//! The gate: who is asking, and is it still true.
//!
//! [`AuthService::authenticate`] turns a bearer token into a [`Principal`](quad_core::Principal), [`AuthService::mint`] makes such
//! tokens, and [`AuthService::open_session`] gives a legacy client the signed string that it calls its session. All three
//! hang on the signing keys, which [`KeyStorage`] keeps: a 0600 file beside SQLite, encrypted rows on PostgreSQL. What a token
//! claims counts only within its holder's registration ([`AgentRecord`]); tokens of an external [`Issuer`] are checked with
//! the issuer's own keys, and [`RateLimiter`] says how many requests a tenant may send.
//!
//! The gate decides *who*, never *what they may do with which address*: that is decided from the address's shape, by
//! the resolver. It knows no socket and no protocol message; it is handed the text of an `Authorization` header.
//! No token, key or session id is ever logged.
#![forbid(unsafe_code)]

mod agent;
mod auth_error;
#[doc(hidden)]
pub mod fuzzing;
mod grant;
mod issuer;
mod jwk;
mod jws;
mod key;
mod key_cache;
mod key_encryption;
mod key_file;
mod key_rotation;
mod key_storage;
mod keyring;
pub mod limits;
mod rate_limit;
mod refusal_counter;
mod reloading;
mod schema;
mod scope_hash;
mod secret_file;
mod service;
mod session;
mod signing;
mod strict_json;
mod token;
mod token_cache;

pub use agent::{AgentRecord, AgentState, RegisterRequest};
pub use auth_error::{AuthError, AuthErrorKind};
pub use issuer::{ClaimNames, Issuer, IssuerConfig};
pub use jwk::Algorithm;
pub use key_rotation::KeyRecord;
pub use key_storage::KeyStorage;
pub use rate_limit::{RateLimit, RateLimiter};
pub use schema::COMPONENT;
pub use service::AuthService;
pub use session::{Session, SessionError};
pub use signing::Signature;
pub use token::{MintRequest, MintedToken, TokenRecord};
