//! Several ranges of one index, read as one: the transactions of a counterparty are a range for each account that has dealt with it.
//!
//! An index by counterparty and day alone would be one range. But then a statement, which is of one account and many
//! counterparties over years, would write to a page of its own for every row. This way the rows of a statement lie together, and a
//! page of the list costs a look at each of those accounts, which are few.

use std::collections::{HashMap, VecDeque};

use quad_core::Result;
use quad_store::Sql;

use crate::keyset::{Key, Range, Rows};
use crate::noun::{self, Noun};

/// Ranges that are sorted alike.
pub(crate) struct Merged {
    ranges: Vec<Range>,
}

/// What was read of a range and not taken yet.
#[derive(Default)]
struct Front {
    keys: VecDeque<Key>,
    /// Whether nothing is behind it.
    is_all: bool,
}

impl Merged {
    pub(crate) fn of(ranges: Vec<Range>) -> Merged {
        Merged { ranges }
    }

    /// The first keys of all ranges after a key, in order.
    fn keys<N: Noun>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<Key>> {
        // As if each had an equal share, and a little more; those with a larger one are asked again.
        let step = (2 * limit / self.ranges.len().max(1) + 2).min(limit);
        let mut fronts: Vec<Front> = self.ranges.iter().map(|_| Front::default()).collect();
        let mut keys: Vec<Key> = Vec::with_capacity(limit);
        while keys.len() < limit {
            for (front, range) in fronts.iter_mut().zip(&self.ranges) {
                if front.keys.is_empty() && !front.is_all {
                    // Nothing of it lies between the last key that was taken and what it has behind.
                    let read = range.keys::<N>(sql, keys.last().or(after), step)?;
                    front.is_all = read.len() < step;
                    front.keys = read.into();
                }
            }
            let next = fronts.iter_mut().filter(|front| !front.keys.is_empty()).max_by(|one, other| {
                let falls = self.ranges.first().is_some_and(|range| range.falling);
                let order = one.keys.front().cmp(&other.keys.front());
                if falls { order } else { order.reverse() }
            });
            match next.and_then(|front| front.keys.pop_front()) {
                Some(key) => keys.push(key),
                None => break,
            }
        }
        Ok(keys)
    }
}

impl Rows for Merged {
    fn rows<N: Noun>(&self, sql: &mut dyn Sql, after: Option<&Key>, limit: usize) -> Result<Vec<N>> {
        if let [range] = self.ranges.as_slice() {
            return range.rows(sql, after, limit);
        }
        let ids: Vec<String> = self.keys::<N>(sql, after, limit)?.into_iter().map(|key| key.id).collect();
        let mut rows: Vec<N> = noun::find_many(sql, &ids)?;
        let places: HashMap<&str, usize> =
            ids.iter().enumerate().map(|(place, id)| (id.as_str(), place)).collect();
        rows.sort_by_key(|row| places.get(row.id_text()).copied());
        Ok(rows)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::test_runner::{Config, TestRunner};
    use quad_core::Timestamp;
    use serde_json::json;

    use crate::civil;
    use crate::testing::worlds;
    use crate::transaction::Filter;

    /// One counterparty over some accounts: account, day and whether it is of that counterparty.
    fn rows() -> impl Strategy<Value = Vec<(u8, u8, bool)>> {
        prop::collection::vec((0_u8..5, 1_u8..12, prop::bool::weighted(0.8)), 0..60)
    }

    #[test]
    fn pages_of_a_counterparty_are_those_of_all_its_accounts() {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let mut runner = TestRunner::new(Config { cases: 10, max_shrink_iters: 100, ..Config::default() });
        let outcome = runner.run(&(rows(), 1_usize..9, 1_u8..12), |(rows, limit, since)| {
            runtime.block_on(async {
                for world in worlds().await {
                    let mut lines: Vec<String> = (0..5)
                        .map(|it| json!({"kind": "account", "id": format!("acct_{it}"), "name": "A", "currency": "USD"}).to_string())
                        .collect();
                    lines.extend((0..2).map(|it| json!({"kind": "counterparty", "id": format!("cp_{it}"), "name": format!("C{it}")}).to_string()));
                    for (number, (account, day, is_its)) in rows.iter().enumerate() {
                        lines.push(json!({"kind": "transaction", "id": format!("tx_{number}"), "account_id": format!("acct_{account}"),
                            "amount": "1.00", "currency": "USD", "direction": "outflow", "transaction_date": format!("2025-01-{day:02}"),
                            "counterparty_id": if *is_its { "cp_0" } else { "cp_1" }}).to_string());
                    }
                    world.load(&lines.join("\n")).await.unwrap();
                    for (account, since) in [(None, None), (None, Some(since)), (Some(2_u8), None)] {
                        let mut expected: Vec<(u8, String)> = rows
                            .iter()
                            .enumerate()
                            .filter(|(_, (of, day, is_its))| {
                                *is_its && account.is_none_or(|it| it == *of) && since.is_none_or(|it| it <= *day)
                            })
                            .map(|(number, (_, day, _))| (*day, format!("tx_{number}")))
                            .collect();
                        expected.sort_by(|one, other| other.cmp(one));
                        let filter = Filter {
                            counterparty_id: Some("cp_0".to_owned()),
                            account_id: account.map(|it| format!("acct_{it}")),
                            since: since.map(|day| civil::midnight(2025, 1, i64::from(day))),
                            until: Some(Timestamp(i64::MAX)),
                            ..Filter::default()
                        };
                        let read = world.test.store.read(&world.test.tenant, move |sql| {
                            let (mut seen, mut after) = (Vec::new(), None);
                            loop {
                                let (page, next) = filter.page(sql, after, limit)?;
                                assert!(page.len() <= limit);
                                seen.extend(page.iter().map(|row| row.id.as_str().to_owned()));
                                match next {
                                    Some(next) => after = Some(next),
                                    None => return Ok(seen),
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
