//! URIs, the templates that advertise them, and the router that maps a URI to its template.
//!
//! An agent sends a string. [`Router::route`] turns it into an [`Address`], which is valid by
//! construction: its scheme is known, one template matches it, and every variable is decoded and
//! matches its [`Grammar`]. Code that receives an `Address` checks nothing again.
//!
//! ```
//! use quad_address::{Grammar, RouteSpec, Router};
//!
//! let mut router = Router::new();
//! router.add(RouteSpec::parse("amem://node/{id}")?.with_grammar("id", Grammar::Integer), "one node")?;
//! router.add(RouteSpec::parse("brain://wiki/{+slug}")?, "one page")?;
//!
//! let (address, resource) = router.route("AMEM://node/%37")?;
//! assert_eq!(*resource, "one node");
//! assert_eq!(address.variable("id"), Some("7"));
//! assert_eq!(address.canonical(), "amem://node/7");
//! assert_eq!(address.requested(), "AMEM://node/%37");
//!
//! let (page, _) = router.route("brain://wiki//monthly-summaries%2F2025-09")?;
//! assert_eq!(page.canonical(), "brain://wiki/monthly-summaries/2025-09");
//!
//! let error = router.route("amem://nodes/7").unwrap_err();
//! assert_eq!(error.hint().as_deref(), Some("Use amem://node/{id}, the nearest template"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # How a URI is parsed
//! 1. **Length**, then **characters**: at most [`limits::URI_BYTES_MAX`] bytes; no control
//!    characters or spaces. Other characters that RFC 3986 requires to be escaped, such as `é`, are
//!    treated as if they were escaped.
//! 2. **Escapes**: every `%` is followed by two hexadecimal digits, and the decoded text is UTF-8
//!    without control characters. Decoding happens once, after splitting: `%252F` is the text `%2F`.
//! 3. **Structure**: `scheme://`, then one path split on `/`, then an optional query. The first
//!    segment is not a host: `bkend://orgs/org_1` has two segments. The scheme is case-insensitive;
//!    the rest is compared byte by byte. No fragment, no user information, no `.` or `..`, no empty
//!    segment, except that the value of a `{+x}` may begin with `/`.
//! 4. **Route**: literal segments win over variables, and both over a `{+x}` tail (see [`Router`]).
//! 5. **Variables and query**: each value must match its grammar. Query keys may be in any order,
//!    each at most once, and only those that the template declares. A `+` in a query is a plus
//!    sign: RFC 6570 writes a space as `%20`, and form encoding is not supported.
//!
//! This crate does no I/O. It must not know the schemes that use it or the protocol that sends its
//! errors.

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
pub use closest::{closest, closest_few, nearest_first};
pub use error::{AddressError, UriSyntaxError};
pub use grammar::Grammar;
pub use route::{RouteError, RouteId, RouteSpec};
pub use router::Router;
pub use template::{ExpandError, Template};
pub use template_parser::TemplateError;
pub use variables::Variables;
