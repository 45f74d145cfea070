//! Rows that may match, and their order.

use std::{collections::HashSet, iter, mem};

use ziggurat_search::bm25::{Bm25, Collection, TermCounts};
use ziggurat_vector_search::retrieval_queries::Hit;

use crate::retrieval::keywords::{Terms, compounds::PartCounts, stems::AlikeWords, weight};

/// A row that may match.
pub(super) struct Candidate {
    /// Empty but for the id if the row has no word like one of the question.
    hit: Hit,
    pub(super) words: AlikeWords,
    parts: PartCounts,
    /// Number of phrases of the question that it contains.
    phrases: u32,
}

// === impl Candidate ===

impl Candidate {
    /// Counts the words of a row, in its other columns with these weights.
    pub(super) fn new(terms: &Terms, mut hit: Hit, weights: &[u32]) -> Self {
        let others = mem::take(&mut hit.others);
        let texts = iter::once(Some(&hit.content)).chain(others.iter().map(Option::as_ref));
        let texts = texts.enumerate().filter_map(|(column, text)| {
            let weight = weight(column, weights);
            Some((text?.as_str(), weight))
        });
        let texts: Vec<_> = texts.collect();
        let words = terms.beginnings.count(&texts);
        let parts = terms.compounds.count(&texts);
        let phrases = texts.iter().map(|(text, _)| terms.phrases.count(text));
        let phrases = phrases.max().unwrap_or_default();
        let hit = if words.is_empty() && parts.is_empty() {
            Hit {
                id: hit.id,
                ..Hit::default()
            }
        } else {
            hit
        };
        Self {
            hit,
            words,
            parts,
            phrases,
        }
    }

    /// Returns the identity of the row.
    fn key(&self) -> (Option<&str>, &str) {
        match &self.hit.id {
            Some(id) => (Some(id), ""),
            None => (None, &self.hit.content),
        }
    }
}

/// Returns the best rows that contain any of the words. Those with a phrase come first.
pub(super) fn ranked(
    terms: &Terms,
    candidates: Vec<Candidate>,
    counts: &[TermCounts],
    collection: &Collection,
    rows: u32,
) -> Vec<Hit> {
    let mut scores = Bm25::DOCUMENTS.scores_within(collection, counts);
    for ((score, candidate), counts) in scores.iter_mut().zip(&candidates).zip(counts) {
        *score += terms.compounds.score(&candidate.parts, counts, collection);
    }
    let best = scores.iter().copied().fold(0.0, f64::max);
    let mut hits: Vec<_> = candidates
        .into_iter()
        .zip(scores)
        .filter(|(_, score)| *score > 0.0)
        // No row without a phrase reaches a higher score than one with it.
        .map(|(candidate, score)| {
            let phrases = f64::from(candidate.phrases);
            (candidate, score + best * phrases)
        })
        .collect();
    hits.sort_by(|(one, score), (two, other)| {
        other
            .total_cmp(score)
            .then_with(|| one.key().cmp(&two.key()))
    });
    hits.truncate(usize::try_from(rows).unwrap_or(usize::MAX));
    hits.into_iter()
        .map(|(candidate, score)| Hit {
            score,
            ..candidate.hit
        })
        .collect()
}

/// Adds the rows that are not candidates yet.
pub(super) fn join(candidates: &mut Vec<Candidate>, more: Vec<Candidate>) {
    if candidates.is_empty() {
        *candidates = more;
        return;
    }
    let is_new: Vec<_> = {
        let known: HashSet<_> = candidates.iter().map(Candidate::key).collect();
        more.iter().map(|one| !known.contains(&one.key())).collect()
    };
    let new = more.into_iter().zip(is_new);
    candidates.extend(new.filter_map(|(one, is_new)| is_new.then_some(one)));
}
