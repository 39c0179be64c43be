//! The world of this crate's tests: the scheme behind a real resolver on every backend that this machine offers, with one
//! organization, project, environment, table and record.

use std::sync::Arc;

use quad_core::prompt::Message;
use quad_core::resolver::View;
use quad_core::scheme::{CompletionQuery, CompletionTarget, ResourceEntry};
use quad_core::tool::NoProgress;
use quad_core::{
    Principal, PrincipalKind, ReadSet, Resolver, Result, Scheme, ScopeSet, TenantId, Timestamp, ToolOutput,
};
use quad_store::WriteContext;
use quad_store::testing::{TestStore, stores};
use serde_json::{Map, Value};

use crate::{Bkend, COMPONENT, TokenDirectory, TokenSummary, load};

/// The environment of the fixture.
pub(crate) const ENV_URI: &str = "bkend://orgs/org_abc123/projects/proj_xyz789/environments/env_dev001";

const FIXTURE: [&str; 5] = [
    r#"{"kind":"organization","id":"org_abc123","name":"My Organization"}"#,
    r#"{"kind":"project","id":"proj_xyz789","organizationId":"org_abc123","name":"my-app"}"#,
    r#"{"kind":"environment","id":"env_dev001","projectId":"proj_xyz789","name":"dev"}"#,
    r#"{"kind":"table","id":"tbl_users","environmentId":"env_dev001","name":"users","fields":[
        {"name":"name","type":"string","required":true},{"name":"email","type":"string","required":true,"unique":true},
        {"name":"role","type":"string"},{"name":"age","type":"number"}]}"#,
    r#"{"kind":"record","id":"rec_abc123","tableId":"tbl_users","createdBy":"agent_1","createdAt":"2026-02-12T00:00:00.000Z",
        "data":{"name":"Ada","email":"ada@example.org","role":"admin","age":36}}"#,
];

/// One backend, filled.
pub(crate) struct TestEnv {
    pub db: TestStore,
    pub resolver: Resolver,
    pub caller: Principal,
}

struct FixedTokens;

#[async_trait::async_trait]
impl TokenDirectory for FixedTokens {
    async fn list(&self, _: &TenantId) -> Result<(Vec<TokenSummary>, ReadSet)> {
        let token = TokenSummary {
            id: "tok_01ABCDEFGH".to_owned(),
            name: "ci".to_owned(),
            kind: "agent".to_owned(),
            scopes: vec!["*:read".to_owned()],
            created_at: Timestamp(0),
            expires_at: None,
            status: "active".to_owned(),
        };
        Ok((vec![token], ReadSet::default()))
    }
}

/// Lines as a load takes them.
pub(crate) fn lines(lines: &[&str]) -> Vec<std::io::Result<String>> {
    lines.iter().map(|line| Ok((*line).to_owned())).collect()
}

/// A caller with these scopes.
pub(crate) fn caller(tenant: &TenantId, scopes: &str) -> Principal {
    Principal {
        tenant: tenant.clone(),
        subject: "agent_1".into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse(scopes),
        credential_read_set: None,
        expires_at: None,
    }
}

/// A world without the fixture, on each backend.
pub(crate) async fn test_envs() -> Vec<TestEnv> {
    let mut envs = Vec::new();
    for db in stores(&[COMPONENT]).await.unwrap() {
        let scheme = Arc::new(Bkend::new(db.store.clone(), Arc::new(FixedTokens)));
        let store = Arc::new(db.store.clone());
        let resolver = Resolver::new(vec![scheme as Arc<dyn Scheme>], store.clone(), store).unwrap();
        let caller = caller(&db.tenant, "*:*");
        envs.push(TestEnv { db, resolver, caller });
    }
    envs
}

/// A world with the fixture, on each backend.
pub(crate) async fn test_envs_with_data() -> Vec<TestEnv> {
    let envs = test_envs().await;
    for test_env in &envs {
        test_env.load(&FIXTURE).await.unwrap();
    }
    envs
}

impl TestEnv {
    pub(crate) async fn load(&self, text: &[&str]) -> Result<load::LoadSummary> {
        load::load(&self.db.store, &WriteContext::from(&self.db.tenant), lines(text)).await
    }

    pub(crate) async fn read_as(&self, caller: &Principal, uri: &str) -> Result<Value> {
        let response = self.resolver.read(caller, View::All, uri).await?;
        Ok(serde_json::from_slice(response.read.contents[0].bytes()).unwrap())
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value> {
        self.read_as(&self.caller, uri).await
    }

    /// What a read rests on.
    pub(crate) async fn basis(&self, uri: &str) -> ReadSet {
        let response = self.resolver.read(&self.caller, View::All, uri).await.unwrap();
        response.read.read_set.as_ref().clone()
    }

    pub(crate) async fn call_output(&self, tool: &str, arguments: Value) -> Result<ToolOutput> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        self.resolver.call_tool(&self.caller, View::All, tool, arguments, &NoProgress).await
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        Ok(self.call_output(tool, arguments).await?.structured_value().unwrap())
    }

    /// The code with which a call is refused.
    pub(crate) async fn error_code(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap_err().code().to_owned()
    }

    pub(crate) async fn list_as(&self, caller: &Principal) -> Vec<ResourceEntry> {
        let (mut entries, mut cursor) = (Vec::new(), None);
        loop {
            let page = self.resolver.list(caller, View::All, cursor.as_deref()).await.unwrap();
            entries.extend(page.entries);
            cursor = page.next_cursor;
            if cursor.is_none() {
                return entries;
            }
        }
    }

    pub(crate) async fn complete(
        &self,
        template: &str,
        variable: &str,
        prefix: &str,
        context_args: Value,
    ) -> Vec<String> {
        let query = CompletionQuery {
            target: CompletionTarget::Template(template),
            variable,
            prefix,
            context: context_args.as_object().unwrap(),
        };
        self.resolver.complete(&self.caller, View::All, query).await.unwrap().values
    }

    pub(crate) async fn prompt(&self, name: &str, arguments: Value) -> Result<Vec<Message>> {
        let arguments: Map<String, Value> = arguments.as_object().unwrap().clone();
        self.resolver
            .get_prompt(&self.caller, View::All, name, &arguments)
            .await
            .map(|(_, messages)| messages)
    }
}
