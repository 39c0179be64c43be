//! The scheme: URIs and tools of one project, for the tenant that owns it.
//!
//! Every other tenant has no project. It gets the answers of an empty folder, so it cannot learn that a project exists.

mod answer_pages;
mod completion;
mod errors;
mod journaled_write;
mod listing;
mod pages;
mod query;
mod routes;
mod runes;
mod tools;

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use quad_core::scheme::{Completion, CompletionQuery, RequestTarget, SchemePage};
use quad_core::tool::{ToolCall, ToolResult};
use quad_core::{
    Address, Error, Principal, ReadOutput, ReadSet, Result, Route, Scheme, Tag, TenantId, Tool, ToolTable,
    Version,
};
use quad_store::{Sql as _, Store};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::blocking::run_blocking;
use crate::plan::{Entity, EntityType};
use crate::project_cache::{CachedState, ChangePoller, ProjectCache};
use query::{ResourceDocument, ResourceQuery, hash_text};
pub use runes::render;

/// Every scope of this scheme.
pub const SCOPES: &[&str] = &["refrakt:read", "plan:write"];

/// Built on first use, because the schemas of all tools take time that a start of the process should not.
static TOOLS: LazyLock<ToolTable<Refrakt>> = LazyLock::new(tools::table);

const INSTRUCTIONS: &str = "refrakt:// is your project: its plan and the runes its pages are written with. Start with \
    refrakt://detect; refrakt://plan/status and the tool plan_next say what to do, refrakt://plan/context/{id} has all you need to \
    start on it. plan_update changes status, attributes and ticks in place (dryRun shows a diff), plan_create makes an entity. \
    refrakt://reference says how runes are \
    written, refrakt://rune/{name} what one becomes; refrakt_validate_content checks a page and refrakt_render renders it.";

/// The provider of `refrakt://`.
pub struct Refrakt {
    store: Store,
    tenant: TenantId,
    project: Arc<ProjectCache>,
    poller: ChangePoller,
    /// Held during a write. Further writes of this process wait here, and not in a thread that polls the file lock.
    write_mutex: tokio::sync::Mutex<()>,
}

impl Refrakt {
    /// The scheme of the project in a folder. The project belongs to one tenant.
    pub fn new(store: Store, tenant: TenantId, folder: impl Into<PathBuf>) -> Refrakt {
        let project = Arc::new(ProjectCache::new(folder));
        Refrakt {
            poller: ChangePoller::new(store.clone(), tenant.clone(), project.clone()),
            store,
            tenant,
            project,
            write_mutex: tokio::sync::Mutex::default(),
        }
    }

    /// From now on clients are notified of every change since their answers. [`watch`](Refrakt::watch) does this first.
    pub fn enable_polling(&self) {
        self.poller.enable();
    }

    /// Recovers the writes that an earlier process did not finish, then publishes changes of the folder until the
    /// process ends.
    pub async fn watch(self: Arc<Refrakt>) {
        self.enable_polling();
        if let Err(error) = journaled_write::try_recover_intents(&self).await {
            tracing::warn!(
                cause = error.cause_chain(),
                "an unfinished write of the project could not be recovered"
            );
        }
        self.poller.run().await;
    }

    /// The project, if it belongs to the caller's tenant.
    fn project_for(&self, caller: &Principal) -> Option<Arc<ProjectCache>> {
        (self.tenant == caller.tenant).then(|| self.project.clone())
    }

    /// The tenant's version. Everything that is read after it is at least as new.
    async fn version(&self, caller: &Principal) -> Result<Version> {
        self.store.read(&caller.tenant, |sql| Ok(sql.version())).await
    }

    /// Answers a query, and returns the version from before the answer. The first read of a large plan takes long, so
    /// answers that do not depend on the whole plan do not wait for it.
    async fn answer(&self, caller: &Principal, query: ResourceQuery) -> Result<(ResourceDocument, Version)> {
        if let ResourceQuery::Entity { kind, id } = &query
            && let Some(((entity, text), version)) =
                self.entity_before_plan(caller, Some(*kind), id.clone()).await?
        {
            let project_tags = self.project.tags();
            let tags = vec![project_tags.entity(&entity), project_tags.bulk_entities()];
            let document =
                ResourceDocument { text: text.into(), mime_type: query.mime_type(), tags, cacheable: false };
            return Ok((document, version));
        }
        if query.needs_plan() {
            self.with_project(caller, move |project| query.execute(project)).await
        } else {
            self.with_project_before_plan(caller, move |project| query.execute(project)).await
        }
    }

    /// An entity and its text, if the plan has not been read yet and the entity is found by the name of its file.
    async fn entity_before_plan(
        &self,
        caller: &Principal,
        kind: Option<EntityType>,
        id: String,
    ) -> Result<Option<((Entity, String), Version)>> {
        let version = self.version(caller).await?;
        let Some(project) = self.project_for(caller) else { return Ok(None) };
        let found = run_blocking(move || Ok(project.find_entity_before_plan(kind, &id))).await?;
        let found = found.filter(|(entity, file)| {
            file.invalid_utf8_at.is_none() && self.poller.note_entity(entity, &hash_text(&file.text))
        });
        Ok(found.map(|(entity, file)| ((entity, file.text), version)))
    }

    /// Runs blocking work on the caller's project, and returns the version from before the work. Work on the plan must
    /// not use this.
    async fn with_project_before_plan<T: Send + 'static>(
        &self,
        caller: &Principal,
        work: impl FnOnce(Option<&ProjectCache>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Version)> {
        self.poller.note_project().await?;
        self.run_on_project(caller, work).await
    }

    /// Runs blocking work on the caller's project and its plan, and returns the version from before the work.
    async fn with_project<T: Send + 'static>(
        &self,
        caller: &Principal,
        work: impl FnOnce(Option<&ProjectCache>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Version)> {
        self.poller.ensure_baseline().await?;
        self.run_on_project(caller, work).await
    }

    async fn run_on_project<T: Send + 'static>(
        &self,
        caller: &Principal,
        work: impl FnOnce(Option<&ProjectCache>) -> Result<T> + Send + 'static,
    ) -> Result<(T, Version)> {
        let version = self.version(caller).await?;
        let project = self.project_for(caller);
        let value = run_blocking(move || work(project.as_deref())).await?;
        Ok((value, version))
    }
}

/// The generation of a set of files. If the files must be checked, other tasks of this thread move to another thread.
fn current_generation(state: CachedState, project: &ProjectCache, load: &dyn Fn() -> u64) -> u64 {
    let is_multi_threaded =
        || Handle::try_current().is_ok_and(|handle| handle.runtime_flavor() == RuntimeFlavor::MultiThread);
    match state {
        CachedState::Current(generation) => generation,
        // The first load takes long, and no cached answer can exist before it.
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
        routes::ROUTES.routes()
    }

    /// The generation of the files that the answer depends on. The folder changes without a commit, so the cache key
    /// contains the generation, and every read checks the folder here. A generation is never reused.
    fn cache_key_part(&self, caller: &Principal, address: &Address) -> String {
        let Some(project) = self.project_for(caller) else { return String::new() };
        if address.canonical() == "refrakt://detect" {
            let snapshot = project.project_snapshot();
            return format!("{}/{:?}", snapshot.generation, project.count_plan_files(&snapshot));
        }
        if address.canonical().starts_with("refrakt://pages/") {
            return pages::cache_key_part(&project, address);
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
        errors::with_client_error_code(asked, || tools::CORE_TOOLS.to_vec(), error)
    }

    async fn read(&self, caller: &Principal, route: usize, address: &Address) -> Result<ReadOutput> {
        let query = (routes::ROUTES.resource(route)?.query)(address)?;
        let (document, version) = self.answer(caller, query).await?;
        let cacheable = document.cacheable;
        Ok(ReadOutput { cacheable, ..ReadOutput::new(document.content(), document.basis(version)) })
    }

    async fn list(&self, caller: &Principal, after: Option<&str>, limit: usize) -> Result<SchemePage> {
        if !routes::READ.is_satisfied_by(&caller.scopes) {
            return Ok(SchemePage { entries: Vec::new(), next: None, read_set: ReadSet::default() });
        }
        let parts = |project: Option<&ProjectCache>| {
            Ok(project.map(|project| project.project_snapshot().parts()).unwrap_or_default())
        };
        let (parts, version) = self.with_project_before_plan(caller, parts).await?;
        let basis = ReadSet::at_version(version).with_tag(Tag::resource_list("refrakt"));
        let start = after.and_then(|after| after.parse::<usize>().ok()).unwrap_or(0);
        let entries = listing::entries(parts);
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

    fn tools(&self) -> Vec<Arc<Tool>> {
        TOOLS.tools()
    }

    async fn call_tool(&self, call: ToolCall<'_>) -> Result<ToolResult> {
        TOOLS.call(self, call).await
    }
}
