//! Tests of loading: rows as given, upserts with their side effects, matches and transfers.

use quad_core::{Kind, Tag};
use quad_store::Sql as _;
use quad_store::fast_path::tags_changed_since;
use serde_json::{Value, json};

use crate::counterparty;
use crate::testing::{FIXTURE, test_envs, test_envs_with_data};

#[tokio::test(flavor = "multi_thread")]
async fn loaded_rows_are_read_back() {
    for env in test_envs_with_data().await {
        let row = env.read("brain://ledger/transactions/tx_4127").await.unwrap();
        assert_eq!(row["amount"], "61404.12");
        assert_eq!((row["currency"].as_str(), row["direction"].as_str()), (Some("USD"), Some("outflow")));
        assert!(row["source_ids"][0].as_str().unwrap().starts_with("raw_"));
        assert!(row.get("dedup_key").is_none());
        let account = env.read("brain://ledger/accounts/acct_8231").await.unwrap();
        // The reported balance includes everything before it.
        assert_eq!(account["account"]["current_balance"], "1180.00");
        assert_eq!(account["latest_balance"]["current_balance"], "1180.00");
        let euro = env.read("brain://ledger/accounts/acct_euro").await.unwrap();
        assert_eq!(euro["account"]["current_balance"], "-12.25");
        assert_eq!(euro["latest_balance"], Value::Null);
        let intent = env.read("brain://ledger/payment-intents/pi_a1b2c3").await.unwrap();
        assert_eq!(
            (intent["status"].as_str(), intent["policy_decision_id"].as_str()),
            (Some("pending_approval"), Some("pd_1"))
        );
        let aws = env.read("brain://ledger/counterparties/cp_aws").await.unwrap();
        assert_eq!(
            (aws["payment_count"].as_i64(), aws["payment_total"].as_str()),
            (Some(2), Some("61504.62"))
        );
        assert_eq!(env.read("brain://ledger/invoices/inv_1").await.unwrap()["amount_paid"], "400.00");
        assert_eq!(env.read("brain://ledger/obligations/obl_1").await.unwrap()["type"], "bill");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn load_is_idempotent() {
    for env in test_envs_with_data().await {
        let again = env.load(FIXTURE).await.unwrap();
        assert_eq!((again.created, again.updated), (0, 0));
        let invalid_line =
            env.load("{\"kind\":\"account\",\"id\":\"acct_x\",\"name\":\"X\",\"currency\":\"usd\"}\n").await;
        assert_eq!(invalid_line.unwrap_err().detail("line"), Some(&json!(1)));
        let unknown_account = r#"{"kind":"transaction","account_id":"acct_none","amount":"1","currency":"USD","direction":"inflow","transaction_date":"2025-01-01"}"#;
        assert_eq!(env.load(unknown_account).await.unwrap_err().kind(), Kind::BadInput);
        let other_currency = r#"{"kind":"transaction","id":"tx_e","account_id":"acct_8231","amount":"1","currency":"EUR","direction":"inflow","transaction_date":"2025-01-01"}"#;
        assert_eq!(env.load(other_currency).await.unwrap_err().code(), "currency_mismatch");
        assert_eq!(env.read("brain://ledger/transactions/tx_e").await.unwrap_err().kind(), Kind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn match_raises_confidence_only_with_confirmed_row() {
    for env in test_envs_with_data().await {
        let lines = r#"
{"kind":"obligation","id":"obl_said","counterparty_id":"cp_aws","amount_due":"5","currency":"USD","due_date":"2025-09-20","provenance":"agent_contributed","confidence":0.9}
{"kind":"obligation","id":"obl_other","counterparty_id":"cp_aws","amount_due":"5","currency":"USD","due_date":"2025-09-20","provenance":"agent_contributed"}
{"kind":"match","match_type":"obligation","left_kind":"obligation","left_id":"obl_said","right_kind":"obligation","right_id":"obl_other","confidence_score":0.99,"status":"matched"}
"#;
        env.load(lines).await.unwrap();
        let obligation = env.read("brain://ledger/obligations/obl_said").await.unwrap();
        assert_eq!(
            (obligation["confidence"].as_f64(), obligation["provenance"].as_str()),
            (Some(0.5), Some("agent_contributed"))
        );
        let match_line = r#"{"kind":"match","match_type":"payment","left_kind":"obligation","left_id":"obl_said","right_kind":"transaction","right_id":"tx_2","confidence_score":0.99,"status":"matched"}"#;
        env.load(match_line).await.unwrap();
        let obligation = env.read("brain://ledger/obligations/obl_said").await.unwrap();
        assert_eq!(
            (obligation["confidence"].as_f64(), obligation["provenance"].as_str()),
            (Some(0.9), Some("extracted"))
        );
        let transaction = env.read("brain://ledger/transactions/tx_2").await.unwrap();
        assert_eq!(transaction["reconciliation_status"], "matched");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_are_neither_income_nor_spending() {
    for env in test_envs().await {
        env
            .load(
                r#"
{"kind":"account","id":"acct_a","name":"A","currency":"USD"}
{"kind":"account","id":"acct_b","name":"B","currency":"USD"}
{"kind":"transaction","id":"tx_out","account_id":"acct_a","amount":"10","currency":"USD","direction":"outflow","transaction_date":"2025-01-01"}
{"kind":"transaction","id":"tx_in","account_id":"acct_b","amount":"10","currency":"USD","direction":"inflow","transaction_date":"2025-01-02"}
{"kind":"transfer","id":"xfer_1","from_account_id":"acct_a","to_account_id":"acct_b","from_transaction_id":"tx_out","to_transaction_id":"tx_in","amount":"10","currency":"USD","transfer_date":"2025-01-01"}
"#,
            )
            .await
            .unwrap();
        let flow = env.read_text("brain://wiki/cash-flow/2025-01").await.unwrap();
        assert!(flow.contains("Inflow: 0.00 USD") && flow.contains("Outflow: 0.00 USD"), "{flow}");
        let balance = |detail: Value| detail["account"]["current_balance"].as_str().unwrap().to_owned();
        assert_eq!(balance(env.read("brain://ledger/accounts/acct_a").await.unwrap()), "-10.00");
        assert_eq!(balance(env.read("brain://ledger/accounts/acct_b").await.unwrap()), "10.00");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pending_transaction_is_updated_when_posted() {
    for env in test_envs_with_data().await {
        let posted_line = r#"{"kind":"transaction","id":"tx_3","account_id":"acct_8231","amount":"5","currency":"USD","direction":"outflow","transaction_date":"2025-09-20","status":"posted"}"#;
        assert_eq!(env.load(posted_line).await.unwrap().updated, 1);
        assert_eq!(env.read("brain://ledger/transactions/tx_3").await.unwrap()["status"], "posted");
        assert!(
            env.ask("How much did I spend in September 2025?").await["answer"]
                .as_str()
                .unwrap()
                .contains("61,409.12 USD")
        );
        assert_eq!(env.load(posted_line).await.unwrap().skipped, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_counterparty_replaces_aliases() {
    for env in test_envs_with_data().await {
        let find = async |name: &'static str| {
            let found = env
                .test_store
                .store
                .read(&env.test_store.tenant, move |sql| counterparty::by_name(sql, name));
            found.await.unwrap().map(|row| row.id.as_str().to_owned())
        };
        assert_eq!(find("aws").await.as_deref(), Some("cp_aws"));
        let edit = r#"{"kind":"counterparty","operation":"upsert","id":"cp_aws","name":"Amazon Web Services","type":"vendor","aliases":["EC2 Bill"]}"#;
        assert_eq!(env.load(edit).await.unwrap().updated, 1);
        assert_eq!(find("ec2 bill").await.as_deref(), Some("cp_aws"));
        assert_eq!(find("aws").await, None);
        let page = env.call("ledger_counterparties_list", json!({"q": "ec2 bill"})).await.unwrap();
        assert_eq!(page["items"][0]["id"], "cp_aws");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_invoice_updates_pages_of_both_counterparties() {
    for env in test_envs_with_data().await {
        let mentions = async |counterparty: &str| {
            let page = env.read_text(&format!("brain://wiki/counterparties/{counterparty}")).await.unwrap();
            page.contains("brain://ledger/invoices/inv_1")
        };
        assert_eq!((mentions("cp_acme").await, mentions("cp_aws").await), (true, false));
        let edit = r#"{"kind":"invoice","operation":"upsert","id":"inv_1","invoice_number":"INV-1001","counterparty_id":"COUNTERPARTY","amount_due":"900.00","currency":"USD","issue_date":"2025-09-01"}"#;
        assert_eq!(env.load(&edit.replace("COUNTERPARTY", "cp_aws")).await.unwrap().updated, 1);
        assert_eq!((mentions("cp_acme").await, mentions("cp_aws").await), (false, true));
        let unknown = env.load(&edit.replace("COUNTERPARTY", "cp_none")).await.unwrap_err();
        assert_eq!((unknown.kind(), unknown.detail("line")), (Kind::BadInput, Some(&json!(1))));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_obligation_updates_pages_and_totals_of_both_counterparties() {
    for env in test_envs_with_data().await {
        let mentions = async |counterparty: &str| {
            let page = env.read_text(&format!("brain://wiki/counterparties/{counterparty}")).await.unwrap();
            page.contains("brain://ledger/obligations/obl_1")
        };
        assert_eq!((mentions("cp_aws").await, mentions("cp_acme").await), (true, false));
        let edit = r#"{"kind":"obligation","operation":"upsert","id":"obl_1","type":"bill","counterparty_id":"COUNTERPARTY","amount_due":"250.00","currency":"USD","due_date":"2025-09-30","direction":"payable"}"#;
        assert_eq!(env.load(&edit.replace("COUNTERPARTY", "cp_acme")).await.unwrap().updated, 1);
        assert_eq!((mentions("cp_aws").await, mentions("cp_acme").await), (false, true));
        let owed = env.ask("How much do I owe Acme Corp?").await;
        assert!(owed["answer"].as_str().unwrap().contains("250.00 USD"), "{owed}");
        let unknown = env.load(&edit.replace("COUNTERPARTY", "cp_none")).await.unwrap_err();
        assert_eq!(unknown.kind(), Kind::BadInput);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_payment_intent_checks_references_and_updates_pages() {
    for env in test_envs_with_data().await {
        let mentions = async |page: &str| {
            env.read_text(&format!("brain://wiki/{page}"))
                .await
                .unwrap()
                .contains("payment-intents/pi_a1b2c3")
        };
        let pages = async || {
            (
                mentions("obligations/obl_1").await,
                mentions("obligations/obl_2").await,
                mentions("agents/agent_1").await,
                mentions("agents/agent_2").await,
            )
        };
        assert_eq!(pages().await, (true, false, true, false));
        let edit = r#"{"kind":"payment_intent","operation":"upsert","id":"pi_a1b2c3","created_by_agent_id":"agent_2","action_type":"ach_outbound","source_account_id":"acct_8231","destination_counterparty_id":"cp_aws","amount":"250.00","currency":"USD","obligation_id":"obl_2","status":"pending_approval"}"#;
        assert_eq!(env.load(edit).await.unwrap().updated, 1);
        assert_eq!(pages().await, (false, true, false, true));
        for (known, unknown) in [("acct_8231", "acct_none"), ("cp_aws", "cp_none"), ("obl_2", "obl_none")] {
            let error = env.load(&edit.replace(known, unknown)).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::BadInput, "ledger_row_not_found"), "{unknown}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_transaction_checks_its_counterparty() {
    for env in test_envs_with_data().await {
        let edit = r#"{"kind":"transaction","operation":"upsert","id":"tx_2","account_id":"acct_8231","amount":"100.5","currency":"USD","direction":"outflow","transaction_date":"2025-08-20","counterparty_id":"cp_none"}"#;
        assert_eq!(env.load(edit).await.unwrap_err().code(), "ledger_row_not_found");
        let row = env.read("brain://ledger/transactions/tx_2").await.unwrap();
        assert_eq!(row["counterparty_id"], "cp_aws");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_that_takes_a_unique_key_is_a_conflict() {
    for env in test_envs_with_data().await {
        let policies = r#"
{"kind":"policy","id":"pol_1","version":1,"state":"active","content":{}}
{"kind":"policy","id":"pol_2","version":2,"state":"draft","content":{}}
"#;
        env.load(policies).await.unwrap();
        for line in [
            r#"{"kind":"policy","operation":"upsert","id":"pol_2","version":2,"state":"active","content":{}}"#,
            r#"{"kind":"counterparty","operation":"upsert","id":"cp_acme","name":"Amazon Web Services","type":"vendor"}"#,
        ] {
            let error = env.load(line).await.unwrap_err();
            assert_eq!((error.kind(), error.code()), (Kind::Conflict, "ledger_row_exists"), "{line}");
        }
        let update = r#"{"kind":"policy","operation":"upsert","id":"pol_1","version":3,"state":"active","content":{}}"#;
        assert_eq!(env.load(update).await.unwrap().updated, 1);
        assert!(env.read_text("brain://wiki/policies/active").await.unwrap().contains("ersion"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upsert_of_transaction_into_another_month_changes_the_list() {
    for env in test_envs_with_data().await {
        let (store, tenant) = (&env.test_store.store, &env.test_store.tenant);
        let list_changes = async |line: &str| {
            let version = store.read(tenant, |sql| Ok(sql.version())).await.unwrap();
            assert_eq!(env.load(line).await.unwrap().updated, 1);
            let tags = store.read(tenant, move |sql| tags_changed_since(sql, version)).await;
            tags.unwrap().unwrap().iter().any(Tag::is_resource_list)
        };
        let edit = r#"{"kind":"transaction","operation":"upsert","id":"tx_4","account_id":"acct_euro","amount":"12.25","currency":"EUR","direction":"outflow","transaction_date":"2025-06-01"}"#;
        assert!(list_changes(edit).await);
        let uri = "brain://wiki/monthly-summaries/2025-06";
        assert!(env.list_as(&env.caller).await.unwrap().iter().any(|entry| entry.uri == uri));
        assert!(!list_changes(&edit.replace("12.25", "12.50")).await);
    }
}
