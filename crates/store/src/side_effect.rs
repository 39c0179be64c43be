//! Errands: what rides in the commit of a read's audit event.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quad_core::audit_fields::AuditFields;
use quad_core::{Error, Result, SideEffect, TenantId, Timestamp, Version};

use crate::connection::Connection;
use crate::sql::Tx;

type TxFn = dyn Fn(&mut Tx<'_>) -> Result<()> + Send + Sync;

struct SideEffectFn(Box<TxFn>);

/// An errand that this store runs. It must be short, since every read of the group waits for it; it may run more than once,
/// and nothing of a failed run remains. What it touches is announced to nobody. `order` is the id of the row that it changes,
/// or whatever else brings all errands into one order.
pub fn side_effect(
    lock_order: i64,
    f: impl Fn(&mut Tx<'_>) -> Result<()> + Send + Sync + 'static,
) -> SideEffect {
    SideEffect::new(lock_order, SideEffectFn(Box::new(f)))
}

/// Runs an errand in a savepoint. A failure goes to the log: the event that it rides with is worth more.
pub(crate) fn run(
    connection: &mut Connection,
    tenant: &TenantId,
    version: Version,
    now: Timestamp,
    side_effect: &SideEffect,
) -> Result<()> {
    let Some(callback) = side_effect.get::<SideEffectFn>() else {
        return Err(Error::internal("an errand that is not the store's"));
    };
    connection.transaction_control("SAVEPOINT side_effect")?;
    let mut tx = Tx {
        connection: &mut *connection,
        tenant,
        version,
        now,
        tags: Vec::new(),
        outputs: AuditFields::default(),
        events: Vec::new(),
    };
    let outcome = catch_unwind(AssertUnwindSafe(|| callback.0(&mut tx)))
        .unwrap_or_else(|_| Err(Error::internal("an errand panicked inside its transaction")));
    if let Err(error) = outcome {
        tracing::warn!(cause = error.cause_chain(), "an errand failed");
        connection.take_retryable();
        connection.transaction_control("ROLLBACK TO side_effect")?;
    }
    connection.transaction_control("RELEASE side_effect")?;
    Ok(())
}
