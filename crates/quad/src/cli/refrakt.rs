//! `quad refrakt`: the project, its runes and its plan.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

/// `quad refrakt …`
#[derive(Debug, Subcommand)]
pub enum RefraktCommand {
    /// The project's plan
    Plan {
        #[command(subcommand)]
        command: PlanCommand,
    },
    /// Say what the folder is: plan, sites, plugins, and what is wrong with its configuration
    Detect,
    /// Print the markup that every rune of a site promises, as JSON
    Contracts {
        /// The site, by name; needed where the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
    /// Show what a rune becomes: its example, rendered with the attributes given
    Inspect {
        /// The rune, by name or alias
        rune: String,
        /// An attribute of the rune; `--type=warning` is short for `--attribute type=warning`, and `--type=all` shows every value
        #[arg(long, value_name = "NAME=VALUE")]
        attribute: Vec<String>,
        /// The site, by name; needed where the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
    /// Render a Markdoc text with the project's runes
    Render {
        /// The file, or - for standard input
        file: PathBuf,
        /// Whose runes: those of the project's site, or all official ones, whatever the project is
        #[arg(long, value_name = "WHICH", value_enum, default_value_t = PluginSet::Project)]
        plugins: PluginSet,
        /// The site, by name; needed where the project has several
        #[arg(long, value_name = "NAME", conflicts_with = "plugins")]
        site: Option<String>,
    },
    /// Print how runes are written, as Markdown
    Reference {
        /// One rune [default: all of them]
        rune: Option<String>,
        /// The site, by name; needed where the project has several
        #[arg(long, value_name = "NAME")]
        site: Option<String>,
    },
}

/// Whose runes a text is rendered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PluginSet {
    /// Those of the project's site; all official ones where there is no site
    Project,
    /// The core and the nine official plugins
    All,
}

/// `quad refrakt plan …`
#[derive(Debug, Subcommand)]
pub enum PlanCommand {
    /// Say how the plan stands
    Status {
        /// Show the progress of this milestone instead of the current one
        #[arg(long, value_name = "NAME")]
        milestone: Option<String>,
    },
    /// List what can be started now, the most important first
    Next {
        /// How many
        #[arg(long, short = 'n', value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1_000))]
        count: u64,
        /// Only what belongs to this milestone
        #[arg(long, value_name = "NAME")]
        milestone: Option<String>,
        /// Only what has this tag
        #[arg(long)]
        tag: Option<String>,
        /// Only what this person or agent does
        #[arg(long, value_name = "NAME")]
        assignee: Option<String>,
        /// Only work or only bugs
        #[arg(long = "type", value_name = "TYPE")]
        kind: Option<String>,
    },
    /// Make a new entity in a file of its own
    Create(PlanCreate),
    /// Change entities in their files, and nothing else in these files
    Update(PlanUpdate),
    /// Check the whole plan; ends with 2 where there is an error
    Validate {
        /// Count warnings as errors
        #[arg(long)]
        strict: bool,
    },
}

/// `quad refrakt plan create`
#[derive(Args, Debug)]
pub struct PlanCreate {
    /// What it is: spec, work, bug, decision or milestone
    #[arg(value_name = "TYPE")]
    pub kind: String,
    /// Its heading
    pub title: String,
    /// Its id; of a milestone its name [default: the next free one]
    #[arg(long)]
    pub id: Option<String>,
    /// An attribute, such as priority=high (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A file with what follows the heading ("-" reads standard input) [default: the sections that the type needs]
    #[arg(long, value_name = "FILE")]
    pub body: Option<PathBuf>,
    /// Only show what would be written
    #[arg(long)]
    pub dry_run: bool,
}

/// `quad refrakt plan update`
#[derive(Args, Debug)]
pub struct PlanUpdate {
    /// The entities, by id
    #[arg(value_name = "ID", required = true)]
    pub ids: Vec<String>,
    /// The new state
    #[arg(long)]
    pub status: Option<String>,
    /// An attribute, such as priority=high; without a value it is taken away (repeatable)
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// A criterion to tick: its text, a part of it, or its number (repeatable)
    #[arg(long, value_name = "CRITERION")]
    pub check: Vec<String>,
    /// A criterion to clear (repeatable)
    #[arg(long, value_name = "CRITERION")]
    pub uncheck: Vec<String>,
    /// How it ended
    #[arg(long, value_name = "TEXT")]
    pub resolve: Option<String>,
    /// SHA-256 of the file as it was read; anything else there refuses the change
    #[arg(long, value_name = "HASH")]
    pub if_hash: Option<String>,
    /// Only show what would change, as a diff
    #[arg(long)]
    pub dry_run: bool,
}
