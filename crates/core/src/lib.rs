//! The types that all schemes share, and the one path that every read takes.
//!
//! A [`Principal`] asks the [`Resolver`] for an address. The resolver decides from the *shape* of the address
//! which scope the caller needs, looks in the [`cache`], asks the [`Scheme`] that owns the address, and
//! answers when the [`AuditLog`] has appended the audit event. A scheme returns a [`ReadOutput`]: the
//! contents, and the [`ReadSet`] that they were computed from.
//!
//! This crate must not know protocol messages, sockets or SQL.
#![forbid(unsafe_code)]

mod arguments;
pub mod audit_fields;
pub mod audit_log;
pub mod cache;
pub mod canonical;
pub mod change_feed;
pub mod contents;
pub mod cursor;
pub mod error;
pub mod event;
pub mod id;
pub mod input_file;
pub mod json;
pub mod limits;
pub mod link_index;
pub mod lock;
mod optimistic_retry;
pub mod principal;
pub mod prompt;
pub mod read_set;
pub mod resolver;
pub mod resource_tools;
mod route_cache;
pub mod route_table;
pub mod scheme;
pub mod scope;
pub mod side_effect;
pub mod strict_json;
pub mod text;
pub mod time;
pub mod tool;
pub mod tool_schema;
mod tool_suggestion;
pub mod tool_table;

pub use arguments::entry_preparer;
pub use audit_log::{AppendError, AuditLog, HeadLease, PendingAppend, ReadSets, Receipt};
pub use change_feed::{Change, ChangeFeed};
pub use contents::{Body, Content, ReadOutput, SerializedRead};
pub use error::{Error, Kind, Result};
pub use event::EventDraft;
pub use json::{JsonArrayWriter, JsonObjectWriter, JsonText, write_json_string};
pub use link_index::{LinkIndex, VisibleLinks};
pub use principal::{Principal, PrincipalKind, TenantId};
pub use quad_address::{Address, Grammar, RouteSpec, Template, Variables, closest, nearest_first};
pub use read_set::{ReadSet, Tag, Version};
pub use resolver::Resolver;
pub use route_table::{RouteDef, RouteTable};
pub use scheme::{Route, Scheme};
pub use scope::{ScopeRequirement, ScopeSet};
pub use side_effect::SideEffect;
pub use time::Timestamp;
pub use tool::{Tool, ToolOutput};
pub use tool_table::{ToolEntry, ToolTable};

/// A boxed future, so that the traits of this crate can be used as trait objects.
pub type BoxFuture<'a, T> = std::pin::Pin<Box<dyn Future<Output = T> + Send + 'a>>;
