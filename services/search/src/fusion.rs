//! Merges two rankings into one: reciprocal rank fusion.
//!
//! An entry gets, from each arm, the weight of the arm divided by 60 plus its rank there, so the
//! scores of the arms need not be comparable.
//!
//! ```
//! use ziggurat_search::fusion::fuse;
//!
//! let fused = fuse(["A", "B", "C"], ["C", "D"], 0.5);
//! let order: Vec<_> = fused.iter().map(|entry| entry.key).collect();
//! assert_eq!(order, ["C", "A", "B", "D"]);
//! ```

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// Constant added to every rank, so that the first ranks differ little.
const DAMPING: f64 = 60.0;

/// An entry and its ranks in the arms.
#[derive(Clone, Debug, PartialEq)]
pub struct Fused<K> {
    /// Key of the entry in both arms.
    pub key: K,
    /// Sum over the arms.
    pub score: f64,
    /// Rank in the vector arm, from one, if the arm has weight and contains the entry.
    pub vector_rank: Option<usize>,
    /// Rank in the keyword arm, from one, if the arm has weight and contains the entry.
    pub keyword_rank: Option<usize>,
}

/// Merges the rankings of two arms, best first.
///
/// The weight of the keyword arm is one minus that of the vector arm; an arm of weight zero adds
/// nothing, not even its entries. For an entry that occurs twice in an arm, the first counts. Ties
/// go to the better vector rank, then to the better keyword rank, then to the smaller key.
pub fn fuse<K: Clone + Eq + Hash + Ord>(
    vector: impl IntoIterator<Item = K>,
    keyword: impl IntoIterator<Item = K>,
    vector_weight: f64,
) -> Vec<Fused<K>> {
    let mut fused = Vec::new();
    let mut places = HashMap::new();
    let vector_weight = vector_weight.clamp(0.0, 1.0);
    if vector_weight > 0.0 {
        for (at, key) in vector.into_iter().enumerate() {
            let entry = entry(&mut fused, &mut places, key);
            if entry.vector_rank.is_none() {
                entry.vector_rank = Some(at + 1);
                entry.score += vector_weight / damped(at + 1);
            }
        }
    }
    if vector_weight < 1.0 {
        for (at, key) in keyword.into_iter().enumerate() {
            let entry = entry(&mut fused, &mut places, key);
            if entry.keyword_rank.is_none() {
                entry.keyword_rank = Some(at + 1);
                entry.score += (1.0 - vector_weight) / damped(at + 1);
            }
        }
    }
    fused.sort_by(|one, two| one.place(two).then_with(|| one.key.cmp(&two.key)));
    fused
}

/// Merges the rankings of several tables, each with the number of its table. Of entries with the
/// same table and key, the first is kept. Ties are broken as in [`fuse`], but by the earlier table
/// before the smaller key.
pub fn merge<K: Clone + Eq + Hash + Ord>(
    tables: impl IntoIterator<Item = Vec<Fused<K>>>,
) -> Vec<(usize, Fused<K>)> {
    let mut all: Vec<_> = tables
        .into_iter()
        .enumerate()
        .flat_map(|(table, entries)| entries.into_iter().map(move |entry| (table, entry)))
        .collect();
    all.sort_by(|(table, one), (other, two)| {
        one.place(two)
            .then_with(|| table.cmp(other))
            .then_with(|| one.key.cmp(&two.key))
    });
    let mut seen = HashSet::new();
    all.retain(|(table, entry)| seen.insert((*table, entry.key.clone())));
    all
}

/// Returns the entry of a key; creates it on the first use.
fn entry<'a, K: Clone + Eq + Hash>(
    fused: &'a mut Vec<Fused<K>>,
    places: &mut HashMap<K, usize>,
    key: K,
) -> &'a mut Fused<K> {
    let next = fused.len();
    let place = *places.entry(key.clone()).or_insert(next);
    if place == next {
        fused.push(Fused {
            key,
            score: 0.0,
            vector_rank: None,
            keyword_rank: None,
        });
    }
    &mut fused[place]
}

fn damped(rank: usize) -> f64 {
    DAMPING + f64::from(u32::try_from(rank).unwrap_or(u32::MAX))
}

// === impl Fused ===

impl<K> Fused<K> {
    /// Compares two entries without their keys.
    fn place(&self, other: &Self) -> Ordering {
        let rank = |rank: Option<usize>| rank.unwrap_or(usize::MAX);
        other
            .score
            .total_cmp(&self.score)
            .then_with(|| rank(self.vector_rank).cmp(&rank(other.vector_rank)))
            .then_with(|| rank(self.keyword_rank).cmp(&rank(other.keyword_rank)))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn scores(vector_weight: f64) -> Vec<(char, f64)> {
        let fused = fuse(['A', 'B', 'C'], ['C', 'D'], vector_weight);
        fused
            .iter()
            .map(|entry| (entry.key, (entry.score * 1e6).round() / 1e6))
            .collect()
    }

    #[test]
    fn the_scores_are_those_of_the_specification() {
        let expected = [
            ('C', 0.016_133),
            ('A', 0.008_197),
            ('B', 0.008_065),
            ('D', 0.008_065),
        ];
        assert_eq!(scores(0.5), expected);
        let expected = [
            ('C', 0.016_029),
            ('A', 0.011_475),
            ('B', 0.011_29),
            ('D', 0.004_839),
        ];
        assert_eq!(scores(0.7), expected);
    }

    #[test]
    fn an_arm_of_weight_zero_adds_nothing() {
        let keys = |weight| -> Vec<_> { scores(weight).into_iter().map(|(key, _)| key).collect() };
        assert_eq!(keys(0.0), ['C', 'D']);
        assert_eq!(keys(1.0), ['A', 'B', 'C']);
    }

    #[test]
    fn of_an_entry_that_is_twice_in_an_arm_the_first_counts() {
        let twice = fuse(["a", "b", "a"], [], 0.5);
        assert_eq!(twice, fuse(["a", "b"], [], 0.5));
    }

    #[test]
    fn tables_are_merged_by_score_and_then_by_their_order() {
        let first = fuse(["a", "b"], ["c"], 0.5);
        let mut second = fuse(["a", "d"], ["a"], 0.5);
        second.push(second[0].clone());
        let merged = merge([first, second]);
        let order: Vec<_> = merged.iter().map(|(table, e)| (*table, e.key)).collect();
        let expected = [(1, "a"), (0, "a"), (0, "c"), (0, "b"), (1, "d")];
        assert_eq!(order, expected);
    }

    proptest! {
        #[test]
        fn every_entry_comes_once_and_the_order_goes_down(
            vector in prop::collection::vec(0_u8..20, 0..20),
            keyword in prop::collection::vec(0_u8..20, 0..20),
            weight in 0.0..=1.0,
        ) {
            let fused = fuse(vector.clone(), keyword.clone(), weight);
            prop_assert!(fused.is_sorted_by(|one, two| one.score >= two.score));
            let mut keys: Vec<_> = fused.iter().map(|entry| entry.key).collect();
            keys.sort_unstable();
            prop_assert!(keys.is_sorted_by(|one, two| one < two));
            prop_assert_eq!(&fused, &fuse(vector, keyword, weight));
        }
    }
}
