//! `quad tenant`: tenants.

use clap::Subcommand;

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
