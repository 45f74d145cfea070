//! Picks passages that do not repeat each other.

use ziggurat_search::{
    mmr::{self, WordSet},
    tokens,
};

use crate::retrieval::Passage;

/// Limit on the passages that are compared with each other.
pub(super) const MAX_COMPARED: usize = 512;

/// Limit on the words of a passage that are compared.
const MAX_WORDS: usize = 4096;

/// Returns the passages in an order in which relevance counts, and the difference to those before,
/// which has this weight from 0 to 1.
pub(super) fn pick(passages: Vec<Passage>, top_n: usize, weight: f64) -> Vec<Passage> {
    let scores: Vec<_> = passages.iter().map(|passage| passage.score).collect();
    let relevance = mmr::spread(&scores);
    let words: Vec<_> = passages
        .iter()
        .map(|passage| WordSet::new(tokens::terms(&passage.content).take(MAX_WORDS)))
        .collect();
    let likeness = |one: usize, two: usize| words[one].likeness(&words[two]);
    let picked = mmr::select(&relevance, top_n, 1.0 - weight, likeness);
    let mut passages: Vec<_> = passages.into_iter().map(Some).collect();
    let picked = picked.into_iter().filter_map(|at| passages[at].take());
    picked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(weight: f64) -> Vec<String> {
        let texts = [
            ("a", "ferns like shade", 0.9),
            ("b", "ferns like the shade", 0.8),
            ("c", "moss covers stones", 0.5),
            ("d", "brass", 0.1),
        ];
        let passages = texts.map(|(id, content, score)| Passage {
            id: Some(id.to_owned()),
            content: content.to_owned(),
            score,
            ..Passage::default()
        });
        let found = pick(passages.into(), 2, weight);
        found.into_iter().filter_map(|one| one.id).collect()
    }

    #[test]
    fn a_passage_that_repeats_another_makes_room_for_a_different_one() {
        assert_eq!(picked(0.4), ["a", "c"]);
        assert_eq!(picked(0.0), ["a", "b"]);
        assert!(pick(Vec::new(), 3, 0.5).is_empty());
    }
}
