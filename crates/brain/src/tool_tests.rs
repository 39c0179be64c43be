//! Tests of the tools through the resolver, on every backend: results match the published schemas, rows can be named as
//! callers name them, and no error leaves a caller without a next step.

use quad_core::{Error, Kind};
use quad_store::testing::agent;
use serde_json::{Value, json};

use crate::testing::{STATEMENT, TestEnv, test_envs, test_envs_with_data};
use crate::{contribution, tools};

/// The schema with no other properties allowed in any object whose properties it lists.
fn closed(schema: &Value) -> Value {
    match schema {
        Value::Object(members) => {
            let mut members: serde_json::Map<String, Value> =
                members.iter().map(|(name, value)| (name.clone(), closed(value))).collect();
            if members.get("type").is_some_and(|kind| kind.to_string().contains("object"))
                && members.contains_key("properties")
            {
                members.insert("additionalProperties".into(), false.into());
            }
            Value::Object(members)
        }
        Value::Array(items) => items.iter().map(closed).collect(),
        other => other.clone(),
    }
}

/// Calls a tool and checks its result against its output schema, strictly.
async fn call_checked(env: &TestEnv, name: &str, arguments: Value) -> Value {
    let result =
        env.call(name, arguments.clone()).await.unwrap_or_else(|error| panic!("{name} {arguments}: {error}"));
    let tools = tools::table().tools();
    let tool = tools.iter().find(|tool| tool.name == name).unwrap();
    let validator = jsonschema::validator_for(&closed(tool.output_schema.as_ref().unwrap())).unwrap();
    let problems: Vec<String> =
        validator.iter_errors(&result).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(problems.is_empty(), "{name} {arguments}: {problems:?}\n{result:#}");
    result
}

#[tokio::test(flavor = "multi_thread")]
async fn results_match_output_schemas() {
    for env in test_envs_with_data().await {
        let statement =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_euro"}});
        let held = call_checked(&env, "raw_contribute", statement.clone()).await;
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        let imported = call_checked(&env, "raw_contribute", statement.clone()).await;
        assert_eq!(
            (&held["statement"]["status"], &imported["statement"]["status"]),
            (&json!("on_hold"), &json!("imported"))
        );
        for (name, arguments, expected) in [
            ("ledger_account_get", json!({"account_id": "acct_8231"}), "/latest_balance/current_balance"),
            ("ledger_account_get", json!({"account_id": "acct_euro"}), "/account/includes_unconfirmed"),
            ("ledger_account_get", json!({"account_id": "acct_none"}), "/hint"),
            ("ledger_accounts_list", json!({}), "/items/1/name"),
            ("ledger_transactions_list", json!({}), "/items/4/source_ids/0"),
            ("ledger_transactions_list", json!({"account_id": "acct_none"}), "/hint"),
            ("ledger_obligations_list", json!({"limit": 1}), "/next_cursor"),
            ("ledger_counterparties_list", json!({}), "/items/1/payment_total"),
            ("wiki_question", json!({"question": "How much did I pay AWS?"}), "/evidence/0/excerpt"),
            ("wiki_question", json!({"question": "Pay AWS"}), "/answered"),
            ("wiki_page_get", json!({"slug_or_id": "2025-09"}), "/body_md"),
            ("wiki_page_get", json!({"slug_or_id": "nothing"}), "/hint"),
            ("raw_contribute", statement.clone(), "/statement/status"),
            ("raw_contribute", json!({"payload": "a note"}), "/statement/error/hint"),
            ("raw_artifact_get", json!({"raw_id": imported["rawId"]}), "/parsed/0/extracted"),
            ("raw_artifact_get", json!({"raw_id": imported["rawId"], "include_parsed": false}), "/sha256"),
            ("payment_intent_list", json!({}), "/payment_intents/0/amount"),
            (
                "evidence_resolve",
                json!({"refs": [{"kind": "transaction", "ref": "tx_4127"}, {"kind": "account", "ref": "x"}]}),
                "/results/1/reason",
            ),
        ] {
            let result = call_checked(&env, name, arguments.clone()).await;
            assert!(
                result.pointer(expected).is_some_and(|value| !value.is_null()),
                "{name} {arguments}: {result:#}"
            );
        }
        // Every tool has had a result.
        assert_eq!(tools::table().tools().len(), 11);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_found_by_id_address_and_name() {
    for env in test_envs_with_data().await {
        let count = async |arguments: Value| {
            let page = call_checked(&env, "ledger_transactions_list", arguments.clone()).await;
            assert!(page.get("hint").is_none(), "{arguments}: {page}");
            page["items"].as_array().unwrap().len()
        };
        for account in ["acct_8231", "brain://ledger/accounts/acct_8231", "Operating", " operating "] {
            assert_eq!(count(json!({"account_id": account})).await, 4, "{account}");
            assert_eq!(count(json!({"account_name": account, "maxResults": "3"})).await, 3, "{account}");
            let detail = call_checked(&env, "ledger_account_get", json!({"id": account})).await;
            assert_eq!(detail["account"]["id"], "acct_8231", "{account}");
        }
        for counterparty in ["cp_aws", "brain://ledger/counterparties/cp_aws", "amazon web services", "AWS"] {
            assert_eq!(count(json!({"counterparty": counterparty})).await, 2, "{counterparty}");
            let page = call_checked(&env, "wiki_page_get", json!({"name": counterparty})).await;
            assert_eq!(page["slug"], "/counterparties/cp_aws", "{counterparty}");
        }
        let page = call_checked(&env, "wiki_page_get", json!({"slug": "accounts/Operating"})).await;
        assert_eq!(page["slug"], "/accounts/acct_8231");
        let resolved = call_checked(
            &env,
            "evidence_resolve",
            json!({"refs": [{"kind": "obligation", "ref": "brain://ledger/obligations/obl_1"}]}),
        )
        .await;
        assert_eq!(resolved["results"][0]["deep_link"], "brain://ledger/obligations/obl_1");
        // A name that two rows have is refused; an id still works.
        env.load(r#"{"kind":"account","id":"acct_two","name":"OPERATING","currency":"USD"}"#).await.unwrap();
        let ambiguous =
            env.call("ledger_transactions_list", json!({"account_id": "Operating"})).await.unwrap_err();
        assert_eq!(ambiguous.message(), "More than one account has the name Operating");
        assert_eq!(
            ambiguous.hint_text(),
            Some("Send the id instead. List the accounts with ledger_accounts_list")
        );
        assert_eq!(count(json!({"account_id": "acct_8231"})).await, 4);
        // An account and a counterparty with one name have two pages.
        env.load(r#"{"kind":"counterparty","id":"cp_euro","name":"Euro"}"#).await.unwrap();
        let ambiguous = env.call("wiki_page_get", json!({"slug_or_id": "Euro"})).await.unwrap_err();
        assert!(
            ambiguous.hint_text().unwrap().starts_with("Write accounts/ or counterparties/"),
            "{ambiguous}"
        );
        let page = call_checked(&env, "wiki_page_get", json!({"slug_or_id": "counterparties/Euro"})).await;
        assert_eq!(page["slug"], "/counterparties/cp_euro");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn ranges_take_dates_times_months_and_quarters() {
    for env in test_envs_with_data().await {
        let ids = async |arguments: Value| {
            let page = call_checked(&env, "ledger_transactions_list", arguments).await;
            let items = page["items"].as_array().unwrap();
            items.iter().map(|item| item["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let september = ["tx_3", "tx_4127", "tx_1"];
        for (since, until) in [
            ("2025-09", "2025-09"),
            ("2025-09-01", "2025-09-30"),
            ("2025-09-02T10:00:00Z", "2025-09-20T00:00:00.000Z"),
            ("2025-09-02T12:00:00+02:00", "2025-09-20"),
        ] {
            assert_eq!(ids(json!({"since": since, "until": until})).await, september, "{since} {until}");
            assert_eq!(
                ids(json!({"start_date": since, "end_date": until})).await,
                september,
                "{since} {until}"
            );
        }
        assert_eq!(ids(json!({"since": "2025-Q3", "until": "2025-Q3"})).await.len(), 5);
        assert_eq!(ids(json!({"from": "2025", "to": "2025-08"})).await, ["tx_2", "tx_4"]);
        let due = call_checked(&env, "ledger_obligations_list", json!({"due_before": "2025-09"})).await;
        assert_eq!(due["items"].as_array().unwrap().len(), 1);
        let question = json!({"question": "Which bills are due in the next 7 days?", "as_of": "2025-09-28"});
        let answer = call_checked(&env, "wiki_question", question).await;
        assert!(answer["answer"].as_str().unwrap().contains("250.00 USD"), "{answer}");
    }
}

/// Words that a hint can start with.
const FIRST_WORDS: [&str; 15] = [
    "Add",
    "Ask",
    "Contribute",
    "Did",
    "Download",
    "Example:",
    "Export",
    "Leave",
    "List",
    "Read",
    "Send",
    "Start",
    "Take",
    "Use",
    "Write",
];

/// Checks that an error says what to do next.
fn check_next_step(error: &Error, context: &str) {
    assert_ne!(error.kind(), Kind::Internal, "{context}: {}", error.cause_chain());
    let hint = error.hint_text().unwrap_or_else(|| panic!("{context}: {error} has no hint"));
    let first = hint.split(' ').next().unwrap_or_default();
    assert!(FIRST_WORDS.contains(&first), "{context}: {hint}");
    assert!(!hint.contains("--"), "{context}: {hint}");
    for tool in tools::table().tools() {
        assert!(tool.core || !hint.contains(tool.name) || hint.contains("Example: "), "{context}: {hint}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_calls_name_the_next_step() {
    for env in test_envs_with_data().await {
        for (name, arguments, expected) in [
            ("ledger_account_get", json!({}), "Example: ledger_account_get"),
            ("ledger_accounts_list", json!({"status": "open"}), "active"),
            ("ledger_accounts_list", json!({"account_type": "saving"}), "bank_savings"),
            ("ledger_accounts_list", json!({"cursor": "x"}), "cursor"),
            ("ledger_accounts_list", json!({"limit": 9_999}), "500"),
            ("ledger_transactions_list", json!({"since": "last week"}), "2025-09-14"),
            ("ledger_transactions_list", json!({"until": "09/14/2025"}), "2025-09-14"),
            ("ledger_transactions_list", json!({"direction": "in"}), "inflow"),
            ("ledger_transactions_list", json!({"category": "food"}), "account_id"),
            ("ledger_obligations_list", json!({"status": "unpaid"}), "paid"),
            ("ledger_counterparties_list", json!({"type": "shop"}), "merchant"),
            ("wiki_question", json!({}), "Example: wiki_question"),
            ("wiki_question", json!({"question": "Balance?", "as_of": "now"}), "2025-09-14"),
            ("wiki_page_get", json!({}), "Example: wiki_page_get"),
            ("raw_contribute", json!({"mime_type": "text/csv"}), "Example: raw_contribute"),
            ("raw_contribute", json!({"payload": ""}), "Send the text"),
            ("raw_contribute", json!({"payload": "%", "encoding": "base64"}), "base64"),
            ("raw_contribute", json!({"payload": "x", "encoding": "hex"}), "base64"),
            ("raw_contribute", json!({"payload": "x", "mime_type": "csv"}), "Use text/csv"),
            ("raw_contribute", json!({"payload": "x", "source_ref": "bank"}), "source_ref"),
            ("raw_contribute", json!({"payload": {"total": 12}}), "Send payload as a string"),
            ("raw_artifact_get", json!({"raw_id": "raw_none"}), "resource_list"),
            ("raw_artifact_get", json!({"raw_id": "\u{0}"}), "resource_list"),
            ("payment_intent_list", json!({"status": "open"}), "proposed"),
            ("evidence_resolve", json!({"refs": []}), "references to check"),
            ("evidence_resolve", json!({"refs": [{"kind": "bill", "ref": "x"}]}), "obligation"),
        ] {
            let context = format!("{name} {arguments}");
            let error = env.call(name, arguments).await.expect_err(&context);
            check_next_step(&error, &context);
            assert!(error.hint_text().unwrap().contains(expected), "{context}: {:?}", error.hint_text());
        }
        // What is not found has no error, but a hint in its result.
        for (name, arguments, expected) in [
            ("ledger_account_get", json!({"account_id": "nobody"}), "ledger_accounts_list"),
            ("ledger_account_get", json!({"account_id": "\u{0}"}), "ledger_accounts_list"),
            ("ledger_transactions_list", json!({"account_id": "Savings"}), "ledger_accounts_list"),
            ("ledger_transactions_list", json!({"counterparty_id": "\u{0}"}), "ledger_counterparties_list"),
            ("wiki_page_get", json!({"slug_or_id": "accounts/acct_none"}), "ledger_accounts_list"),
            ("wiki_page_get", json!({"slug_or_id": "monthly-summaries/1999-01"}), "ledger_transactions_list"),
            ("wiki_page_get", json!({"slug_or_id": "summary"}), "monthly-summaries/2025-09"),
        ] {
            let result = call_checked(&env, name, arguments.clone()).await;
            let hint = result["hint"].as_str().unwrap_or_default();
            assert!(hint.contains(expected), "{name} {arguments}: {result}");
        }
        // Addresses.
        for (uri, expected) in [
            ("brain://ledger/accounts/acct_none", "ledger_accounts_list"),
            ("brain://ledger/transactions/tx_none", "ledger_transactions_list"),
            ("brain://ledger/obligations/obl_none", "ledger_obligations_list"),
            ("brain://ledger/counterparties/cp_none", "ledger_counterparties_list"),
            ("brain://ledger/invoices/inv_none", "brain://wiki/invoices/all"),
            ("brain://ledger/payment-intents/pi_none", "payment_intent_list"),
            ("brain://raw/raw_none", "resource_list"),
            ("brain://wiki/accounts/acct_none", "ledger_accounts_list"),
            ("brain://wiki/monthly-summaries/1999-01", "ledger_transactions_list"),
        ] {
            let error = env.read_text(uri).await.unwrap_err();
            check_next_step(&error, uri);
            assert!(error.hint_text().unwrap().contains(expected), "{uri}: {:?}", error.hint_text());
        }
    }
}

/// The part of a reply that says whether the document was read as a statement.
async fn contribute(env: &TestEnv, payload: &str, account: Option<&str>) -> Value {
    let mut arguments = json!({"payload": payload});
    if let Some(account) = account {
        arguments["source_ref"] = json!({"account_id": account});
    }
    let reply = call_checked(env, "raw_contribute", arguments).await;
    let statement = reply["statement"].clone();
    if let Some(hint) = statement.pointer("/error/hint") {
        check_next_step(&Error::bad_input("x").hint(hint.as_str().unwrap()), payload);
    }
    statement
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_says_whether_it_was_read_as_a_statement() {
    for env in test_envs().await {
        env.load(concat!(
            r#"{"kind":"account","id":"acct_1","name":"Giro","currency":"EUR"}"#,
            "\n",
            r#"{"kind":"account","id":"acct_usd","name":"Dollar","currency":"USD"}"#
        ))
        .await
        .unwrap();
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        let check = |statement: &Value, status: &str, error: Value| {
            assert_eq!(
                (&statement["status"], &statement["error"]["message"]),
                (&json!(status), &error),
                "{statement}"
            );
        };
        let unknown = contribute(&env, STATEMENT, None).await;
        check(&unknown, "refused", json!("The file does not name its account"));
        let hint = unknown["error"]["hint"].as_str().unwrap();
        assert!(hint.contains("source_ref") && hint.contains("account_id"), "{hint}");
        let missing = contribute(&env, STATEMENT, Some("Savings")).await;
        check(&missing, "refused", json!("There is no account Savings"));
        assert!(missing["error"]["hint"].as_str().unwrap().contains("ledger_accounts_list"));
        let dollars = contribute(&env, STATEMENT, Some("acct_usd")).await;
        check(&dollars, "refused", json!("The account acct_usd is in USD, not in EUR"));
        // The hint works: the same file with its account is imported, by the name of the account, too.
        let imported = contribute(&env, STATEMENT, Some("giro")).await;
        check(&imported, "imported", Value::Null);
        assert_eq!(
            imported["accounts"],
            json!([{"currency": "EUR", "entries": 4, "account_id": "acct_1", "name": "Giro", "added": 4,
                "updated": 0, "unchanged": 0}])
        );
        assert_eq!(
            contribute(&env, STATEMENT, Some("acct_usd")).await,
            json!({"status": "already_imported"})
        );
        let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 4);
        // Lines that cannot be read are named; the others are imported.
        let damaged = STATEMENT.replace("28.09.2025", "never").replace("Two rolls", "Three rolls");
        let damaged = contribute(&env, &damaged, Some("acct_1")).await;
        check(&damaged, "imported", Value::Null);
        assert_eq!((&damaged["accounts"][0]["entries"], &damaged["error_count"]), (&json!(3), &json!(1)));
        assert!(damaged["problems"][0].as_str().unwrap().starts_with("line 5, "), "{damaged}");
        // Other documents.
        check(&contribute(&env, "{\"a\":1}", None).await, "not_a_statement", json!("The file is JSON"));
        check(
            &contribute(&env, "%PDF-1.7", None).await,
            "not_a_statement",
            json!("The file is a PDF document"),
        );
        let letter = contribute(&env, "Dear customer, thank you.", None).await;
        assert_eq!(letter["status"], "not_a_statement");
        // A table of movements whose columns or currency are unknown is a statement that is refused.
        let currency = contribute(&env, "Date,Description,Amount\n2025-09-01,Coffee,-3.50\n", None).await;
        check(&currency, "refused", json!("The file does not state the currency of its amounts"));
        let corrupt = contribute(&env, "<?xml version=\"1.0\"?><Document><BkToCstmrStmt><Stmt>", None).await;
        assert_eq!(corrupt["status"], "refused", "{corrupt}");
        // The evidence shows the same.
        let again = call_checked(&env, "raw_contribute", json!({"payload": STATEMENT})).await;
        let artifact = call_checked(&env, "raw_artifact_get", json!({"raw_id": again["rawId"]})).await;
        assert_eq!(artifact["projection_status"], "projected");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_on_hold_says_what_its_import_would_do() {
    for env in test_envs().await {
        env.load(r#"{"kind":"account","id":"acct_1","name":"Giro","currency":"EUR"}"#).await.unwrap();
        let refused = contribute(&env, STATEMENT, None).await;
        assert_eq!(
            (&refused["status"], &refused["error"]["code"]),
            (&json!("on_hold"), &json!("account_unknown"))
        );
        let held = contribute(&env, STATEMENT, Some("acct_1")).await;
        assert_eq!((&held["status"], &held["accounts"][0]["added"]), (&json!("on_hold"), &json!(4)));
        assert!(held["hint"].as_str().unwrap().contains("quad brain release agent_1"), "{held}");
        assert_eq!(contribute(&env, "a note", None).await["status"], "not_a_statement");
        let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
        assert_eq!(page["items"], json!([]));
        // The release uses the account of the second contribution.
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        assert_eq!(env.scheme.extract_pending(&env.writer(), "agent_1").await.unwrap(), 1);
        let page = env.call("ledger_transactions_list", json!({"account_id": "Giro"})).await.unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 4);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_does_not_show_the_ledger_to_callers_without_its_scope() {
    for env in test_envs().await {
        env.load(r#"{"kind":"account","id":"acct_1","name":"Giro","currency":"EUR"}"#).await.unwrap();
        let writer = agent(&env.test_store.tenant, "agent_2", "raw:write");
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_2").await.unwrap();
        let arguments = json!({"payload": STATEMENT, "source_ref": {"account_id": "acct_1"}});
        let reply = env.call_as(&writer, "raw_contribute", arguments).await.unwrap();
        assert_eq!(reply["statement"]["accounts"], json!([{"currency": "EUR", "entries": 4}]));
    }
}
