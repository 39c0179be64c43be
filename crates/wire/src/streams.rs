//! How many streams are open, and whether one more may be.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use quad_core::{Error, Kind, Principal, Result};

use crate::limits;

type Owner = (Arc<str>, Arc<str>);

/// Counts open streams, in all and for each principal.
#[derive(Clone, Debug, Default)]
pub(crate) struct Streams(Arc<Mutex<Counts>>);

#[derive(Debug, Default)]
struct Counts {
    all: usize,
    of: HashMap<Owner, usize>,
}

/// The right to one open stream; given back when dropped.
#[derive(Debug)]
pub(crate) struct Ticket {
    streams: Streams,
    owner: Owner,
}

impl Streams {
    /// One more stream for `caller`, if the limits allow it.
    pub(crate) fn open(&self, caller: &Principal) -> Result<Ticket> {
        let owner: Owner = (caller.tenant.as_str().into(), caller.subject.clone());
        let mut counts = self.counts();
        if counts.all >= limits::STREAMS {
            return Err(too_many("The server has too many open streams", limits::STREAMS));
        }
        let own = counts.of.entry(owner.clone()).or_insert(0);
        if *own >= limits::STREAMS_PER_PRINCIPAL {
            return Err(too_many("You have too many open streams", limits::STREAMS_PER_PRINCIPAL));
        }
        *own += 1;
        counts.all += 1;
        Ok(Ticket { streams: self.clone(), owner })
    }

    /// How many are open.
    pub(crate) fn count(&self) -> usize {
        self.counts().all
    }

    fn counts(&self) -> MutexGuard<'_, Counts> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let mut counts = self.streams.counts();
        counts.all -= 1;
        if let Some(own) = counts.of.get_mut(&self.owner) {
            *own -= 1;
            if *own == 0 {
                counts.of.remove(&self.owner);
            }
        }
    }
}

fn too_many(message: &str, limit: usize) -> Error {
    Error::new(Kind::Limit, "TOO_MANY_STREAMS", message)
        .hint("Close one, or name more addresses in one subscription")
        .fact("limit", limit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use quad_core::TenantId;

    #[test]
    fn a_principal_has_its_share_and_gives_it_back() {
        let streams = Streams::default();
        let caller = Principal::local_agent(TenantId::new("t"), []);
        let mut tickets: Vec<Ticket> =
            (0..limits::STREAMS_PER_PRINCIPAL).map(|_| streams.open(&caller).unwrap()).collect();
        assert_eq!(streams.open(&caller).unwrap_err().code(), "TOO_MANY_STREAMS");
        let other = Principal::local_agent(TenantId::new("u"), []);
        assert!(streams.open(&other).is_ok());
        tickets.pop();
        assert!(streams.open(&caller).is_ok());
        drop(tickets);
        assert_eq!(streams.count(), 0);
    }
}
