//! How a call gets its audit event: after an answer was computed, or after the call failed.

use super::{Resolver, ToolOwner, View};
use crate::audit_fields::AuditValue;
use crate::audit_log::ReadSets;
use crate::cache::CacheKeyRef;
use crate::optimistic_retry::OptimisticRetry;
use crate::scheme::RequestTarget;
use crate::{Error, EventDraft, Kind, Principal, Receipt, Result, SideEffect};

/// What one attempt at an answer computed.
pub(super) enum Computed<'k, T> {
    /// An answer that was read. It is valid if its read sets are current when its event is appended.
    Read(ReadAttempt<'k, T>),
    /// The answer of a tool that wrote. Its transaction has appended the event.
    Committed(T, Receipt),
}

/// An answer with everything that the audit commit needs.
pub(super) struct ReadAttempt<'k, T> {
    pub(super) answer: T,
    pub(super) read_sets: ReadSets,
    pub(super) side_effect: Option<SideEffect>,
    /// The cache entry of the answer. It is dropped when the answer proves stale.
    pub(super) cache_key: Option<CacheKeyRef<'k>>,
}

impl<T> Computed<'_, T> {
    /// An answer without a side effect and without a cache entry.
    pub(super) fn read(answer: T, read_sets: ReadSets) -> Self {
        Computed::Read(ReadAttempt { answer, read_sets, side_effect: None, cache_key: None })
    }
}

impl Resolver {
    /// Computes an answer and appends its event. If a concurrent write invalidated the answer before the
    /// append, computes it again, up to [`READ_ATTEMPTS_MAX`](crate::limits::READ_ATTEMPTS_MAX) times.
    /// `compute` is told whether this is the first attempt: only that one may use the cache.
    ///
    /// `make_event` is a closure of its own because an event is large: it is made where it is used, not moved
    /// through the future of `compute`. `compute` is not an `AsyncFn`: the compiler could not prove that its futures are `Send`.
    pub(super) async fn commit_read<'k, T, F>(
        &self,
        caller: &Principal,
        compute: impl Fn(bool) -> F,
        make_event: impl Fn(&T) -> EventDraft,
    ) -> Result<(T, Receipt)>
    where
        F: Future<Output = Result<Computed<'k, T>>> + Send,
    {
        let mut retry = OptimisticRetry::new(self.audit_log.as_ref(), caller);
        loop {
            retry.next_attempt().await?;
            let attempt = match compute(retry.is_first()).await? {
                Computed::Read(attempt) => attempt,
                Computed::Committed(answer, receipt) => return Ok((answer, receipt)),
            };
            let event = make_event(&attempt.answer);
            let committed = retry.commit(event, attempt.read_sets, attempt.side_effect).await?;
            if let Some(receipt) = committed {
                return Ok((attempt.answer, receipt));
            }
            if let Some(key) = attempt.cache_key {
                self.cache.remove(key);
            }
        }
    }

    /// Appends the event of a call that succeeded and read no tenant data: a list of tools, an opened
    /// subscription.
    pub async fn record_success(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        self.append_event(caller, event.succeeded()).await
    }

    /// Appends the event of a failed call and returns the error. An error whose event was appended before is
    /// returned unchanged, so a call leaves one event however often this is called. If the append fails, the
    /// caller gets that error instead: an unrecorded refusal would be a gap in the audit log.
    pub async fn record_refusal(&self, caller: &Principal, event: EventDraft, error: Error) -> Error {
        if error.kind() == Kind::Credential || !error.needs_audit_event() {
            return error;
        }
        log_failed_call(caller, &event, &error);
        match self.append_event(caller, event.failed(&error)).await {
            Ok(_) => error.mark_recorded(),
            Err(append_error) => {
                if append_error.code() != error.code() {
                    let (code, cause) = (append_error.code(), append_error.cause_chain());
                    tracing::error!(code, cause, "the audit event of a refused call was not written");
                }
                append_error.mark_audit_failed()
            }
        }
    }

    /// Translates an error into the codes of the scheme that was asked, then appends its event.
    pub(super) async fn map_and_record(
        &self,
        caller: &Principal,
        view: View,
        target: RequestTarget<'_>,
        event: EventDraft,
        error: Error,
    ) -> Error {
        let error = self.map_scheme_error(caller, view, target, error);
        self.record_refusal(caller, event, error).await
    }

    /// Appends an event whose only read set is that of the caller's credential.
    async fn append_event(&self, caller: &Principal, event: EventDraft) -> Result<Receipt> {
        let mut retry = OptimisticRetry::new(self.audit_log.as_ref(), caller);
        let receipt = retry.commit(event, ReadSets::new(), None).await?;
        receipt.ok_or_else(|| Error::internal("audit append without read sets returned Stale"))
    }

    /// Lets the scheme that was asked translate an error: the owner of the address, tool or prompt, else the
    /// only scheme of the view.
    fn map_scheme_error(
        &self,
        caller: &Principal,
        view: View,
        target: RequestTarget<'_>,
        error: Error,
    ) -> Error {
        if error.kind() == Kind::Credential || !error.needs_audit_event() {
            return error;
        }
        let target_scheme = match target {
            RequestTarget::Address(uri) => uri
                .split_once("://")
                .and_then(|(name, _)| self.schemes.iter().position(|mounted| mounted.scheme.name() == name)),
            RequestTarget::Tool(name) => match self.tools.get(name) {
                Some(ToolOwner::Scheme { scheme_index, .. }) => Some(*scheme_index),
                _ => None,
            },
            RequestTarget::Prompt(name) => self
                .schemes
                .iter()
                .position(|mounted| mounted.scheme.prompts().iter().any(|prompt| prompt.name == name)),
            RequestTarget::Other => None,
        };
        let view_scheme = match view {
            View::Only(scheme_index) => Some(scheme_index),
            View::All => None,
        };
        match target_scheme.or(view_scheme) {
            Some(scheme_index) => self.schemes[scheme_index].scheme.map_error(caller, target, error),
            None => error,
        }
    }
}

/// One line in the log: what was called by whom, and why it failed. It holds no arguments.
fn log_failed_call(caller: &Principal, event: &EventDraft, error: &Error) {
    let text = |name: &str| match event.inputs.get(name) {
        Some(AuditValue::Static(text)) => *text,
        Some(AuditValue::Str(text)) => &**text,
        _ => "",
    };
    let (tenant, actor, code) = (caller.tenant.as_str(), &*caller.subject, error.code());
    let (method, tool) = (text("method"), text("tool"));
    if error.is_server_fault() {
        tracing::error!(method, tool, code, tenant, actor, cause = error.cause_chain(), "call failed");
    } else {
        tracing::info!(method, tool, code, tenant, actor, cause = error.cause_chain(), "call refused");
    }
}
