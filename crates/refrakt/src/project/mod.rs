//! The project: a folder with a `refrakt.config.json`, a plan, both or neither.
//!
//! [`detect`](detect::detect) looks at the folder and gives a [`Project`], a value that says what is there: sites with their
//! runes, the plan, plugins, and whatever is wrong. All looking is done in [`folder`]; everything else is pure.

pub mod config;
pub mod detect;
pub mod folder;
mod json_place;
mod plugin;
mod site;

pub use config::{Config, ConfigProblem, ConfigShape, SiteConfig};
pub use detect::{Project, detect};
pub use plugin::{Plugin, PluginRunes, PluginSource};
pub use site::{Site, SiteError};

/// Name of the configuration file.
pub const CONFIG_FILE: &str = "refrakt.config.json";

/// Where the plan lies unless the configuration says otherwise.
pub const PLAN_DIR: &str = "plan";
