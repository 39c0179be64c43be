//! `quad token`, `quad agent` and `quad key`: credentials and registrations.

use clap::{Args, Subcommand, ValueEnum};

use super::time::duration_ms;

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
