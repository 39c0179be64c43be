//! Nodes that the text index does not have yet, in memory, as sequences of word numbers.
//!
//! A search scans all of it. For a few thousand nodes that takes less time than building posting lists would.

use std::collections::HashMap;

use super::bm25::{self, TermStats};
use super::docs::Doc;
use super::filter::{DocMeta, Filter};
use super::limits::WORD_BYTES;
use super::query::{Clause, Query};
use super::words::WordScanner;

/// The number of a word that is too long to be searched for; it only keeps its position.
const UNTRACKED: u32 = u32::MAX;

/// Nodes by ascending id.
#[derive(Clone, Default)]
pub(crate) struct MemorySegment {
    vocabulary: HashMap<Box<str>, u32>,
    docs: Vec<SegmentDoc>,
    total_tokens: u64,
    bytes: usize,
}

#[derive(Clone)]
struct SegmentDoc {
    id: u64,
    meta: DocMeta,
    tokens: Box<[u32]>,
    /// The number of words without those that are too long: the length for BM25.
    length: u32,
    bytes: usize,
}

/// A query's clauses with the word numbers of this segment.
struct ResolvedQuery {
    clauses: Vec<ResolvedClause>,
    terms: Vec<Option<u32>>,
}

enum ResolvedClause {
    /// Some word of the clause does not occur in this segment.
    NoMatch,
    Word(u32),
    Phrase(Vec<u32>),
    /// For each word number, whether the word has the prefix.
    Prefix(Vec<bool>),
}

/// For each word number of a segment, a position in a list of words; [`UNTRACKED`] if it is not in the list.
struct NumberByToken(Vec<u32>);

impl NumberByToken {
    fn get(&self, token: u32) -> Option<usize> {
        self.0
            .get(token as usize)
            .copied()
            .filter(|number| *number != UNTRACKED)
            .map(|number| number as usize)
    }
}

impl MemorySegment {
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    /// The bytes of the texts.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn push(&mut self, doc: &Doc) {
        let mut tokens = Vec::new();
        let mut scanner = WordScanner::new(&doc.content);
        while scanner.advance() {
            tokens.push(self.token_id_or_insert(scanner.word()));
        }
        let length = tokens.iter().filter(|token| **token != UNTRACKED).count() as u32;
        let bytes = doc.content.len();
        self.total_tokens += u64::from(length);
        self.bytes += bytes;
        self.docs.push(SegmentDoc { id: doc.id, meta: doc.meta(), tokens: tokens.into(), length, bytes });
    }

    fn token_id_or_insert(&mut self, word: &str) -> u32 {
        if word.len() > WORD_BYTES {
            return UNTRACKED;
        }
        if let Some(id) = self.vocabulary.get(word) {
            return *id;
        }
        let id = u32::try_from(self.vocabulary.len()).unwrap_or(UNTRACKED);
        self.vocabulary.insert(word.into(), id);
        id
    }

    /// Adds the nodes of another segment, whose ids are all greater.
    pub fn append(&mut self, other: &MemorySegment) {
        let mut id_map = vec![UNTRACKED; other.vocabulary.len()];
        for (word, token_id) in &other.vocabulary {
            if let Some(slot) = id_map.get_mut(*token_id as usize) {
                *slot = self.token_id_or_insert(word);
            }
        }
        let map_token = |token: &u32| id_map.get(*token as usize).copied().unwrap_or(UNTRACKED);
        for doc in &other.docs {
            let tokens = doc.tokens.iter().map(map_token).collect();
            self.docs.push(SegmentDoc { tokens, ..doc.clone() });
        }
        self.total_tokens += other.total_tokens;
        self.bytes += other.bytes;
    }

    pub fn contains(&self, id: u64) -> bool {
        self.docs.binary_search_by_key(&id, |doc| doc.id).is_ok()
    }

    pub fn remove(&mut self, id: u64) {
        if let Ok(index) = self.docs.binary_search_by_key(&id, |doc| doc.id) {
            let doc = self.docs.remove(index);
            self.total_tokens -= u64::from(doc.length);
            self.bytes -= doc.bytes;
        }
    }

    /// Calls `on_word` for each word that begins with one of the prefixes.
    pub fn words_with_prefixes(&self, prefixes: &[String], on_word: &mut dyn FnMut(&str)) {
        for word in self.vocabulary.keys() {
            if prefixes.iter().any(|prefix| word.starts_with(prefix.as_str())) {
                on_word(word);
            }
        }
    }

    /// This segment's part of the statistics for these words.
    pub fn stats(&self, terms: &[String]) -> TermStats {
        let term_of = self.numbers_by_token(terms.iter().map(|term| self.token_id(term)));
        let mut doc_freq = vec![0; terms.len()];
        // The last node in which each term was counted.
        let mut counted_in = vec![usize::MAX; terms.len()];
        for (position, doc) in self.docs.iter().enumerate() {
            for term in doc.tokens.iter().filter_map(|token| term_of.get(*token)) {
                if let (Some(last), Some(count)) = (counted_in.get_mut(term), doc_freq.get_mut(term))
                    && std::mem::replace(last, position) != position
                {
                    *count += 1;
                }
            }
        }
        TermStats { docs: self.docs.len() as u64, total_tokens: self.total_tokens, doc_freq }
    }

    /// Calls `on_match` for each node that matches any clause, with its rounded score by the statistics of all
    /// nodes.
    pub fn scan(&self, query: &Query, stats: &TermStats, filter: &Filter, on_hit: &mut dyn FnMut(u64, f32)) {
        let resolved = self.resolve(query);
        if resolved.clauses.iter().all(|clause| matches!(clause, ResolvedClause::NoMatch)) {
            return;
        }
        let average = stats.average_doc_length();
        let idfs: Vec<f32> = query.clauses().iter().map(|clause| clause_idf(clause, stats)).collect();
        let clause_of = self.numbers_by_token(resolved.clauses.iter().map(|clause| match clause {
            ResolvedClause::Word(token) => Some(*token),
            _ => None,
        }));
        let mut counts = vec![0_u32; resolved.clauses.len()];
        for doc in self.docs.iter().filter(|doc| filter.matches(&doc.meta)) {
            counts.fill(0);
            for clause in doc.tokens.iter().filter_map(|token| clause_of.get(*token)) {
                if let Some(count) = counts.get_mut(clause) {
                    *count += 1;
                }
            }
            let mut sum = 0.0;
            let mut any = false;
            for ((clause, idf), word_count) in resolved.clauses.iter().zip(&idfs).zip(&counts) {
                let occurrences = match clause {
                    ResolvedClause::Word(_) => *word_count,
                    _ => clause.count_occurrences(&doc.tokens),
                };
                if occurrences == 0 {
                    continue;
                }
                any = true;
                sum += match clause {
                    // A prefix scores one, however many words have it and however rare they are: the query does not
                    // name them.
                    ResolvedClause::Prefix(_) => 1.0,
                    _ => bm25::score(*idf, occurrences, doc.length, average),
                };
            }
            if any {
                on_hit(doc.id, bm25::round_score(sum));
            }
        }
    }

    fn token_id(&self, word: &str) -> Option<u32> {
        self.vocabulary.get(word).copied()
    }

    /// The position in a list for each word number in it. Looked up for each word of each node, so that the time does
    /// not grow with the length of the list.
    fn numbers_by_token(&self, tokens: impl Iterator<Item = Option<u32>>) -> NumberByToken {
        let mut numbers = vec![UNTRACKED; self.vocabulary.len()];
        for (token, number) in tokens.zip(0..) {
            if let Some(slot) = token.and_then(|token| numbers.get_mut(token as usize)) {
                *slot = number;
            }
        }
        NumberByToken(numbers)
    }

    /// For those of the nodes that are in this segment, which clauses of the query they match.
    pub fn matched_clauses(&self, query: &Query, ids: &[u64]) -> HashMap<u64, Vec<bool>> {
        let resolved = self.resolve(query);
        let doc = |id: &u64| {
            self.docs.binary_search_by_key(id, |doc| doc.id).ok().and_then(|index| self.docs.get(index))
        };
        let clauses_of = |doc: &SegmentDoc| {
            resolved.clauses.iter().map(|clause| clause.count_occurrences(&doc.tokens) > 0).collect()
        };
        ids.iter().filter_map(doc).map(|doc| (doc.id, clauses_of(doc))).collect()
    }

    /// For all nodes in this segment, which need not be sorted, which clauses they match.
    pub fn matched_clauses_unsorted(&self, query: &Query) -> HashMap<u64, Vec<bool>> {
        let resolved = self.resolve(query);
        let clauses_of = |doc: &SegmentDoc| {
            resolved.clauses.iter().map(|clause| clause.count_occurrences(&doc.tokens) > 0).collect()
        };
        self.docs.iter().map(|doc| (doc.id, clauses_of(doc))).collect()
    }

    fn resolve(&self, query: &Query) -> ResolvedQuery {
        let terms: Vec<Option<u32>> = query.terms().iter().map(|term| self.token_id(term)).collect();
        let mut resolved = ResolvedQuery { clauses: Vec::with_capacity(query.clauses().len()), terms };
        for clause in query.clauses() {
            let clause = match clause {
                Clause::Word(term) => resolved.token_id(term).map(ResolvedClause::Word),
                Clause::Phrase(terms) => terms
                    .iter()
                    .map(|term| resolved.token_id(term))
                    .collect::<Option<_>>()
                    .map(ResolvedClause::Phrase),
                Clause::Prefix(prefix) => Some(ResolvedClause::Prefix(self.with_prefix(prefix))),
            };
            resolved.clauses.push(clause.unwrap_or(ResolvedClause::NoMatch));
        }
        resolved
    }

    fn with_prefix(&self, prefix: &str) -> Vec<bool> {
        let mut has_prefix = vec![false; self.vocabulary.len()];
        for (word, token_id) in &self.vocabulary {
            if let Some(slot) = has_prefix.get_mut(*token_id as usize) {
                *slot = word.starts_with(prefix);
            }
        }
        has_prefix
    }
}

impl ResolvedQuery {
    fn token_id(&self, term: &usize) -> Option<u32> {
        self.terms.get(*term).copied().flatten()
    }
}

impl ResolvedClause {
    /// The number of occurrences; for a prefix at most one.
    fn count_occurrences(&self, tokens: &[u32]) -> u32 {
        match self {
            ResolvedClause::NoMatch => 0,
            ResolvedClause::Word(token_id) => tokens.iter().filter(|token| *token == token_id).count() as u32,
            ResolvedClause::Phrase(token_ids) => {
                tokens.windows(token_ids.len()).filter(|window| window == token_ids).count() as u32
            }
            ResolvedClause::Prefix(has_prefix) => u32::from(
                tokens.iter().any(|token| has_prefix.get(*token as usize).copied().unwrap_or_default()),
            ),
        }
    }
}

/// The idf of a word, or the sum over a phrase's words.
fn clause_idf(clause: &Clause, stats: &TermStats) -> f32 {
    match clause {
        Clause::Word(term) => stats.idf(*term),
        Clause::Phrase(terms) => terms.iter().map(|term| stats.idf(*term)).sum(),
        Clause::Prefix(_) => 0.0,
    }
}
