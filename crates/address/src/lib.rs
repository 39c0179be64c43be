//! Addresses: the URIs that agents read, the templates that advertise them, and the router between.
//!
//! An agent sends a string. [`Router::route`] turns it into an [`Address`], a value that cannot be
//! wrong: its scheme is known, one template matched it, every variable is decoded and lies within
//! its [`Grammar`]. Whoever receives an `Address` trusts it and checks nothing again.
//!
//! ```
//! use quad_address::{Grammar, RouteSpec, Router};
//!
//! let mut router = Router::new();
//! router.add(RouteSpec::parse("amem://node/{id}")?.with("id", Grammar::Integer), "one node")?;
//! router.add(RouteSpec::parse("brain://wiki/{+slug}")?, "one page")?;
//!
//! let (address, noun) = router.route("AMEM://node/%37")?;
//! assert_eq!(*noun, "one node");
//! assert_eq!(address.variable("id"), Some("7"));
//! assert_eq!(address.canonical(), "amem://node/7");
//! assert_eq!(address.requested(), "AMEM://node/%37");
//!
//! let (page, _) = router.route("brain://wiki//monthly-summaries%2F2025-09")?;
//! assert_eq!(page.canonical(), "brain://wiki/monthly-summaries/2025-09");
//!
//! let mistake = router.route("amem://nodes/7").unwrap_err();
//! assert_eq!(mistake.hint().as_deref(), Some("nearest template: amem://node/{id}"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a URI is read
//! 1. **Length**, then **characters**: nothing longer than [`limits::URI_BYTES_MAX`]; no control
//!    character or space. Other characters that RFC 3986 wants escaped, such as `é`, are read as if
//!    they were.
//! 2. **Escapes**: every `%` has two hexadecimal digits, and what they spell is UTF-8 without
//!    control characters. Decoding happens once, after splitting: `%252F` is the text `%2F`.
//! 3. **Structure**: `scheme://`, then one path split on `/`, then an optional query. The first
//!    segment is no host: `bkend://orgs/org_1` has two segments. The scheme ignores case; all else
//!    is byte-exact. No fragment, no user information, no `.` or `..`, no empty segment, except
//!    that the value of a `{+x}` may begin with `/`.
//! 4. **Route**: literal segments win over variables, a `{+x}` tail comes last (see [`Router`]).
//! 5. **Variables and query**: each value is held against its grammar. Query keys come in any
//!    order, each at most once, and only those that the template declares. A `+` in a query is a
//!    plus: RFC 6570 writes a space as `%20`, and the form encoding of browsers is not used here.
//!
//! This crate does no I/O, and knows neither the schemes that use it nor the protocol that carries
//! its errors.

#![forbid(unsafe_code)]

mod address;
mod closest;
mod encoding;
mod error;
mod grammar;
pub mod limits;
mod path;
mod raw_uri;
mod route;
mod router;
mod template;
mod template_parser;
mod trie;
mod variables;

pub use address::Address;
pub use closest::{closest, closest_few};
pub use error::{AddressError, UriSyntaxError};
pub use grammar::Grammar;
pub use route::{RouteError, RouteId, RouteSpec};
pub use router::Router;
pub use template::{ExpandError, Template};
pub use template_parser::TemplateError;
pub use variables::Variables;
