//! Every limit of this crate, with its reason.

/// Largest `refrakt.config.json` or `package.json` in bytes; real ones are a few kilobytes.
pub const CONFIG_FILE_BYTES_MAX: u64 = 1 << 20;

/// Most sites of one project, so that detection stays a matter of milliseconds.
pub const SITES_MAX: usize = 64;

/// Most plugins of one site, and most dependencies looked at: each costs a look into `node_modules`.
pub const PLUGINS_MAX: usize = 256;

/// Most Markdown files under the plan folder; five times the size that the index is measured at.
pub const PLAN_FILES_MAX: usize = 50_000;

/// Largest plan file in bytes; the longest known is 90 kB.
pub const PLAN_FILE_BYTES_MAX: u64 = 1 << 20;

/// Deepest folder below the plan folder that is looked into.
pub const PLAN_DEPTH_MAX: usize = 32;

/// Most rings of dependencies that a validation reports: whoever has more mends these first, and each can be as long as the plan.
pub const CYCLES_MAX: usize = 100;
