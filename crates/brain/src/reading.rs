//! Reads: what each address holds, and what that rests on.

use quad_core::{Address, Basis, Content, Error, Principal, Reading, Result, Timestamp};
use quad_store::Sql;
use serde_json::Value;

use crate::counterparty::Counterparty;
use crate::invoice::Invoice;
use crate::noun::{self, Noun as _};
use crate::obligation::Obligation;
use crate::payment_intent::PaymentIntent;
use crate::routes::Noun;
use crate::transaction::{Direction, Transaction};
use crate::wiki::revision::{self, Revision};
use crate::wiki::{self, PageName, Rendered, Wanted};
use crate::{AgentSummary, Brain, account, action_types, limits, raw, tags, transfer};

/// Reads one address.
pub(crate) async fn read(
    brain: &Brain,
    caller: &Principal,
    noun: Noun,
    address: &Address,
) -> Result<Reading> {
    let absent = || Error::not_found(address.requested());
    let variable =
        || address.variables().iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
    match noun {
        Noun::ActionTypes => {
            let content = Content::json(&action_types::catalogue())?;
            Ok(Reading::new(content, Basis::default()))
        }
        Noun::Page => {
            let wanted = Wanted::parse(&variable()).ok_or_else(absent)?;
            match page(brain, caller, wanted).await? {
                None => Err(absent()),
                Some(Page::Current(rendered, _)) => {
                    Ok(Reading::new(Content::text("text/markdown", rendered.body), rendered.basis))
                }
                Some(Page::Old(revision, basis)) => {
                    let reading = Reading::new(Content::text("text/markdown", revision.body_md), basis);
                    Ok(Reading { immutable: true, ..reading })
                }
            }
        }
        _ => {
            let (id, subject) = (variable(), caller.subject.clone());
            let found = brain.store.read(&caller.tenant, move |sql| row(sql, noun, &id, &subject)).await?;
            let (value, basis) = found.ok_or_else(absent)?;
            Ok(Reading::new(Content::json(&value)?, basis))
        }
    }
}

/// A row of the ledger, or evidence.
fn row(sql: &mut dyn Sql, noun: Noun, id: &str, subject: &str) -> Result<Option<(Value, Basis)>> {
    let tenant = sql.tenant().as_str().to_owned();
    let (kind, found) = match noun {
        Noun::Account => (account::Account::KIND, account::detail(sql, id)?),
        Noun::Transaction => {
            let row: Option<Transaction> = noun::find(sql, id)?;
            (Transaction::KIND, row.map(|row| transaction(sql, &row, &tenant)).transpose()?)
        }
        Noun::PaymentIntent => {
            let row: Option<PaymentIntent> = noun::find(sql, id)?;
            (PaymentIntent::KIND, row.map(|row| Value::Object(row.show(&tenant))))
        }
        Noun::Obligation => {
            let row: Option<Obligation> = noun::find(sql, id)?;
            (Obligation::KIND, row.map(|row| Value::Object(row.show(&tenant))))
        }
        Noun::Counterparty => {
            let row: Option<Counterparty> = noun::find(sql, id)?;
            let view = row.map(|row| row.view(sql)).transpose()?;
            (Counterparty::KIND, view.map(Value::Object))
        }
        Noun::Invoice => {
            let row: Option<Invoice> = noun::find(sql, id)?;
            (Invoice::KIND, row.map(|row| Value::Object(row.show(&tenant))))
        }
        Noun::Raw => (raw::KIND, raw::visible(sql, id, subject, true)?),
        Noun::Page | Noun::ActionTypes => return Err(Error::internal("this address is no row")),
    };
    let basis = tags::basis(sql.version()).on(tags::row(kind, id));
    Ok(found.map(|value| (value, basis)))
}

/// A transaction; one side of a transfer shows where the other side is.
fn transaction(sql: &mut dyn Sql, row: &Transaction, tenant: &str) -> Result<Value> {
    let mut shown = row.view(tenant);
    if row.direction == Direction::Transfer
        && let Some(transfer) = transfer::of(sql, row)?
    {
        shown.insert("transfer".into(), transfer.beside(row));
    }
    Ok(Value::Object(shown))
}

/// A page that was asked for.
pub(crate) enum Page {
    /// As the ledger has it now, and the revision that says so.
    Current(Rendered, Revision),
    /// One revision by its id.
    Old(Revision, Basis),
}

/// Finds or makes a page.
pub(crate) async fn page(brain: &Brain, caller: &Principal, wanted: Wanted) -> Result<Option<Page>> {
    let name = match wanted {
        Wanted::Revision(id) => {
            let found = brain.store.read(&caller.tenant, move |sql| {
                Ok(revision::find(sql, id.as_str())?.map(|found| (found, Basis::at(sql.version()))))
            });
            return Ok(found.await?.map(|(found, basis)| Page::Old(found, basis)));
        }
        Wanted::Page(name) => name,
    };
    for _ in 0..limits::RENDERINGS {
        let (agent, agents) = registered(brain, caller, &name).await?;
        let (asked, now) = (name.clone(), Timestamp::now());
        let made = brain.store.read(&caller.tenant, move |sql| {
            let Some(rendered) = wiki::render(sql, &asked, agent.as_ref(), now)? else { return Ok(None) };
            let known = revision::newest(sql, &asked)?.map(|(known, _)| known);
            Ok(Some((rendered, known)))
        });
        let Some((mut rendered, known)) = made.await? else { return Ok(None) };
        if let Some(agents) = agents.filter(|agents| agents.version.is_some()) {
            // Both were read, one after the other: what rests on both is as old as the older.
            rendered.basis.version = rendered.basis.version.min(agents.version);
            rendered.basis.tags.extend(agents.tags);
        }
        if let Some(known) = known.filter(|known| known.body_md == rendered.body) {
            return Ok(Some(Page::Current(rendered, known)));
        }
        let copy = rendered.clone();
        if let Some(kept) = brain.store.jot(&caller.tenant, move |tx| revision::keep(tx, &copy)).await? {
            return Ok(Some(Page::Current(rendered, kept)));
        }
    }
    Err(Error::new(quad_core::Kind::Limit, "BUSY", "It changed faster than it could be read")
        .hint("Try again"))
}

/// What the registry says of the agent that a page is about.
async fn registered(
    brain: &Brain,
    caller: &Principal,
    name: &PageName,
) -> Result<(Option<AgentSummary>, Option<Basis>)> {
    let PageName::Agent(subject) = name else { return Ok((None, None)) };
    let (agents, basis) = brain.agents.list(&caller.tenant).await?;
    Ok((agents.into_iter().find(|agent| agent.subject == *subject), Some(basis)))
}
