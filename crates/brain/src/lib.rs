//! The scheme `brain://`: an agent's money. Raw evidence, a ledger whose rows cite it, and a wiki rendered from the
//! ledger.
//!
//! ```text
//! brain://ledger/accounts/{id} · transactions · payment-intents · obligations · counterparties · invoices
//! brain://wiki/{slug}           pages with citations for every amount
//! brain://raw/{id}              evidence and its projections
//! brain://payments/action_types
//! ```
//!
//! Each entity has a file of its name with its fields, queries and rules. Transactions enter the ledger only through
//! `posting`, which updates balances (`account`), sums (`total`) and the largest transactions per month (`largest`) in
//! the same commit. `load` and `row_loader` insert rows as given, `import` creates them from bank statements,
//! `contribution` stores evidence of agents. `wiki` renders pages, `question` answers questions.
//!
//! This crate does not know other schemes, MCP messages or HTTP.
#![forbid(unsafe_code)]

mod account;
mod action_types;
mod balance;
mod calendar;
mod category;
mod completion;
pub mod contribution;
mod counterparty;
mod entity;
#[cfg(test)]
mod entity_tests;
mod errors;
#[cfg(test)]
mod evidence_tests;
pub mod export;
mod field;
mod ids;
pub mod import;
mod invoice;
mod keyset;
mod largest;
pub mod limits;
mod listing;
pub mod load;
#[cfg(test)]
mod load_tests;
mod media_type;
mod merge_scan;
mod migrations;
mod money;
mod obligation;
mod own_accounts;
mod payment_intent;
mod policy;
mod posting;
mod projection;
mod prompt;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod query_plan_tests;
mod question;
pub mod raw;
mod read;
mod reconciliation;
mod reference;
mod routes;
mod row_loader;
mod row_meta;
#[cfg(test)]
mod scheme_tests;
mod string_enum;
mod tags;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tool_tests;
mod tools;
mod total;
mod transaction;
mod transfer;
mod transfer_matching;
#[cfg(test)]
mod transfer_matching_tests;
mod upload;
mod wiki;

use std::sync::Arc;

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, CompletionTarget, RequestTarget, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, Error, Principal, ReadOutput, ReadSet, Result, Route, Scheme, TenantId, Timestamp, Tool,
    ToolTable,
};
use quad_store::{Store, Tx, WriteContext};
use serde_json::{Map, Value};

use contribution::PendingContribution;
use import::Extraction;

pub use migrations::COMPONENT;
pub use posting::PostingCounts;
pub use row_loader::LoadCounts;

/// All scopes of this scheme.
pub const SCOPES: &[&str] = &[
    "ledger:read",
    "wiki:read",
    "raw:read",
    "raw:write",
    "payment_intent:propose",
    "payment_intent:approve",
    "execution:propose",
    "execution:read",
];

const INSTRUCTIONS: &str = "brain:// is your principal's money. Read brain://wiki/monthly-summaries/YYYY-MM or call \
    wiki_question first; list accounts and transactions with ledger_accounts_list and ledger_transactions_list. Every figure \
    cites brain://ledger/… and brain://raw/…. Contribute evidence with raw_contribute. No tool moves money.";

/// An agent in the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentSummary {
    /// The name.
    pub subject: String,
    /// Program or person.
    pub kind: String,
    /// The state in the registry: `active`, `quarantined` or `revoked`.
    pub state: String,
    /// The granted scopes.
    pub scopes: Vec<String>,
    /// The time of its registration.
    pub registered_at: Timestamp,
}

/// The registry of agents. Another crate implements it.
#[async_trait::async_trait]
pub trait AgentDirectory: Send + Sync {
    /// The agents of a tenant, and the read set of the list.
    async fn list(&self, tenant: &TenantId) -> Result<(Vec<AgentSummary>, ReadSet)>;
}

/// The `brain://` scheme.
pub struct Brain {
    store: Store,
    agents: Arc<dyn AgentDirectory>,
    tools: ToolTable<Brain>,
}

impl Brain {
    /// A scheme on this store.
    pub fn new(store: Store, agents: Arc<dyn AgentDirectory>) -> Brain {
        Brain { store, agents, tools: tools::table() }
    }

    /// Extracts the pending contributions of an agent into the ledger; none while the agent is on hold. Returns the
    /// number of artifacts that became rows.
    ///
    /// # Errors
    ///
    /// The first error, after all pending contributions were tried. Those that failed stay pending.
    pub async fn extract_pending(&self, writer: &WriteContext, agent: &str) -> Result<usize> {
        let (mut imported, mut first_error) = (0, None);
        for (_, result) in self.extract_each(writer, agent).await? {
            match result {
                Ok(Extraction::Imported(_)) => imported += 1,
                Ok(Extraction::NotAStatement(_) | Extraction::Refused(_)) => {}
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
        first_error.map_or(Ok(imported), Err)
    }

    /// Tries all pending contributions of an agent. Returns what became of each, by the id of its artifact.
    async fn extract_each(
        &self,
        writer: &WriteContext,
        agent: &str,
    ) -> Result<Vec<(String, Result<Extraction>)>> {
        let name = agent.to_owned();
        let pending = self.store.read(&writer.tenant, move |sql| contribution::pending(sql, &name)).await?;
        let mut results = Vec::with_capacity(pending.len());
        for contribution in pending {
            let raw_id = contribution.raw_id.clone();
            results.push((raw_id, self.extract_contribution(writer, agent, contribution).await));
        }
        Ok(results)
    }

    async fn extract_contribution(
        &self,
        writer: &WriteContext,
        agent: &str,
        contribution: PendingContribution,
    ) -> Result<Extraction> {
        let account = contribution.account()?;
        let extraction = import::extract(&self.store, writer, agent, &contribution.raw_id, account).await?;
        let agent = agent.to_owned();
        let work = move |tx: &mut Tx<'_>| contribution::mark_processed(tx, &agent, &contribution);
        self.store.write_unaudited(&writer.tenant, work).await?;
        Ok(extraction)
    }
}

#[async_trait::async_trait]
impl Scheme for Brain {
    fn name(&self) -> &'static str {
        "brain"
    }

    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    fn scopes(&self) -> &'static [&'static str] {
        SCOPES
    }

    fn routes(&self) -> Result<Vec<Route>> {
        routes::ROUTES.routes()
    }

    /// The JSON of an artifact depends on the caller: only its contributor sees all of it.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        if address.canonical().starts_with("brain://raw/") {
            caller.subject.as_ref().to_owned()
        } else {
            String::new()
        }
    }

    fn map_error(&self, caller: &Principal, requested: RequestTarget<'_>, error: Error) -> Error {
        errors::to_wire_error(caller, requested, &self.tools.names(), error)
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        read::read(self, caller, routes::ROUTES.resource(route)?, address).await
    }

    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        listing::list(self, caller, after, limit).await
    }

    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let CompletionTarget::Template(_) = query.target else { return Ok(Completion::default()) };
        let (variable, prefix) = (query.variable.to_owned(), query.prefix.to_owned());
        let subject = caller.subject.clone();
        self.store
            .read(&caller.tenant, move |sql| completion::complete_variable(sql, &variable, &prefix, &subject))
            .await
    }

    fn tools(&self) -> Vec<Arc<Tool>> {
        self.tools.tools()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        self.tools.call(self, call).await
    }

    fn prompts(&self) -> &'static [Prompt] {
        &prompt::PROMPTS
    }

    async fn get_prompt(
        &self,
        _caller: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        prompt::messages(prompt, arguments)
    }
}
