//! `bkend://`: an agent's backend. Organizations own projects, projects have environments, environments hold tables with
//! real columns, indexes and rows in the same database as everything else.
//!
//! ```text
//! bkend://orgs
//!   └ {orgId}/projects
//!       └ {projectId}/environments
//!           └ {envId}/tables
//!               └ {tableId} · schema · schema/versions · indexes · rows
//! ```
//!
//! Addresses are read, tools change. Each file holds one resource type: its fields, its SQL and its rules.
//! Only `physical` writes SQL that differs between the backends.
//!
//! This crate does not know other schemes, MCP messages or HTTP.
#![forbid(unsafe_code)]

mod alter;
mod completion;
mod context;
mod definition;
pub mod demo;
mod docs;
mod environment;
mod errors;
mod field;
mod index;
pub mod limits;
mod listing;
pub mod load;
mod migrations;
pub mod organization;
mod page;
mod parents;
mod permissions;
mod physical;
mod project;
mod prompt;
mod read;
mod record;
mod routes;
mod schema_version;
mod slug;
mod table;
mod tags;
#[cfg(test)]
mod testing;
mod token;
mod tools;
mod validate;

use std::sync::Arc;

use quad_core::prompt::{Message, Prompt};
use quad_core::scheme::{Completion, CompletionQuery, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, Error, Kind, Principal, ReadOutput, ReadSet, Result, Route, Scheme, Tool, ToolTable,
};
use quad_store::Store;
use serde_json::{Map, Value};

pub use migrations::COMPONENT;
pub use organization::{NewOrganization, Organization, OrganizationId};
pub use token::{TokenDirectory, TokenSummary};

use routes::Resource;

/// All scopes of this scheme.
pub const SCOPES: &[&str] = &[
    "organization:read",
    "project:read",
    "project:create",
    "project:update",
    "project:delete",
    "environment:read",
    "environment:create",
    "environment:delete",
    "table:read",
    "table:create",
    "table:update",
    "table:delete",
    "table:data:read",
    "table:data:create",
    "table:data:update",
    "table:data:delete",
    "access-token:read",
];

const INSTRUCTIONS: &str = "bkend:// is your backend: organizations, projects, environments, tables and rows. Start with the \
    tool get_context or read bkend://context; call backend_table_list before you write rows. Tools change things: \
    backend_table_create, backend_field_manage, backend_data_create, backend_data_update, backend_data_delete. A name does \
    where an id is meant, and the ids above a table are optional. Reads are always fresh: what you just created is there. \
    search_docs explains types and rules.";

/// The provider of `bkend://`.
pub struct Bkend {
    store: Store,
    tokens: Arc<dyn TokenDirectory>,
    tools: ToolTable<Bkend>,
}

impl Bkend {
    /// Creates the scheme on this store. `tokens` lists the access tokens for `bkend://access-tokens`.
    pub fn new(store: Store, tokens: Arc<dyn TokenDirectory>) -> Bkend {
        Bkend { store, tokens, tools: tools::table() }
    }
}

#[async_trait::async_trait]
impl Scheme for Bkend {
    fn name(&self) -> &'static str {
        "bkend"
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

    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        // The context depends on the caller's scopes; every other address has the same contents for all callers.
        if address.canonical() == "bkend://context" {
            context::ContextScopes::for_caller(caller).cache_key()
        } else {
            String::new()
        }
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let resource = routes::ROUTES.resource(route)?;
        let result = match resource {
            Resource::AccessTokens | Resource::AccessToken => {
                read::read_tokens(resource, address, self.tokens.list(&caller.tenant).await?)
            }
            _ => {
                let request = read::ReadRequest::new(resource, address, caller)?;
                self.store.read(&caller.tenant, move |sql| read::read_resource(sql, &request)).await
            }
        };
        // A path with an unknown id and a path with ids that do not belong together get the same error.
        result.map_err(|error| match error.kind() {
            Kind::NotFound => Error::not_found(address.requested()).hint(resource.listing_hint()),
            _ => error,
        })
    }

    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        let levels = listing::VisibleLevels::for_caller(caller);
        let after = after.map(str::to_owned);
        self.store
            .read(&caller.tenant, move |sql| listing::list_page(sql, levels, after.as_deref(), limit))
            .await
    }

    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let Some(kind) = completion::variable_kind(query.variable).filter(|kind| kind.is_visible_to(caller))
        else {
            return Ok(Completion::default());
        };
        let (prefix, context_args) = (query.prefix.to_owned(), query.context.clone());
        match kind {
            completion::VariableKind::Token => {
                let (tokens, read_set) = self.tokens.list(&caller.tenant).await?;
                let ids = tokens.into_iter().map(|token| token.id);
                let values: Vec<String> = ids.filter(|id| id.starts_with(&prefix)).collect();
                Ok(Completion { total: values.len(), values, read_set })
            }
            completion::VariableKind::Version => {
                self.store
                    .read(&caller.tenant, move |sql| {
                        completion::complete_versions(sql, &prefix, &context_args)
                    })
                    .await
            }
            kind => {
                self.store
                    .read(&caller.tenant, move |sql| {
                        completion::complete_ids(sql, kind, &prefix, &context_args)
                    })
                    .await
            }
        }
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
        caller: &Principal,
        prompt: &'static Prompt,
        arguments: &Map<String, Value>,
    ) -> Result<(Vec<Message>, ReadSet)> {
        prompt::build_messages(self, caller, prompt, arguments).await
    }
}
