//! The project: a folder with a `refrakt.config.json`, a plan, both or neither.
//!
//! [`detect`](detect::detect) looks at the folder and gives a [`Project`], a value that says what is there: sites with their
//! runes, the plan, plugins, and whatever is wrong. Looking is done in [`folder`], [`notes`] and [`survey`], listening in
//! `watch`, writing in [`writing`]; everything else is pure.

pub mod atomic_write;
pub mod config;
pub mod detect;
pub mod dir_scan;
pub mod fs_dependencies;
mod json_position;
mod plugin;
pub mod project_dir;
mod site;
mod watch;

pub use config::{Config, ConfigProblem, ConfigShape, SiteConfig};
pub use detect::{Project, detect};
pub use plugin::{Plugin, PluginRunes, PluginSource};
pub use site::{Site, SiteError};

/// Name of the configuration file.
pub const CONFIG_FILE: &str = "refrakt.config.json";

/// Where the plan lies unless the configuration says otherwise.
pub const PLAN_DIR: &str = "plan";
