//! Vectors in memory, by ascending id, and the exact scan over them.

use super::filter::{DocMeta, Filter};
use super::top_k::TopK;
use super::vector::Vector;

/// Rows per block: 2 MiB. Blocks never move, so growing copies nothing and wastes less than one block.
const BLOCK_ROWS: usize = 4_096;

#[derive(Clone, Copy)]
struct VectorRow {
    id: u64,
    meta: DocMeta,
    is_deleted: bool,
}

/// Unit vectors with the fields that filters use.
#[derive(Default)]
pub(crate) struct Matrix {
    rows: Vec<VectorRow>,
    blocks: Vec<Vec<Vector>>,
    deleted_count: usize,
}

impl Matrix {
    /// The number of rows in memory.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a row. Its id must be above all others; a lower id is a repetition and is ignored.
    pub fn push(&mut self, id: u64, meta: DocMeta, vector: Vector) {
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
        self.rows.push(VectorRow { id, meta, is_deleted: false });
    }

    /// Deletes a row, if it exists. Memory is freed once a quarter of the rows are deleted.
    pub fn delete(&mut self, id: u64) {
        let Ok(index) = self.rows.binary_search_by_key(&id, |row| row.id) else { return };
        let Some(row) = self.rows.get_mut(index) else { return };
        if !std::mem::replace(&mut row.is_deleted, true) {
            self.deleted_count += 1;
        }
        if self.deleted_count * 4 > self.rows.len() {
            self.compact();
        }
    }

    fn compact(&mut self) {
        let old = std::mem::take(self);
        for (row, vector) in old.rows.into_iter().zip(old.blocks.into_iter().flatten()) {
            if !row.is_deleted {
                self.push(row.id, row.meta, vector);
            }
        }
    }

    /// Scores every row that passes the filter.
    pub fn scan(&self, query: &Vector, filter: &Filter, best: &mut TopK) {
        let filtered = !filter.is_empty();
        for (rows, block) in self.rows.chunks(BLOCK_ROWS).zip(&self.blocks) {
            for (row, vector) in rows.iter().zip(block) {
                // A filter costs less than a product and usually leaves few rows.
                if filtered && !filter.matches(&row.meta) {
                    continue;
                }
                let score = query.dot(vector);
                if score >= best.threshold() && !row.is_deleted {
                    best.push(row.id, score, ());
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
        for (position, number) in numbers.iter_mut().enumerate() {
            *number += f32::from(seed.wrapping_mul(position as u8 | 1) % 5);
        }
        Vector::normalize(numbers).unwrap()
    }

    proptest! {
        #[test]
        fn top_hits_match_naive_scan(
            seeds in prop::collection::vec((any::<u8>(), 0u8..3, 0u32..3, any::<bool>()), 0..300),
            query in any::<u8>(),
            limit in 0usize..20,
            types in prop::collection::vec(0u8..3, 0..2),
        ) {
            let filter = Filter { event_types: types, ..Filter::default() };
            let mut matrix = Matrix::default();
            let mut expected = Vec::new();
            for (id, (seed, event_type, session_id, is_deleted)) in seeds.iter().enumerate() {
                let meta = DocMeta { event_type: *event_type, session_id: *session_id, created_at: 0 };
                matrix.push(id as u64 * 3, meta, vector(*seed));
                if *is_deleted {
                    continue;
                }
                if filter.matches(&meta) {
                    expected.push((id as u64 * 3, vector(query).dot(&vector(*seed))));
                }
            }
            for (id, (.., is_deleted)) in seeds.iter().enumerate() {
                if *is_deleted {
                    matrix.delete(id as u64 * 3);
                }
            }
            expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
            expected.truncate(limit);
            let mut best = TopK::new(limit);
            matrix.scan(&vector(query), &filter, &mut best);
            let actual: Vec<(u64, f32)> = best.into_sorted().iter().map(|hit| (hit.id, hit.score)).collect();
            prop_assert_eq!(actual, expected);
        }
    }

    #[test]
    fn rows_span_blocks_and_survive_compaction() {
        let meta = DocMeta { event_type: 0, session_id: 0, created_at: 0 };
        let mut matrix = Matrix::default();
        let rows = BLOCK_ROWS as u64 * 2 + 10;
        for id in 0..rows {
            matrix.push(id, meta, vector((id % 251) as u8));
        }
        matrix.push(3, meta, vector(1));
        assert_eq!(matrix.len() as u64, rows);
        for id in (0..rows).step_by(2) {
            matrix.delete(id);
        }
        matrix.delete(rows + 5);
        assert!((matrix.len() as u64) < rows * 3 / 4);
        let mut best = TopK::new(rows as usize);
        matrix.scan(&vector(1), &Filter::default(), &mut best);
        let mut ids: Vec<u64> = best.into_sorted().iter().map(|hit| hit.id).collect();
        ids.sort_unstable();
        assert_eq!(ids, (1..rows).step_by(2).collect::<Vec<_>>());
    }
}
