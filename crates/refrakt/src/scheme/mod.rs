//! The scheme: addresses and tools of one project, for the tenant that it belongs to.
//!
//! Every other tenant has no project: for them it is as if the folder were empty, and nothing tells them otherwise.

mod change_poller;
mod completion;
mod errors;
mod journaled_write;
mod listing;
mod page_change_poller;
mod pages;
mod query;
mod routes;
mod runes;
mod tags;
mod tools;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use quad_core::scheme::{Completion, CompletionQuery, RequestTarget, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, Error, Principal, ReadOutput, ReadSet, Result, Route, Scheme, Tag, TenantId, Tool, Version,
};
use quad_store::{Sql as _, Store};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::project_cache::{CachedState, ProjectCache};
pub use runes::render;

use change_poller::FolderSnapshot;
use listing::ListedResources;
use query::ResourceQuery;
use tags::ProjectTags;

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
    project: Option<(TenantId, Arc<ProjectCache>)>,
    /// What the folder was when its last change was told; none before the first look.
    published: tokio::sync::Mutex<Option<FolderSnapshot>>,
    /// The same of the content folders that were asked for.
    published_pages: tokio::sync::Mutex<page_change_poller::PublishedPages>,
    /// Whether somebody waits for changes, and whether the first look was taken.
    is_polling: AtomicBool,
    baseline_taken: tokio::sync::SetOnce<()>,
    /// One write of this process at a time.
    write_mutex: tokio::sync::Mutex<()>,
}

impl Refrakt {
    /// The project in a folder, which belongs to one tenant.
    pub fn new(store: Store, tenant: TenantId, folder: impl Into<PathBuf>) -> Refrakt {
        Refrakt {
            store,
            project: Some((tenant, Arc::new(ProjectCache::new(folder)))),
            published: tokio::sync::Mutex::default(),
            published_pages: tokio::sync::Mutex::default(),
            is_polling: AtomicBool::new(false),
            baseline_taken: tokio::sync::SetOnce::new(),
            write_mutex: tokio::sync::Mutex::default(),
        }
    }

    /// Settles what an earlier process left unfinished, then tells of changes in the folder, for ever.
    pub async fn watch(self: Arc<Refrakt>) {
        self.is_polling.store(true, Ordering::Release);
        if let Err(error) = journaled_write::try_recover_intents(&self).await {
            tracing::warn!(
                cause = error.cause_chain(),
                "an unfinished write of the project is not settled yet"
            );
        }
        loop {
            let elapsed = match self.poll_and_publish().await {
                Ok(elapsed) => elapsed,
                Err(error) => {
                    tracing::warn!(cause = error.cause_chain(), "a change of the project was not told");
                    crate::limits::POLL_INTERVAL_MAX
                }
            };
            tokio::time::sleep(change_poller::next_poll_delay(elapsed)).await;
        }
    }

    /// Looks at all of the folder that anybody waits for. Says how long it took.
    async fn poll_and_publish(&self) -> Result<Duration> {
        Ok(change_poller::poll_and_publish(self).await? + page_change_poller::poll_and_publish(self).await?)
    }

    /// Makes sure that whoever reads now hears of every change after that: the first look, from which changes count, comes before
    /// the first answer.
    async fn ensure_baseline(&self) -> Result<()> {
        if self.is_polling.load(Ordering::Acquire) && !self.baseline_taken.initialized() {
            change_poller::ensure_baseline(self).await?;
        }
        Ok(())
    }

    fn project(&self) -> Option<(TenantId, Arc<ProjectCache>)> {
        self.project.clone()
    }

    /// The folder's part of its tags.
    fn project_tags(&self) -> Option<ProjectTags> {
        self.project.as_ref().map(|(_, project)| ProjectTags::from_path(project.root()))
    }

    /// The project of a caller, if it has one.
    fn project_for(&self, caller: &Principal) -> Option<Arc<ProjectCache>> {
        self.project
            .as_ref()
            .filter(|(tenant, _)| *tenant == caller.tenant)
            .map(|(_, project)| project.clone())
    }

    /// The tenant's version. What is looked up after it is at least as new.
    async fn version(&self, caller: &Principal) -> Result<Version> {
        self.store.read(&caller.tenant, |sql| Ok(sql.version())).await
    }

    /// Looks at a caller's project where looking may take its time.
    async fn with_project<T: Send + 'static>(
        &self,
        caller: &Principal,
        work: impl FnOnce(Option<&ProjectCache>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Version)> {
        self.ensure_baseline().await?;
        let version = self.version(caller).await?;
        let project = self.project_for(caller);
        let value = run_blocking(move || work(project.as_deref())).await?;
        Ok((value, version))
    }
}

/// Runs what waits for a disk on a thread of its own.
async fn run_blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T> + Send + 'static) -> Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(Error::internal)?
}

/// The number of the state that files are in. If they have to be looked at, or a save to be waited for, that keeps nobody else waiting.
fn current_generation(state: CachedState, project: &ProjectCache, load: &dyn Fn() -> u64) -> u64 {
    let is_multi_threaded =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    match state {
        CachedState::Current(generation) => generation,
        // What has never been read takes long; nobody can have an answer about it yet.
        CachedState::NotLoaded => project.next_generation(),
        CachedState::Unknown if is_multi_threaded() => tokio::task::block_in_place(load),
        CachedState::Unknown => load(),
    }
}

#[async_trait::async_trait]
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

    fn routes(&self) -> Result<Vec<Route>> {
        Ok(routes::all())
    }

    /// The number of the state that an answer is about. The folder changes without a commit, so an entry of the cache holds for one
    /// state only, and the folder is looked at here, at every read. A number never comes back.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let Some(project) = self.project_for(caller) else { return String::new() };
        if address.canonical() == "refrakt://detect" {
            let snapshot = project.project_snapshot();
            return format!("{}/{:?}", snapshot.generation, project.count_plan_files(&snapshot));
        }
        if address.canonical().starts_with("refrakt://pages/") {
            return pages::facts(&project, address);
        }
        if !address.canonical().starts_with("refrakt://plan/") {
            return project.project_snapshot().generation.to_string();
        }
        let load = || match project.plan() {
            Ok(Some(plan)) => plan.generation,
            _ => project.next_generation(),
        };
        current_generation(project.cached_plan_state(), &project, &load).to_string()
    }

    fn map_error(&self, _caller: &Principal, asked: RequestTarget<'_>, error: Error) -> Error {
        let names: Vec<&'static str> = tools::all().iter().map(|tool| tool.name).collect();
        errors::with_client_error_code(asked, &names, error)
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let query = ResourceQuery::from_address(routes::kind_of_route(route)?, address)?;
        let (document, version) = self.with_project(caller, move |project| query.execute(project)).await?;
        Ok(ReadOutput::new(document.content(), document.basis(version)))
    }

    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        if !routes::READ.is_satisfied_by(&caller.scopes) {
            return Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() });
        }
        let list_resources = |project: Option<&ProjectCache>| {
            Ok(project.map(ListedResources::from_project).unwrap_or_default())
        };
        let (resources, version) = self.with_project(caller, list_resources).await?;
        let basis = ReadSet::at_version(version).with_tag(Tag::resource_list("refrakt"));
        let start = after.and_then(|after| after.parse::<usize>().ok()).unwrap_or(0);
        let entries = resources.entries();
        let next = (entries.len() > start + limit).then(|| (start + limit).to_string());
        Ok(SchemePage {
            entries: entries.into_iter().skip(start).take(limit).collect(),
            next,
            read_set: basis,
        })
    }

    async fn complete(&self, caller: &Principal, query: CompletionQuery<'_>) -> Result<Completion> {
        let request = completion::CompletionRequest::from_query(&query);
        let (values, version) =
            self.with_project(caller, move |project| Ok(request.complete(project))).await?;
        Ok(Completion { total: values.len(), values, read_set: ReadSet::at_version(version) })
    }

    fn tools(&self) -> Vec<std::sync::Arc<Tool>> {
        tools::all().into_iter().map(std::sync::Arc::new).collect()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        tools::call(self, call).await
    }
}
