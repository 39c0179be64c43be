//! One query against one view of a tenant's text: statistics, ranks, and matched clauses.

use quad_core::Result;

use super::bm25::TermStats;
use super::docs::DocSnapshot;
use super::filter::Filter;
use super::hits::TextHit;
use super::index::IndexError;
use super::limits::{MAX_RANKED_HITS, PAGE_DOCS};
use super::query::{Clause, Query};
use super::text_index::{HitLocation, TextIndex, TextView};
use super::top_k::ScoredDoc;

/// The best `count` visible hits. Ranks deeper while hidden hits take up places.
pub(crate) fn top_visible<T: Clone>(
    snapshot: &mut dyn DocSnapshot,
    count: usize,
    mut rank: impl FnMut(&mut dyn DocSnapshot, usize) -> Result<Vec<ScoredDoc<T>>>,
) -> Result<Vec<ScoredDoc<T>>> {
    let mut depth = (count + 16).min(MAX_RANKED_HITS);
    loop {
        let ranked = rank(snapshot, depth)?;
        let exhausted = ranked.len() < depth || depth >= MAX_RANKED_HITS;
        let mut visible_hits = Vec::with_capacity(count);
        for batch in ranked.chunks(PAGE_DOCS) {
            let ids: Vec<u64> = batch.iter().map(|hit| hit.id).collect();
            let visible = snapshot.visible(&ids)?;
            visible_hits.extend(
                batch.iter().zip(visible).filter(|(_, is_visible)| *is_visible).map(|(hit, _)| hit.clone()),
            );
            if visible_hits.len() >= count {
                break;
            }
        }
        if visible_hits.len() >= count || exhausted {
            visible_hits.truncate(count);
            return Ok(visible_hits);
        }
        depth = (depth * 4).min(MAX_RANKED_HITS);
    }
}

/// One query against one view.
pub(crate) struct Ranking<'a> {
    text_index: &'a TextIndex,
    snapshot: &'a mut dyn DocSnapshot,
    query: &'a Query,
    filter: &'a Filter,
    view: TextView,
    stats: TermStats,
}

impl<'a> Ranking<'a> {
    /// Prepares a ranking: reads the statistics of the query's terms.
    pub fn new(
        text_index: &'a TextIndex,
        view: TextView,
        snapshot: &'a mut dyn DocSnapshot,
        query: &'a Query,
        filter: &'a Filter,
    ) -> Result<Ranking<'a>> {
        let mut ranking = Ranking { text_index, snapshot, query, filter, view, stats: TermStats::default() };
        ranking.load_stats()?;
        Ok(ranking)
    }

    fn load_stats(&mut self) -> Result<()> {
        loop {
            match self.view.stats(self.snapshot, self.query.terms())? {
                Ok(mut stats) => {
                    self.query.merge_forms(&mut stats);
                    self.stats = stats;
                    return Ok(());
                }
                Err(damage) => self.drop_index(&damage)?,
            }
        }
    }

    /// Continues without the index after an error; happens at most once per search.
    fn drop_index(&mut self, damage: &IndexError) -> Result<()> {
        self.text_index.disable_index(&self.view, damage);
        self.view = self.text_index.view_without_index(self.snapshot)?;
        Ok(())
    }

    /// The best `count` visible hits.
    pub fn top_visible(&mut self, count: usize) -> Result<Vec<ScoredDoc<HitLocation>>> {
        loop {
            let mut damaged = None;
            let hits = top_visible(self.snapshot, count, |snapshot, depth| {
                match self.view.rank(snapshot, self.query, &self.stats, self.filter, depth)? {
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
                    self.drop_index(&damage)?;
                    self.load_stats()?;
                }
            }
        }
    }

    /// The statistics of the query's terms.
    pub fn stats(&self) -> &TermStats {
        &self.stats
    }

    /// For each hit, which clauses it matches.
    pub fn matched_clauses(&mut self, hits: &[ScoredDoc<HitLocation>]) -> Result<Vec<Vec<bool>>> {
        match self.view.matched_clauses(self.snapshot, self.query, hits)? {
            Ok(matched) => Ok(matched),
            Err(damage) => {
                // The hits are valid; only their matched terms are missing from this result.
                self.text_index.disable_index(&self.view, &damage);
                Ok(vec![vec![false; self.query.clauses().len()]; hits.len()])
            }
        }
    }

    /// The hits with the texts of their matched clauses.
    pub fn with_matched_terms(&mut self, hits: &[ScoredDoc<HitLocation>]) -> Result<Vec<TextHit>> {
        let clauses = self.matched_clauses(hits)?;
        let matched_texts = |has_clause: Vec<bool>| {
            let matched = self.query.clauses().iter().zip(has_clause).filter(|(_, is_matched)| *is_matched);
            matched.map(|(clause, _)| self.query.clause_text(clause)).collect()
        };
        let hits = hits.iter().zip(clauses);
        Ok(hits
            .map(|(hit, has_clause)| TextHit {
                id: hit.id,
                score: hit.score,
                matched: matched_texts(has_clause),
            })
            .collect())
    }

    /// The weight of each clause: half is constant and half depends on rarity. By rarity alone, a word that no node
    /// contains would outweigh all words that a node contains, most of all in a small memory.
    pub fn clause_weights(&self) -> Vec<f32> {
        let max_idf = self.stats.max_idf();
        let term_weight = |term: &usize| 0.5 + 0.5 * self.stats.idf(*term) / max_idf;
        let weight = |clause: &Clause| match clause {
            Clause::Word(term) => term_weight(term),
            Clause::Phrase(terms) => terms.iter().map(term_weight).sum(),
            Clause::Prefix(_) => 1.0,
        };
        self.query.clauses().iter().map(weight).collect()
    }
}
