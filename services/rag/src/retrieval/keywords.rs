//! Keyword search, ranked by BM25.

mod candidates;
mod method;

use std::sync::{Mutex, OnceLock};

use ziggurat_postgres::{error::QueryError, pool::Pool};
use ziggurat_runtime::lock;
use ziggurat_search::{
    bm25::{Bm25, Collection, Question, TermCounts},
    tokens,
};
use ziggurat_vector_search::retrieval_queries::{Hit, Lexicon, Search, SearchTable, Shape};

use super::table_search::Request;
use crate::filter::CheckedFilter;

use self::candidates::{LexemeCache, rounds};
pub(super) use self::method::KeywordMethod;

/// Limit on the rows that are read of a small table, whose row count is an estimate.
const MAX_READ: u32 = 10_000;

/// Limit on the words of a question that an index or a prefilter is asked for.
const MAX_WORDS: usize = 128;

/// Limit on a prefilter, in bytes, because PostgreSQL folds its case again for every row.
const MAX_PATTERNS: usize = 4096;

/// Keyword search of one table.
pub(super) struct KeywordSearch<'a> {
    pub(super) place: &'a SearchTable,
    pub(super) shape: &'a Shape,
    pub(super) statistics: &'a TextStatistics,
    pub(super) pool: &'a Pool,
}

/// Cached statistics of the texts of a table.
#[derive(Debug, Default)]
pub(super) struct TextStatistics {
    average_length: OnceLock<f64>,
    lexeme_cache: Mutex<LexemeCache>,
}

/// The rows that were found, and whether the limit left out rows that were not read.
#[derive(Debug, Default)]
pub(super) struct KeywordHits {
    pub(super) found: Vec<Hit>,
    pub(super) is_cut: bool,
}

/// A row that may match.
struct Candidate {
    id: Option<String>,
    /// Empty if the row contains none of the words.
    content: String,
    term_counts: TermCounts,
}

// === impl KeywordSearch ===

impl KeywordSearch<'_> {
    pub(super) async fn find(
        &self,
        method: &KeywordMethod,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let words = tokens::terms(request.text).filter(|word| word.len() <= tokens::LONGEST_WORD);
        let question = Question::new(words);
        if question.is_empty() || request.rows == 0 {
            return Ok(KeywordHits::default());
        }
        match method {
            KeywordMethod::Off => Ok(KeywordHits::default()),
            KeywordMethod::Ranking(ranking) => {
                let search = self.search(request, request.rows);
                let found = search.ranked(ranking, request.text, self.pool).await?;
                let is_cut = false;
                Ok(KeywordHits { found, is_cut })
            }
            KeywordMethod::ReadAll => self.read_all(&question, request).await,
            KeywordMethod::ReadSome => self.read_some(&question, request).await,
            KeywordMethod::Lexicon(lexicon) => self.look_up(lexicon, &question, request).await,
        }
    }

    fn search<'a>(&'a self, request: &Request<'a>, rows: u32) -> Search<'a> {
        Search {
            place: self.place,
            shape: self.shape,
            filter: request.filter.map(CheckedFilter::conditions),
            rows,
        }
    }

    /// Ranks all rows.
    async fn read_all(
        &self,
        question: &Question,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let search = self.search(request, MAX_READ);
        let keep = |id, content| Candidate::new(question, id, content);
        let candidates = search.scan(None, keep, self.pool).await?;
        let is_cut = is_full(&candidates, MAX_READ);
        let collection = Collection::of(&counts(&candidates));
        let found = ranked(candidates, &collection, request.rows);
        Ok(KeywordHits { found, is_cut })
    }

    /// Ranks the first rows that contain one of the words.
    async fn read_some(
        &self,
        question: &Question,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let limit = request.options.max_scanned;
        let search = self.search(request, limit);
        let words = longest(question.words());
        let keep = |id, content| Candidate::new(question, id, content);
        let candidates = search.scan(Some(&words), keep, self.pool).await?;
        let is_cut = is_full(&candidates, limit);
        let counts = counts(&candidates);
        let counted = Collection::of(&counts);
        let collection = Collection {
            documents: self.shape.rows().max(counted.documents),
            average_length: self.average_length(&counted).await?,
            ..counted
        };
        let found = ranked(candidates, &collection, request.rows);
        Ok(KeywordHits { found, is_cut })
    }

    /// Ranks the rows that an index finds for the words, the rarest words first.
    async fn look_up(
        &self,
        lexicon: &Lexicon,
        question: &Question,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let words = question.words();
        self.learn(lexicon, &words, request.text).await?;
        let (entries, frequencies) = {
            let lexeme_cache = lock(&self.statistics.lexeme_cache);
            let entries = lexeme_cache.entries(&words, request.text);
            (entries, lexeme_cache.frequencies(&words))
        };
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut complete: Vec<String> = Vec::new();
        // With a filter, the rows found are not all rows with the word, but the expected number is.
        let has_filter = request.filter.is_some() || self.place.is_filtered();
        let sufficient_candidates = candidates::sufficient_candidates(request.rows);
        for round in rounds(&entries, self.shape.rows()) {
            let left = candidates::MAX_CANDIDATES.saturating_sub(count(&candidates));
            if count(&candidates) >= sufficient_candidates || left == 0 {
                break;
            }
            let search = self.search(request, left);
            let keep = |id, content| Candidate::new(question, id, content);
            let wanted = &round.wanted;
            let more = search.matching(lexicon, wanted, keep, self.pool).await?;
            if round.is_complete && !has_filter && !is_full(&more, left) {
                complete.extend(wanted.0.iter().flatten().cloned());
            }
            join(&mut candidates, more);
        }
        let counts = counts(&candidates);
        let counted = Collection::of(&counts);
        let collection = Collection {
            documents: self.shape.rows().max(counted.documents),
            average_length: self.average_length(&counted).await?,
            frequencies: settle(&words, frequencies, &complete, &counted, self.shape.rows()),
        };
        let found = ranked(candidates, &collection, request.rows);
        let is_cut = false;
        Ok(KeywordHits { found, is_cut })
    }

    /// Loads lexemes and frequencies of words that are not cached yet.
    async fn learn(&self, lexicon: &Lexicon, words: &[&str], text: &str) -> Result<(), QueryError> {
        let unknown = lock(&self.statistics.lexeme_cache).unknown(words, text);
        if unknown.is_empty() {
            return Ok(());
        }
        let lexemes = lexicon.lexemes(&unknown, self.pool).await?;
        let uncounted = lock(&self.statistics.lexeme_cache).uncounted(&lexemes);
        let (most, place) = (candidates::MAX_CANDIDATES + 1, self.place);
        let counts = lexicon.frequencies(&uncounted, most, place, self.pool);
        let counts = counts.await?;
        let mut lexeme_cache = lock(&self.statistics.lexeme_cache);
        lexeme_cache.add(
            unknown.into_iter().zip(lexemes),
            uncounted.into_iter().zip(counts),
        );
        Ok(())
    }

    /// Returns the average number of terms in a text, from a sample that is taken once. If sampling
    /// fails, it is the average of the rows that were read.
    async fn average_length(&self, read: &Collection) -> Result<f64, QueryError> {
        if let Some(length) = self.statistics.average_length.get() {
            return Ok(*length);
        }
        let search = Search {
            place: self.place,
            shape: self.shape,
            filter: None,
            rows: 0,
        };
        let count = |text: &str| u32::try_from(tokens::terms(text).count()).unwrap_or(u32::MAX);
        let lengths = match search.sample(count, self.pool).await {
            Err(QueryError::Failed { .. }) => return Ok(read.average_length),
            lengths => lengths?,
        };
        let texts = f64::from(u32::try_from(lengths.len()).unwrap_or(u32::MAX));
        let sum: f64 = lengths.iter().copied().map(f64::from).sum();
        let average = sum / texts.max(1.0);
        Ok(*self.statistics.average_length.get_or_init(|| average))
    }
}

// === impl Candidate ===

impl Candidate {
    fn new(question: &Question, id: Option<String>, content: String) -> Self {
        let term_counts = question.count_terms(tokens::terms(&content));
        Self {
            id,
            content: if term_counts.is_hit() {
                content
            } else {
                String::new()
            },
            term_counts,
        }
    }

    /// Returns the identity of the row.
    fn key(&self) -> (Option<&str>, &str) {
        match &self.id {
            Some(id) => (Some(id), ""),
            None => (None, &self.content),
        }
    }
}

/// Returns the number of rows that contain each word: the exact count if all rows with the word
/// were read, else the expected count of its lexeme. For a word that the index leaves out because
/// it is common, the share among the rows that were read is extrapolated.
fn settle(
    words: &[&str],
    expected: Vec<Option<(String, f64)>>,
    complete: &[String],
    counted: &Collection,
    rows: f64,
) -> Vec<f64> {
    let seen = |at: usize| counted.frequencies.get(at).copied().unwrap_or_default();
    let places = (0..words.len()).zip(expected);
    places
        .map(|(at, expected)| match expected {
            Some((lexeme, _)) if complete.contains(&lexeme) => seen(at),
            Some((_, frequency)) => frequency.max(seen(at)),
            None => rows * seen(at) / counted.documents.max(1.0),
        })
        .collect()
}

/// Returns the best rows that contain any of the words.
fn ranked(candidates: Vec<Candidate>, collection: &Collection, rows: u32) -> Vec<Hit> {
    let scores = Bm25::DOCUMENTS.scores_within(collection, &counts(&candidates));
    let mut hits: Vec<_> = candidates
        .into_iter()
        .zip(scores)
        .filter(|(_, score)| *score > 0.0)
        .collect();
    hits.sort_by(|(one, score), (two, other)| {
        other
            .total_cmp(score)
            .then_with(|| one.key().cmp(&two.key()))
    });
    hits.truncate(usize::try_from(rows).unwrap_or(usize::MAX));
    hits.into_iter()
        .map(|(candidate, score)| Hit {
            id: candidate.id,
            content: candidate.content,
            score,
        })
        .collect()
}

fn counts(candidates: &[Candidate]) -> Vec<TermCounts> {
    let counts = candidates
        .iter()
        .map(|candidate| candidate.term_counts.clone());
    counts.collect()
}

/// Adds the rows that are not candidates yet.
fn join(candidates: &mut Vec<Candidate>, more: Vec<Candidate>) {
    if candidates.is_empty() {
        *candidates = more;
        return;
    }
    let is_new: Vec<_> = {
        let known: std::collections::HashSet<_> = candidates.iter().map(Candidate::key).collect();
        more.iter().map(|one| !known.contains(&one.key())).collect()
    };
    let new = more.into_iter().zip(is_new);
    candidates.extend(new.filter_map(|(one, is_new)| is_new.then_some(one)));
}

/// Returns the longest words that fit, since long words are likely to be rare.
fn longest(mut words: Vec<&str>) -> Vec<&str> {
    words.sort_by_key(|word| std::cmp::Reverse(word.len()));
    let mut left = MAX_PATTERNS;
    words.retain(|word| {
        let fits = word.len() <= left;
        left -= if fits { word.len() } else { 0 };
        fits
    });
    words.truncate(MAX_WORDS);
    words
}

fn count(candidates: &[Candidate]) -> u32 {
    u32::try_from(candidates.len()).unwrap_or(u32::MAX)
}

fn is_full(candidates: &[Candidate], limit: u32) -> bool {
    count(candidates) >= limit
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefilter_has_the_longest_words_that_fit() {
        assert_eq!(
            longest(vec!["soil", "vacuum", "x1"]),
            ["vacuum", "soil", "x1"]
        );
        let long = "k".repeat(2000);
        let words = vec!["soil", &long, &long, &long, "vacuum"];
        assert_eq!(longest(words), [&long, &long, "vacuum", "soil"]);
        let many: Vec<_> = (0..20_000).map(|number| format!("w{number:06}")).collect();
        let many = longest(many.iter().map(String::as_str).collect());
        assert_eq!(many.len(), MAX_WORDS);
    }
}
