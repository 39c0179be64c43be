//! Journals of plain text accounting, as hledger reads them.
//!
//! A journal knows no statements. Each account that holds money or debt (`assets`, `liabilities`, or what an `account`
//! directive calls so) becomes one in each of its currencies; its postings become entries, and the other postings of their
//! transactions say what for: one is the category, several are splits, another own account makes a transfer.

mod balance;
mod parse;
mod quantity;

use std::collections::{HashMap, HashSet};

use crate::finding::{Findings, quoted};
use crate::{
    AccountHint, AccountKind, Counterparty, Currency, Document, Entry, Format, Kind, Money, Options,
    References, Refusal, Split, Statement, Status, fingerprint, kind, limits, reconcile, text,
};
use balance::Balances;
use parse::{Journal, Posting, Reality, Transaction};

/// Whether a text is a journal: somewhere a line begins with a date and the next one is indented.
pub(crate) fn is_journal(start: &str) -> bool {
    let mut lines = start.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let indented = next.starts_with([' ', '\t']) && !next.trim().is_empty();
        if indented && parse::is_head(line) {
            return true;
        }
    }
    false
}

/// Whether a text without transactions holds directives of a journal.
pub(crate) fn has_directives(start: &str) -> bool {
    let directives =
        ["account ", "commodity ", "include ", "decimal-mark ", "alias ", "P ", "D ", "apply account "];
    start.lines().any(|line| directives.iter().any(|directive| line.starts_with(directive)))
}

/// Reads a journal.
pub(crate) fn read(text: &str, options: &Options, mut findings: Findings) -> Result<Document, Refusal> {
    let mut journal = parse::read(text, &mut findings);
    journal.transactions.retain(|transaction| !transaction.spoiled);
    settle(&mut journal, &mut findings);
    let mut books = Books {
        journal: &journal,
        options,
        statements: Vec::new(),
        found: HashMap::new(),
        strange: HashSet::new(),
    };
    let mut virtuals = None;
    for transaction in &journal.transactions {
        books.post(transaction, &mut findings)?;
        let first = transaction.postings.iter().find(|posting| posting.reality != Reality::Real);
        virtuals = virtuals.or(first.map(|posting| posting.line));
    }
    if let Some(line) = virtuals {
        findings.notice_at(line, "virtual postings move no money and are left out");
    }
    let mut statements = books.statements;
    if statements.is_empty() && !journal.transactions.is_empty() {
        findings.warning(
            "no account holds money or debt: accounts that do are named assets or liabilities, or have an account directive with \
             type:A or type:L",
        );
    }
    for statement in &mut statements {
        fingerprint::settle(&mut statement.entries, false, &mut findings);
        reconcile::finish(statement, &mut findings);
    }
    Ok(Document { format: Format::Hledger, statements, findings: findings.into_vec(), mapping: None })
}

/// Fills in and checks amounts in the order of the days, as assertions mean it; what does not add up goes.
fn settle(journal: &mut Journal, findings: &mut Findings) {
    let mut balances = Balances::new(&journal.transactions);
    let mut order: Vec<usize> = (0..journal.transactions.len()).collect();
    order.sort_by_key(|place| journal.transactions.get(*place).map(|transaction| transaction.date));
    for place in order {
        let Some(transaction) = journal.transactions.get_mut(place) else { continue };
        transaction.spoiled = balance::settle(transaction, &mut balances, findings).is_none();
    }
    journal.transactions.retain(|transaction| !transaction.spoiled);
}

/// What kind of account a name stands for, if it holds money or debt.
fn own(journal: &Journal, account: &str) -> Option<AccountKind> {
    let mut name = account;
    loop {
        match journal.types.get(name) {
            Some('A') => return Some(asset(account)),
            Some('C') => return Some(AccountKind::Checking),
            Some('L') => return Some(liability(account)),
            Some(_) => return None,
            None => {}
        }
        match name.rsplit_once(':') {
            Some((parent, _)) => name = parent,
            None => break,
        }
    }
    let top = name.to_lowercase();
    match top.as_str() {
        "asset" | "assets" | "aktiva" | "vermögen" | "actif" | "actifs" | "activos" | "activo" | "activa"
        | "attività" | "bank" | "bezittingen" => Some(asset(account)),
        "liability" | "liabilities" | "debt" | "debts" | "passiva" | "verbindlichkeiten" | "schulden"
        | "passif" | "passifs" | "pasivos" | "pasivo" | "passività" => Some(liability(account)),
        _ => None,
    }
}

fn asset(account: &str) -> AccountKind {
    let name = account.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if says(&["saving", "spar", "tagesgeld", "épargne", "ahorro"]) {
        AccountKind::Savings
    } else if says(&["checking", "giro", "bank", "current", "courant", "corriente"]) {
        AccountKind::Checking
    } else {
        AccountKind::Asset
    }
}

fn liability(account: &str) -> AccountKind {
    let name = account.to_lowercase();
    let card = ["card", "karte", "visa", "mastercard", "amex", "carte", "tarjeta"]
        .iter()
        .any(|word| name.contains(word));
    if card { AccountKind::Card } else { AccountKind::Loan }
}

struct Books<'j> {
    journal: &'j Journal,
    options: &'j Options,
    statements: Vec<Statement>,
    found: HashMap<(String, Currency), usize>,
    /// Commodities that are no currency, each reported once.
    strange: HashSet<String>,
}

impl Books<'_> {
    fn currency(&mut self, commodity: &str, line: u32, findings: &mut Findings) -> Option<Currency> {
        let found = match commodity {
            "" => self.options.overrides.currency.or(self.options.currency),
            symbol => Currency::recognise(symbol),
        };
        if found.is_none() && self.strange.len() < limits::FINDINGS && self.strange.insert(commodity.into()) {
            let message = match commodity {
                "" => "amounts without a commodity are left out: a D directive or currency=EUR says what they are".into(),
                _ => format!("{} is not a currency: postings in it are left out", quoted(commodity)),
            };
            findings.warning_at(line, message);
        }
        found
    }

    fn post(&mut self, transaction: &Transaction, findings: &mut Findings) -> Result<(), Refusal> {
        let real: Vec<(&Posting, Option<AccountKind>)> = transaction
            .postings
            .iter()
            .filter(|posting| posting.reality == Reality::Real)
            .map(|posting| (posting, own(self.journal, &posting.account)))
            .collect();
        let strangers: Vec<&Posting> =
            real.iter().filter(|(_, kind)| kind.is_none()).map(|(posting, _)| *posting).collect();
        for (place, (posting, kind)) in real.iter().enumerate() {
            let (Some(kind), Some(quantity)) = (kind, &posting.quantity) else { continue };
            let Some(currency) = self.currency(&quantity.commodity, posting.line, findings) else { continue };
            let mut entry =
                Entry::new(posting.line, posting.date.unwrap_or(transaction.date), quantity.amount, currency);
            describe(&mut entry, transaction);
            if let Some(worth) = posting.cost.as_ref().and(balance::worth(posting)) {
                let other = Currency::recognise(&worth.commodity).filter(|other| *other != currency);
                entry.original = other.map(|currency| Money { amount: worth.amount, currency });
            }
            if strangers.is_empty() && real.len() > 1 {
                entry.kind = Some(Kind::Transfer);
                let other = if real.len() == 2 { real.get(1 - place) } else { None };
                entry.counterparty.account = other.and_then(|(other, _)| text::some_line(&other.account));
            }
            explain(&mut entry, &strangers, real.len() - strangers.len() == 1);
            let key = (posting.account.clone(), currency);
            let next = self.statements.len();
            let index = *self.found.entry(key).or_insert(next);
            if index == next {
                if next == limits::STATEMENTS {
                    let what = "a journal of more accounts than can be read at once";
                    return Err(Refusal::Unsupported { what, hint: "import it in parts" });
                }
                let name = text::some_line(&posting.account);
                let hint = AccountHint { name, kind: Some(*kind), ..AccountHint::default() };
                self.statements.push(Statement::new(hint, currency));
            }
            if let Some(statement) = self.statements.get_mut(index) {
                statement.entries.push(entry);
            }
        }
        Ok(())
    }
}

/// What the postings to other than own accounts say about an entry. Which of several own accounts paid for which of
/// several things, a journal does not say.
fn explain(entry: &mut Entry, strangers: &[&Posting], sole: bool) {
    match strangers {
        [] => {}
        [one] => entry.category = text::some_line(&one.account),
        several if sole => entry.splits = several.iter().filter_map(|posting| split(posting)).collect(),
        _ => {}
    }
    if entry.kind.is_none() {
        let words = entry.category.as_deref().and_then(kind::of_words);
        entry.kind = words.or_else(|| kind::of_words(&entry.description));
    }
}

/// One part of an entry, in the view of the account: what the other side gains, this one loses.
fn split(posting: &Posting) -> Option<Split> {
    let worth = balance::worth(posting)?;
    Some(Split {
        amount: worth.amount.checked_neg()?,
        currency: Currency::recognise(&worth.commodity)?,
        counterparty: Counterparty::default(),
        description: text::one_line(&posting.comment),
        references: References::default(),
        category: text::some_line(&posting.account),
    })
}

/// Payee, note, code, status and second date.
fn describe(entry: &mut Entry, transaction: &Transaction) {
    let (payee, note) = match transaction.description.split_once('|') {
        Some((payee, note)) => (payee, note),
        None => (transaction.description.as_str(), ""),
    };
    entry.counterparty.name = text::some_line(payee);
    entry.description = if note.trim().is_empty() { text::one_line(payee) } else { text::one_line(note) };
    entry.references.payment = text::some_line(&transaction.code);
    entry.value_date = transaction.second_date;
    entry.status = if transaction.pending { Status::Pending } else { Status::Booked };
}
