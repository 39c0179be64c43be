//! The last step of an import: finds the other side of transactions that are marked as transfers, in this file or in
//! earlier ones.

use std::sync::Arc;

use quad_core::{EventDraft, Result, Timestamp};
use quad_store::{Store, Tx, WriteContext};

use super::TransferReport;
use super::commit_context::CommitContext;
use super::job::DayRange;
use crate::own_accounts::OwnAccounts;
use crate::{limits, transfer_matching};

/// Matches transfers around a range of days in the transaction that has posted them. `None` if there are more than one
/// commit may record; [`match_in_batches`] then does it afterwards.
pub(super) fn match_in_tx(
    tx: &mut Tx<'_>,
    actor: &str,
    raw_id: &str,
    days: DayRange,
    context: &mut CommitContext,
) -> Result<Option<TransferReport>> {
    let own_accounts = context.own_accounts(tx)?;
    let matches = transfer_matching::find_matches(tx, &own_accounts, days, None)?;
    context.paired += matches.pairs.len();
    if matches.next.is_some() || context.paired > limits::TRANSFERS_PER_WRITE {
        return Ok(None);
    }
    let mut report = TransferReport { ambiguous: matches.ambiguous.len(), ..TransferReport::default() };
    report.messages.extend(matches.ambiguous.into_iter().take(limits::MAX_TRANSFERS_REPORTED));
    if !matches.pairs.is_empty() {
        context.batch.flush(tx)?;
        report.paired = transfer_matching::record_matches(tx, &own_accounts, &matches.pairs)?;
        tx.emit_event(EventDraft::system("ledger", "ledger.transfers.paired", actor).input("raw_id", raw_id));
    }
    Ok(Some(report))
}

/// Matches transfers around a range of days in commits of their own. Idempotent.
pub(super) async fn match_in_batches(
    store: &Store,
    writer: &WriteContext,
    actor: &str,
    raw_id: &str,
    own_accounts: &Arc<OwnAccounts>,
    days: DayRange,
) -> Result<TransferReport> {
    let mut report = TransferReport::default();
    let mut after: Option<(Timestamp, String)> = None;
    loop {
        let (tx_accounts, from) = (own_accounts.clone(), after.take());
        let scan = store.read(&writer.tenant, move |sql| {
            transfer_matching::find_matches(sql, &tx_accounts, days, from.as_ref())
        });
        let matches = scan.await?;
        for pairs in matches.pairs.chunks(limits::TRANSFERS_PER_WRITE) {
            let event = EventDraft::system("ledger", "ledger.transfers.paired", actor)
                .input("raw_id", raw_id)
                .succeeded();
            let (pairs, tx_accounts) = (pairs.to_vec(), own_accounts.clone());
            let work = move |tx: &mut Tx<'_>| transfer_matching::record_matches(tx, &tx_accounts, &pairs);
            report.paired += store.write(writer, event, work).await?.0;
        }
        report.ambiguous += matches.ambiguous.len();
        let remaining = limits::MAX_TRANSFERS_REPORTED.saturating_sub(report.messages.len());
        report.messages.extend(matches.ambiguous.into_iter().take(remaining));
        match matches.next {
            Some(next) => after = Some(next),
            None => return Ok(report),
        }
    }
}
