//! Words that few rows of the tables contain.

use std::{cmp::Reverse, collections::HashSet, error::Error};

use futures_util::future;
use tracing::debug;
use ziggurat_search::tokens;

use crate::retrieval::Retriever;

/// Limit on the words that are looked up.
const MAX_WORDS: usize = 128;

/// A word in more of the rows than this says little about any of them.
const MAX_SHARE: f64 = 0.5;

// === impl Retriever ===

impl Retriever {
    /// Returns up to `most` words of a text, the rarest in the tables first. Words that no row
    /// contains are left out. If the frequencies are not known, long words count as rare.
    pub(crate) async fn rare_words(&self, text: &str, most: usize) -> Vec<String> {
        let mut seen = HashSet::new();
        let terms = tokens::terms(text).filter(|word| word.len() <= tokens::LONGEST_WORD);
        let words = terms.filter(|word| seen.insert(word.clone().into_owned()));
        let words: Vec<_> = words.take(MAX_WORDS).collect();
        let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
        let asker = self.asker();
        let tables = self.inner.tables.iter();
        let shares = tables.map(|table| table.word_shares(&words, &asker));
        let shares = future::join_all(shares).await;
        let shares: Vec<_> = shares
            .into_iter()
            .map(|shares| {
                shares.unwrap_or_else(|error| {
                    let error: &dyn Error = &error;
                    let pipeline = self.stages.pipeline();
                    debug!(error, pipeline, "the frequencies of words are not known");
                    vec![None; words.len()]
                })
            })
            .collect();
        let mut ranked: Vec<(&str, Option<f64>)> = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let known = shares
                .iter()
                .filter_map(|shares| shares.get(place).copied().flatten());
            let known: Vec<f64> = known.collect();
            let is_in_none = known.len() == shares.len() && known.iter().all(|share| *share <= 0.0);
            let share = known
                .into_iter()
                .filter(|share| *share > 0.0)
                .reduce(f64::min);
            if !is_in_none && share.is_none_or(|share| share <= MAX_SHARE) {
                ranked.push((word, share));
            }
        }
        ranked.sort_by(|(one, share), (two, other)| {
            let share = share.unwrap_or(MAX_SHARE);
            let ordered = share.total_cmp(&other.unwrap_or(MAX_SHARE));
            ordered.then_with(|| Reverse(one.len()).cmp(&Reverse(two.len())))
        });
        ranked.truncate(most);
        ranked
            .into_iter()
            .map(|(word, _)| word.to_owned())
            .collect()
    }
}
