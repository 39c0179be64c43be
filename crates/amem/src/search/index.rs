//! The text index on disk: its fields, and how it is opened, searched and checked.
//!
//! It is derived from the nodes. It stores no text, only the words of each node and the fields that filters use.
//! Each commit records how far it is complete ([`Watermark`]). Every problem with it, including a panic of the
//! index library on a damaged file, becomes an [`IndexError`], and the search continues without the index.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Bound;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use serde::{Deserialize, Serialize};
use tantivy::directory::MmapDirectory;
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::query::{
    Bm25StatisticsProvider, BooleanQuery, ConstScoreQuery, EnableScoring, InvertedIndexRangeQuery, Occur,
    PhraseQuery, Query as _, RangeQuery, TermQuery,
};
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{DocAddress, Index, IndexReader, ReloadPolicy, Searcher, SegmentReader, TERMINATED, Term};

use super::bm25::{self, TermStats};
use super::docs::{Doc, DocSnapshot};
use super::filter::Filter;
use super::index_stat::IndexFileStat;
use super::limits::OPEN_ATTEMPTS;
use super::query::{Clause, Query};
use super::tokenizer::WordTokenizer;
use super::top_k::{ScoredDoc, TopK};

/// Stored in every commit. An index with another number is rebuilt.
const FORMAT: u32 = 1;

const TOKENIZER: &str = "words";

/// Why an index cannot be used; for the log.
#[derive(Debug)]
pub(crate) struct IndexError(pub String);

impl std::fmt::Display for IndexError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<tantivy::TantivyError> for IndexError {
    fn from(error: tantivy::TantivyError) -> IndexError {
        IndexError(error.to_string())
    }
}

pub(crate) type IndexResult<T> = std::result::Result<T, IndexError>;

/// Runs code that reads index files. The index library trusts them and may panic on damaged ones.
pub(crate) fn catch_panic<T>(operation: impl FnOnce() -> IndexResult<T>) -> IndexResult<T> {
    catch_unwind(AssertUnwindSafe(operation)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(IndexError(format!("the index library panicked: {message}")))
    })
}

/// How far a commit is complete.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Watermark {
    format: u32,
    /// All nodes below this id are in the index, except deleted ones.
    #[serde(rename = "next")]
    pub next_id: u64,
    /// All nodes deleted up to this position are removed from it.
    #[serde(rename = "mark")]
    pub deletions_seen: i64,
    /// The last node added. It shows whether the index belongs to another database, or to another history of this
    /// one.
    #[serde(rename = "anchor")]
    pub last_doc: Option<LastDoc>,
}

impl Watermark {
    pub fn empty() -> Watermark {
        Watermark { format: FORMAT, next_id: 0, deletions_seen: i64::MIN, last_doc: None }
    }

    /// Whether the index was built from the nodes of this database.
    pub fn matches_database(&self, snapshot: &mut dyn DocSnapshot) -> quad_core::Result<bool> {
        let Some(last_doc) = &self.last_doc else { return Ok(true) };
        let docs = snapshot.docs_after(last_doc.id.checked_sub(1), 1)?;
        match docs.first() {
            Some(doc) if doc.id == last_doc.id => Ok(LastDoc::from_doc(doc) == *last_doc),
            // The node may have been deleted since.
            _ => {
                let mut position = self.deletions_seen;
                loop {
                    let deleted = snapshot.deleted_after(position, super::limits::PAGE_DELETIONS)?;
                    if deleted.iter().any(|(_, id)| *id == last_doc.id) {
                        return Ok(true);
                    }
                    match deleted.last() {
                        Some((newest, _)) => position = *newest,
                        None => return Ok(false),
                    }
                }
            }
        }
    }
}

/// Distinguishes a node from another one with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LastDoc {
    pub id: u64,
    created_at: i64,
    digest: String,
}

impl LastDoc {
    pub fn from_doc(doc: &Doc) -> LastDoc {
        let digest = quad_core::canonical::sha256_hex(doc.content.as_bytes());
        LastDoc { id: doc.id, created_at: doc.created_at, digest }
    }
}

/// The fields of the index.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub id: Field,
    pub event_type: Field,
    pub session_id: Field,
    pub created_at: Field,
    pub content: Field,
}

pub(crate) fn build_schema() -> (Schema, Fields) {
    let mut builder = Schema::builder();
    let words = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqsAndPositions);
    let fields = Fields {
        id: builder.add_u64_field("id", FAST | INDEXED),
        event_type: builder.add_u64_field("event_type", INDEXED),
        session_id: builder.add_u64_field("session_id", INDEXED),
        created_at: builder.add_i64_field("created_at", FAST),
        content: builder.add_text_field("content", TextOptions::default().set_indexing_options(words)),
    };
    (builder.build(), fields)
}

/// Opens an index for writing, if there is one.
pub(crate) fn open(folder: &Path) -> IndexResult<Option<(Index, Fields, Watermark)>> {
    Ok(load_index(folder)?.map(|(index, fields, watermark, _)| (index, fields, watermark)))
}

/// An index, its watermark and its segments.
type LoadedIndex = (Index, Fields, Watermark, BTreeSet<SegmentId>);

fn load_index(folder: &Path) -> IndexResult<Option<LoadedIndex>> {
    catch_panic(|| {
        if !folder.join("meta.json").exists() {
            return Ok(None);
        }
        let index = Index::open_in_dir(folder)?;
        let (schema, fields) = build_schema();
        if index.schema() != schema {
            return Err(IndexError("its fields are those of another version".to_owned()));
        }
        index.tokenizers().register(TOKENIZER, WordTokenizer);
        let metas = index.load_metas()?;
        if metas.payload.is_none() && metas.segments.is_empty() {
            // Created, but without a first commit yet.
            return Ok(None);
        }
        let payload = metas.payload.unwrap_or_default();
        let watermark: Watermark = serde_json::from_str(&payload)
            .map_err(|error| IndexError(format!("its watermark cannot be read: {error}")))?;
        if watermark.format != FORMAT {
            return Err(IndexError(format!("its format is {}, not {FORMAT}", watermark.format)));
        }
        let segments = metas.segments.iter().map(SegmentMeta::id).collect();
        Ok(Some((index, fields, watermark, segments)))
    })
}

/// Creates an empty index in an empty folder. No process reads it before its first commit.
pub(crate) fn create(folder: &Path) -> IndexResult<(Index, Fields)> {
    catch_panic(|| {
        let (schema, fields) = build_schema();
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let index = Index::create(directory, schema, tantivy::IndexSettings::default())?;
        index.tokenizers().register(TOKENIZER, WordTokenizer);
        Ok((index, fields))
    })
}

/// Reads every byte and compares it with the checksums, through mappings of its own that are closed afterwards.
pub(crate) fn verify_checksums(folder: &Path) -> IndexResult<()> {
    for _ in 0..OPEN_ATTEMPTS {
        let stat_before = IndexFileStat::read(folder);
        match catch_panic(|| check_all_files(folder)) {
            // A missing file may have been removed with the commit that listed it.
            Err(_) if IndexFileStat::read(folder) != stat_before => {}
            result => return result,
        }
    }
    Ok(())
}

fn check_all_files(folder: &Path) -> IndexResult<()> {
    let Some((index, ..)) = open(folder)? else { return Ok(()) };
    let mut damaged: Vec<String> =
        index.validate_checksum()?.iter().map(|path| path.display().to_string()).collect();
    damaged.sort();
    if damaged.is_empty() {
        Ok(())
    } else {
        Err(IndexError(format!("wrong checksums in {}", damaged.join(", "))))
    }
}

/// One commit of the index, open for searching.
pub(crate) struct IndexSearcher {
    searcher: Searcher,
    fields: Fields,
    pub watermark: Watermark,
    doc_count: u64,
    token_count: u64,
}

/// The result of opening a folder.
pub(crate) enum OpenResult {
    /// There is no index, or it has no commit yet.
    NoIndex,
    /// The index changes faster than it can be opened.
    Changed,
    /// The newest commit.
    Ready(IndexSearcher),
}

impl IndexSearcher {
    /// Opens the newest commit.
    ///
    /// The watermark and the list of segments come from two reads of one file. Between them another process may
    /// commit or begin to rebuild the index. A watermark that promises more than the segments contain would hide
    /// nodes from every search. So a commit counts only if both reads saw the same segments; segment names are
    /// never reused.
    pub fn open(folder: &Path) -> IndexResult<OpenResult> {
        for _ in 0..OPEN_ATTEMPTS {
            let stat_before = IndexFileStat::read(folder);
            match catch_panic(|| IndexSearcher::try_open(folder)) {
                Ok(OpenResult::Changed) => {}
                // A missing file may have been removed with the commit that listed it.
                Err(_) if IndexFileStat::read(folder) != stat_before => {}
                result => return result,
            }
        }
        Ok(OpenResult::Changed)
    }

    fn try_open(folder: &Path) -> IndexResult<OpenResult> {
        let Some((index, fields, watermark, segments)) = load_index(folder)? else {
            return Ok(OpenResult::NoIndex);
        };
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let open_segments = searcher.segment_readers().iter().map(SegmentReader::segment_id).collect();
        if segments != open_segments {
            return Ok(OpenResult::Changed);
        }
        let (mut doc_count, mut token_count) = (0, 0);
        for segment in searcher.segment_readers() {
            doc_count += u64::from(segment.max_doc());
            token_count += segment.inverted_index(fields.content)?.total_num_tokens();
        }
        Ok(OpenResult::Ready(IndexSearcher { searcher, fields, watermark, doc_count, token_count }))
    }

    /// The number of nodes in the index.
    pub fn doc_count(&self) -> u64 {
        self.doc_count
    }

    /// The ids of the nodes in the index, ascending.
    fn ids(&self) -> IndexResult<Vec<i64>> {
        catch_panic(|| {
            let mut sorted_ids = Vec::new();
            for segment in self.searcher.segment_readers() {
                let ids = segment.fast_fields().u64("id")?;
                let alive = segment.doc_ids_alive().filter_map(|doc| ids.first(doc));
                sorted_ids.extend(alive.map(|id| i64::try_from(id).unwrap_or(i64::MAX)));
            }
            sorted_ids.sort_unstable();
            Ok(sorted_ids)
        })
    }

    /// The index's part of the statistics. Deleted nodes count until their segment is merged.
    pub fn stats(&self, terms: &[String]) -> IndexResult<TermStats> {
        catch_panic(|| {
            let doc_freq = terms.iter().map(|term| Ok(self.searcher.doc_freq(&self.term(term))?));
            Ok(TermStats {
                docs: self.doc_count,
                total_tokens: self.token_count,
                doc_freq: doc_freq.collect::<IndexResult<_>>()?,
            })
        })
    }

    /// Calls `on_word` for each word of the dictionary that begins with one of the prefixes.
    pub fn words_with_prefixes(&self, prefixes: &[String], on_word: &mut dyn FnMut(&str)) -> IndexResult<()> {
        catch_panic(|| {
            for segment in self.searcher.segment_readers() {
                let inverted_index = segment.inverted_index(self.fields.content)?;
                for prefix in prefixes {
                    // The last code point of Unicode is no letter, so this bound is above all words with the prefix.
                    let range = inverted_index.terms().range().ge(prefix).lt(format!("{prefix}\u{10ffff}"));
                    let mut words = range.into_stream().map_err(|error| IndexError(error.to_string()))?;
                    while words.advance() {
                        if let Ok(word) = std::str::from_utf8(words.key()) {
                            on_word(word);
                        }
                    }
                }
            }
            Ok(())
        })
    }

    /// The best nodes, scored with the statistics of all nodes.
    pub fn search(
        &self,
        query: &Query,
        stats: &TermStats,
        filter: &Filter,
        deleted: &HashSet<u64>,
        limit: usize,
    ) -> IndexResult<Vec<ScoredDoc<DocAddress>>> {
        catch_panic(|| {
            let combined = CombinedStats::new(self, query, stats);
            let scoring = EnableScoring::enabled_from_statistics_provider(&combined, &self.searcher);
            let weight = self.to_tantivy_query(query, filter).weight(scoring)?;
            let mut best = TopK::new(limit);
            for (ordinal, segment) in self.searcher.segment_readers().iter().enumerate() {
                let ids = segment.fast_fields().u64("id")?;
                let alive = segment.alive_bitset();
                let threshold = |best: &TopK<DocAddress>| match best.threshold() {
                    floor if floor == f32::NEG_INFINITY => f32::MIN,
                    floor => bm25::lower_bound(floor),
                };
                let start = threshold(&best);
                weight.for_each_pruning(start, segment, &mut |doc, score| {
                    if alive.is_none_or(|alive| alive.is_alive(doc))
                        && let Some(id) = ids.first(doc)
                        && !deleted.contains(&id)
                    {
                        best.push(id, bm25::round_score(score), DocAddress::new(ordinal as u32, doc));
                    }
                    threshold(&best)
                })?;
            }
            Ok(best.into_sorted())
        })
    }

    /// For each of these nodes, which clauses of the query it matches.
    pub fn matched_clauses(
        &self,
        query: &Query,
        addresses: &[DocAddress],
    ) -> IndexResult<HashMap<DocAddress, Vec<bool>>> {
        catch_panic(|| {
            let mut sorted = addresses.to_vec();
            sorted.sort_unstable();
            let mut matched: HashMap<DocAddress, Vec<bool>> = HashMap::new();
            for clause in query.clauses() {
                let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
                let weight = self.clause_query(query, clause).weight(scoring)?;
                for group in sorted.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
                    let Some(first) = group.first() else { continue };
                    let mut scorer = weight.scorer(self.searcher.segment_reader(first.segment_ord), 1.0)?;
                    for address in group {
                        let current = scorer.doc();
                        let current = if current < address.doc_id && current != TERMINATED {
                            scorer.seek(address.doc_id)
                        } else {
                            current
                        };
                        matched.entry(*address).or_default().push(current == address.doc_id);
                    }
                }
            }
            Ok(matched)
        })
    }

    fn term(&self, word: &str) -> Term {
        Term::from_field_text(self.fields.content, word)
    }

    fn to_tantivy_query(&self, query: &Query, filter: &Filter) -> BooleanQuery {
        let clauses: Vec<(Occur, Box<dyn tantivy::query::Query>)> =
            query.clauses().iter().map(|clause| (Occur::Should, self.clause_query(query, clause))).collect();
        let any_clause = BooleanQuery::new(clauses);
        if filter.is_empty() {
            return any_clause;
        }
        let mut conditions: Vec<(Occur, Box<dyn tantivy::query::Query>)> =
            vec![(Occur::Must, Box::new(any_clause))];
        let mut add_condition = |query: Box<dyn tantivy::query::Query>| {
            // A filter accepts or rejects; it adds no score.
            conditions.push((Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))));
        };
        let any_of = |terms: Vec<Term>| -> Box<dyn tantivy::query::Query> {
            Box::new(BooleanQuery::union(
                terms
                    .into_iter()
                    .map(|term| -> Box<dyn tantivy::query::Query> {
                        Box::new(TermQuery::new(term, IndexRecordOption::Basic))
                    })
                    .collect(),
            ))
        };
        if !filter.event_types.is_empty() {
            let terms = filter
                .event_types
                .iter()
                .map(|t| Term::from_field_u64(self.fields.event_type, u64::from(*t)));
            add_condition(any_of(terms.collect()));
        }
        if !filter.sessions.is_empty() {
            let terms =
                filter.sessions.iter().map(|s| Term::from_field_u64(self.fields.session_id, u64::from(*s)));
            add_condition(any_of(terms.collect()));
        }
        if filter.created_from.is_some() || filter.created_to.is_some() {
            let bound = |time: Option<i64>| match time {
                Some(time) => Bound::Included(Term::from_field_i64(self.fields.created_at, time)),
                None => Bound::Unbounded,
            };
            add_condition(Box::new(RangeQuery::new(bound(filter.created_from), bound(filter.created_to))));
        }
        BooleanQuery::new(conditions)
    }

    fn clause_query(&self, query: &Query, clause: &Clause) -> Box<dyn tantivy::query::Query> {
        let term = |term: &usize| self.term(query.terms().get(*term).map_or("", String::as_str));
        match clause {
            Clause::Word(word) => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
            Clause::Phrase(words) => Box::new(PhraseQuery::new(words.iter().map(term).collect())),
            Clause::Prefix(prefix) => {
                // The last code point of Unicode is no letter, so this bound is above all words with the prefix.
                let upper_bound = self.term(&format!("{prefix}\u{10ffff}"));
                Box::new(InvertedIndexRangeQuery::new(
                    Bound::Included(self.term(prefix)),
                    Bound::Excluded(upper_bound),
                ))
            }
        }
    }
}

/// Compares the newest commit with the nodes, given by ascending id. Every node below the watermark must be in the
/// index once, and nothing else but nodes deleted since. Returns what is wrong.
pub(crate) fn check(
    folder: &Path,
    snapshot: &mut dyn DocSnapshot,
    nodes: &[i64],
) -> quad_core::Result<Vec<String>> {
    if let Err(damage) = verify_checksums(folder) {
        return Ok(vec![damage.to_string()]);
    }
    let searcher = match IndexSearcher::open(folder) {
        Ok(OpenResult::Ready(searcher)) => searcher,
        Ok(OpenResult::NoIndex | OpenResult::Changed) => return Ok(Vec::new()),
        Err(damage) => return Ok(vec![damage.to_string()]),
    };
    if !searcher.watermark.matches_database(snapshot)? {
        // A commit newer than this snapshot contains nodes that the snapshot does not have.
        let is_newer = nodes.last().is_none_or(|last| searcher.watermark.next_id > last.unsigned_abs() + 1);
        let message = "it was built from other nodes than the database has".to_owned();
        return Ok(if is_newer { Vec::new() } else { vec![message] });
    }
    let ids = match searcher.ids() {
        Ok(ids) => ids,
        Err(damage) => return Ok(vec![damage.to_string()]),
    };
    let mut violations = Vec::new();
    let indexed = nodes.iter().take_while(|id| id.unsigned_abs() < searcher.watermark.next_id);
    let missing: Vec<&i64> = indexed.filter(|id| ids.binary_search(id).is_err()).collect();
    if let Some(first) = missing.first() {
        violations.push(format!("{} nodes are missing in the index, the first is {first}", missing.len()));
    }
    let duplicates = ids.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if duplicates > 0 {
        violations.push(format!("{duplicates} nodes are in the index twice"));
    }
    let mut deleted_ids = BTreeSet::new();
    let mut position = searcher.watermark.deletions_seen;
    loop {
        let deleted = snapshot.deleted_after(position, super::limits::PAGE_DELETIONS)?;
        let Some((newest, _)) = deleted.last() else { break };
        position = *newest;
        deleted_ids.extend(deleted.iter().map(|(_, id)| i64::try_from(*id).unwrap_or(i64::MAX)));
    }
    let last = nodes.last().copied().unwrap_or(-1);
    let is_unknown =
        |id: &&i64| **id <= last && nodes.binary_search(id).is_err() && !deleted_ids.contains(*id);
    let unknown: Vec<&i64> = ids.iter().filter(is_unknown).collect();
    if let Some(first) = unknown.first() {
        violations.push(format!("{} nodes in the index do not exist, the first is {first}", unknown.len()));
    }
    Ok(violations)
}

/// The statistics of all nodes, in the index and in memory, for the scorers of the index library.
struct CombinedStats {
    docs: u64,
    total_tokens: u64,
    doc_freq: HashMap<Term, u64>,
}

impl CombinedStats {
    fn new(searcher: &IndexSearcher, query: &Query, stats: &TermStats) -> CombinedStats {
        let terms = query.terms().iter().map(|term| searcher.term(term));
        let doc_freq = terms.zip(stats.doc_freq.iter().copied()).collect();
        CombinedStats { docs: stats.docs, total_tokens: stats.total_tokens, doc_freq }
    }
}

impl Bm25StatisticsProvider for CombinedStats {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.total_tokens)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // Filters are terms too. They add no score, but the library asks for their frequency.
        Ok(self.doc_freq.get(term).copied().unwrap_or_default())
    }
}
