//! The best so many of a stream of scored ids: highest score first, ties by the lower id.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

/// An id, how well it fits, and where it was found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scored<T = ()> {
    pub score: f32,
    pub id: u64,
    pub place: T,
}

impl<T> PartialEq for Scored<T> {
    fn eq(&self, other: &Scored<T>) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<T> Eq for Scored<T> {}

/// The worse one is the greater: it lies on top of the heap, ready to be replaced.
impl<T> Ord for Scored<T> {
    fn cmp(&self, other: &Scored<T>) -> Ordering {
        other.score.total_cmp(&self.score).then(self.id.cmp(&other.id))
    }
}

impl<T> PartialOrd for Scored<T> {
    fn partial_cmp(&self, other: &Scored<T>) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// Keeps the best `limit` of what it is offered.
pub(crate) struct Best<T = ()> {
    limit: usize,
    heap: BinaryHeap<Scored<T>>,
}

impl<T> Best<T> {
    pub fn new(limit: usize) -> Best<T> {
        Best { limit, heap: BinaryHeap::new() }
    }

    /// How many it keeps.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// The score below which nothing gets in any more; below all if there is room.
    pub fn floor(&self) -> f32 {
        match self.heap.peek() {
            Some(worst) if self.heap.len() >= self.limit => worst.score,
            _ if self.limit == 0 => f32::INFINITY,
            _ => f32::NEG_INFINITY,
        }
    }

    pub fn offer(&mut self, id: u64, score: f32, place: T) {
        let scored = Scored { score, id, place };
        if self.heap.len() < self.limit {
            self.heap.push(scored);
        } else if let Some(mut worst) = self.heap.peek_mut()
            && scored < *worst
        {
            *worst = scored;
        }
    }

    /// What is left, the best first.
    pub fn into_sorted(self) -> Vec<Scored<T>> {
        self.heap.into_sorted_vec()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_id_wins_a_tie_whatever_comes_first() {
        for order in [[1, 2, 3], [3, 2, 1], [2, 3, 1]] {
            let mut best = Best::new(2);
            for id in order {
                best.offer(id, 1.0, ());
            }
            best.offer(9, 0.5, ());
            let ids: Vec<u64> = best.into_sorted().iter().map(|scored| scored.id).collect();
            assert_eq!(ids, [1, 2]);
        }
    }

    #[test]
    fn nothing_fits_into_none() {
        let mut best = Best::new(0);
        best.offer(1, 1.0, ());
        assert!(best.floor().is_infinite() && best.into_sorted().is_empty());
    }
}
