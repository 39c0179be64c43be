//! Authentication: which principal a request belongs to, and whether its credential is still valid.
//!
//! [`AuthService::authenticate`] turns a bearer token into a [`Principal`](quad_core::Principal).
//! [`AuthService::mint`] creates such tokens. [`AuthService::open_session`] gives a client of an older protocol
//! revision its session id, a signed string. All three use the signing keys of [`KeyStorage`]: a file with mode 0600
//! for SQLite, encrypted rows for PostgreSQL. The scopes of a token are limited by the registration of its holder
//! ([`AgentRecord`]). Tokens of an external [`Issuer`] are verified with the keys of the issuer. [`RateLimiter`]
//! limits the requests of a tenant.
//!
//! This crate decides *who* calls. Which resources the caller may use is decided by the resolver. This crate does not
//! know sockets or protocol messages: it gets the text of an `Authorization` header. Tokens, keys and session ids are
//! never logged.
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
pub mod passphrase_encryption;
mod rate_limit;
mod refusal_counter;
mod reloading;
mod schema;
mod scope_hash;
mod secret_file;
mod service;
mod session;
mod signing;
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
