//! The last step of an import: transactions that say they are transfers find their other sides, whichever file brought them.

use std::sync::Arc;

use quad_core::{EventDraft, Result, Timestamp};
use quad_store::{Store, Tx, Writer};

use super::Transfers;
use super::desk::Desk;
use super::filing::Days;
use crate::own::OwnAccounts;
use crate::{limits, pairing};

/// Pairs what can be paired around some days, in the commit that has posted them. `None` if that is more than one should hold.
pub(super) fn pair_now(
    tx: &mut Tx<'_>,
    actor: &str,
    raw_id: &str,
    days: Days,
    desk: &mut Desk,
) -> Result<Option<Transfers>> {
    let own = desk.own(tx)?;
    let found = pairing::look(tx, &own, days, None)?;
    desk.paired += found.pairs.len();
    if found.next.is_some() || desk.paired > limits::TRANSFERS_PER_WRITE {
        return Ok(None);
    }
    let mut made = Transfers { ambiguous: found.ambiguous.len(), ..Transfers::default() };
    made.sentences.extend(found.ambiguous.into_iter().take(limits::TRANSFERS_NAMED));
    if !found.pairs.is_empty() {
        desk.effects.write(tx)?;
        made.paired = pairing::pair(tx, &own, &found.pairs)?;
        tx.tell(EventDraft::system("ledger", "ledger.transfers.paired", actor).input("raw_id", raw_id));
    }
    Ok(Some(made))
}

/// Pairs what can be paired around some days. Once more does no harm.
pub(super) async fn pair(
    store: &Store,
    writer: &Writer,
    actor: &str,
    raw_id: &str,
    own: &Arc<OwnAccounts>,
    days: Days,
) -> Result<Transfers> {
    let mut made = Transfers::default();
    let mut after: Option<(Timestamp, String)> = None;
    loop {
        let (known, from) = (own.clone(), after.take());
        let look = store.read(&writer.tenant, move |sql| pairing::look(sql, &known, days, from.as_ref()));
        let found = look.await?;
        for pairs in found.pairs.chunks(limits::TRANSFERS_PER_WRITE) {
            let event = EventDraft::system("ledger", "ledger.transfers.paired", actor)
                .input("raw_id", raw_id)
                .succeeded();
            let (pairs, known) = (pairs.to_vec(), own.clone());
            let work = move |tx: &mut Tx<'_>| pairing::pair(tx, &known, &pairs);
            made.paired += store.write(writer, event, work).await?.0;
        }
        made.ambiguous += found.ambiguous.len();
        let room = limits::TRANSFERS_NAMED.saturating_sub(made.sentences.len());
        made.sentences.extend(found.ambiguous.into_iter().take(room));
        match found.next {
            Some(next) => after = Some(next),
            None => return Ok(made),
        }
    }
}
