//! Every statement beside what is read from it, as text. `QUAD_BLESS=1` writes the expectations anew; a person reads the
//! difference before it is committed. Fingerprints are part of it: ledgers keep them, so they must never change.

use std::fmt::Write;

use quad_statements::{AccountHint, Counterparty, Document, Entry, References, Statement, Status, parse};

use crate::{folder, options, statements};

#[test]
fn every_statement_reads_as_expected() {
    let bless = std::env::var_os("QUAD_BLESS").is_some();
    let mut wrong = Vec::new();
    for (name, bytes) in statements() {
        let shown = match parse(&bytes, &options(&name)) {
            Ok(document) => show(&document),
            Err(refusal) => format!("refused: {refusal}\nhint: {}\n", refusal.hint()),
        };
        let path = folder().join(format!("{name}.expected"));
        if bless {
            std::fs::write(&path, &shown).unwrap();
        } else if std::fs::read_to_string(&path).unwrap_or_default() != shown {
            wrong.push(format!("--- {name}\n{shown}"));
        }
    }
    assert!(wrong.is_empty(), "QUAD_BLESS=1 accepts these:\n{}", wrong.join("\n"));
}

fn show(document: &Document) -> String {
    let mut out = format!("format: {}\n", document.format.name());
    if let Some(mapping) = &document.mapping {
        writeln!(out, "mapping: {}", mapping.to_string().replace('\n', "; ")).unwrap();
    }
    for statement in &document.statements {
        show_statement(&mut out, statement);
    }
    for finding in &document.findings {
        writeln!(out, "{finding}").unwrap();
    }
    out
}

fn show_statement(out: &mut String, statement: &Statement) {
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
        show_entry(out, entry);
        let basis = if entry.is_identified() { "id" } else { "text" };
        writeln!(out, "    {} by {basis}", entry.fingerprint(&account)).unwrap();
    }
}

fn show_entry(out: &mut String, entry: &Entry) {
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
    out.push_str(&details(
        &entry.counterparty,
        &entry.description,
        &entry.references,
        entry.category.as_deref(),
    ));
    out.push('\n');
    for split in &entry.splits {
        let rest =
            details(&split.counterparty, &split.description, &split.references, split.category.as_deref());
        writeln!(out, "    of it {} {}{rest}", split.amount.in_currency(split.currency), split.currency)
            .unwrap();
    }
}

fn details(who: &Counterparty, what: &str, references: &References, category: Option<&str>) -> String {
    let References { bank_id, end_to_end, mandate, payment, check } = references;
    let texts = [
        ("name", who.name.as_deref()),
        ("account", who.account.as_deref()),
        ("bank", who.bank.as_deref()),
        ("for", Some(what).filter(|what| !what.is_empty())),
        ("category", category),
        ("id", bank_id.as_deref()),
        ("end-to-end", end_to_end.as_deref()),
        ("mandate", mandate.as_deref()),
        ("reference", payment.as_deref()),
        ("check", check.as_deref()),
    ];
    texts.iter().filter_map(|(label, text)| Some(format!(", {label} «{}»", (*text)?))).collect()
}
