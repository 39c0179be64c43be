//! One scheme behind a real resolver on one database, with a caller.

use std::sync::Arc;

use quad_core::prompt::Message;
use quad_core::resolver::View;
use quad_core::scheme::{CompletionQuery, CompletionTarget, ResourceEntry};
use quad_core::tool::NoProgress;
use quad_core::{
    Error, Principal, PrincipalKind, ReadSet, Resolver, Result, Scheme, ScopeSet, TenantId, ToolOutput,
};
use serde_json::{Map, Value};

use super::TestStore;

/// A scheme, its resolver, its database and a caller of it.
pub struct TestEnv<S> {
    /// The database.
    pub test_store: Arc<TestStore>,
    /// The scheme itself, for calls that have no URI.
    pub scheme: Arc<S>,
    /// The resolver over this one scheme.
    pub resolver: Resolver,
    /// The default caller.
    pub caller: Principal,
}

/// An agent of a tenant with these scopes.
pub fn agent(tenant: &TenantId, subject: &str, scopes: &str) -> Principal {
    Principal {
        tenant: tenant.clone(),
        subject: subject.into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse(scopes),
        credential_read_set: None,
        expires_at: None,
    }
}

fn object(arguments: Value) -> Result<Map<String, Value>> {
    match arguments {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(Error::internal("test arguments must be a JSON object")),
    }
}

impl<S: Scheme + 'static> TestEnv<S> {
    /// The scheme on this database, called by `agent_1` with every scope.
    pub fn new(test_store: impl Into<Arc<TestStore>>, scheme: S) -> Result<TestEnv<S>> {
        let test_store = test_store.into();
        let (scheme, store) = (Arc::new(scheme), Arc::new(test_store.store.clone()));
        let resolver = Resolver::new(vec![scheme.clone() as Arc<dyn Scheme>], store.clone(), store)?;
        let caller = agent(&test_store.tenant, "agent_1", "*:*");
        Ok(TestEnv { test_store, scheme, resolver, caller })
    }

    /// The first content of a read, as text.
    pub async fn read_text_as(&self, caller: &Principal, uri: &str) -> Result<String> {
        let answer = self.resolver.read(caller, View::All, uri).await?;
        let bytes = answer.read.contents.first().map(|content| content.bytes().to_vec()).unwrap_or_default();
        String::from_utf8(bytes).map_err(Error::internal)
    }

    /// The first content of a read, as text.
    pub async fn read_text(&self, uri: &str) -> Result<String> {
        self.read_text_as(&self.caller, uri).await
    }

    /// The first content of a read, as JSON.
    pub async fn read_as(&self, caller: &Principal, uri: &str) -> Result<Value> {
        serde_json::from_str(&self.read_text_as(caller, uri).await?).map_err(Error::internal)
    }

    /// The first content of a read, as JSON.
    pub async fn read(&self, uri: &str) -> Result<Value> {
        self.read_as(&self.caller, uri).await
    }

    /// The read set of a read.
    pub async fn read_set(&self, uri: &str) -> Result<ReadSet> {
        Ok(self.resolver.read_set_of(&self.caller, View::All, uri).await?.as_ref().clone())
    }

    /// Calls a tool.
    pub async fn output_as(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<ToolOutput> {
        self.resolver.call_tool(caller, View::All, tool, object(arguments)?, &NoProgress).await
    }

    /// Calls a tool; its structured result.
    pub async fn call_as(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<Value> {
        let output = self.output_as(caller, tool, arguments).await?;
        output.structured_value().ok_or_else(|| Error::internal(format!("{tool} has no structured result")))
    }

    /// Calls a tool; its structured result.
    pub async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.call_as(&self.caller, tool, arguments).await
    }

    /// Every resource that a caller can list, over all pages.
    pub async fn list_as(&self, caller: &Principal) -> Result<Vec<ResourceEntry>> {
        let (mut entries, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.resolver.list(caller, View::All, cursor.as_deref()).await?;
            entries.extend(page.entries);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return Ok(entries);
            }
        }
    }

    /// Completes a variable of a template.
    pub async fn complete(
        &self,
        template: &str,
        variable: &str,
        prefix: &str,
        context: Value,
    ) -> Result<Vec<String>> {
        let context = object(context)?;
        let query = CompletionQuery {
            target: CompletionTarget::Template(template),
            variable,
            prefix,
            context: &context,
        };
        Ok(self.resolver.complete(&self.caller, View::All, query).await?.values)
    }

    /// The messages of a prompt.
    pub async fn prompt(&self, name: &str, arguments: Value) -> Result<Vec<Message>> {
        let arguments = object(arguments)?;
        let (_, messages) = self.resolver.get_prompt(&self.caller, View::All, name, &arguments).await?;
        Ok(messages)
    }
}
