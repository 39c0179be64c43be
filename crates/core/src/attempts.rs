//! The attempts at one answer: each is computed, and counts if nothing has touched it when its event is written.

use crate::journal::{Bases, Hold};
use crate::{Errand, Error, EventDraft, Journal, Kind, NotRecorded, Principal, Receipt, Result, limits};

/// The attempts at the answer to one call.
pub(crate) struct Attempts<'c> {
    journal: &'c dyn Journal,
    caller: &'c Principal,
    made: usize,
    /// The data held still: for the second attempt, since the first was overtaken. Where that comes to nothing, it would again.
    hold: Option<Box<dyn Hold>>,
    errand: Option<Errand>,
}

impl<'c> Attempts<'c> {
    pub(crate) fn new(journal: &'c dyn Journal, caller: &'c Principal) -> Attempts<'c> {
        Attempts { journal, caller, made: 0, hold: None, errand: None }
    }

    /// Whether this is the first: then an answer that is known already may do.
    pub(crate) fn is_first(&self) -> bool {
        self.made == 1
    }

    /// Begins an attempt. What the answer shows must be read after it.
    pub(crate) async fn begin(&mut self) -> Result<()> {
        if self.made == limits::READ_ATTEMPTS {
            return Err(
                Error::new(Kind::Limit, "BUSY", "It changed faster than it could be read").hint("Try again")
            );
        }
        self.made += 1;
        if self.made == 2 {
            self.hold = self.journal.hold(&self.caller.tenant, self.errand.take()).await?;
        }
        Ok(())
    }

    /// Makes the event durable. `None` means that the answer has become stale: it takes another attempt.
    pub(crate) async fn commit(
        &mut self,
        event: EventDraft,
        mut bases: Bases,
        errand: Option<Errand>,
    ) -> Result<Option<Receipt>> {
        let answers = bases.len();
        bases.extend(self.caller.proof.clone());
        let recording = match self.hold.take() {
            Some(hold) => hold.record(event, bases),
            None => {
                self.errand = errand.clone();
                self.journal.record_with(&self.caller.tenant, event, bases, errand)
            }
        };
        match recording.await {
            Ok(receipt) => Ok(Some(receipt)),
            Err(NotRecorded::Stale(index)) if index < answers => Ok(None),
            Err(NotRecorded::Stale(_)) => Err(Error::new(
                Kind::Credential,
                "CREDENTIAL_CHANGED",
                "The credential was withdrawn or changed",
            )),
            Err(NotRecorded::Failed(error)) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::{Basis, BoxFuture, Recording, TenantId, Version};

    /// A journal in which everything is overtaken but what is held, if it can hold.
    #[derive(Clone, Default)]
    struct Busy {
        done: Arc<Mutex<Vec<&'static str>>>,
        holds: bool,
    }

    impl Busy {
        fn note(&self, what: &'static str) {
            self.done.lock().unwrap().push(what);
        }
    }

    impl Journal for Busy {
        fn record<'a>(
            &'a self,
            _: &'a TenantId,
            _: EventDraft,
            _: Vec<Arc<Basis>>,
        ) -> BoxFuture<'a, Result<Receipt, NotRecorded>> {
            self.note("record");
            Box::pin(std::future::ready(Err(NotRecorded::Stale(0))))
        }

        fn hold<'a>(
            &'a self,
            _: &'a TenantId,
            errand: Option<Errand>,
        ) -> BoxFuture<'a, Result<Option<Box<dyn Hold>>>> {
            self.note(if errand.is_some() { "hold with an errand" } else { "hold" });
            let hold = self.holds.then(|| Box::new(self.clone()) as Box<dyn Hold>);
            Box::pin(std::future::ready(Ok(hold)))
        }
    }

    impl Hold for Busy {
        fn record(self: Box<Self>, _: EventDraft, _: Bases) -> Recording<'static> {
            self.note("record what is held");
            let receipt = Receipt { version: Version(1), sequence: Some(1), event_id: "e".into() };
            Recording::Working(Box::pin(std::future::ready(Ok(receipt))))
        }
    }

    async fn try_all(journal: &Busy) -> Result<Receipt> {
        let caller = Principal::local_agent(TenantId::system(), []);
        let mut attempts = Attempts::new(journal, &caller);
        loop {
            attempts.begin().await?;
            let event = EventDraft::call(&caller, "resources/read");
            let bases = Bases::from_iter([Arc::new(Basis::default())]);
            if let Some(receipt) = attempts.commit(event, bases, Some(Errand::new(1, ()))).await? {
                return Ok(receipt);
            }
        }
    }

    #[tokio::test]
    async fn what_was_overtaken_is_held() {
        let journal = Busy { holds: true, ..Busy::default() };
        try_all(&journal).await.unwrap();
        assert_eq!(*journal.done.lock().unwrap(), ["record", "hold with an errand", "record what is held"]);
    }

    #[tokio::test]
    async fn without_a_hold_it_is_tried_until_that_is_enough() {
        let journal = Busy::default();
        assert_eq!(try_all(&journal).await.unwrap_err().code(), "BUSY");
        let done = journal.done.lock().unwrap();
        assert_eq!(done.iter().filter(|what| **what == "record").count(), limits::READ_ATTEMPTS);
        assert_eq!(done.iter().filter(|what| **what == "hold with an errand").count(), 1);
    }
}
