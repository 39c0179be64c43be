//! `quad tenant`: create and list tenants.

use clap::Subcommand;

/// `quad tenant …`
#[derive(Debug, Subcommand)]
pub enum TenantCommand {
    /// Create a tenant
    Add {
        /// The tenant's name
        name: String,
    },
    /// List the tenants
    List,
}
