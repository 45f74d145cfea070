//! Merges two rankings into one.
//!
//! A weighted sum adds the scores, each scaled by the range of the scores in its arm. Reciprocal
//! rank fusion does not use the scores: from each arm, an entry gets the weight of the arm divided
//! by a constant plus its rank there.
//!
//! ```
//! use ziggurat_search::fusion::Fusion;
//!
//! let vector = [("A", 0.9), ("B", 0.8), ("C", 0.1)];
//! let keyword = [("C", 7.0), ("D", 5.5)];
//! let fused = Fusion::default().fuse(vector, keyword);
//! let order: Vec<_> = fused.iter().map(|entry| entry.key).collect();
//! assert_eq!(order, ["C", "A", "B", "D"]);
//! ```

use std::{
    cmp::Ordering,
    collections::{HashMap, HashSet},
    hash::Hash,
};

/// Constant of reciprocal rank fusion by default.
const CONSTANT: f64 = 60.0;

/// Weight of the vector arm in a weighted sum by default, and in reciprocal rank fusion.
/// `benches/rag/collections` measures them. Of two entries that are each the best of one arm and the
/// worst of the other, the one with the words comes first.
const IN_SUM: f64 = 0.48;
const BY_RANK: f64 = 0.5;

/// The method that merges two rankings, and the weights of the two arms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fusion {
    /// The method.
    pub method: Method,
    /// Weight of the vector arm, from 0 to 1; the keyword arm has the rest.
    pub vector_weight: f64,
}

/// Method of fusion.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Method {
    /// Adds the weights of the arms, each divided by this constant plus the rank. With a larger
    /// constant, the first ranks differ less.
    ReciprocalRank(f64),
    /// Adds the weighted scores of the arms. In each arm the best score counts one. The worst of the
    /// vector arm counts zero, because all cosines of a model may be high; in the keyword arm a score
    /// of zero does, which a text without a word of the question has.
    #[default]
    WeightedSum,
}

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

/// Entries in the order of their first occurrence.
struct Entries<K> {
    fused: Vec<Fused<K>>,
    places: HashMap<K, usize>,
}

// === impl Fusion ===

impl Default for Fusion {
    fn default() -> Self {
        let method = Method::default();
        Self {
            method,
            vector_weight: method.vector_weight(),
        }
    }
}

impl Fusion {
    /// Merges the rankings of two arms, each with scores, best first.
    ///
    /// An arm of weight zero adds nothing, not even its entries. For an entry that occurs twice in
    /// an arm, the first counts. Ties go to the better vector rank, then to the better keyword
    /// rank, then to the smaller key.
    pub fn fuse<K: Clone + Eq + Hash + Ord>(
        &self,
        vector: impl IntoIterator<Item = (K, f64)>,
        keyword: impl IntoIterator<Item = (K, f64)>,
    ) -> Vec<Fused<K>> {
        let weight = self.vector_weight.clamp(0.0, 1.0);
        let mut entries = Entries {
            fused: Vec::new(),
            places: HashMap::new(),
        };
        if weight > 0.0 {
            let (keys, scores): (Vec<_>, Vec<_>) = vector.into_iter().unzip();
            let worst = scores.last().copied().unwrap_or_default();
            let shares = self.method.shares(&scores, worst);
            entries.add(keys, shares, weight, |entry| &mut entry.vector_rank);
        }
        if weight < 1.0 {
            let (keys, scores): (Vec<_>, Vec<_>) = keyword.into_iter().unzip();
            let worst = scores.last().copied().unwrap_or_default();
            let shares = self.method.shares(&scores, worst.min(0.0));
            entries.add(keys, shares, 1.0 - weight, |entry| &mut entry.keyword_rank);
        }
        let mut fused = entries.fused;
        fused.sort_by(|one, two| one.place(two).then_with(|| one.key.cmp(&two.key)));
        fused
    }
}

// === impl Method ===

impl Method {
    /// Reciprocal rank fusion with the usual constant.
    pub const RECIPROCAL_RANK: Self = Self::ReciprocalRank(CONSTANT);

    /// Returns the default weight of the vector arm.
    #[must_use]
    pub fn vector_weight(self) -> f64 {
        match self {
            Self::ReciprocalRank(_) => BY_RANK,
            Self::WeightedSum => IN_SUM,
        }
    }

    /// Returns the shares of the entries of an arm, given their scores, best first, and the score
    /// that counts zero.
    fn shares(self, scores: &[f64], zero: f64) -> impl Iterator<Item = f64> {
        let best = scores.first().copied().unwrap_or_default();
        let range = best - zero;
        scores
            .iter()
            .zip(1_u32..)
            .map(move |(score, rank)| match self {
                Self::ReciprocalRank(constant) => 1.0 / (constant + f64::from(rank)),
                Self::WeightedSum if range > 0.0 => (score - zero) / range,
                // All scores are equal.
                Self::WeightedSum => 1.0,
            })
    }
}

// === impl Entries ===

impl<K: Clone + Eq + Hash> Entries<K> {
    /// Adds the entries of an arm, with their shares. `rank` returns the place for the rank in the arm.
    fn add(
        &mut self,
        keys: Vec<K>,
        shares: impl Iterator<Item = f64>,
        weight: f64,
        rank: impl Fn(&mut Fused<K>) -> &mut Option<usize>,
    ) {
        for ((key, share), at) in keys.into_iter().zip(shares).zip(1..) {
            let entry = self.entry(key);
            let rank = rank(entry);
            if rank.is_none() {
                *rank = Some(at);
                entry.score += weight * share;
            }
        }
    }

    /// Returns the entry of a key; creates it on the first use.
    fn entry(&mut self, key: K) -> &mut Fused<K> {
        let next = self.fused.len();
        let place = *self.places.entry(key.clone()).or_insert(next);
        if place == next {
            self.fused.push(Fused {
                key,
                score: 0.0,
                vector_rank: None,
                keyword_rank: None,
            });
        }
        &mut self.fused[place]
    }
}

/// Adds entries that only the keyword arm found to the vector arm, with their scores there.
///
/// A score far below the others would make these alike. So the lowest possible one is half the range
/// of the others below the worst of them.
pub fn add_known<K: Ord>(vector: &mut Vec<(K, f64)>, others: impl IntoIterator<Item = (K, f64)>) {
    let ends = vector.first().zip(vector.last());
    let ends = ends.map(|((_, best), (_, worst))| (*best, *worst));
    let floor = ends
        .filter(|(best, worst)| best > worst)
        .map_or(f64::NEG_INFINITY, |(best, worst)| {
            worst - (best - worst) / 2.0
        });
    let others = others.into_iter();
    let mut others: Vec<_> = others.map(|(key, score)| (key, score.max(floor))).collect();
    others.sort_by(|(one, _), (two, _)| one.cmp(two));
    vector.extend(others);
    // Of equal scores, the order of the arm stays.
    vector.sort_by(|(_, score), (_, other)| other.total_cmp(score));
}

/// Merges the rankings of several tables, each with the number of its table. Of entries with the
/// same table and key, the first is kept. Ties are broken as in [`Fusion::fuse`], but by the earlier table
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

    /// Gives each key a score that falls with its rank.
    fn arm<K>(keys: impl IntoIterator<Item = K>) -> Vec<(K, f64)> {
        let scores = (0_u32..).map(|rank| 10.0 - f64::from(rank));
        keys.into_iter().zip(scores).collect()
    }

    fn rrf(vector_weight: f64) -> Fusion {
        Fusion {
            method: Method::RECIPROCAL_RANK,
            vector_weight,
        }
    }

    fn scores(fusion: Fusion) -> Vec<(char, f64)> {
        let fused = fusion.fuse(arm(['A', 'B', 'C']), arm(['C', 'D']));
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
        assert_eq!(scores(rrf(0.5)), expected);
        let expected = [
            ('C', 0.016_029),
            ('A', 0.011_475),
            ('B', 0.011_29),
            ('D', 0.004_839),
        ];
        assert_eq!(scores(rrf(0.7)), expected);
    }

    #[test]
    fn a_smaller_constant_makes_the_first_rank_count_more() {
        let fusion = Fusion {
            method: Method::ReciprocalRank(0.0),
            vector_weight: 0.75,
        };
        let expected = [('A', 0.75), ('C', 0.5), ('B', 0.375), ('D', 0.125)];
        assert_eq!(scores(fusion), expected);
    }

    #[test]
    fn a_weighted_sum_scales_the_scores_of_each_arm() {
        let fusion = Fusion {
            method: Method::WeightedSum,
            vector_weight: 0.6,
        };
        let vector = [('A', 0.9), ('B', 0.8), ('C', 0.5)];
        let fused = fusion.fuse(vector, [('C', 40.0), ('B', 10.0), ('D', 4.0)]);
        let scores: Vec<_> = fused
            .iter()
            .map(|entry| (entry.key, (entry.score * 1e3).round() / 1e3))
            .collect();
        assert_eq!(scores, [('A', 0.6), ('B', 0.55), ('C', 0.4), ('D', 0.04)]);
        // Scores that are negative are scaled by the worst.
        let negative = fusion.fuse(vector, [('C', -1.0), ('D', -3.0)]);
        assert!((negative[1].score - 0.45).abs() < 0.06, "{negative:?}");
        assert_eq!(negative.last().map(|last| last.score), Some(0.0));
        let alone = fusion.fuse([('A', 0.9)], [('B', 3.0)]);
        assert_eq!((alone[0].key, alone[1].key), ('A', 'B'));
        assert!((alone[1].score - 0.4).abs() < 1e-9);
    }

    #[test]
    fn a_known_score_far_below_the_others_counts_half_their_range_below_the_worst() {
        let mut vector = vec![('A', 0.9), ('B', 0.7)];
        add_known(&mut vector, [('C', 0.8), ('D', -1.0), ('E', 0.65)]);
        let keys: String = vector.iter().map(|(key, _)| *key).collect();
        assert_eq!(keys, "ACBED");
        assert!((vector[4].1 - 0.6).abs() < 1e-9, "{vector:?}");
        let mut equal = vec![('Z', 0.9), ('B', 0.9)];
        add_known(&mut equal, [('D', 0.5), ('C', 0.5), ('A', 0.9)]);
        let expected = [('Z', 0.9), ('B', 0.9), ('A', 0.9), ('C', 0.5), ('D', 0.5)];
        assert_eq!(equal, expected);
    }

    #[test]
    fn an_arm_of_weight_zero_adds_nothing() {
        let keys = |weight| -> Vec<_> {
            let scores = scores(rrf(weight)).into_iter();
            scores.map(|(key, _)| key).collect()
        };
        assert_eq!(keys(0.0), ['C', 'D']);
        assert_eq!(keys(1.0), ['A', 'B', 'C']);
    }

    #[test]
    fn of_an_entry_that_is_twice_in_an_arm_the_first_counts() {
        let twice = rrf(0.5).fuse(arm(["a", "b", "a"]), []);
        assert_eq!(twice, rrf(0.5).fuse(arm(["a", "b"]), []));
    }

    #[test]
    fn tables_are_merged_by_score_and_then_by_their_order() {
        let first = rrf(0.5).fuse(arm(["a", "b"]), arm(["c"]));
        let mut second = rrf(0.5).fuse(arm(["a", "d"]), arm(["a"]));
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
            vector_weight in 0.0..=1.0,
            is_sum: bool,
        ) {
            let method = if is_sum { Method::WeightedSum } else { Method::RECIPROCAL_RANK };
            let fusion = Fusion { method, vector_weight };
            let fused = fusion.fuse(arm(vector.clone()), arm(keyword.clone()));
            prop_assert!(fused.is_sorted_by(|one, two| one.score >= two.score));
            prop_assert!(fused.iter().all(|entry| (0.0..=1.0 + 1e-9).contains(&entry.score)));
            let mut keys: Vec<_> = fused.iter().map(|entry| entry.key).collect();
            keys.sort_unstable();
            prop_assert!(keys.is_sorted_by(|one, two| one < two));
            prop_assert_eq!(&fused, &fusion.fuse(arm(vector), arm(keyword)));
        }
    }
}
