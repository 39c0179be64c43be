//! Journals of plain text accounting, as hledger reads them.
//!
//! A journal has no statements. Each account that contains money or debt (`assets`, `liabilities`, or declared by an
//! `account` directive) becomes one statement per currency. Its postings become entries. The other postings of a
//! transaction describe the entry: one is the category, several are splits, another own account makes it a transfer.

mod balance;
mod parse;
mod quantity;

use std::collections::{HashMap, HashSet};

use crate::diagnostic::{Diagnostics, quote};
use crate::{
    AccountHint, AccountKind, Counterparty, Currency, Document, Entry, Format, Kind, Money, Options,
    ParseError, References, Split, Statement, Status, fingerprint, kind, limits, reconcile, text,
};
use balance::Balances;
use parse::{Journal, Posting, PostingKind, Transaction};

/// Whether a text is a journal: a line starts with a date and the next one is indented.
pub(crate) fn is_journal(start: &str) -> bool {
    let mut lines = start.lines().peekable();
    while let Some(line) = lines.next() {
        let next = lines.peek().copied().unwrap_or_default();
        let indented = next.starts_with([' ', '\t']) && !next.trim().is_empty();
        if indented && parse::is_transaction_header(line) {
            return true;
        }
    }
    false
}

/// Whether a text without transactions contains directives of a journal.
pub(crate) fn has_directives(start: &str) -> bool {
    let directives =
        ["account ", "commodity ", "include ", "decimal-mark ", "alias ", "P ", "D ", "apply account "];
    start.lines().any(|line| directives.iter().any(|directive| line.starts_with(directive)))
}

/// Parses a journal.
pub(crate) fn read(
    text: &str,
    options: &Options,
    mut diagnostics: Diagnostics,
) -> Result<Document, ParseError> {
    let mut journal = parse::parse_journal(text, &mut diagnostics);
    journal.transactions.retain(|transaction| !transaction.is_invalid);
    balance_transactions(&mut journal, &mut diagnostics);
    let mut statement_set = StatementSet {
        journal: &journal,
        options,
        statements: Vec::new(),
        index_by_account: HashMap::new(),
        reported_commodities: HashSet::new(),
    };
    let mut first_virtual_line = None;
    for transaction in &journal.transactions {
        statement_set.push(transaction, &mut diagnostics)?;
        let first = transaction.postings.iter().find(|posting| posting.kind != PostingKind::Real);
        first_virtual_line = first_virtual_line.or(first.map(|posting| posting.line));
    }
    if let Some(line) = first_virtual_line {
        diagnostics.info_at(line, "virtual postings move no money and are left out");
    }
    let mut statements = statement_set.statements;
    if statements.is_empty() && !journal.transactions.is_empty() {
        diagnostics.warning(
            "no account holds money or debt: accounts that do are named assets or liabilities, or have an account directive with \
             type:A or type:L",
        );
    }
    for statement in &mut statements {
        fingerprint::assign_occurrences(&mut statement.entries, false, &mut diagnostics);
        reconcile::check_balances(statement, &mut diagnostics);
    }
    Ok(Document {
        format: Format::Hledger,
        statements,
        error_count: diagnostics.error_count(),
        findings: diagnostics.into_vec(),
        mapping: None,
    })
}

/// Completes and checks transactions in order of their days, as assertions require; one that does not balance is
/// dropped.
fn balance_transactions(journal: &mut Journal, diagnostics: &mut Diagnostics) {
    let mut balances = Balances::new(&journal.transactions);
    let mut order: Vec<usize> = (0..journal.transactions.len()).collect();
    order.sort_by_key(|index| journal.transactions.get(*index).map(|transaction| transaction.date));
    for index in order {
        let Some(transaction) = journal.transactions.get_mut(index) else { continue };
        transaction.is_invalid =
            balance::balance_transaction(transaction, &mut balances, diagnostics).is_none();
    }
    journal.transactions.retain(|transaction| !transaction.is_invalid);
}

/// The kind of an account by its name, if it contains money or debt.
fn money_account_kind(journal: &Journal, account: &str) -> Option<AccountKind> {
    let mut name = account;
    loop {
        match journal.types.get(name) {
            Some('A') => return Some(asset_kind(account)),
            Some('C') => return Some(AccountKind::Checking),
            Some('L') => return Some(liability_kind(account)),
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
        | "attività" | "bank" | "bezittingen" => Some(asset_kind(account)),
        "liability" | "liabilities" | "debt" | "debts" | "passiva" | "verbindlichkeiten" | "schulden"
        | "passif" | "passifs" | "pasivos" | "pasivo" | "passività" => Some(liability_kind(account)),
        _ => None,
    }
}

fn asset_kind(account: &str) -> AccountKind {
    let name = account.to_lowercase();
    let name_contains = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if name_contains(&["saving", "spar", "tagesgeld", "épargne", "ahorro"]) {
        AccountKind::Savings
    } else if name_contains(&["checking", "giro", "bank", "current", "courant", "corriente"]) {
        AccountKind::Checking
    } else {
        AccountKind::Asset
    }
}

fn liability_kind(account: &str) -> AccountKind {
    let name = account.to_lowercase();
    let card = ["card", "karte", "visa", "mastercard", "amex", "carte", "tarjeta"]
        .iter()
        .any(|word| name.contains(word));
    if card { AccountKind::Card } else { AccountKind::Loan }
}

struct StatementSet<'j> {
    journal: &'j Journal,
    options: &'j Options,
    statements: Vec<Statement>,
    index_by_account: HashMap<(String, Currency), usize>,
    /// Commodities that are not currencies, each reported once.
    reported_commodities: HashSet<String>,
}

impl StatementSet<'_> {
    fn currency(&mut self, commodity: &str, line: u32, diagnostics: &mut Diagnostics) -> Option<Currency> {
        let currency = match commodity {
            "" => self.options.overrides.currency.or(self.options.currency),
            symbol => Currency::from_code_or_symbol(symbol),
        };
        if currency.is_none()
            && self.reported_commodities.len() < limits::DIAGNOSTICS
            && self.reported_commodities.insert(commodity.into())
        {
            let message = match commodity {
                "" => {
                    "amounts without a commodity are left out: add a D directive or set currency=EUR".into()
                }
                _ => format!("{} is not a currency: postings in it are left out", quote(commodity)),
            };
            diagnostics.warning_at(line, message);
        }
        currency
    }

    fn push(&mut self, transaction: &Transaction, diagnostics: &mut Diagnostics) -> Result<(), ParseError> {
        let real_postings: Vec<(&Posting, Option<AccountKind>)> = transaction
            .postings
            .iter()
            .filter(|posting| posting.kind == PostingKind::Real)
            .map(|posting| (posting, money_account_kind(self.journal, &posting.account)))
            .collect();
        let other_postings: Vec<&Posting> =
            real_postings.iter().filter(|(_, kind)| kind.is_none()).map(|(posting, _)| *posting).collect();
        for (posting_index, (posting, kind)) in real_postings.iter().enumerate() {
            let (Some(kind), Some(quantity)) = (kind, &posting.quantity) else { continue };
            let Some(currency) = self.currency(&quantity.commodity, posting.line, diagnostics) else {
                continue;
            };
            let mut entry =
                Entry::new(posting.line, posting.date.unwrap_or(transaction.date), quantity.amount, currency);
            set_description(&mut entry, transaction);
            if let Some(value) = posting.cost.as_ref().and(balance::cost_value(posting)) {
                let cost_currency = Currency::from_code_or_symbol(&value.commodity)
                    .filter(|candidate| *candidate != currency);
                entry.original = cost_currency.map(|currency| Money { amount: value.amount, currency });
            }
            if other_postings.is_empty() && real_postings.len() > 1 {
                entry.kind = Some(Kind::Transfer);
                let other_side =
                    if real_postings.len() == 2 { real_postings.get(1 - posting_index) } else { None };
                entry.counterparty.account =
                    other_side.and_then(|(other_posting, _)| text::non_empty_line(&other_posting.account));
            }
            set_category(&mut entry, &other_postings, real_postings.len() - other_postings.len() == 1);
            let key = (posting.account.clone(), currency);
            let next = self.statements.len();
            let statement_index = *self.index_by_account.entry(key).or_insert(next);
            if statement_index == next {
                if next == limits::STATEMENTS {
                    let description = "a journal of more accounts than can be read at once";
                    return Err(ParseError::Unsupported { description, hint: "import it in parts" });
                }
                let name = text::non_empty_line(&posting.account);
                let hint = AccountHint { name, kind: Some(*kind), ..AccountHint::default() };
                self.statements.push(Statement::new(hint, currency));
            }
            if let Some(statement) = self.statements.get_mut(statement_index) {
                statement.entries.push(entry);
            }
        }
        Ok(())
    }
}

/// Describes an entry by the postings to other accounts. With several own accounts and several other postings, a
/// journal does not say which account paid for which.
fn set_category(entry: &mut Entry, other_postings: &[&Posting], is_only_own: bool) {
    match other_postings {
        [] => {}
        [posting] => entry.category = text::non_empty_line(&posting.account),
        postings if is_only_own => {
            entry.splits = postings.iter().filter_map(|posting| to_split(posting)).collect()
        }
        _ => {}
    }
    if entry.kind.is_none() {
        let words = entry.category.as_deref().and_then(kind::from_text);
        entry.kind = words.or_else(|| kind::from_text(&entry.description));
    }
}

/// One part of an entry from the account's view: the amount of the other side, negated.
fn to_split(posting: &Posting) -> Option<Split> {
    let value = balance::cost_value(posting)?;
    Some(Split {
        amount: value.amount.checked_neg()?,
        currency: Currency::from_code_or_symbol(&value.commodity)?,
        counterparty: Counterparty::default(),
        description: text::collapse_whitespace(&posting.comment),
        references: References::default(),
        category: text::non_empty_line(&posting.account),
    })
}

/// Payee, note, code, status and second date.
fn set_description(entry: &mut Entry, transaction: &Transaction) {
    let (payee, note) = match transaction.description.split_once('|') {
        Some((payee, note)) => (payee, note),
        None => (transaction.description.as_str(), ""),
    };
    entry.counterparty.name = text::non_empty_line(payee);
    entry.description = if note.trim().is_empty() {
        text::collapse_whitespace(payee)
    } else {
        text::collapse_whitespace(note)
    };
    entry.references.payment = text::non_empty_line(&transaction.code);
    entry.value_date = transaction.second_date;
    entry.status = if transaction.pending { Status::Pending } else { Status::Booked };
}
