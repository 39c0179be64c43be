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
use crate::{AgentSummary, Brain, contribution, money, routes, tags, total};

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
    fn required_scope(self) -> quad_core::ScopeRequirement {
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
            if section.required_scope().is_satisfied_by(&scopes) {
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
    match section {
        Section::ActionTypes => Ok(action_types_entry(after)),
        Section::Accounts => account_entries(sql, after, limit),
        Section::AccountPages => page_entries(sql, after, limit, |row: &Account| {
            (PageName::Account(row.id.as_str().to_owned()), row.name.clone())
        }),
        Section::CounterpartyPages => page_entries(sql, after, limit, |row: &Counterparty| {
            (PageName::Counterparty(row.id.as_str().to_owned()), row.title().to_owned())
        }),
        Section::ObligationPages => page_entries(sql, after, limit, |row: &Obligation| {
            (PageName::Obligation(row.id.as_str().to_owned()), format!("{} {}", row.kind, row.id))
        }),
        Section::InvoicePages => page_entries(sql, after, limit, |row: &Invoice| {
            (PageName::Invoice(row.id.as_str().to_owned()), format!("Invoice {}", row.invoice_number))
        }),
        Section::AgentPages => Ok(agent_page_entries(agents, after, limit)),
        Section::PolicyPages => page_entries(sql, after, limit, |row: &Policy| {
            (PageName::Policy(row.id.as_str().to_owned()), format!("Policy {}", row.id))
        }),
        Section::MonthPages => month_page_entries(sql, after, limit, |month| {
            (PageName::MonthlySummary(month), format!("Summary of {month}"))
        }),
        Section::MonthlyCashFlowPages => month_page_entries(sql, after, limit, |month| {
            (PageName::MonthlyCashFlow(month), format!("Cash flow of {month}"))
        }),
        Section::QuarterlyCashFlowPages => quarter_page_entries(sql, after, limit),
        Section::FixedPages => Ok(fixed_page_entries(after)),
        Section::CallerArtifacts => artifact_entries(sql, subject, after, limit),
        Section::CallerIntents => intent_entries(sql, subject, after, limit),
    }
}

fn action_types_entry(after: &str) -> Vec<KeyedEntry> {
    if !after.is_empty() {
        return Vec::new();
    }
    let entry = new_entry(
        routes::ACTION_TYPES.to_owned(),
        "Payment action types".to_owned(),
        "application/json",
        "The types of payments that can be proposed",
    );
    vec![("only".to_owned(), entry)]
}

fn account_entries(sql: &mut dyn Sql, after: &str, limit: usize) -> Result<Vec<KeyedEntry>> {
    let to_entry = |row: &Account| {
        let about = format!("{} in {}, {}", row.account_type, row.currency, row.status);
        let uri = Account::uri(row.id.as_str());
        (row.id.as_str().to_owned(), new_entry(uri, row.name.clone(), "application/json", &about))
    };
    Ok(page_by_id::<Account>(sql, after, limit)?.iter().map(to_entry).collect())
}

fn agent_page_entries(agents: &[AgentSummary], after: &str, limit: usize) -> Vec<KeyedEntry> {
    let mut subjects: Vec<&str> = agents.iter().map(|agent| agent.subject.as_str()).collect();
    subjects.sort_unstable();
    let remaining = subjects.into_iter().filter(|subject| *subject > after).take(limit);
    let to_entry =
        |subject: &str| (subject.to_owned(), page_entry(&PageName::Agent(subject.to_owned()), subject));
    remaining.map(to_entry).collect()
}

fn month_page_entries(
    sql: &mut dyn Sql,
    after: &str,
    limit: usize,
    name: impl Fn(Month) -> (PageName, String),
) -> Result<Vec<KeyedEntry>> {
    let to_entry = |month: Month| {
        let (page, title) = name(month);
        (month.to_string(), page_entry(&page, &title))
    };
    Ok(total::months(sql, Month::parse(after), limit)?.into_iter().map(to_entry).collect())
}

fn quarter_page_entries(sql: &mut dyn Sql, after: &str, limit: usize) -> Result<Vec<KeyedEntry>> {
    let after = Quarter::parse(after).map(|quarter| quarter.months()[2]);
    let mut quarters: Vec<Quarter> =
        total::months(sql, after, limit * 3)?.into_iter().map(Month::quarter).collect();
    quarters.dedup();
    let to_entry = |quarter: Quarter| {
        let title = format!("Cash flow of {quarter}");
        (quarter.to_string(), page_entry(&PageName::QuarterlyCashFlow(quarter), &title))
    };
    Ok(quarters.into_iter().take(limit).map(to_entry).collect())
}

fn fixed_page_entries(after: &str) -> Vec<KeyedEntry> {
    let fixed = [(PageName::AllInvoices, "Invoices"), (PageName::ActivePolicy, "Active policy")];
    let remaining = fixed.iter().filter(|(name, _)| name.slug().as_str() > after);
    remaining.map(|(name, title)| (name.slug(), page_entry(name, title))).collect()
}

fn artifact_entries(sql: &mut dyn Sql, agent: &str, after: &str, limit: usize) -> Result<Vec<KeyedEntry>> {
    let to_entry = |artifact: &Artifact| {
        let id = artifact.id.as_str();
        let mime_type = artifact.mime_type.as_deref().unwrap_or("unknown type");
        let about = format!("{} bytes of {mime_type}", artifact.bytes);
        (id.to_owned(), new_entry(Artifact::uri(id), id.to_owned(), "application/json", &about))
    };
    Ok(contribution::by_agent(sql, agent, after, limit)?.iter().map(to_entry).collect())
}

fn intent_entries(sql: &mut dyn Sql, agent: &str, after: &str, limit: usize) -> Result<Vec<KeyedEntry>> {
    let to_entry = |row: &PaymentIntent| {
        let amount = money::to_wire(row.amount);
        let about = format!("{} of {amount} {}, {}", row.action_type, row.currency, row.status);
        let id = row.id.as_str();
        (id.to_owned(), new_entry(PaymentIntent::uri(id), id.to_owned(), "application/json", &about))
    };
    Ok(intents_by_agent(sql, agent, after, limit)?.iter().map(to_entry).collect())
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

/// The entries of the pages of one kind of row.
fn page_entries<N: Entity>(
    sql: &mut dyn Sql,
    after: &str,
    limit: usize,
    name: impl Fn(&N) -> (PageName, String),
) -> Result<Vec<KeyedEntry>> {
    let to_entry = |row: &N| {
        let (page, title) = name(row);
        (row.id_text().to_owned(), page_entry(&page, &title))
    };
    Ok(page_by_id::<N>(sql, after, limit)?.iter().map(to_entry).collect())
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
