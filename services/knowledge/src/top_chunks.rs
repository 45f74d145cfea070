//! Selection of the best chunks.

use std::cmp::Ordering;

/// Keeps the best of the chunks that it is shown, up to a fixed number.
#[derive(Clone, Debug)]
pub(super) struct TopChunks {
    capacity: usize,
    /// Best first.
    kept: Vec<Scored>,
}

/// A chunk and its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) score: f64,
    pub(super) id: i64,
}

// === impl TopChunks ===

impl TopChunks {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            capacity,
            kept: Vec::with_capacity(capacity),
        }
    }

    /// Offers one more chunk. Of two with the same score, the one with the lower id is better.
    pub(super) fn offer(&mut self, new: Scored) {
        // The list is short and rarely changes, so keeping it sorted is faster than a heap.
        if self.kept.len() == self.capacity {
            match self.kept.last() {
                Some(last) if new.order(last) == Ordering::Less => self.kept.pop(),
                _ => return,
            };
        }
        let at = self
            .kept
            .partition_point(|kept| kept.order(&new) == Ordering::Less);
        self.kept.insert(at, new);
    }

    /// Returns the score that a chunk needs to be among the best; `None` while there is room.
    pub(super) fn threshold(&self) -> Option<f64> {
        let is_full = self.kept.len() == self.capacity;
        self.kept.last().filter(|_| is_full).map(|last| last.score)
    }

    /// Returns the best, in order.
    pub(super) fn into_vec(self) -> Vec<Scored> {
        self.kept
    }
}

// === impl Scored ===

impl Scored {
    /// Compares two chunks; the better comes first.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        other
            .score
            .total_cmp(&self.score)
            .then(self.id.cmp(&other.id))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_kept_chunks_are_the_first_of_a_sort(
            scores in prop::collection::vec(-3_i8..3, 0..60),
            capacity in 0_usize..9,
        ) {
            let all: Vec<_> = scores
                .iter()
                .enumerate()
                .map(|(at, score)| Scored {
                    score: f64::from(*score),
                    // Not sorted, and each id once.
                    id: i64::try_from(at * 7 % 61).expect("small"),
                })
                .collect();
            let mut top_chunks = TopChunks::new(capacity);
            for one in &all {
                top_chunks.offer(*one);
            }
            let threshold = top_chunks.threshold();
            let mut sorted = all;
            sorted.sort_by(Scored::order);
            sorted.truncate(capacity);
            let full = sorted.len() == capacity;
            prop_assert_eq!(threshold, sorted.last().filter(|_| full).map(|last| last.score));
            prop_assert_eq!(top_chunks.into_vec(), sorted);
        }
    }
}
