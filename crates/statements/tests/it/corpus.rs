//! Compares every statement with its expected result, as text. `QUAD_TEST_BLESS=1` rewrites the expectations; review
//! the difference before a commit. Fingerprints are included: ledgers store them, so they must never change.

use std::fmt::Write;

use quad_statements::{AccountHint, Counterparty, Document, Entry, References, Statement, Status, parse};

use crate::{options, statements, statements_dir};

#[test]
fn corpus_matches_expected_output() {
    let bless = std::env::var_os("QUAD_TEST_BLESS").is_some();
    let mut mismatches = Vec::new();
    for (name, bytes) in statements() {
        let output = match parse(&bytes, &options(&name)) {
            Ok(document) => format_document(&document),
            Err(error) => format!("refused: {error}\nhint: {}\n", error.hint()),
        };
        let path = statements_dir().join(format!("{name}.expected"));
        if bless {
            std::fs::write(&path, &output).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != output {
            mismatches.push(format!("--- {name}\n{output}"));
        }
    }
    assert!(mismatches.is_empty(), "QUAD_TEST_BLESS=1 accepts these:\n{}", mismatches.join("\n"));
}

fn format_document(document: &Document) -> String {
    let mut out = format!("format: {}\n", document.format.name());
    if let Some(mapping) = &document.mapping {
        writeln!(out, "mapping: {}", mapping.to_string().replace('\n', "; ")).unwrap();
    }
    for statement in &document.statements {
        write_statement(&mut out, statement);
    }
    for diagnostic in &document.findings {
        writeln!(out, "{diagnostic}").unwrap();
    }
    out
}

fn write_statement(out: &mut String, statement: &Statement) {
    let AccountHint { iban, number, bank, name, kind } = &statement.account;
    write!(out, "\nstatement in {}", statement.currency).unwrap();
    for (label, value) in
        [("iban", iban), ("number", number), ("bank", bank), ("name", name), ("id", &statement.id)]
    {
        if let Some(value) = value {
            write!(out, ", {label} {value}").unwrap();
        }
    }
    if let Some(kind) = kind {
        write!(out, ", {kind:?}").unwrap();
    }
    if let Some((from, to)) = statement.from.zip(statement.to) {
        write!(out, ", {from} to {to}").unwrap();
    }
    out.push('\n');
    let balances =
        [("opening", statement.opening), ("closing", statement.closing), ("available", statement.available)];
    for (label, balance) in balances {
        if let Some(balance) = balance {
            let as_of = balance.as_of.map(|day| format!(" on {day}")).unwrap_or_default();
            writeln!(out, "  {label} {}{as_of}", balance.amount.in_currency(statement.currency)).unwrap();
        }
    }
    let account = statement.account.key();
    for entry in &statement.entries {
        write_entry(out, entry);
        let identified_by = if entry.has_trusted_bank_id() { "id" } else { "text" };
        writeln!(out, "    {} by {identified_by}", entry.fingerprint(&account)).unwrap();
    }
}

fn write_entry(out: &mut String, entry: &Entry) {
    write!(out, "  line {}: {} {}", entry.line, entry.booked, entry.amount.in_currency(entry.currency))
        .unwrap();
    if let Some(day) = entry.value_date {
        write!(out, ", value {day}").unwrap();
    }
    if let Some(moment) = entry.moment {
        write!(out, ", at {} ms {:+} min", moment.utc_ms, moment.offset_minutes).unwrap();
    }
    if let Some(money) = entry.original {
        write!(out, ", was {} {}", money.amount.in_currency(money.currency), money.currency).unwrap();
    }
    if let Some(balance) = entry.balance {
        write!(out, ", leaves {}", balance.in_currency(entry.currency)).unwrap();
    }
    if let Some(kind) = entry.kind {
        write!(out, ", {kind:?}").unwrap();
    }
    if entry.status == Status::Pending {
        out.push_str(", pending");
    }
    if entry.reversal {
        out.push_str(", reversal");
    }
    out.push_str(&format_details(
        &entry.counterparty,
        &entry.description,
        &entry.references,
        entry.category.as_deref(),
    ));
    out.push('\n');
    for split in &entry.splits {
        let details_text = format_details(
            &split.counterparty,
            &split.description,
            &split.references,
            split.category.as_deref(),
        );
        writeln!(
            out,
            "    of it {} {}{details_text}",
            split.amount.in_currency(split.currency),
            split.currency
        )
        .unwrap();
    }
}

fn format_details(
    counterparty: &Counterparty,
    description: &str,
    references: &References,
    category: Option<&str>,
) -> String {
    let References { bank_id, end_to_end, mandate, payment, check } = references;
    let texts = [
        ("name", counterparty.name.as_deref()),
        ("account", counterparty.account.as_deref()),
        ("bank", counterparty.bank.as_deref()),
        ("for", Some(description).filter(|text| !text.is_empty())),
        ("category", category),
        ("id", bank_id.as_deref()),
        ("end-to-end", end_to_end.as_deref()),
        ("mandate", mandate.as_deref()),
        ("reference", payment.as_deref()),
        ("check", check.as_deref()),
    ];
    texts.iter().filter_map(|(label, text)| Some(format!(", {label} «{}»", (*text)?))).collect()
}
