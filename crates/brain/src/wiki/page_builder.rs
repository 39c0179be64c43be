//! Builds a page: its lines by section, and the rows that it depends on.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{ReadSet, Timestamp, canonical};
use quad_store::Sql;
use serde_json::Value;

use super::{PageName, RenderedPage};
use crate::account::Account;
use crate::calendar;
use crate::counterparty::Counterparty;
use crate::entity::{self, Entity};
use crate::invoice::Invoice;
use crate::money::format_with_currency;
use crate::obligation::Obligation;
use crate::payment_intent::PaymentIntent;
use crate::raw::Artifact;
use crate::tags;
use crate::transaction::Transaction;

/// The sections of every page, in order. Empty ones are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Section {
    CurrentTruth,
    LinkedEntities,
    RecentActivity,
    OpenQuestions,
    RiskNotes,
    Timeline,
    EvidenceLinks,
}

const SECTIONS: [(Section, &str); 7] = [
    (Section::CurrentTruth, "Current Truth"),
    (Section::LinkedEntities, "Key Linked Entities"),
    (Section::RecentActivity, "Recent Activity"),
    (Section::OpenQuestions, "Open Questions / Missing Evidence"),
    (Section::RiskNotes, "Risk Notes"),
    (Section::Timeline, "Timeline"),
    (Section::EvidenceLinks, "Evidence Links"),
];

/// Artifacts that a page links to, at most.
const MAX_RAW_LINKS: usize = 10;

/// A page that is being built.
#[derive(Debug)]
pub(crate) struct PageBuilder {
    title: String,
    lines: Vec<(Section, String)>,
    /// A fingerprint of each row that was read, so that a change of any row changes the revision.
    dependencies: BTreeMap<String, String>,
    raw_ids: Vec<String>,
    tenant: String,
    pub read_set: ReadSet,
}

impl PageBuilder {
    pub(crate) fn new(sql: &dyn Sql, title: impl Into<String>) -> PageBuilder {
        PageBuilder {
            title: title.into(),
            lines: Vec::new(),
            dependencies: BTreeMap::new(),
            raw_ids: Vec::new(),
            tenant: sql.tenant().as_str().to_owned(),
            read_set: tags::read_set(sql.version()),
        }
    }

    /// Adds a line.
    pub(crate) fn add_line(&mut self, section: Section, line: impl Into<String>) {
        self.lines.push((section, line.into()));
    }

    /// Records a dependency on a row. The row's evidence becomes evidence of the page.
    pub(crate) fn depend_on<N: Entity>(&mut self, row: &N) {
        let text = Value::Object(row.to_json(&self.tenant)).to_string();
        self.dependencies.insert(row.id_text().to_owned(), canonical::sha256_hex(text.as_bytes()));
        self.read_set.tags.insert(tags::row(N::KIND, row.id_text()));
        for raw in &row.meta().source_ids {
            if self.raw_ids.len() < MAX_RAW_LINKS && !self.raw_ids.contains(raw) {
                self.raw_ids.push(raw.clone());
            }
        }
    }

    /// Records a value that is not a row, such as a total.
    pub(crate) fn record_value(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.dependencies.insert(name.into(), value.to_string());
    }

    /// The page shows the date, so it expires at midnight UTC.
    pub(crate) fn expire_at_midnight(&mut self, now: Timestamp) {
        self.read_set.valid_until = Some(calendar::day_start(now).plus_ms(calendar::DAY_MS));
    }

    /// The rendered page with its read set.
    pub(super) fn finish(mut self, name: PageName) -> RenderedPage {
        for raw in std::mem::take(&mut self.raw_ids) {
            self.add_line(Section::EvidenceLinks, link(&raw, &Artifact::uri(&raw)));
        }
        let mut body = format!("# {}\n", escape_markdown(&self.title));
        for (section, heading) in SECTIONS {
            let mut lines = self.lines.iter().filter(|(line_section, _)| *line_section == section).peekable();
            if lines.peek().is_none() {
                continue;
            }
            body.push_str(&format!("\n## {heading}\n\n"));
            for (_, line) in lines {
                body.push_str(&format!("- {line}\n"));
            }
        }
        let dependencies: Vec<String> =
            self.dependencies.iter().map(|(id, hash)| format!("{id}|{hash}")).collect();
        let mut source_revision = canonical::sha256_hex(dependencies.join("\n").as_bytes());
        source_revision.truncate(16);
        RenderedPage { name, body, source_revision, read_set: self.read_set }
    }
}

/// A Markdown link. The text comes from banks, so brackets are escaped.
pub(crate) fn link(text: &str, uri: &str) -> String {
    format!("[{}]({uri})", escape_markdown(text))
}

/// Escapes text for one line of Markdown: it becomes neither a link, an image, markup, HTML nor a character reference.
/// A bare address becomes no link either: `https\://`, `www\.`.
pub(crate) fn escape_markdown(text: &str) -> String {
    let text = collapse_whitespace(text);
    let mut escaped = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let (before, after) = (&text[..at], &text[at + character.len_utf8()..]);
        let is_special = match character {
            '[' | ']' | '(' | ')' | '*' | '`' | '<' | '>' | '#' | '|' | '\\' | '!' | '~' => true,
            '&' => after.starts_with(|next: char| next.is_ascii_alphanumeric() || next == '#'),
            ':' => after.starts_with("//"),
            '.' => before.len() >= 3 && before.as_bytes()[at - 3..].eq_ignore_ascii_case(b"www"),
            // Inside a word it is no emphasis, and ids keep their form.
            '_' => {
                let is_inside_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
                !is_inside_word(before.chars().next_back()) || !is_inside_word(after.chars().next())
            }
            _ => false,
        };
        if is_special {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

fn collapse_whitespace(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(crate) fn account_link(account: &Account) -> String {
    link(&account.name, &Account::uri(account.id.as_str()))
}

pub(crate) fn counterparty_link(counterparty: &Counterparty) -> String {
    link(counterparty.title(), &Counterparty::uri(counterparty.id.as_str()))
}

pub(crate) fn obligation_link(obligation: &Obligation) -> String {
    link(obligation.id.as_str(), &Obligation::uri(obligation.id.as_str()))
}

pub(crate) fn invoice_link(invoice: &Invoice) -> String {
    link(&invoice.invoice_number, &Invoice::uri(invoice.id.as_str()))
}

/// The names of counterparties, each loaded once.
#[derive(Debug, Default)]
pub(crate) struct CounterpartyNames(BTreeMap<String, Counterparty>);

impl CounterpartyNames {
    /// Loads the counterparties with these ids.
    pub(crate) fn load<'a>(
        sql: &mut dyn Sql,
        builder: &mut PageBuilder,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> quad_core::Result<CounterpartyNames> {
        let ids: BTreeSet<String> = ids.into_iter().map(str::to_owned).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let counterparties: Vec<Counterparty> = entity::find_many(sql, &ids)?;
        counterparties.iter().for_each(|counterparty| builder.depend_on(counterparty));
        Ok(CounterpartyNames(
            counterparties
                .into_iter()
                .map(|counterparty| (counterparty.id.as_str().to_owned(), counterparty))
                .collect(),
        ))
    }

    /// A link to a counterparty.
    pub(crate) fn link(&self, id: &str) -> String {
        self.0.get(id).map_or_else(|| link(id, &Counterparty::uri(id)), counterparty_link)
    }

    /// All counterparties by name. The order of ids says nothing: they may be created in the same millisecond.
    pub(crate) fn sorted_by_name(&self) -> impl Iterator<Item = &Counterparty> {
        let mut counterparties: Vec<&Counterparty> = self.0.values().collect();
        counterparties.sort_by(|a, b| a.name.cmp(&b.name));
        counterparties.into_iter()
    }
}

/// A line about a transaction.
pub(crate) fn transaction_line(row: &Transaction, names: &CounterpartyNames) -> String {
    let day = calendar::format_date(row.transaction_date);
    let amount = format_with_currency(row.amount, row.currency);
    let mut line = format!("{day}: {amount} {}", row.direction);
    if !row.status.affects_totals() {
        line.push_str(&format!(" ({})", row.status));
    }
    if let Some(counterparty) = &row.counterparty_id {
        line.push_str(&format!(", {}", names.link(counterparty.as_str())));
    } else if let Some(description) = row.description_normalized.as_ref().or(row.description_raw.as_ref()) {
        line.push_str(&format!(", {}", escape_markdown(&quad_core::text::truncate(description, 60))));
    }
    line.push_str(&format!(" — {}", link(row.id.as_str(), &Transaction::uri(row.id.as_str()))));
    line
}

/// A line about an obligation.
pub(crate) fn obligation_line(row: &Obligation, names: &CounterpartyNames, now: Timestamp) -> String {
    let (amount, day) =
        (format_with_currency(row.amount_due, row.currency), calendar::format_date(row.due_date));
    let overdue = if row.is_overdue(now) { ", overdue" } else { "" };
    let direction = row.direction_or_payable();
    format!(
        "{day}: {amount} {direction}, {} {}{overdue}, {} — {}",
        row.kind,
        row.status,
        names.link(row.counterparty_id.as_str()),
        obligation_link(row)
    )
}

/// A line about a payment intent.
pub(crate) fn intent_line(row: &PaymentIntent) -> String {
    let amount = format_with_currency(row.amount, row.currency);
    let link = link(row.id.as_str(), &PaymentIntent::uri(row.id.as_str()));
    format!(
        "{}: {amount} {}, {} — {link}",
        calendar::format_date(row.meta.created_at),
        row.action_type,
        row.status
    )
}

/// Lists transactions and records the dependencies.
pub(crate) fn add_transactions(
    sql: &mut dyn Sql,
    builder: &mut PageBuilder,
    section: Section,
    rows: &[Transaction],
) -> quad_core::Result<CounterpartyNames> {
    let ids = rows.iter().filter_map(|row| row.counterparty_id.as_ref().map(|id| id.as_str()));
    let names = CounterpartyNames::load(sql, builder, ids)?;
    for row in rows {
        builder.depend_on(row);
        builder.add_line(section, transaction_line(row, &names));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bank_text_is_escaped() {
        assert_eq!(link("a](x) b\n# c", "brain://x"), r"[a\]\(x\) b \# c](brain://x)");
    }
}
