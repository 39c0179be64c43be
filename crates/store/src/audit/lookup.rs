//! Finds one event by its id, without an index on ids.
//!
//! An id is `evt_` and a ULID, whose first ten characters are a time. So only the blocks around that time are
//! searched for the text of the id. The search is bounded: if the clock of the event's process was wrong by more than
//! [`AUDIT_CLOCK_SKEW_MS`](limits::AUDIT_CLOCK_SKEW_MS), the event may not be found by its id, but an [audit
//! query](crate::audit::query) still finds it.

use quad_core::{Result, Timestamp};

use crate::audit::{block, time_search};
use crate::{AuditEvent, Sql, hash_record, limits, params};

/// The event with this id.
pub fn event_by_id(sql: &mut dyn Sql, id: &str) -> Result<Option<AuditEvent>> {
    let Some(time) = id.strip_prefix("evt_").and_then(ulid_time) else { return Ok(None) };
    let first = time_search::last_sequence_before(sql, time.plus_ms(-limits::AUDIT_CLOCK_SKEW_MS))?;
    let last = time_search::last_sequence_before(sql, time.plus_ms(limits::AUDIT_CLOCK_SKEW_MS))?;
    let middle = time_search::last_sequence_before(sql, time)?;
    let (first, last) = if last - first <= limits::AUDIT_ID_SEARCH_EVENTS_MAX {
        (first, last)
    } else {
        // A busy chain has too many events in that range: search only those nearest to the time.
        (
            first.max(middle - limits::AUDIT_ID_SEARCH_EVENTS_MAX / 2),
            last.min(middle + limits::AUDIT_ID_SEARCH_EVENTS_MAX / 2),
        )
    };
    let tenant = sql.tenant().as_str().to_owned();
    let id_pattern = format!("\"id\":\"{id}\"");
    let earliest = (first - limits::BATCH_JOBS_MAX as i64).max(crate::audit::archive::last_sequence(sql)?);
    let rows = sql.query(
        "SELECT first_sequence FROM audit_block WHERE tenant_id = $1 AND first_sequence > $2 AND first_sequence <= $3 \
         AND (packed IS NOT NULL OR body LIKE $4)",
        params![tenant, earliest, last, format!("%{id_pattern}%")],
    )?;
    let mut candidates = rows.iter().map(|row| row.int(0)).collect::<Result<Vec<_>, _>>()?;
    // The database cannot search compressed blocks, so they are all candidates. Nearest to the expected position
    // first.
    candidates.sort_by_key(|first| (first - middle).abs());
    for first in candidates {
        for block in block::blocks_up_to(sql, first, 1)? {
            for (sequence, record) in block.records().filter(|(_, record)| record.contains(&id_pattern)) {
                // The text may also occur in the inputs of another event.
                if block::record_id(record).is_ok_and(|record_id| record_id == id) {
                    let hash = hash_record(record);
                    return Ok(Some(AuditEvent {
                        id: id.to_owned(),
                        sequence,
                        record: record.to_owned(),
                        hash,
                    }));
                }
            }
        }
    }
    Ok(None)
}

/// The time inside a ULID, if it is one.
fn ulid_time(ulid: &str) -> Option<Timestamp> {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    if ulid.len() != 26 || !ulid.bytes().all(|byte| ALPHABET.contains(&byte)) || ulid.as_bytes()[0] > b'7' {
        return None;
    }
    let digit = |byte: u8| ALPHABET.iter().position(|letter| *letter == byte).map(|index| index as i64);
    let time = ulid.bytes().take(10).try_fold(0, |time, byte| Some(time << 5 | digit(byte)?))?;
    Some(Timestamp(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ulid_time_decodes_the_timestamp() {
        assert_eq!(ulid_time("00000000000000000000000000"), Some(Timestamp(0)));
        // The example of the ULID specification.
        assert_eq!(ulid_time("01ARYZ6S41TSV4RRFFQ69G5FAV"), Some(Timestamp(1_469_918_176_385)));
        for bad in ["", "01ARYZ6S41", "01ARYZ6S41TSV4RRFFQ69G5FAU", "81ARYZ6S41TSV4RRFFQ69G5FAV", "é"] {
            assert_eq!(ulid_time(bad), None, "{bad}");
        }
        let now = Timestamp::now();
        let generated = ulid_time(&quad_core::id::ulid().unwrap()).unwrap();
        assert!((now.0..now.0 + 60_000).contains(&generated.0));
    }
}
