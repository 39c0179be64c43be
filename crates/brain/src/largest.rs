//! The largest transactions per month, currency and direction. They are stored, so that a page reads five rows.

use std::collections::BTreeMap;

use quad_core::Result;
use quad_statements::{Amount, Currency};
use quad_store::{Sql, Tx, Value as Cell, params};

use crate::transaction::Transaction;
use crate::{limits, money};

/// Month, currency and direction.
type LargestKey = (String, Currency, &'static str);

/// Transactions that may be among the largest of their month.
#[derive(Debug, Default)]
pub(crate) struct LargestByMonth(BTreeMap<LargestKey, Vec<(Amount, String)>>);

impl LargestByMonth {
    pub(crate) fn add(&mut self, period: &str, row: &Transaction) {
        let key = (period.to_owned(), row.currency, row.direction.as_str());
        let entries = self.0.entry(key).or_default();
        entries.push((row.amount, row.id.as_str().to_owned()));
        if entries.len() >= 4 * limits::LARGEST_KEPT {
            keep_largest(entries);
        }
    }

    /// Stores those that are among the largest.
    pub(crate) fn write(self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        for ((period, currency, direction), mut candidates) in self.0 {
            keep_largest(&mut candidates);
            let stored = for_month(tx, &period, currency, direction)?;
            let mut all = stored.clone();
            all.extend(candidates);
            keep_largest(&mut all);
            for (_, id) in stored.iter().filter(|peak| !all.contains(peak)) {
                delete(tx, &period, currency, direction, id)?;
            }
            for (amount, id) in all.iter().filter(|peak| !stored.contains(peak)) {
                let cells: [Cell; 7] = [
                    tenant.as_str().into(),
                    period.as_str().into(),
                    currency.as_str().into(),
                    direction.into(),
                    id.as_str().into(),
                    amount.units().into(),
                    i64::from(amount.nanos()).into(),
                ];
                tx.execute(
                    "INSERT INTO brain_peak (tenant_id, period, currency, direction, transaction_id, units, nanos) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
                    &cells,
                )?;
            }
        }
        Ok(())
    }
}

fn keep_largest(entries: &mut Vec<(Amount, String)>) {
    entries.sort_unstable_by(|a, b| b.cmp(a));
    entries.dedup();
    entries.truncate(limits::LARGEST_KEPT);
}

/// The largest transactions of a month, largest first.
pub(crate) fn for_month(
    sql: &mut dyn Sql,
    period: &str,
    currency: Currency,
    direction: &str,
) -> Result<Vec<(Amount, String)>> {
    let tenant = sql.tenant().as_str().to_owned();
    let rows = sql.query(
        "SELECT units, nanos, transaction_id FROM brain_peak \
         WHERE tenant_id = $1 AND period = $2 AND currency = $3 AND direction = $4",
        params![tenant, period, currency.as_str(), direction],
    )?;
    let mut entries = Vec::with_capacity(rows.len());
    for row in &rows {
        entries.push((money::from_columns(row.int(0)?, row.int(1)?)?, row.text(2)?.to_owned()));
    }
    keep_largest(&mut entries);
    Ok(entries)
}

/// Removes a transaction that no longer counts. The sixth largest is not known, so the list stays shorter until a
/// larger one is posted.
pub(crate) fn delete(
    tx: &mut Tx<'_>,
    period: &str,
    currency: Currency,
    direction: &str,
    id: &str,
) -> Result<()> {
    let tenant = tx.tenant().as_str().to_owned();
    tx.execute(
        "DELETE FROM brain_peak WHERE tenant_id = $1 AND period = $2 AND currency = $3 AND direction = $4 \
         AND transaction_id = $5",
        params![tenant, period, currency.as_str(), direction, id],
    )?;
    Ok(())
}
