//! The best few of many.

use std::cmp::Ordering;

/// Keeps the best of what it is shown, and never more than it has room for.
#[derive(Clone, Debug)]
pub(super) struct Best {
    room: usize,
    /// The best first.
    kept: Vec<Scored>,
}

/// A chunk, and how good it is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scored {
    pub(super) score: f64,
    pub(super) id: i64,
}

// === impl Best ===

impl Best {
    pub(super) fn new(room: usize) -> Self {
        Self {
            room,
            kept: Vec::with_capacity(room),
        }
    }

    /// Shows it one more. Of two that are as good, the one with the lower id is better.
    pub(super) fn show(&mut self, new: Scored) {
        // Few are good enough, and there is room for few: an ordered list beats a heap.
        if self.kept.len() == self.room {
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

    /// What something has to score to be among the best; nothing while there is room.
    pub(super) fn bar(&self) -> Option<f64> {
        let is_full = self.kept.len() == self.room;
        self.kept.last().filter(|_| is_full).map(|last| last.score)
    }

    /// The best, in order.
    pub(super) fn into_vec(self) -> Vec<Scored> {
        self.kept
    }
}

// === impl Scored ===

impl Scored {
    /// The better comes first.
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
        fn it_keeps_what_sorting_would_put_first(
            scores in prop::collection::vec(-3_i8..3, 0..60),
            room in 0_usize..9,
        ) {
            let all: Vec<_> = scores
                .iter()
                .enumerate()
                .map(|(at, score)| Scored {
                    score: f64::from(*score),
                    // Not in order, and each once.
                    id: i64::try_from(at * 7 % 61).expect("small"),
                })
                .collect();
            let mut best = Best::new(room);
            for one in &all {
                best.show(*one);
            }
            let bar = best.bar();
            let mut sorted = all;
            sorted.sort_by(Scored::order);
            sorted.truncate(room);
            let full = sorted.len() == room;
            prop_assert_eq!(bar, sorted.last().filter(|_| full).map(|last| last.score));
            prop_assert_eq!(best.into_vec(), sorted);
        }
    }
}
