//! Vectors in memory, by ascending id, and the exact scan over them.

use super::best::Best;
use super::filter::{Facts, Filter};
use super::vector::Vector;

/// Rows in one block: 2 MiB. Blocks never move, so growing copies nothing and wastes less than one of them.
const BLOCK_ROWS: usize = 4_096;

#[derive(Clone, Copy)]
struct Row {
    id: u64,
    facts: Facts,
    erased: bool,
}

/// Rows of unit vectors with the facts that filters look at.
#[derive(Default)]
pub(crate) struct Matrix {
    rows: Vec<Row>,
    blocks: Vec<Vec<Vector>>,
    erased: usize,
}

impl Matrix {
    /// How many rows there are in memory.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row. Its id must be above all that are there; another is a repetition and changes nothing.
    pub fn push(&mut self, id: u64, facts: Facts, vector: Vector) {
        if self.rows.last().is_some_and(|last| last.id >= id) {
            return;
        }
        match self.blocks.last_mut() {
            Some(block) if block.len() < BLOCK_ROWS => block.push(vector),
            _ => {
                let mut block = Vec::with_capacity(BLOCK_ROWS);
                block.push(vector);
                self.blocks.push(block);
            }
        }
        self.rows.push(Row { id, facts, erased: false });
    }

    /// Forgets a row, if it is there. Its place is freed once a quarter of all are such.
    pub fn erase(&mut self, id: u64) {
        let Ok(at) = self.rows.binary_search_by_key(&id, |row| row.id) else { return };
        let Some(row) = self.rows.get_mut(at) else { return };
        if !std::mem::replace(&mut row.erased, true) {
            self.erased += 1;
        }
        if self.erased * 4 > self.rows.len() {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let old = std::mem::take(self);
        for (row, vector) in old.rows.into_iter().zip(old.blocks.into_iter().flatten()) {
            if !row.erased {
                self.push(row.id, row.facts, vector);
            }
        }
    }

    /// Offers every row that passes the filter.
    pub fn scan(&self, probe: &Vector, filter: &Filter, best: &mut Best) {
        let filtered = !filter.is_empty();
        for (rows, block) in self.rows.chunks(BLOCK_ROWS).zip(&self.blocks) {
            for (row, vector) in rows.iter().zip(block) {
                // A filter costs less than a product, and usually leaves few.
                if filtered && !filter.admits(&row.facts) {
                    continue;
                }
                let score = probe.dot(vector);
                if score >= best.floor() && !row.erased {
                    best.offer(row.id, score, ());
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::limits::DIMENSIONS;
    use super::*;

    /// Few distinct numbers, so that ties are common.
    fn vector(seed: u8) -> Vector {
        let mut numbers = [0.25; DIMENSIONS];
        for (place, number) in numbers.iter_mut().enumerate() {
            *number += f32::from(seed.wrapping_mul(place as u8 | 1) % 5);
        }
        Vector::normalised(numbers).unwrap()
    }

    proptest! {
        #[test]
        fn the_best_are_those_of_a_plain_loop(
            seeds in prop::collection::vec((any::<u8>(), 0u8..3, 0u32..3, any::<bool>()), 0..300),
            probe in any::<u8>(),
            limit in 0usize..20,
            types in prop::collection::vec(0u8..3, 0..2),
        ) {
            let filter = Filter { event_types: types, ..Filter::default() };
            let mut matrix = Matrix::default();
            let mut plain = Vec::new();
            for (id, (seed, event_type, session_id, erased)) in seeds.iter().enumerate() {
                let facts = Facts { event_type: *event_type, session_id: *session_id, created_at: 0 };
                matrix.push(id as u64 * 3, facts, vector(*seed));
                if *erased {
                    continue;
                }
                if filter.admits(&facts) {
                    plain.push((id as u64 * 3, vector(probe).dot(&vector(*seed))));
                }
            }
            for (id, (.., erased)) in seeds.iter().enumerate() {
                if *erased {
                    matrix.erase(id as u64 * 3);
                }
            }
            plain.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            plain.truncate(limit);
            let mut best = Best::new(limit);
            matrix.scan(&vector(probe), &filter, &mut best);
            let found: Vec<(u64, f32)> = best.into_sorted().iter().map(|hit| (hit.id, hit.score)).collect();
            prop_assert_eq!(found, plain);
        }
    }

    #[test]
    fn rows_span_blocks_and_survive_compaction() {
        let facts = Facts { event_type: 0, session_id: 0, created_at: 0 };
        let mut matrix = Matrix::default();
        let rows = BLOCK_ROWS as u64 * 2 + 10;
        for id in 0..rows {
            matrix.push(id, facts, vector((id % 251) as u8));
        }
        matrix.push(3, facts, vector(1));
        assert_eq!(matrix.len() as u64, rows);
        for id in (0..rows).step_by(2) {
            matrix.erase(id);
        }
        matrix.erase(rows + 5);
        assert!((matrix.len() as u64) < rows * 3 / 4);
        let mut best = Best::new(rows as usize);
        matrix.scan(&vector(1), &Filter::default(), &mut best);
        let mut ids: Vec<u64> = best.into_sorted().iter().map(|hit| hit.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..rows).step_by(2).collect::<Vec<_>>());
    }
}
