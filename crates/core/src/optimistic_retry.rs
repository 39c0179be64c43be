//! Optimistic concurrency for one answer. An attempt computes the answer and then appends its event; the
//! append fails if a concurrent write has invalidated the answer. The second attempt takes a head lease, so
//! that no write can interfere.

use crate::audit_log::{HeadLease, ReadSets};
use crate::{AppendError, AuditLog, Error, EventDraft, Kind, Principal, Receipt, Result, SideEffect, limits};

/// The retry state of one call.
pub(crate) struct OptimisticRetry<'c> {
    audit_log: &'c dyn AuditLog,
    caller: &'c Principal,
    attempt: usize,
    /// Taken for the second attempt only: if that lease expires before the commit, another one would expire
    /// as well.
    lease: Option<Box<dyn HeadLease>>,
    /// The side effect of the first attempt, for the lease.
    side_effect: Option<SideEffect>,
}

impl<'c> OptimisticRetry<'c> {
    pub(crate) fn new(audit_log: &'c dyn AuditLog, caller: &'c Principal) -> OptimisticRetry<'c> {
        OptimisticRetry { audit_log, caller, attempt: 0, lease: None, side_effect: None }
    }

    /// Whether this is the first attempt: only that one may use a cached answer.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == 1
    }

    /// Begins an attempt. The answer's data must be read after this returns.
    pub(crate) async fn next_attempt(&mut self) -> Result<()> {
        if self.attempt == limits::READ_ATTEMPTS_MAX {
            return Err(Error::busy("Too many concurrent writes"));
        }
        self.attempt += 1;
        if self.attempt == 2 {
            self.lease = self.audit_log.lease_head(&self.caller.tenant, self.side_effect.take()).await?;
        }
        Ok(())
    }

    /// Appends the event. `None` if a concurrent write has invalidated the answer: make another attempt.
    pub(crate) async fn commit(
        &mut self,
        event: EventDraft,
        mut read_sets: ReadSets,
        side_effect: Option<SideEffect>,
    ) -> Result<Option<Receipt>> {
        let answer_read_sets = read_sets.len();
        read_sets.extend(self.caller.credential_read_set.clone());
        let pending = match self.lease.take() {
            Some(lease) => lease.append(event, read_sets),
            None => {
                self.side_effect = side_effect.clone();
                self.audit_log.append(&self.caller.tenant, event, read_sets, side_effect)
            }
        };
        match pending.await {
            Ok(receipt) => Ok(Some(receipt)),
            Err(AppendError::Stale(index)) if index < answer_read_sets => Ok(None),
            Err(AppendError::Stale(_)) => Err(Error::new(
                Kind::Credential,
                "CREDENTIAL_CHANGED",
                "The credential was revoked or changed",
            )),
            Err(AppendError::Failed(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::{PendingAppend, ReadSet, TenantId, Version};

    /// An audit log in which every append without a lease conflicts.
    #[derive(Clone, Default)]
    struct ContendedAuditLog {
        calls: Arc<Mutex<Vec<&'static str>>>,
        grants_lease: bool,
    }

    impl ContendedAuditLog {
        fn record_call(&self, call: &'static str) {
            self.calls.lock().unwrap().push(call);
        }
    }

    #[async_trait::async_trait]
    impl AuditLog for ContendedAuditLog {
        fn append<'a>(
            &'a self,
            _: &'a TenantId,
            _: EventDraft,
            _: ReadSets,
            _: Option<SideEffect>,
        ) -> PendingAppend<'a> {
            self.record_call("append");
            PendingAppend::ready(Err(AppendError::Stale(0)))
        }

        async fn lease_head(
            &self,
            _: &TenantId,
            side_effect: Option<SideEffect>,
        ) -> Result<Option<Box<dyn HeadLease>>> {
            self.record_call(if side_effect.is_some() { "lease with side effect" } else { "lease" });
            let lease = self.grants_lease.then(|| Box::new(self.clone()) as Box<dyn HeadLease>);
            Ok(lease)
        }
    }

    impl HeadLease for ContendedAuditLog {
        fn append(self: Box<Self>, _: EventDraft, _: ReadSets) -> PendingAppend<'static> {
            self.record_call("append under lease");
            let receipt = Receipt { version: Version(1), sequence: Some(1), event_id: "e".into() };
            PendingAppend::ready(Ok(receipt))
        }
    }

    async fn commit_with_retries(audit_log: &ContendedAuditLog) -> Result<Receipt> {
        let caller = Principal::local_agent(TenantId::system(), []);
        let mut retry = OptimisticRetry::new(audit_log, &caller);
        loop {
            retry.next_attempt().await?;
            let event = EventDraft::call(&caller, "resources/read");
            let read_sets = ReadSets::from_iter([Arc::new(ReadSet::default())]);
            if let Some(receipt) = retry.commit(event, read_sets, Some(SideEffect::new(1, ()))).await? {
                return Ok(receipt);
            }
        }
    }

    #[tokio::test]
    async fn second_attempt_takes_head_lease() {
        let audit_log = ContendedAuditLog { grants_lease: true, ..ContendedAuditLog::default() };
        commit_with_retries(&audit_log).await.unwrap();
        assert_eq!(
            *audit_log.calls.lock().unwrap(),
            ["append", "lease with side effect", "append under lease"]
        );
    }

    #[tokio::test]
    async fn returns_busy_after_max_attempts_without_lease() {
        let audit_log = ContendedAuditLog::default();
        assert_eq!(commit_with_retries(&audit_log).await.unwrap_err().code(), "BUSY");
        let calls = audit_log.calls.lock().unwrap();
        assert_eq!(calls.iter().filter(|call| **call == "append").count(), limits::READ_ATTEMPTS_MAX);
        assert_eq!(calls.iter().filter(|call| **call == "lease with side effect").count(), 1);
    }
}
