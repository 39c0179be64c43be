//! Mappings: inferred, shown, overridden and stored.

use quad_statements::csv::{Mapping, Overrides, Role};
use quad_statements::{Currency, DateOrder, Options, ParseError, parse};

use crate::{statements, statements_dir};

fn options_with(overrides: &[&str]) -> Options {
    Options { overrides: Overrides::parse(overrides.iter().copied()).unwrap(), ..Options::default() }
}

#[test]
fn saved_mapping_reproduces_statements() {
    for (name, bytes) in statements().into_iter().filter(|(name, _)| name.ends_with(".csv")) {
        let first = parse(&bytes, &crate::options(&name)).unwrap();
        let stored = serde_json::to_string(first.mapping.as_ref().unwrap()).unwrap();
        let mapping: Mapping = serde_json::from_str(&stored).unwrap();
        let reparsed = parse(&bytes, &Options { mapping: Some(mapping), ..Options::default() }).unwrap();
        assert_eq!(reparsed.statements, first.statements, "{name}");
        assert_eq!(reparsed.mapping, first.mapping, "{name}");
    }
}

#[test]
fn printed_mapping_parses_as_overrides() {
    for (name, bytes) in statements().into_iter().filter(|(name, _)| name.ends_with(".csv")) {
        let first = parse(&bytes, &crate::options(&name)).unwrap();
        let printed = first.mapping.as_ref().unwrap().to_string();
        let lines: Vec<&str> = printed.lines().collect();
        let reparsed = parse(&bytes, &options_with(&lines)).unwrap();
        assert_eq!(reparsed.mapping, first.mapping, "{name}");
    }
}

#[test]
fn mismatched_saved_mapping_is_ignored() {
    let mapping = parse(&std::fs::read(statements_dir().join("de_giro.csv")).unwrap(), &Options::default())
        .unwrap()
        .mapping;
    let other = std::fs::read(statements_dir().join("us_checking.csv")).unwrap();
    let document = parse(&other, &Options { mapping, ..Options::default() }).unwrap();
    assert_eq!(document.statements[0].entries.len(), 6);
    assert!(document.findings[0].message.contains("inferred again"), "{:?}", document.findings);
}

#[test]
fn overrides_take_precedence_over_inference() {
    let text = "Date,Other date,Amount,Other amount,Memo\n01/02/2024,03/02/2024,5.00,6.00,x\n";
    let document =
        parse(text.as_bytes(), &options_with(&["date=Other date", "amount=#4", "order=mdy", "currency=GBP"]))
            .unwrap();
    let entry = &document.statements[0].entries[0];
    assert_eq!((entry.booked.to_string().as_str(), entry.amount.to_string().as_str()), ("2024-03-02", "6"));
    let mapping = document.mapping.unwrap();
    assert_eq!((mapping.order, mapping.currency), (DateOrder::Mdy, Currency::parse("GBP").ok()));
    assert_eq!(mapping.columns(Role::Amount), ["Other amount"]);
    // No warning remains after the setting was given.
    assert_eq!(document.findings, []);
}

#[test]
fn parse_errors_have_hints() {
    let parse_error =
        |text: &str, overrides: &[&str]| parse(text.as_bytes(), &options_with(overrides)).unwrap_err();
    let no_currency = parse_error("Date,Amount\n2024-01-02,5.00\n", &[]);
    assert_eq!(no_currency, ParseError::CurrencyUnknown);
    assert_eq!(no_currency.hint(), "set it, for example currency=EUR");
    let no_column = parse_error("Date,Amount\n2024-01-02,5.00\n", &["amount=Sum"]);
    assert_eq!(no_column.to_string(), "the table has no column 'Sum'; its columns are Date, Amount");
    let no_date = parse_error("Amount,Memo,Balance\n5.00,x,7.00\n", &["currency=EUR"]);
    assert_eq!(
        no_date.to_string(),
        "no column of the table could be recognised as the date; its columns are Amount, Memo, Balance"
    );
}
