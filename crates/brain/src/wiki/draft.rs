//! A page in the making: its lines by section, and every row that it has looked at.

use std::collections::{BTreeMap, BTreeSet};

use quad_core::{Basis, Timestamp, canonical};
use quad_store::Sql;
use serde_json::Value;

use super::{PageName, Rendered};
use crate::account::Account;
use crate::civil;
use crate::counterparty::Counterparty;
use crate::invoice::Invoice;
use crate::money::spoken;
use crate::noun::{self, Noun};
use crate::obligation::Obligation;
use crate::payment_intent::PaymentIntent;
use crate::raw::Artifact;
use crate::tags;
use crate::transaction::Transaction;

/// The sections of every page, in their order; one without lines is left out.
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

/// Artifacts that a page links to.
const RAW_LINKS: usize = 10;

/// A page in the making.
#[derive(Debug)]
pub(crate) struct Draft {
    title: String,
    lines: Vec<(Section, String)>,
    /// What each row that was looked at said, so that an edit of any of them shows.
    seen: BTreeMap<String, String>,
    raws: Vec<String>,
    tenant: String,
    pub basis: Basis,
}

impl Draft {
    pub(crate) fn new(sql: &dyn Sql, title: impl Into<String>) -> Draft {
        Draft {
            title: title.into(),
            lines: Vec::new(),
            seen: BTreeMap::new(),
            raws: Vec::new(),
            tenant: sql.tenant().as_str().to_owned(),
            basis: tags::basis(sql.version()),
        }
    }

    /// Adds a line.
    pub(crate) fn say(&mut self, section: Section, line: impl Into<String>) {
        self.lines.push((section, line.into()));
    }

    /// Remembers that a row was looked at: its evidence is the page's evidence.
    pub(crate) fn see<N: Noun>(&mut self, row: &N) {
        let text = Value::Object(row.show(&self.tenant)).to_string();
        self.seen.insert(row.id_text().to_owned(), canonical::sha256_hex(text.as_bytes()));
        self.basis.tags.insert(tags::row(N::KIND, row.id_text()));
        for raw in &row.standing().source_ids {
            if self.raws.len() < RAW_LINKS && !self.raws.contains(raw) {
                self.raws.push(raw.clone());
            }
        }
    }

    /// Remembers a figure that is no row: a total.
    pub(crate) fn see_figure(&mut self, name: impl Into<String>, value: impl std::fmt::Display) {
        self.seen.insert(name.into(), value.to_string());
    }

    /// The page says what day it is: at midnight it is another one.
    pub(crate) fn depends_on_the_day(&mut self, now: Timestamp) {
        self.basis.valid_until = Some(civil::day_start(now).plus_ms(civil::DAY_MS));
    }

    /// The body and what it rests on.
    pub(super) fn finish(mut self, name: PageName) -> Rendered {
        for raw in std::mem::take(&mut self.raws) {
            self.say(Section::EvidenceLinks, link(&raw, &Artifact::uri(&raw)));
        }
        let mut body = format!("# {}\n", one_line(&self.title));
        for (section, heading) in SECTIONS {
            let mut lines = self.lines.iter().filter(|(of, _)| *of == section).peekable();
            if lines.peek().is_none() {
                continue;
            }
            body.push_str(&format!("\n## {heading}\n\n"));
            for (_, line) in lines {
                body.push_str(&format!("- {line}\n"));
            }
        }
        let seen: Vec<String> = self.seen.iter().map(|(id, hash)| format!("{id}|{hash}")).collect();
        let mut source_revision = canonical::sha256_hex(seen.join("\n").as_bytes());
        source_revision.truncate(16);
        Rendered { name, body, source_revision, basis: self.basis }
    }
}

/// A Markdown link. What stands between the brackets comes from banks, so it must not end them.
pub(crate) fn link(text: &str, uri: &str) -> String {
    format!("[{}]({uri})", plain(text))
}

/// Text of others on one line, without what Markdown would take for its own.
pub(crate) fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in one_line(text).chars() {
        if matches!(character, '[' | ']' | '(' | ')' | '*' | '`' | '<' | '>' | '#' | '|' | '\\' | '!') {
            plain.push('\\');
        }
        plain.push(character);
    }
    plain
}

fn one_line(text: &str) -> String {
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

/// The names of the counterparties of some rows, each looked up once.
#[derive(Debug, Default)]
pub(crate) struct Names(BTreeMap<String, Counterparty>);

impl Names {
    /// Looks them up.
    pub(crate) fn of<'a>(
        sql: &mut dyn Sql,
        draft: &mut Draft,
        ids: impl IntoIterator<Item = &'a str>,
    ) -> quad_core::Result<Names> {
        let ids: BTreeSet<String> = ids.into_iter().map(str::to_owned).collect();
        let ids: Vec<String> = ids.into_iter().collect();
        let found: Vec<Counterparty> = noun::find_many(sql, &ids)?;
        found.iter().for_each(|counterparty| draft.see(counterparty));
        Ok(Names(found.into_iter().map(|found| (found.id.as_str().to_owned(), found)).collect()))
    }

    /// A link to one.
    pub(crate) fn link(&self, id: &str) -> String {
        self.0.get(id).map_or_else(|| link(id, &Counterparty::uri(id)), counterparty_link)
    }

    /// All of them, by name: ids of the same moment come in any order.
    pub(crate) fn all(&self) -> impl Iterator<Item = &Counterparty> {
        let mut all: Vec<&Counterparty> = self.0.values().collect();
        all.sort_by(|one, other| one.name.cmp(&other.name));
        all.into_iter()
    }
}

/// One transaction on a line.
pub(crate) fn transaction_line(row: &Transaction, names: &Names) -> String {
    let day = civil::date(row.transaction_date);
    let amount = spoken(row.amount, row.currency);
    let mut line = format!("{day}: {amount} {}", row.direction);
    if !row.status.counts() {
        line.push_str(&format!(" ({})", row.status));
    }
    if let Some(counterparty) = &row.counterparty_id {
        line.push_str(&format!(", {}", names.link(counterparty.as_str())));
    } else if let Some(description) = row.description_normalized.as_ref().or(row.description_raw.as_ref()) {
        line.push_str(&format!(", {}", plain(&crate::refusal::cut(description, 60))));
    }
    line.push_str(&format!(" — {}", link(row.id.as_str(), &Transaction::uri(row.id.as_str()))));
    line
}

/// One obligation on a line.
pub(crate) fn obligation_line(row: &Obligation, names: &Names, now: Timestamp) -> String {
    let (amount, day) = (spoken(row.amount_due, row.currency), civil::date(row.due_date));
    let late = if row.is_overdue(now) { ", overdue" } else { "" };
    let owed = row.owed();
    format!(
        "{day}: {amount} {owed}, {} {}{late}, {} — {}",
        row.kind,
        row.status,
        names.link(row.counterparty_id.as_str()),
        obligation_link(row)
    )
}

/// One payment intent on a line.
pub(crate) fn intent_line(row: &PaymentIntent) -> String {
    let amount = spoken(row.amount, row.currency);
    let link = link(row.id.as_str(), &PaymentIntent::uri(row.id.as_str()));
    format!("{}: {amount} {}, {} — {link}", civil::date(row.standing.created_at), row.action_type, row.status)
}

/// See and list transactions.
pub(crate) fn list_transactions(
    sql: &mut dyn Sql,
    draft: &mut Draft,
    section: Section,
    rows: &[Transaction],
) -> quad_core::Result<Names> {
    let ids = rows.iter().filter_map(|row| row.counterparty_id.as_ref().map(|id| id.as_str()));
    let names = Names::of(sql, draft, ids)?;
    for row in rows {
        draft.see(row);
        draft.say(section, transaction_line(row, &names));
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_banks_write_is_not_markdown() {
        assert_eq!(link("a](x) b\n# c", "brain://x"), r"[a\]\(x\) b \# c](brain://x)");
    }
}
