//! The search engine: text, likeness, both fused, and evidence for a claim, for many tenants.
//!
//! All calls block: they read the database and the index. They are made inside a read snapshot, which they get as a
//! [`Corpus`], and they answer as of that snapshot or later. A hit is an id; whoever shows it reads the node.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use quad_core::{Error, Result, TenantId};

use super::bm25::Counts;
use super::corpus::{Corpus, Source};
use super::embedder;
use super::filter::Filter;
use super::hits::{Evidence, FusedHit, Page, SimilarHit, TextPage};
use super::index;
use super::limits::{
    EVIDENCE_CANDIDATES, FUSION_CANDIDATES, FUSION_COMPARED, FUSION_DEPTH, FUSION_K, HITS_DEEP, PAGE_HITS,
    PROBE_BYTES, QUERY_CLAUSES, TAIL_BYTES, TAIL_DOCS, TENANTS_HELD, VECTORS_HELD, VECTORS_HELD_ALL,
};
use super::query::Query;
use super::ranking::{Ranking, kept};
use super::text::{Chore, TailSize, Text};
use super::upkeep::Upkeep;
use super::vector::Vector;
use super::vectors::{Space, Vectors};
use super::words;

/// What likeness is measured to.
#[derive(Clone, Copy, Debug)]
pub enum Probe<'a> {
    /// A text, compared with all nodes' texts by the built-in embedding.
    Text(&'a str),
    /// A vector, compared with the vectors that callers gave; nodes without one are not found.
    Vector(&'a [f32]),
}

/// The sizes of an engine. The defaults are the named limits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub tail: TailSize,
    pub vectors: usize,
    /// Up to how many nodes a fusion compares all of them.
    pub compared: usize,
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            tail: TailSize { docs: TAIL_DOCS, bytes: TAIL_BYTES },
            vectors: VECTORS_HELD,
            compared: FUSION_COMPARED,
        }
    }
}

/// The search engine of one process.
pub struct Engine {
    folder: PathBuf,
    sizes: Sizes,
    upkeep: Upkeep,
    tenants: Mutex<Tenants>,
}

#[derive(Default)]
struct Tenants {
    held: HashMap<TenantId, Tenant>,
    clock: u64,
}

struct Tenant {
    text: Arc<Text>,
    vectors: Option<Arc<Vectors>>,
    used: u64,
}

impl Engine {
    /// An engine whose indexes lie under `folder`, one folder a tenant. Nothing is opened or made before it is needed.
    pub fn new(folder: impl Into<PathBuf>, source: Arc<dyn Source>) -> Engine {
        Engine::with_sizes(folder, source, Sizes::default())
    }

    pub(crate) fn with_sizes(folder: impl Into<PathBuf>, source: Arc<dyn Source>, sizes: Sizes) -> Engine {
        Engine { folder: folder.into(), sizes, upkeep: Upkeep::new(source), tenants: Mutex::default() }
    }

    /// Nodes with any of the query's words, phrases and prefixes, best first.
    pub fn text(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        query: &Query,
        filter: &Filter,
        page: Page,
    ) -> Result<TextPage> {
        let page = page.checked()?;
        let text = self.text_of(tenant);
        let mut ranking = self.ranking(tenant, &text, corpus, query, filter)?;
        // One more than wanted tells whether there is more.
        let mut hits = ranking.kept(page.offset + page.limit + 1)?;
        let more = hits.len() > page.offset + page.limit;
        hits.truncate(page.offset + page.limit);
        hits.drain(..page.offset.min(hits.len()));
        let next = page.offset + page.limit;
        let next_offset = (more && next < HITS_DEEP).then_some(next);
        Ok(TextPage { hits: ranking.explained(&hits)?, next_offset })
    }

    /// The nodes that are most like the probe, if their cosine is at least `similarity_least`.
    pub fn similar(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        probe: Probe<'_>,
        filter: &Filter,
        limit: usize,
        similarity_least: f32,
    ) -> Result<Vec<SimilarHit>> {
        if limit > PAGE_HITS {
            return Err(too_many(limit));
        }
        let (space, probe) = match probe {
            Probe::Vector(numbers) => (Space::Given, Vector::from_caller(numbers)?),
            Probe::Text(text) => (Space::Embedded, self.embedded(tenant, corpus, text)?),
        };
        let vectors = self.vectors_of(tenant);
        let found = kept(corpus, limit, |corpus, wanted| {
            let mut found = vectors.search(corpus, space, &probe, filter, wanted)?;
            found.retain(|hit| hit.score >= similarity_least);
            Ok(found)
        })?;
        self.shed_vectors(tenant);
        Ok(found
            .iter()
            .map(|hit| SimilarHit { id: hit.id, similarity: hit.score.clamp(-1.0, 1.0) })
            .collect())
    }

    /// Both: the text's words and its likeness, by reciprocal rank fusion. A node that is in one list only gets nothing
    /// for the other. In a large memory likeness ranks the best hits by words, and not every node.
    pub fn hybrid(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        text: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<FusedHit>> {
        let depth = limit.saturating_mul(FUSION_DEPTH).min(PAGE_HITS);
        if limit > PAGE_HITS {
            return Err(too_many(limit));
        }
        let query = Query::parse(text)?;
        let is_small = self.is_at_most(tenant, corpus, self.sizes.compared)?;
        let candidates = if is_small { depth.max(1) } else { depth.max(FUSION_CANDIDATES) };
        let mut by_text = self.text(tenant, corpus, &query, filter, Page { offset: 0, limit: candidates })?;
        let alike = if is_small {
            self.similar(tenant, corpus, Probe::Text(text), filter, depth, UNLIKE)?
        } else {
            let ids: Vec<u64> = by_text.hits.iter().map(|hit| hit.id).collect();
            self.likeness_of(tenant, corpus, text, &ids, depth)?
        };
        by_text.hits.truncate(depth);
        let mut fused: HashMap<u64, FusedHit> = HashMap::new();
        for (rank, hit) in by_text.hits.into_iter().enumerate() {
            let entry = fused.entry(hit.id).or_insert_with(|| FusedHit::new(hit.id));
            entry.score += 1.0 / (FUSION_K + rank as f64 + 1.0);
            entry.text_score = Some(hit.score);
            entry.matched = hit.matched;
        }
        for (rank, hit) in alike.into_iter().enumerate() {
            let entry = fused.entry(hit.id).or_insert_with(|| FusedHit::new(hit.id));
            entry.score += 1.0 / (FUSION_K + rank as f64 + 1.0);
            entry.similarity = Some(hit.similarity);
        }
        let mut fused: Vec<FusedHit> = fused.into_values().collect();
        fused.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.id.cmp(&b.id)));
        fused.truncate(limit);
        Ok(fused)
    }

    /// Those of some nodes that are like a text, the most alike first.
    fn likeness_of(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        text: &str,
        ids: &[u64],
        limit: usize,
    ) -> Result<Vec<SimilarHit>> {
        let probe = self.embedded(tenant, corpus, text)?;
        let mut alike = Vec::new();
        for id in ids {
            let found = corpus.after(id.checked_sub(1), 1)?;
            let Some(doc) = found.first().filter(|doc| doc.id == *id) else { continue };
            let similarity = embedder::embed(&doc.content).map_or(0.0, |vector| probe.dot(&vector));
            if similarity >= UNLIKE {
                alike.push(SimilarHit { id: *id, similarity: similarity.clamp(-1.0, 1.0) });
            }
        }
        alike.sort_by(|a, b| b.similarity.total_cmp(&a.similarity).then(a.id.cmp(&b.id)));
        alike.truncate(limit);
        Ok(alike)
    }

    /// Whether there are no more than so many nodes.
    fn is_at_most(&self, tenant: &TenantId, corpus: &mut dyn Corpus, nodes: usize) -> Result<bool> {
        let text = self.text_of(tenant);
        let view = text.view(corpus)?;
        self.upkeep.ask(tenant, &text, view.chore.clone());
        Ok(view.docs().is_some_and(|docs| docs <= nodes as u64))
    }

    /// The nodes that say most of what a claim says, the one that covers most first.
    pub fn evidence(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        claim: &str,
        filter: &Filter,
        limit: usize,
    ) -> Result<Vec<Evidence>> {
        if limit > PAGE_HITS {
            return Err(too_many(limit));
        }
        let query = Query::of_claim(claim)?;
        let text = self.text_of(tenant);
        let mut ranking = self.ranking(tenant, &text, corpus, &query, filter)?;
        let hits = ranking.kept(limit.max(EVIDENCE_CANDIDATES))?;
        let clauses = ranking.clauses(&hits)?;
        let weights = ranking.clause_weights();
        let whole: f32 = weights.iter().sum();
        let mut evidence: Vec<Evidence> = hits
            .iter()
            .zip(clauses)
            .map(|(hit, has)| {
                let covered: f32 =
                    weights.iter().zip(&has).filter(|(_, has)| **has).map(|(weight, _)| weight).sum();
                let named = |wanted: bool| {
                    let clauses = query.clauses().iter().zip(&has).filter(|(_, has)| **has == wanted);
                    clauses.map(|(clause, _)| query.spelling(clause)).collect()
                };
                let coverage = if whole > 0.0 { (covered / whole).clamp(0.0, 1.0) } else { 0.0 };
                Evidence {
                    id: hit.id,
                    score: hit.score,
                    coverage,
                    matched: named(true),
                    missing: named(false),
                }
            })
            .collect();
        evidence.sort_by(|a, b| {
            b.coverage.total_cmp(&a.coverage).then(b.score.total_cmp(&a.score)).then(a.id.cmp(&b.id))
        });
        evidence.truncate(limit);
        Ok(evidence)
    }

    /// Says that `newest` was added, so that a long import is indexed while it runs and not at the next search. Cheap.
    pub fn grown(&self, tenant: &TenantId, newest: u64) {
        let text = self.text_of(tenant);
        if text.is_due(newest) {
            self.upkeep.ask(tenant, &text, Chore { write: true, ..Chore::default() });
        }
    }

    /// Waits until the background has nothing left to do: for commands that end, and for tests.
    pub fn settle(&self) {
        self.upkeep.settle();
    }

    /// Where a tenant's index lies.
    pub fn folder_of(&self, tenant: &TenantId) -> PathBuf {
        self.folder.join(folder_name(tenant))
    }

    /// Compares a tenant's text index with the nodes, given by ascending id. Says what is wrong with it; nothing is if there
    /// is none.
    pub(crate) fn check(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        nodes: &[i64],
    ) -> Result<Vec<String>> {
        index::check(&self.folder_of(tenant), corpus, nodes)
    }

    fn ranking<'a>(
        &self,
        tenant: &TenantId,
        text: &'a Arc<Text>,
        corpus: &'a mut dyn Corpus,
        query: &'a Query,
        filter: &'a Filter,
    ) -> Result<Ranking<'a>> {
        let view = text.view(corpus)?;
        self.upkeep.ask(tenant, text, view.chore.clone());
        Ranking::begin(text, view, corpus, query, filter)
    }

    /// The vector of a query, in which rare words count more.
    fn embedded(&self, tenant: &TenantId, corpus: &mut dyn Corpus, text: &str) -> Result<Vector> {
        if text.len() > PROBE_BYTES {
            return Err(Error::bad_input(format!(
                "The text has {} bytes; at most {PROBE_BYTES} can be compared",
                text.len()
            ))
            .hint("Shorten it to what matters"));
        }
        let mut terms = words::all(text);
        terms.sort_unstable();
        terms.dedup();
        let counts =
            if terms.len() <= QUERY_CLAUSES { self.counts_nearly(tenant, corpus, &terms)? } else { None };
        let weight = |word: &str| match (&counts, terms.binary_search_by(|term| term.as_str().cmp(word))) {
            // Half of a word's weight is its own and half its rarity, so that a text stays most like itself.
            (Some(counts), Ok(term)) => 0.5 + 0.5 * counts.idf(term) / counts.idf_most(),
            _ => 1.0,
        };
        embedder::embed_weighted(text, weight).ok_or_else(|| {
            Error::bad_input("There is no word to compare with")
                .hint("Use words; these are letters and digits")
        })
    }

    fn counts_nearly(
        &self,
        tenant: &TenantId,
        corpus: &mut dyn Corpus,
        terms: &[String],
    ) -> Result<Option<Counts>> {
        let text = self.text_of(tenant);
        let view = text.view(corpus)?;
        self.upkeep.ask(tenant, &text, view.chore.clone());
        match view.counts_nearly(terms) {
            Ok(counts) => Ok(Some(counts)),
            Err(damage) => {
                text.abandon(&view, &damage);
                Ok(None)
            }
        }
    }

    fn text_of(&self, tenant: &TenantId) -> Arc<Text> {
        self.with_tenant(tenant, |held| held.text.clone())
    }

    fn vectors_of(&self, tenant: &TenantId) -> Arc<Vectors> {
        self.with_tenant(tenant, |held| {
            held.vectors.get_or_insert_with(|| Arc::new(Vectors::new(self.sizes.vectors))).clone()
        })
    }

    fn with_tenant<T>(&self, tenant: &TenantId, work: impl FnOnce(&mut Tenant) -> T) -> T {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        tenants.clock += 1;
        let used = tenants.clock;
        if !tenants.held.contains_key(tenant)
            && tenants.held.len() >= TENANTS_HELD
            && let Some(oldest) =
                tenants.held.iter().min_by_key(|(_, held)| held.used).map(|(id, _)| id.clone())
        {
            tenants.held.remove(&oldest);
        }
        let held = tenants.held.entry(tenant.clone()).or_insert_with(|| {
            let text = Arc::new(Text::new(self.folder.join(folder_name(tenant)), self.sizes.tail));
            Tenant { text, vectors: None, used }
        });
        held.used = used;
        work(held)
    }

    /// Drops the vectors of those who were asked longest ago, if all together are too many.
    fn shed_vectors(&self, in_use: &TenantId) {
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            let rows = |held: &Tenant| held.vectors.as_ref().map_or(0, |vectors| vectors.rows());
            let all: usize = tenants.held.values().map(rows).sum();
            if all <= VECTORS_HELD_ALL {
                return;
            }
            let others = tenants.held.iter_mut().filter(|(id, held)| *id != in_use && held.vectors.is_some());
            match others.min_by_key(|(_, held)| held.used) {
                Some((_, oldest)) => oldest.vectors = None,
                None => return,
            }
        }
    }
}

/// Below this cosine two texts are no more alike than any two: the built-in embedding puts strangers at 0 ± 0.1.
const UNLIKE: f32 = 0.25;

fn too_many(limit: usize) -> Error {
    Error::bad_input(format!("{limit} hits are more than a page holds: {PAGE_HITS}")).hint("Ask for fewer")
}

/// A tenant's folder. Ids are made to be file names; one that is not gets its hash.
fn folder_name(tenant: &TenantId) -> String {
    let id = tenant.as_str();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    if (1..=64).contains(&id.len()) && id.bytes().all(plain) {
        id.to_owned()
    } else {
        format!("hash.{}", quad_core::canonical::sha256_hex(id.as_bytes()))
    }
}
