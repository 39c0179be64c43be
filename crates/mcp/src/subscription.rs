//! Subscriptions: who may subscribe to what, and how committed changes become the notifications of one stream.
//!
//! A [`SubscriptionStream`] is pulled: nothing runs until the stream's reader asks for the next notification, so a slow
//! reader costs a writer nothing. Changes that a slow reader missed are merged by URI. A reader that fell too far
//! behind gets one `list_changed`, which means: read everything again.
//!
//! This module knows no transport. `session_stream` serves it to legacy HTTP sessions, `stdio_session` to stdio
//! clients, `listen` to modern clients.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use quad_core::event::truncate_for_audit;
use quad_core::limits::{NOTIFICATION_INTERVAL_MS, NOTIFICATIONS_QUEUED, SUBSCRIPTION_URIS};
use quad_core::resolver::View;
use quad_core::{Change, Error, EventDraft, Kind, Principal, ReadSet, Result, Tag, Timestamp, Version};
use serde_json::Value;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::{Instant, sleep_until};

use crate::dispatch::RequestContext;
use crate::{Endpoint, Method, params};

/// A notification to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ChangeNotification {
    /// The contents of this URI have changed.
    Updated(String),
    /// `resources/list` has changed, or so many changes were missed that the client must read everything again.
    ListChanged,
}

/// A change of the subscriptions of a stream that runs in another task.
#[derive(Debug)]
pub(crate) enum SubscriptionCommand {
    /// Subscribe to this URI, whose contents had this read set when the client subscribed.
    Add(String, Arc<ReadSet>),
    /// Unsubscribe from this URI.
    Remove(String),
    /// Subscribe to changes of `resources/list`.
    AddList,
}

/// A notification in the form of the legacy era.
pub(crate) fn notification_json(notification: &ChangeNotification) -> Vec<u8> {
    match notification {
        ChangeNotification::Updated(uri) => {
            let uri = Value::from(uri.as_str());
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":{uri}}}}}"#
            )
            .into_bytes()
        }
        ChangeNotification::ListChanged => {
            br#"{"jsonrpc":"2.0","method":"notifications/resources/list_changed"}"#.to_vec()
        }
    }
}

/// The URI that a subscription names and its read set. An error if the caller may not read it.
pub(crate) async fn authorize(context: &RequestContext<'_>) -> Result<(String, Arc<ReadSet>)> {
    let uri = params::required_str(context.params.uri, "uri")?.into_owned();
    let endpoint = context.endpoint;
    match endpoint.resolver().read_set_of(context.caller, endpoint.view, &uri).await {
        Ok(read_set) => Ok((uri, read_set)),
        Err(error) => {
            // The same envelope as that of a read, and an audit event of its own.
            let error = if error.uri().is_some() { error } else { error.with_uri(&uri) };
            let event = subscription_event(context, Method::Subscribe, &uri);
            Err(endpoint.resolver().record_refusal(context.caller, event, error).await)
        }
    }
}

/// Appends the audit event of a subscription that was accepted or ended.
pub(crate) async fn audit(context: &RequestContext<'_>, method: Method, uri: &str) -> Result<()> {
    let event = subscription_event(context, method, uri);
    context.endpoint.resolver().record_success(context.caller, event).await.map(|_| ())
}

fn subscription_event(context: &RequestContext<'_>, method: Method, uri: &str) -> EventDraft {
    EventDraft::call(context.caller, method.as_str()).input("uri", truncate_for_audit(uri))
}

/// The error of one subscription more than a connection may have.
pub(crate) fn too_many() -> Error {
    Error::new(Kind::Limit, "TOO_MANY_SUBSCRIPTIONS", "The connection subscribes to too many URIs")
        .hint("Unsubscribe from other URIs first")
        .with_detail("limit", SUBSCRIPTION_URIS)
}

/// The notifications of one caller: of the URIs that it subscribes to and, if it wants that, of `resources/list`.
pub(crate) struct SubscriptionStream {
    endpoint: Endpoint,
    caller: Principal,
    changes: broadcast::Receiver<Arc<Change>>,
    closing: watch::Receiver<bool>,
    commands: Option<mpsc::Receiver<SubscriptionCommand>>,
    /// How many commands were applied. A poll of the session compares it before and after, to see that it is outdated.
    commands_applied: u64,
    subscribed: BTreeMap<String, SubscribedUri>,
    list_throttle: Option<Throttle>,
    expires_at: Option<Instant>,
    /// The newest version at which the caller's credential is known to be valid: that of the last applied change, or of
    /// the last check.
    verified_version: Option<Version>,
    /// Changes were missed. The revocation of the caller's credential may be among them, so nothing is sent before the
    /// credential has been checked again.
    needs_recheck: bool,
    ended: bool,
}

struct SubscribedUri {
    read_set: Arc<ReadSet>,
    throttle: Throttle,
    /// Send the pending notification even if the visible contents are as before.
    force_notify: bool,
}

impl SubscribedUri {
    fn new(read_set: Arc<ReadSet>) -> SubscribedUri {
        SubscribedUri { read_set, throttle: Throttle::new(), force_notify: false }
    }
}

/// Limits notifications: the first one at once, then at most one in each interval. The last one is never lost.
#[derive(Clone, Copy)]
struct Throttle {
    pending: bool,
    not_before: Instant,
}

impl Throttle {
    fn new() -> Throttle {
        Throttle { pending: false, not_before: Instant::now() }
    }

    /// A pending notification that is sent after one interval.
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
    /// A stream without subscriptions. It sees the changes from now on, so open it before computing a read set.
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

    /// Sets the source of commands. The stream ends when the sender is dropped.
    pub(crate) fn set_commands(&mut self, commands: mpsc::Receiver<SubscriptionCommand>) {
        self.commands = Some(commands);
    }

    /// Subscribes to a URI whose contents have this read set. Beyond [`SUBSCRIPTION_URIS`] it does nothing.
    pub(crate) fn subscribe(&mut self, uri: String, read_set: Arc<ReadSet>) {
        if self.subscribed.len() < SUBSCRIPTION_URIS || self.subscribed.contains_key(&uri) {
            self.subscribed.insert(uri, SubscribedUri::new(read_set));
        }
    }

    /// Subscribes to changes of `resources/list`.
    pub(crate) fn subscribe_list(&mut self) {
        self.list_throttle.get_or_insert_with(Throttle::new);
    }

    /// The subscribed URIs.
    pub(crate) fn uris(&self) -> impl Iterator<Item = &str> {
        self.subscribed.keys().map(String::as_str)
    }

    /// How many commands have been applied so far.
    pub(crate) fn commands_applied(&mut self) -> u64 {
        self.apply_commands();
        self.commands_applied
    }

    /// Makes the subscribed URIs those of `uris`. A new one was subscribed to on another node, and what changed since
    /// then is not known here, so it gets a notification.
    ///
    /// That notification waits for one interval: a subscription made on this node is stored before its command arrives
    /// here, and the command replaces the entry and drops the notification.
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

    /// The next notification; `None` when the stream has ended: the credential has expired or changed, or the server
    /// closes. The future can be dropped while it waits; nothing is lost.
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
            // The one that has waited longest first, so that a slow reader gets all of them.
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

    /// Waits for the next event and applies it: a change, a command, a due notification, the expiry or the shutdown.
    async fn wait(&mut self) {
        let throttles = self.subscribed.values().map(|entry| entry.throttle).chain(self.list_throttle);
        let wake = throttles.filter(|throttle| throttle.pending).map(|throttle| throttle.not_before).min();
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
                // A subscription that was confirmed before the change was committed must see the change.
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

    /// Applies the commands and changes that have already arrived, without waiting.
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

    /// Marks the subscriptions that a change affects.
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
            // The caller's rights may have changed with its credential, so it must authenticate again.
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

    /// Changes were missed and it is unknown which ones: every subscription may be affected.
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

    /// Whether the caller's credential is still valid. An audit commit checks that, as for any call.
    async fn recheck_credential(&mut self) -> bool {
        if self.caller.credential_read_set.is_none() {
            self.needs_recheck = false;
            return true;
        }
        let event = EventDraft::call(&self.caller, "stream/resume");
        match self.endpoint.resolver().record_success(&self.caller, event).await {
            Ok(receipt) => {
                // Cleared only after the check: the caller of `next` may drop its future while the check runs.
                self.needs_recheck = false;
                self.mark_verified_at(receipt.version);
                true
            }
            Err(error) => {
                tracing::debug!(
                    code = error.code(),
                    "subscription stream ended: its credential is no longer valid"
                );
                false
            }
        }
    }

    /// The credential was valid at that version. Later changes of it are seen by this stream.
    pub(crate) fn mark_verified_at(&mut self, version: Version) {
        self.verified_version = self.verified_version.max(Some(version));
    }

    /// Replaces more than [`NOTIFICATIONS_QUEUED`] pending notifications by one `list_changed`, if the client
    /// subscribes to that.
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

    /// Computes the read set of a URI again, before its notification is sent: the next notification starts from here.
    ///
    /// False if no notification may be sent: the caller may no longer read the URI, or only hidden parts have changed.
    /// Then the change itself must stay hidden.
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
            // A deleted resource may be created again with the same tags and the same contents.
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

/// Whether a change with this tag changes the list that this endpoint shows.
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
