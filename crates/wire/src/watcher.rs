//! Turns committed changes into the notifications of one stream.
//!
//! A watcher pulls: nothing runs unless the stream's reader asks for the next notice, so a slow reader costs no writer
//! anything. What it missed meanwhile collapses by address, and if it fell too far behind, it is told to look at
//! everything again.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use quad_core::limits::{NOTIFICATION_INTERVAL_MS, NOTIFICATIONS_QUEUED, SUBSCRIPTION_URIS};
use quad_core::resolver::View;
use quad_core::{Basis, Change, EventDraft, Kind, Principal, Result, Tag, Timestamp, Version};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::Endpoint;

/// What a stream has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Notice {
    /// What this address gives has changed.
    Updated(String),
    /// What `resources/list` shows has changed, or so much that it is best to look at everything again.
    ListChanged,
}

/// An order to a watcher whose stream is elsewhere.
#[derive(Debug)]
pub(crate) enum Command {
    /// Watch this address, which rested on that when it was subscribed to.
    Watch(String, Arc<Basis>),
    /// Watch it no more.
    Unwatch(String),
    /// Say when the list changes, too.
    WatchList,
}

/// Watches addresses, and perhaps the list, for one caller.
pub(crate) struct Watcher {
    endpoint: Endpoint,
    caller: Principal,
    changes: broadcast::Receiver<Arc<Change>>,
    closing: watch::Receiver<bool>,
    commands: Option<mpsc::Receiver<Command>>,
    /// Counts the commands that were carried out, so that a slow look at the session can tell that it is outdated.
    commands_done: u64,
    watched: BTreeMap<String, Watched>,
    list: Option<Pace>,
    expires_at: Option<Instant>,
    /// The newest change that was taken, or at which the caller's credential was last seen to hold.
    seen: Option<Version>,
    /// Changes were missed. The caller's own withdrawal may be among them, so nothing is said before it has been proven.
    doubtful: bool,
    ended: bool,
}

struct Watched {
    basis: Arc<Basis>,
    pace: Pace,
    /// Whether what is pending is told even if the address shows what it showed before.
    is_certain: bool,
}

impl Watched {
    fn new(basis: Arc<Basis>) -> Watched {
        Watched { basis, pace: Pace::new(), is_certain: false }
    }
}

/// At once, then at most one in an interval, and the last one never lost.
#[derive(Clone, Copy)]
struct Pace {
    pending: bool,
    not_before: Instant,
}

impl Pace {
    fn new() -> Pace {
        Pace { pending: false, not_before: Instant::now() }
    }

    /// Something to say, but not yet.
    fn later() -> Pace {
        let mut pace = Pace::new();
        pace.sent();
        pace.pending = true;
        pace
    }

    fn is_due(&self, now: Instant) -> bool {
        self.pending && self.not_before <= now
    }

    fn sent(&mut self) {
        self.pending = false;
        self.not_before = Instant::now() + Duration::from_millis(NOTIFICATION_INTERVAL_MS);
    }
}

impl Watcher {
    /// Watches nothing yet. Changes count from here on, so open it before looking at what is to be watched.
    pub(crate) async fn open(endpoint: &Endpoint, caller: &Principal) -> Result<Watcher> {
        let expires_at = caller.expires_at.map(|end| {
            let left_ms = u64::try_from(end.0 - Timestamp::now().0).unwrap_or(0);
            Instant::now() + Duration::from_millis(left_ms)
        });
        Ok(Watcher {
            endpoint: endpoint.clone(),
            caller: caller.clone(),
            changes: endpoint.resolver().feed().listen(&caller.tenant).await?,
            closing: endpoint.hub.closing(),
            commands: None,
            commands_done: 0,
            watched: BTreeMap::new(),
            list: None,
            expires_at,
            seen: None,
            doubtful: false,
            ended: false,
        })
    }

    /// Takes orders from there. When the other side is dropped, the watcher ends.
    pub(crate) fn obey(&mut self, commands: mpsc::Receiver<Command>) {
        self.commands = Some(commands);
    }

    /// Watches an address that rests on `basis`.
    pub(crate) fn watch(&mut self, uri: String, basis: Arc<Basis>) {
        if self.watched.len() < SUBSCRIPTION_URIS || self.watched.contains_key(&uri) {
            self.watched.insert(uri, Watched::new(basis));
        }
    }

    /// Watches the list.
    pub(crate) fn watch_list(&mut self) {
        self.list.get_or_insert_with(Pace::new);
    }

    /// The addresses that are watched.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = &str> {
        self.watched.keys().map(String::as_str)
    }

    /// How many commands were carried out so far.
    pub(crate) fn commands_done(&mut self) -> u64 {
        self.carry_out_commands();
        self.commands_done
    }

    /// Makes the watched addresses those of `wanted`. A new one is announced: it was subscribed to somewhere else, and
    /// what changed since then is not known here. Only after a moment, though: a subscription that is just being made
    /// here is already written down while its command is still on its way, and that command takes the announcement back.
    pub(crate) async fn reconcile(&mut self, wanted: Vec<String>) {
        let wanted: HashSet<String> = wanted.into_iter().collect();
        self.watched.retain(|uri, _| wanted.contains(uri));
        for uri in wanted {
            if self.watched.contains_key(&uri) {
                continue;
            }
            if let Ok(basis) = self.basis_of(&uri).await {
                self.watch(uri.clone(), basis);
                if let Some(watched) = self.watched.get_mut(&uri) {
                    watched.pace = Pace::later();
                    watched.is_certain = true;
                }
            }
        }
    }

    /// The next notice; `None` when the stream is over: the credential has ended or changed, or the server closes.
    /// Can be dropped while it waits without losing anything.
    pub(crate) async fn next(&mut self) -> Option<Notice> {
        loop {
            self.catch_up();
            if self.doubtful && !self.prove().await {
                self.ended = true;
            }
            if self.ended || *self.closing.borrow() {
                return None;
            }
            self.collapse();
            let now = Instant::now();
            if let Some(list) = self.list.as_mut().filter(|list| list.is_due(now)) {
                list.sent();
                return Some(Notice::ListChanged);
            }
            // The one that has waited longest, so that none starves behind a slow reader.
            let due = self.watched.iter().filter(|(_, watched)| watched.pace.is_due(now));
            if let Some(uri) =
                due.min_by_key(|(_, watched)| watched.pace.not_before).map(|(uri, _)| uri.clone())
            {
                if self.renew(&uri).await {
                    return Some(Notice::Updated(uri));
                }
                continue;
            }
            self.wait().await;
        }
    }

    /// Waits until there is something to do.
    async fn wait(&mut self) {
        let paces = self.watched.values().map(|watched| watched.pace).chain(self.list);
        let wake = paces.filter(|pace| pace.pending).map(|pace| pace.not_before).min();
        let command = async {
            match &mut self.commands {
                Some(commands) => commands.recv().await,
                None => std::future::pending().await,
            }
        };
        let at = |time: Option<Instant>| async move {
            match time {
                Some(time) => sleep_until(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.closing.changed() => self.ended = true,
            () = at(self.expires_at) => self.ended = true,
            command = command => match command {
                Some(command) => self.carry_out(command),
                None => self.ended = true,
            },
            change = self.changes.recv() => {
                // A subscription that was confirmed before the change was made must count for it.
                self.carry_out_commands();
                match change {
                    Ok(change) => self.take(&change),
                    Err(RecvError::Lagged(_)) => self.suspect_everything(),
                    Err(RecvError::Closed) => self.ended = true,
                }
            }
            () = at(wake) => {}
        }
    }

    /// Takes what is here already, without waiting.
    fn catch_up(&mut self) {
        loop {
            self.carry_out_commands();
            match self.changes.try_recv() {
                Ok(change) => {
                    self.carry_out_commands();
                    self.take(&change);
                }
                Err(TryRecvError::Lagged(_)) => self.suspect_everything(),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Closed) => {
                    self.ended = true;
                    return;
                }
            }
        }
    }

    fn carry_out_commands(&mut self) {
        while let Some(Ok(command)) = self.commands.as_mut().map(mpsc::Receiver::try_recv) {
            self.carry_out(command);
        }
    }

    fn carry_out(&mut self, command: Command) {
        self.commands_done += 1;
        match command {
            Command::Watch(uri, basis) => self.watch(uri, basis),
            Command::Unwatch(uri) => {
                self.watched.remove(&uri);
            }
            Command::WatchList => self.watch_list(),
        }
    }

    /// Marks what a change is news for.
    fn take(&mut self, change: &Change) {
        if self.seen.is_some_and(|seen| change.version.0 > seen.0 + 1) {
            self.suspect_everything();
        }
        self.seen = self.seen.max(Some(change.version));
        let is_newer = |basis: &Basis| basis.version.is_none_or(|version| version < change.version);
        if self
            .caller
            .proof
            .as_ref()
            .is_some_and(|proof| is_newer(proof) && proof.is_touched_by(&change.tags))
        {
            // What the caller may see has changed with its credential; it must prove itself again.
            self.ended = true;
            return;
        }
        if let Some(list) = &mut self.list
            && change.tags.iter().any(|tag| is_listed(tag, &self.endpoint))
        {
            list.pending = true;
        }
        for watched in self.watched.values_mut() {
            if !is_newer(&watched.basis) {
                continue;
            }
            if watched.basis.is_announced_by(&change.tags) {
                watched.pace.pending = true;
                watched.is_certain = true;
            } else if watched.basis.is_perhaps_announced_by(&change.tags) {
                watched.pace.pending = true;
            }
        }
    }

    /// Some changes have not been heard of, and nobody knows which.
    fn suspect_everything(&mut self) {
        self.doubtful = true;
        for watched in self.watched.values_mut() {
            watched.pace.pending = true;
            watched.is_certain = true;
        }
        if let Some(list) = &mut self.list {
            list.pending = true;
        }
    }

    /// Whether the caller's credential still holds, by way of the commit that would refuse any other call of it.
    async fn prove(&mut self) -> bool {
        if self.caller.proof.is_none() {
            self.doubtful = false;
            return true;
        }
        let event = EventDraft::call(&self.caller, "stream/resume");
        match self.endpoint.resolver().note(&self.caller, event).await {
            Ok(receipt) => {
                // Only now: whoever waits for a notice may stop waiting, and the doubt must outlive that.
                self.doubtful = false;
                self.vouch(receipt.version);
                true
            }
            Err(error) => {
                tracing::debug!(code = error.code(), "a stream could not be resumed");
                false
            }
        }
    }

    /// The credential was seen to hold at that version; what comes after it is watched from here.
    pub(crate) fn vouch(&mut self, version: Version) {
        self.seen = self.seen.max(Some(version));
    }

    /// Too many notices at once become one, for a client that asked for that one.
    fn collapse(&mut self) {
        let Some(list) = &mut self.list else { return };
        let pending = self.watched.values().filter(|watched| watched.pace.pending).count();
        if pending > NOTIFICATIONS_QUEUED {
            for watched in self.watched.values_mut() {
                watched.pace.pending = false;
            }
            list.pending = true;
        }
    }

    /// Computes anew what an address rests on, before its reader is told: so the reader's next read and the next
    /// notice both start from here. False when the caller may no longer read it, or when what may have changed is hidden from it:
    /// then that it changed is hidden, too.
    async fn renew(&mut self, uri: &str) -> bool {
        let renewed = self.basis_of(uri).await;
        let Some(watched) = self.watched.get_mut(uri) else { return false };
        watched.pace.sent();
        match renewed {
            Ok(basis) => {
                let is_news = watched.is_certain || basis.shows != watched.basis.shows;
                watched.basis = basis;
                watched.is_certain = false;
                is_news
            }
            // What vanished may come back under the same tags, and as it was.
            Err(error) => {
                watched.is_certain = true;
                error.kind() != Kind::Scope
            }
        }
    }

    async fn basis_of(&self, uri: &str) -> Result<Arc<Basis>> {
        self.endpoint.resolver().basis_of(&self.caller, self.endpoint.view, uri).await
    }
}

/// Whether a tag alters the list that this endpoint shows.
fn is_listed(tag: &Tag, endpoint: &Endpoint) -> bool {
    match endpoint.view {
        View::All => tag.is_listing(),
        View::Only(place) => {
            tag.is_listing()
                && endpoint
                    .resolver()
                    .scheme_names()
                    .get(place)
                    .is_some_and(|name| *tag == Tag::listing(name))
        }
    }
}
