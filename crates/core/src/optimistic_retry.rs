//! The attempts at one answer: each is computed, and counts if nothing has touched it when its event is written.

use crate::audit_log::{HeadLease, ReadSets};
use crate::{AppendError, AuditLog, Error, EventDraft, Kind, Principal, Receipt, Result, SideEffect, limits};

/// The attempts at the answer to one call.
pub(crate) struct OptimisticRetry<'c> {
    audit_log: &'c dyn AuditLog,
    caller: &'c Principal,
    attempt: usize,
    /// The data held still: for the second attempt, since the first was overtaken. Where that comes to nothing, it would again.
    lease: Option<Box<dyn HeadLease>>,
    side_effect: Option<SideEffect>,
}

impl<'c> OptimisticRetry<'c> {
    pub(crate) fn new(audit_log: &'c dyn AuditLog, caller: &'c Principal) -> OptimisticRetry<'c> {
        OptimisticRetry { audit_log, caller, attempt: 0, lease: None, side_effect: None }
    }

    /// Whether this is the first: then an answer that is known already may do.
    pub(crate) fn is_first(&self) -> bool {
        self.attempt == 1
    }

    /// Begins an attempt. What the answer shows must be read after it.
    pub(crate) async fn next_attempt(&mut self) -> Result<()> {
        if self.attempt == limits::READ_ATTEMPTS_MAX {
            return Err(
                Error::new(Kind::Limit, "BUSY", "It changed faster than it could be read").hint("Try again")
            );
        }
        self.attempt += 1;
        if self.attempt == 2 {
            self.lease = self.audit_log.lease_head(&self.caller.tenant, self.side_effect.take()).await?;
        }
        Ok(())
    }

    /// Makes the event durable. `None` means that the answer has become stale: it takes another attempt.
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
                self.audit_log.append_with_side_effect(&self.caller.tenant, event, read_sets, side_effect)
            }
        };
        match pending.await {
            Ok(receipt) => Ok(Some(receipt)),
            Err(AppendError::Stale(index)) if index < answer_read_sets => Ok(None),
            Err(AppendError::Stale(_)) => Err(Error::new(
                Kind::Credential,
                "CREDENTIAL_CHANGED",
                "The credential was withdrawn or changed",
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

    /// A journal in which everything is overtaken but what is held, if it can hold.
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
        async fn append(
            &self,
            _: &TenantId,
            _: EventDraft,
            _: Vec<Arc<ReadSet>>,
        ) -> Result<Receipt, AppendError> {
            self.record_call("record");
            Err(AppendError::Stale(0))
        }

        async fn lease_head(
            &self,
            _: &TenantId,
            side_effect: Option<SideEffect>,
        ) -> Result<Option<Box<dyn HeadLease>>> {
            self.record_call(if side_effect.is_some() { "hold with an errand" } else { "hold" });
            let lease = self.grants_lease.then(|| Box::new(self.clone()) as Box<dyn HeadLease>);
            Ok(lease)
        }
    }

    impl HeadLease for ContendedAuditLog {
        fn append(self: Box<Self>, _: EventDraft, _: ReadSets) -> PendingAppend<'static> {
            self.record_call("record what is held");
            let receipt = Receipt { version: Version(1), sequence: Some(1), event_id: "e".into() };
            PendingAppend::Future(Box::pin(std::future::ready(Ok(receipt))))
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
            ["record", "hold with an errand", "record what is held"]
        );
    }

    #[tokio::test]
    async fn returns_busy_after_max_attempts_without_lease() {
        let audit_log = ContendedAuditLog::default();
        assert_eq!(commit_with_retries(&audit_log).await.unwrap_err().code(), "BUSY");
        let calls = audit_log.calls.lock().unwrap();
        assert_eq!(calls.iter().filter(|call| **call == "record").count(), limits::READ_ATTEMPTS_MAX);
        assert_eq!(calls.iter().filter(|call| **call == "hold with an errand").count(), 1);
    }
}
