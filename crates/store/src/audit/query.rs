//! Audit queries: scans the chain backwards with a filter, in pages of bounded work.

use std::borrow::Cow;

use quad_core::{Result, Timestamp};
use serde::Deserialize;

use crate::audit::{Block, block, time_search};
use crate::{AuditEvent, Sql, hash_record, limits};

/// A filter for events. Every field that is set must match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The actor.
    pub actor: Option<String>,
    /// The requested URI, exactly as requested.
    pub uri: Option<String>,
    /// The action.
    pub action: Option<String>,
    /// The outcome: `ok`, `refused` or `failed`.
    pub outcome: Option<String>,
    /// From this time on.
    pub since: Option<Timestamp>,
    /// Before this time.
    pub until: Option<Timestamp>,
}

/// One page of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// The events that match, newest first.
    pub events: Vec<AuditEvent>,
    /// Pass it as `before` to get the next page; `None` on the last page. A page can be empty without being the last.
    pub next: Option<i64>,
}

/// The fields of a record that a filter compares.
#[derive(Deserialize)]
struct FilterFields<'r> {
    #[serde(borrow)]
    id: Cow<'r, str>,
    #[serde(borrow)]
    actor: Cow<'r, str>,
    #[serde(borrow)]
    action: Cow<'r, str>,
    #[serde(borrow)]
    outcome: Option<Cow<'r, str>>,
    #[serde(borrow)]
    created_at: Cow<'r, str>,
    #[serde(borrow)]
    inputs: Inputs<'r>,
}

#[derive(Deserialize)]
struct Inputs<'r> {
    #[serde(borrow, default)]
    uri: Option<Cow<'r, str>>,
}

impl Filter {
    fn matches(&self, fields: &FilterFields<'_>) -> bool {
        let equals = |expected: &Option<String>, actual: Option<&str>| {
            expected.as_deref().is_none_or(|expected| Some(expected) == actual)
        };
        equals(&self.actor, Some(&fields.actor))
            && equals(&self.action, Some(&fields.action))
            && equals(&self.outcome, fields.outcome.as_deref())
            && equals(&self.uri, fields.inputs.uri.as_deref())
            && self.is_in_time_range(&fields.created_at)
    }

    fn is_in_time_range(&self, created_at: &str) -> bool {
        if self.since.is_none() && self.until.is_none() {
            return true;
        }
        Timestamp::parse(created_at).is_some_and(|time| {
            self.since.is_none_or(|since| time >= since) && self.until.is_none_or(|until| time < until)
        })
    }

    /// Whether neither this block nor an older one can match.
    fn ends_before(&self, block: &Block) -> bool {
        self.since.is_some_and(|since| block.created_at < since.plus_ms(-limits::AUDIT_CLOCK_SKEW_MS))
    }
}

/// The matching events with a sequence below `before` (by default all), newest first, at most `limit`. Scans at most
/// [`AUDIT_EVENTS_SCANNED_MAX`](limits::AUDIT_EVENTS_SCANNED_MAX) events.
pub fn page(sql: &mut dyn Sql, filter: &Filter, before: Option<i64>, limit: usize) -> Result<Page> {
    let mut from_sequence = match (before, filter.until) {
        (Some(before), _) => before - 1,
        // Skip newer events without scanning them.
        (None, Some(until)) => {
            let last = time_search::last_sequence_before(sql, until.plus_ms(limits::AUDIT_CLOCK_SKEW_MS))?;
            last.min(block::chain_end(sql)?.sequence)
        }
        (None, None) => block::chain_end(sql)?.sequence,
    };
    let mut events = Vec::new();
    let mut scanned = 0;
    loop {
        let blocks = block::blocks_up_to(sql, from_sequence, limits::AUDIT_BLOCKS_PER_QUERY)?;
        if blocks.is_empty() {
            return Ok(Page { events, next: None });
        }
        for block in blocks {
            if filter.ends_before(&block) {
                return Ok(Page { events, next: None });
            }
            for (sequence, record) in block.records().rev().filter(|(sequence, _)| *sequence <= from_sequence)
            {
                if events.len() >= limit || scanned >= limits::AUDIT_EVENTS_SCANNED_MAX {
                    return Ok(Page { events, next: Some(sequence + 1) });
                }
                scanned += 1;
                // A damaged record matches nothing. Verification reports it.
                let Ok(fields) = serde_json::from_str::<FilterFields<'_>>(record) else { continue };
                if filter.matches(&fields) {
                    let id = fields.id.into_owned();
                    events.push(AuditEvent {
                        id,
                        sequence,
                        record: record.to_owned(),
                        hash: hash_record(record),
                    });
                }
            }
            from_sequence = block.first_sequence - 1;
        }
    }
}
