//! Rows that are passed to a callback one by one, without being collected.

use std::ops::ControlFlow;

use crate::Row;

/// Row callback. Return `Break` to stop.
pub type RowVisitor<'s> = &'s mut dyn FnMut(&Row) -> quad_core::Result<ControlFlow<()>>;

/// Passes rows that are already in memory to a callback.
pub(crate) fn visit_all(rows: &[Row], visit: RowVisitor<'_>) -> quad_core::Result<()> {
    for row in rows {
        if visit(row)?.is_break() {
            break;
        }
    }
    Ok(())
}
