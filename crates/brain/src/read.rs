//! `resources/read`: the content of each address and its read set.

use quad_core::{Address, Content, Error, Principal, ReadOutput, ReadSet, Result, Timestamp};
use quad_store::Sql;
use serde_json::Value;

use crate::counterparty::Counterparty;
use crate::entity::{self, Entity as _};
use crate::invoice::Invoice;
use crate::obligation::Obligation;
use crate::payment_intent::PaymentIntent;
use crate::routes::Resource;
use crate::transaction::{Direction, Transaction};
use crate::wiki::revision::{self, Revision};
use crate::wiki::{self, PageName, PageRef, RenderedPage};
use crate::{AgentSummary, Brain, account, action_types, limits, raw, tags, transfer};

/// Reads one address.
pub(crate) async fn read(
    brain: &Brain,
    caller: &Principal,
    resource: Resource,
    address: &Address,
) -> Result<ReadOutput> {
    let not_found = || Error::not_found(address.requested());
    let variable =
        || address.variables().iter().next().map(|(_, value)| value.to_owned()).unwrap_or_default();
    match resource {
        Resource::ActionTypes => {
            let content = Content::json(&action_types::catalogue())?;
            Ok(ReadOutput::new(content, ReadSet::default()))
        }
        Resource::Page => {
            let page_ref = PageRef::parse(&variable()).ok_or_else(not_found)?;
            match get_or_render(brain, caller, page_ref).await? {
                None => Err(not_found()),
                Some(Page::Current(rendered, _)) => {
                    Ok(ReadOutput::new(Content::text("text/markdown", rendered.body), rendered.read_set))
                }
                Some(Page::Revision(revision, read_set)) => {
                    let reading = ReadOutput::new(Content::text("text/markdown", revision.body_md), read_set);
                    Ok(ReadOutput { immutable: true, ..reading })
                }
            }
        }
        _ => {
            let (id, subject) = (variable(), caller.subject.clone());
            let result =
                brain.store.read(&caller.tenant, move |sql| read_row(sql, resource, &id, &subject)).await?;
            let (value, read_set) = result.ok_or_else(not_found)?;
            Ok(ReadOutput::new(Content::json(&value)?, read_set))
        }
    }
}

/// The JSON of a ledger row or an artifact, and its read set.
fn read_row(
    sql: &mut dyn Sql,
    resource: Resource,
    id: &str,
    subject: &str,
) -> Result<Option<(Value, ReadSet)>> {
    let tenant = sql.tenant().as_str().to_owned();
    let (kind, json) = match resource {
        Resource::Account => (account::Account::KIND, account::detail(sql, id)?),
        Resource::Transaction => {
            let row: Option<Transaction> = entity::find(sql, id)?;
            (Transaction::KIND, row.map(|row| transaction_json(sql, &row, &tenant)).transpose()?)
        }
        Resource::PaymentIntent => {
            let row: Option<PaymentIntent> = entity::find(sql, id)?;
            (PaymentIntent::KIND, row.map(|row| Value::Object(row.to_json(&tenant))))
        }
        Resource::Obligation => {
            let row: Option<Obligation> = entity::find(sql, id)?;
            (Obligation::KIND, row.map(|row| Value::Object(row.to_json(&tenant))))
        }
        Resource::Counterparty => {
            let row: Option<Counterparty> = entity::find(sql, id)?;
            let json = row.map(|row| row.to_public_json(sql)).transpose()?;
            (Counterparty::KIND, json.map(Value::Object))
        }
        Resource::Invoice => {
            let row: Option<Invoice> = entity::find(sql, id)?;
            (Invoice::KIND, row.map(|row| Value::Object(row.to_json(&tenant))))
        }
        Resource::Raw => (raw::KIND, raw::to_json_for(sql, id, subject, true)?),
        Resource::Page | Resource::ActionTypes => {
            return Err(Error::internal("this address does not name a row"));
        }
    };
    let read_set = tags::read_set(sql.version()).with_tag(tags::row(kind, id));
    Ok(json.map(|value| (value, read_set)))
}

/// The JSON of a transaction; one side of a transfer includes the other side.
fn transaction_json(sql: &mut dyn Sql, row: &Transaction, tenant: &str) -> Result<Value> {
    let mut json = row.to_public_json(tenant);
    if row.direction == Direction::Transfer
        && let Some(transfer) = transfer::find_by_side(sql, row)?
    {
        json.insert("transfer".into(), transfer.counterpart_json(row));
    }
    Ok(Value::Object(json))
}

/// A page that was requested.
pub(crate) enum Page {
    /// The current page and its revision.
    Current(RenderedPage, Revision),
    /// A revision by its id.
    Revision(Revision, ReadSet),
}

/// Loads a revision, or renders the current page and stores a revision if its text has changed.
pub(crate) async fn get_or_render(
    brain: &Brain,
    caller: &Principal,
    page_ref: PageRef,
) -> Result<Option<Page>> {
    let name = match page_ref {
        PageRef::Revision(id) => {
            let lookup = brain.store.read(&caller.tenant, move |sql| {
                Ok(revision::find(sql, id.as_str())?
                    .map(|revision| (revision, ReadSet::at_version(sql.version()))))
            });
            return Ok(lookup.await?.map(|(revision, read_set)| Page::Revision(revision, read_set)));
        }
        PageRef::Page(name) => name,
    };
    for _ in 0..limits::MAX_RENDER_ATTEMPTS {
        let (agent, agents_read_set) = find_agent(brain, caller, &name).await?;
        let (page_name, now) = (name.clone(), Timestamp::now());
        let rendering = brain.store.read(&caller.tenant, move |sql| {
            let Some(rendered) = wiki::render(sql, &page_name, agent.as_ref(), now)? else { return Ok(None) };
            let stored = revision::newest(sql, &page_name)?.map(|(revision, _)| revision);
            Ok(Some((rendered, stored)))
        });
        let Some((mut rendered, stored)) = rendering.await? else { return Ok(None) };
        if let Some(agents_read_set) = agents_read_set.filter(|agents| agents.version.is_some()) {
            // Two reads at different versions: the result is only as new as the older one.
            rendered.read_set.version = rendered.read_set.version.min(agents_read_set.version);
            rendered.read_set.tags.extend(agents_read_set.tags);
        }
        if let Some(current) = stored.filter(|revision| revision.body_md == rendered.body) {
            return Ok(Some(Page::Current(rendered, current)));
        }
        let copy = rendered.clone();
        if let Some(saved) = brain
            .store
            .write_unaudited(&caller.tenant, move |tx| revision::save_if_changed(tx, &copy))
            .await?
        {
            return Ok(Some(Page::Current(rendered, saved)));
        }
    }
    Err(Error::busy("The ledger changed while the page was rendered"))
}

/// The registry entry of the agent that a page is about.
async fn find_agent(
    brain: &Brain,
    caller: &Principal,
    name: &PageName,
) -> Result<(Option<AgentSummary>, Option<ReadSet>)> {
    let PageName::Agent(subject) = name else { return Ok((None, None)) };
    let (agents, read_set) = brain.agents.list(&caller.tenant).await?;
    Ok((agents.into_iter().find(|agent| agent.subject == *subject), Some(read_set)))
}
