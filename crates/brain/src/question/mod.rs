//! Answers questions about money from the ledger. There is no language model: a question matches one of the [`INTENTS`]
//! by its words, or it is not answered.
//!
//! The first matching intent answers. An answer cites the rows that it depends on. Sums over several currencies and
//! requests for actions are refused.

mod balances;
mod cash_flow;
mod counterparties;
mod intents;
mod invoices;
mod obligations;
mod period;

use quad_core::{Result, Timestamp};
use quad_store::Sql;
use serde_json::{Value, json};

use crate::entity::Entity;
use crate::limits;
use period::Period;

/// The kinds of rows that an answer may depend on.
pub(crate) const KINDS: &[&str] = &[
    "account",
    "transaction",
    "counterparty",
    "obligation",
    "invoice",
    "payment_intent",
    "policy",
    "category",
];

/// A question, prepared for matching.
pub(crate) struct Question {
    /// Lower-case words separated by single spaces, with a space at both ends.
    words: String,
    /// The original text.
    original: String,
    /// The time that counts as now.
    now: Timestamp,
}

impl Question {
    fn new(text: &str, now: Timestamp) -> Question {
        let lower = text.to_lowercase();
        let cleaned: String =
            lower
                .chars()
                .map(|c| {
                    if c.is_alphanumeric() || matches!(c, '-' | '_' | '/' | '&' | '.' | '#') {
                        c
                    } else {
                        ' '
                    }
                })
                .collect();
        let words: Vec<&str> =
            cleaned.split(' ').map(|word| word.trim_matches('.')).filter(|word| !word.is_empty()).collect();
        Question { words: format!(" {} ", words.join(" ")), original: text.trim().to_owned(), now }
    }

    /// Whether it contains one of these words or phrases.
    fn has(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.words.contains(&format!(" {phrase} ")))
    }

    /// The period that it names.
    fn period(&self) -> Option<Period> {
        period::find(&self.words, self.now)
    }

    /// The currency that it names, by code.
    fn currency(&self) -> Option<quad_statements::Currency> {
        // Matches the original text: `try` is a word, `TRY` is a currency.
        let codes = self.original.split(|c: char| !c.is_ascii_alphabetic());
        codes
            .filter(|code| {
                (3..=5).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_uppercase())
            })
            .filter(|code| !matches!(*code, "AWS" | "IBM" | "ACH" | "API" | "VAT" | "IRS" | "LLC" | "INV"))
            .find_map(|code| quad_statements::Currency::parse(code).ok())
    }
}

/// An answer and the rows that it cites.
#[derive(Debug, Default)]
pub(crate) struct Answer {
    text: String,
    evidence: Vec<(&'static str, String, String)>,
    is_unanswered: bool,
}

impl Answer {
    fn new(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), ..Answer::default() }
    }

    /// A refusal with its reason.
    fn unanswered(text: impl Into<String>) -> Answer {
        Answer { text: text.into(), is_unanswered: true, ..Answer::default() }
    }

    /// Cites a row.
    fn cite<N: Entity>(&mut self, row: &N, excerpt: impl Into<String>) {
        let is_cited = self.evidence.iter().any(|(_, id, _)| id == row.id_text());
        if !is_cited && self.evidence.len() < limits::MAX_CITATIONS {
            self.evidence.push((N::KIND, row.id_text().to_owned(), excerpt.into()));
        }
    }
}

/// One kind of question that can be answered.
pub(crate) struct Intent {
    /// The name that tests use.
    #[cfg(test)]
    name: &'static str,
    matches: fn(&Question) -> bool,
    answer: fn(&mut dyn Sql, &Question) -> Result<Answer>,
}

macro_rules! intent {
    ($name:literal, $matches:expr, $answer:expr) => {
        Intent {
            #[cfg(test)]
            name: $name,
            matches: $matches,
            answer: $answer,
        }
    };
}

/// All intents. Narrow ones come before wide ones.
pub(crate) static INTENTS: [Intent; 35] = [
    intent!(
        "invoice_status",
        |q| q.has(&["invoice"]) && invoices::invoice_number(q).is_some(),
        invoices::invoice_status
    ),
    intent!(
        "overdue_invoices",
        |q| q.has(&["invoice", "invoices"]) && asks_overdue(q),
        invoices::overdue_invoices
    ),
    intent!("list_invoices", |q| q.has(&["invoices"]), invoices::list_invoices),
    intent!("subscriptions", |q| q.has(&["subscription", "subscriptions"]), obligations::subscriptions),
    intent!("payroll", |q| q.has(&["payroll", "salaries", "wages"]), obligations::payroll),
    intent!("policy_auto_allow", |q| q.has(&["policy", "policies"]), intents::policy),
    intent!(
        "pending_recommendations",
        |q| q.has(&["pending", "waiting", "awaiting", "open"])
            && q.has(&[
                "recommendation",
                "recommendations",
                "proposal",
                "proposals",
                "approval",
                "approvals",
                "payment intents",
                "intents"
            ]),
        intents::pending_intents
    ),
    intent!(
        "vendor_trust",
        |q| q.has(&["trust", "trusted", "trustworthy", "verified", "sanctioned", "risky", "risk"]),
        counterparties::trust
    ),
    intent!(
        "overdue_receivables",
        |q| asks_overdue(q) && asks_receivable(q),
        obligations::overdue_receivables
    ),
    intent!("overdue_payables", asks_overdue, obligations::overdue_payables),
    intent!(
        "owed_by_party",
        |q| q.has(&["owe me", "owe us", "owes me", "owes us"])
            || (q.has(&["owe", "owes"]) && q.has(&["does"])),
        obligations::owed_by_party
    ),
    intent!("ar_total", asks_receivable, obligations::receivables),
    intent!("largest_payable", |q| q.has(LARGEST_WORDS) && q.has(BILL_WORDS), obligations::largest_payable),
    intent!(
        "next_payable",
        |q| q.has(&["next bill", "next payment", "next payable", "next obligation"]),
        obligations::next_payable
    ),
    intent!(
        "bills_due",
        |q| q.has(BILL_WORDS) && q.has(&["due", "coming", "upcoming", "this week", "next week", "days"]),
        obligations::bills_due
    ),
    intent!("owed_to_party", |q| q.has(&["owe", "owed to", "owing"]), obligations::owed_to_party),
    intent!(
        "ap_total",
        |q| q.has(&["accounts payable", "payable", "payables", "ap", "outstanding bills", "unpaid bills"]),
        obligations::payables
    ),
    intent!(
        "spending_change",
        |q| q.has(&[
            "change",
            "changed",
            "increase",
            "increased",
            "decrease",
            "decreased",
            "higher",
            "lower",
            "rise",
            "drop"
        ]) && q.has(SPENDING_WORDS),
        cash_flow::spending_change
    ),
    intent!(
        "spending_by_category",
        |q| q.has(&["by category", "per category", "each category", "categories"]),
        cash_flow::by_category
    ),
    intent!(
        "top_counterparties",
        |q| q.has(&["top", "biggest", "largest", "most"])
            && q.has(&[
                "vendor",
                "vendors",
                "supplier",
                "suppliers",
                "merchant",
                "merchants",
                "customer",
                "customers",
                "counterparty",
                "counterparties",
                "payees"
            ]),
        cash_flow::top_counterparties
    ),
    intent!(
        "trailing_average",
        |q| q.has(AVERAGE_WORDS) && q.has(&["month", "monthly", "months"]),
        cash_flow::trailing_average
    ),
    intent!("average_transaction", |q| q.has(AVERAGE_WORDS), cash_flow::average_transaction),
    intent!("largest_transaction", |q| q.has(LARGEST_WORDS), cash_flow::largest_transaction),
    intent!(
        "cash_flow_summary",
        |q| q.has(&["cash flow", "cashflow", "net", "profit", "burn"]),
        cash_flow::cash_flow_summary
    ),
    intent!(
        "count_transactions",
        |q| q.has(&["how many", "number of", "count"]) && q.has(&["transactions", "payments", "transfers"]),
        cash_flow::count_transactions
    ),
    intent!(
        "count_accounts",
        |q| q.has(&["how many", "number of", "count"]) && q.has(&["accounts"]),
        balances::count_accounts
    ),
    intent!(
        "count_counterparties",
        |q| q.has(&["how many", "number of", "count"])
            && q.has(&["vendors", "suppliers", "customers", "counterparties", "merchants", "employees"]),
        counterparties::count_counterparties
    ),
    intent!("account_balance", |q| q.has(&["balance", "balances"]), balances::account_balance),
    intent!(
        "total_cash",
        |q| q.has(&["cash", "money", "funds"]) && q.has(&["have", "total", "available", "left", "hold"]),
        balances::total_cash
    ),
    intent!("list_accounts", |q| q.has(&["accounts"]), balances::list_accounts),
    intent!(
        "received_from_party",
        |q| q.has(&[
            "receive",
            "received",
            "get from",
            "got from",
            "earn from",
            "income from",
            "paid me",
            "paid us"
        ]),
        cash_flow::received
    ),
    intent!(
        "income_total",
        |q| q.has(&["income", "revenue", "inflow", "inflows", "earn", "earned", "earnings"]),
        cash_flow::income
    ),
    intent!("spend_with_party", |q| q.has(SPENDING_WORDS) || q.has(&["pay", "paid"]), cash_flow::spending),
    intent!(
        "list_transactions",
        |q| q.has(&["transactions", "payments", "activity", "movements"]),
        cash_flow::list_transactions
    ),
    intent!(
        "list_counterparties",
        |q| q.has(&["vendors", "suppliers", "customers", "counterparties", "merchants", "employees"]),
        counterparties::list_counterparties
    ),
];

const LARGEST_WORDS: &[&str] = &["largest", "biggest", "highest", "greatest"];
const AVERAGE_WORDS: &[&str] = &["average", "mean", "avg", "typical"];
const SPENDING_WORDS: &[&str] =
    &["spend", "spent", "spending", "expense", "expenses", "outflow", "outflows", "cost", "costs"];
const BILL_WORDS: &[&str] = &["bill", "bills", "obligation", "obligations", "payable", "payables", "dues"];

fn asks_overdue(question: &Question) -> bool {
    question.has(&["overdue", "late", "past due"])
}

fn asks_receivable(question: &Question) -> bool {
    question.has(&["receivable", "receivables", "ar", "owed to me", "owed to us", "customers owe", "owes"])
}

/// Verbs at the beginning of a text that make it a request for an action.
const COMMAND_VERBS: &[&str] = &[
    "pay",
    "send",
    "transfer",
    "wire",
    "remit",
    "settle",
    "execute",
    "approve",
    "authorize",
    "release",
    "move",
    "buy",
    "withdraw",
    "deposit",
    "cancel",
    "refund",
];

/// Phrases that ask to bypass the rules.
const BYPASS_PHRASES: &[&str] = &[
    "override",
    "bypass",
    "ignore the policy",
    "ignore policy",
    "ignore all",
    "skip approval",
    "without approval",
    "disable policy",
];

/// Answers a question.
pub(crate) fn answer_question(sql: &mut dyn Sql, text: &str, now: Timestamp, depth: usize) -> Result<Value> {
    let question = Question::new(text, now);
    let answer = dispatch(sql, &question)?;
    // `depth` limits the citations: two rows per level.
    let evidence_limit = if answer.is_unanswered { 0 } else { (2 * depth).min(limits::MAX_CITATIONS) };
    let evidence: Vec<Value> = answer
        .evidence
        .iter()
        .take(evidence_limit)
        .map(|(kind, id, excerpt)| json!({"entityType": kind, "entityId": id, "excerpt": excerpt}))
        .collect();
    Ok(json!({
        "question": text,
        "answered": !answer.is_unanswered,
        "answer": answer.text,
        "evidence": evidence,
        "model": "structured-ledger-query",
        "usage": {"inputTokens": 0, "outputTokens": 0},
    }))
}

fn dispatch(sql: &mut dyn Sql, question: &Question) -> Result<Answer> {
    let mut words = question
        .words
        .split_whitespace()
        .skip_while(|word| matches!(*word, "please" | "now" | "can" | "could" | "you" | "just"));
    if words.next().is_some_and(|first| COMMAND_VERBS.contains(&first)) {
        return Ok(Answer::unanswered(
            "That asks for an action. Only questions are answered; nothing is paid, sent or approved.",
        ));
    }
    if question.has(BYPASS_PHRASES) {
        return Ok(Answer::unanswered("A question cannot bypass the policy."));
    }
    match INTENTS.iter().find(|intent| (intent.matches)(question)) {
        Some(intent) => (intent.answer)(sql, question),
        None => Ok(Answer::unanswered(
            "The ledger has no ready answer to that. Ask about balances, spending, income, cash flow, bills, invoices, \
             subscriptions, categories or counterparties.",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intent_name(text: &str) -> Option<&'static str> {
        let question = Question::new(text, Timestamp(1_757_800_000_000));
        INTENTS.iter().find(|intent| (intent.matches)(&question)).map(|intent| intent.name)
    }

    #[test]
    fn questions_map_to_expected_intent() {
        for (text, expect) in [
            ("How many transactions do I have in September 2025?", "count_transactions"),
            ("Cash flow summary for 2025-09", "cash_flow_summary"),
            ("Which bills are due in the next 7 days?", "bills_due"),
            ("Why did spending change in September 2025?", "spending_change"),
            ("What is the status of invoice INV-1001?", "invoice_status"),
            ("What subscriptions are active?", "subscriptions"),
            ("How much did I spend at AWS last month?", "spend_with_party"),
            ("How much do I owe Acme?", "owed_to_party"),
            ("How much does Acme owe us?", "owed_by_party"),
            ("What is overdue?", "overdue_payables"),
            ("Which receivables are overdue?", "overdue_receivables"),
            ("Accounts receivable total", "ar_total"),
            ("What are our accounts payable?", "ap_total"),
            ("What is the balance of Operating?", "account_balance"),
            ("How much cash do we have?", "total_cash"),
            ("Average monthly net over the last 12 months", "trailing_average"),
            ("What was the largest expense in August 2025?", "largest_transaction"),
            ("What is the largest bill?", "largest_payable"),
            ("What is the next bill?", "next_payable"),
            ("Spending by category in 2025-09", "spending_by_category"),
            ("Do we trust Acme?", "vendor_trust"),
            ("Are there pending approvals?", "pending_recommendations"),
            ("What does the policy allow automatically?", "policy_auto_allow"),
            ("How much was payroll in August 2025?", "payroll"),
            ("How much income did we have in 2025?", "income_total"),
            ("Who are our top vendors?", "top_counterparties"),
            ("How many accounts are there?", "count_accounts"),
            ("List my accounts", "list_accounts"),
            ("Show recent transactions", "list_transactions"),
            ("How many vendors do we have?", "count_counterparties"),
            ("What did we receive from Acme?", "received_from_party"),
            ("List the vendors", "list_counterparties"),
            ("Which invoices are overdue?", "overdue_invoices"),
            ("Show the invoices", "list_invoices"),
            ("What is the average transaction?", "average_transaction"),
        ] {
            assert_eq!(intent_name(text), Some(expect), "{text}");
        }
        for text in ["What is the weather?", "", "Tell me a joke"] {
            assert_eq!(intent_name(text), None, "{text}");
        }
    }
}
