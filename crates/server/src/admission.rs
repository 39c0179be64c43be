//! Which connections are open, and which one makes room for a new one.
//!
//! A connection counts as *known* from its first accepted credential on. Any number of connections can be opened without
//! one, so these are limited for each address, and the one that has been idle longest is closed when a new connection
//! needs room. Known connections are never closed for others. If there are only those, a reserve still answers
//! `/healthz` and `/readyz`.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::task::{self, AbortHandle};

use crate::connection::IdleTracker;
use crate::limits;

/// What a connection may be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// Every request.
    Full,
    /// `/healthz` and `/readyz` only.
    Reserve,
    /// Nothing: it is closed.
    Refused,
}

/// An open connection, as the accept loop sees it.
#[derive(Debug)]
pub(crate) struct OpenConnection {
    pub(crate) address: IpAddr,
    pub(crate) idle_tracker: IdleTracker,
    pub(crate) is_known: Arc<AtomicBool>,
    pub(crate) abort: AbortHandle,
}

impl OpenConnection {
    /// How long the connection has been idle, if it may be closed.
    fn evictable_for(&self) -> Option<Duration> {
        if self.is_known.load(Ordering::Relaxed) { None } else { self.idle_tracker.idle_time() }
    }
}

/// The open connections, by the id of their task.
#[derive(Debug, Default)]
pub(crate) struct OpenConnections {
    connections: HashMap<task::Id, OpenConnection>,
}

impl OpenConnections {
    /// Number of open connections.
    pub(crate) fn len(&self) -> usize {
        self.connections.len()
    }

    pub(crate) fn insert(&mut self, id: task::Id, connection: OpenConnection) {
        self.connections.insert(id, connection);
    }

    pub(crate) fn remove(&mut self, id: task::Id) {
        self.connections.remove(&id);
    }

    /// Decides about a new connection. Closes another one if that makes room for it; returns whether it did.
    pub(crate) fn admit(&mut self, address: IpAddr) -> (Admission, bool) {
        let mut unknown_of_address = 0;
        let (mut oldest, mut oldest_of_address) = (None, None);
        for (id, connection) in &self.connections {
            let is_of_address = connection.address == address;
            unknown_of_address += usize::from(is_of_address && !connection.is_known.load(Ordering::Relaxed));
            let Some(idle) = connection.evictable_for() else { continue };
            let is_older = |other: Option<(Duration, task::Id)>| other.is_none_or(|(time, _)| idle > time);
            if is_older(oldest) {
                oldest = Some((idle, *id));
            }
            if is_of_address && is_older(oldest_of_address) {
                oldest_of_address = Some((idle, *id));
            }
        }
        let is_address_full = unknown_of_address >= limits::UNKNOWN_CONNECTIONS_OF_ADDRESS_MAX;
        let is_full = self.connections.len() >= limits::CONNECTIONS_MAX;
        if !is_address_full && !is_full {
            return (Admission::Full, false);
        }
        let evicted = if is_address_full { oldest_of_address } else { oldest };
        if let Some((_, id)) = evicted {
            if let Some(connection) = self.connections.remove(&id) {
                connection.abort.abort();
            }
            // What is left of the reserve is for probes only.
            let has_room = self.connections.len() < limits::CONNECTIONS_MAX;
            return (if has_room { Admission::Full } else { Admission::Reserve }, true);
        }
        let has_reserve = self.connections.len() < limits::CONNECTIONS_MAX + limits::CONNECTIONS_RESERVED;
        (if has_reserve { Admission::Reserve } else { Admission::Refused }, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));
    const OTHER_ADDRESS: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 2));

    /// Opens a connection, whose task ends when it is closed.
    fn open(connections: &mut OpenConnections, address: IpAddr, is_known: bool) -> task::JoinHandle<()> {
        let task = tokio::spawn(std::future::pending());
        let (idle_tracker, is_known) = (IdleTracker::new(), Arc::new(AtomicBool::new(is_known)));
        let abort = task.abort_handle();
        connections.insert(task.id(), OpenConnection { address, idle_tracker, is_known, abort });
        task
    }

    #[tokio::test]
    async fn unknown_connections_of_one_address_make_room_for_each_other() {
        let mut connections = OpenConnections::default();
        let first = open(&mut connections, ADDRESS, false);
        tokio::time::sleep(Duration::from_millis(5)).await;
        for _ in 1..limits::UNKNOWN_CONNECTIONS_OF_ADDRESS_MAX {
            open(&mut connections, ADDRESS, false);
        }
        assert_eq!(connections.admit(OTHER_ADDRESS), (Admission::Full, false));
        assert_eq!(connections.admit(ADDRESS), (Admission::Full, true));
        assert!(first.await.unwrap_err().is_cancelled(), "the oldest was not closed");
    }

    #[tokio::test]
    async fn known_and_busy_connections_are_never_closed_for_others() {
        let mut connections = OpenConnections::default();
        for number in 0..limits::CONNECTIONS_MAX {
            let address = IpAddr::V4(u32::try_from(number).unwrap().into());
            open(&mut connections, address, number % 2 == 0);
        }
        // Half of them are known; the others have a request in flight.
        let guards: Vec<_> =
            connections.connections.values().map(|open| open.idle_tracker.start_request()).collect();
        for _ in 0..limits::CONNECTIONS_RESERVED {
            assert_eq!(connections.admit(ADDRESS), (Admission::Reserve, false));
            open(&mut connections, ADDRESS, true);
        }
        assert_eq!(connections.admit(ADDRESS), (Admission::Refused, false));
        drop(guards);
        assert_eq!(connections.admit(ADDRESS), (Admission::Reserve, true));
    }
}
