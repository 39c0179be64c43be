//! The test environment of this crate: the scheme behind a resolver on every backend of this machine, with one
//! organization, project, environment, table and record.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use quad_core::{ReadSet, Result, Scheme, TenantId, Timestamp};
use quad_store::WriteContext;
use quad_store::testing::{self, TestStore, stores};
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

/// The scheme on one backend, with what only this scheme has: loading, and error codes of tools.
pub(crate) struct TestEnv(testing::TestEnv<Bkend>);

impl Deref for TestEnv {
    type Target = testing::TestEnv<Bkend>;

    fn deref(&self) -> &testing::TestEnv<Bkend> {
        &self.0
    }
}

impl DerefMut for TestEnv {
    fn deref_mut(&mut self) -> &mut testing::TestEnv<Bkend> {
        &mut self.0
    }
}

/// A directory with one token.
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

/// The lines as the reader that a load expects.
pub(crate) fn lines(lines: &[&str]) -> Vec<std::io::Result<String>> {
    lines.iter().map(|line| Ok((*line).to_owned())).collect()
}

/// An empty scheme on each backend.
pub(crate) async fn test_envs() -> Vec<TestEnv> {
    let new = |store: TestStore| {
        let scheme = Bkend::new(store.store.clone(), Arc::new(FixedTokens));
        TestEnv(testing::TestEnv::new(store, scheme).unwrap())
    };
    stores(&[COMPONENT]).await.unwrap().into_iter().map(new).collect()
}

/// The scheme with the fixture on each backend.
pub(crate) async fn test_envs_with_data() -> Vec<TestEnv> {
    let envs = test_envs().await;
    for test_env in &envs {
        test_env.load(&FIXTURE).await.unwrap();
    }
    envs
}

impl TestEnv {
    pub(crate) async fn load(&self, text: &[&str]) -> Result<load::LoadSummary> {
        let writer = WriteContext::from(&self.test_store.tenant);
        load::load(&self.test_store.store, &writer, lines(text)).await
    }

    /// Calls a tool; its structured result, which matches the published schema strictly: a field that the schema does
    /// not describe is a failure.
    pub(crate) async fn call(&self, name: &str, arguments: Value) -> Result<Value> {
        let result = self.0.call(name, arguments).await?;
        let tools = self.scheme.tools();
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        let validator = jsonschema::validator_for(&strict(tool.output_schema.as_ref().unwrap())).unwrap();
        let problems: Vec<String> = validator
            .iter_errors(&result)
            .map(|error| format!("{}: {error}", error.instance_path()))
            .collect();
        assert!(
            problems.is_empty(),
            "{name} returned what its output schema does not describe: {problems:#?}"
        );
        Ok(result)
    }

    /// The error code of a call that is refused.
    pub(crate) async fn error_code(&self, tool: &str, arguments: Value) -> String {
        self.call(tool, arguments).await.unwrap_err().code().to_owned()
    }
}

/// The schema with `additionalProperties: false` in every object that lists its properties and does not say whether there
/// are others.
pub(crate) fn strict(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut members: Map<String, Value> =
                members.iter().map(|(key, value)| (key.clone(), strict(value))).collect();
            let lists_properties = members.get("properties").is_some_and(Value::is_object);
            if lists_properties && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".into(), false.into());
            }
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(strict).collect(),
        other => other.clone(),
    }
}
