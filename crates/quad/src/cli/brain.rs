//! `quad brain`: statements, rows by hand, export, evidence.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
