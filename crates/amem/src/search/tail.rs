//! Nodes that the text index does not have yet, in memory, as sequences of word numbers.
//!
//! A search reads all of it: some thousand nodes take less time than opening a posting list of their own would be worth.

use std::collections::HashMap;

use super::bm25::{self, Counts};
use super::corpus::Doc;
use super::filter::{Facts, Filter};
use super::limits::WORD_BYTES;
use super::query::{Clause, Query};
use super::words::Words;

/// The number of a word that is too long to be searched for; it only keeps its place.
const NO_WORD: u32 = u32::MAX;

/// Nodes by ascending id.
#[derive(Clone, Default)]
pub(crate) struct Tail {
    vocabulary: HashMap<Box<str>, u32>,
    docs: Vec<TailDoc>,
    words: u64,
    bytes: usize,
}

#[derive(Clone)]
struct TailDoc {
    id: u64,
    facts: Facts,
    words: Box<[u32]>,
    /// Words that count towards its length: those that can be searched for.
    length: u32,
    bytes: usize,
}

/// A query's clauses in the tail's own numbers.
struct Resolved {
    clauses: Vec<ResolvedClause>,
    terms: Vec<Option<u32>>,
}

enum ResolvedClause {
    /// Some word of it is nowhere here.
    Never,
    Word(u32),
    Phrase(Vec<u32>),
    /// For each word number whether it begins so.
    Prefix(Vec<bool>),
}

impl Tail {
    pub fn len(&self) -> usize {
        self.docs.len()
    }

    /// Bytes of the texts.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    pub fn push(&mut self, doc: &Doc) {
        let mut numbers = Vec::new();
        let mut found = Words::of(&doc.content);
        while found.advance() {
            numbers.push(self.number(found.word()));
        }
        let length = numbers.iter().filter(|number| **number != NO_WORD).count() as u32;
        let bytes = doc.content.len();
        self.words += u64::from(length);
        self.bytes += bytes;
        self.docs.push(TailDoc { id: doc.id, facts: doc.facts(), words: numbers.into(), length, bytes });
    }

    fn number(&mut self, word: &str) -> u32 {
        if word.len() > WORD_BYTES {
            return NO_WORD;
        }
        if let Some(number) = self.vocabulary.get(word) {
            return *number;
        }
        let number = u32::try_from(self.vocabulary.len()).unwrap_or(NO_WORD);
        self.vocabulary.insert(word.into(), number);
        number
    }

    /// Adds the nodes of another tail, whose ids are above all that are here.
    pub fn append(&mut self, other: &Tail) {
        let mut here = vec![NO_WORD; other.vocabulary.len()];
        for (word, number) in &other.vocabulary {
            if let Some(place) = here.get_mut(*number as usize) {
                *place = self.number(word);
            }
        }
        let number = |word: &u32| here.get(*word as usize).copied().unwrap_or(NO_WORD);
        for doc in &other.docs {
            let words = doc.words.iter().map(number).collect();
            self.docs.push(TailDoc { words, ..doc.clone() });
        }
        self.words += other.words;
        self.bytes += other.bytes;
    }

    pub fn contains(&self, id: u64) -> bool {
        self.docs.binary_search_by_key(&id, |doc| doc.id).is_ok()
    }

    pub fn remove(&mut self, id: u64) {
        if let Ok(at) = self.docs.binary_search_by_key(&id, |doc| doc.id) {
            let doc = self.docs.remove(at);
            self.words -= u64::from(doc.length);
            self.bytes -= doc.bytes;
        }
    }

    /// The nodes' share of the statistics for these words.
    pub fn counts(&self, terms: &[String]) -> Counts {
        let numbers = terms.iter().map(|term| self.vocabulary.get(term.as_str()).copied());
        let having = numbers
            .map(|number| match number {
                None => 0,
                Some(number) => self.docs.iter().filter(|doc| doc.words.contains(&number)).count() as u64,
            })
            .collect();
        Counts { docs: self.docs.len() as u64, words: self.words, having }
    }

    /// Offers each node that has any clause, with its rounded score by the statistics of all nodes.
    pub fn scan(&self, query: &Query, counts: &Counts, filter: &Filter, offer: &mut dyn FnMut(u64, f32)) {
        let resolved = self.resolve(query);
        if resolved.clauses.iter().all(|clause| matches!(clause, ResolvedClause::Never)) {
            return;
        }
        let average = counts.average_words();
        let idfs: Vec<f32> = query.clauses().iter().map(|clause| clause_idf(clause, counts)).collect();
        for doc in self.docs.iter().filter(|doc| filter.admits(&doc.facts)) {
            let mut sum = 0.0;
            let mut any = false;
            for (clause, idf) in resolved.clauses.iter().zip(&idfs) {
                let times = clause.times(&doc.words);
                if times == 0 {
                    continue;
                }
                any = true;
                sum += match clause {
                    // However many words begin so and however rare they are: they were not asked for by name.
                    ResolvedClause::Prefix(_) => 1.0,
                    _ => bm25::score(*idf, times, doc.length, average),
                };
            }
            if any {
                offer(doc.id, bm25::rounded(sum));
            }
        }
    }

    /// For those of the nodes that are here, which clauses of the query they have.
    pub fn matched(&self, query: &Query, ids: &[u64]) -> HashMap<u64, Vec<bool>> {
        let resolved = self.resolve(query);
        let doc =
            |id: &u64| self.docs.binary_search_by_key(id, |doc| doc.id).ok().and_then(|at| self.docs.get(at));
        let matched =
            |doc: &TailDoc| resolved.clauses.iter().map(|clause| clause.times(&doc.words) > 0).collect();
        ids.iter().filter_map(doc).map(|doc| (doc.id, matched(doc))).collect()
    }

    /// The same for all that are here, which need not be sorted.
    pub fn matched_in_any_order(&self, query: &Query) -> HashMap<u64, Vec<bool>> {
        let resolved = self.resolve(query);
        let matched =
            |doc: &TailDoc| resolved.clauses.iter().map(|clause| clause.times(&doc.words) > 0).collect();
        self.docs.iter().map(|doc| (doc.id, matched(doc))).collect()
    }

    fn resolve(&self, query: &Query) -> Resolved {
        let terms: Vec<Option<u32>> =
            query.terms().iter().map(|term| self.vocabulary.get(term.as_str()).copied()).collect();
        let mut resolved = Resolved { clauses: Vec::with_capacity(query.clauses().len()), terms };
        for clause in query.clauses() {
            let clause = match clause {
                Clause::Word(term) => resolved.number(term).map(ResolvedClause::Word),
                Clause::Phrase(terms) => terms
                    .iter()
                    .map(|term| resolved.number(term))
                    .collect::<Option<_>>()
                    .map(ResolvedClause::Phrase),
                Clause::Prefix(prefix) => Some(ResolvedClause::Prefix(self.beginning(prefix))),
            };
            resolved.clauses.push(clause.unwrap_or(ResolvedClause::Never));
        }
        resolved
    }

    fn beginning(&self, prefix: &str) -> Vec<bool> {
        let mut begins = vec![false; self.vocabulary.len()];
        for (word, number) in &self.vocabulary {
            if let Some(begins) = begins.get_mut(*number as usize) {
                *begins = word.starts_with(prefix);
            }
        }
        begins
    }
}

impl Resolved {
    fn number(&self, term: &usize) -> Option<u32> {
        self.terms.get(*term).copied().flatten()
    }
}

impl ResolvedClause {
    /// How often a text has it; for a prefix only whether.
    fn times(&self, words: &[u32]) -> u32 {
        match self {
            ResolvedClause::Never => 0,
            ResolvedClause::Word(number) => words.iter().filter(|word| *word == number).count() as u32,
            ResolvedClause::Phrase(numbers) => {
                words.windows(numbers.len()).filter(|window| window == numbers).count() as u32
            }
            ResolvedClause::Prefix(begins) => {
                u32::from(words.iter().any(|word| begins.get(*word as usize).copied().unwrap_or_default()))
            }
        }
    }
}

/// The idf of a word, or of a phrase's words together.
fn clause_idf(clause: &Clause, counts: &Counts) -> f32 {
    match clause {
        Clause::Word(term) => counts.idf(*term),
        Clause::Phrase(terms) => terms.iter().map(|term| counts.idf(*term)).sum(),
        Clause::Prefix(_) => 0.0,
    }
}
