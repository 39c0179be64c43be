//! The command line: every command, flag and word of help.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use quad_core::Timestamp;

/// A resource server for AI agents: one address for every noun, over the Model Context Protocol.
///
/// Settings come from flags, then from QUAD_* variables, then from quad.toml, then from defaults. Exit codes: 0 done,
/// 1 our fault, 2 bad input or usage, 3 not found, 4 scope missing, 5 conflict, 6 limit or busy.
#[derive(Debug, Parser)]
#[command(name = "quad", version, max_term_width = 100)]
pub struct Cli {
    #[command(flatten)]
    pub common: Common,
    #[command(subcommand)]
    pub command: Command,
}

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct Common {
    /// The folder of the database and the keys [default: quad in the XDG data home]
    #[arg(long, global = true, env = "QUAD_DATA_DIR", value_name = "DIR")]
    pub data_dir: Option<PathBuf>,
    /// Keep the data in PostgreSQL instead of the folder
    #[arg(long, global = true, env = "QUAD_DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub database_url: Option<String>,
    /// The settings file [default: quad.toml here, then in the XDG configuration home]
    #[arg(long, global = true, env = "QUAD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The tenant on whose behalf to act [default: local]
    #[arg(long, global = true, env = "QUAD_TENANT", value_name = "NAME")]
    pub tenant: Option<String>,
    /// The folder of the project that refrakt:// serves [default: the working directory]
    #[arg(long, global = true, env = "QUAD_PROJECT", value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Print results and errors as JSON
    #[arg(long, global = true)]
    pub json: bool,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve over HTTP, on loopback unless told otherwise
    Serve(Serve),
    /// Serve one client over standard input and output
    Stdio(Stdio),
    /// Read an address and print what is there
    Read {
        /// The address, such as bkend://orgs
        uri: String,
    },
    /// List the addresses that can be read
    Ls {
        /// Only those that start with this
        prefix: Option<String>,
    },
    /// List the address templates
    Templates,
    /// Call a tool
    Call {
        /// The tool's name
        tool: String,
        /// Its arguments, a JSON object ("-" reads them from standard input)
        #[arg(default_value = "{}", value_name = "JSON")]
        arguments: String,
    },
    /// Print a line whenever an address changes, until interrupted
    Watch {
        /// The address
        uri: String,
    },
    /// Check that everything is in order, and say what is not
    Doctor {
        /// Read all of every tenant's memory: counters, lists, edges and search indexes must agree
        #[arg(long)]
        deep: bool,
    },
    /// Print the configuration snippet of an MCP client
    ClientConfig {
        /// The client
        name: Client,
        /// Connect over HTTP to a running `quad serve` instead of starting one
        #[arg(long)]
        http: bool,
    },
    /// Copy the database into a file, while it is in use
    Backup {
        /// The file; it must not exist
        file: PathBuf,
    },
    /// Tenants: who owns the data
    Tenant {
        #[command(subcommand)]
        command: TenantCommand,
    },
    /// The backend scheme, bkend://
    Bkend {
        #[command(subcommand)]
        command: BkendCommand,
    },
    /// The money scheme, brain://
    Brain {
        #[command(subcommand)]
        command: BrainCommand,
    },
    /// The project scheme, refrakt://
    Refrakt {
        #[command(subcommand)]
        command: RefraktCommand,
    },
    /// The memory scheme, amem://
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Tokens: who may come in
    Token {
        #[command(subcommand)]
        command: TokenCommand,
    },
    /// The audit trail: what happened, and the proof of it
    Audit(Audit),
    /// Agents: who is registered, with what, and whether they may come in
    Agent {
        #[command(subcommand)]
        command: AgentCommand,
    },
    /// The keys that sign tokens and sessions
    Key {
        #[command(subcommand)]
        command: KeyCommand,
    },
    /// Markdoc: Markdown with tags
    Markdoc {
        #[command(subcommand)]
        command: MarkdocCommand,
    },
    /// Print the completion script of a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
}

/// `quad serve`
#[derive(Args, Debug)]
pub struct Serve {
    /// Where to listen [default: 127.0.0.1:4704]
    #[arg(long, env = "QUAD_LISTEN", value_name = "ADDRESS:PORT")]
    pub listen: Option<String>,
    /// Serve everyone on this machine as the local tenant's agent; loopback only
    #[arg(long, env = "QUAD_NO_AUTH", value_parser = clap::builder::BoolishValueParser::new(), num_args = 0..=1, default_missing_value = "true")]
    pub no_auth: Option<bool>,
    /// Further host names under which clients reach this server (repeatable)
    #[arg(long, env = "QUAD_ALLOWED_HOSTS", value_name = "HOST", value_delimiter = ',')]
    pub allowed_hosts: Option<Vec<String>>,
    /// How clients outside reach this server, such as https://quad.example.com [default: as each request does]
    #[arg(long, env = "QUAD_PUBLIC_URL", value_name = "URL")]
    pub public_url: Option<String>,
    /// Which tools to list: the core ones or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// When an answered read is on the disk in the audit trail: before it is answered, or soon after
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
}

/// `quad stdio`
#[derive(Args, Debug)]
pub struct Stdio {
    /// Serve one scheme only
    #[arg(long, value_name = "SCHEME")]
    pub only: Option<String>,
    /// Which tools to list: the core ones or all; every tool can be called either way
    #[arg(long, env = "QUAD_TOOLS", value_name = "PROFILE")]
    pub tools: Option<Tools>,
    /// When an answered read is on the disk in the audit trail: before it is answered, or soon after
    #[arg(long, env = "QUAD_AUDIT", value_name = "MODE")]
    pub audit: Option<Durability>,
}

/// How far the audit event of a read has come when the read is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Durability {
    /// On the disk
    Durable,
    /// Committed, and on the disk soon: a power failure may take the last moments, the end of the process does not
    Async,
}

/// Which tools `tools/list` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Tools {
    /// At most ten a scheme.
    Core,
    /// Every one.
    All,
}

/// Clients whose configuration we can print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Client {
    /// Claude Code, `.mcp.json`
    ClaudeCode,
    /// Claude Desktop, `claude_desktop_config.json`
    ClaudeDesktop,
    /// Cursor, `.cursor/mcp.json`
    Cursor,
    /// Visual Studio Code, `.vscode/mcp.json`
    Vscode,
    /// The MCP Inspector, `mcp.json`
    Inspector,
    /// Codex, `config.toml`
    Codex,
}

/// `quad tenant …`
#[derive(Debug, Subcommand)]
pub enum TenantCommand {
    /// Make a tenant
    Add {
        /// Its name
        name: String,
    },
    /// List the tenants
    List,
}

/// `quad bkend …`
#[derive(Debug, Subcommand)]
pub enum BkendCommand {
    /// Organizations
    Org {
        #[command(subcommand)]
        command: OrgCommand,
    },
    /// Load organizations, projects, environments, tables and records from JSON lines, keeping their ids
    Load {
        /// The file
        file: PathBuf,
    },
}

/// `quad bkend org …`
#[derive(Debug, Subcommand)]
pub enum OrgCommand {
    /// Make an organization
    Add {
        /// Its name
        name: String,
        /// Its slug [default: made from the name]
        #[arg(long)]
        slug: Option<String>,
        /// Its id, to keep one from elsewhere [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
    /// List the organizations
    List,
}

/// `quad brain …`
#[derive(Debug, Subcommand)]
pub enum BrainCommand {
    /// Import bank statements: CSV, OFX or QFX, camt.053, hledger journals
    ///
    /// The file is kept as evidence, and every row that comes of it cites it. The same file again, or one that overlaps,
    /// adds nothing twice.
    Import(BrainImport),
    /// Add a row by hand
    Add {
        #[command(subcommand)]
        command: BrainAdd,
    },
    /// Load accounts, counterparties, transactions and more from JSON lines, keeping their ids
    Load {
        /// The file
        file: PathBuf,
    },
    /// Write the ledger as a journal that hledger reads
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
    },
    /// End the hold on a new agent's contributions, and read what it has contributed into the ledger
    Release {
        /// The agent
        agent: String,
    },
    /// Withdraw a piece of evidence: its bytes stay, nothing new is made of it
    Tombstone {
        /// Its id
        id: String,
    },
}

/// `quad brain import`
#[derive(Args, Debug)]
pub struct BrainImport {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The account that they are of, by id; needed where a file names none
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// The currency, where a file names none
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// How a column is read, such as date=Buchungstag, amount=Betrag or order=dmy (repeatable)
    #[arg(long, value_name = "SETTING")]
    pub map: Vec<String>,
    /// Only say what would be done
    #[arg(long)]
    pub dry_run: bool,
}

/// `quad brain add …`
#[derive(Debug, Subcommand)]
pub enum BrainAdd {
    /// An account
    Account {
        /// What it is called
        name: String,
        /// Its currency, such as EUR
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// What sort of account: bank_checking, bank_savings, card, loan, line_of_credit, onchain, payment_processor
        #[arg(long = "type", value_name = "TYPE")]
        account_type: Option<String>,
        /// The bank
        #[arg(long)]
        institution: Option<String>,
        /// Its number at the bank, by which statements name it
        #[arg(long)]
        number: Option<String>,
        /// What it holds
        #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
        balance: Option<String>,
        /// Its id [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
    /// A counterparty
    Counterparty {
        /// What it is called
        name: String,
        /// What sort of counterparty: vendor, customer, merchant, employee, bank, …
        #[arg(long = "type", value_name = "TYPE")]
        counterparty_type: Option<String>,
        /// Another name (repeatable)
        #[arg(long, value_name = "NAME")]
        alias: Vec<String>,
        /// Its id [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
    /// Something that is owed
    Obligation {
        /// To or by whom, by id
        #[arg(long, value_name = "ID")]
        counterparty: String,
        /// How much
        #[arg(long)]
        amount: String,
        /// In which currency
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// Until when
        #[arg(long, value_name = "DATE")]
        due: String,
        /// What sort of obligation: bill, invoice, subscription, loan, rent, payroll, tax, …
        #[arg(long = "type", value_name = "TYPE")]
        obligation_type: Option<String>,
        /// payable or receivable
        #[arg(long, value_name = "DIRECTION")]
        direction: Option<String>,
        /// How often it recurs, such as monthly
        #[arg(long)]
        recurrence: Option<String>,
        /// Its id [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
    /// An invoice
    Invoice {
        /// Its number
        number: String,
        /// Of or to whom, by id
        #[arg(long, value_name = "ID")]
        counterparty: String,
        /// How much
        #[arg(long)]
        amount: String,
        /// How much of it is paid
        #[arg(long, value_name = "AMOUNT")]
        paid: Option<String>,
        /// In which currency
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// When it was issued
        #[arg(long, value_name = "DATE")]
        issued: String,
        /// Until when it is to be paid
        #[arg(long, value_name = "DATE")]
        due: Option<String>,
        /// Its id [default: a new one]
        #[arg(long)]
        id: Option<String>,
    },
}

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

/// `quad memory …`
#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// Take the memories of a file into the graph; those that are there already are not taken twice
    ///
    /// The file's kind is seen from what is in it: the .amem of agentic-memory, the JSONL of
    /// @modelcontextprotocol/server-memory, or what `quad memory export` wrote. An import that was interrupted is
    /// simply run again. Lines that cannot be used are reported and left out; the exit code is then 2.
    Import {
        /// The file
        file: PathBuf,
    },
    /// Write the graph into a file, as of now
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
        /// What sort of file
        #[arg(long, value_name = "FORMAT", default_value = "jsonl")]
        format: MemoryFormat,
    },
}

/// The kinds of files that memories are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum MemoryFormat {
    /// Our own, which loses nothing
    Jsonl,
    /// That of agentic-memory
    Amem,
    /// That of @modelcontextprotocol/server-memory
    ServerMemory,
}

/// `quad token …`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Make a token and print it; it is shown this once
    Mint(Mint),
    /// List the tokens, without their secrets
    List,
    /// Withdraw a token; it stops working with the next call
    Revoke {
        /// Its id, as `quad token list` shows it
        id: String,
    },
}

/// `quad token mint`
#[derive(Args, Debug)]
pub struct Mint {
    /// Who will hold it
    #[arg(long, value_name = "ID")]
    pub subject: String,
    /// Whether that is a program or a person
    #[arg(long, value_name = "agent|user", default_value = "agent")]
    pub kind: KindArg,
    /// What it may do: scopes separated by spaces
    #[arg(long, value_name = "SCOPES")]
    pub scope: String,
    /// How long it lives, such as 12h or 90d [default: a year]
    #[arg(long, value_name = "TIME", value_parser = duration_ms)]
    pub ttl: Option<i64>,
}

/// `quad audit …`
#[derive(Args, Debug)]
pub struct Audit {
    /// The chain of refusals before a tenant was proven, instead of a tenant's
    #[arg(long, global = true)]
    pub system: bool,
    #[command(subcommand)]
    pub command: AuditCommand,
}

/// What to do with the audit trail.
#[derive(Debug, Subcommand)]
pub enum AuditCommand {
    /// Print the newest events, oldest first
    Tail(Tail),
    /// Write the chain and its checkpoints into a file that can be verified anywhere
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
    },
    /// Check that nothing was changed, removed or added, and name the first event that was
    ///
    /// With files it needs neither the database nor the data folder. It takes exports, archives (oldest first, then the
    /// export of the rest) and proofs. Without, it checks the stored chain against checkpoints.jsonl of the data folder.
    Verify {
        /// Exports, archives or a proof [default: the stored chain]
        #[arg(value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Checkpoints that were kept elsewhere: they vouch for the keys, and for what they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Print the proof that an event is in the chain; `quad audit verify` checks it
    Prove {
        /// Its id
        event: String,
    },
    /// Hold the receipt of a read against the event that recorded it
    CheckReceipt {
        /// The receipt, or the reply that carries it, as JSON
        file: PathBuf,
        /// Check against an export, archive or proof instead of the stored chain
        #[arg(long, value_name = "FILE")]
        against: Option<PathBuf>,
        /// Checkpoints that were kept elsewhere: they vouch for the keys, and for what they cover
        #[arg(long, value_name = "FILE")]
        checkpoints: Option<PathBuf>,
    },
    /// Move old events into a file; the rest stays verifiable, alone and together with the file
    Archive {
        /// Move what is older: a time such as 2026-02-12 or 2026-02-12T08:30:00Z, or an age such as 90d
        #[arg(long, value_name = "TIME", value_parser = time)]
        before: Timestamp,
        /// The file; it must not exist
        file: PathBuf,
    },
}

/// `quad audit tail`
#[derive(Args, Debug)]
pub struct Tail {
    /// Go on printing what happens, until interrupted
    #[arg(long, short)]
    pub follow: bool,
    /// How many events
    #[arg(long, short = 'n', value_name = "N", default_value_t = 20)]
    pub count: usize,
    /// Only those of this agent or user
    #[arg(long, value_name = "ID")]
    pub agent: Option<String>,
    /// Only those about this address
    #[arg(long)]
    pub uri: Option<String>,
    /// Only those of this action, such as agent.mcp.tool_called
    #[arg(long)]
    pub action: Option<String>,
    /// Only those that went so
    #[arg(long, value_parser = ["ok", "refused", "failed"])]
    pub outcome: Option<String>,
    /// Only those from this time on: 2026-02-12, 2026-02-12T08:30:00Z, or an age such as 12h
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub since: Option<Timestamp>,
    /// Only those before this time
    #[arg(long, value_name = "TIME", value_parser = time)]
    pub until: Option<Timestamp>,
}

/// `quad agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the agents and people that are registered
    List,
    /// Register an agent with exactly these scopes, or change those of one that is registered
    Register {
        /// Its name
        subject: String,
        /// Whether that is a program or a person
        #[arg(long, value_name = "agent|user", default_value = "agent")]
        kind: KindArg,
        /// What it may do at most: scopes separated by spaces
        #[arg(long, value_name = "SCOPES")]
        scope: String,
    },
    /// Keep an agent out until it is restored; it stops with the next call
    Quarantine {
        /// Its name
        subject: String,
    },
    /// Let an agent in again that was quarantined
    Restore {
        /// Its name
        subject: String,
    },
    /// Keep an agent out for good; it stops with the next call
    Revoke {
        /// Its name
        subject: String,
    },
}

/// `quad key …`
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Make a new key that signs from now on; tokens of the old ones stay good
    Rotate,
    /// List the keys, without their secrets
    List,
    /// Take a key out for good, and with it every token that it signed
    Drop {
        /// Its name, as `quad key list` shows it
        kid: String,
    },
}

/// `quad markdoc …`
#[derive(Debug, Subcommand)]
pub enum MarkdocCommand {
    /// Print the tree of a document as JSON
    ///
    /// What is wrong with the document stands on the nodes of the tree. What is not in the tree, though it is in the document,
    /// is reported on standard error.
    Ast {
        /// The file ("-" reads standard input)
        file: PathBuf,
    },
}

/// A program or a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum KindArg {
    /// A program.
    Agent,
    /// A person.
    User,
}

impl From<KindArg> for quad_core::PrincipalKind {
    fn from(kind: KindArg) -> quad_core::PrincipalKind {
        match kind {
            KindArg::Agent => quad_core::PrincipalKind::Agent,
            KindArg::User => quad_core::PrincipalKind::User,
        }
    }
}

/// Reads `45s`, `30m`, `12h` or `90d`.
fn duration_ms(text: &str) -> Result<i64, String> {
    let invalid = || "a time looks like 45s, 30m, 12h or 90d".to_owned();
    let (number, unit) = text.split_at_checked(text.len().saturating_sub(1)).ok_or_else(invalid)?;
    let unit_ms: i64 = match unit {
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        "d" => 86_400_000,
        _ => return Err(invalid()),
    };
    let number: i64 = number.parse().map_err(|_| invalid())?;
    if number <= 0 {
        return Err(invalid());
    }
    number.checked_mul(unit_ms).ok_or_else(invalid)
}

/// Reads an instant, a date, or an age.
fn time(text: &str) -> Result<Timestamp, String> {
    Timestamp::parse(text)
        .or_else(|| duration_ms(text).ok().map(|age| Timestamp::now().plus_ms(-age)))
        .ok_or_else(|| "a time looks like 2026-02-12, 2026-02-12T08:30:00Z or, so long ago, 90d".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_accepts_instant_or_age() {
        assert_eq!(time("1970-01-02"), Ok(Timestamp(86_400_000)));
        let (before, age) = (Timestamp::now(), time("1h").unwrap());
        assert!(age >= before.plus_ms(-3_600_000) && age <= Timestamp::now());
        assert!(time("yesterday").is_err());
    }

    #[test]
    fn durations_require_a_unit() {
        assert_eq!(duration_ms("90d"), Ok(7_776_000_000));
        assert_eq!(duration_ms("45s"), Ok(45_000));
        for wrong in ["", "d", "5", "-1d", "1w", "0s", "99999999999999999d", "é"] {
            assert!(duration_ms(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn cli_definition_is_valid() {
        use clap::CommandFactory as _;
        Cli::command().debug_assert();
    }
}
