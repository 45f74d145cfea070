//! Selects relevant entries that do not repeat each other: maximal marginal relevance.
//!
//! ```
//! use ziggurat_search::mmr;
//!
//! // The second says what the first does; the third is about something else.
//! let alike = |one: usize, two: usize| if one + two == 1 { 0.9 } else { 0.0 };
//! assert_eq!(mmr::select(&[1.0, 0.9, 0.5], 2, 0.6, alike), [0, 2]);
//! ```

use std::{
    collections::hash_map::DefaultHasher,
    hash::{Hash as _, Hasher as _},
};

/// The words of a text as a set, for comparing texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WordSet {
    /// Hashes in order: comparing two sets is one pass over both.
    hashes: Box<[u64]>,
}

/// Picks up to `most` entries, each time the one with the highest `lambda * relevance + (1 -
/// lambda) * (1 - similarity)`, where the similarity is the highest to any picked entry. Returns
/// their indexes in the order of picking; ties go to the lower index.
///
/// Takes as many comparisons as entries times picks.
pub fn select(
    relevance: &[f64],
    most: usize,
    lambda: f64,
    similarity: impl Fn(usize, usize) -> f64,
) -> Vec<usize> {
    let lambda = lambda.clamp(0.0, 1.0);
    let mut left: Vec<(usize, f64)> = (0..relevance.len()).map(|place| (place, 0.0)).collect();
    let mut picked = Vec::with_capacity(most.min(left.len()));
    while picked.len() < most && !left.is_empty() {
        let worth = |&(place, nearest): &(usize, f64)| {
            lambda * relevance[place] + (1.0 - lambda) * (1.0 - nearest)
        };
        let mut best = 0;
        for at in 1..left.len() {
            if worth(&left[at]) > worth(&left[best]) {
                best = at;
            }
        }
        // `remove` keeps the order, so that the next ties go to the lower index, too.
        let (place, _) = left.remove(best);
        for (other, nearest) in &mut left {
            *nearest = nearest.max(similarity(place, *other));
        }
        picked.push(place);
    }
    picked
}

/// Spreads scores, of which the first is the best, from 0 to 1. Scores from ranks differ so little
/// that otherwise only the difference of texts would count.
#[must_use]
pub fn spread(scores: &[f64]) -> Vec<f64> {
    let best = scores.first().copied().unwrap_or_default();
    let worst = scores.last().copied().unwrap_or_default();
    let range = (best - worst).max(f64::MIN_POSITIVE);
    scores.iter().map(|score| (score - worst) / range).collect()
}

// === impl WordSet ===

impl WordSet {
    /// Creates the set from the tokens of a text.
    pub fn new<T: AsRef<str>>(tokens: impl IntoIterator<Item = T>) -> Self {
        let mut hashes: Vec<u64> = tokens
            .into_iter()
            .map(|token| {
                // Two words with the same hash would count as one, which is unlikely below billions
                // of words.
                let mut hasher = DefaultHasher::new();
                token.as_ref().hash(&mut hasher);
                hasher.finish()
            })
            .collect();
        hashes.sort_unstable();
        hashes.dedup();
        Self {
            hashes: hashes.into(),
        }
    }

    /// Ratio of shared words to all words of both, from zero to one (Jaccard); zero if both are
    /// empty.
    #[must_use]
    pub fn likeness(&self, other: &Self) -> f64 {
        let (mut one, mut two) = (&*self.hashes, &*other.hashes);
        let mut shared = 0_u32;
        while let (Some((a, rest_of_one)), Some((b, rest_of_two))) =
            (one.split_first(), two.split_first())
        {
            shared += u32::from(a == b);
            if a <= b {
                one = rest_of_one;
            }
            if b <= a {
                two = rest_of_two;
            }
        }
        let all = self.hashes.len() + other.hashes.len();
        let all = f64::from(u32::try_from(all).unwrap_or(u32::MAX)) - f64::from(shared);
        if all > 0.0 {
            f64::from(shared) / all
        } else {
            0.0
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lambda_of_one_is_the_order_of_relevance_and_zero_that_of_difference() {
        let relevance = [1.0, 0.9, 0.2];
        let alike = |one: usize, two: usize| if one + two == 1 { 0.9 } else { 0.1 };
        assert_eq!(select(&relevance, 3, 1.0, alike), [0, 1, 2]);
        assert_eq!(select(&relevance, 3, 0.0, alike), [0, 2, 1]);
    }

    #[test]
    fn the_highest_similarity_to_a_picked_entry_counts() {
        // The third is like the second and unlike the first. If the lowest similarity counted, it
        // would come before the fourth.
        let alike = |one: usize, two: usize| match (one.min(two), one.max(two)) {
            (1, 2) => 0.9,
            (0 | 1, 3) => 0.5,
            _ => 0.0,
        };
        let relevance = [1.0, 1.0, 0.9, 0.8];
        assert_eq!(select(&relevance, 4, 0.5, alike), [0, 1, 3, 2]);
    }

    #[test]
    fn nothing_is_picked_from_nothing() {
        let alike = |_, _| 0.0;
        assert!(select(&[], 3, 0.5, alike).is_empty());
        assert!(select(&[1.0], 0, 0.5, alike).is_empty());
    }

    #[test]
    fn likeness_is_the_shared_part_of_all_words() {
        let set = |text: &str| WordSet::new(text.split_whitespace());
        let cases = [
            ("a b c", "b c d", 0.5),
            ("a a b", "b a", 1.0),
            ("a", "b", 0.0),
            ("", "", 0.0),
            ("", "a", 0.0),
        ];
        for (one, two, expected) in cases {
            let likeness = set(one).likeness(&set(two));
            assert!(
                (likeness - expected).abs() < 1e-9,
                "{one} / {two}: {likeness}"
            );
        }
    }

    proptest! {
        #[test]
        fn no_entry_is_picked_twice_and_as_many_as_there_are(
            relevance in prop::collection::vec(0.0..1.0, 0..12),
            most in 0_usize..15,
            lambda in -1.0..2.0,
        ) {
            let alike = |one: usize, two: usize| if (one + two).is_multiple_of(3) { 0.9 } else { 0.2 };
            let mut picked = select(&relevance, most, lambda, alike);
            prop_assert_eq!(picked.len(), most.min(relevance.len()));
            picked.sort_unstable();
            prop_assert!(picked.is_sorted_by(|one, two| one < two));
        }
    }
}
