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
use quad_core::{Change, EventDraft, Kind, Principal, ReadSet, Result, Tag, Timestamp, Version};
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::Endpoint;

/// What a stream has to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeNotification {
    /// What this address gives has changed.
    Updated(String),
    /// What `resources/list` shows has changed, or so much that it is best to look at everything again.
    ListChanged,
}

/// An order to a watcher whose stream is elsewhere.
#[derive(Debug)]
pub(crate) enum SubscriptionCommand {
    /// Watch this address, which rested on that when it was subscribed to.
    Add(String, Arc<ReadSet>),
    /// Watch it no more.
    Remove(String),
    /// Say when the list changes, too.
    AddList,
}

/// Watches addresses, and perhaps the list, for one caller.
pub(crate) struct SubscriptionStream {
    endpoint: Endpoint,
    caller: Principal,
    changes: broadcast::Receiver<Arc<Change>>,
    closing: watch::Receiver<bool>,
    commands: Option<mpsc::Receiver<SubscriptionCommand>>,
    /// Counts the commands that were carried out, so that a slow look at the session can tell that it is outdated.
    commands_applied: u64,
    subscribed: BTreeMap<String, SubscribedUri>,
    list_throttle: Option<Throttle>,
    expires_at: Option<Instant>,
    /// The newest change that was taken, or at which the caller's credential was last seen to hold.
    verified_version: Option<Version>,
    /// Changes were missed. The caller's own withdrawal may be among them, so nothing is said before it has been proven.
    needs_recheck: bool,
    ended: bool,
}

struct SubscribedUri {
    read_set: Arc<ReadSet>,
    throttle: Throttle,
    /// Whether what is pending is told even if the address shows what it showed before.
    force_notify: bool,
}

impl SubscribedUri {
    fn new(read_set: Arc<ReadSet>) -> SubscribedUri {
        SubscribedUri { read_set, throttle: Throttle::new(), force_notify: false }
    }
}

/// At once, then at most one in an interval, and the last one never lost.
#[derive(Clone, Copy)]
struct Throttle {
    pending: bool,
    not_before: Instant,
}

impl Throttle {
    fn new() -> Throttle {
        Throttle { pending: false, not_before: Instant::now() }
    }

    /// Something to say, but not yet.
    fn delayed() -> Throttle {
        let mut throttle = Throttle::new();
        throttle.mark_sent();
        throttle.pending = true;
        throttle
    }

    fn is_due(&self, now: Instant) -> bool {
        self.pending && self.not_before <= now
    }

    fn mark_sent(&mut self) {
        self.pending = false;
        self.not_before = Instant::now() + Duration::from_millis(NOTIFICATION_INTERVAL_MS);
    }
}

impl SubscriptionStream {
    /// Watches nothing yet. Changes count from here on, so open it before looking at what is to be watched.
    pub(crate) async fn open(endpoint: &Endpoint, caller: &Principal) -> Result<SubscriptionStream> {
        let expires_at = caller.expires_at.map(|end| {
            let remaining_ms = u64::try_from(end.0 - Timestamp::now().0).unwrap_or(0);
            Instant::now() + Duration::from_millis(remaining_ms)
        });
        Ok(SubscriptionStream {
            endpoint: endpoint.clone(),
            caller: caller.clone(),
            changes: endpoint.resolver().change_feed().subscribe(&caller.tenant).await?,
            closing: endpoint.server.closing_receiver(),
            commands: None,
            commands_applied: 0,
            subscribed: BTreeMap::new(),
            list_throttle: None,
            expires_at,
            verified_version: None,
            needs_recheck: false,
            ended: false,
        })
    }

    /// Takes orders from there. When the other side is dropped, the watcher ends.
    pub(crate) fn set_commands(&mut self, commands: mpsc::Receiver<SubscriptionCommand>) {
        self.commands = Some(commands);
    }

    /// Watches an address that rests on `basis`.
    pub(crate) fn subscribe(&mut self, uri: String, read_set: Arc<ReadSet>) {
        if self.subscribed.len() < SUBSCRIPTION_URIS || self.subscribed.contains_key(&uri) {
            self.subscribed.insert(uri, SubscribedUri::new(read_set));
        }
    }

    /// Watches the list.
    pub(crate) fn subscribe_list(&mut self) {
        self.list_throttle.get_or_insert_with(Throttle::new);
    }

    /// The addresses that are watched.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.subscribed.keys().map(String::as_str)
    }

    /// How many commands were carried out so far.
    pub(crate) fn commands_applied(&mut self) -> u64 {
        self.apply_commands();
        self.commands_applied
    }

    /// Makes the watched addresses those of `wanted`. A new one is announced: it was subscribed to somewhere else, and
    /// what changed since then is not known here. Only after a moment, though: a subscription that is just being made
    /// here is already written down while its command is still on its way, and that command takes the announcement back.
    pub(crate) async fn reconcile(&mut self, uris: Vec<String>) {
        let uris: HashSet<String> = uris.into_iter().collect();
        self.subscribed.retain(|uri, _| uris.contains(uri));
        for uri in uris {
            if self.subscribed.contains_key(&uri) {
                continue;
            }
            if let Ok(read_set) = self.read_set_of(&uri).await {
                self.subscribe(uri.clone(), read_set);
                if let Some(entry) = self.subscribed.get_mut(&uri) {
                    entry.throttle = Throttle::delayed();
                    entry.force_notify = true;
                }
            }
        }
    }

    /// The next notice; `None` when the stream is over: the credential has ended or changed, or the server closes.
    /// Can be dropped while it waits without losing anything.
    pub(crate) async fn next(&mut self) -> Option<ChangeNotification> {
        loop {
            self.drain_pending();
            if self.needs_recheck && !self.recheck_credential().await {
                self.ended = true;
            }
            if self.ended || *self.closing.borrow() {
                return None;
            }
            self.coalesce();
            let now = Instant::now();
            if let Some(list_throttle) = self.list_throttle.as_mut().filter(|throttle| throttle.is_due(now)) {
                list_throttle.mark_sent();
                return Some(ChangeNotification::ListChanged);
            }
            // The one that has waited longest, so that none starves behind a slow reader.
            let due = self.subscribed.iter().filter(|(_, entry)| entry.throttle.is_due(now));
            if let Some(uri) =
                due.min_by_key(|(_, entry)| entry.throttle.not_before).map(|(uri, _)| uri.clone())
            {
                if self.refresh(&uri).await {
                    return Some(ChangeNotification::Updated(uri));
                }
                continue;
            }
            self.wait().await;
        }
    }

    /// Waits until there is something to do.
    async fn wait(&mut self) {
        let throttles = self.subscribed.values().map(|entry| entry.throttle).chain(self.list_throttle);
        let wake = throttles.filter(|throttle| throttle.pending).map(|pace| pace.not_before).min();
        let command = async {
            match &mut self.commands {
                Some(commands) => commands.recv().await,
                None => std::future::pending().await,
            }
        };
        let sleep_until_opt = |time: Option<Instant>| async move {
            match time {
                Some(time) => sleep_until(time).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            _ = self.closing.changed() => self.ended = true,
            () = sleep_until_opt(self.expires_at) => self.ended = true,
            command = command => match command {
                Some(command) => self.apply_command(command),
                None => self.ended = true,
            },
            change = self.changes.recv() => {
                // A subscription that was confirmed before the change was made must count for it.
                self.apply_commands();
                match change {
                    Ok(change) => self.apply_change(&change),
                    Err(RecvError::Lagged(_)) => self.mark_all_stale(),
                    Err(RecvError::Closed) => self.ended = true,
                }
            }
            () = sleep_until_opt(wake) => {}
        }
    }

    /// Takes what is here already, without waiting.
    fn drain_pending(&mut self) {
        loop {
            self.apply_commands();
            match self.changes.try_recv() {
                Ok(change) => {
                    self.apply_commands();
                    self.apply_change(&change);
                }
                Err(TryRecvError::Lagged(_)) => self.mark_all_stale(),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Closed) => {
                    self.ended = true;
                    return;
                }
            }
        }
    }

    fn apply_commands(&mut self) {
        while let Some(Ok(command)) = self.commands.as_mut().map(mpsc::Receiver::try_recv) {
            self.apply_command(command);
        }
    }

    fn apply_command(&mut self, command: SubscriptionCommand) {
        self.commands_applied += 1;
        match command {
            SubscriptionCommand::Add(uri, read_set) => self.subscribe(uri, read_set),
            SubscriptionCommand::Remove(uri) => {
                self.subscribed.remove(&uri);
            }
            SubscriptionCommand::AddList => self.subscribe_list(),
        }
    }

    /// Marks what a change is news for.
    fn apply_change(&mut self, change: &Change) {
        if self.verified_version.is_some_and(|version| change.version.0 > version.0 + 1) {
            self.mark_all_stale();
        }
        self.verified_version = self.verified_version.max(Some(change.version));
        let is_newer = |read_set: &ReadSet| read_set.version.is_none_or(|version| version < change.version);
        if self
            .caller
            .credential_read_set
            .as_ref()
            .is_some_and(|read_set| is_newer(read_set) && read_set.is_invalidated_by(&change.tags))
        {
            // What the caller may see has changed with its credential; it must prove itself again.
            self.ended = true;
            return;
        }
        if let Some(list_throttle) = &mut self.list_throttle
            && change.tags.iter().any(|tag| affects_resource_list(tag, &self.endpoint))
        {
            list_throttle.pending = true;
        }
        for entry in self.subscribed.values_mut() {
            if !is_newer(&entry.read_set) {
                continue;
            }
            if entry.read_set.notifies_on(&change.tags) {
                entry.throttle.pending = true;
                entry.force_notify = true;
            } else if entry.read_set.may_notify_on(&change.tags) {
                entry.throttle.pending = true;
            }
        }
    }

    /// Some changes have not been heard of, and nobody knows which.
    fn mark_all_stale(&mut self) {
        self.needs_recheck = true;
        for entry in self.subscribed.values_mut() {
            entry.throttle.pending = true;
            entry.force_notify = true;
        }
        if let Some(list_throttle) = &mut self.list_throttle {
            list_throttle.pending = true;
        }
    }

    /// Whether the caller's credential still holds, by way of the commit that would refuse any other call of it.
    async fn recheck_credential(&mut self) -> bool {
        if self.caller.credential_read_set.is_none() {
            self.needs_recheck = false;
            return true;
        }
        let event = EventDraft::call(&self.caller, "stream/resume");
        match self.endpoint.resolver().record_success(&self.caller, event).await {
            Ok(receipt) => {
                // Only now: whoever waits for a notice may stop waiting, and the doubt must outlive that.
                self.needs_recheck = false;
                self.mark_verified_at(receipt.version);
                true
            }
            Err(error) => {
                tracing::debug!(code = error.code(), "a stream could not be resumed");
                false
            }
        }
    }

    /// The credential was seen to hold at that version; what comes after it is watched from here.
    pub(crate) fn mark_verified_at(&mut self, version: Version) {
        self.verified_version = self.verified_version.max(Some(version));
    }

    /// Too many notices at once become one, for a client that asked for that one.
    fn coalesce(&mut self) {
        let Some(list_throttle) = &mut self.list_throttle else { return };
        let pending = self.subscribed.values().filter(|entry| entry.throttle.pending).count();
        if pending > NOTIFICATIONS_QUEUED {
            for entry in self.subscribed.values_mut() {
                entry.throttle.pending = false;
            }
            list_throttle.pending = true;
        }
    }

    /// Computes anew what an address rests on, before its reader is told: so the reader's next read and the next
    /// notice both start from here. False when the caller may no longer read it, or when what may have changed is hidden from it:
    /// then that it changed is hidden, too.
    async fn refresh(&mut self, uri: &str) -> bool {
        let result = self.read_set_of(uri).await;
        let Some(entry) = self.subscribed.get_mut(uri) else { return false };
        entry.throttle.mark_sent();
        match result {
            Ok(read_set) => {
                let should_notify =
                    entry.force_notify || read_set.visible_hash != entry.read_set.visible_hash;
                entry.read_set = read_set;
                entry.force_notify = false;
                should_notify
            }
            // What vanished may come back under the same tags, and as it was.
            Err(error) => {
                entry.force_notify = true;
                error.kind() != Kind::Scope
            }
        }
    }

    async fn read_set_of(&self, uri: &str) -> Result<Arc<ReadSet>> {
        self.endpoint.resolver().read_set_of(&self.caller, self.endpoint.view, uri).await
    }
}

/// Whether a tag alters the list that this endpoint shows.
fn affects_resource_list(tag: &Tag, endpoint: &Endpoint) -> bool {
    match endpoint.view {
        View::All => tag.is_resource_list(),
        View::Only(scheme_index) => {
            tag.is_resource_list()
                && endpoint
                    .resolver()
                    .scheme_names()
                    .get(scheme_index)
                    .is_some_and(|name| *tag == Tag::resource_list(name))
        }
    }
}
