//! The project: a folder with a `refrakt.config.json`, a plan, both or neither.
//!
//! [`detect`](detect::detect) returns a [`Project`]: sites with their runes, the plan, plugins, and all problems. Files
//! are read through [`project_dir`] and written through [`atomic_write`] only. Change detection is in
//! [`project_cache`](crate::project_cache).

pub mod atomic_write;
pub mod config;
pub mod detect;
pub(crate) mod dir_listing;
pub mod git_log;
mod json_position;
pub mod plan_config;
mod plugin;
pub mod project_dir;
mod site;

pub use config::{Config, ConfigShape, SiteConfig};
pub use detect::{Project, detect};
pub use plugin::{Plugin, PluginRunes, PluginSource};
pub use site::{Site, SiteError};

/// Name of the configuration file.
pub const CONFIG_FILE: &str = "refrakt.config.json";

/// The plan folder, unless the configuration names another.
pub const PLAN_DIR: &str = "plan";
