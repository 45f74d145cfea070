//! Feedback: the best passages of a question tell which other words its answers have.
//!
//! The words are compared as they are written, and only among the passages that were found, so
//! there is no second query.

use std::{borrow::Cow, collections::HashMap};

use ziggurat_search::{
    bm25::{Bm25, Collection, Question, TermCounts},
    fusion::{Fusion, Method},
    tokens,
};

use crate::retrieval::Passage;

/// Number of the best passages that words are taken from.
const TEACHERS: usize = 10;

/// Number of the words that are taken.
const LEARNED: usize = 20;

/// Weight of these words. `benches/rag/collections` measures it.
const WEIGHT: f64 = 0.3;

/// Limit on the words of a passage that are read.
const MAX_WORDS: usize = 4096;

/// Orders passages, best first, again by the words that the best of them have in common.
pub(super) fn apply(passages: Vec<Passage>) -> Vec<Passage> {
    let fusion = Fusion {
        method: Method::WeightedSum,
        vector_weight: 1.0 - WEIGHT,
    };
    let before = passages.iter().map(|passage| passage.score).enumerate();
    let fused = fusion.fuse(before, by_words(&passages));
    let mut passages: Vec<_> = passages.into_iter().map(Some).collect();
    let ordered = fused.into_iter().filter_map(|entry| {
        let passage = passages[entry.key].take()?;
        let score = entry.score;
        Some(Passage { score, ..passage })
    });
    ordered.collect()
}

/// Returns the places of the passages with such words, and their scores, best first.
fn by_words(passages: &[Passage]) -> Vec<(usize, f64)> {
    let words: Vec<Vec<_>> = passages
        .iter()
        .map(|passage| tokens::terms(&passage.content).take(MAX_WORDS).collect())
        .collect();
    let learned = learned(passages, &words);
    let scores = Bm25::PASSAGES.scores(&counts(&learned, &words));
    let mut scores: Vec<_> = scores.into_iter().enumerate().collect();
    scores.retain(|(_, score)| *score > 0.0);
    scores.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    scores
}

/// Returns the words that tell the best passages from the others: those with the highest sum of
/// shares in their texts, weighted by the scores of the passages and by how rare the words are.
fn learned(passages: &[Passage], words: &[Vec<Cow<'_, str>>]) -> Question {
    let mut shares: HashMap<&str, f64> = HashMap::new();
    for (passage, words) in passages.iter().zip(words).take(TEACHERS) {
        let length = u32::try_from(words.len()).map_or(f64::INFINITY, f64::from);
        for word in words {
            *shares.entry(word).or_default() += passage.score / length;
        }
    }
    let mut taught: Vec<_> = shares.into_iter().collect();
    taught.sort_unstable_by_key(|(word, _)| *word);
    let question = Question::new(taught.iter().map(|(word, _)| word));
    let collection = Collection::of(&counts(&question, words));
    for ((_, share), frequency) in taught.iter_mut().zip(&collection.frequencies) {
        *share *= (collection.documents / frequency).ln();
    }
    taught.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    Question::new(taught.into_iter().take(LEARNED).map(|(word, _)| word))
}

fn counts(question: &Question, words: &[Vec<Cow<'_, str>>]) -> Vec<TermCounts> {
    let texts = words.iter();
    texts.map(|words| question.count_terms(words)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_with_the_words_of_the_best_ones_moves_up() {
        let ferns = (0..10).map(|number| format!("fern {number} grows in damp soil"));
        let others = ["the price of brass screws", "mosses like damp soil too"];
        let texts = ferns.chain(others.map(str::to_owned));
        let passages = texts.zip(1_u8..).map(|(content, number)| Passage {
            id: Some(number.to_string()),
            content,
            score: 1.0 / f64::from(number),
            ..Passage::default()
        });
        let found = apply(passages.collect());
        let ids: Vec<_> = found.iter().filter_map(|one| one.id.as_deref()).collect();
        assert_eq!(ids[0], "1");
        let place = |id| ids.iter().position(|one| *one == id);
        assert!(place("12") < place("11"), "{ids:?}");
        assert!(apply(Vec::new()).is_empty());
    }
}
