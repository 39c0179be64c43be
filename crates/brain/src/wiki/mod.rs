//! The wiki: Markdown pages that are rendered from the ledger alone.
//!
//! A page exists when its subject does. It is rendered when it is read. If the text equals the newest revision, that
//! revision is the page; otherwise a new one is stored ([`revision`]). The same ledger gives the same bytes. Every page
//! reads a bounded number of rows: sums come from the totals, lists are cut.

mod account;
mod agent;
mod counterparty;
#[cfg(test)]
mod hostile_text_tests;
mod invoice;
pub(crate) mod not_found;
mod obligation;
mod page_builder;
mod period;
mod policy;
pub(crate) mod revision;

use quad_core::{ReadSet, Result, Timestamp};
use quad_store::Sql;

use crate::AgentSummary;
use crate::calendar::{Month, Quarter};
use crate::ids::PageId;
use crate::string_enum::string_enum;

pub(crate) use page_builder::PageBuilder;

string_enum!(
    /// The type of a page's subject.
    PageType, "page type" {
        Account = "account", Counterparty = "counterparty", Obligation = "obligation", Invoice = "invoice",
        Agent = "agent", Policy = "policy", MonthlySummary = "monthly_summary", CashFlow = "cash_flow",
    }
);

/// A page by its subject.
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
    MonthlySummary(Month),
    MonthlyCashFlow(Month),
    QuarterlyCashFlow(Quarter),
}

/// A reference to a page in a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PageRef {
    /// The current page.
    Page(PageName),
    /// A stored revision; immutable.
    Revision(PageId),
}

impl PageRef {
    /// Parses a slug, a revision id, or the id of a page's subject.
    pub(crate) fn parse(text: &str) -> Option<PageRef> {
        let text = text.trim();
        let text = text.strip_prefix("brain://wiki/").unwrap_or(text).trim_start_matches('/');
        let text = text.strip_prefix("pages/").unwrap_or(text);
        if let Some((folder, name)) = text.split_once('/') {
            let id = || quad_core::id::is_id(name).then(|| name.to_owned());
            return Some(PageRef::Page(match folder {
                "accounts" => PageName::Account(id()?),
                "counterparties" => PageName::Counterparty(id()?),
                "obligations" => PageName::Obligation(id()?),
                "invoices" if name == "all" => PageName::AllInvoices,
                "invoices" => PageName::Invoice(id()?),
                "agents" => PageName::Agent(parse_subject(name)?),
                "policies" if name == "active" => PageName::ActivePolicy,
                "policies" => PageName::Policy(id()?),
                "monthly-summaries" => PageName::MonthlySummary(Month::parse(name)?),
                "cash-flow" => match Quarter::parse(name) {
                    Some(quarter) => PageName::QuarterlyCashFlow(quarter),
                    None => PageName::MonthlyCashFlow(Month::parse(name)?),
                },
                _ => return None,
            }));
        }
        if let Some(month) = Month::parse(text) {
            return Some(PageRef::Page(PageName::MonthlySummary(month)));
        }
        if let Some(quarter) = Quarter::parse(text) {
            return Some(PageRef::Page(PageName::QuarterlyCashFlow(quarter)));
        }
        if !quad_core::id::is_id(text) {
            return None;
        }
        let (prefix, _) = text.split_once('_')?;
        let id = text.to_owned();
        Some(match prefix {
            "wpg" => PageRef::Revision(PageId::parse(text)?),
            "acct" => PageRef::Page(PageName::Account(id)),
            "cp" => PageRef::Page(PageName::Counterparty(id)),
            "obl" => PageRef::Page(PageName::Obligation(id)),
            "inv" => PageRef::Page(PageName::Invoice(id)),
            "agent" => PageRef::Page(PageName::Agent(id)),
            "pol" => PageRef::Page(PageName::Policy(id)),
            _ => return None,
        })
    }
}

/// The name of an agent: the characters of one segment of a slug.
fn parse_subject(name: &str) -> Option<String> {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.');
    ((1..=128).contains(&name.len()) && name.bytes().all(is_allowed)).then(|| name.to_owned())
}

impl PageName {
    /// The slug. It never changes.
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
            PageName::MonthlySummary(month) => format!("monthly-summaries/{month}"),
            PageName::MonthlyCashFlow(month) => format!("cash-flow/{month}"),
            PageName::QuarterlyCashFlow(quarter) => format!("cash-flow/{quarter}"),
        }
    }

    /// The URI.
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
            PageName::MonthlySummary(_) => PageType::MonthlySummary,
            PageName::MonthlyCashFlow(_) | PageName::QuarterlyCashFlow(_) => PageType::CashFlow,
        }
    }

    /// The id of the subject, if it has one.
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

/// A page rendered from the current ledger.
#[derive(Clone, Debug)]
pub(crate) struct RenderedPage {
    pub name: PageName,
    pub body: String,
    pub source_revision: String,
    pub read_set: ReadSet,
}

/// Renders a page; `None` if its subject does not exist. `agent` is the registry entry for the page of an agent.
pub(crate) fn render(
    sql: &mut dyn Sql,
    name: &PageName,
    agent: Option<&AgentSummary>,
    now: Timestamp,
) -> Result<Option<RenderedPage>> {
    let builder = match name {
        PageName::Account(id) => account::build_page(sql, id, now)?,
        PageName::Counterparty(id) => counterparty::build_page(sql, id, now)?,
        PageName::Obligation(id) => obligation::build_page(sql, id, now)?,
        PageName::Invoice(id) => invoice::build_page(sql, id, now)?,
        PageName::AllInvoices => Some(invoice::build_index(sql)?),
        PageName::Agent(id) => agent::build_page(sql, id, agent)?,
        PageName::Policy(id) => policy::build_page(sql, id)?,
        PageName::ActivePolicy => Some(policy::build_active_page(sql)?),
        PageName::MonthlySummary(month) => period::build_monthly_summary(sql, *month, now)?,
        PageName::MonthlyCashFlow(month) => period::build_cash_flow(sql, &month.to_string(), &[*month])?,
        PageName::QuarterlyCashFlow(quarter) => {
            period::build_cash_flow(sql, &quarter.to_string(), &quarter.months())?
        }
    };
    Ok(builder.map(|builder| builder.finish(name.clone())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn page_ref_parses_all_accepted_forms() {
        let check = |text: &str, slug: &str| match PageRef::parse(text) {
            Some(PageRef::Page(name)) => assert_eq!(name.slug(), slug, "{text}"),
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
        assert!(matches!(PageRef::parse("wpg_1"), Some(PageRef::Revision(_))));
        for invalid in ["", "x", "accounts/", "accounts/a/b", "widgets/x", "monthly-summaries/2025-13"] {
            assert_eq!(PageRef::parse(invalid), None, "{invalid}");
        }
    }
}
