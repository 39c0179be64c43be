//! Transfers: two transactions that are the two sides of one movement between the tenant's accounts.

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, params};
use serde_json::{Value, json};

use crate::entity::{self, Entity, entity};
use crate::ids::{AccountId, TransactionId};
use crate::tags::TouchedTags;
use crate::transaction::{Direction, Effect, Transaction};
use crate::{errors, posting, raw, transfer_matching};

entity!(
    /// A stored transfer.
    Transfer, "transfer" in "brain_transfer" as TransferId {
        from_account_id: AccountId,
        to_account_id: AccountId,
        from_transaction_id: TransactionId,
        to_transaction_id: TransactionId,
        amount: Amount,
        currency: Currency,
        transfer_date: Timestamp,
    }
);

impl Transfer {
    /// The JSON that one side shows of the transfer: its id and the other side.
    pub(crate) fn counterpart_json(&self, side: &Transaction) -> Value {
        let (account, transaction) = match side.effect {
            Effect::Debit => (&self.to_account_id, &self.to_transaction_id),
            Effect::Credit => (&self.from_account_id, &self.from_transaction_id),
        };
        json!({
            "id": self.id.as_str(),
            "other_account_id": account.as_str(),
            "other_transaction_id": transaction.as_str(),
            "confidence": self.meta.confidence,
        })
    }
}

/// The transfer that has this transaction as one side.
pub(crate) fn find_by_side(sql: &mut dyn Sql, side: &Transaction) -> Result<Option<Transfer>> {
    let column = match side.effect {
        Effect::Debit => "from_transaction_id",
        Effect::Credit => "to_transaction_id",
    };
    let query =
        format!("SELECT {} FROM brain_transfer WHERE tenant_id = $1 AND {column} = $2", Transfer::columns());
    let tenant = sql.tenant().as_str().to_owned();
    sql.query_opt(&query, params![tenant, side.id.as_str()])?.as_ref().map(Transfer::from_row).transpose()
}

/// Records a transfer. Its two sides then count neither as income nor as spending.
pub(crate) fn create(tx: &mut Tx<'_>, new: &Transfer, touched: &mut TouchedTags) -> Result<bool> {
    let sides: [Transaction; 2] = [
        entity::get(tx, new.from_transaction_id.as_str())?,
        entity::get(tx, new.to_transaction_id.as_str())?,
    ];
    let [from, to] = &sides;
    let is_consistent = from.account_id == new.from_account_id
        && to.account_id == new.to_account_id
        && from.account_id != to.account_id
        && from.effect == Effect::Debit
        && to.effect == Effect::Credit
        && [from, to].iter().all(|side| side.amount == new.amount && side.currency == new.currency);
    if !is_consistent {
        return Err(errors::conflict(
            "transfer_mismatch",
            "The two transactions are not the two sides of this transfer",
        )
        .hint(
            "Name a debit of the first account and a credit of the second, with the same amount and currency",
        ));
    }
    if !entity::insert(tx, new)? {
        return Ok(false);
    }
    raw::mark_cited(tx, &new.meta)?;
    for side in sides {
        transfer_matching::dequeue(tx, side.id.as_str())?;
        touched.row(Transaction::KIND, side.id.as_str());
        if side.direction != Direction::Transfer {
            let mut changed = side.clone();
            changed.direction = Direction::Transfer;
            changed.meta.updated_at = tx.now();
            posting::replace(tx, &changed, touched)?;
        }
    }
    touched.row(Transfer::KIND, new.id.as_str());
    Ok(true)
}
