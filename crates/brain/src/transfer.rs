//! Transfers: two transactions that are one movement between own accounts.

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::Tx;

use crate::ids::{AccountId, TransactionId};
use crate::noun::{self, Noun, noun};
use crate::tags::Touched;
use crate::transaction::{Direction, Effect, Transaction};
use crate::{posting, raw, refusal};

noun!(
    /// A transfer as stored.
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

/// Records a transfer: from then on its two sides are neither income nor spending.
pub(crate) fn create(tx: &mut Tx<'_>, new: &Transfer, touched: &mut Touched) -> Result<bool> {
    let sides: [Transaction; 2] = [
        noun::expect(tx, new.from_transaction_id.as_str())?,
        noun::expect(tx, new.to_transaction_id.as_str())?,
    ];
    let [from, to] = &sides;
    let fits = from.account_id == new.from_account_id
        && to.account_id == new.to_account_id
        && from.account_id != to.account_id
        && from.effect == Effect::Debit
        && to.effect == Effect::Credit
        && [from, to].iter().all(|side| side.amount == new.amount && side.currency == new.currency);
    if !fits {
        return Err(refusal::conflict(
            "transfer_mismatch",
            "The two transactions are not the two sides of that transfer",
        )
        .hint(
            "One leaves the first account, the other reaches the second, with the same amount and currency",
        ));
    }
    if !noun::insert(tx, new)? {
        return Ok(false);
    }
    raw::cite(tx, &new.standing)?;
    for side in sides {
        if side.direction != Direction::Transfer {
            let mut changed = side.clone();
            changed.direction = Direction::Transfer;
            changed.standing.updated_at = tx.now();
            posting::amend(tx, &changed, touched)?;
        }
    }
    touched.row(Transfer::KIND, new.id.as_str());
    Ok(true)
}
