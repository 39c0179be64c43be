//! The vectors that callers supplied, of whatever dimension, and the exact scan over them.

use quad_core::Result;

use super::filter::{DocMeta, Filter};
use super::limits::DIMENSIONS;
use super::top_k::TopK;
use super::vector::scale_to_unit;

/// Partial sums of [`UserVector::dot`]: they fix the order of the additions, so the result is the same everywhere.
const LANES: usize = 16;

/// Finite numbers of length one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UserVector(Box<[f32]>);

impl UserVector {
    /// Checks the numbers of a caller and scales them to length one.
    pub fn new(numbers: &[f32]) -> Result<UserVector> {
        let mut numbers: Box<[f32]> = numbers.into();
        scale_to_unit(&mut numbers)?;
        Ok(UserVector(numbers))
    }

    /// The cosine of two vectors; `None` if they have different dimensions.
    pub fn dot(&self, other: &UserVector) -> Option<f32> {
        if self.0.len() != other.0.len() {
            return None;
        }
        let mut lanes = [0.0_f32; LANES];
        for (ours, theirs) in self.0.chunks(LANES).zip(other.0.chunks(LANES)) {
            for (lane, (a, b)) in lanes.iter_mut().zip(ours.iter().zip(theirs)) {
                *lane += a * b;
            }
        }
        Some(lanes.iter().sum())
    }

    /// The memory that it takes, in vectors of the built-in embedding.
    fn weight(&self) -> usize {
        self.0.len().div_ceil(DIMENSIONS)
    }
}

struct Row {
    id: u64,
    meta: DocMeta,
    vector: UserVector,
}

/// Unit vectors by ascending id, with the fields that filters use.
#[derive(Default)]
pub(crate) struct UserVectors {
    rows: Vec<Row>,
    weight: usize,
}

impl UserVectors {
    /// The memory that the rows take, in vectors of the built-in embedding.
    pub fn weight(&self) -> usize {
        self.weight
    }

    /// Adds a row. Its id must be above all others; a lower id is a repetition and is ignored.
    pub fn push(&mut self, id: u64, meta: DocMeta, vector: UserVector) {
        if self.rows.last().is_none_or(|last| last.id < id) {
            self.weight += vector.weight();
            self.rows.push(Row { id, meta, vector });
        }
    }

    /// Deletes a row, if it exists.
    pub fn delete(&mut self, id: u64) {
        if let Ok(index) = self.rows.binary_search_by_key(&id, |row| row.id) {
            self.weight -= self.rows.remove(index).vector.weight();
        }
    }

    /// Scores every row that passes the filter.
    pub fn scan(&self, query: &UserVector, filter: &Filter, best: &mut TopK) {
        for row in self.rows.iter().filter(|row| filter.matches(&row.meta)) {
            if let Some(score) = query.dot(&row.vector) {
                best.push(row.id, score, ());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(numbers: &[f32]) -> UserVector {
        UserVector::new(numbers).unwrap()
    }

    #[test]
    fn cosine_of_any_dimension() {
        for dimension in [1, 3, 16, 17, 128, 384, 1_536] {
            let numbers: Vec<f32> = (0..dimension).map(|index| (index % 7) as f32 - 2.5).collect();
            let negated: Vec<f32> = numbers.iter().map(|number| -number).collect();
            let cosine = vector(&numbers).dot(&vector(&numbers)).unwrap();
            assert!((cosine - 1.0).abs() < 1e-5, "{dimension}: {cosine}");
            assert!((vector(&numbers).dot(&vector(&negated)).unwrap() + 1.0).abs() < 1e-5);
        }
        assert_eq!(vector(&[1.0, 0.0]).dot(&vector(&[0.0, 1.0])), Some(0.0));
        assert_eq!(vector(&[1.0, 0.0]).dot(&vector(&[1.0])), None);
    }

    #[test]
    fn rows_are_scanned_by_filter_and_deleted() {
        let meta = |event_type| DocMeta { event_type, session_id: 1, created_at: 0 };
        let mut rows = UserVectors::default();
        rows.push(1, meta(0), vector(&[1.0, 0.0]));
        rows.push(2, meta(1), vector(&[1.0, 1.0]));
        rows.push(4, meta(0), vector(&[0.0, 1.0]));
        rows.push(2, meta(1), vector(&[1.0, 1.0]));
        assert_eq!(rows.weight(), 3);
        let ids = |rows: &UserVectors, filter: &Filter| -> Vec<u64> {
            let mut best = TopK::new(10);
            rows.scan(&vector(&[1.0, 0.0]), filter, &mut best);
            best.into_sorted().iter().map(|hit| hit.id).collect()
        };
        assert_eq!(ids(&rows, &Filter::default()), [1, 2, 4]);
        assert_eq!(ids(&rows, &Filter { event_types: vec![0], ..Filter::default() }), [1, 4]);
        rows.delete(1);
        rows.delete(3);
        assert_eq!((ids(&rows, &Filter::default()), rows.weight()), (vec![2, 4], 2));
    }
}
