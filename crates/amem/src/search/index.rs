//! The text index on disk: what is in it, how it is opened, asked and checked.
//!
//! It is derived from the nodes and never the truth. It holds no text, only which words each node has and what filters look
//! at. With every commit it records how far it reaches ([`Reach`]). Whatever is wrong with it, down to a panic of the
//! library over a damaged file, becomes a [`Damage`], and the answer is then found without it.

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

use super::best::{Best, Scored};
use super::bm25::{self, Counts};
use super::corpus::{Corpus, Doc};
use super::filter::Filter;
use super::limits::OPENING_TRIES;
use super::query::{Clause, Query};
use super::stamp::Stamp;
use super::word_stream::WordStreams;

/// Written into every commit. An index with another number is built anew.
const FORMAT: u32 = 1;

const TOKENIZER: &str = "words";

/// Why an index cannot be used; for the log.
#[derive(Debug)]
pub(crate) struct Damage(pub String);

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<tantivy::TantivyError> for Damage {
    fn from(error: tantivy::TantivyError) -> Damage {
        Damage(error.to_string())
    }
}

pub(crate) type Outcome<T> = std::result::Result<T, Damage>;

/// Runs what touches index files. The library trusts them and may panic over damaged ones.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let message = panic
            .downcast_ref::<String>()
            .map(String::as_str)
            .or_else(|| panic.downcast_ref::<&str>().copied())
            .unwrap_or("no message");
        Err(Damage(format!("the index library panicked: {message}")))
    })
}

/// How far a commit reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Reach {
    format: u32,
    /// All nodes below this id are in it, unless they were forgotten.
    pub next: u64,
    /// All nodes that were forgotten up to this mark are out of it.
    pub mark: i64,
    /// The last node that went in, to notice that the index belongs to another database, or to another past of this one.
    pub anchor: Option<Anchor>,
}

impl Reach {
    pub fn nothing() -> Reach {
        Reach { format: FORMAT, next: 0, mark: i64::MIN, anchor: None }
    }

    /// Whether the nodes that it was built from are those of `corpus`.
    pub fn belongs_to(&self, corpus: &mut dyn Corpus) -> quad_core::Result<bool> {
        let Some(anchor) = &self.anchor else { return Ok(true) };
        let found = corpus.after(anchor.id.checked_sub(1), 1)?;
        match found.first() {
            Some(doc) if doc.id == anchor.id => Ok(Anchor::of(doc) == *anchor),
            // It may have been forgotten since.
            _ => {
                let mut mark = self.mark;
                loop {
                    let erased = corpus.erased(mark, super::limits::PAGE_ERASED)?;
                    if erased.iter().any(|(_, id)| *id == anchor.id) {
                        return Ok(true);
                    }
                    match erased.last() {
                        Some((newest, _)) => mark = *newest,
                        None => return Ok(false),
                    }
                }
            }
        }
    }
}

/// What tells a node from another with the same id.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Anchor {
    pub id: u64,
    created_at: i64,
    digest: String,
}

impl Anchor {
    pub fn of(doc: &Doc) -> Anchor {
        let digest = quad_core::canonical::sha256_hex(doc.content.as_bytes());
        Anchor { id: doc.id, created_at: doc.created_at, digest }
    }
}

/// The index's fields.
#[derive(Clone, Copy)]
pub(crate) struct Fields {
    pub id: Field,
    pub event_type: Field,
    pub session_id: Field,
    pub created_at: Field,
    pub content: Field,
}

pub(crate) fn schema() -> (Schema, Fields) {
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
pub(crate) fn open(folder: &Path) -> Outcome<Option<(Index, Fields, Reach)>> {
    Ok(load(folder)?.map(|(index, fields, reach, _)| (index, fields, reach)))
}

/// An index, how far it reaches, and in which segments.
type Loaded = (Index, Fields, Reach, BTreeSet<SegmentId>);

fn load(folder: &Path) -> Outcome<Option<Loaded>> {
    guarded(|| {
        if !folder.join("meta.json").exists() {
            return Ok(None);
        }
        let index = Index::open_in_dir(folder)?;
        let (schema, fields) = schema();
        if index.schema() != schema {
            return Err(Damage("its fields are those of another version".to_owned()));
        }
        index.tokenizers().register(TOKENIZER, WordStreams);
        let metas = index.load_metas()?;
        if metas.payload.is_none() && metas.segments.is_empty() {
            // Just made; whoever makes it has not committed yet.
            return Ok(None);
        }
        let payload = metas.payload.unwrap_or_default();
        let reach: Reach = serde_json::from_str(&payload)
            .map_err(|error| Damage(format!("it does not say how far it reaches: {error}")))?;
        if reach.format != FORMAT {
            return Err(Damage(format!("its format is {}, not {FORMAT}", reach.format)));
        }
        let segments = metas.segments.iter().map(SegmentMeta::id).collect();
        Ok(Some((index, fields, reach, segments)))
    })
}

/// Makes an empty index in an empty folder. It has no reach, and so is nobody's to read, until its first commit.
pub(crate) fn create(folder: &Path) -> Outcome<(Index, Fields)> {
    guarded(|| {
        let (schema, fields) = schema();
        let directory = MmapDirectory::open(folder).map_err(tantivy::TantivyError::from)?;
        let index = Index::create(directory, schema, tantivy::IndexSettings::default())?;
        index.tokenizers().register(TOKENIZER, WordStreams);
        Ok((index, fields))
    })
}

/// Reads every byte and compares it with the checksums, by mappings of its own, which are gone afterwards.
pub(crate) fn verify(folder: &Path) -> Outcome<()> {
    for _ in 0..OPENING_TRIES {
        let before = Stamp::of(folder);
        match guarded(|| compare(folder)) {
            // What is missing may have been removed with the commit that named it.
            Err(_) if Stamp::of(folder) != before => {}
            settled => return settled,
        }
    }
    Ok(())
}

fn compare(folder: &Path) -> Outcome<()> {
    let Some((index, ..)) = open(folder)? else { return Ok(()) };
    let mut damaged: Vec<String> =
        index.validate_checksum()?.iter().map(|path| path.display().to_string()).collect();
    damaged.sort();
    if damaged.is_empty() {
        Ok(())
    } else {
        Err(Damage(format!("wrong checksums in {}", damaged.join(", "))))
    }
}

/// One commit of the index, open for searching.
pub(crate) struct Commit {
    searcher: Searcher,
    fields: Fields,
    pub reach: Reach,
    docs: u64,
    words: u64,
}

/// What is found when a folder is opened.
pub(crate) enum Opened {
    /// No index, or one that has no commit yet.
    Nothing,
    /// Somebody writes it faster than it can be opened.
    Restless,
    /// Its newest commit.
    Commit(Commit),
}

impl Commit {
    /// Opens the newest commit.
    ///
    /// How far it reaches and which segments it has are read by two looks at one file. Between them another process may
    /// have committed, or have begun to build the index anew, and a reach that promises more than the segments hold would
    /// hide nodes from every search. So a commit counts only if both looks saw the same segments; these have names that
    /// are never given twice.
    pub fn open(folder: &Path) -> Outcome<Opened> {
        for _ in 0..OPENING_TRIES {
            let before = Stamp::of(folder);
            match guarded(|| Commit::look(folder)) {
                Ok(Opened::Restless) => {}
                // What is missing may have been removed with the commit that named it.
                Err(_) if Stamp::of(folder) != before => {}
                settled => return settled,
            }
        }
        Ok(Opened::Restless)
    }

    fn look(folder: &Path) -> Outcome<Opened> {
        let Some((index, fields, reach, segments)) = load(folder)? else { return Ok(Opened::Nothing) };
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let opened = searcher.segment_readers().iter().map(SegmentReader::segment_id).collect();
        if segments != opened {
            return Ok(Opened::Restless);
        }
        let (mut docs, mut words) = (0, 0);
        for segment in searcher.segment_readers() {
            docs += u64::from(segment.max_doc());
            words += segment.inverted_index(fields.content)?.total_num_tokens();
        }
        Ok(Opened::Commit(Commit { searcher, fields, reach, docs, words }))
    }

    /// How many nodes are in it.
    pub fn docs(&self) -> u64 {
        self.docs
    }

    /// The ids of the nodes in it, ascending.
    fn ids(&self) -> Outcome<Vec<i64>> {
        guarded(|| {
            let mut all = Vec::new();
            for segment in self.searcher.segment_readers() {
                let ids = segment.fast_fields().u64("id")?;
                let alive = segment.doc_ids_alive().filter_map(|doc| ids.first(doc));
                all.extend(alive.map(|id| i64::try_from(id).unwrap_or(i64::MAX)));
            }
            all.sort_unstable();
            Ok(all)
        })
    }

    /// The index's share of the statistics. Forgotten nodes count until their segment is merged.
    pub fn counts(&self, terms: &[String]) -> Outcome<Counts> {
        guarded(|| {
            let having = terms.iter().map(|term| Ok(self.searcher.doc_freq(&self.term(term))?));
            Ok(Counts { docs: self.docs, words: self.words, having: having.collect::<Outcome<_>>()? })
        })
    }

    /// The best nodes, scored by the statistics of all nodes.
    pub fn search(
        &self,
        query: &Query,
        counts: &Counts,
        filter: &Filter,
        gone: &HashSet<u64>,
        limit: usize,
    ) -> Outcome<Vec<Scored<DocAddress>>> {
        guarded(|| {
            let statistics = Statistics::new(self, query, counts);
            let scoring = EnableScoring::enabled_from_statistics_provider(&statistics, &self.searcher);
            let weight = self.tantivy_query(query, filter).weight(scoring)?;
            let mut best = Best::new(limit);
            for (ordinal, segment) in self.searcher.segment_readers().iter().enumerate() {
                let ids = segment.fast_fields().u64("id")?;
                let alive = segment.alive_bitset();
                let threshold = |best: &Best<DocAddress>| match best.floor() {
                    floor if floor == f32::NEG_INFINITY => f32::MIN,
                    floor => bm25::just_below(floor),
                };
                let start = threshold(&best);
                weight.for_each_pruning(start, segment, &mut |doc, score| {
                    if alive.is_none_or(|alive| alive.is_alive(doc))
                        && let Some(id) = ids.first(doc)
                        && !gone.contains(&id)
                    {
                        best.offer(id, bm25::rounded(score), DocAddress::new(ordinal as u32, doc));
                    }
                    threshold(&best)
                })?;
            }
            Ok(best.into_sorted())
        })
    }

    /// For each of these nodes, which clauses it has.
    pub fn matched(&self, query: &Query, places: &[DocAddress]) -> Outcome<HashMap<DocAddress, Vec<bool>>> {
        guarded(|| {
            let mut sorted = places.to_vec();
            sorted.sort_unstable();
            let mut matched: HashMap<DocAddress, Vec<bool>> = HashMap::new();
            for clause in query.clauses() {
                let scoring = EnableScoring::disabled_from_searcher(&self.searcher);
                let weight = self.clause(query, clause).weight(scoring)?;
                for group in sorted.chunk_by(|a, b| a.segment_ord == b.segment_ord) {
                    let Some(first) = group.first() else { continue };
                    let mut found = weight.scorer(self.searcher.segment_reader(first.segment_ord), 1.0)?;
                    for place in group {
                        let at = found.doc();
                        let at =
                            if at < place.doc_id && at != TERMINATED { found.seek(place.doc_id) } else { at };
                        matched.entry(*place).or_default().push(at == place.doc_id);
                    }
                }
            }
            Ok(matched)
        })
    }

    fn term(&self, word: &str) -> Term {
        Term::from_field_text(self.fields.content, word)
    }

    fn tantivy_query(&self, query: &Query, filter: &Filter) -> BooleanQuery {
        let clauses: Vec<(Occur, Box<dyn tantivy::query::Query>)> =
            query.clauses().iter().map(|clause| (Occur::Should, self.clause(query, clause))).collect();
        let wanted = BooleanQuery::new(clauses);
        if filter.is_empty() {
            return wanted;
        }
        let mut all: Vec<(Occur, Box<dyn tantivy::query::Query>)> = vec![(Occur::Must, Box::new(wanted))];
        let mut must = |query: Box<dyn tantivy::query::Query>| {
            // A filter decides whether, never how well.
            all.push((Occur::Must, Box::new(ConstScoreQuery::new(query, 0.0))));
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
            must(any_of(terms.collect()));
        }
        if !filter.sessions.is_empty() {
            let terms =
                filter.sessions.iter().map(|s| Term::from_field_u64(self.fields.session_id, u64::from(*s)));
            must(any_of(terms.collect()));
        }
        if filter.created_from.is_some() || filter.created_to.is_some() {
            let bound = |time: Option<i64>| match time {
                Some(time) => Bound::Included(Term::from_field_i64(self.fields.created_at, time)),
                None => Bound::Unbounded,
            };
            must(Box::new(RangeQuery::new(bound(filter.created_from), bound(filter.created_to))));
        }
        BooleanQuery::new(all)
    }

    fn clause(&self, query: &Query, clause: &Clause) -> Box<dyn tantivy::query::Query> {
        let term = |term: &usize| self.term(query.terms().get(*term).map_or("", String::as_str));
        match clause {
            Clause::Word(word) => Box::new(TermQuery::new(term(word), IndexRecordOption::WithFreqs)),
            Clause::Phrase(words) => Box::new(PhraseQuery::new(words.iter().map(term).collect())),
            Clause::Prefix(prefix) => {
                // Unicode's last code point is no letter, so this is above all words that begin with the prefix.
                let above = self.term(&format!("{prefix}\u{10ffff}"));
                Box::new(InvertedIndexRangeQuery::new(
                    Bound::Included(self.term(prefix)),
                    Bound::Excluded(above),
                ))
            }
        }
    }
}

/// Compares the newest commit with the nodes, given by ascending id: every node that it reaches must be in it once, and nothing
/// else but what was forgotten since. Says what is wrong.
pub(crate) fn check(folder: &Path, corpus: &mut dyn Corpus, nodes: &[i64]) -> quad_core::Result<Vec<String>> {
    if let Err(damage) = verify(folder) {
        return Ok(vec![damage.to_string()]);
    }
    let commit = match Commit::open(folder) {
        Ok(Opened::Commit(commit)) => commit,
        Ok(Opened::Nothing | Opened::Restless) => return Ok(Vec::new()),
        Err(damage) => return Ok(vec![damage.to_string()]),
    };
    if !commit.reach.belongs_to(corpus)? {
        // A commit that is newer than this snapshot has nodes that are not here yet; its writer knows them.
        let is_newer = nodes.last().is_none_or(|last| commit.reach.next > last.unsigned_abs() + 1);
        let wrong = "it was built from other nodes than the database has".to_owned();
        return Ok(if is_newer { Vec::new() } else { vec![wrong] });
    }
    let ids = match commit.ids() {
        Ok(ids) => ids,
        Err(damage) => return Ok(vec![damage.to_string()]),
    };
    let mut faults = Vec::new();
    let reached = nodes.iter().take_while(|id| id.unsigned_abs() < commit.reach.next);
    let missing: Vec<&i64> = reached.filter(|id| ids.binary_search(id).is_err()).collect();
    if let Some(first) = missing.first() {
        faults.push(format!("{} nodes are not in it, the first is {first}", missing.len()));
    }
    let twice = ids.windows(2).filter(|pair| pair[0] == pair[1]).count();
    if twice > 0 {
        faults.push(format!("{twice} nodes are in it twice"));
    }
    let mut forgotten = BTreeSet::new();
    let mut mark = commit.reach.mark;
    loop {
        let erased = corpus.erased(mark, super::limits::PAGE_ERASED)?;
        let Some((newest, _)) = erased.last() else { break };
        mark = *newest;
        forgotten.extend(erased.iter().map(|(_, id)| i64::try_from(*id).unwrap_or(i64::MAX)));
    }
    let last = nodes.last().copied().unwrap_or(-1);
    let stray = |id: &&i64| **id <= last && nodes.binary_search(id).is_err() && !forgotten.contains(*id);
    let strays: Vec<&i64> = ids.iter().filter(stray).collect();
    if let Some(first) = strays.first() {
        faults.push(format!("{} nodes are in it that do not exist, the first is {first}", strays.len()));
    }
    Ok(faults)
}

/// All nodes' statistics, index and tail together, for the library's scorers.
struct Statistics {
    docs: u64,
    words: u64,
    having: HashMap<Term, u64>,
}

impl Statistics {
    fn new(commit: &Commit, query: &Query, counts: &Counts) -> Statistics {
        let terms = query.terms().iter().map(|term| commit.term(term));
        let having = terms.zip(counts.having.iter().copied()).collect();
        Statistics { docs: counts.docs, words: counts.words, having }
    }
}

impl Bm25StatisticsProvider for Statistics {
    fn total_num_tokens(&self, _: Field) -> tantivy::Result<u64> {
        Ok(self.words)
    }

    fn total_num_docs(&self) -> tantivy::Result<u64> {
        Ok(self.docs)
    }

    fn doc_freq(&self, term: &Term) -> tantivy::Result<u64> {
        // Filters are terms too; they score nothing, but the library asks.
        Ok(self.having.get(term).copied().unwrap_or_default())
    }
}
