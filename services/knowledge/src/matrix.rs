//! Vectors with one byte per number, to find the candidates for an exact comparison.

use crate::{
    top_chunks::{Scored, TopChunks},
    vector::{self, QueryVector},
};

/// Number of candidates that are kept when their list is pruned.
const PRUNE_AT: usize = 4096;

/// Bound on the rounding errors of floating point.
const ROUNDING: f64 = 1e-6;

/// All vectors of one length, in a quarter of their size in the file, and four times as fast to
/// read.
///
/// A row is a unit vector quantized to 127 steps in each direction, with the error of that. Its
/// similarity to a question differs from the exact one by at most that error, so a row that is left
/// out here cannot be among the best.
#[derive(Debug)]
pub(super) struct Matrix {
    dimensions: usize,
    codes: Vec<i8>,
    rows: Vec<Row>,
    /// The unit vector of the row that is being added.
    unit: Vec<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Row {
    id: i64,
    product: u32,
    step: f32,
    error: f32,
}

/// Chunks that may be among the best, with upper bounds of their scores.
#[derive(Debug)]
pub(super) struct Candidates {
    /// Set if there is any row of the selected products.
    pub(super) is_any: bool,
    /// Highest bound first.
    pub(super) rows: Vec<Scored>,
}

// === impl Matrix ===

impl Matrix {
    /// Allocates memory for this many rows.
    pub(super) fn new(dimensions: usize, rows: usize) -> Self {
        Self {
            dimensions,
            codes: Vec::with_capacity(dimensions.saturating_mul(rows)),
            rows: Vec::with_capacity(rows),
            unit: Vec::with_capacity(dimensions),
        }
    }

    /// Returns the size of this many rows in bytes.
    pub(super) fn size(dimensions: usize, rows: usize) -> usize {
        rows.saturating_mul(dimensions.saturating_add(size_of::<Row>()))
    }

    pub(super) fn dimensions(&self) -> usize {
        self.dimensions
    }

    pub(super) fn len(&self) -> usize {
        self.rows.len()
    }

    /// Adds a vector of the file, which must have the right length; a zero vector is left out.
    pub(super) fn push(&mut self, id: i64, product: u32, bytes: &[u8]) {
        let Some(length) = vector::length(vector::values(bytes)) else {
            return;
        };
        let values = vector::values(bytes).map(|value| f64::from(value) / length);
        self.unit.clear();
        self.unit.extend(values);
        let largest = self
            .unit
            .iter()
            .fold(0.0_f64, |most, value| most.max(value.abs()));
        let step = single(largest / 127.0);
        let wide = f64::from(step);
        let begin = self.codes.len();
        self.codes
            .extend(self.unit.iter().map(|value| code(value / wide)));
        let codes = self.codes[begin..].iter();
        let error = vector::distance(&self.unit, codes.map(|code| f64::from(*code) * wide));
        self.rows.push(Row {
            id,
            product,
            step,
            error: single(error),
        });
    }

    /// Frees the memory that only adding rows needs.
    pub(super) fn finish(&mut self) {
        self.unit = Vec::new();
        self.codes.shrink_to_fit();
        self.rows.shrink_to_fit();
    }

    /// Returns whether it has a row of these products.
    pub(super) fn has(&self, selected: &[bool]) -> bool {
        let mut rows = self.rows.iter();
        rows.any(|row| is_selected(selected, row.product))
    }

    /// Finds the rows that may be among the best `count` of these products.
    ///
    /// The question must have the same length.
    pub(super) fn candidates(
        &self,
        question: &QueryVector,
        selected: &[bool],
        count: usize,
    ) -> Candidates {
        let mut is_any = false;
        // Lower bounds of the best: a row that cannot reach them is left out.
        let mut sure = TopChunks::new(count);
        let mut promising: Vec<Scored> = Vec::new();
        for (row, codes) in self
            .rows
            .iter()
            .zip(self.codes.chunks_exact(self.dimensions))
        {
            if !is_selected(selected, row.product) {
                continue;
            }
            is_any = true;
            let sum = f64::from(product(codes, &question.codes));
            let score = sum * f64::from(row.step) * question.step;
            let error = f64::from(row.error);
            // q·u - q'·u' = q·(u - u') + (q - q')·u', and q has length one.
            let slack = error + question.error * (1.0 + error) + ROUNDING;
            let id = row.id;
            if sure
                .threshold()
                .is_none_or(|threshold| score + slack >= threshold)
            {
                sure.offer(Scored {
                    score: score - slack,
                    id,
                });
                promising.push(Scored {
                    score: score + slack,
                    id,
                });
                if promising.len() == 2 * PRUNE_AT {
                    thin_out(&mut promising, &sure);
                }
            }
        }
        thin_out(&mut promising, &sure);
        Candidates {
            is_any,
            rows: promising,
        }
    }
}

/// Removes candidates that cannot be among the best any more, and those with the lowest bounds if
/// too many are left.
fn thin_out(promising: &mut Vec<Scored>, sure: &TopChunks) {
    if let Some(threshold) = sure.threshold() {
        promising.retain(|one| one.score >= threshold);
    }
    promising.sort_by(Scored::order);
    promising.truncate(PRUNE_AT);
}

fn is_selected(selected: &[bool], product: u32) -> bool {
    usize::try_from(product).is_ok_and(|at| selected.get(at) == Some(&true))
}

/// Computes the scalar product. Written so that the compiler vectorizes it.
fn product(codes: &[i8], question: &[i16]) -> i32 {
    let pairs = codes.iter().zip(question);
    pairs
        .map(|(code, other)| i32::from(*code) * i32::from(*other))
        .sum()
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "it is within 127 steps, and casts saturate"
)]
fn code(value: f64) -> i8 {
    value.round() as i8
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "what that rounds off is far below the rounding that is allowed for"
)]
fn single(value: f64) -> f32 {
    value as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the ids of the best by an exact comparison of all.
    fn exact(question: &QueryVector, vectors: &[Vec<f32>], count: usize) -> Vec<i64> {
        let mut top_chunks = TopChunks::new(count);
        for (id, vector) in (0..).zip(vectors) {
            if let Some(score) = question.similarity(&vector::bytes(vector)) {
                top_chunks.offer(Scored { score, id });
            }
        }
        top_chunks
            .into_vec()
            .into_iter()
            .map(|one| one.id)
            .collect()
    }

    fn matrix(dimensions: usize, vectors: &[Vec<f32>]) -> Matrix {
        let mut matrix = Matrix::new(dimensions, vectors.len());
        for (id, vector) in (0..).zip(vectors) {
            matrix.push(id, 0, &vector::bytes(vector));
        }
        matrix.finish();
        matrix
    }

    proptest! {
        #[test]
        fn the_best_are_always_among_the_candidates(
            vectors in prop::collection::vec(
                prop::collection::vec(-2.0_f32..2.0, 12), 0..80,
            ),
            question in prop::collection::vec(-1.0_f32..1.0, 12),
            count in 1_usize..8,
        ) {
            let question = QueryVector::new(&question);
            prop_assume!(question.is_some());
            let question = question.expect("assumed");
            let matrix = matrix(12, &vectors);
            let candidates = matrix.candidates(&question, &[true], count);
            let found: Vec<_> = candidates.rows.iter().map(|row| row.id).collect();
            for id in exact(&question, &vectors, count) {
                prop_assert!(found.contains(&id), "{id} is not in {found:?}");
            }
            for row in &candidates.rows {
                let at = usize::try_from(row.id).expect("small");
                let score = question.similarity(&vector::bytes(&vectors[at]));
                prop_assert!(score.expect("it points somewhere") <= row.score);
            }
        }
    }

    #[test]
    fn there_are_few_candidates_if_vectors_differ() {
        let mut state = 1_u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            f32::from(state.to_le_bytes()[3]) - 127.5
        };
        let vectors: Vec<Vec<f32>> = (0..2000)
            .map(|_| (0..32).map(|_| random()).collect())
            .collect();
        let question = QueryVector::new(&vectors[17]).expect("it points somewhere");
        let found = matrix(32, &vectors).candidates(&question, &[true], 3);
        assert_eq!(found.rows[0].id, 17);
        assert!(found.rows.len() < 20, "{}", found.rows.len());
    }

    #[test]
    fn too_many_similar_candidates_are_cut_off() {
        let vectors = vec![vec![1.0, 2.0]; 3 * PRUNE_AT];
        let question = QueryVector::new(&[2.0, 1.0]).expect("it points somewhere");
        let found = matrix(2, &vectors).candidates(&question, &[true], 2);
        assert_eq!(found.rows.len(), PRUNE_AT);
        assert_eq!([found.rows[0].id, found.rows[1].id], [0, 1]);
    }

    #[test]
    fn rows_that_are_not_selected_are_skipped() {
        let mut matrix = Matrix::new(1, 2);
        matrix.push(5, 0, &vector::bytes(&[1.0]));
        matrix.push(6, 1, &vector::bytes(&[1.0]));
        matrix.push(7, 1, &vector::bytes(&[0.0]));
        assert_eq!(matrix.len(), 2, "one points nowhere");
        let question = QueryVector::new(&[1.0]).expect("it points somewhere");
        for (selected, expected) in [
            ([true, false], &[5][..]),
            ([false, true], &[6]),
            ([true, true], &[5, 6]),
            ([false, false], &[]),
        ] {
            let found = matrix.candidates(&question, &selected, 9);
            let ids: Vec<_> = found.rows.iter().map(|row| row.id).collect();
            assert_eq!(ids, expected, "{selected:?}");
            assert_eq!(found.is_any, !expected.is_empty());
            assert_eq!(matrix.has(&selected), found.is_any);
        }
    }
}
