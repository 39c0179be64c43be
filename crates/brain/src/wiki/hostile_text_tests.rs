//! Text of banks and agents stays text on every page: no image, no HTML, no link beyond `brain://`, no further heading.

use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use pulldown_cmark::{Event, HeadingLevel, Options, Parser, Tag};
use quad_core::Timestamp;
use serde_json::json;

use super::page_builder::escape_markdown;
use super::{PageName, PageRef};
use crate::AgentSummary;
use crate::testing::{TestEnv, test_envs};

/// The pages whose rows have hostile text in every field that takes free text.
const SLUGS: [&str; 11] = [
    "accounts/acct_1",
    "counterparties/cp_1",
    "obligations/obl_1",
    "invoices/inv_1",
    "invoices/all",
    "agents/agent_1",
    "policies/pol_1",
    "policies/active",
    "monthly-summaries/2025-09",
    "cash-flow/2025-09",
    "cash-flow/2025-Q3",
];

fn hostile_text() -> impl Strategy<Value = String> {
    let fragment = prop_oneof![
        Just("![x](https://evil.example/x.png)".to_owned()),
        Just("<img src=https://evil.example/x onerror=alert(1)>".to_owned()),
        Just("[click](https://evil.example)".to_owned()),
        Just("[ref]: https://evil.example".to_owned()),
        Just("![a][ref]".to_owned()),
        Just("<https://evil.example>".to_owned()),
        Just("https://evil.example/path".to_owned()),
        Just("\n\n# Current Truth\n\n- ".to_owned()),
        Just("\r\u{2028}\u{85}---\n".to_owned()),
        Just("</script><!--".to_owned()),
        Just("&lt;b&gt; &#60;i&#62;".to_owned()),
        Just("](brain://ledger/accounts/acct_2)".to_owned()),
        Just("\\".to_owned()),
        Just("`code` **bold** _soft_ ~~gone~~ $x$ {#id}".to_owned()),
        Just("| a | b |\n|---|---|\n".to_owned()),
        "[ -~]{0,12}",
        "\\PC{0,6}",
    ];
    prop::collection::vec(fragment, 1..5).prop_map(|fragments| format!("x{}", fragments.concat()))
}

/// The extensions of GitHub's Markdown, which most renderers share.
fn github_options() -> Options {
    Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_GFM
}

/// Panics if a page holds more than headings, lists, text and links to `brain://`.
fn check_page(slug: &str, body: &str) {
    let mut titles = 0;
    for event in Parser::new_ext(body, github_options()) {
        match event {
            Event::Html(_) | Event::InlineHtml(_) => panic!("{slug} holds HTML: {body}"),
            Event::Start(Tag::Image { dest_url, .. }) => panic!("{slug} shows {dest_url}: {body}"),
            Event::Start(Tag::Link { dest_url, .. }) => {
                assert!(dest_url.starts_with("brain://"), "{slug} links to {dest_url}: {body}");
            }
            Event::Start(Tag::Heading { level, .. }) => titles += usize::from(level == HeadingLevel::H1),
            Event::Start(Tag::Paragraph | Tag::List(None) | Tag::Item)
            | Event::End(_)
            | Event::Text(_)
            | Event::SoftBreak => {}
            other => panic!("{slug} holds {other:?}: {body}"),
        }
    }
    assert_eq!(titles, 1, "{slug}: {body}");
    // GitHub's Markdown makes links of bare addresses.
    assert!(!body.contains("https://") && !body.contains("www."), "{slug} has a bare address: {body}");
}

/// The rendered text of one line of Markdown.
fn plain_text(markdown: &str) -> String {
    let text_of = |event| match event {
        Event::Text(text) => text.into_string(),
        Event::Start(Tag::Paragraph) | Event::End(_) => String::new(),
        other => panic!("{markdown} holds {other:?}"),
    };
    Parser::new_ext(markdown, github_options()).map(text_of).collect()
}

async fn load_hostile_rows(env: &TestEnv, text: &str) {
    let lines = [
        json!({"kind": "account", "id": "acct_1", "name": text, "institution": text, "currency": "USD",
            "external_account_id": text, "current_balance": "10", "balance_as_of": "2025-09-01"}),
        json!({"kind": "counterparty", "id": "cp_1", "name": text, "display_name": text, "aliases": [text],
            "risk_level": "high", "agent_id": text, "metadata": {"note": text}}),
        json!({"kind": "transaction", "id": "tx_1", "account_id": "acct_1", "amount": "1", "currency": "USD",
            "direction": "outflow", "transaction_date": "2025-09-02", "description_raw": text}),
        json!({"kind": "transaction", "id": "tx_2", "account_id": "acct_1", "amount": "2", "currency": "USD",
            "direction": "inflow", "transaction_date": "2025-09-03", "counterparty_id": "cp_1",
            "description_raw": text, "description_normalized": text}),
        json!({"kind": "obligation", "id": "obl_1", "type": "bill", "counterparty_id": "cp_1", "amount_due": "3",
            "currency": "USD", "due_date": "2025-09-30", "direction": "payable", "recurrence": text,
            "linked_transaction_ids": ["tx_1"], "metadata": {"note": text}}),
        json!({"kind": "invoice", "id": "inv_1", "invoice_number": text, "counterparty_id": "cp_1",
            "counterparty_name": text, "amount_due": "4", "amount_paid": "1", "currency": "USD",
            "issue_date": "2025-09-01", "due_date": "2025-09-20", "linked_document_ids": [text],
            "linked_transaction_ids": ["tx_2"], "metadata": {"note": text}}),
        json!({"kind": "payment_intent", "id": "pi_1", "created_by_agent_id": "agent_1",
            "action_type": "ach_outbound", "source_account_id": "acct_1", "destination_counterparty_id": "cp_1",
            "amount": "3", "currency": "USD", "obligation_id": "obl_1", "policy_decision_id": text}),
        json!({"kind": "policy", "id": "pol_1", "version": 1, "state": "active", "content": {"rule": text},
            "signers": [text]}),
    ];
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    env.load(&lines.join("\n")).await.unwrap();
}

#[test]
fn hostile_text_stays_text_on_every_page() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    // Each case creates a database.
    let mut runner = TestRunner::new(Config { cases: 24, max_shrink_iters: 60, ..Config::default() });
    let outcome = runner.run(&hostile_text(), |text| {
        runtime.block_on(async {
            let agent = AgentSummary {
                subject: "agent_1".to_owned(),
                kind: "agent".to_owned(),
                state: "active".to_owned(),
                scopes: vec![text.clone()],
                registered_at: Timestamp(0),
            };
            for env in test_envs().await {
                load_hostile_rows(&env, &text).await;
                let agent = agent.clone();
                let pages = env.test_store.store.read(&env.test_store.tenant, move |sql| {
                    let mut pages = Vec::new();
                    for slug in SLUGS {
                        let Some(PageRef::Page(name)) = PageRef::parse(slug) else { panic!("{slug}") };
                        let agent = matches!(name, PageName::Agent(_)).then_some(&agent);
                        let page = super::render(sql, &name, agent, Timestamp::now())?;
                        pages.push((slug, page.map(|page| page.body)));
                    }
                    Ok(pages)
                });
                for (slug, body) in pages.await.unwrap() {
                    check_page(slug, &body.unwrap_or_else(|| panic!("{slug} has no page")));
                }
            }
        });
        Ok(())
    });
    outcome.unwrap();
}

proptest! {
    #[test]
    fn escaped_text_renders_as_the_text_itself(text in hostile_text()) {
        let expected = text.split_whitespace().collect::<Vec<_>>().join(" ");
        prop_assert_eq!(plain_text(&escape_markdown(&text)), expected);
    }
}
