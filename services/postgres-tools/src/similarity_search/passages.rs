//! Passages of the rows: the best first, without repetition, as many as fit.

use std::collections::HashSet;

use ziggurat_search::{
    bm25::{Bm25, Question},
    budget, fusion,
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
    /// The rank of its row by the vectors, from zero.
    pub(super) row: usize,
    /// The id of its row, if it has one.
    pub(super) id: Option<String>,
    /// The index of its text in the row, from zero.
    pub(super) column: usize,
    /// The index of the passage in the text, from zero.
    pub(super) index: usize,
    pub(super) text: String,
    /// The relevance, from 0 to 1: 1 if it is the first by the vectors and by its words.
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

/// Ranks the passages by the rank of their row and by the words that they and their row share with
/// the question, and keeps those of the best rows; ties keep the rank of their rows.
fn ranked(rows: &[Neighbour], search_call: &SearchCall) -> Vec<Passage> {
    let mut passages = cut(rows, search_call);
    let question = Question::new(tokens::words(&search_call.question));
    let counts: Vec<_> = passages
        .iter()
        .map(|passage| question.count_terms(tokens::words(&passage.text)))
        .collect();
    let scores = Bm25::PASSAGES.scores(&counts);
    let of_rows = scores_of_rows(rows, &question);
    let mut by_words: Vec<_> = (0..passages.len())
        .filter(|&at| scores[at] > 0.0)
        .map(|at| (at, scores[at] + of_rows[passages[at].row]))
        .collect();
    // The sorts are stable, so ties keep their order.
    by_words.sort_by(|one, two| two.1.total_cmp(&one.1));
    let share = |rank| fusion::reciprocal_rank(rank) / fusion::reciprocal_rank(1) / 2.0;
    for passage in &mut passages {
        passage.score = share(passage.row + 1);
    }
    for (rank, (at, _)) in (1..).zip(by_words) {
        passages[at].score += share(rank);
    }
    passages.sort_by(|one, two| two.score.total_cmp(&one.score));
    let most = usize::try_from(search_call.rows).unwrap_or(usize::MAX);
    let mut best = HashSet::new();
    passages.retain(|passage| {
        best.contains(&passage.row) || (best.len() < most && best.insert(passage.row))
    });
    passages
}

/// Scores whole rows by their words: a title is short and has few of the words of its text.
fn scores_of_rows(rows: &[Neighbour], question: &Question) -> Vec<f64> {
    let counts: Vec<_> = rows
        .iter()
        .map(|row| {
            let texts = row.texts.iter().flatten();
            question.count_terms(texts.flat_map(|text| tokens::words(text)))
        })
        .collect();
    Bm25::PASSAGES.scores(&counts)
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
                id: neighbour.id.clone(),
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
    let scores: Vec<_> = passages.iter().map(|passage| passage.score).collect();
    let relevance = mmr::spread(&scores);
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
