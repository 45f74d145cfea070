//! Frequencies of words.

use std::collections::BTreeSet;

use ziggurat_postgres::error::QueryError;
use ziggurat_search::{
    bm25::{Collection, Question},
    tokens,
};
use ziggurat_vector_search::retrieval_queries::{Hit, Prefilter, Search};

use crate::retrieval::keywords::{KeywordMethod, KeywordSearch, MAX_READ};

// === impl KeywordSearch ===

impl KeywordSearch<'_> {
    /// Returns the share of the rows that contain each word; `None` if the method of keyword search
    /// does not know it. No word may be there twice.
    pub(in crate::retrieval) async fn shares(
        &self,
        method: &KeywordMethod,
        words: &[&str],
    ) -> Result<Vec<Option<f64>>, QueryError> {
        match method {
            KeywordMethod::ReadAll if !words.is_empty() => {
                let question = Question::new(words.iter().copied());
                let search = Search {
                    place: self.place,
                    shape: self.shape,
                    filter: None,
                    excluded: &[],
                    rows: MAX_READ,
                };
                let count = |hit: Hit| question.count_terms(tokens::terms(&hit.content));
                let counts = search.scan(Prefilter::None, count, self.pool).await?;
                let collection = Collection::of(&counts);
                let rows = collection.documents.max(1.0);
                let frequencies = collection.frequencies;
                let frequency = |place| frequencies.get(place).copied().unwrap_or_default();
                Ok((0..words.len())
                    .map(|place| Some(frequency(place) / rows))
                    .collect())
            }
            KeywordMethod::Lexicon(lexicon) => {
                let lexemes = self.lexemes(lexicon.configuration(), words).await?;
                let all: BTreeSet<_> = lexemes.values().flatten().cloned().collect();
                let frequencies = self.frequencies(lexicon, &all).await?;
                let rows = self.shape.rows().max(1.0);
                let share = |lexemes: &Vec<String>| {
                    let known = lexemes.iter().filter_map(|lexeme| frequencies.get(lexeme));
                    // A word without a lexeme is one that is too common for the index.
                    known
                        .copied()
                        .reduce(f64::min)
                        .map_or(1.0, |rarest| rarest / rows)
                };
                Ok(words
                    .iter()
                    .map(|word| lexemes.get(*word).map(share))
                    .collect())
            }
            _ => Ok(vec![None; words.len()]),
        }
    }
}
