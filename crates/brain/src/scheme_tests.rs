//! Tests of the scheme through the resolver, on every backend. The transcripts cover most behaviour in protocol
//! messages; these tests also look at stored state.

use quad_core::Kind;
use quad_core::resolver::View;
use quad_store::audit::block;
use quad_store::testing::agent;
use quad_store::{Sql as _, Tx, params};
use serde_json::{Value, json};

use crate::import::ImportOptions;
use crate::testing::{FIXTURE, TestEnv, test_envs, test_envs_with_data};
use crate::{contribution, counterparty, raw};

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
async fn page_gets_new_revision_when_content_changes() {
    for env in test_envs_with_data().await {
        let uri = "brain://wiki/monthly-summaries/2025-09";
        let get_page =
            async |page_ref: &str| env.call("wiki.page.get", json!({"slug_or_id": page_ref})).await.unwrap();
        let first = get_page("2025-09").await;
        assert!(first["body_md"].as_str().unwrap().starts_with("# Summary of 2025-09\n"));
        assert_eq!(env.read_text(uri).await.unwrap(), first["body_md"].as_str().unwrap());
        let alias = env.read_text("brain://wiki/pages/monthly-summaries/2025-09").await.unwrap();
        assert_eq!(alias, first["body_md"].as_str().unwrap());
        assert_eq!(get_page("/monthly-summaries/2025-09").await["id"], first["id"]);
        // Changes the amount of one transaction.
        let edit = r#"{"kind":"transaction","operation":"upsert","id":"tx_4127","account_id":"acct_8231","amount":"61404.13","currency":"USD","direction":"outflow","transaction_date":"2025-09-14","counterparty_id":"cp_aws","category_id":"cat_hosting"}"#;
        assert_eq!(env.load(edit).await.unwrap().updated, 1);
        let second = get_page("2025-09").await;
        assert_ne!(second["id"], first["id"]);
        assert_ne!(second["source_revision"], first["source_revision"]);
        assert_eq!(second["slug"], first["slug"]);
        assert!(second["body_md"].as_str().unwrap().contains("61,404.13 USD"));
        let old_revision =
            env.read_text(&format!("brain://wiki/{}", first["id"].as_str().unwrap())).await.unwrap();
        assert_eq!(old_revision, first["body_md"].as_str().unwrap());
        // An unrelated change does not create a revision.
        let unrelated = r#"{"kind":"counterparty","id":"cp_new","name":"Newcomer"}"#;
        env.load(unrelated).await.unwrap();
        assert_eq!(get_page("2025-09").await["id"], second["id"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_wiki_amount_has_a_citation() {
    for env in test_envs_with_data().await {
        let mut pages = 0;
        let mut cursor: Option<String> = None;
        loop {
            let page = env.resolver.list(&env.caller, View::All, cursor.as_deref()).await.unwrap();
            for entry in page.entries.iter().filter(|entry| entry.uri.starts_with("brain://wiki/")) {
                let body = env.read_text(&entry.uri).await.unwrap();
                assert!(body.starts_with("# "), "{}", entry.uri);
                pages += 1;
                for line in body.lines().filter(|line| has_amount(line)) {
                    assert!(line.contains("(brain://"), "{}: {line}", entry.uri);
                }
                for link in body.split("(brain://").skip(1) {
                    let uri = format!("brain://{}", link.split(')').next().unwrap());
                    assert!(env.read_text(&uri).await.is_ok(), "{} cites {uri}", entry.uri);
                }
                // The same ledger gives the same page.
                assert_eq!(env.read_text(&entry.uri).await.unwrap(), body);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert!(pages > 15, "{pages} pages");
    }
}

/// Whether a line contains an amount.
fn has_amount(line: &str) -> bool {
    line.contains(" USD") || line.contains(" EUR")
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_visible_to_contributor_and_once_cited() {
    for env in test_envs_with_data().await {
        let tenant = &env.test_store.tenant;
        let contributor = agent(tenant, "agent_1", "ledger:read raw:write");
        let other_agent = agent(tenant, "agent_2", "ledger:read raw:write");
        let other_tenant = env.agent_of_tenant("other").await;
        let uploaded =
            env.call_as(&contributor, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(uploaded["sha256"], "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
        assert_eq!((uploaded["bytes"].as_i64(), uploaded["deduplicated"].as_bool()), (Some(7), Some(false)));
        let again =
            env.call_as(&contributor, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(
            (again["rawId"].as_str(), again["deduplicated"].as_bool()),
            (uploaded["rawId"].as_str(), Some(true))
        );
        let other_tenant_upload =
            env.call_as(&other_tenant, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_ne!(other_tenant_upload["rawId"], uploaded["rawId"]);
        let id = uploaded["rawId"].as_str().unwrap();
        let uri = format!("brain://raw/{id}");
        let contributor_view: Value =
            serde_json::from_str(&env.read_text_as(&contributor, &uri).await.unwrap()).unwrap();
        assert_eq!(
            (contributor_view["sha256"].is_string(), contributor_view["source_type"].as_str()),
            (true, Some("agent_contributed"))
        );
        let hidden = env.read_text_as(&other_agent, &uri).await.unwrap_err();
        let missing =
            env.read_text_as(&other_agent, "brain://raw/raw_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.unwrap_err();
        assert_eq!((hidden.code(), hidden.message()), (missing.code(), missing.message()));
        assert_eq!(hidden.code(), "raw_artifact_not_found");
        // The same bytes from another agent: one artifact, two contributions.
        env.call_as(&other_agent, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert!(env.read_text_as(&other_agent, &uri).await.is_ok());
        let reader = agent(tenant, "agent_3", "ledger:read");
        assert!(env.read_text_as(&reader, &uri).await.is_err());
        let citing =
            format!(r#"{{"kind":"counterparty","id":"cp_cited","name":"Cited","source_ids":["{id}"]}}"#);
        env.load(&citing).await.unwrap();
        let reader_view: Value =
            serde_json::from_str(&env.read_text_as(&reader, &uri).await.unwrap()).unwrap();
        assert!(reader_view.get("sha256").is_none() && reader_view["parsed"].is_array());
        assert_eq!(env.read_text_as(&other_tenant, &uri).await.unwrap_err().message(), missing.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contribution_sets_agent_id_and_decodes_base64() {
    for env in test_envs().await {
        let arguments = json!({"payload": "AAEC/w==", "encoding": "base64", "mime_type": "application/octet-stream",
            "source_ref": {"agent_id": "agent_2", "agent_role": "admin", "mailbox": "in"}});
        let uploaded = env.call("raw.contribute", arguments).await.unwrap();
        assert_eq!(uploaded["bytes"], 4);
        let artifact = env.call("raw.artifact.get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["source_ref"], json!({"mailbox": "in", "agent_id": "agent_1"}));
        let invalid = env.call("raw.contribute", json!({"payload": "%", "encoding": "base64"})).await;
        assert_eq!(invalid.unwrap_err().kind(), Kind::BadInput);
        // A tombstoned artifact can still be read.
        let id = uploaded["rawId"].as_str().unwrap();
        raw::tombstone(&env.test_store.store, &env.writer(), "test", id).await.unwrap();
        let artifact = env.call("raw.artifact.get", json!({"raw_id": id})).await.unwrap();
        assert!(artifact["tombstoned_at"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn hold_ends_on_release_or_sixth_contribution() {
    for env in test_envs().await {
        let hold_state = async |env: &TestEnv, agent: &str| {
            let agent = agent.to_owned();
            let read = env.test_store.store.read(&env.test_store.tenant, move |sql| {
                Ok((
                    contribution::load_contributor(sql, &agent)?.is_on_hold(),
                    contribution::pending(sql, &agent)?.len(),
                ))
            });
            read.await.unwrap()
        };
        for number in 1..=5 {
            env.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
            assert_eq!(hold_state(&env, "agent_1").await, (true, 0), "{number}");
        }
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        assert_eq!(hold_state(&env, "agent_1").await, (false, 5));
        let other = agent(&env.test_store.tenant, "agent_2", "raw:write");
        for number in 1..=6 {
            let payload = json!({"payload": format!("other {number}")});
            env.call_as(&other, "raw.contribute", payload).await.unwrap();
        }
        // The sixth contribution and those before it are extracted.
        assert_eq!(hold_state(&env, "agent_2").await, (false, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_page_without_gap_or_repeat() {
    for env in test_envs().await {
        let mut lines =
            String::from("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"One\",\"currency\":\"USD\"}\n");
        for number in 0..57 {
            // Many rows have the same day, so that the id decides the order.
            lines.push_str(&format!(
                "{{\"kind\":\"transaction\",\"id\":\"tx_{number:03}\",\"account_id\":\"acct_1\",\"amount\":\"{number}.01\",\"currency\":\"USD\",\"direction\":\"{}\",\"transaction_date\":\"2025-01-{:02}\"}}\n",
                if number % 3 == 0 { "inflow" } else { "outflow" },
                number / 10 + 1
            ));
        }
        env.load(&lines).await.unwrap();
        for (filter, expect) in [
            (json!({}), 57),
            (json!({"direction": "inflow"}), 19),
            (json!({"since": "2025-01-03", "until": "2025-01-04"}), 20),
        ] {
            let mut rows: Vec<String> = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let mut arguments = filter.clone();
                arguments["limit"] = 4.into();
                if cursor.is_string() {
                    arguments["cursor"] = cursor.clone();
                }
                let page = env.call("ledger.transactions.list", arguments).await.unwrap();
                let items = page["items"].as_array().unwrap();
                assert!(items.len() <= 4);
                rows.extend(items.iter().map(|item| {
                    format!("{} {}", item["transaction_date"].as_str().unwrap(), item["id"].as_str().unwrap())
                }));
                cursor = page["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(rows.len(), expect, "{filter}");
            assert!(rows.is_sorted_by(|a, b| a > b), "{rows:?}");
        }
        // A cursor is only valid with the filter that it was made with.
        let page = env.call("ledger.transactions.list", json!({"limit": 2})).await.unwrap();
        let other_filter = json!({"limit": 2, "direction": "inflow", "cursor": page["next_cursor"]});
        assert_eq!(
            env.call("ledger.transactions.list", other_filter).await.unwrap_err().code(),
            "request_params_invalid"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_from_the_ledger() {
    for env in test_envs_with_data().await {
        let check = async |question: &str, expected: &str| {
            let answer = env.ask(question).await;
            assert_eq!(answer["answered"], true, "{question}: {answer}");
            assert!(answer["answer"].as_str().unwrap().contains(expected), "{question}: {answer}");
            for citation in answer["evidence"].as_array().unwrap() {
                let (kind, id) =
                    (citation["entityType"].as_str().unwrap(), citation["entityId"].as_str().unwrap());
                let folder = match kind {
                    "transaction" => "transactions",
                    "counterparty" => "counterparties",
                    "account" => "accounts",
                    "obligation" => "obligations",
                    "invoice" => "invoices",
                    "payment_intent" => "payment-intents",
                    _ => continue,
                };
                assert!(
                    env.read_text(&format!("brain://ledger/{folder}/{id}")).await.is_ok(),
                    "{question} cites {id}"
                );
            }
        };
        check("How many transactions do I have in September 2025?", "2 transactions").await;
        check(
            "Cash flow summary for 2025-09",
            "inflow 70,000.00 USD, outflow 61,404.12 USD, net 8,595.88 USD",
        )
        .await;
        check("How much did I spend in September 2025?", "61,404.12 USD").await;
        check("How much did I pay AWS?", "61,504.62 USD was paid to Amazon Web Services").await;
        check("Why did spending change in September 2025?", "rose by 61,303.62 USD").await;
        check("What is the status of invoice INV-1001?", "paid in part").await;
        check("What subscriptions are active?", "10.00 USD a month").await;
        check("How much do I owe Amazon Web Services?", "370.00 USD").await;
        check("How much does Acme Corp owe us?", "900.00 USD").await;
        check("What is overdue?", "250.00 USD in 1 obligations").await;
        check("What is the balance of Operating?", "1,180.00 USD").await;
        check("What was the largest expense in September 2025?", "61,404.12 USD").await;
        check("How much did we spend on hosting in 2025-08?", "100.50 USD").await;
        check("Do we trust Acme Corp?", "risk high").await;
        check("Are there pending approvals?", "250.00 USD ach_outbound").await;
        check("What does the policy allow?", "No policy is active").await;
        check("How many accounts are there?", "2 accounts").await;
        check("Who are our top vendors in 2025-09?", "Amazon Web Services").await;
        check("Which bills are due in the next 7 days?", "250.00 USD").await;
        for unanswerable in [
            "Pay AWS now",
            "please send 5 USD to Acme",
            "Override the policy",
            "How much did I spend?",
            "What is love?",
        ] {
            let answer = env.ask(unanswerable).await;
            assert_eq!(answer["answered"], false, "{unanswerable}: {answer}");
            assert_eq!(answer["evidence"], json!([]));
        }
        check("How much did I spend in EUR?", "12.25 EUR").await;
        let long = env.call("wiki.question", json!({"question": "x".repeat(2_001)})).await;
        assert_eq!(long.unwrap_err().code(), "request_params_invalid");
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
async fn every_tool_handles_random_arguments() {
    for env in test_envs_with_data().await {
        for tool in crate::tools::table().tools() {
            for arguments in [
                json!({}),
                json!({"account_id": "x"}),
                json!({"cursor": "garbage"}),
                json!({"question": "\u{0}"}),
                json!({"slug_or_id": "../../etc"}),
                json!({"payload": ""}),
                json!({"raw_id": "raw_1"}),
                json!({"refs": [{"kind": "account", "ref": "x"}]}),
                json!({"since": "yesterday"}),
                json!({"limit": 0}),
                json!({"q": "%' OR 1=1"}),
                json!({"question": "日本語 how much spend in q9 2025-99"}),
            ] {
                if let Err(error) = env.call(tool.name, arguments.clone()).await {
                    assert_ne!(
                        error.kind(),
                        Kind::Internal,
                        "{} {arguments}: {}",
                        tool.name,
                        error.cause_chain()
                    );
                    assert!(error.detail("brain_code").is_some(), "{}", tool.name);
                }
            }
        }
    }
}

const STATEMENT: &str = "Date;Payee;Description;Amount;Currency\r\n\
    01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n\
    01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n\
    15.09.2025;Employer;Salary;2.500,00;EUR\r\n\
    28.09.2025;Landlord;Rent;-900,00;EUR\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn overlapping_statement_adds_only_new_rows() {
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        let options = ImportOptions { account: Some("acct_1".to_owned()), ..Default::default() };
        let dry_run_options = ImportOptions { dry_run: true, ..options.clone() };
        let preview = env.import("a.csv", STATEMENT, &dry_run_options).await.unwrap();
        assert_eq!((preview.raw_id, preview.statements[0].posted.added), (None, 4));
        assert!(preview.mapping.unwrap().contains("decimal=comma"));
        let first = env.import("a.csv", STATEMENT, &options).await.unwrap();
        assert_eq!(first.statements[0].posted.added, 4, "{:?}", first.diagnostics);
        let again = env.import("a.csv", STATEMENT, &options).await.unwrap();
        assert_eq!((again.statements[0].posted.added, again.statements[0].posted.unchanged), (0, 4));
        // A statement that overlaps the first one.
        let next = STATEMENT.replace("01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n", "")
            + "02.10.2025;Bakery;Cake;-20,00;EUR\r\n";
        let next = env.import("b.csv", &next, &options).await.unwrap();
        assert_eq!((next.statements[0].posted.added, next.statements[0].posted.unchanged), (1, 2));
        let account = env.read("brain://ledger/accounts/acct_1").await.unwrap();
        assert_eq!(account["account"]["current_balance"], "1573.60");
        let page = env.call("ledger.transactions.list", json!({})).await.unwrap();
        let newest = &page["items"][0];
        assert_eq!(
            (newest["amount"].as_str(), newest["provenance"].as_str()),
            (Some("20.00"), Some("extracted"))
        );
        let raw = newest["source_ids"][0].as_str().unwrap();
        let evidence = env.read(&format!("brain://raw/{raw}")).await.unwrap();
        assert_eq!(evidence["parsed"][0]["id"], newest["evidence_ids"][0]);
        assert_eq!(evidence["projection_status"], "projected");
        // Neither the file nor the options name an account.
        let no_account = env.import("c.csv", STATEMENT, &Default::default()).await.unwrap_err();
        assert_eq!(no_account.code(), "account_unknown");
        // An invalid line is reported, and the other lines are imported.
        let damaged = STATEMENT.replace("28.09.2025", "never");
        let damaged = env.import("d.csv", &damaged, &dry_run_options).await.unwrap();
        assert!(
            damaged.has_errors && damaged.diagnostics.iter().any(|finding| finding.contains("line 5")),
            "{:?}",
            damaged.diagnostics
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn file_without_currency_uses_account_currency() {
    const BARE: &str = "Date,Description,Amount\n2025-09-01,Coffee,-3.50\n";
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"CHF\"}")
            .await
            .unwrap();
        let options = ImportOptions { account: Some("acct_1".to_owned()), ..Default::default() };
        let report = env.import("a.csv", BARE, &options).await.unwrap();
        assert_eq!((report.statements[0].posted.added, report.statements[0].currency.as_str()), (1, "CHF"));
        // A currency that differs from the account's is refused.
        let other_currency = ImportOptions { currency: Some("USD".to_owned()), ..options };
        assert!(env.import("b.csv", &BARE.replace("-3.50", "-4"), &other_currency).await.is_err());
        let no_currency = env.import("c.csv", BARE, &Default::default()).await.unwrap_err();
        assert!(no_currency.hint_text().is_some_and(|hint| hint.contains("--currency")), "{no_currency}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn agent_statement_has_half_confidence_after_hold() {
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        let payload =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_1"}});
        let uploaded = env.call("raw.contribute", payload).await.unwrap();
        let count = async || {
            env.call("ledger.transactions.list", json!({})).await.unwrap()["items"].as_array().unwrap().len()
        };
        assert_eq!(count().await, 0);
        for number in 2..=6 {
            env.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(count().await, 4);
        let page = env.call("ledger.transactions.list", json!({})).await.unwrap();
        for row in page["items"].as_array().unwrap() {
            assert_eq!(
                (row["provenance"].as_str(), row["confidence"].as_f64()),
                (Some("agent_contributed"), Some(0.5))
            );
        }
        let artifact = env.call("raw.artifact.get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["parsed"][0]["parser"], "statements.csv");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn failed_extraction_updates_projection_status() {
    for env in test_envs().await {
        // Neither the file nor the agent names an account.
        let uploaded =
            env.call("raw.contribute", json!({"payload": STATEMENT, "mime_type": "text/csv"})).await.unwrap();
        let uri = format!("brain://raw/{}", uploaded["rawId"].as_str().unwrap());
        let status = async || env.read(&uri).await.unwrap()["projection_status"].clone();
        assert_ne!(status().await, "projection_failed", "the agent is still held back");
        for number in 2..=6 {
            env.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(status().await, "projection_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn exported_journal_has_same_balances() {
    for env in test_envs_with_data().await {
        let mut journal = String::new();
        let write = |text: &str| {
            journal.push_str(text);
            Ok(())
        };
        crate::export::export_journal(&env.test_store.store, &env.test_store.tenant, write).await.unwrap();
        assert!(journal.contains("assets:Operating:acct_8231"), "{journal}");
        let file = std::env::temp_dir().join(format!("{}.journal", quad_core::id::ulid().unwrap()));
        std::fs::write(&file, &journal).unwrap();
        let hledger_result = std::process::Command::new("hledger")
            .arg("-f")
            .arg(&file)
            .args(["balance", "assets", "-O", "csv"])
            .output();
        let _ = std::fs::remove_file(&file);
        match hledger_result {
            Ok(output) => {
                let printed = String::from_utf8_lossy(&output.stdout).into_owned();
                assert!(output.status.success(), "{}\n{journal}", String::from_utf8_lossy(&output.stderr));
                assert!(printed.contains("1180.00 USD") && printed.contains("-12.25 EUR"), "{printed}");
            }
            Err(error) => {
                assert!(
                    std::env::var_os("CI").is_none(),
                    "hledger does not start: {error}; ./x setup installs it"
                );
                eprintln!("skipped: hledger does not start ({error}); ./x setup installs it");
            }
        }
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
        let page = env.call("ledger.counterparties.list", json!({"q": "ec2 bill"})).await.unwrap();
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
async fn contribution_with_failed_extraction_succeeds_with_one_audit_event() {
    for env in test_envs().await {
        env.load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        contribution::release(&env.test_store.store, &env.writer(), "test", "agent_1").await.unwrap();
        // Corrupts a row, so that reading it is an internal error.
        let set_currency = async |currency: &'static str| {
            let work = move |tx: &mut Tx<'_>| {
                let tenant = tx.tenant().as_str().to_owned();
                tx.execute(
                    "UPDATE brain_account SET currency = $2 WHERE tenant_id = $1 AND id = 'acct_1'",
                    params![tenant, currency],
                )?;
                Ok(())
            };
            env.test_store.store.write_unaudited(&env.test_store.tenant, work).await.unwrap();
        };
        set_currency("?").await;
        let before = audited_actions(&env).await.len();
        let statement =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_1"}});
        let uploaded = env.call("raw.contribute", statement).await.unwrap();
        assert_eq!(audited_actions(&env).await[before..], ["agent.mcp.tool_called"]);
        // The next contribution extracts it.
        set_currency("EUR").await;
        env.call("raw.contribute", json!({"payload": "note"})).await.unwrap();
        let artifact = env.call("raw.artifact.get", json!({"raw_id": uploaded["rawId"]})).await.unwrap();
        assert_eq!(artifact["projection_status"], "projected");
        let page = env.call("ledger.transactions.list", json!({})).await.unwrap();
        assert_eq!(page["items"].as_array().unwrap().len(), 4);
    }
}

/// The actions of all audit events of the tenant, in order.
async fn audited_actions(env: &TestEnv) -> Vec<String> {
    let blocks = env
        .test_store
        .store
        .read(&env.test_store.tenant, |sql| block::blocks_after(sql, 0, 1_000))
        .await
        .unwrap();
    let action = |record: &str| {
        let record: Value = serde_json::from_str(record).unwrap();
        record["action"].as_str().unwrap().to_owned()
    };
    blocks
        .iter()
        .flat_map(|block| block.records().map(|(_, record)| action(record)).collect::<Vec<_>>())
        .collect()
}
