//! Blocks: the consecutive events of one commit, one record per line.

use std::borrow::Cow;

use quad_core::{Error, Result, Timestamp};

use crate::audit::{archive, compression};
use crate::{Row, Sql, params};

/// The events of one commit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The sequence of its first event.
    pub first_sequence: i64,
    /// The number of events, as stored. A damaged block may have more or fewer.
    pub event_count: i64,
    /// When its transaction began.
    pub created_at: Timestamp,
    body: String,
}

/// The end of a chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainEnd {
    /// The sequence of the last event; 0 if there is none.
    pub sequence: i64,
    /// Its hash.
    pub hash: Option<String>,
}

impl Block {
    /// The sequence of its last event.
    pub fn last_sequence(&self) -> i64 {
        self.first_sequence + self.event_count - 1
    }

    /// Its records with their sequences, oldest first. A damaged block may have more or fewer than `event_count`.
    pub fn records(&self) -> impl DoubleEndedIterator<Item = (i64, &str)> {
        // Collected, because `enumerate` can be reversed only with a known length.
        let lines: Vec<&str> = self.body.split('\n').collect();
        let first = self.first_sequence;
        lines.into_iter().enumerate().map(move |(index, record)| (first + index as i64, record))
    }
}

const COLUMNS: &str = "first_sequence, events, created_at, body, packed";

fn block_from_row(row: &Row) -> Result<Block> {
    Ok(Block {
        first_sequence: row.int(0)?,
        event_count: row.int(1)?,
        created_at: Timestamp(row.int(2)?),
        body: compression::decompress(row.text(3)?, row.opt_blob(4)?),
    })
}

/// Whether the tenant exists, and so has a chain.
pub fn has_chain(sql: &mut dyn Sql) -> Result<bool> {
    let tenant = sql.tenant().as_str().to_owned();
    Ok(sql.query_opt("SELECT sequence FROM head WHERE tenant_id = $1", params![tenant])?.is_some())
}

/// The end of the tenant's chain.
pub fn chain_end(sql: &mut dyn Sql) -> Result<ChainEnd> {
    let tenant = sql.tenant().as_str().to_owned();
    let row = sql.query_opt("SELECT sequence, hash FROM head WHERE tenant_id = $1", params![tenant])?;
    let row = row.ok_or_else(crate::head::unknown_tenant)?;
    Ok(ChainEnd { sequence: row.int(0)?, hash: row.opt_text(1)?.map(str::to_owned) })
}

/// The blocks that begin after `sequence`, oldest first, at most `limit`. Archived blocks are not included.
pub fn blocks_after(sql: &mut dyn Sql, sequence: i64, limit: i64) -> Result<Vec<Block>> {
    let archived_through = archive::last_sequence(sql)?.max(sequence);
    let tenant = sql.tenant().as_str().to_owned();
    let select = format!(
        "SELECT {COLUMNS} FROM audit_block WHERE tenant_id = $1 AND first_sequence > $2 ORDER BY first_sequence LIMIT $3"
    );
    sql.query(&select, params![tenant, archived_through, limit])?.iter().map(block_from_row).collect()
}

/// The blocks that begin at or before `sequence`, newest first, at most `limit`. Archived blocks are not included.
pub fn blocks_up_to(sql: &mut dyn Sql, sequence: i64, limit: i64) -> Result<Vec<Block>> {
    let archived_through = archive::last_sequence(sql)?;
    let tenant = sql.tenant().as_str().to_owned();
    let select = format!(
        "SELECT {COLUMNS} FROM audit_block WHERE tenant_id = $1 AND first_sequence <= $2 AND first_sequence > $3 \
         ORDER BY first_sequence DESC LIMIT $4"
    );
    sql.query(&select, params![tenant, sequence, archived_through, limit])?
        .iter()
        .map(block_from_row)
        .collect()
}

/// The records with sequence `first` to `last`, oldest first. The caller bounds the range.
pub fn records_between(sql: &mut dyn Sql, first: i64, last: i64) -> Result<Vec<(i64, String)>> {
    let tenant = sql.tenant().as_str().to_owned();
    let archived_through = archive::last_sequence(sql)?;
    // From the block that contains `first`. A block has no fixed limit: one transaction may emit many events.
    let select = format!(
        "SELECT {COLUMNS} FROM audit_block WHERE tenant_id = $1 AND first_sequence > $2 AND first_sequence <= $4 \
         AND first_sequence >= COALESCE((SELECT MAX(first_sequence) FROM audit_block \
           WHERE tenant_id = $1 AND first_sequence <= $3), $3) \
         ORDER BY first_sequence"
    );
    let mut records = Vec::new();
    for row in &sql.query(&select, params![tenant, archived_through, first, last])? {
        let block = block_from_row(row)?;
        let inside = block.records().filter(|(sequence, _)| (first..=last).contains(sequence));
        records.extend(inside.map(|(sequence, record)| (sequence, record.to_owned())));
    }
    Ok(records)
}

/// The record with this sequence.
pub fn record_at(sql: &mut dyn Sql, sequence: i64) -> Result<Option<String>> {
    Ok(records_between(sql, sequence, sequence)?.pop().map(|(_, record)| record))
}

/// The `prev_event_hash` of a record. `None` for the first record and for one that cannot be parsed.
pub fn previous_hash(record: &str) -> Option<Cow<'_, str>> {
    if let Some(hash) = previous_hash_fast(record) {
        return Some(Cow::Borrowed(hash));
    }
    #[derive(serde::Deserialize)]
    struct PreviousHash {
        prev_event_hash: Option<String>,
    }
    serde_json::from_str::<PreviousHash>(record).ok()?.prev_event_hash.map(Cow::Owned)
}

/// The same without parsing, for a record in canonical form: the hash is followed only by `severity` and `tenant_id`.
/// No other value can look like this, because quotes inside of strings are escaped.
fn previous_hash_fast(record: &str) -> Option<&str> {
    // From the end, one value at a time. The last quote before the end starts the last string. If it is an escaped
    // quote instead, no key precedes it, and the function returns `None`.
    let (rest, tenant) = record.strip_suffix("\"}")?.rsplit_once('"')?;
    let (rest, severity) = rest.strip_suffix("\",\"tenant_id\":")?.rsplit_once('"')?;
    let rest = rest.strip_suffix("\",\"severity\":")?;
    let (before, hash) = rest.split_at_checked(rest.len().checked_sub(64)?)?;
    let is_plain = |text: &str| !text.contains(['"', '\\']);
    let is_usual_form = is_plain(tenant) && is_plain(severity) && is_plain(hash);
    (is_usual_form && before.ends_with("\"prev_event_hash\":\"")).then_some(hash)
}

/// The `id` of a record.
pub fn record_id(record: &str) -> Result<String> {
    #[derive(serde::Deserialize)]
    struct RecordId {
        id: String,
    }
    serde_json::from_str::<RecordId>(record).map(|parsed| parsed.id).map_err(Error::internal)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn previous_hash_is_found_by_fast_or_full_parse() {
        let hash = "a".repeat(64);
        let check = |record: String, in_place: Option<&str>, by_reading: Option<&str>| {
            assert_eq!(previous_hash_fast(&record), in_place, "{record}");
            assert_eq!(previous_hash(&record).as_deref(), by_reading, "{record}");
        };
        let found = Some(hash.as_str());
        let tail = r#""severity":"info","tenant_id":"t"}"#;
        check(format!(r#"{{"id":"x","prev_event_hash":"{hash}",{tail}"#), found, found);
        check(format!(r#"{{"id":"x","prev_event_hash":null,{tail}"#), None, None);
        check(
            format!(r#"{{"prev_event_hash":"{hash}","severity":"info","tenant_id":"t","z":1}}"#),
            None,
            found,
        );
        // A string that looks like the end of a record.
        let spoofed = format!(r#"{{"id":"\"prev_event_hash\":\"{hash}","severity":"info","tenant_id":"t"}}"#);
        check(spoofed, None, None);
        check("{".to_owned(), None, None);
        check("é\"}".to_owned(), None, None);
    }
}
