//! Mappings: guessed, shown, overridden and remembered.

use quad_statements::csv::{Mapping, Overrides, Role};
use quad_statements::{Currency, DateOrder, Options, Refusal, parse};

use crate::{folder, statements};

fn with(overrides: &[&str]) -> Options {
    Options { overrides: Overrides::parse(overrides.iter().copied()).unwrap(), ..Options::default() }
}

#[test]
fn a_remembered_mapping_reads_the_same_and_needs_no_words_of_the_user() {
    for (name, bytes) in statements().into_iter().filter(|(name, _)| name.ends_with(".csv")) {
        let first = parse(&bytes, &crate::options(&name)).unwrap();
        let stored = serde_json::to_string(first.mapping.as_ref().unwrap()).unwrap();
        let mapping: Mapping = serde_json::from_str(&stored).unwrap();
        let again = parse(&bytes, &Options { mapping: Some(mapping), ..Options::default() }).unwrap();
        assert_eq!(again.statements, first.statements, "{name}");
        assert_eq!(again.mapping, first.mapping, "{name}");
    }
}

#[test]
fn what_is_shown_can_be_said() {
    for (name, bytes) in statements().into_iter().filter(|(name, _)| name.ends_with(".csv")) {
        let first = parse(&bytes, &crate::options(&name)).unwrap();
        let shown = first.mapping.as_ref().unwrap().to_string();
        let lines: Vec<&str> = shown.lines().collect();
        let again = parse(&bytes, &with(&lines)).unwrap();
        assert_eq!(again.mapping, first.mapping, "{name}");
    }
}

#[test]
fn a_mapping_of_another_bank_is_not_forced_upon_a_table() {
    let mapping =
        parse(&std::fs::read(folder().join("de_giro.csv")).unwrap(), &Options::default()).unwrap().mapping;
    let other = std::fs::read(folder().join("us_checking.csv")).unwrap();
    let document = parse(&other, &Options { mapping, ..Options::default() }).unwrap();
    assert_eq!(document.statements[0].entries.len(), 6);
    assert!(document.findings[0].message.contains("guessed anew"), "{:?}", document.findings);
}

#[test]
fn overrides_win_over_every_guess() {
    let text = "Date,Other date,Amount,Other amount,Memo\n01/02/2024,03/02/2024,5.00,6.00,x\n";
    let document =
        parse(text.as_bytes(), &with(&["date=Other date", "amount=#4", "order=mdy", "currency=GBP"]))
            .unwrap();
    let entry = &document.statements[0].entries[0];
    assert_eq!((entry.booked.to_string().as_str(), entry.amount.to_string().as_str()), ("2024-03-02", "6"));
    let mapping = document.mapping.unwrap();
    assert_eq!((mapping.order, mapping.currency), (DateOrder::Mdy, Currency::parse("GBP").ok()));
    assert_eq!(mapping.columns(Role::Amount), ["Other amount"]);
    // Nothing is left to warn of once it was said.
    assert_eq!(document.findings, []);
}

#[test]
fn refusals_say_what_to_do() {
    let refused = |text: &str, overrides: &[&str]| parse(text.as_bytes(), &with(overrides)).unwrap_err();
    let no_currency = refused("Date,Amount\n2024-01-02,5.00\n", &[]);
    assert_eq!(no_currency, Refusal::CurrencyUnknown);
    assert_eq!(no_currency.hint(), "say it, for example currency=EUR");
    let no_column = refused("Date,Amount\n2024-01-02,5.00\n", &["amount=Sum"]);
    assert_eq!(no_column.to_string(), "the table has no column 'Sum'; its columns are Date, Amount");
    let no_date = refused("Amount,Memo,Balance\n5.00,x,7.00\n", &["currency=EUR"]);
    assert_eq!(
        no_date.to_string(),
        "no column of the table could be recognised as the date; its columns are Amount, Memo, Balance"
    );
}
