//! Line parser of journals: transactions with their postings, and the directives that change how they are parsed.
//!
//! Features that a statement does not need (periodic and automatic transactions, prices, time clocks) are skipped and
//! reported once. Other files are never opened: an `include` is reported with its name.

use std::collections::HashMap;

use jiff::civil::Date;

use crate::diagnostic::{Diagnostics, quote};
use crate::hledger::quantity::{self, Quantity, Styles};
use crate::limits;

/// A transaction as written.
#[derive(Debug)]
pub(crate) struct Transaction {
    pub line: u32,
    pub date: Date,
    pub second_date: Option<Date>,
    pub pending: bool,
    pub code: String,
    pub description: String,
    pub postings: Vec<Posting>,
    /// A posting could not be parsed: the whole transaction is dropped, since it would not balance.
    pub is_invalid: bool,
}

/// A posting as written.
#[derive(Clone, Debug)]
pub(crate) struct Posting {
    pub line: u32,
    pub account: String,
    pub kind: PostingKind,
    pub date: Option<Date>,
    pub quantity: Option<Quantity>,
    pub cost: Option<Cost>,
    pub assertion: Option<Assertion>,
    pub comment: String,
}

/// Whether a posting must balance with the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PostingKind {
    Real,
    /// `(account)`: does not need to balance.
    Virtual,
    /// `[account]`: balances with other postings of this type.
    BalancedVirtual,
}

/// `@ price` or `@@ total`.
#[derive(Clone, Debug)]
pub(crate) struct Cost {
    pub quantity: Quantity,
    pub total: bool,
}

/// `= balance`, `== only balance`, `=* balance with subaccounts`.
#[derive(Clone, Debug)]
pub(crate) struct Assertion {
    pub quantity: Quantity,
    pub exclusive: bool,
    pub inclusive: bool,
}

/// A complete journal.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    pub transactions: Vec<Transaction>,
    /// The types from `account` directives: the letter of `type:`.
    pub types: HashMap<String, char>,
}

/// The block that the next indented lines belong to.
enum Block {
    None,
    Transaction,
    Commodity(String),
    /// Lines of a skipped feature.
    Skipped,
}

struct Parser<'f> {
    journal: Journal,
    diagnostics: &'f mut Diagnostics,
    styles: Styles,
    year: Option<i16>,
    prefixes: Vec<String>,
    aliases: Vec<(String, String)>,
    /// Skipped features: how many, and the line of the first.
    skipped: Vec<(&'static str, usize, u32)>,
    unclear: Option<(u32, usize)>,
    postings: usize,
}

/// Parses a journal.
pub(crate) fn parse_journal(text: &str, diagnostics: &mut Diagnostics) -> Journal {
    let mut parser = Parser {
        journal: Journal::default(),
        diagnostics,
        styles: Styles::default(),
        year: None,
        prefixes: Vec::new(),
        aliases: Vec::new(),
        skipped: Vec::new(),
        unclear: None,
        postings: 0,
    };
    let mut block = Block::None;
    let mut in_comment = false;
    for (index, line) in text.lines().enumerate() {
        let number = index as u32 + 1;
        let line = line.trim_end();
        if in_comment {
            in_comment = line != "end comment";
            continue;
        }
        if line.len() > limits::JOURNAL_LINE_BYTES {
            parser.diagnostics.error_at(number, "the line is too long: left out");
            continue;
        }
        if line == "comment" || line == "test" {
            in_comment = true;
            continue;
        }
        if line.is_empty() {
            block = Block::None;
        } else if line.starts_with([' ', '\t']) {
            if !parser.parse_indented(&block, line.trim(), number) {
                break;
            }
        } else {
            block = parser.parse_unindented(line, number);
        }
    }
    let Parser { journal, diagnostics, skipped, unclear, .. } = parser;
    for (feature, count, line) in skipped {
        let more = if count > 1 { format!(", and {} more", count - 1) } else { String::new() };
        diagnostics.info_at(line, format!("{feature} is not read{more}"));
    }
    if let Some((line, count)) = unclear {
        let more = if count > 1 { format!(" and {} more", count - 1) } else { String::new() };
        diagnostics.warning_at(
            line,
            format!("a lone mark before three digits{more} is read as the decimal mark, as hledger does; a decimal-mark directive decides it"),
        );
    }
    journal
}

impl Parser<'_> {
    fn record_skipped(&mut self, feature: &'static str, line: u32) {
        match self.skipped.iter_mut().find(|(skipped_feature, ..)| *skipped_feature == feature) {
            Some((_, count, _)) => *count += 1,
            None => self.skipped.push((feature, 1, line)),
        }
    }

    /// Parses a line without indentation: a transaction or a directive.
    fn parse_unindented(&mut self, line: &str, number: u32) -> Block {
        let first = line.chars().next().unwrap_or(' ');
        if first.is_ascii_digit() {
            return match self.parse_transaction(line, number) {
                Some(transaction) => {
                    self.journal.transactions.push(transaction);
                    Block::Transaction
                }
                None => {
                    self.diagnostics.error_at(
                        number,
                        format!("{} is not the head of a transaction: left out", quote(line)),
                    );
                    Block::Skipped
                }
            };
        }
        let line = line.strip_prefix(['!', '@']).unwrap_or(line);
        let (word, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
        let rest = strip_comment(rest).0.trim();
        match word {
            _ if matches!(first, ';' | '#' | '*' | '%' | '|') => return Block::Skipped,
            "account" => {
                let (name, comment) = strip_comment(line.get(word.len()..).unwrap_or_default());
                let letter = find_tag(comment, "type").and_then(|value| value.chars().next());
                if let (Some(letter), Some(name)) = (letter, self.resolve_account_name(name.trim())) {
                    self.journal.types.insert(name, letter.to_ascii_uppercase());
                }
                return Block::Skipped;
            }
            "commodity" => {
                let symbol = match quantity::parse_quantity(rest, &Styles::default()) {
                    Some((quantity, ..)) => {
                        if let Some(mark) = quantity::last_decimal_mark(rest) {
                            self.styles.by_commodity.insert(quantity.commodity.clone(), mark);
                        }
                        quantity.commodity
                    }
                    None => rest.trim_matches('"').to_owned(),
                };
                return Block::Commodity(symbol);
            }
            "D" => match quantity::parse_quantity(rest, &Styles::default()) {
                Some((quantity, ..)) => {
                    if let Some(mark) = quantity::last_decimal_mark(rest) {
                        self.styles.by_commodity.entry(quantity.commodity.clone()).or_insert(mark);
                    }
                    self.styles.default = Some(quantity.commodity);
                }
                None => {
                    self.diagnostics.error_at(number, format!("{} is not a default commodity", quote(rest)))
                }
            },
            "decimal-mark" => self.styles.mark = quantity::last_decimal_mark(rest),
            "include" => {
                let message =
                    format!("the journal includes {}, which is not read: import that file too", quote(rest));
                self.diagnostics.error_at(number, message);
            }
            "alias" => match rest.split_once('=') {
                Some((old, new))
                    if !old.trim_start().starts_with('/') && self.aliases.len() < limits::JOURNAL_ALIASES =>
                {
                    self.aliases.push((old.trim().into(), new.trim().into()));
                }
                _ => self.record_skipped("an alias with a pattern", number),
            },
            "apply" | "end" => self.parse_apply(word, rest, number),
            "year" => self.set_year(rest, number),
            _ if first == 'Y' && line.get(1..).is_some_and(|year| year.trim().parse::<i16>().is_ok()) => {
                self.set_year(line.get(1..).unwrap_or_default(), number);
            }
            "payee" | "tag" | "N" | "C" | "assert" | "check" | "define" | "capture" | "bucket" | "A"
            | "value" => {
                return Block::Skipped;
            }
            "P" => return Block::Skipped,
            "i" | "o" | "b" | "h" | "I" | "O" => self.record_skipped("a time clock entry", number),
            _ if first == '~' => {
                self.record_skipped("a rule for periodic transactions", number);
                return Block::Skipped;
            }
            _ if first == '=' => {
                self.record_skipped("a rule for automatic postings", number);
                return Block::Skipped;
            }
            _ => {
                self.diagnostics.error_at(number, format!("{} is not understood: left out", quote(line)));
                return Block::Skipped;
            }
        }
        Block::None
    }

    fn parse_apply(&mut self, word: &str, rest: &str, number: u32) {
        match (word, rest.split_once(' ').unwrap_or((rest, ""))) {
            ("apply", ("account", name)) if self.prefixes.len() < 32 => {
                self.prefixes.push(name.trim().into())
            }
            ("apply", ("year", year)) => self.set_year(year, number),
            ("end", ("aliases", _)) => self.aliases.clear(),
            ("end", ("apply", "account")) => drop(self.prefixes.pop()),
            ("end", _) => {}
            _ => self.record_skipped("an apply directive", number),
        }
    }

    fn set_year(&mut self, text: &str, number: u32) {
        match text.trim().parse::<i16>().ok().filter(|year| (1900..=2199).contains(year)) {
            Some(year) => self.year = Some(year),
            None => self.diagnostics.error_at(number, format!("{} is not a year", quote(text.trim()))),
        }
    }

    /// Parses a line of the current block; `false` if there are too many.
    fn parse_indented(&mut self, block: &Block, line: &str, number: u32) -> bool {
        match block {
            Block::Transaction if !line.starts_with([';', '#']) => {
                self.postings += 1;
                if self.postings > limits::ENTRIES {
                    let message =
                        format!("more than {} postings: the rest of the file is left out", limits::ENTRIES);
                    self.diagnostics.error_at(number, message);
                    return false;
                }
                let posting = self.parse_posting(line, number);
                let Some(transaction) = self.journal.transactions.last_mut() else { return true };
                match posting {
                    Some(posting) if transaction.postings.len() < limits::SPLITS => {
                        transaction.postings.push(posting)
                    }
                    _ => {
                        transaction.is_invalid = true;
                        let message =
                            format!("{} is not a posting: its transaction is left out", quote(line));
                        self.diagnostics.error_at(number, message);
                    }
                }
            }
            Block::Commodity(symbol) => {
                if let Some(mark) = line.strip_prefix("format").and_then(quantity::last_decimal_mark) {
                    self.styles.by_commodity.insert(symbol.clone(), mark);
                }
            }
            _ => {}
        }
        true
    }

    /// `2024-01-15=2024-01-16 * (code) description ; comment`
    fn parse_transaction(&mut self, line: &str, number: u32) -> Option<Transaction> {
        let (head, _) = strip_comment(line);
        let (dates, rest) = head.split_once([' ', '\t']).unwrap_or((head, ""));
        let (first, second) =
            dates.split_once('=').map_or((dates, None), |(first, second)| (first, Some(second)));
        let date = parse_date(first, self.year)?;
        let second_date = match second {
            Some(text) => Some(self::parse_date(text, Some(date.year()))?),
            None => None,
        };
        let rest = rest.trim_start();
        let (pending, rest) = match rest.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix('*').unwrap_or(rest)),
        };
        let rest = rest.trim();
        let (code, description) = match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
            Some((code, rest)) => (code.trim(), rest.trim()),
            None => ("", rest),
        };
        Some(Transaction {
            line: number,
            date,
            second_date: second_date.filter(|second| *second != date),
            pending,
            code: code.into(),
            description: description.into(),
            postings: Vec::new(),
            is_invalid: false,
        })
    }

    /// `account  1.00 EUR @ 1.10 USD = 5.00 EUR ; comment`
    fn parse_posting(&mut self, line: &str, number: u32) -> Option<Posting> {
        let line = line.strip_prefix(['*', '!']).map_or(line, str::trim_start);
        let (body, comment) = strip_comment(line);
        let account_end = body.find("  ").into_iter().chain(body.find('\t')).min().unwrap_or(body.len());
        let (account, rest) = body.split_at_checked(account_end)?;
        let account = account.trim();
        let (kind, account) = match (account.chars().next()?, account.chars().next_back()?) {
            ('(', ')') => (PostingKind::Virtual, account.get(1..account.len() - 1)?),
            ('[', ']') => (PostingKind::BalancedVirtual, account.get(1..account.len() - 1)?),
            _ => (PostingKind::Real, account),
        };
        let account = self.resolve_account_name(account.trim())?;
        let year = self.journal.transactions.last().map(|transaction| transaction.date.year());
        let mut posting = Posting {
            line: number,
            account,
            kind,
            date: find_tag(comment, "date").and_then(|text| parse_date(text.split('=').next()?, year)),
            quantity: None,
            cost: None,
            assertion: None,
            comment: comment.into(),
        };
        let mut rest = rest.trim();
        if !rest.is_empty() && !rest.starts_with('=') {
            let (quantity, tail) = self.parse_quantity(rest, number)?;
            posting.quantity = Some(quantity);
            rest = skip_lots(tail)?;
        }
        if let Some(tail) = rest.strip_prefix('@') {
            let (total, tail) = match tail.strip_prefix('@') {
                Some(tail) => (true, tail),
                None => (false, tail),
            };
            let (quantity, tail) = self.parse_quantity(tail, number)?;
            posting.cost = Some(Cost { quantity, total });
            rest = skip_lots(tail)?;
        }
        if let Some(tail) = rest.strip_prefix('=') {
            let (exclusive, tail) = tail.strip_prefix('=').map_or((false, tail), |tail| (true, tail));
            let (inclusive, tail) = tail.strip_prefix('*').map_or((false, tail), |tail| (true, tail));
            let (quantity, tail) = self.parse_quantity(tail, number)?;
            posting.assertion = Some(Assertion { quantity, exclusive, inclusive });
            rest = tail.trim();
            // The cost of an asserted balance does not change it.
            if let Some(cost) = rest.strip_prefix('@') {
                rest = self.parse_quantity(cost.strip_prefix('@').unwrap_or(cost), number)?.1.trim();
            }
        }
        rest.is_empty().then_some(posting)
    }

    fn parse_quantity<'t>(&mut self, text: &'t str, number: u32) -> Option<(Quantity, &'t str)> {
        let (quantity, rest, unclear) = quantity::parse_quantity(text, &self.styles)?;
        if unclear {
            let (_, count) = self.unclear.get_or_insert((number, 0));
            *count += 1;
        }
        Some((quantity, rest.trim_start()))
    }

    /// An account with aliases replaced and the applied prefixes; `None` if it is empty or too long.
    fn resolve_account_name(&self, name: &str) -> Option<String> {
        let check_length = |name: String| (name.len() <= limits::JOURNAL_ACCOUNT_BYTES).then_some(name);
        let mut name = check_length(name.to_owned()).filter(|name| !name.is_empty())?;
        for (old, new) in self.aliases.iter().rev() {
            let rest = name.strip_prefix(old.as_str());
            if let Some(rest) = rest.filter(|rest| rest.is_empty() || rest.starts_with(':')) {
                name = check_length(format!("{new}{rest}"))?;
            }
        }
        let name = self
            .prefixes
            .iter()
            .rev()
            .try_fold(name, |name, prefix| check_length(format!("{prefix}:{name}")))?;
        (name.split(':').count() <= limits::JOURNAL_ACCOUNT_DEPTH).then_some(name)
    }
}

/// Splits a line into its text and the comment at its end.
fn strip_comment(line: &str) -> (&str, &str) {
    match line.split_once(';') {
        Some((before, comment)) => (before.trim_end(), comment.trim()),
        None => (line.trim_end(), ""),
    }
}

/// The value of a tag in a comment: `type: A, other: b`.
fn find_tag<'c>(comment: &'c str, name: &str) -> Option<&'c str> {
    comment.split(',').find_map(|part| {
        let (before, value) = part.split_once(':')?;
        (before.split_whitespace().next_back() == Some(name)).then(|| value.trim())
    })
}

/// Skips lots such as `{$50}`, `[2024-01-01]` and `(note)`, which other programs write after a quantity.
fn skip_lots(text: &str) -> Option<&str> {
    let mut rest = text.trim_start();
    while let Some(close) = match rest.chars().next() {
        Some('{') => Some('}'),
        Some('[') => Some(']'),
        Some('(') => Some(')'),
        _ => None,
    } {
        let end = rest.find(close)?;
        rest = rest.get(end..)?.trim_start_matches(close).trim_start();
    }
    Some(rest)
}

/// Parses `2024-01-15`, `2024/1/15`, `2024.1.15`, or without a year if one is known.
pub(crate) fn parse_date(text: &str, year: Option<i16>) -> Option<Date> {
    let mut parts = text.trim().split(['-', '/', '.']);
    let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let parse_two_digits = |text: &str| -> Option<i8> {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        digits.then(|| text.parse().ok())?
    };
    let (year, month, day) = match third {
        Some(day) if first.len() == 4 => (first.parse().ok()?, second, day),
        None => (year?, first, second),
        Some(_) => return None,
    };
    (1900..=2199)
        .contains(&year)
        .then(|| Date::new(year, parse_two_digits(month)?, parse_two_digits(day)?).ok())?
}

/// Whether a line could be the first line of a transaction.
pub(crate) fn is_transaction_header(line: &str) -> bool {
    let dates = line.split([' ', '\t']).next().unwrap_or_default();
    let first = dates.split('=').next().unwrap_or_default();
    line.starts_with(|c: char| c.is_ascii_digit()) && parse_date(first, Some(2000)).is_some()
}
