//! A k-way merge of index ranges. The transactions of a counterparty are one range per account that has dealt with it.
//!
//! An index by (counterparty, day) alone would scatter the rows of one statement over many B-tree pages, since a
//! statement has one account, many counterparties and many days. With the index by (account, …) these rows are stored
//! together, and a page of the list costs one index seek per account, of which there are few.

use std::collections::{HashMap, VecDeque};

use quad_core::Result;
use quad_store::Sql;

use crate::entity::{self, Entity};
use crate::keyset::{IndexRange, Key, RowSource};

/// Ranges with the same sort order.
pub(crate) struct MergeScan {
    ranges: Vec<IndexRange>,
}

/// The keys of one range that are fetched and not yet merged.
#[derive(Default)]
struct RangeBuffer {
    keys: VecDeque<Key>,
    /// Whether the range has no further keys.
    is_exhausted: bool,
}

impl MergeScan {
    pub(crate) fn new(ranges: Vec<IndexRange>) -> MergeScan {
        MergeScan { ranges }
    }

    /// The first keys of all ranges after a key, in order.
    fn keys<N: Entity>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<Key>> {
        // First assumes that all ranges contribute equally, with a reserve of two keys. Larger ranges are fetched
        // again.
        let batch_size = (2 * limit / self.ranges.len().max(1) + 2).min(limit);
        let mut buffers: Vec<RangeBuffer> = self.ranges.iter().map(|_| RangeBuffer::default()).collect();
        let mut keys: Vec<Key> = Vec::with_capacity(limit);
        while keys.len() < limit {
            for (buffer, range) in buffers.iter_mut().zip(&self.ranges) {
                if buffer.keys.is_empty() && !buffer.is_exhausted {
                    // The merge has reached the end of this buffer, so the next keys of the range follow the last
                    // merged key.
                    let batch = range.keys::<N>(sql, keys.last().or(after), batch_size)?;
                    buffer.is_exhausted = batch.len() < batch_size;
                    buffer.keys = batch.into();
                }
            }
            let next = buffers.iter_mut().filter(|buffer| !buffer.keys.is_empty()).max_by(|a, b| {
                let is_desc = self.ranges.first().is_some_and(|range| range.desc);
                let order = a.keys.front().cmp(&b.keys.front());
                if is_desc { order } else { order.reverse() }
            });
            match next.and_then(|buffer| buffer.keys.pop_front()) {
                Some(key) => keys.push(key),
                None => break,
            }
        }
        Ok(keys)
    }
}

impl RowSource for MergeScan {
    fn rows<N: Entity>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>> {
        if let [range] = self.ranges.as_slice() {
            return range.rows(sql, after, limit);
        }
        let ids: Vec<String> = self.keys::<N>(sql, after, limit)?.into_iter().map(|key| key.id).collect();
        let mut rows: Vec<N> = entity::find_many(sql, &ids)?;
        let positions: HashMap<&str, usize> =
            ids.iter().enumerate().map(|(position, id)| (id.as_str(), position)).collect();
        rows.sort_by_key(|row| positions.get(row.id_text()).copied());
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    use quad_core::Timestamp;
    use serde_json::json;

    use crate::calendar;
    use crate::testing::test_envs;
    use crate::transaction::Filter;

    /// Rows of one counterparty on some accounts: account, day, and whether the row is of that counterparty.
    fn rows_strategy() -> impl Strategy<Value = Vec<(u8, u8, bool)>> {
        prop::collection::vec((0_u8..5, 1_u8..12, prop::bool::weighted(0.8)), 0..60)
    }

    #[test]
    fn counterparty_pages_merge_all_accounts() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut runner = TestRunner::new(Config { cases: 10, max_shrink_iters: 100, ..Config::default() });
        let outcome = runner.run(&(rows_strategy(), 1_usize..9, 1_u8..12), |(rows, limit, since)| {
            runtime.block_on(async {
                for env in test_envs().await {
                    let mut lines: Vec<String> = (0..5)
                        .map(|it| json!({"kind": "account", "id": format!("acct_{it}"), "name": "A", "currency": "USD"}).to_string())
                        .collect();
                    lines.extend((0..2).map(|it| json!({"kind": "counterparty", "id": format!("cp_{it}"), "name": format!("C{it}")}).to_string()));
                    for (number, (account, day, is_match)) in rows.iter().enumerate() {
                        lines.push(json!({"kind": "transaction", "id": format!("tx_{number}"), "account_id": format!("acct_{account}"),
                            "amount": "1.00", "currency": "USD", "direction": "outflow", "transaction_date": format!("2025-01-{day:02}"),
                            "counterparty_id": if *is_match { "cp_0" } else { "cp_1" }}).to_string());
                    }
                    env.load(&lines.join("\n")).await.unwrap();
                    for (account, since) in [(None, None), (None, Some(since)), (Some(2_u8), None)] {
                        let mut expected: Vec<(u8, String)> = rows
                            .iter()
                            .enumerate()
                            .filter(|(_, (row_account, day, is_match))| {
                                *is_match && account.is_none_or(|id| id == *row_account) && since.is_none_or(|first_day| first_day <= *day)
                            })
                            .map(|(number, (_, day, _))| (*day, format!("tx_{number}")))
                            .collect();
                        expected.sort_by(|a, b| b.cmp(a));
                        let filter = Filter {
                            counterparty_id: Some("cp_0".to_owned()),
                            account_id: account.map(|id| format!("acct_{id}")),
                            since: since.map(|day| calendar::midnight(jiff::civil::date(2025, 1, day as i8))),
                            until: Some(Timestamp(i64::MAX)),
                            ..Filter::default()
                        };
                        let read = env.test_store.store.read(&env.test_store.tenant, move |sql| {
                            let (mut ids, mut after) = (Vec::new(), None);
                            loop {
                                let (page, next) = filter.page(sql, after, limit)?;
                                assert!(page.len() <= limit);
                                ids.extend(page.iter().map(|row| row.id.as_str().to_owned()));
                                match next {
                                    Some(next) => after = Some(next),
                                    None => return Ok(ids),
                                }
                            }
                        });
                        let expected: Vec<String> = expected.into_iter().map(|(_, id)| id).collect();
                        assert_eq!(read.await.unwrap(), expected);
                    }
                }
            });
            Ok(())
        });
        outcome.unwrap();
    }
}
