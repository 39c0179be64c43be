//! Tests of the scheme through the resolver, on every backend. The transcripts cover most behaviour in protocol
//! messages; these tests also look at stored state.

use quad_core::Kind;
use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::import::ImportOptions;
use crate::testing::{STATEMENT, test_envs, test_envs_with_data};

#[tokio::test(flavor = "multi_thread")]
async fn page_gets_new_revision_when_content_changes() {
    for env in test_envs_with_data().await {
        let uri = "brain://wiki/monthly-summaries/2025-09";
        let get_page =
            async |page_ref: &str| env.call("wiki_page_get", json!({"slug_or_id": page_ref})).await.unwrap();
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
                let page = env.call("ledger_transactions_list", arguments).await.unwrap();
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
        let page = env.call("ledger_transactions_list", json!({"limit": 2})).await.unwrap();
        let other_filter = json!({"limit": 2, "direction": "inflow", "cursor": page["next_cursor"]});
        assert_eq!(
            env.call("ledger_transactions_list", other_filter).await.unwrap_err().code(),
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
        let long = env.call("wiki_question", json!({"question": "x".repeat(2_001)})).await;
        assert_eq!(long.unwrap_err().code(), "request_params_invalid");
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
        let page = env.call("ledger_transactions_list", json!({})).await.unwrap();
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
