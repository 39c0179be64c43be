//! The scheme: addresses and tools of one project, for the tenant that it belongs to.
//!
//! Every other tenant has no project: for them it is as if the folder were empty, and nothing tells them otherwise.

mod completion;
mod listing;
mod page_telling;
mod pages;
mod question;
mod refusal;
mod routes;
mod runes;
mod tags;
mod telling;
mod tools;
mod writes;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::scheme::{Asked, Completion, CompletionQuery, Listing};
use quad_core::tool::{Call, Called};
use quad_core::{
    Address, Basis, BoxFuture, Error, Principal, Reading, Result, Route, Scheme, Tag, TenantId, Tool, Version,
};
use quad_store::{Sql as _, Store};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::live::{AtOnce, Live};
pub use runes::render;

use listing::Exposed;
use question::Question;
use tags::Root;
use telling::Look;

/// Every scope that this scheme knows.
pub const SCOPES: &[&str] = &["refrakt:read", "plan:write"];

const INSTRUCTIONS: &str = "refrakt:// is your project: its plan and the runes its pages are written with. Start with \
    refrakt://detect; refrakt://plan/status and the tool plan.next say what to do, refrakt://plan/context/{id} has all you need to \
    start on it. plan.update changes status, attributes and ticks in place (dryRun shows a diff), plan.create makes an entity. \
    refrakt://reference says how runes are \
    written, refrakt://rune/{name} what one becomes; refrakt.validate_content checks a page and refrakt.render renders it.";

/// The provider of `refrakt://`.
pub struct Refrakt {
    store: Store,
    owned: Option<(TenantId, Arc<Live>)>,
    /// What the folder was when its last change was told; none before the first look.
    told: tokio::sync::Mutex<Option<Look>>,
    /// The same of the content folders that were asked for.
    told_pages: tokio::sync::Mutex<page_telling::Told>,
    /// Whether somebody waits for changes, and whether the first look was taken.
    watching: AtomicBool,
    begun: tokio::sync::SetOnce<()>,
    /// One write of this process at a time.
    turn: tokio::sync::Mutex<()>,
}

impl Refrakt {
    /// The project in a folder, which belongs to one tenant.
    pub fn new(store: Store, tenant: TenantId, folder: impl Into<PathBuf>) -> Refrakt {
        Refrakt {
            store,
            owned: Some((tenant, Arc::new(Live::new(folder)))),
            told: tokio::sync::Mutex::default(),
            told_pages: tokio::sync::Mutex::default(),
            watching: AtomicBool::new(false),
            begun: tokio::sync::SetOnce::new(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Settles what an earlier process left unfinished, then tells of changes in the folder, for ever.
    pub async fn watch(self: Arc<Refrakt>) {
        self.watching.store(true, Ordering::Release);
        if let Err(error) = writes::settle_now(&self).await {
            tracing::warn!(cause = error.causes(), "an unfinished write of the project is not settled yet");
        }
        loop {
            let took = match self.look_and_tell().await {
                Ok(took) => took,
                Err(error) => {
                    tracing::warn!(cause = error.causes(), "a change of the project was not told");
                    crate::limits::LOOK_INTERVAL_MAX
                }
            };
            tokio::time::sleep(telling::pause_after(took)).await;
        }
    }

    /// Looks at all of the folder that anybody waits for. Says how long it took.
    async fn look_and_tell(&self) -> Result<Duration> {
        Ok(telling::look_and_tell(self).await? + page_telling::look_and_tell(self).await?)
    }

    /// Makes sure that whoever reads now hears of every change after that: the first look, from which changes count, comes before
    /// the first answer.
    async fn begin(&self) -> Result<()> {
        if self.watching.load(Ordering::Acquire) && !self.begun.initialized() {
            telling::begin(self).await?;
        }
        Ok(())
    }

    fn owned(&self) -> Option<(TenantId, Arc<Live>)> {
        self.owned.clone()
    }

    /// The folder's part of its tags.
    fn root(&self) -> Option<Root> {
        self.owned.as_ref().map(|(_, live)| Root::of(live.root()))
    }

    /// The project of a caller, if it has one.
    fn live_of(&self, caller: &Principal) -> Option<Arc<Live>> {
        self.owned.as_ref().filter(|(tenant, _)| *tenant == caller.tenant).map(|(_, live)| live.clone())
    }

    /// The tenant's version. What is looked up after it is at least as new.
    async fn version(&self, caller: &Principal) -> Result<Version> {
        self.store.read(&caller.tenant, |sql| Ok(sql.version())).await
    }

    /// Looks at a caller's project where looking may take its time.
    async fn look<T: Send + 'static>(
        &self,
        caller: &Principal,
        work: impl FnOnce(Option<&Live>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Version)> {
        self.begin().await?;
        let version = self.version(caller).await?;
        let live = self.live_of(caller);
        let value = blocking(move || work(live.as_deref())).await?;
        Ok((value, version))
    }
}

/// Runs what waits for a disk on a thread of its own.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

/// The number of the state that files are in. If they have to be looked at, or a save to be waited for, that keeps nobody else waiting.
fn number(known: AtOnce, live: &Live, look: &dyn Fn() -> u64) -> u64 {
    let is_many =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    match known {
        AtOnce::State(number) => number,
        // What has never been read takes long; nobody can have an answer about it yet.
        AtOnce::Unread => live.number(),
        AtOnce::Unsure if is_many() => tokio::task::block_in_place(look),
        AtOnce::Unsure => look(),
    }
}

impl Scheme for Refrakt {
    fn name(&self) -> &'static str {
        "refrakt"
    }

    fn instructions(&self) -> &'static str {
        INSTRUCTIONS
    }

    fn scopes(&self) -> &'static [&'static str] {
        SCOPES
    }

    fn routes(&self) -> Vec<Route> {
        routes::all()
    }

    /// The number of the state that an answer is about. The folder changes without a commit, so an entry of the cache holds for one
    /// state only, and the folder is looked at here, at every read. A number never comes back.
    fn facts(&self, caller: &Principal, address: &Address) -> String {
        let Some(live) = self.live_of(caller) else { return String::new() };
        if address.canonical() == "refrakt://detect" {
            let detected = live.detected();
            return format!("{}/{:?}", detected.number, live.plan_count(&detected));
        }
        if address.canonical().starts_with("refrakt://pages/") {
            return pages::facts(&live, address);
        }
        if !address.canonical().starts_with("refrakt://plan/") {
            return live.detected().number.to_string();
        }
        let look = || match live.plan() {
            Ok(Some(plan)) => plan.number,
            _ => live.number(),
        };
        number(live.plan_at_once(), &live, &look).to_string()
    }

    fn refused(&self, _caller: &Principal, asked: Asked<'_>, error: Error) -> Error {
        let names: Vec<&'static str> = tools::all().iter().map(|tool| tool.name).collect();
        refusal::spelt(asked, &names, error)
    }

    fn read<'a>(
        &'a self,
        caller: &'a Principal,
        route: usize,
        address: &'a Address,
    ) -> BoxFuture<'a, Result<Reading>> {
        Box::pin(async move {
            let question = Question::of(routes::noun(route)?, address)?;
            let (answer, version) = self.look(caller, move |live| question.answer(live)).await?;
            Ok(Reading::new(answer.content(), answer.basis(version)))
        })
    }

    fn list<'a>(
        &'a self,
        caller: &'a Principal,
        after: Option<&'a str>,
        limit: usize,
    ) -> BoxFuture<'a, Result<Listing>> {
        Box::pin(async move {
            if !routes::READ.is_met_by(&caller.scopes) {
                return Ok(Listing { entries: Vec::new(), next: None, basis: Basis::default() });
            }
            let exposed = |live: Option<&Live>| Ok(live.map(Exposed::of).unwrap_or_default());
            let (exposed, version) = self.look(caller, exposed).await?;
            let basis = Basis::at(version).on(Tag::listing("refrakt"));
            let start = after.and_then(|after| after.parse::<usize>().ok()).unwrap_or(0);
            let all = exposed.entries();
            let next = (all.len() > start + limit).then(|| (start + limit).to_string());
            Ok(Listing { entries: all.into_iter().skip(start).take(limit).collect(), next, basis })
        })
    }

    fn complete<'a>(
        &'a self,
        caller: &'a Principal,
        query: CompletionQuery<'a>,
    ) -> BoxFuture<'a, Result<Completion>> {
        Box::pin(async move {
            let wanted = completion::Wanted::of(&query);
            let (values, version) = self.look(caller, move |live| Ok(wanted.values(live))).await?;
            Ok(Completion { total: values.len(), values, basis: Basis::at(version) })
        })
    }

    fn tools(&self) -> Vec<Tool> {
        tools::all()
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Called>> {
        Box::pin(tools::call(self, call))
    }
}
