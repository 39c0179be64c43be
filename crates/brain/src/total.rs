//! Stored sums, so that no read adds up the ledger.
//!
//! A total has a subject (everything, an account, a counterparty, a category), a period (a month, all time, or what is
//! open now), a currency and a direction. Only the transaction that posts a row changes its totals.

use std::collections::BTreeMap;

use quad_core::{Error, Result};
use quad_statements::{Amount, Currency};
use quad_store::{Row, Sql, Tx, Value as Cell, batch, params};

use crate::calendar::Month;
use crate::money;

/// The subject of a total.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Subject {
    Everything,
    Account,
    Counterparty,
    Category,
}

impl Subject {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Subject::Everything => "all",
            Subject::Account => "account",
            Subject::Counterparty => "counterparty",
            Subject::Category => "category",
        }
    }
}

/// The period of all time.
pub(crate) const ALL_TIME: &str = "ever";

/// The period of open obligations.
pub(crate) const OPEN: &str = "open";

/// One sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Total {
    pub subject_id: String,
    pub period: String,
    pub currency: Currency,
    pub direction: String,
    pub count: i64,
    pub amount: Amount,
}

impl Total {
    fn from_row(row: &Row) -> Result<Total> {
        Ok(Total {
            subject_id: row.text(0)?.to_owned(),
            period: row.text(1)?.to_owned(),
            currency: money::currency_from_db(row.text(2)?)?,
            direction: row.text(3)?.to_owned(),
            count: row.int(4)?,
            amount: money::from_columns(row.int(5)?, row.int(6)?)?,
        })
    }
}

const COLUMNS: &str = "subject_id, period, currency, direction, count, units, nanos";

/// The totals of one subject in one period, by currency and direction. Empty ones are left out.
pub(crate) fn for_subject(sql: &mut dyn Sql, subject: Subject, id: &str, period: &str) -> Result<Vec<Total>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {COLUMNS} FROM brain_total WHERE tenant_id = $1 AND kind = $2 AND subject_id = $3 AND period = $4 \
         ORDER BY currency, direction"
    );
    let rows = sql.query(&query, params![tenant, subject.as_str(), id, period])?;
    let totals = rows.iter().map(Total::from_row).collect::<Result<Vec<_>>>()?;
    Ok(totals.into_iter().filter(|total| total.count > 0).collect())
}

/// The subjects with the largest sums of a period, currency and direction.
pub(crate) fn top(
    sql: &mut dyn Sql,
    subject: Subject,
    period: &str,
    currency: Currency,
    direction: &str,
    limit: usize,
) -> Result<Vec<Total>> {
    let tenant = sql.tenant().as_str().to_owned();
    let query = format!(
        "SELECT {COLUMNS} FROM brain_total WHERE tenant_id = $1 AND kind = $2 AND period = $3 AND currency = $4 \
         AND direction = $5 ORDER BY units DESC, nanos DESC, subject_id DESC LIMIT $6"
    );
    let cells = params![tenant, subject.as_str(), period, currency.as_str(), direction, limit as i64];
    let totals = sql.query(&query, cells)?.iter().map(Total::from_row).collect::<Result<Vec<_>>>()?;
    Ok(totals.into_iter().filter(|total| total.count > 0).collect())
}

/// The subjects with the largest sums over some months, of one currency and direction.
pub(crate) fn top_over_months(
    sql: &mut dyn Sql,
    subject: Subject,
    months: &[Month],
    currency: Currency,
    direction: &str,
    limit: usize,
) -> Result<Vec<(String, Amount)>> {
    let mut sums: BTreeMap<String, Amount> = BTreeMap::new();
    for month in months {
        // Four times as many per month as are returned: the largest over a quarter may be second in each month.
        for total in top(sql, subject, &month.to_string(), currency, direction, limit * 4)? {
            let sum = sums.entry(total.subject_id).or_insert(Amount::ZERO);
            *sum = money::add(*sum, total.amount)?;
        }
    }
    let mut sums: Vec<(String, Amount)> = sums.into_iter().collect();
    sums.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    sums.truncate(limit);
    Ok(sums)
}

/// The months with posted transactions, after `after`. A month whose last transaction was removed is left out.
pub(crate) fn months(sql: &mut dyn Sql, after: Option<Month>, limit: usize) -> Result<Vec<Month>> {
    let tenant = sql.tenant().as_str().to_owned();
    let mut posted_months: Vec<Month> = Vec::new();
    let mut after = after.map(|month| month.to_string()).unwrap_or_default();
    // A month has one row per currency and direction. The periods that are no months sort after all months.
    while posted_months.len() < limit {
        let row = sql.query_opt(
            "SELECT period FROM brain_total WHERE tenant_id = $1 AND kind = 'all' AND subject_id = '' \
             AND period > $2 AND period < ':' AND count > 0 ORDER BY period LIMIT 1",
            params![tenant.as_str(), after.as_str()],
        )?;
        let Some(row) = row else { break };
        row.text(0)?.clone_into(&mut after);
        posted_months.extend(Month::parse(&after));
    }
    Ok(posted_months)
}

/// The newest month with posted transactions.
pub(crate) fn newest_month(sql: &mut dyn Sql) -> Result<Option<Month>> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt(
        "SELECT period FROM brain_total WHERE tenant_id = $1 AND kind = 'all' AND subject_id = '' AND period < ':' \
         AND count > 0 ORDER BY period DESC LIMIT 1",
        params![tenant],
    )?;
    row.map(|row| Ok(Month::parse(row.text(0)?))).transpose().map(Option::flatten)
}

/// Changes of totals, accumulated until the commit writes them.
#[derive(Debug, Default)]
pub(crate) struct Deltas(BTreeMap<TotalKey, Delta>);

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct TotalKey {
    subject: Subject,
    id: String,
    period: String,
    currency: Currency,
    direction: &'static str,
}

#[derive(Clone, Copy, Debug, Default)]
struct Delta {
    count: i64,
    nanos: i128,
}

impl Deltas {
    /// Adds `count` transactions with a sum of `nanos`; both are negative when transactions are removed.
    pub(crate) fn add(
        &mut self,
        (subject, id): (Subject, &str),
        period: &str,
        currency: Currency,
        direction: &'static str,
        (count, nanos): (i64, i128),
    ) {
        let key = TotalKey { subject, id: id.to_owned(), period: period.to_owned(), currency, direction };
        let delta = self.0.entry(key).or_default();
        delta.count += count;
        delta.nanos += nanos;
    }

    /// Writes the changes.
    pub(crate) fn write(self, tx: &mut Tx<'_>) -> Result<()> {
        let tenant = tx.tenant().as_str().to_owned();
        let changed: Vec<(TotalKey, Delta)> =
            self.0.into_iter().filter(|(_, delta)| delta.count != 0 || delta.nanos != 0).collect();
        for chunk in batch::chunks(&changed) {
            // Both parts of a stored sum are non-negative, and both parts of a delta have the same sign. So at most one
            // unit carries over.
            let statement = format!(
                "INSERT INTO brain_total (tenant_id, kind, subject_id, period, currency, direction, count, units, nanos) \
                 VALUES {} ON CONFLICT (tenant_id, kind, subject_id, period, currency, direction) DO UPDATE SET \
                 count = brain_total.count + excluded.count, \
                 units = brain_total.units + excluded.units + CASE \
                   WHEN brain_total.nanos + excluded.nanos >= 1000000000 THEN 1 \
                   WHEN brain_total.nanos + excluded.nanos < 0 THEN -1 ELSE 0 END, \
                 nanos = brain_total.nanos + excluded.nanos - CASE \
                   WHEN brain_total.nanos + excluded.nanos >= 1000000000 THEN 1000000000 \
                   WHEN brain_total.nanos + excluded.nanos < 0 THEN -1000000000 ELSE 0 END",
                batch::values_placeholders(chunk.len(), 2, 8, "$1")
            );
            let mut cells: Vec<Cell> = vec![tenant.as_str().into()];
            for (key, delta) in chunk {
                let amount = Amount::from_nanos(delta.nanos)
                    .ok_or_else(|| Error::internal("the change of a total is out of range"))?;
                cells.extend([
                    key.subject.as_str().into(),
                    key.id.as_str().into(),
                    key.period.as_str().into(),
                    key.currency.as_str().into(),
                    key.direction.into(),
                    delta.count.into(),
                    amount.units().into(),
                    i64::from(amount.nanos()).into(),
                ]);
            }
            tx.execute(&statement, &cells)?;
        }
        Ok(())
    }
}
