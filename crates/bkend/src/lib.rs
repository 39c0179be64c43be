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
//! Addresses read; tools change. One noun, one file: what an organization, a project, an environment, a table or a record is
//! and how it is stored stands in the file of that name; `physical` alone writes SQL that differs by backend.
//!
//! This crate knows no other scheme, no protocol message and no socket.
#![forbid(unsafe_code)]

mod alter;
mod completion;
mod context;
mod definition;
pub mod demo;
mod docs;
mod environment;
mod field;
mod index;
pub mod limits;
mod listing;
pub mod load;
mod migrations;
pub mod organization;
mod page;
mod physical;
mod project;
mod prompt;
mod reading;
mod record;
mod refusal;
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
use quad_core::scheme::{Completion, CompletionQuery, Listing};
use quad_core::tool::{Call, Called};
use quad_core::{Address, Basis, BoxFuture, Error, Kind, Principal, Reading, Result, Route, Scheme, Tool};
use quad_store::Store;
use serde_json::{Map, Value};

pub use migrations::COMPONENT;
pub use organization::{NewOrganization, Organization, OrganizationId};
pub use token::{NoTokens, TokenDirectory, TokenSummary};

use routes::Noun;

/// Every scope that this scheme knows.
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
    tool get_context or read bkend://context; read …/environments/{envId}/tables before you write rows. Tools change \
    things: backend_table_create, backend_field_manage, backend_data_create. An id of a table is enough; the ids above it \
    are optional. Reads are always fresh: what you just created is there. search_docs explains types and rules.";

/// The provider of `bkend://`.
pub struct Bkend {
    store: Store,
    tokens: Arc<dyn TokenDirectory>,
}

impl Bkend {
    /// A backend on this store. `tokens` knows the access tokens that `bkend://access-tokens` shows.
    pub fn new(store: Store, tokens: Arc<dyn TokenDirectory>) -> Bkend {
        Bkend { store, tokens }
    }
}

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

    fn routes(&self) -> Vec<Route> {
        routes::all()
    }

    fn facts(&self, caller: &Principal, address: &Address) -> String {
        // The context shows as much as the caller may see; every other address is the same for all who may read it.
        if address.canonical() == "bkend://context" {
            context::View::of(caller).facts()
        } else {
            String::new()
        }
    }

    fn read<'a>(
        &'a self,
        caller: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<Reading>> {
        Box::pin(async move {
            let noun = routes::noun(route)?;
            let read = match noun {
                Noun::AccessTokens | Noun::AccessToken => {
                    reading::tokens(noun, address, self.tokens.list(&caller.tenant).await?)
                }
                _ => {
                    let question = reading::Question::new(noun, address, caller)?;
                    self.store.read(&caller.tenant, move |sql| reading::read(sql, &question)).await
                }
            };
            // Which part of a path does not exist is nobody's business: missing and inconsistent are one answer.
            read.map_err(|error| match error.kind() {
                Kind::NotFound => Error::not_found(address.requested()),
                _ => error,
            })
        })
    }

    fn list<'a>(
        &'a self,
        caller: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async move {
            let levels = listing::Levels::of(caller);
            let after = after.map(str::to_owned);
            self.store
                .read(&caller.tenant, move |sql| listing::page(sql, levels, after.as_deref(), limit))
                .await
        })
    }

    fn complete<'a>(
        &'a self,
        caller: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        Box::pin(async move {
            let Some(kind) = completion::kind(query.variable).filter(|kind| kind.is_visible_to(caller))
            else {
                return Ok(Completion::default());
            };
            let (prefix, known) = (query.prefix.to_owned(), query.context.clone());
            match kind {
                completion::Kind::Token => {
                    let (tokens, basis) = self.tokens.list(&caller.tenant).await?;
                    let ids = tokens.into_iter().map(|token| token.id);
                    let values: Vec<String> = ids.filter(|id| id.starts_with(&prefix)).collect();
                    Ok(Completion { total: values.len(), values, basis })
                }
                completion::Kind::Version => {
                    self.store
                        .read(&caller.tenant, move |sql| completion::versions(sql, &prefix, &known))
                        .await
                }
                kind => {
                    self.store
                        .read(&caller.tenant, move |sql| completion::ids(sql, kind, &prefix, &known))
                        .await
                }
            }
        })
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Called>> {
        Box::pin(tools::call(self, call))
    }

    fn prompts(&self) -> &'static [Prompt] {
        &prompt::PROMPTS
    }

    fn prompt<'a>(
        &'a self,
        caller: &'a Principal,
        prompt: &'static Prompt,
        arguments: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<(Vec<Message>, Basis)>> {
        Box::pin(prompt::messages(self, caller, prompt, arguments))
    }
}
