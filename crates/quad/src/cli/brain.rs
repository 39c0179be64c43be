//! `quad brain`: import statements, add and load rows, export, manage evidence.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// `quad brain …`
#[derive(Debug, Subcommand)]
pub enum BrainCommand {
    /// Import bank statements: CSV, OFX or QFX, camt.053, hledger journals
    ///
    /// The file is kept as evidence, and every row that is read from it cites it. Importing the same file again, or one
    /// that overlaps, adds nothing twice. Lines that cannot be read are reported and left out; the exit code is then 2,
    /// unless the file was imported before. A file has 512 MiB at most.
    Import(BrainImport),
    /// Add one row
    Add {
        #[command(subcommand)]
        command: BrainAdd,
    },
    /// Load accounts, counterparties, transactions and more from JSON lines, keeping their ids
    Load {
        /// The file
        file: PathBuf,
    },
    /// Export the ledger as a journal that hledger reads
    Export {
        /// The file; it must not exist ("-" writes to standard output)
        file: PathBuf,
    },
    /// Accept a new agent's contributions, and import the statements among them
    Release {
        /// The agent's name
        agent: String,
    },
    /// Mark evidence as withdrawn. The file is kept; it is no longer used
    Tombstone {
        /// The id of the evidence
        id: String,
    },
}

/// `quad brain import`
#[derive(Args, Debug)]
pub struct BrainImport {
    /// The files
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The account's id; required if a file names no account
    #[arg(long, value_name = "ID")]
    pub account: Option<String>,
    /// The currency, if a file names none
    #[arg(long, value_name = "CODE")]
    pub currency: Option<String>,
    /// Map a column or set the date order, such as date=Buchungstag, amount=Betrag or order=dmy (repeatable)
    #[arg(long, value_name = "SETTING")]
    pub map: Vec<String>,
    /// Print what would be done, and write nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// `quad brain add …`
#[derive(Debug, Subcommand)]
pub enum BrainAdd {
    /// An account
    Account {
        /// The account's name
        name: String,
        /// The currency, such as EUR
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// The type of account: bank_checking, bank_savings, card, loan, line_of_credit, onchain, payment_processor
        #[arg(long = "type", value_name = "TYPE")]
        account_type: Option<String>,
        /// The bank's name
        #[arg(long)]
        institution: Option<String>,
        /// The account number that statements name
        #[arg(long)]
        number: Option<String>,
        /// The current balance
        #[arg(long, value_name = "AMOUNT", allow_hyphen_values = true)]
        balance: Option<String>,
        /// The id [default: a new id]
        #[arg(long)]
        id: Option<String>,
    },
    /// A counterparty
    Counterparty {
        /// The counterparty's name
        name: String,
        /// The type of counterparty: vendor, customer, merchant, employee, bank, …
        #[arg(long = "type", value_name = "TYPE")]
        counterparty_type: Option<String>,
        /// An alias (repeatable)
        #[arg(long, value_name = "NAME")]
        alias: Vec<String>,
        /// The id [default: a new id]
        #[arg(long)]
        id: Option<String>,
    },
    /// An obligation: something that is owed
    Obligation {
        /// The counterparty's id
        #[arg(long, value_name = "ID")]
        counterparty: String,
        /// The amount
        #[arg(long)]
        amount: String,
        /// The currency
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// The due date
        #[arg(long, value_name = "DATE")]
        due: String,
        /// The type of obligation: bill, invoice, subscription, loan, rent, payroll, tax, …
        #[arg(long = "type", value_name = "TYPE")]
        obligation_type: Option<String>,
        /// The direction: payable or receivable
        #[arg(long, value_name = "DIRECTION")]
        direction: Option<String>,
        /// The recurrence, such as monthly
        #[arg(long)]
        recurrence: Option<String>,
        /// The id [default: a new id]
        #[arg(long)]
        id: Option<String>,
    },
    /// An invoice
    Invoice {
        /// The invoice number
        number: String,
        /// The counterparty's id
        #[arg(long, value_name = "ID")]
        counterparty: String,
        /// The amount
        #[arg(long)]
        amount: String,
        /// The amount already paid
        #[arg(long, value_name = "AMOUNT")]
        paid: Option<String>,
        /// The currency
        #[arg(long, value_name = "CODE")]
        currency: String,
        /// The issue date
        #[arg(long, value_name = "DATE")]
        issued: String,
        /// The due date
        #[arg(long, value_name = "DATE")]
        due: Option<String>,
        /// The id [default: a new id]
        #[arg(long)]
        id: Option<String>,
    },
}
