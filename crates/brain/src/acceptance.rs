//! What must hold, through the whole path of a call, on every backend. The transcripts say most of it in the protocol's
//! words; here stands what needs a look behind the door.

use quad_core::Kind;
use quad_core::resolver::View;
use serde_json::{Value, json};

use crate::testing::{FIXTURE, World, caller, fixtures, worlds};
use crate::{contribution, raw};

#[tokio::test(flavor = "multi_thread")]
async fn rows_are_read_as_they_were_loaded() {
    for world in fixtures().await {
        let row = world.read("brain://ledger/transactions/tx_4127").await.unwrap();
        assert_eq!(row["amount"], "61404.12");
        assert_eq!((row["currency"].as_str(), row["direction"].as_str()), (Some("USD"), Some("outflow")));
        assert!(row["source_ids"][0].as_str().unwrap().starts_with("raw_"));
        assert!(row.get("dedup_key").is_none());
        let account = world.read("brain://ledger/accounts/acct_8231").await.unwrap();
        // The bank's balance knows of everything before it.
        assert_eq!(account["account"]["current_balance"], "1180.00");
        assert_eq!(account["latest_balance"]["current_balance"], "1180.00");
        let euro = world.read("brain://ledger/accounts/acct_euro").await.unwrap();
        assert_eq!(euro["account"]["current_balance"], "-12.25");
        assert_eq!(euro["latest_balance"], Value::Null);
        let intent = world.read("brain://ledger/payment-intents/pi_a1b2c3").await.unwrap();
        assert_eq!(
            (intent["status"].as_str(), intent["policy_decision_id"].as_str()),
            (Some("pending_approval"), Some("pd_1"))
        );
        let aws = world.read("brain://ledger/counterparties/cp_aws").await.unwrap();
        assert_eq!(
            (aws["payment_count"].as_i64(), aws["payment_total"].as_str()),
            (Some(2), Some("61504.62"))
        );
        assert_eq!(world.read("brain://ledger/invoices/inv_1").await.unwrap()["amount_paid"], "400.00");
        assert_eq!(world.read("brain://ledger/obligations/obl_1").await.unwrap()["type"], "bill");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_load_twice_is_a_load_once() {
    for world in fixtures().await {
        let again = world.load(FIXTURE).await.unwrap();
        assert_eq!((again.created, again.updated), (0, 0));
        let mistake = world
            .load("{\"kind\":\"account\",\"id\":\"acct_x\",\"name\":\"X\",\"currency\":\"usd\"}\n")
            .await;
        assert_eq!(mistake.unwrap_err().get_fact("line"), Some(&json!(1)));
        let stray = r#"{"kind":"transaction","account_id":"acct_none","amount":"1","currency":"USD","direction":"inflow","transaction_date":"2025-01-01"}"#;
        assert_eq!(world.load(stray).await.unwrap_err().kind(), Kind::BadInput);
        let other = r#"{"kind":"transaction","id":"tx_e","account_id":"acct_8231","amount":"1","currency":"EUR","direction":"inflow","transaction_date":"2025-01-01"}"#;
        assert_eq!(world.load(other).await.unwrap_err().code(), "currency_mismatch");
        assert_eq!(world.read("brain://ledger/transactions/tx_e").await.unwrap_err().kind(), Kind::NotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_changes_its_id_when_it_says_something_else() {
    for world in fixtures().await {
        let uri = "brain://wiki/monthly-summaries/2025-09";
        let get = async |what: &str| world.call("wiki.page.get", json!({"slug_or_id": what})).await.unwrap();
        let first = get("2025-09").await;
        assert!(first["body_md"].as_str().unwrap().starts_with("# Summary of 2025-09\n"));
        assert_eq!(world.text(uri).await.unwrap(), first["body_md"].as_str().unwrap());
        let alias = world.text("brain://wiki/pages/monthly-summaries/2025-09").await.unwrap();
        assert_eq!(alias, first["body_md"].as_str().unwrap());
        assert_eq!(get("/monthly-summaries/2025-09").await["id"], first["id"]);
        // Another amount of one transaction, and nothing else.
        let edit = r#"{"kind":"transaction","operation":"upsert","id":"tx_4127","account_id":"acct_8231","amount":"61404.13","currency":"USD","direction":"outflow","transaction_date":"2025-09-14","counterparty_id":"cp_aws","category_id":"cat_hosting"}"#;
        assert_eq!(world.load(edit).await.unwrap().updated, 1);
        let second = get("2025-09").await;
        assert_ne!(second["id"], first["id"]);
        assert_ne!(second["source_revision"], first["source_revision"]);
        assert_eq!(second["slug"], first["slug"]);
        assert!(second["body_md"].as_str().unwrap().contains("61,404.13 USD"));
        let old = world.text(&format!("brain://wiki/{}", first["id"].as_str().unwrap())).await.unwrap();
        assert_eq!(old, first["body_md"].as_str().unwrap());
        // Something elsewhere leaves it alone.
        let elsewhere = r#"{"kind":"counterparty","id":"cp_new","name":"Newcomer"}"#;
        world.load(elsewhere).await.unwrap();
        assert_eq!(get("2025-09").await["id"], second["id"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_figure_of_every_page_is_cited() {
    for world in fixtures().await {
        let mut pages = 0;
        let mut cursor: Option<String> = None;
        loop {
            let page = world.resolver.list(&world.caller, View::All, cursor.as_deref()).await.unwrap();
            for entry in page.entries.iter().filter(|entry| entry.uri.starts_with("brain://wiki/")) {
                let body = world.text(&entry.uri).await.unwrap();
                assert!(body.starts_with("# "), "{}", entry.uri);
                pages += 1;
                for line in body.lines().filter(|line| has_amount(line)) {
                    assert!(line.contains("(brain://"), "{}: {line}", entry.uri);
                }
                for cited in body.split("(brain://").skip(1) {
                    let uri = format!("brain://{}", cited.split(')').next().unwrap());
                    assert!(world.text(&uri).await.is_ok(), "{} cites {uri}", entry.uri);
                }
                // The same ledger gives the same page.
                assert_eq!(world.text(&entry.uri).await.unwrap(), body);
            }
            cursor = page.next_cursor;
            if cursor.is_none() {
                break;
            }
        }
        assert!(pages > 15, "{pages} pages");
    }
}

/// Whether a line holds money: digits, a point, two digits, a space and a currency.
fn has_amount(line: &str) -> bool {
    line.contains(" USD") || line.contains(" EUR")
}

#[tokio::test(flavor = "multi_thread")]
async fn evidence_is_seen_by_whoever_brought_it_and_by_others_once_it_is_cited() {
    for world in fixtures().await {
        let tenant = &world.test.tenant;
        let one = caller(tenant, "agent_1", "ledger:read raw:write");
        let other = caller(tenant, "agent_2", "ledger:read raw:write");
        let stranger = world.another_tenant("other").await;
        let brought = world.call_as(&one, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(brought["sha256"], "015abd7f5cc57a2dd94b7590f04ad8084273905ee33ec5cebeae62276a97f862");
        assert_eq!((brought["bytes"].as_i64(), brought["deduplicated"].as_bool()), (Some(7), Some(false)));
        let again = world.call_as(&one, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_eq!(
            (again["rawId"].as_str(), again["deduplicated"].as_bool()),
            (brought["rawId"].as_str(), Some(true))
        );
        let theirs =
            world.call_as(&stranger, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert_ne!(theirs["rawId"], brought["rawId"]);
        let id = brought["rawId"].as_str().unwrap();
        let uri = format!("brain://raw/{id}");
        let own: Value = serde_json::from_str(&world.text_as(&one, &uri).await.unwrap()).unwrap();
        assert_eq!(
            (own["sha256"].is_string(), own["source_type"].as_str()),
            (true, Some("agent_contributed"))
        );
        let hidden = world.text_as(&other, &uri).await.unwrap_err();
        let absent = world.text_as(&other, "brain://raw/raw_01ARZ3NDEKTSV4RRFFQ69G5FAV").await.unwrap_err();
        assert_eq!((hidden.code(), hidden.message()), (absent.code(), absent.message()));
        assert_eq!(hidden.code(), "raw_artifact_not_found");
        // The same bytes from another agent: one artifact, two contributions.
        world.call_as(&other, "raw.contribute", json!({"payload": "{\"a\":1}"})).await.unwrap();
        assert!(world.text_as(&other, &uri).await.is_ok());
        let third = caller(tenant, "agent_3", "ledger:read");
        assert!(world.text_as(&third, &uri).await.is_err());
        let citing =
            format!(r#"{{"kind":"counterparty","id":"cp_cited","name":"Cited","source_ids":["{id}"]}}"#);
        world.load(&citing).await.unwrap();
        let seen: Value = serde_json::from_str(&world.text_as(&third, &uri).await.unwrap()).unwrap();
        assert!(seen.get("sha256").is_none() && seen["parsed"].is_array());
        assert_eq!(world.text_as(&stranger, &uri).await.unwrap_err().message(), absent.message());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn attribution_is_the_servers_word_and_base64_is_decoded() {
    for world in worlds().await {
        let arguments = json!({"payload": "AAEC/w==", "encoding": "base64", "mime_type": "application/octet-stream",
            "source_ref": {"agent_id": "agent_2", "agent_role": "admin", "mailbox": "in"}});
        let brought = world.call("raw.contribute", arguments).await.unwrap();
        assert_eq!(brought["bytes"], 4);
        let seen = world.call("raw.artifact.get", json!({"raw_id": brought["rawId"]})).await.unwrap();
        assert_eq!(seen["source_ref"], json!({"mailbox": "in", "agent_id": "agent_1"}));
        let broken = world.call("raw.contribute", json!({"payload": "%", "encoding": "base64"})).await;
        assert_eq!(broken.unwrap_err().kind(), Kind::BadInput);
        // What was withdrawn stays, and says so.
        let id = brought["rawId"].as_str().unwrap();
        raw::tombstone(&world.test.store, &world.writer(), "test", id).await.unwrap();
        let seen = world.call("raw.artifact.get", json!({"raw_id": id})).await.unwrap();
        assert!(seen["tombstoned_at"].is_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hold_ends_with_a_release_or_the_sixth_contribution() {
    for world in worlds().await {
        let held = async |world: &World, agent: &str| {
            let agent = agent.to_owned();
            let read = world.test.store.read(&world.test.tenant, move |sql| {
                Ok((
                    contribution::contributor(sql, &agent)?.is_held(),
                    contribution::waiting(sql, &agent)?.len(),
                ))
            });
            read.await.unwrap()
        };
        for number in 1..=5 {
            world.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
            assert_eq!(held(&world, "agent_1").await, (true, 0), "{number}");
        }
        contribution::release(&world.test.store, &world.writer(), "test", "agent_1").await.unwrap();
        assert_eq!(held(&world, "agent_1").await, (false, 5));
        let other = caller(&world.test.tenant, "agent_2", "raw:write");
        for number in 1..=6 {
            let payload = json!({"payload": format!("other {number}")});
            world.call_as(&other, "raw.contribute", payload).await.unwrap();
        }
        // The sixth has been looked at, and those before it too.
        assert_eq!(held(&world, "agent_2").await, (false, 0));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn lists_page_without_gap_or_repeat() {
    for world in worlds().await {
        let mut lines =
            String::from("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"One\",\"currency\":\"USD\"}\n");
        for number in 0..57 {
            // Many share a day, so that the id decides.
            lines.push_str(&format!(
                "{{\"kind\":\"transaction\",\"id\":\"tx_{number:03}\",\"account_id\":\"acct_1\",\"amount\":\"{number}.01\",\"currency\":\"USD\",\"direction\":\"{}\",\"transaction_date\":\"2025-01-{:02}\"}}\n",
                if number % 3 == 0 { "inflow" } else { "outflow" },
                number / 10 + 1
            ));
        }
        world.load(&lines).await.unwrap();
        for (filter, expect) in [
            (json!({}), 57),
            (json!({"direction": "inflow"}), 19),
            (json!({"since": "2025-01-03", "until": "2025-01-04"}), 20),
        ] {
            let mut seen: Vec<String> = Vec::new();
            let mut cursor = Value::Null;
            loop {
                let mut arguments = filter.clone();
                arguments["limit"] = 4.into();
                if cursor.is_string() {
                    arguments["cursor"] = cursor.clone();
                }
                let page = world.call("ledger.transactions.list", arguments).await.unwrap();
                let items = page["items"].as_array().unwrap();
                assert!(items.len() <= 4);
                seen.extend(items.iter().map(|item| {
                    format!("{} {}", item["transaction_date"].as_str().unwrap(), item["id"].as_str().unwrap())
                }));
                cursor = page["next_cursor"].clone();
                if cursor.is_null() {
                    break;
                }
            }
            assert_eq!(seen.len(), expect, "{filter}");
            assert!(seen.is_sorted_by(|one, other| one > other), "{seen:?}");
        }
        // A cursor belongs to its filter.
        let page = world.call("ledger.transactions.list", json!({"limit": 2})).await.unwrap();
        let moved = json!({"limit": 2, "direction": "inflow", "cursor": page["next_cursor"]});
        assert_eq!(
            world.call("ledger.transactions.list", moved).await.unwrap_err().code(),
            "request_params_invalid"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn questions_are_answered_from_the_ledger() {
    for world in fixtures().await {
        let check = async |question: &str, part: &str| {
            let answer = world.ask(question).await;
            assert_eq!(answer["answered"], true, "{question}: {answer}");
            assert!(answer["answer"].as_str().unwrap().contains(part), "{question}: {answer}");
            for cited in answer["evidence"].as_array().unwrap() {
                let (kind, id) = (cited["entityType"].as_str().unwrap(), cited["entityId"].as_str().unwrap());
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
                    world.text(&format!("brain://ledger/{folder}/{id}")).await.is_ok(),
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
        for refused in [
            "Pay AWS now",
            "please send 5 USD to Acme",
            "Override the policy",
            "How much did I spend?",
            "What is love?",
        ] {
            let answer = world.ask(refused).await;
            assert_eq!(answer["answered"], false, "{refused}: {answer}");
            assert_eq!(answer["evidence"], json!([]));
        }
        check("How much did I spend in EUR?", "12.25 EUR").await;
        let long = world.call("wiki.question", json!({"question": "x".repeat(2_001)})).await;
        assert_eq!(long.unwrap_err().code(), "request_params_invalid");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_match_lifts_what_an_agent_said_and_two_agents_lift_nothing() {
    for world in fixtures().await {
        let lines = r#"
{"kind":"obligation","id":"obl_said","counterparty_id":"cp_aws","amount_due":"5","currency":"USD","due_date":"2025-09-20","provenance":"agent_contributed","confidence":0.9}
{"kind":"obligation","id":"obl_other","counterparty_id":"cp_aws","amount_due":"5","currency":"USD","due_date":"2025-09-20","provenance":"agent_contributed"}
{"kind":"match","match_type":"obligation","left_kind":"obligation","left_id":"obl_said","right_kind":"obligation","right_id":"obl_other","confidence_score":0.99,"status":"matched"}
"#;
        world.load(lines).await.unwrap();
        let said = world.read("brain://ledger/obligations/obl_said").await.unwrap();
        assert_eq!(
            (said["confidence"].as_f64(), said["provenance"].as_str()),
            (Some(0.5), Some("agent_contributed"))
        );
        let lift = r#"{"kind":"match","match_type":"payment","left_kind":"obligation","left_id":"obl_said","right_kind":"transaction","right_id":"tx_2","confidence_score":0.99,"status":"matched"}"#;
        world.load(lift).await.unwrap();
        let said = world.read("brain://ledger/obligations/obl_said").await.unwrap();
        assert_eq!(
            (said["confidence"].as_f64(), said["provenance"].as_str()),
            (Some(0.9), Some("extracted"))
        );
        let paid = world.read("brain://ledger/transactions/tx_2").await.unwrap();
        assert_eq!(paid["reconciliation_status"], "matched");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn transfers_are_neither_income_nor_spending() {
    for world in worlds().await {
        world
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
        let flow = world.text("brain://wiki/cash-flow/2025-01").await.unwrap();
        assert!(flow.contains("Inflow: 0.00 USD") && flow.contains("Outflow: 0.00 USD"), "{flow}");
        let balance = |detail: Value| detail["account"]["current_balance"].as_str().unwrap().to_owned();
        assert_eq!(balance(world.read("brain://ledger/accounts/acct_a").await.unwrap()), "-10.00");
        assert_eq!(balance(world.read("brain://ledger/accounts/acct_b").await.unwrap()), "10.00");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_was_pending_is_taken_over_when_it_is_sent_again() {
    for world in fixtures().await {
        let sent = r#"{"kind":"transaction","id":"tx_3","account_id":"acct_8231","amount":"5","currency":"USD","direction":"outflow","transaction_date":"2025-09-20","status":"posted"}"#;
        assert_eq!(world.load(sent).await.unwrap().updated, 1);
        assert_eq!(world.read("brain://ledger/transactions/tx_3").await.unwrap()["status"], "posted");
        assert!(
            world.ask("How much did I spend in September 2025?").await["answer"]
                .as_str()
                .unwrap()
                .contains("61,409.12 USD")
        );
        assert_eq!(world.load(sent).await.unwrap().skipped, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_published_tool_is_implemented_and_survives_nonsense() {
    for world in fixtures().await {
        for tool in crate::tools::all() {
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
                if let Err(error) = world.call(tool.name, arguments.clone()).await {
                    assert_ne!(error.kind(), Kind::Internal, "{} {arguments}: {}", tool.name, error.causes());
                    assert!(error.get_fact("brain_code").is_some(), "{}", tool.name);
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

async fn import_as(
    world: &World,
    name: &str,
    text: &str,
    request: &crate::import::Request,
) -> quad_core::Result<crate::import::Report> {
    crate::import::import(
        &world.test.store,
        &world.writer(),
        "test",
        name,
        text.as_bytes(),
        request,
        |_, _| {},
    )
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_becomes_rows_that_cite_it_and_an_overlap_adds_only_what_is_new() {
    for world in worlds().await {
        world
            .load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        let request = crate::import::Request { account: Some("acct_1".to_owned()), ..Default::default() };
        let look = crate::import::Request { dry_run: true, ..request.clone() };
        let seen = import_as(&world, "a.csv", STATEMENT, &look).await.unwrap();
        assert_eq!((seen.raw_id, seen.statements[0].posted.added), (None, 4));
        assert!(seen.mapping.unwrap().contains("decimal=comma"));
        let first = import_as(&world, "a.csv", STATEMENT, &request).await.unwrap();
        assert_eq!(first.statements[0].posted.added, 4, "{:?}", first.findings);
        let again = import_as(&world, "a.csv", STATEMENT, &request).await.unwrap();
        assert_eq!((again.statements[0].posted.added, again.statements[0].posted.known), (0, 4));
        // The next statement begins where this one has not ended.
        let next = STATEMENT.replace("01.09.2025;Bakery;Two rolls;-3,20;EUR\r\n", "")
            + "02.10.2025;Bakery;Cake;-20,00;EUR\r\n";
        let next = import_as(&world, "b.csv", &next, &request).await.unwrap();
        assert_eq!((next.statements[0].posted.added, next.statements[0].posted.known), (1, 2));
        let account = world.read("brain://ledger/accounts/acct_1").await.unwrap();
        assert_eq!(account["account"]["current_balance"], "1573.60");
        let page = world.call("ledger.transactions.list", json!({})).await.unwrap();
        let newest = &page["items"][0];
        assert_eq!(
            (newest["amount"].as_str(), newest["provenance"].as_str()),
            (Some("20.00"), Some("extracted"))
        );
        let raw = newest["source_ids"][0].as_str().unwrap();
        let evidence = world.read(&format!("brain://raw/{raw}")).await.unwrap();
        assert_eq!(evidence["parsed"][0]["id"], newest["evidence_ids"][0]);
        assert_eq!(evidence["projection_status"], "projected");
        // Without an account nobody can tell whose it is.
        let nobody = import_as(&world, "c.csv", STATEMENT, &Default::default()).await.unwrap_err();
        assert_eq!(nobody.code(), "account_unknown");
        // One bad line is named, and the others are taken.
        let damaged = STATEMENT.replace("28.09.2025", "never");
        let damaged = import_as(&world, "d.csv", &damaged, &look).await.unwrap();
        assert!(
            damaged.has_errors && damaged.findings.iter().any(|finding| finding.contains("line 5")),
            "{:?}",
            damaged.findings
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_names_no_currency_is_in_that_of_its_account() {
    const BARE: &str = "Date,Description,Amount\n2025-09-01,Coffee,-3.50\n";
    for world in worlds().await {
        world
            .load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"CHF\"}")
            .await
            .unwrap();
        let request = crate::import::Request { account: Some("acct_1".to_owned()), ..Default::default() };
        let report = import_as(&world, "a.csv", BARE, &request).await.unwrap();
        assert_eq!((report.statements[0].posted.added, report.statements[0].currency.as_str()), (1, "CHF"));
        // Another currency is still another's money.
        let other = crate::import::Request { currency: Some("USD".to_owned()), ..request };
        assert!(import_as(&world, "b.csv", &BARE.replace("-3.50", "-4"), &other).await.is_err());
        let unknown = import_as(&world, "c.csv", BARE, &Default::default()).await.unwrap_err();
        assert!(unknown.next_step().is_some_and(|hint| hint.contains("--currency")), "{unknown}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_of_an_agent_is_believed_by_half_and_only_after_the_hold() {
    for world in worlds().await {
        world
            .load("{\"kind\":\"account\",\"id\":\"acct_1\",\"name\":\"Giro\",\"currency\":\"EUR\"}")
            .await
            .unwrap();
        let payload =
            json!({"payload": STATEMENT, "mime_type": "text/csv", "source_ref": {"account_id": "acct_1"}});
        let brought = world.call("raw.contribute", payload).await.unwrap();
        let count = async || {
            world.call("ledger.transactions.list", json!({})).await.unwrap()["items"]
                .as_array()
                .unwrap()
                .len()
        };
        assert_eq!(count().await, 0);
        for number in 2..=6 {
            world.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(count().await, 4);
        let page = world.call("ledger.transactions.list", json!({})).await.unwrap();
        for row in page["items"].as_array().unwrap() {
            assert_eq!(
                (row["provenance"].as_str(), row["confidence"].as_f64()),
                (Some("agent_contributed"), Some(0.5))
            );
        }
        let seen = world.call("raw.artifact.get", json!({"raw_id": brought["rawId"]})).await.unwrap();
        assert_eq!(seen["parsed"][0]["parser"], "statements.csv");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_does_not_fit_is_said_to_have_failed_to_those_who_have_read_it_before() {
    for world in worlds().await {
        // It names no account, and neither does the agent.
        let brought = world
            .call("raw.contribute", json!({"payload": STATEMENT, "mime_type": "text/csv"}))
            .await
            .unwrap();
        let uri = format!("brain://raw/{}", brought["rawId"].as_str().unwrap());
        let status = async || world.read(&uri).await.unwrap()["projection_status"].clone();
        assert_ne!(status().await, "projection_failed", "the agent is still held back");
        for number in 2..=6 {
            world.call("raw.contribute", json!({"payload": format!("note {number}")})).await.unwrap();
        }
        assert_eq!(status().await, "projection_failed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exported_journal_has_the_same_balances() {
    for world in fixtures().await {
        let mut journal = String::new();
        let write = |text: &str| {
            journal.push_str(text);
            Ok(())
        };
        crate::export::journal(&world.test.store, &world.test.tenant, write).await.unwrap();
        assert!(journal.contains("assets:Operating:acct_8231"), "{journal}");
        let file = std::env::temp_dir().join(format!("{}.journal", quad_core::id::ulid().unwrap()));
        std::fs::write(&file, &journal).unwrap();
        let asked = std::process::Command::new("hledger")
            .arg("-f")
            .arg(&file)
            .args(["balance", "assets", "-O", "csv"])
            .output();
        let _ = std::fs::remove_file(&file);
        match asked {
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
