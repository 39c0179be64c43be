//! The world of this crate's tests: the scheme behind a real resolver on every backend that this machine offers.

use std::sync::Arc;

use quad_core::resolver::View;
use quad_core::tool::NoProgress;
use quad_core::{
    Principal, PrincipalKind, ReadSet, Resolver, Result, Scheme, ScopeSet, TenantId, Timestamp, Version,
};
use quad_store::testing::{TestStore, stores};
use quad_store::{WriteContext, tenant};
use serde_json::{Value, json};

use crate::{AgentDirectory, AgentSummary, Brain, COMPONENT, LoadCounts, load};

/// One backend.
pub(crate) struct TestEnv {
    pub test: Arc<TestStore>,
    pub resolver: Resolver,
    pub caller: Principal,
}

/// A registry that knows two agents.
struct TestAgentDirectory;

#[async_trait::async_trait]
impl AgentDirectory for TestAgentDirectory {
    async fn list(&self, _: &TenantId) -> Result<(Vec<AgentSummary>, ReadSet)> {
        let agent = |subject: &str| AgentSummary {
            subject: subject.to_owned(),
            kind: "agent".to_owned(),
            state: "active".to_owned(),
            scopes: vec!["ledger:read".to_owned()],
            registered_at: Timestamp(1_700_000_000_000),
        };

        Ok((vec![agent("agent_1"), agent("agent_2")], ReadSet::at_version(Version(i64::MAX))))
    }
}

/// A caller with these scopes.
pub(crate) fn caller(tenant: &TenantId, subject: &str, scopes: &str) -> Principal {
    Principal {
        tenant: tenant.clone(),
        subject: subject.into(),
        kind: PrincipalKind::Agent,
        scopes: ScopeSet::parse(scopes),
        credential_read_set: None,
        expires_at: None,
    }
}

/// An empty ledger on each backend.
pub(crate) async fn test_envs() -> Vec<TestEnv> {
    stores(&[COMPONENT]).await.unwrap().into_iter().map(TestEnv::new).collect()
}

/// A ledger with a little of everything on each backend.
pub(crate) async fn test_envs_with_data() -> Vec<TestEnv> {
    let envs = test_envs().await;
    for env in &envs {
        env.load(FIXTURE).await.unwrap();
    }
    envs
}

/// What the fixtures hold.
pub(crate) const FIXTURE: &str = r#"
{"kind":"account","id":"acct_8231","name":"Operating","currency":"USD","institution":"First Bank","current_balance":"1180.00","balance_as_of":"2025-10-01"}
{"kind":"account","id":"acct_euro","name":"Euro","currency":"EUR","account_type":"bank_savings"}
{"kind":"counterparty","id":"cp_aws","name":"Amazon Web Services","type":"vendor","aliases":["AWS"]}
{"kind":"counterparty","id":"cp_acme","name":"Acme Corp","type":"customer","risk_level":"high"}
{"kind":"category","id":"cat_hosting","name":"Hosting","category_kind":"expense"}
{"kind":"transaction","id":"tx_4127","account_id":"acct_8231","amount":"61404.12","currency":"USD","direction":"outflow","transaction_date":"2025-09-14","counterparty_id":"cp_aws","category_id":"cat_hosting"}
{"kind":"transaction","id":"tx_1","account_id":"acct_8231","amount":"70000","currency":"USD","direction":"inflow","transaction_date":"2025-09-02T10:00:00Z","counterparty_id":"cp_acme"}
{"kind":"transaction","id":"tx_2","account_id":"acct_8231","amount":"100.5","currency":"USD","direction":"outflow","transaction_date":"2025-08-20","counterparty_id":"cp_aws","category_id":"cat_hosting"}
{"kind":"transaction","id":"tx_3","account_id":"acct_8231","amount":"5","currency":"USD","direction":"outflow","transaction_date":"2025-09-20","status":"pending"}
{"kind":"transaction","id":"tx_4","account_id":"acct_euro","amount":"12.25","currency":"EUR","direction":"outflow","transaction_date":"2025-07-01"}
{"kind":"obligation","id":"obl_1","type":"bill","counterparty_id":"cp_aws","amount_due":"250.00","currency":"USD","due_date":"2025-09-30","direction":"payable","linked_transaction_ids":["tx_2"]}
{"kind":"obligation","id":"obl_2","type":"subscription","counterparty_id":"cp_aws","amount_due":"120.00","currency":"USD","due_date":"2999-01-01","direction":"payable","recurrence":"yearly"}
{"kind":"obligation","id":"obl_3","type":"invoice","counterparty_id":"cp_acme","amount_due":"900.00","currency":"USD","due_date":"2999-01-02","direction":"receivable"}
{"kind":"invoice","id":"inv_1","invoice_number":"INV-1001","counterparty_id":"cp_acme","amount_due":"900.00","amount_paid":"400.00","currency":"USD","issue_date":"2025-09-01","due_date":"2999-01-02","status":"partial","linked_transaction_ids":["tx_1"]}
{"kind":"payment_intent","id":"pi_a1b2c3","created_by_agent_id":"agent_1","action_type":"ach_outbound","source_account_id":"acct_8231","destination_counterparty_id":"cp_aws","amount":"250.00","currency":"USD","obligation_id":"obl_1","status":"pending_approval","policy_decision_id":"pd_1"}
"#;

impl TestEnv {
    fn new(test: TestStore) -> TestEnv {
        let caller = caller(&test.tenant, "agent_1", "*:*");
        let scheme = Arc::new(Brain::new(test.store.clone(), Arc::new(TestAgentDirectory)));
        let store = Arc::new(test.store.clone());
        let resolver = Resolver::new(vec![scheme as Arc<dyn Scheme>], store.clone(), store).unwrap();
        TestEnv { resolver, caller, test: Arc::new(test) }
    }

    /// The same door for another caller.
    pub(crate) fn writer(&self) -> WriteContext {
        WriteContext::from(&self.caller.tenant)
    }

    /// Another tenant of the same database.
    pub(crate) async fn another_tenant(&self, name: &str) -> Principal {
        let tenant = tenant::ensure(&self.test.store, name).await.unwrap().id;
        caller(&tenant, "agent_1", "*:*")
    }

    pub(crate) async fn load(&self, lines: &str) -> Result<LoadCounts> {
        load::load(&self.test.store, &self.writer(), "test", "fixture", lines.as_bytes(), |_| {}).await
    }

    pub(crate) async fn text_as(&self, caller: &Principal, uri: &str) -> Result<String> {
        let answer = self.resolver.read(caller, View::All, uri).await?;
        Ok(String::from_utf8(answer.read.contents[0].bytes().to_vec()).unwrap())
    }

    pub(crate) async fn text(&self, uri: &str) -> Result<String> {
        self.text_as(&self.caller, uri).await
    }

    pub(crate) async fn read(&self, uri: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.text(uri).await?).unwrap())
    }

    pub(crate) async fn call_as(&self, caller: &Principal, tool: &str, arguments: Value) -> Result<Value> {
        let Value::Object(arguments) = arguments else { panic!("arguments are an object") };
        let output = self.resolver.call_tool(caller, View::All, tool, arguments, &NoProgress).await?;
        Ok(output.structured_value().unwrap())
    }

    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> Result<Value> {
        self.call_as(&self.caller, tool, arguments).await
    }

    pub(crate) async fn ask(&self, question: &str) -> Value {
        self.call("wiki.question", json!({"question": question})).await.unwrap()
    }
}
