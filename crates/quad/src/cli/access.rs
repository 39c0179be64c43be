//! `quad token`, `quad agent` and `quad key`: credentials and registrations.

use clap::{Args, Subcommand, ValueEnum};

use super::time::duration_ms;

/// `quad token …`
#[derive(Debug, Subcommand)]
pub enum TokenCommand {
    /// Create a token and print it; it cannot be shown again
    Mint(Mint),
    /// List the tokens, without their secrets
    List,
    /// Revoke a token; it stops working with the next request
    Revoke {
        /// The token's id, as `quad token list` shows it
        id: String,
    },
}

/// `quad token mint`
#[derive(Args, Debug)]
pub struct Mint {
    /// The name of the agent or user that will hold it [default: a new name, printed to standard error]
    #[arg(long, value_name = "ID")]
    pub subject: Option<String>,
    /// The kind of holder: a program or a person
    #[arg(long, value_name = "agent|user", default_value = "agent")]
    pub kind: KindArg,
    /// The scopes, separated by spaces
    #[arg(long, value_name = "SCOPES")]
    pub scope: String,
    /// The lifetime, such as 12h or 90d [default: a year]
    #[arg(long, value_name = "TIME", value_parser = duration_ms)]
    pub ttl: Option<i64>,
}

/// `quad agent …`
#[derive(Debug, Subcommand)]
pub enum AgentCommand {
    /// List the registered agents and users
    List,
    /// Register an agent with exactly these scopes, or replace the scopes of a registered agent
    Register {
        /// The agent's name
        subject: String,
        /// The kind of holder: a program or a person
        #[arg(long, value_name = "agent|user", default_value = "agent")]
        kind: KindArg,
        /// The most that its tokens may allow: scopes separated by spaces
        #[arg(long, value_name = "SCOPES")]
        scope: String,
    },
    /// Suspend an agent until it is restored; its next request is refused
    Quarantine {
        /// The agent's name
        subject: String,
    },
    /// Restore a suspended agent
    Restore {
        /// The agent's name
        subject: String,
    },
    /// Revoke an agent for good; its next request is refused
    Revoke {
        /// The agent's name
        subject: String,
    },
}

/// `quad key …`
#[derive(Debug, Subcommand)]
pub enum KeyCommand {
    /// Create a new key for signing; tokens of the old keys stay valid
    Rotate,
    /// Create a key in place of a lost one; every token that the lost key signed is invalid
    Create,
    /// List the keys, without their secrets
    List,
    /// Delete a key for good; every token that it signed becomes invalid
    Drop {
        /// The key's id, as `quad key list` shows it
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
