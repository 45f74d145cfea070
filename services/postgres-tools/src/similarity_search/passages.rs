//! Passages of the rows: the best first, without repetition, as many as fit.

use std::collections::HashSet;

use ziggurat_search::{
    bm25::{Bm25, Question},
    budget,
    fusion::{Fusion, Method},
    mmr::{self, WordSet},
    tokens,
};
use ziggurat_vector_search::Neighbour;

use crate::similarity_search::arguments::SearchCall;

/// Limit on the passages that are ranked, because many short ones take long.
const MAX_PASSAGES: usize = 4096;

/// Limit on the passages that are compared with each other, the best ones.
const MAX_COMPARED: usize = 512;

/// Weight of the distance of a row; its words have the rest. It is more than in a search by words of
/// the whole table, because the words only rank the rows that are close, and have no stems. The bench
/// `retrieval_quality` measures it.
const VECTOR_WEIGHT: f64 = 0.6;

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
    /// The relevance, from 0 to 1: 1 if it is the best by the vectors and by its words.
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

/// Ranks the passages by the distance of their row and by the words that they and their row share
/// with the question. Keeps the passages of the best rows; ties keep the order of their rows.
fn ranked(rows: &[Neighbour], search_call: &SearchCall) -> Vec<Passage> {
    let mut passages = cut(rows, search_call);
    let by_words = word_scores(rows, &passages, &search_call.question);
    let fusion = Fusion {
        method: Method::WeightedSum,
        vector_weight: VECTOR_WEIGHT,
    };
    let fused = fusion.fuse(row_scores(rows, &passages), by_words);
    for entry in &fused {
        passages[entry.key].score = entry.score;
    }
    // The sort is stable, so ties keep their order.
    passages.sort_by(|one, two| two.score.total_cmp(&one.score));
    let most = usize::try_from(search_call.rows).unwrap_or(usize::MAX);
    let mut best = HashSet::new();
    passages.retain(|passage| {
        best.contains(&passage.row) || (best.len() < most && best.insert(passage.row))
    });
    passages
}

/// Scores the passages by the distance of their row. A row without a distance, because a vector of it
/// is NULL, counts like the worst.
fn row_scores(rows: &[Neighbour], passages: &[Passage]) -> Vec<(usize, f64)> {
    let worst = rows.iter().filter_map(|row| row.distance).reduce(f64::max);
    let worst = worst.unwrap_or_default();
    let score = |passage: &Passage| -rows[passage.row].distance.unwrap_or(worst);
    passages.iter().map(score).enumerate().collect()
}

/// Scores the passages that have a word of the question, the best first.
fn word_scores(rows: &[Neighbour], passages: &[Passage], question: &str) -> Vec<(usize, f64)> {
    let question = Question::new(tokens::words(question));
    let counts: Vec<_> = passages
        .iter()
        .map(|passage| question.count_terms(tokens::words(&passage.text)))
        .collect();
    let of_rows = scores_of_rows(rows, &question);
    let scores = Bm25::PASSAGES.scores(&counts).into_iter().enumerate();
    let mut scores: Vec<_> = scores
        .filter(|&(_, score)| score > 0.0)
        .map(|(at, score)| (at, score + of_rows[passages[at].row]))
        .collect();
    scores.sort_by(|one, two| two.1.total_cmp(&one.1));
    scores
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
