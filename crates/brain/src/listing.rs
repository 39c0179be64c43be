//! `resources/list`: what the caller can read now. Accounts, pages, its own artifacts and its own payment intents.
//! Transactions are not listed: there are too many.

use quad_core::scheme::{ResourceEntry, SchemePage};
use quad_core::{Principal, ReadSet, Result};
use quad_store::{Sql, Value as Cell};

use crate::account::Account;
use crate::calendar::{Month, Quarter};
use crate::counterparty::Counterparty;
use crate::entity::Entity;
use crate::invoice::Invoice;
use crate::obligation::Obligation;
use crate::payment_intent::PaymentIntent;
use crate::policy::Policy;
use crate::raw::Artifact;
use crate::wiki::PageName;
use crate::{AgentSummary, Brain, contribution, routes, tags, total};

/// The sections of the list, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Section {
    ActionTypes,
    Accounts,
    AccountPages,
    CounterpartyPages,
    ObligationPages,
    InvoicePages,
    AgentPages,
    PolicyPages,
    MonthPages,
    MonthlyCashFlowPages,
    QuarterlyCashFlowPages,
    FixedPages,
    CallerArtifacts,
    CallerIntents,
}

const SECTIONS: [Section; 14] = [
    Section::ActionTypes,
    Section::Accounts,
    Section::AccountPages,
    Section::CounterpartyPages,
    Section::ObligationPages,
    Section::InvoicePages,
    Section::AgentPages,
    Section::PolicyPages,
    Section::MonthPages,
    Section::MonthlyCashFlowPages,
    Section::QuarterlyCashFlowPages,
    Section::FixedPages,
    Section::CallerArtifacts,
    Section::CallerIntents,
];

impl Section {
    fn need(self) -> quad_core::ScopeRequirement {
        match self {
            Section::ActionTypes => routes::PROPOSE,
            Section::Accounts | Section::CallerIntents => routes::LEDGER_READ,
            Section::CallerArtifacts => routes::EVIDENCE_READ,
            _ => routes::WIKI_READ,
        }
    }
}

/// An entry, and its key within its section.
type KeyedEntry = (String, ResourceEntry);

/// One page of the list.
pub(crate) async fn list(
    brain: &Brain,
    caller: &Principal,
    after: Option<&str>,
    limit: usize,
) -> Result<SchemePage> {
    let (first, key) = match after.and_then(|after| after.split_once(':')) {
        Some((section, key)) => (section.parse::<usize>().unwrap_or(0), key.to_owned()),
        None => (0, String::new()),
    };
    let (agents, registry_read_set) = if routes::WIKI_READ.is_satisfied_by(&caller.scopes) {
        brain.agents.list(&caller.tenant).await?
    } else {
        (Vec::new(), ReadSet::default())
    };
    let (scopes, subject) = (caller.scopes.clone(), caller.subject.clone());
    let list_page = move |sql: &mut dyn Sql| {
        let mut entries: Vec<(usize, String, ResourceEntry)> = Vec::new();
        let mut key = key.as_str();
        for (index, section) in SECTIONS.iter().enumerate().skip(first) {
            if section.need().is_satisfied_by(&scopes) {
                // One entry beyond the page shows whether there are more.
                let remaining = limit + 1 - entries.len();
                let page = section_entries(sql, *section, key, remaining, &subject, &agents)?;
                entries.extend(page.into_iter().map(|(key, entry)| (index, key, entry)));
            }
            key = "";
            if entries.len() > limit {
                break;
            }
        }
        let has_more = entries.len() > limit;
        entries.truncate(limit);
        let next = entries.last().filter(|_| has_more).map(|(section, key, _)| format!("{section}:{key}"));
        let entries = entries.into_iter().map(|(_, _, entry)| entry).collect();
        Ok(SchemePage { entries, next, read_set: tags::read_set(sql.version()).with_tag(tags::listing()) })
    };
    let mut listing = brain.store.read(&caller.tenant, move |sql| list_page(sql)).await?;
    if registry_read_set.version.is_some() {
        listing.read_set.version = listing.read_set.version.min(registry_read_set.version);
        listing.read_set.tags.extend(registry_read_set.tags);
    }
    Ok(listing)
}

fn section_entries(
    sql: &mut dyn Sql,
    section: Section,
    after: &str,
    limit: usize,
    subject: &str,
    agents: &[AgentSummary],
) -> Result<Vec<KeyedEntry>> {
    let keyed = |id: &str, entry: ResourceEntry| (id.to_owned(), entry);
    Ok(match section {
        Section::ActionTypes => {
            let entry = new_entry(
                routes::ACTION_TYPES.to_owned(),
                "Payment action types".to_owned(),
                "application/json",
                "The ways in which a payment can be proposed",
            );
            if after.is_empty() { vec![keyed("only", entry)] } else { Vec::new() }
        }
        Section::Accounts => page_by_id::<Account>(sql, after, limit)?
            .iter()
            .map(|row| {
                let about = format!("{} in {}, {}", row.account_type, row.currency, row.status);
                keyed(
                    row.id.as_str(),
                    new_entry(Account::uri(row.id.as_str()), row.name.clone(), "application/json", &about),
                )
            })
            .collect(),
        Section::AccountPages => page_entries(page_by_id::<Account>(sql, after, limit)?, |row| {
            (PageName::Account(row.id.as_str().to_owned()), row.name.clone())
        }),
        Section::CounterpartyPages => page_entries(page_by_id::<Counterparty>(sql, after, limit)?, |row| {
            (PageName::Counterparty(row.id.as_str().to_owned()), row.title().to_owned())
        }),
        Section::ObligationPages => page_entries(page_by_id::<Obligation>(sql, after, limit)?, |row| {
            (PageName::Obligation(row.id.as_str().to_owned()), format!("{} {}", row.kind, row.id))
        }),
        Section::InvoicePages => page_entries(page_by_id::<Invoice>(sql, after, limit)?, |row| {
            (PageName::Invoice(row.id.as_str().to_owned()), format!("Invoice {}", row.invoice_number))
        }),
        Section::AgentPages => {
            let mut subjects: Vec<&str> = agents.iter().map(|agent| agent.subject.as_str()).collect();
            subjects.sort_unstable();
            let remaining = subjects.into_iter().filter(|subject| *subject > after).take(limit);
            remaining
                .map(|subject| keyed(subject, page_entry(&PageName::Agent(subject.to_owned()), subject)))
                .collect()
        }
        Section::PolicyPages => page_entries(page_by_id::<Policy>(sql, after, limit)?, |row| {
            (PageName::Policy(row.id.as_str().to_owned()), format!("Policy {}", row.id))
        }),
        Section::MonthPages | Section::MonthlyCashFlowPages => {
            let months = total::months(sql, Month::parse(after), limit)?;
            let entry = |month: &Month| {
                let (name, title) = if section == Section::MonthPages {
                    (PageName::MonthlySummary(*month), format!("Summary of {month}"))
                } else {
                    (PageName::MonthlyCashFlow(*month), format!("Cash flow of {month}"))
                };
                keyed(&month.to_string(), page_entry(&name, &title))
            };
            months.iter().map(entry).collect()
        }
        Section::QuarterlyCashFlowPages => {
            let after = Quarter::parse(after).map(|quarter| quarter.months()[2]);
            let mut quarters: Vec<Quarter> =
                total::months(sql, after, limit * 3)?.into_iter().map(Month::quarter).collect();
            quarters.dedup();
            let entry = |quarter: Quarter| {
                let title = format!("Cash flow of {quarter}");
                keyed(&quarter.to_string(), page_entry(&PageName::QuarterlyCashFlow(quarter), &title))
            };
            quarters.into_iter().take(limit).map(entry).collect()
        }
        Section::FixedPages => {
            let fixed = [(PageName::AllInvoices, "Invoices"), (PageName::ActivePolicy, "Active policy")];
            let remaining = fixed.iter().filter(|(name, _)| name.slug().as_str() > after);
            remaining.map(|(name, title)| keyed(&name.slug(), page_entry(name, title))).collect()
        }
        Section::CallerArtifacts => contribution::by_agent(sql, subject, after, limit)?
            .iter()
            .map(|artifact| {
                let id = artifact.id.as_str();
                let about = format!(
                    "{} bytes of {}",
                    artifact.bytes,
                    artifact.mime_type.as_deref().unwrap_or("unknown type")
                );
                keyed(id, new_entry(Artifact::uri(id), id.to_owned(), "application/json", &about))
            })
            .collect(),
        Section::CallerIntents => intents_by_agent(sql, subject, after, limit)?
            .iter()
            .map(|row| {
                let about = format!(
                    "{} of {} {}, {}",
                    row.action_type,
                    crate::money::to_wire(row.amount),
                    row.currency,
                    row.status
                );
                let uri = PaymentIntent::uri(row.id.as_str());
                keyed(row.id.as_str(), new_entry(uri, row.id.as_str().to_owned(), "application/json", &about))
            })
            .collect(),
    })
}

fn new_entry(uri: String, name: String, mime_type: &'static str, about: &str) -> ResourceEntry {
    ResourceEntry {
        uri,
        title: Some(name.clone()),
        name: name.into(),
        description: Some(about.to_owned()),
        mime_type: mime_type.into(),
        priority: None,
    }
}

fn page_entry(name: &PageName, title: &str) -> ResourceEntry {
    let about = format!("Wiki page, {}", name.page_type());
    new_entry(name.uri(), title.to_owned(), "text/markdown", &about)
}

fn page_entries<N: Entity>(rows: Vec<N>, name: impl Fn(&N) -> (PageName, String)) -> Vec<KeyedEntry> {
    let entry = |row: &N| {
        let (page, title) = name(row);
        (row.id_text().to_owned(), page_entry(&page, &title))
    };
    rows.iter().map(entry).collect()
}

/// Rows by id, after `after`.
pub(crate) fn page_by_id<N: Entity>(sql: &mut dyn Sql, after: &str, limit: usize) -> Result<Vec<N>> {
    let query = format!(
        "SELECT {} FROM {} WHERE tenant_id = $1 AND id > $2 ORDER BY id LIMIT $3",
        N::columns(),
        N::TABLE
    );
    let cells: [Cell; 3] = [sql.tenant().as_str().into(), after.into(), (limit as i64).into()];
    sql.query(&query, &cells)?.iter().map(N::from_row).collect()
}

fn intents_by_agent(sql: &mut dyn Sql, agent: &str, after: &str, limit: usize) -> Result<Vec<PaymentIntent>> {
    let query = format!(
        "SELECT {} FROM brain_payment_intent WHERE tenant_id = $1 AND created_by_agent_id = $2 AND id > $3 \
         ORDER BY id LIMIT $4",
        PaymentIntent::columns()
    );
    let cells: [Cell; 4] = [sql.tenant().as_str().into(), agent.into(), after.into(), (limit as i64).into()];
    sql.query(&query, &cells)?.iter().map(PaymentIntent::from_row).collect()
}
