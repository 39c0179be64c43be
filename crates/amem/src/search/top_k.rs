//! The best k of a stream of scored ids: highest score first, ties by the lower id.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An id, its score, and where it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ScoredDoc<T = ()> {
    pub score: f32,
    pub id: u64,
    pub location: T,
}

impl<T> PartialEq for ScoredDoc<T> {
    fn eq(&self, other: &ScoredDoc<T>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for ScoredDoc<T> {}

/// The worse one is the greater: it is at the top of the heap, to be replaced first.
impl<T> Ord for ScoredDoc<T> {
    fn cmp(&self, other: &ScoredDoc<T>) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl<T> PartialOrd for ScoredDoc<T> {
    fn partial_cmp(&self, other: &ScoredDoc<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best `limit` entries.
pub(crate) struct TopK<T = ()> {
    limit: usize,
    heap: BinaryHeap<ScoredDoc<T>>,
}

impl<T> TopK<T> {
    pub fn new(limit: usize) -> TopK<T> {
        TopK { limit, heap: BinaryHeap::new() }
    }

    /// The maximum number of entries.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The score that a new entry must reach; minus infinity while there is room.
    pub fn threshold(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.limit => worst.score,
            _ if self.limit == 0 => f32::INFINITY,
            _ => f32::NEG_INFINITY,
        }
    }

    pub fn push(&mut self, id: u64, score: f32, location: T) {
        let scored = ScoredDoc { score, id, location };
        if self.heap.len() < self.limit {
            self.heap.push(scored);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored < *worst
        {
            *worst = scored;
        }
    }

    /// The entries, best first.
    pub fn into_sorted(self) -> Vec<ScoredDoc<T>> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tie_is_won_by_lower_id() {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let mut best = TopK::new(2);
            for id in order {
                best.push(id, 1.0, ());
            }
            best.push(9, 0.5, ());
            let ids: Vec<u64> = best.into_sorted().iter().map(|scored| scored.id).collect();
            assert_eq!(ids, [1, 2]);
        }
    }

    #[test]
    fn zero_limit_keeps_nothing() {
        let mut best = TopK::new(0);
        best.push(1, 1.0, ());
        assert!(best.threshold().is_infinite() && best.into_sorted().is_empty());
    }
}
