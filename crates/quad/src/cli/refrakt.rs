//! `quad refrakt`: the project, its runes and its plan.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `quad refrakt …`
#[derive(Debug, Subcommand)]
pub enum RefraktCommand {
    /// Show, check and change the project's plan
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Print what the folder contains (plan, sites, plugins) and problems of its configuration
    Detect,
    /// Print the structure contract of every rune of a site, as JSON
    Contracts {
        /// The site's name; required if the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
    /// Render the example of a rune with the given attributes
    Inspect {
        /// The rune, by name or alias
        rune: String,
        /// Set an attribute of the rune; `--type=warning` is short for `--attribute type=warning`, `--type=all` shows
        /// every value
        #[arg(long, value_name = "NAME=VALUE")]
        attribute: Vec<String>,
        /// The site's name; required if the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
    /// Render a Markdoc text with the project's runes
    Render {
        /// The file ("-" reads standard input)
        file: PathBuf,
        /// Use the runes of the project's site, or all official runes
        #[arg(long, value_name = "WHICH", value_enum, default_value_t = PluginSet::Project)]
        plugins: PluginSet,
        /// The site's name; required if the project has several
        #[arg(long, value_name = "NAME", conflicts_with = "plugins")]
        site: Option<String>,
    },
    /// Print the syntax reference of the runes, as Markdown
    Reference {
        /// One rune [default: all of them]
        rune: Option<String>,
        /// The site's name; required if the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
}

/// The runes that a text is rendered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PluginSet {
    /// The runes of the project's site; all official runes if there is no site
    Project,
    /// The core runes and the nine official plugins
    All,
}

/// `quad refrakt plan …`
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Print the status of the plan
    Status {
        /// Show the progress of this milestone instead of the current one
        #[arg(long, value_name = "NAME")]
        milestone: Option<String>,
    },
    /// List the entities that can be started now, the most important first
    Next {
        /// Print at most this many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000))]
        count: u64,
        /// List only entities of this milestone
        #[arg(long, value_name = "NAME")]
        milestone: Option<String>,
        /// List only entities with this tag
        #[arg(long)]
        tag: Option<String>,
        /// List only entities assigned to this person or agent
        #[arg(long, value_name = "NAME")]
        assignee: Option<String>,
        /// List only work, only bugs, or all
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// List the entities of the plan: id, type, status and file
    Index {
        /// List only this type: spec, work, bug, decision or milestone
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
        /// List only entities with this status
        #[arg(long)]
        status: Option<String>,
        /// List only entities of this milestone
        #[arg(long, value_name = "NAME")]
        milestone: Option<String>,
        /// List only entities with this tag
        #[arg(long)]
        tag: Option<String>,
        /// List only entities assigned to this person or agent
        #[arg(long, value_name = "NAME")]
        assignee: Option<String>,
    },
    /// List what the git commits changed in one entity, or in all, newest first
    History(PlanHistory),
    /// Make a plan: folders, an example of each type, and the entry in the configuration; what exists stays
    Init {
        /// The folder of the plan, below the project [default: plan]
        #[arg(value_name = "FOLDER")]
        dir: Option<String>,
        /// Leave refrakt.config.json as it is
        #[arg(long)]
        no_config: bool,
    },
    /// Create an entity in a new file
    Create(PlanCreate),
    /// Change entities in their files; the rest of each file stays byte for byte
    Update(PlanUpdate),
    /// Check the whole plan; the exit code is 2 if there is an error
    Validate {
        /// Count warnings as errors
        #[arg(long)]
        strict: bool,
    },
}

/// `quad refrakt plan history`
#[derive(Args, Debug)]
pub struct PlanHistory {
    /// The id of an entity [default: the whole plan]
    pub id: Option<String>,
    /// Print at most this many events [default: 20 of one entity, 50 of the plan]
    #[arg(long, short = 'n', value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000))]
    pub limit: Option<u64>,
    /// Only what is newer: 7d, 2w, 3m, 1y or a date
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only entities of these types, separated by commas
    #[arg(long = "type", value_name = "TYPES")]
    pub kind: Option<String>,
    /// Only commits of authors whose name contains this
    #[arg(long, value_name = "NAME")]
    pub author: Option<String>,
    /// Only what set this status
    #[arg(long)]
    pub status: Option<String>,
    /// Also changes of text alone, in the history of the whole plan
    #[arg(long)]
    pub all: bool,
}

/// `quad refrakt plan create`
#[derive(Args, Debug)]
pub struct PlanCreate {
    /// The type: spec, work, bug, decision or milestone
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// The title
    pub title: String,
    /// The id; for a milestone, its name [default: the next free id]
    #[arg(long)]
    pub id: Option<String>,
    /// Set an attribute, such as priority=high (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Read the text below the title from this file ("-" reads standard input) [default: the sections that the type
    /// needs]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `quad refrakt plan update`
#[derive(Args, Debug)]
pub struct PlanUpdate {
    /// The ids of the entities
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// The new status
    #[arg(long)]
    pub status: Option<String>,
    /// Set an attribute, such as priority=high; an empty value removes it (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// Tick a criterion: its text, a part of it, or its number (repeatable)
    #[arg(long, value_name = "CRITERION")]
    pub check: Vec<String>,
    /// Untick a criterion (repeatable)
    #[arg(long, value_name = "CRITERION")]
    pub uncheck: Vec<String>,
    /// The resolution
    #[arg(long, value_name = "TEXT")]
    pub resolve: Option<String>,
    /// Change the file only if its SHA-256 is this
    #[arg(long, value_name = "HASH")]
    pub if_hash: Option<String>,
    /// Print the changes as a diff, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}
