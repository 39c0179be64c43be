//! Finds a position in the chain by time, without an index on times.
//!
//! Sequences are in commit order. The times of blocks nearly are: a process takes the time when its transaction
//! begins and waits for the head row afterwards, and the clocks of nodes differ. So a binary search is exact up to
//! that difference, and callers extend their range by [`AUDIT_CLOCK_SKEW_MS`](crate::limits::AUDIT_CLOCK_SKEW_MS).

use quad_core::{Result, Timestamp};

use crate::audit::{archive, block};
use crate::{Sql, params};

/// The sequence of the last event in the blocks before `time`. Without such a block, the last archived sequence.
pub fn last_sequence_before(sql: &mut dyn Sql, time: Timestamp) -> Result<i64> {
    let tenant = sql.tenant().as_str().to_owned();
    let archived_through = archive::last_sequence(sql)?;
    let (mut low, mut high) = (archived_through + 1, block::chain_end(sql)?.sequence);
    let mut last_sequence = archived_through;
    while low <= high {
        let middle = low + (high - low) / 2;
        let row = sql.query_opt(
            "SELECT first_sequence, events, created_at FROM audit_block \
             WHERE tenant_id = $1 AND first_sequence <= $2 AND first_sequence > $3 ORDER BY first_sequence DESC LIMIT 1",
            params![tenant.as_str(), middle, archived_through],
        )?;
        let Some(row) = row else {
            // Only a damaged chain has no block here. Search above it.
            low = middle + 1;
            continue;
        };
        let (first, last) = (row.int(0)?, row.int(0)? + row.int(1)? - 1);
        if row.int(2)? < time.0 {
            last_sequence = last;
            low = last.max(middle) + 1;
        } else {
            high = first - 1;
        }
    }
    Ok(last_sequence)
}
