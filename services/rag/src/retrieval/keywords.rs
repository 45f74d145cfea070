//! Keyword search, ranked by BM25.
//!
//! Words are compared by their lexemes in the text search configuration of PostgreSQL, so that a
//! question finds other forms of its words.

mod candidate;
mod candidates;
mod method;
mod phrases;
mod shares;
mod stems;

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    sync::{Mutex, OnceLock},
};

use ziggurat_postgres::{error::QueryError, pool::Pool};
use ziggurat_runtime::lock;
use ziggurat_search::{
    bm25::{Collection, Question, TermCounts},
    tokens,
};
use ziggurat_vector_search::retrieval_queries::{
    Hit, LexemeQuery, Lexicon, Search, SearchTable, Shape, TextConfiguration,
};

use super::table_search::Request;
use crate::filter::CheckedFilter;

pub(super) use self::method::KeywordMethod;
use self::{
    candidate::{Candidate, join, ranked},
    phrases::Phrases,
    stems::{Beginnings, WordCache},
};

/// Limit on the rows that are read of a small table, whose row count is an estimate.
const MAX_READ: u32 = 10_000;

/// Limit on the words of a question that an index or a prefilter is asked for.
const MAX_WORDS: usize = 128;

/// Limit on the words of texts whose lexemes are looked up for one question.
const MAX_LOOKED_UP: usize = 10_000;

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
    /// The lexemes of words.
    lexemes: Mutex<WordCache<Vec<String>>>,
    /// The number of rows that contain a lexeme.
    frequencies: Mutex<WordCache<f64>>,
}

/// The rows that were found, and whether the limit left out rows that were not read.
#[derive(Debug, Default)]
pub(super) struct KeywordHits {
    pub(super) found: Vec<Hit>,
    pub(super) is_cut: bool,
}

/// The words of a question.
struct Terms {
    /// The lexemes that rows are ranked by.
    question: Question,
    beginnings: Beginnings,
    /// The words as they are written.
    words: Vec<String>,
    /// The lexemes that an index is asked for: those of the words, and those of texts with
    /// punctuation inside.
    indexed: BTreeSet<String>,
    phrases: Phrases,
    /// The lexemes of each phrase.
    phrase_lexemes: Vec<Vec<String>>,
}

// === impl KeywordSearch ===

impl KeywordSearch<'_> {
    pub(super) async fn find(
        &self,
        method: &KeywordMethod,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let words = tokens::terms(request.text).filter(|word| word.len() <= tokens::LONGEST_WORD);
        let words = Question::new(words);
        if words.is_empty() || request.rows == 0 {
            return Ok(KeywordHits::default());
        }
        let configuration = match method {
            KeywordMethod::Off => return Ok(KeywordHits::default()),
            KeywordMethod::Ranking(ranking) => {
                let search = self.search(request, request.rows);
                let found = search.ranked(ranking, request.text, self.pool).await?;
                let is_cut = false;
                return Ok(KeywordHits { found, is_cut });
            }
            KeywordMethod::ReadAll | KeywordMethod::ReadSome => self.place.configuration(),
            KeywordMethod::Lexicon(lexicon) => lexicon.configuration(),
        };
        let terms = self
            .terms(configuration, &words.words(), request.text)
            .await?;
        if terms.question.is_empty() {
            return Ok(KeywordHits::default());
        }
        match method {
            KeywordMethod::Lexicon(lexicon) => self.look_up(lexicon, &terms, request).await,
            KeywordMethod::ReadSome => self.read_some(&terms, request).await,
            _ => self.read_all(&terms, request).await,
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
        terms: &Terms,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let search = self.search(request, MAX_READ);
        let keep = |hit| Candidate::new(terms, hit);
        let candidates = search.scan(None, keep, self.pool).await?;
        let is_cut = is_full(&candidates, MAX_READ);
        let counts = self
            .counts(self.place.configuration(), terms, &candidates)
            .await?;
        let collection = Collection::of(&counts);
        let found = ranked(candidates, &counts, &collection, request.rows);
        Ok(KeywordHits { found, is_cut })
    }

    /// Ranks the first rows that contain one of the words.
    async fn read_some(
        &self,
        terms: &Terms,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let limit = request.options.max_scanned;
        let search = self.search(request, limit);
        let patterns = longest(terms.patterns());
        let keep = |hit| Candidate::new(terms, hit);
        let candidates = search.scan(Some(&patterns), keep, self.pool).await?;
        let is_cut = is_full(&candidates, limit);
        let counts = self
            .counts(self.place.configuration(), terms, &candidates)
            .await?;
        let counted = Collection::of(&counts);
        let collection = Collection {
            documents: self.shape.rows().max(counted.documents),
            average_length: self.average_length(&counted).await?,
            ..counted
        };
        let found = ranked(candidates, &counts, &collection, request.rows);
        Ok(KeywordHits { found, is_cut })
    }

    /// Ranks the rows that an index finds for the words, the rarest words first.
    async fn look_up(
        &self,
        lexicon: &Lexicon,
        terms: &Terms,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let frequencies = self.frequencies(lexicon, &terms.indexed).await?;
        let words = terms.question.words();
        let expected = words.iter().map(|word| frequencies.get(*word).copied());
        let expected: Vec<_> = expected.map(Option::unwrap_or_default).collect();
        let entries = candidates::entries(frequencies);
        let mut candidates: Vec<Candidate> = Vec::new();
        let mut complete: Vec<String> = Vec::new();
        // With a filter, the rows found are not all rows with the word, but the expected number is.
        let has_filter = request.filter.is_some() || self.place.is_filtered();
        let sufficient_candidates = candidates::sufficient_candidates(request.rows);
        for round in candidates::rounds(&entries, self.shape.rows()) {
            let left = candidates::MAX_CANDIDATES.saturating_sub(count(&candidates));
            let is_enough = !round.is_selective && count(&candidates) >= sufficient_candidates;
            if is_enough || left == 0 {
                break;
            }
            let search = self.search(request, left);
            let keep = |hit| Candidate::new(terms, hit);
            let wanted = &round.wanted;
            let more = search.matching(lexicon, wanted, keep, self.pool).await?;
            if round.is_complete && !has_filter && !is_full(&more, left) {
                complete.extend(wanted.0.iter().flatten().cloned());
            }
            join(&mut candidates, more);
        }
        let more = self.by_phrases(lexicon, terms, request).await?;
        join(&mut candidates, more);
        let more = self.by_trigrams(terms, request, count(&candidates)).await?;
        join(&mut candidates, more);
        let counts = self
            .counts(lexicon.configuration(), terms, &candidates)
            .await?;
        let counted = Collection::of(&counts);
        let collection = Collection {
            documents: self.shape.rows().max(counted.documents),
            average_length: self.average_length(&counted).await?,
            frequencies: settle(&words, &expected, &complete, &counted),
        };
        let found = ranked(candidates, &counts, &collection, request.rows);
        let is_cut = false;
        Ok(KeywordHits { found, is_cut })
    }

    /// Returns rows that have all words of a phrase.
    async fn by_phrases(
        &self,
        lexicon: &Lexicon,
        terms: &Terms,
        request: &Request<'_>,
    ) -> Result<Vec<Candidate>, QueryError> {
        let lexemes = terms.phrase_lexemes.iter();
        let wanted: Vec<_> = lexemes.filter(|list| !list.is_empty()).cloned().collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let keep = |hit| Candidate::new(terms, hit);
        let search = self.search(request, candidates::MAX_CANDIDATES);
        search
            .matching(lexicon, &LexemeQuery(wanted), keep, self.pool)
            .await
    }

    /// Returns rows that contain parts of a question in Chinese or Japanese, whose words PostgreSQL
    /// does not know, if there is an index for that.
    async fn by_trigrams(
        &self,
        terms: &Terms,
        request: &Request<'_>,
        known: u32,
    ) -> Result<Vec<Candidate>, QueryError> {
        let left = candidates::MAX_CANDIDATES.saturating_sub(known);
        let trigrams = candidates::trigrams(request.text);
        if trigrams.is_empty() || left == 0 || !self.shape.has_trigrams(self.place) {
            return Ok(Vec::new());
        }
        let patterns: Vec<_> = trigrams.iter().map(String::as_str).collect();
        let keep = |hit| Candidate::new(terms, hit);
        let search = self.search(request, left);
        search.scan(Some(&patterns), keep, self.pool).await
    }

    /// Returns the terms of a question. Words that the configuration leaves out are none.
    async fn terms(
        &self,
        configuration: &TextConfiguration,
        words: &[&str],
        text: &str,
    ) -> Result<Terms, QueryError> {
        let words = &words[..words.len().min(MAX_WORDS)];
        let phrases = Phrases::find(text);
        let compounds = candidates::compounds(text);
        let all = words.iter().copied().chain(compounds);
        let all = all.chain(phrases.iter().flatten().map(String::as_str));
        let lexemes = self
            .lexemes(configuration, &all.collect::<Vec<_>>())
            .await?;
        let question = Question::new(words.iter().filter_map(|word| lexemes.get(*word)).flatten());
        let of_phrase = |phrase: &[String]| {
            let lexemes = phrase.iter().filter_map(|word| lexemes.get(word));
            lexemes.flatten().cloned().collect()
        };
        Ok(Terms {
            beginnings: Beginnings::new(&question.words()),
            question,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            phrase_lexemes: phrases.iter().map(of_phrase).collect(),
            phrases,
            indexed: lexemes.into_values().flatten().collect(),
        })
    }

    /// Counts the terms in each row.
    async fn counts(
        &self,
        configuration: &TextConfiguration,
        terms: &Terms,
        candidates: &[Candidate],
    ) -> Result<Vec<TermCounts>, QueryError> {
        let words = candidates.iter().flat_map(|one| one.words.words());
        let words: Vec<_> = words.collect();
        let lexemes = self.lexemes(configuration, &words).await?;
        let counts = candidates
            .iter()
            .map(|one| one.words.term_counts(&terms.question, &lexemes));
        Ok(counts.collect())
    }

    /// Returns the lexemes of words. Words without lexemes have an empty list.
    async fn lexemes(
        &self,
        configuration: &TextConfiguration,
        words: &[&str],
    ) -> Result<HashMap<String, Vec<String>>, QueryError> {
        let (mut known, mut unknown) = lock(&self.statistics.lexemes).split(words);
        unknown.truncate(MAX_LOOKED_UP);
        if !unknown.is_empty() {
            let lexemes = configuration.lexemes(&unknown, self.pool).await?;
            let loaded: Vec<_> = unknown.into_iter().zip(lexemes).collect();
            lock(&self.statistics.lexemes).add(loaded.clone());
            known.extend(loaded);
        }
        Ok(known)
    }

    /// Returns the number of rows that contain each lexeme.
    async fn frequencies(
        &self,
        lexicon: &Lexicon,
        lexemes: &BTreeSet<String>,
    ) -> Result<HashMap<String, f64>, QueryError> {
        let lexemes: Vec<_> = lexemes.iter().map(String::as_str).collect();
        let (mut known, unknown) = lock(&self.statistics.frequencies).split(&lexemes);
        if !unknown.is_empty() {
            let most = candidates::MAX_CANDIDATES + 1;
            let counts = lexicon.frequencies(&unknown, most, self.place, self.pool);
            let counts = counts.await?;
            let loaded: Vec<_> = unknown.into_iter().zip(counts).collect();
            lock(&self.statistics.frequencies).add(loaded.clone());
            known.extend(loaded);
        }
        Ok(known)
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

// === impl Terms ===

impl Terms {
    /// Returns parts of words that a text with one of the terms contains: the words as they are
    /// written, and their lexemes.
    fn patterns(&self) -> Vec<&str> {
        let written = self.words.iter().map(String::as_str);
        let lexemes = self.question.words().into_iter().map(|lexeme| {
            // English lexemes end with an i where words end with a y.
            let stem = lexeme.strip_suffix('i');
            stem.filter(|stem| stem.len() > 2).unwrap_or(lexeme)
        });
        let mut seen = HashSet::new();
        let is_plain = |word: &&str| word.chars().all(char::is_alphanumeric);
        written
            .chain(lexemes)
            .filter(is_plain)
            .filter(|word| seen.insert(*word))
            .collect()
    }
}

/// Returns the number of rows that contain each lexeme: the exact count if all rows with it were
/// read, else the expected one.
fn settle(
    lexemes: &[&str],
    expected: &[f64],
    complete: &[String],
    counted: &Collection,
) -> Vec<f64> {
    let seen = |at: usize| counted.frequencies.get(at).copied().unwrap_or_default();
    let places = (0..).zip(lexemes.iter().zip(expected));
    places
        .map(|(at, (lexeme, expected))| {
            if complete.iter().any(|complete| complete == lexeme) {
                seen(at)
            } else {
                expected.max(seen(at))
            }
        })
        .collect()
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

    #[test]
    fn a_prefilter_has_words_and_their_stems() {
        let question = Question::new(["happi", "tupl", "foo-bar"]);
        let terms = Terms {
            beginnings: Beginnings::new(&question.words()),
            question,
            words: vec!["happiness".to_owned(), "tupl".to_owned()],
            indexed: BTreeSet::new(),
            phrases: Phrases::default(),
            phrase_lexemes: Vec::new(),
        };
        assert_eq!(terms.patterns(), ["happiness", "tupl", "happ"]);
    }
}
