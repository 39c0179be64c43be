//! Errands: what rides in the commit of a read's audit event.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quad_core::facts::AuditFields;
use quad_core::{SideEffect, Error, Result, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::sql::Tx;

type Run = dyn Fn(&mut Tx<'_>) -> Result<()> + Send + Sync;

struct Chore(Box<Run>);

/// An errand that this store runs. It must be short, since every read of the group waits for it; it may run more than once,
/// and nothing of a failed run remains. What it touches is announced to nobody. `order` is the id of the row that it changes,
/// or whatever else brings all errands into one order.
pub fn errand(order: i64, run: impl Fn(&mut Tx<'_>) -> Result<()> + Send + Sync + 'static) -> SideEffect {
    SideEffect::new(order, Chore(Box::new(run)))
}

/// Runs an errand in a savepoint. A failure goes to the log: the event that it rides with is worth more.
pub(crate) fn run(
    connection: &mut Connection,
    tenant: &TenantId,
    version: Version,
    now: Timestamp,
    errand: &SideEffect,
) -> Result<()> {
    let Some(chore) = errand.get::<Chore>() else {
        return Err(Error::internal("an errand that is not the store's"));
    };
    connection.control("SAVEPOINT errand")?;
    let mut tx = Tx {
        connection: &mut *connection,
        tenant,
        version,
        now,
        tags: Vec::new(),
        outputs: AuditFields::default(),
        told: Vec::new(),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| chore.0(&mut tx)))
        .unwrap_or_else(|_| Err(Error::internal("an errand panicked inside its transaction")));
    if let Err(error) = outcome {
        tracing::warn!(cause = error.cause_chain(), "an errand failed");
        connection.take_was_busy();
        connection.control("ROLLBACK TO errand")?;
    }
    connection.control("RELEASE errand")?;
    Ok(())
}
