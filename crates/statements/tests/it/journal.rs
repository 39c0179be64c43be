//! Journals that were written are parsed by this crate, and by hledger if it is installed.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use jiff::civil::Date;
use proptest::prelude::*;
use quad_statements::{Amount, JournalPosting, JournalTransaction, Options, Status, parse, write_journal};

use crate::{read_document, statements};

/// A journal of all entries of all statements: each account against one expense account.
fn export(name: &str, assertions: bool) -> (String, BTreeMap<(String, String), Amount>) {
    let document = read_document(name);
    let mut sums: BTreeMap<(String, String), Amount> = BTreeMap::new();
    let mut journal = String::new();
    let mut rows = Vec::new();
    for statement in &document.statements {
        let account = format!("assets:{}", statement.account.key());
        for entry in &statement.entries {
            let sum = sums.entry((account.clone(), entry.currency.to_string())).or_default();
            *sum = sum.checked_add(entry.amount).unwrap();
            rows.push((entry, account.clone(), *sum, entry.currency.to_string()));
        }
    }
    let postings: Vec<[JournalPosting<'_>; 2]> = rows
        .iter()
        .map(|(entry, account, sum, currency)| {
            let other = entry.category.as_deref().unwrap_or("expenses:unknown (?)");
            [
                JournalPosting {
                    account,
                    amount: Some((entry.amount, currency)),
                    assertion: assertions.then_some((*sum, currency.as_str())),
                },
                JournalPosting { account: other, amount: None, assertion: None },
            ]
        })
        .collect();
    let transactions = rows.iter().zip(&postings).map(|((entry, ..), postings)| JournalTransaction {
        date: entry.booked,
        second_date: entry.value_date,
        status: entry.status,
        code: entry.references.payment.as_deref().unwrap_or_default(),
        payee: entry.counterparty.name.as_deref().unwrap_or_default(),
        note: &entry.description,
        tags: &[("source", "test: a, b")],
        postings,
    });
    write_journal(&mut journal, transactions, &["assets:a b", "expenses:unknown"], &["EUR", "JPY"]).unwrap();
    (journal, sums)
}

/// Runs hledger on a journal, if it is installed.
fn hledger(journal: &str, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new("hledger")
        .args(["-f", "-"])
        .args(arguments)
        .env("LANG", "C.UTF-8")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    child.stdin.take().unwrap().write_all(journal.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{error}\n{journal}");
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn exported_journal_reimports_with_same_sums() {
    for (name, _) in statements() {
        let (journal, sums) = export(&name, false);
        let document = parse(
            journal.as_bytes(),
            &Options { format: Some(quad_statements::Format::Hledger), ..Options::default() },
        )
        .unwrap();
        assert!(!document.has_errors(), "{name}: {:?}\n{journal}", document.findings);
        let reimported: Amount = document
            .statements
            .iter()
            .filter(|statement| {
                statement.account.name.as_deref().is_some_and(|name| name.starts_with("assets"))
            })
            .flat_map(|statement| statement.entries.iter().map(|entry| entry.amount))
            .filter(|_| sums.len() == 1)
            .fold(Amount::ZERO, |sum, amount| sum.checked_add(amount).unwrap());
        if sums.len() == 1 {
            assert_eq!(Some(&reimported), sums.values().next(), "{name}\n{journal}");
        }
    }
}

#[test]
fn hledger_balances_match_exports() {
    let mut checked = 0;
    for (name, _) in statements() {
        // Rows of a statement may be in descending order of time; assertions apply in order of the days.
        let forwards = ["es_trailing_minus.csv", "card_inverted.csv"].contains(&name.as_str());
        let (journal, sums) = export(&name, forwards);
        if journal.matches('\n').count() < 5 {
            continue;
        }
        let Some(output) = hledger(
            &journal,
            &["balance", "--flat", "--no-total", "-E", "--layout=bare", "-O", "csv", "^assets"],
        ) else {
            println!("skipped: hledger is not installed (apt-get install hledger)");
            return;
        };
        for ((account, currency), sum) in &sums {
            let is_listed = output.lines().any(|line| {
                let fields: Vec<&str> = line.split(',').map(|field| field.trim_matches('"')).collect();
                let amount = fields.last().and_then(|text| Amount::parse(text).ok());
                fields.contains(&currency.as_str()) && amount == Some(*sum)
            });
            assert!(is_listed || sum.is_zero(), "{name}: {account} {sum} {currency}\n{output}\n{journal}");
        }
        checked += 1;
    }
    assert!(checked > 20);
}

#[test]
fn hledger_balances_match_corpus_journal() {
    let text = std::fs::read_to_string(crate::statements_dir().join("household.journal")).unwrap();
    let Some(output) =
        hledger(&text, &["balance", "--flat", "--no-total", "-E", "--layout=bare", "-O", "csv", "type:al"])
            .or_else(|| hledger(&text, &["balance", "--flat"]))
    else {
        println!("skipped: hledger is not installed (apt-get install hledger)");
        return;
    };
    for statement in &read_document("household.journal").statements {
        let sum =
            statement.entries.iter().fold(Amount::ZERO, |sum, entry| sum.checked_add(entry.amount).unwrap());
        let account = statement.account.name.as_deref().unwrap();
        let line = output.lines().find(|line| {
            line.contains(&format!("\"{account}\""))
                && Amount::parse(line.rsplit('"').nth(1).unwrap_or_default()) == Ok(sum)
        });
        assert!(line.is_some() || sum.is_zero(), "{account} {sum}\n{output}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For all texts, the output is a valid journal and its amounts are exact.
    #[test]
    fn arbitrary_text_keeps_journal_parseable(
        texts in prop::collection::vec("\\PC{0,30}", 4),
        units in any::<i32>(),
        nanos in 0i32..1_000_000_000,
        symbol in "[A-Z]{3}|[a-z0-9 \"]{1,8}",
    ) {
        let nanos = if units < 0 { -nanos } else { nanos };
        let amount = Amount::new(units.into(), nanos).unwrap();
        let account = format!("assets:{}", texts[0]);
        let other = format!("expenses:{}", texts[1]);
        let postings = [
            JournalPosting { account: &account, amount: Some((amount, &symbol)), assertion: Some((amount, &symbol)) },
            JournalPosting { account: &other, amount: None, assertion: None },
        ];
        let transaction = JournalTransaction {
            date: Date::constant(2024, 2, 29),
            second_date: None,
            status: Status::Booked,
            code: &texts[2],
            payee: &texts[3],
            note: &texts[0],
            tags: &[("k", "v;w")],
            postings: &postings,
        };
        let mut journal = String::new();
        write_journal(&mut journal, [transaction], &[&account], &[&symbol]).unwrap();
        let options = Options { format: Some(quad_statements::Format::Hledger), ..Options::default() };
        let document = parse(journal.as_bytes(), &options).unwrap();
        prop_assert!(!document.has_errors(), "{:?}\n{}", document.findings, journal);
        if let Some(statement) = document.statements.first() {
            prop_assert_eq!(statement.entries[0].amount, amount, "{}", journal);
        }
    }
}
