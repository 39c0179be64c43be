//! A small write that is committed together with the audit event of a read.

use std::panic::{AssertUnwindSafe, catch_unwind};

use quad_core::{Error, Result, SideEffect, TenantId, Timestamp, Version};

use crate::sql::Tx;
use crate::tx_error::TxError;
use crate::write_transaction::{Savepoint, WriteTransaction};

type TxFn = dyn Fn(&mut Tx<'_>) -> Result<()> + Send + Sync;

struct SideEffectFn(Box<TxFn>);

/// A side effect that this store can run. It must be short, since every read of the batch waits for it. It may run
/// more than once; a failed run leaves nothing behind. Tags that it invalidates are ignored.
///
/// `lock_order` is the id of the row that it changes, or any number that brings all side effects of a tenant into one
/// order: two processes then lock their rows in the same order.
pub fn side_effect(
    lock_order: i64,
    f: impl Fn(&mut Tx<'_>) -> Result<()> + Send + Sync + 'static,
) -> SideEffect {
    SideEffect::new(lock_order, SideEffectFn(Box::new(f)))
}

/// Runs a side effect in a savepoint. If it fails, that is logged and the audit event is written nevertheless.
pub(crate) fn run(
    transaction: &mut WriteTransaction<'_>,
    tenant: &TenantId,
    version: Version,
    now: Timestamp,
    side_effect: &SideEffect,
) -> Result<(), TxError> {
    let Some(callback) = side_effect.get::<SideEffectFn>() else {
        return Err(Error::internal("a side effect of another audit log was passed to the store").into());
    };
    transaction.savepoint(Savepoint::SideEffect)?;
    let mut tx = transaction.tx(tenant, version, now);
    let outcome = catch_unwind(AssertUnwindSafe(|| callback.0(&mut tx)))
        .unwrap_or_else(|_| Err(Error::internal("a side effect panicked")));
    if let Err(error) = outcome {
        tracing::warn!(cause = error.cause_chain(), "read side effect failed");
        transaction.rollback_to(Savepoint::SideEffect)?;
    }
    transaction.release(Savepoint::SideEffect)?;
    Ok(())
}
