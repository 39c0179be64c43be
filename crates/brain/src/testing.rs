//! The test environment of this crate: the scheme behind a resolver, on every backend of this machine.

use std::ops::Deref;
use std::sync::Arc;

use quad_core::{Error, Principal, ReadSet, Result, TenantId, Timestamp, Version};
use quad_store::testing::{self, agent, stores};
use quad_store::{WriteContext, tenant};
use serde_json::{Value, json};

use crate::import::{self, FileReport, ImportEvent, ImportFile, ImportOptions};
use crate::{AgentDirectory, AgentSummary, Brain, COMPONENT, LoadCounts, load};

/// A ledger on one backend, with what only this scheme has: loading, importing, asking.
pub(crate) struct TestEnv(testing::TestEnv<Brain>);

impl Deref for TestEnv {
    type Target = testing::TestEnv<Brain>;

    fn deref(&self) -> &testing::TestEnv<Brain> {
        &self.0
    }
}

/// A registry with two agents.
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

/// An empty ledger on each backend.
pub(crate) async fn test_envs() -> Vec<TestEnv> {
    let new = |store: testing::TestStore| {
        let brain = Brain::new(store.store.clone(), Arc::new(TestAgentDirectory));
        TestEnv(testing::TestEnv::new(store, brain).unwrap())
    };
    stores(&[COMPONENT]).await.unwrap().into_iter().map(new).collect()
}

/// A ledger with the rows of [`FIXTURE`] on each backend.
pub(crate) async fn test_envs_with_data() -> Vec<TestEnv> {
    let envs = test_envs().await;
    for env in &envs {
        env.load(FIXTURE).await.unwrap();
    }
    envs
}

/// A few rows of every kind.
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

/// A statement of four entries that names no account.
pub(crate) const STATEMENT: &str = "Date;Payee;Description;Amount;Currency\r\n\
    01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n\
    01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n\
    15.09.2025;Employer;Salary;2.500,00;EUR\r\n\
    28.09.2025;Landlord;Rent;-900,00;EUR\r\n";

impl TestEnv {
    /// The write context of the caller's tenant.
    pub(crate) fn writer(&self) -> WriteContext {
        WriteContext::from(&self.caller.tenant)
    }

    /// An agent with every scope in another tenant of the same database.
    pub(crate) async fn agent_of_tenant(&self, name: &str) -> Principal {
        let tenant = tenant::ensure(&self.test_store.store, name).await.unwrap().id;
        agent(&tenant, "agent_1", "*:*")
    }

    pub(crate) async fn load(&self, lines: &str) -> Result<LoadCounts> {
        load::load(&self.test_store.store, &self.writer(), "test", "fixture", lines.as_bytes(), |_| {}).await
    }

    /// Three accounts in USD without numbers: `acct_0`, `acct_1` and `acct_2`.
    pub(crate) async fn load_three_accounts(&self) {
        let account = |number: u8| json!({"kind": "account", "id": format!("acct_{number}"), "name": "A", "currency": "USD"});
        let lines: Vec<String> = (0..3).map(|number| account(number).to_string()).collect();
        self.load(&lines.join("\n")).await.unwrap();
    }

    pub(crate) async fn import(&self, name: &str, text: &str, options: &ImportOptions) -> Result<FileReport> {
        let file =
            ImportFile { name: name.to_owned(), bytes: text.as_bytes().to_vec(), options: options.clone() };
        let mut report = None;
        let on_event = |_: usize, event: ImportEvent| {
            if let ImportEvent::FileDone(file_report) = event {
                report = Some(*file_report);
            }
        };
        import::import_all(&self.test_store.store, &self.writer(), "test", [Ok(file)], on_event)
            .await
            .map_err(|import_error| import_error.error)?;
        report.ok_or_else(|| Error::internal("the import has no report"))
    }

    pub(crate) async fn ask(&self, question: &str) -> Value {
        self.call("wiki_question", json!({"question": question})).await.unwrap()
    }
}
