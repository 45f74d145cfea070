//! Passages of the rows: the best first, without repetition, as many as fit.

use ziggurat_search::{
    bm25::{Bm25, Question},
    budget,
    mmr::{self, WordSet},
    tokens,
};
use ziggurat_vector_search::Neighbour;

use super::arguments::SearchCall;

/// Limit on the passages that are ranked, because many short ones take long.
const MAX_PASSAGES: usize = 4096;

/// Limit on the passages that are compared with each other, the best ones.
const MAX_COMPARED: usize = 512;

/// Similarity of neighbours in one text, which overlap by construction.
const NEIGHBOUR_SIMILARITY: f64 = 0.9;

/// Similarity of other passages of one text.
const SAME_TEXT_SIMILARITY: f64 = 0.6;

/// Similarity of passages of different texts of one row.
const SAME_ROW_SIMILARITY: f64 = 0.5;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Passage {
    /// The rank of its row, from zero.
    pub(super) row: usize,
    /// The index of its text in the row, from zero.
    pub(super) column: usize,
    /// The index of the passage in the text, from zero.
    pub(super) index: usize,
    pub(super) text: String,
    pub(super) score: f64,
    pub(super) tokens: usize,
}

/// Cuts the texts of rows into passages and returns the requested ones.
pub(super) fn take(rows: &[Neighbour], search_call: &SearchCall) -> Vec<Passage> {
    let mut passages = ranked(rows, search_call);
    if passages.len() > search_call.picks() {
        passages = different(passages, search_call);
    }
    let budget = search_call.output_tokens.try_into().unwrap_or(usize::MAX);
    let costs = passages.iter().map(|passage| passage.tokens);
    passages.truncate(budget::fitting(costs, budget));
    passages
}

/// Ranks all passages by the words they share with the question; ties keep the rank of their rows.
fn ranked(rows: &[Neighbour], search_call: &SearchCall) -> Vec<Passage> {
    let mut passages = cut(rows, search_call);
    let question = Question::new(tokens::words(&search_call.question));
    let counts: Vec<_> = passages
        .iter()
        .map(|passage| question.count_terms(tokens::words(&passage.text)))
        .collect();
    let scores = Bm25::PASSAGES.scores(&counts);
    for (passage, score) in passages.iter_mut().zip(scores) {
        passage.score = score;
    }
    // The sort is stable, so ties keep their order.
    passages.sort_by(|one, two| two.score.total_cmp(&one.score));
    passages
}

fn cut(rows: &[Neighbour], search_call: &SearchCall) -> Vec<Passage> {
    let chunker = search_call.chunker();
    let texts = rows.iter().map(|row| row.texts.len()).sum::<usize>().max(1);
    let most = (MAX_PASSAGES / texts).max(1);
    let mut passages = Vec::new();
    for (row, neighbour) in rows.iter().enumerate() {
        for (column, text) in neighbour.texts.iter().enumerate() {
            let chunks = chunker.chunks(text.as_deref().unwrap_or_default());
            passages.extend(chunks.take(most).enumerate().map(|(index, chunk)| Passage {
                row,
                column,
                index,
                score: 0.0,
                tokens: budget::of_words(&chunk),
                text: chunk.into_owned(),
            }));
        }
    }
    passages
}

/// Picks passages that differ from those before.
fn different(mut passages: Vec<Passage>, search_call: &SearchCall) -> Vec<Passage> {
    passages.truncate(MAX_COMPARED);
    let best = passages.first().map_or(0.0, |passage| passage.score);
    let relevance: Vec<_> = passages
        .iter()
        .map(|passage| {
            if best > 0.0 {
                passage.score / best
            } else {
                0.0
            }
        })
        .collect();
    let words: Vec<_> = passages
        .iter()
        .map(|passage| WordSet::new(tokens::words(&passage.text)))
        .collect();
    let similarity = |one: usize, two: usize| {
        let (first, second) = (&passages[one], &passages[two]);
        if first.row != second.row {
            words[one].likeness(&words[two])
        } else if first.column != second.column {
            SAME_ROW_SIMILARITY
        } else if first.index.abs_diff(second.index) <= 1 {
            NEIGHBOUR_SIMILARITY
        } else {
            SAME_TEXT_SIMILARITY
        }
    };
    let picked = mmr::select(
        &relevance,
        search_call.picks(),
        search_call.lambda,
        similarity,
    );
    picked
        .iter()
        .map(|&place| passages[place].clone())
        .collect()
}

#[cfg(test)]
mod tests;
