//! One query in one view of a tenant's text: its statistics, its ranks, and what each hit has.

use quad_core::Result;

use super::best::Scored;
use super::bm25::Counts;
use super::corpus::Corpus;
use super::filter::Filter;
use super::hits::TextHit;
use super::index::Damage;
use super::limits::{HITS_RANKED, PAGE_DOCS};
use super::query::{Clause, Query};
use super::text::{Place, Text, View};

/// The best `wanted` hits that may be shown. Looks deeper as long as hidden ones take the places.
pub(crate) fn kept<T: Clone>(
    corpus: &mut dyn Corpus,
    wanted: usize,
    mut rank: impl FnMut(&mut dyn Corpus, usize) -> Result<Vec<Scored<T>>>,
) -> Result<Vec<Scored<T>>> {
    let mut depth = (wanted + 16).min(HITS_RANKED);
    loop {
        let ranked = rank(corpus, depth)?;
        let exhausted = ranked.len() < depth || depth >= HITS_RANKED;
        let mut shown = Vec::with_capacity(wanted);
        for batch in ranked.chunks(PAGE_DOCS) {
            let ids: Vec<u64> = batch.iter().map(|hit| hit.id).collect();
            let keep = corpus.keep(&ids)?;
            shown.extend(batch.iter().zip(keep).filter(|(_, keep)| *keep).map(|(hit, _)| hit.clone()));
            if shown.len() >= wanted {
                break;
            }
        }
        if shown.len() >= wanted || exhausted {
            shown.truncate(wanted);
            return Ok(shown);
        }
        depth = (depth * 4).min(HITS_RANKED);
    }
}

/// One query against one view.
pub(crate) struct Ranking<'a> {
    text: &'a Text,
    corpus: &'a mut dyn Corpus,
    query: &'a Query,
    filter: &'a Filter,
    view: View,
    counts: Counts,
}

impl<'a> Ranking<'a> {
    /// Looks at the text as it is in `view`.
    pub fn begin(
        text: &'a Text,
        view: View,
        corpus: &'a mut dyn Corpus,
        query: &'a Query,
        filter: &'a Filter,
    ) -> Result<Ranking<'a>> {
        let mut ranking = Ranking { text, corpus, query, filter, view, counts: Counts::default() };
        ranking.count()?;
        Ok(ranking)
    }

    fn count(&mut self) -> Result<()> {
        loop {
            match self.view.counts(self.corpus, self.query.terms())? {
                Ok(counts) => {
                    self.counts = counts;
                    return Ok(());
                }
                Err(damage) => self.do_without(&damage)?,
            }
        }
    }

    /// Goes on without the index: this happens at most once a search.
    fn do_without(&mut self, damage: &Damage) -> Result<()> {
        self.text.abandon(&self.view, damage);
        self.view = self.text.view_without_index(self.corpus)?;
        Ok(())
    }

    /// The best `wanted` hits that may be shown.
    pub fn kept(&mut self, wanted: usize) -> Result<Vec<Scored<Place>>> {
        loop {
            let mut damaged = None;
            let hits = kept(self.corpus, wanted, |corpus, depth| {
                match self.view.rank(corpus, self.query, &self.counts, self.filter, depth)? {
                    Ok(hits) => Ok(hits),
                    Err(damage) => {
                        damaged = Some(damage);
                        Ok(Vec::new())
                    }
                }
            })?;
            match damaged {
                None => return Ok(hits),
                Some(damage) => {
                    self.do_without(&damage)?;
                    self.count()?;
                }
            }
        }
    }

    /// For each hit, which clauses it has.
    pub fn clauses(&mut self, hits: &[Scored<Place>]) -> Result<Vec<Vec<bool>>> {
        match self.view.matched(self.corpus, self.query, hits)? {
            Ok(matched) => Ok(matched),
            Err(damage) => {
                // The hits stand; only their explanation is lost, this once.
                self.text.abandon(&self.view, &damage);
                Ok(vec![vec![false; self.query.clauses().len()]; hits.len()])
            }
        }
    }

    /// The hits with the clauses that they have, spelled out.
    pub fn explained(&mut self, hits: &[Scored<Place>]) -> Result<Vec<TextHit>> {
        let clauses = self.clauses(hits)?;
        let spelled = |has: Vec<bool>| {
            let matched = self.query.clauses().iter().zip(has).filter(|(_, has)| *has);
            matched.map(|(clause, _)| self.query.spelling(clause)).collect()
        };
        let hits = hits.iter().zip(clauses);
        Ok(hits.map(|(hit, has)| TextHit { id: hit.id, score: hit.score, matched: spelled(has) }).collect())
    }

    /// How much each clause tells: half of it is being asked for, and half its rarity. By rarity alone a word that no node
    /// has would outweigh all that a node does say, most of all in a small memory.
    pub fn clause_weights(&self) -> Vec<f32> {
        let most = self.counts.idf_most();
        let of_term = |term: &usize| 0.5 + 0.5 * self.counts.idf(*term) / most;
        let weight = |clause: &Clause| match clause {
            Clause::Word(term) => of_term(term),
            Clause::Phrase(terms) => terms.iter().map(of_term).sum(),
            Clause::Prefix(_) => 1.0,
        };
        self.query.clauses().iter().map(weight).collect()
    }
}
