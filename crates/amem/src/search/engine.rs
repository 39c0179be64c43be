//! The search engine: text search, similarity search, hybrid search and evidence for claims, for many tenants.
//!
//! All calls block: they read the database and the index. The caller passes its read snapshot as a [`DocSnapshot`];
//! results are complete for that snapshot and may be newer. A hit is an id; the caller loads the node.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use quad_core::lock::MutexExt as _;
use quad_core::{Error, Result, TenantId};

use super::background_indexer::BackgroundIndexer;
use super::context_ranking::rank_with_context;
use super::docs::{DocSnapshot, DocSource};
use super::embedder;
use super::filter::Filter;
use super::hits::{Evidence, FusedHit, Page, SimilarHit, TextPage};
use super::index;
use super::limits::{
    CACHED_TENANTS, CACHED_VECTORS_PER_TENANT, CACHED_VECTORS_TOTAL, COMPARED_TEXT_BYTES, CONTEXT_HITS,
    EVIDENCE_CANDIDATES, EXACT_SIMILARITY_MAX_DOCS, FLUSH_BYTES, FLUSH_DOCS, MAX_OFFSET, PAGE_HITS,
    QUERY_CLAUSES,
};
use super::query::Query;
use super::question::{ParsedQuestion, Question};
use super::ranking::{Ranking, top_visible};
use super::text_index::{FlushThreshold, MaintenanceTask, TextIndex, TextView};
use super::user_vectors::UserVector;
use super::vector::Vector;
use super::vector_cache::{QueryVector, VectorCache};
use super::words;

/// The query of a similarity search.
#[derive(Clone, Copy, Debug)]
pub enum SimilarityQuery<'a> {
    /// A text, compared with the built-in embeddings of all texts.
    Text(&'a str),
    /// A vector, compared with the vectors that callers supplied; nodes without one are not found.
    Vector(&'a [f32]),
}

/// The sizes of an engine; the defaults are the named limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EngineConfig {
    pub flush_threshold: FlushThreshold,
    pub cached_vectors: usize,
    /// Up to this number of nodes, hybrid search adds the most similar ones to a short list.
    pub exact_similarity_max_docs: usize,
}

impl Default for EngineConfig {
    fn default() -> EngineConfig {
        EngineConfig {
            flush_threshold: FlushThreshold { docs: FLUSH_DOCS, bytes: FLUSH_BYTES },
            cached_vectors: CACHED_VECTORS_PER_TENANT,
            exact_similarity_max_docs: EXACT_SIMILARITY_MAX_DOCS,
        }
    }
}

/// The search engine of one process.
pub struct Engine {
    folder: PathBuf,
    config: EngineConfig,
    indexer: BackgroundIndexer,
    tenants: Mutex<TenantStates>,
}

#[derive(Default)]
struct TenantStates {
    entries: HashMap<TenantId, TenantState>,
    lru_clock: u64,
}

struct TenantState {
    text_index: Arc<TextIndex>,
    vector_cache: Option<Arc<VectorCache>>,
    last_used: u64,
}

impl Engine {
    /// An engine with its indexes under `folder`, one folder per tenant. Creates and opens nothing before the first
    /// use.
    pub fn new(folder: impl Into<PathBuf>, source: Arc<dyn DocSource>) -> Engine {
        Engine::with_config(folder, source, EngineConfig::default())
    }

    pub(crate) fn with_config(
        folder: impl Into<PathBuf>,
        source: Arc<dyn DocSource>,
        config: EngineConfig,
    ) -> Engine {
        Engine {
            folder: folder.into(),
            config,
            indexer: BackgroundIndexer::new(source),
            tenants: Mutex::default(),
        }
    }

    /// Finds nodes with any of the query's words, phrases and prefixes, best first.
    pub fn search_text(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        query: &Query,
        filter: &Filter,
        page: Page,
    ) -> Result<TextPage> {
        let page = page.validated()?;
        let (text_index, view) = self.open_view(tenant, snapshot)?;
        text_page(&mut Ranking::new(&text_index, view, snapshot, query, filter)?, page)
    }

    /// Finds the nodes most similar to the query, with a cosine of at least `min_similarity`.
    pub fn search_similar(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        query: SimilarityQuery<'_>,
        filter: &Filter,
        limit: usize,
        min_similarity: f32,
    ) -> Result<Vec<SimilarHit>> {
        check_limit(limit)?;
        match query {
            SimilarityQuery::Vector(numbers) => {
                let vector = UserVector::new(numbers)?;
                self.most_similar(tenant, snapshot, QueryVector::User(&vector), filter, limit, min_similarity)
            }
            SimilarityQuery::Text(text) => {
                check_comparable(text)?;
                let (text_index, view) = self.open_view(tenant, snapshot)?;
                let vector = embed_query(&text_index, &view, text)?;
                self.most_similar(
                    tenant,
                    snapshot,
                    QueryVector::BuiltIn(&vector),
                    filter,
                    limit,
                    min_similarity,
                )
            }
        }
    }

    fn most_similar(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        query: QueryVector<'_>,
        filter: &Filter,
        limit: usize,
        min_similarity: f32,
    ) -> Result<Vec<SimilarHit>> {
        let vector_cache = self.vector_cache(tenant);
        let hits = top_visible(snapshot, limit, |snapshot, depth| {
            let mut ranked = vector_cache.search(snapshot, query, filter, depth)?;
            ranked.retain(|hit| hit.score >= min_similarity);
            Ok(ranked)
        })?;
        self.evict_vectors(tenant);
        Ok(hits.iter().map(|hit| SimilarHit { id: hit.id, similarity: hit.score.clamp(-1.0, 1.0) }).collect())
    }

    /// Answers a question: the nodes with its words in any form and the nodes beside them in their sessions, best
    /// first. If these are too few, a small memory adds the nodes most similar to the question.
    ///
    /// Each list begins with every shorter list of the same search: how the first hits are ordered does not depend on
    /// `limit`, and everything else comes after them.
    pub fn search_hybrid(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        text: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<FusedHit>> {
        check_limit(limit)?;
        let parsed = ParsedQuestion::parse(text)?;
        let (text_index, view) = self.open_view(tenant, snapshot)?;
        let is_small =
            view.doc_count().is_some_and(|docs| docs <= self.config.exact_similarity_max_docs as u64);
        let vector = embed_query(&text_index, &view, text)?;
        let (view, question) = expand(&text_index, view, snapshot, &parsed)?;
        let mut ranking = Ranking::new(&text_index, view, snapshot, question.query(), filter)?;
        let by_text = ranking.top_visible(limit.max(CONTEXT_HITS))?;
        let (first, rest) = by_text.split_at(by_text.len().min(CONTEXT_HITS));
        let matched_in_rest = ranking.matched_clauses(rest)?;
        let stats = ranking.stats().clone();
        let ids: Vec<u64> = first.iter().map(|hit| hit.id).collect();
        let ranked = rank_with_context(snapshot, &question, &stats, filter, &ids)?;

        let mut hits = HitList::new(limit);
        for ranked in ranked {
            let similarity = || embedder::embed(&ranked.doc.content).map(|embedded| vector.dot(&embedded));
            hits.push(ranked.doc.id, || FusedHit {
                id: ranked.doc.id,
                score: f64::from(ranked.score),
                text_score: ranked.own_score,
                similarity: similarity().filter(|similarity| *similarity >= MIN_SIMILARITY),
                matched: ranked.matched,
            });
        }
        for (hit, matched) in rest.iter().zip(matched_in_rest) {
            hits.push(hit.id, || FusedHit {
                id: hit.id,
                score: f64::from(hit.score),
                text_score: Some(hit.score),
                similarity: None,
                matched: question.matched_parts(|clause| matched.get(clause).copied().unwrap_or_default()),
            });
        }
        if is_small && !hits.is_full() {
            let target = QueryVector::BuiltIn(&vector);
            for hit in self.most_similar(tenant, snapshot, target, filter, limit, MIN_SIMILARITY)? {
                hits.push(hit.id, || FusedHit {
                    id: hit.id,
                    score: f64::from(hit.similarity),
                    text_score: None,
                    similarity: Some(hit.similarity),
                    matched: Vec::new(),
                });
            }
        }
        Ok(hits.hits)
    }

    /// Finds the nodes that contain most of a claim's words, highest coverage first.
    pub fn find_evidence(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        claim: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Evidence>> {
        check_limit(limit)?;
        let query = Query::from_claim(claim)?;
        let (text_index, view) = self.open_view(tenant, snapshot)?;
        let mut ranking = Ranking::new(&text_index, view, snapshot, &query, filter)?;
        let hits = ranking.top_visible(limit.max(EVIDENCE_CANDIDATES))?;
        let clauses = ranking.matched_clauses(&hits)?;
        let weights = ranking.clause_weights();
        let total_weight: f32 = weights.iter().sum();
        let mut evidence: Vec<Evidence> = hits
            .iter()
            .zip(clauses)
            .map(|(hit, has_clause)| {
                let matched_weight: f32 = weights
                    .iter()
                    .zip(&has_clause)
                    .filter(|(_, is_matched)| **is_matched)
                    .map(|(weight, _)| weight)
                    .sum();
                let clause_texts = |matched: bool| {
                    let clauses = query
                        .clauses()
                        .iter()
                        .zip(&has_clause)
                        .filter(|(_, is_matched)| **is_matched == matched);
                    clauses.map(|(clause, _)| query.clause_text(clause)).collect()
                };
                let coverage =
                    if total_weight > 0.0 { (matched_weight / total_weight).clamp(0.0, 1.0) } else { 0.0 };
                Evidence {
                    id: hit.id,
                    score: hit.score,
                    coverage,
                    matched: clause_texts(true),
                    missing: clause_texts(false),
                }
            })
            .collect();
        evidence.sort_by(|a, b| {
            b.coverage.total_cmp(&a.coverage).then(b.score.total_cmp(&a.score)).then(a.id.cmp(&b.id))
        });
        evidence.truncate(limit);
        Ok(evidence)
    }

    /// Reports that nodes up to `newest_id` were added, so that a long import is indexed while it runs and not at
    /// the next search. Cheap.
    pub fn notify_added(&self, tenant: &TenantId, newest_id: u64) {
        let text_index = self.text_index(tenant);
        if text_index.needs_flush(newest_id) {
            self.indexer.enqueue(
                tenant,
                &text_index,
                MaintenanceTask { flush: true, ..MaintenanceTask::default() },
            );
        }
    }

    /// Waits until all background work is done: for commands that end, and for tests.
    pub fn wait_idle(&self) {
        self.indexer.wait_idle();
    }

    /// The folder of a tenant's index.
    pub fn index_folder(&self, tenant: &TenantId) -> PathBuf {
        self.folder.join(folder_name(tenant))
    }

    /// Compares a tenant's text index with the nodes, given by ascending id. Returns what is wrong with the index;
    /// nothing if there is no index.
    pub(crate) fn check_index(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
        node_ids: &[i64],
    ) -> Result<Vec<String>> {
        index::check(&self.index_folder(tenant), snapshot, node_ids)
    }

    /// Opens the tenant's text for one search, and queues the maintenance that it needs.
    fn open_view(
        &self,
        tenant: &TenantId,
        snapshot: &mut dyn DocSnapshot,
    ) -> Result<(Arc<TextIndex>, TextView)> {
        let text_index = self.text_index(tenant);
        let view = text_index.view(snapshot)?;
        self.indexer.enqueue(tenant, &text_index, view.task.clone());
        Ok((text_index, view))
    }

    fn text_index(&self, tenant: &TenantId) -> Arc<TextIndex> {
        self.with_tenant(tenant, |entry| entry.text_index.clone())
    }

    fn vector_cache(&self, tenant: &TenantId) -> Arc<VectorCache> {
        self.with_tenant(tenant, |entry| {
            entry
                .vector_cache
                .get_or_insert_with(|| Arc::new(VectorCache::new(self.config.cached_vectors)))
                .clone()
        })
    }

    fn with_tenant<T>(&self, tenant: &TenantId, operation: impl FnOnce(&mut TenantState) -> T) -> T {
        let mut tenants = self.tenants.lock_unpoisoned();
        tenants.lru_clock += 1;
        let now = tenants.lru_clock;
        if !tenants.entries.contains_key(tenant)
            && tenants.entries.len() >= CACHED_TENANTS
            && let Some(oldest) =
                tenants.entries.iter().min_by_key(|(_, entry)| entry.last_used).map(|(id, _)| id.clone())
        {
            tenants.entries.remove(&oldest);
        }
        let entry = tenants.entries.entry(tenant.clone()).or_insert_with(|| {
            let text_index =
                Arc::new(TextIndex::new(self.folder.join(folder_name(tenant)), self.config.flush_threshold));
            TenantState { text_index, vector_cache: None, last_used: now }
        });
        entry.last_used = now;
        operation(entry)
    }

    /// Drops the vectors of the least recently used tenants until the total is within the limit.
    fn evict_vectors(&self, in_use: &TenantId) {
        let mut tenants = self.tenants.lock_unpoisoned();
        loop {
            let cached_rows =
                |entry: &TenantState| entry.vector_cache.as_ref().map_or(0, |vectors| vectors.row_count());
            let total: usize = tenants.entries.values().map(cached_rows).sum();
            if total <= CACHED_VECTORS_TOTAL {
                return;
            }
            let others = tenants
                .entries
                .iter_mut()
                .filter(|(id, entry)| *id != in_use && entry.vector_cache.is_some());
            match others.min_by_key(|(_, entry)| entry.last_used) {
                Some((_, oldest)) => oldest.vector_cache = None,
                None => return,
            }
        }
    }
}

/// The minimum cosine of similar texts. The built-in embedding gives unrelated texts 0 ± 0.1.
const MIN_SIMILARITY: f32 = 0.25;

fn check_limit(limit: usize) -> Result<()> {
    if limit > PAGE_HITS {
        let message = format!("{limit} hits are wanted; a page has at most {PAGE_HITS}");
        return Err(Error::bad_input(message).hint(format!("Give a limit of at most {PAGE_HITS}")));
    }
    Ok(())
}

fn check_comparable(text: &str) -> Result<()> {
    if text.len() > COMPARED_TEXT_BYTES {
        return Err(Error::bad_input(format!(
            "The text has {} bytes; the maximum is {COMPARED_TEXT_BYTES}",
            text.len()
        ))
        .hint("Shorten the text"));
    }
    Ok(())
}

/// The vector of a query, in which rare words weigh more.
fn embed_query(text_index: &TextIndex, view: &TextView, text: &str) -> Result<Vector> {
    let mut terms = words::collect_words(text);
    terms.sort_unstable();
    terms.dedup();
    let stats =
        if terms.len() <= QUERY_CLAUSES { view.approximate_stats(&terms).map(Some) } else { Ok(None) };
    let stats = stats.unwrap_or_else(|damage| {
        text_index.disable_index(view, &damage);
        None
    });
    let weight = |word: &str| match (&stats, terms.binary_search_by(|term| term.as_str().cmp(word))) {
        // Half of the weight is constant and half depends on rarity, so that a text is most similar to itself.
        (Some(stats), Ok(term)) => 0.5 + 0.5 * stats.idf(term) / stats.max_idf(),
        _ => 1.0,
    };
    embedder::embed_weighted(text, weight)
        .ok_or_else(|| Error::bad_input("The text contains no word").hint("Use words of letters and digits"))
}

/// A page of the hits of a ranking.
fn text_page(ranking: &mut Ranking<'_>, page: Page) -> Result<TextPage> {
    // One more than needed shows whether there is a next page.
    let mut hits = ranking.top_visible(page.offset + page.limit + 1)?;
    let has_more = hits.len() > page.offset + page.limit;
    hits.truncate(page.offset + page.limit);
    hits.drain(..page.offset.min(hits.len()));
    let next = page.offset + page.limit;
    let next_offset = (has_more && next < MAX_OFFSET).then_some(next);
    Ok(TextPage { hits: ranking.with_matched_terms(&hits)?, next_offset })
}

/// The forms of a question's words, and the view in which they were found.
fn expand(
    text_index: &TextIndex,
    view: TextView,
    snapshot: &mut dyn DocSnapshot,
    question: &ParsedQuestion,
) -> Result<(TextView, Question)> {
    let mut view = view;
    loop {
        match question.expand(&view, snapshot)? {
            Ok(expanded) => return Ok((view, expanded)),
            Err(damage) => {
                // At most once: the next view has no index.
                text_index.disable_index(&view, &damage);
                view = text_index.view_without_index(snapshot)?;
            }
        }
    }
}

/// Hits in their final order, each node once.
struct HitList {
    limit: usize,
    hits: Vec<FusedHit>,
    ids: HashSet<u64>,
}

impl HitList {
    fn new(limit: usize) -> HitList {
        HitList { limit, hits: Vec::new(), ids: HashSet::new() }
    }

    fn is_full(&self) -> bool {
        self.hits.len() >= self.limit
    }

    /// Adds a hit unless the list is full or has the node. No score is higher than the one before it: hits of another
    /// kind follow the better ones, and their scores have another scale.
    fn push(&mut self, id: u64, hit: impl FnOnce() -> FusedHit) {
        if self.is_full() || !self.ids.insert(id) {
            return;
        }
        let mut hit = hit();
        if let Some(previous) = self.hits.last() {
            hit.score = hit.score.min(previous.score);
        }
        self.hits.push(hit);
    }
}

/// The name of a tenant's folder: its id, or a hash if the id is not a safe file name.
fn folder_name(tenant: &TenantId) -> String {
    let id = tenant.as_str();
    let is_safe = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&id.len()) && id.bytes().all(is_safe) {
        id.to_owned()
    } else {
        format!("hash.{}", quad_core::canonical::sha256_hex(id.as_bytes()))
    }
}
