//! The wiki: pages for people and agents, made from the ledger and from nothing else.
//!
//! A page exists when its subject does. It is made when somebody reads it; if it says what its last revision said, that
//! revision is the page, otherwise a new one is kept ([`revision`]). The same ledger gives the same page, to the byte. Every
//! page looks at a bounded number of rows: sums come from the totals, lists are cut.

mod account;
mod agent;
mod counterparty;
mod draft;
mod invoice;
mod obligation;
mod period;
mod policy;
pub(crate) mod revision;

use quad_core::{Basis, Result, Timestamp};
use quad_store::Sql;

use crate::AgentSummary;
use crate::civil::{Month, Quarter};
use crate::ids::PageId;
use crate::words::words;

pub(crate) use draft::Draft;

words!(
    /// What a page is about.
    PageType, "page type" {
        Account = "account", Counterparty = "counterparty", Obligation = "obligation", Invoice = "invoice",
        Agent = "agent", Policy = "policy", MonthlySummary = "monthly_summary", CashFlow = "cash_flow",
    }
);

/// A page by what it is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageName {
    Account(String),
    Counterparty(String),
    Obligation(String),
    Invoice(String),
    AllInvoices,
    Agent(String),
    Policy(String),
    ActivePolicy,
    Month(Month),
    FlowOfMonth(Month),
    FlowOfQuarter(Quarter),
}

/// What a reader may ask for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    /// The page as it is now.
    Page(PageName),
    /// One revision, for ever the same.
    Revision(PageId),
}

impl Wanted {
    /// Reads a slug, a page's id, or the id of what a page is about.
    pub(crate) fn parse(text: &str) -> Option<Wanted> {
        let text = text.trim();
        let text = text.strip_prefix("brain://wiki/").unwrap_or(text).trim_start_matches('/');
        let text = text.strip_prefix("pages/").unwrap_or(text);
        if let Some((folder, name)) = text.split_once('/') {
            let id = || quad_core::id::is_id(name).then(|| name.to_owned());
            return Some(Wanted::Page(match folder {
                "accounts" => PageName::Account(id()?),
                "counterparties" => PageName::Counterparty(id()?),
                "obligations" => PageName::Obligation(id()?),
                "invoices" if name == "all" => PageName::AllInvoices,
                "invoices" => PageName::Invoice(id()?),
                "agents" => PageName::Agent(subject(name)?),
                "policies" if name == "active" => PageName::ActivePolicy,
                "policies" => PageName::Policy(id()?),
                "monthly-summaries" => PageName::Month(Month::parse(name)?),
                "cash-flow" => match Quarter::parse(name) {
                    Some(quarter) => PageName::FlowOfQuarter(quarter),
                    None => PageName::FlowOfMonth(Month::parse(name)?),
                },
                _ => return None,
            }));
        }
        if let Some(month) = Month::parse(text) {
            return Some(Wanted::Page(PageName::Month(month)));
        }
        if let Some(quarter) = Quarter::parse(text) {
            return Some(Wanted::Page(PageName::FlowOfQuarter(quarter)));
        }
        if !quad_core::id::is_id(text) {
            return None;
        }
        let (prefix, _) = text.split_once('_')?;
        let id = text.to_owned();
        Some(match prefix {
            "wpg" => Wanted::Revision(PageId::parse(text)?),
            "acct" => Wanted::Page(PageName::Account(id)),
            "cp" => Wanted::Page(PageName::Counterparty(id)),
            "obl" => Wanted::Page(PageName::Obligation(id)),
            "inv" => Wanted::Page(PageName::Invoice(id)),
            "agent" => Wanted::Page(PageName::Agent(id)),
            "pol" => Wanted::Page(PageName::Policy(id)),
            _ => return None,
        })
    }
}

/// A subject of the registry: the characters of a slug's segment.
fn subject(name: &str) -> Option<String> {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    ((1..=128).contains(&name.len()) && name.bytes().all(fits)).then(|| name.to_owned())
}

impl PageName {
    /// Its slug, for ever.
    pub(crate) fn slug(&self) -> String {
        match self {
            PageName::Account(id) => format!("accounts/{id}"),
            PageName::Counterparty(id) => format!("counterparties/{id}"),
            PageName::Obligation(id) => format!("obligations/{id}"),
            PageName::Invoice(id) => format!("invoices/{id}"),
            PageName::AllInvoices => "invoices/all".to_owned(),
            PageName::Agent(id) => format!("agents/{id}"),
            PageName::Policy(id) => format!("policies/{id}"),
            PageName::ActivePolicy => "policies/active".to_owned(),
            PageName::Month(month) => format!("monthly-summaries/{month}"),
            PageName::FlowOfMonth(month) => format!("cash-flow/{month}"),
            PageName::FlowOfQuarter(quarter) => format!("cash-flow/{quarter}"),
        }
    }

    /// Its address.
    pub(crate) fn uri(&self) -> String {
        format!("brain://wiki/{}", self.slug())
    }

    pub(crate) fn page_type(&self) -> PageType {
        match self {
            PageName::Account(_) => PageType::Account,
            PageName::Counterparty(_) => PageType::Counterparty,
            PageName::Obligation(_) => PageType::Obligation,
            PageName::Invoice(_) | PageName::AllInvoices => PageType::Invoice,
            PageName::Agent(_) => PageType::Agent,
            PageName::Policy(_) | PageName::ActivePolicy => PageType::Policy,
            PageName::Month(_) => PageType::MonthlySummary,
            PageName::FlowOfMonth(_) | PageName::FlowOfQuarter(_) => PageType::CashFlow,
        }
    }

    /// What it is about, where that has an id.
    pub(crate) fn subject_id(&self) -> Option<&str> {
        match self {
            PageName::Account(id)
            | PageName::Counterparty(id)
            | PageName::Obligation(id)
            | PageName::Invoice(id)
            | PageName::Agent(id)
            | PageName::Policy(id) => Some(id),
            _ => None,
        }
    }
}

/// A page as the ledger has it now.
#[derive(Clone, Debug)]
pub(crate) struct Rendered {
    pub name: PageName,
    pub body: String,
    pub source_revision: String,
    pub basis: Basis,
}

/// Makes a page; `None` if its subject does not exist. `agent` is what the registry says, for the page of an agent.
pub(crate) fn render(
    sql: &mut dyn Sql,
    name: &PageName,
    agent: Option<&AgentSummary>,
    now: Timestamp,
) -> Result<Option<Rendered>> {
    let draft = match name {
        PageName::Account(id) => account::draft(sql, id, now)?,
        PageName::Counterparty(id) => counterparty::draft(sql, id, now)?,
        PageName::Obligation(id) => obligation::draft(sql, id, now)?,
        PageName::Invoice(id) => invoice::draft(sql, id, now)?,
        PageName::AllInvoices => Some(invoice::index(sql)?),
        PageName::Agent(id) => agent::draft(sql, id, agent)?,
        PageName::Policy(id) => policy::draft(sql, id)?,
        PageName::ActivePolicy => Some(policy::active(sql)?),
        PageName::Month(month) => period::summary(sql, *month, now)?,
        PageName::FlowOfMonth(month) => period::flow(sql, &month.to_string(), &[*month])?,
        PageName::FlowOfQuarter(quarter) => period::flow(sql, &quarter.to_string(), &quarter.months())?,
    };
    Ok(draft.map(|draft| draft.finish(name.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_normalizer_reads_every_spelling() {
        let check = |text: &str, slug: &str| match Wanted::parse(text) {
            Some(Wanted::Page(name)) => assert_eq!(name.slug(), slug, "{text}"),
            other => panic!("{text}: {other:?}"),
        };
        for text in ["2025-09", "/monthly-summaries/2025-09", "brain://wiki/pages/monthly-summaries/2025-09"]
        {
            check(text, "monthly-summaries/2025-09");
        }
        check("acct_8231", "accounts/acct_8231");
        check("/cash-flow/2025-Q3", "cash-flow/2025-Q3");
        check("2025-Q3", "cash-flow/2025-Q3");
        check("agents/agent.local", "agents/agent.local");
        assert!(matches!(Wanted::parse("wpg_1"), Some(Wanted::Revision(_))));
        for nothing in ["", "x", "accounts/", "accounts/a/b", "widgets/x", "monthly-summaries/2025-13"] {
            assert_eq!(Wanted::parse(nothing), None, "{nothing}");
        }
    }
}
