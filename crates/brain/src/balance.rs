//! Balances: what a bank reported for an account at a point in time.

use quad_core::{Result, Timestamp};
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, params};

use crate::account::{self, Account};
use crate::entity::{self, Entity, entity};
use crate::ids::AccountId;
use crate::money::{self, Balance};
use crate::row_meta::Provenance;
use crate::tags::TouchedTags;

entity!(
    /// A reported balance of an account.
    Snapshot, "balance" in "brain_balance" as BalanceId {
        account_id: AccountId,
        as_of: Timestamp,
        current_balance: Balance,
        available_balance: Option<Balance>,
        pending_balance: Option<Balance>,
        currency: Currency,
    }
);

/// The newest balance of an account.
pub(crate) fn latest(sql: &mut dyn Sql, account: &str) -> Result<Option<Snapshot>> {
    let query = format!(
        "SELECT {} FROM brain_balance WHERE tenant_id = $1 AND account_id = $2 ORDER BY as_of DESC LIMIT 1",
        Snapshot::columns()
    );
    let tenant = sql.tenant().as_str().to_owned();
    sql.query_opt(&query, params![tenant, account])?.as_ref().map(Snapshot::from_row).transpose()
}

/// Records a balance. If it is the newest, the account holds it plus what was posted after it.
pub(crate) fn record(tx: &mut Tx<'_>, snapshot: Snapshot, touched: &mut TouchedTags) -> Result<bool> {
    let mut account: Account = entity::get(tx, snapshot.account_id.as_str())?;
    account::check_currency(&account, snapshot.currency)?;
    if !entity::insert(tx, &snapshot)? {
        return Ok(false);
    }
    crate::raw::mark_cited(tx, &snapshot.meta)?;
    if account.balance_as_of.is_none_or(|as_of| as_of < snapshot.as_of) {
        let sums = sums_after(tx, snapshot.account_id.as_str(), snapshot.as_of)?;
        account.balance_as_of = Some(snapshot.as_of);
        account.current_balance = Balance(money::add(snapshot.current_balance.0, sums.sum)?);
        account.available_balance = snapshot.available_balance.or(account.available_balance);
        account.unconfirmed = Balance(sums.unconfirmed);
        account.unconfirmed_count = sums.unconfirmed_count;
        if snapshot.meta.provenance.is_assertion() {
            account.unconfirmed = Balance(money::add(snapshot.current_balance.0, sums.unconfirmed)?);
            account.unconfirmed_count += 1;
        }
        account.meta.updated_at = tx.now().max(account.meta.updated_at);
        entity::update(tx, &account)?;
    }
    touched.row(Account::KIND, account.id.as_str());
    Ok(true)
}

/// The signed sum of what was posted to an account after a point in time.
#[derive(Default)]
struct SumsAfter {
    sum: Amount,
    /// The part that only an agent or a customer asserts, and its number of rows.
    unconfirmed: Amount,
    unconfirmed_count: i64,
}

/// Usually few rows: a statement ends at the date of its balance.
fn sums_after(sql: &mut dyn Sql, account: &str, since: Timestamp) -> Result<SumsAfter> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT effect, provenance, CAST(SUM(amount_units) AS BIGINT), CAST(SUM(amount_nanos) AS BIGINT), COUNT(*) \
         FROM brain_transaction WHERE tenant_id = $1 AND account_id = $2 AND transaction_date > $3 \
         AND status IN ('posted', 'cleared') GROUP BY effect, provenance",
        params![tenant, account, since],
    )?;
    let mut sums = SumsAfter::default();
    for row in &rows {
        let amount = money::from_columns(row.int(2)?, row.int(3)?)?;
        let signed = match row.text(0)? {
            "credit" => amount,
            _ => money::subtract(Amount::ZERO, amount)?,
        };
        sums.sum = money::add(sums.sum, signed)?;
        if Provenance::parse(row.text(1)?).is_some_and(Provenance::is_assertion) {
            sums.unconfirmed = money::add(sums.unconfirmed, signed)?;
            sums.unconfirmed_count += row.int(4)?;
        }
    }
    Ok(sums)
}
