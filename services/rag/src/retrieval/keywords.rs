//! Keyword search, ranked by BM25.
//!
//! Words are compared by their lexemes in the text search configuration of PostgreSQL, so that a
//! question finds other forms of its words.

mod candidate;
mod candidates;
mod compounds;
mod method;
mod phrases;
mod shares;
mod stems;
mod terms;

use std::{
    borrow::Cow,
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, OnceLock},
};

use ziggurat_postgres::{error::QueryError, pool::Pool};
use ziggurat_runtime::lock;
use ziggurat_search::{
    bm25::{Collection, Question, TermCounts},
    tokens,
};
use ziggurat_vector_search::retrieval_queries::{
    Hit, LexemeQuery, Lexicon, Prefilter, Search, SearchTable, Shape, TextConfiguration,
};

use crate::{filter::CheckedFilter, retrieval::table_search::Request};

pub(super) use self::method::KeywordMethod;
use self::{
    candidate::{Candidate, join, ranked},
    compounds::Compounds,
    phrases::Phrases,
    stems::{Beginnings, WordCache},
    terms::{Terms, add_prefixes, longest},
};

/// Limit on the rows that are read of a small table, because its row count is an estimate.
const MAX_READ: u32 = 10_000;

/// Limit on the words of a question that an index or a prefilter is asked for.
const MAX_WORDS: usize = 128;

/// Limit on the words of texts that are turned into lexemes for one question.
const MAX_LOOKED_UP: usize = 10_000;

/// Keyword search of one table.
pub(super) struct KeywordSearch<'a> {
    pub(super) place: &'a SearchTable,
    /// The weights of the columns that are searched besides the texts.
    pub(super) weights: &'a [u32],
    pub(super) shape: &'a Shape,
    pub(super) statistics: &'a TextStatistics,
    pub(super) pool: &'a Pool,
}

/// Cached statistics of the texts of a table.
#[derive(Debug, Default)]
pub(super) struct TextStatistics {
    average_length: OnceLock<f64>,
    lexemes: Lexemes,
    /// The number of rows that contain a lexeme.
    frequencies: Mutex<WordCache<f64>>,
}

/// The lexemes of words in a text search configuration. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Lexemes(Arc<Mutex<WordCache<Vec<String>>>>);

/// The rows that were found, and whether the limit left out rows that were not read.
#[derive(Debug, Default)]
pub(super) struct KeywordHits {
    pub(super) found: Vec<Hit>,
    pub(super) is_cut: bool,
}

// === impl TextStatistics ===

impl TextStatistics {
    /// Takes lexemes of words that are known already.
    pub(super) fn new(lexemes: Lexemes) -> Self {
        Self {
            lexemes,
            ..Self::default()
        }
    }
}

// === impl KeywordSearch ===

impl KeywordSearch<'_> {
    pub(super) async fn find(
        &self,
        method: &KeywordMethod,
        request: &Request<'_>,
    ) -> Result<KeywordHits, QueryError> {
        let prefixes = request.prefixes().iter().map(Cow::from);
        let words = tokens::terms(request.text).chain(prefixes);
        let words = words.filter(|word| word.len() <= tokens::LONGEST_WORD);
        let words = Question::new(words);
        if words.is_empty() || request.rows == 0 {
            return Ok(KeywordHits::default());
        }
        match method {
            KeywordMethod::Off => return Ok(KeywordHits::default()),
            KeywordMethod::Ranking(ranking) => {
                let search = self.search(request, request.rows);
                let found = search.ranked(ranking, request.text, self.pool).await?;
                let is_cut = false;
                return Ok(KeywordHits { found, is_cut });
            }
            _ => {}
        }
        let configuration = method.configuration(self.place);
        let terms = self.terms(configuration, &words.words(), request).await?;
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
            excluded: request.excluded(),
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
        let keep = |hit| Candidate::new(terms, hit, self.weights);
        let candidates = search.scan(Prefilter::None, keep, self.pool).await?;
        let is_cut = is_full(&candidates, MAX_READ);
        let counts = self
            .counts(self.place.configuration(), terms, &candidates)
            .await?;
        let collection = Collection::of(&counts);
        let found = ranked(terms, candidates, &counts, &collection, request.rows);
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
        let keep = |hit| Candidate::new(terms, hit, self.weights);
        // An index over the trigrams of the texts would not serve a condition on titles, too.
        let is_indexed = self.shape.has_trigrams(self.place) && !self.place.has_keyword_columns();
        let prefilter = if is_indexed {
            Prefilter::Text(&patterns)
        } else {
            Prefilter::AnyColumn(&patterns)
        };
        let candidates = search.scan(prefilter, keep, self.pool).await?;
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
        let found = ranked(terms, candidates, &counts, &collection, request.rows);
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
        let has_filter =
            request.filter.is_some() || self.place.is_filtered() || !request.excluded().is_empty();
        let sufficient_candidates = candidates::sufficient_candidates(request.rows);
        for round in candidates::rounds(&entries, self.shape.rows()) {
            let left = candidates::MAX_CANDIDATES.saturating_sub(count(&candidates));
            let is_enough = !round.is_selective && count(&candidates) >= sufficient_candidates;
            if is_enough || left == 0 {
                break;
            }
            let search = self.search(request, left);
            let keep = |hit| Candidate::new(terms, hit, self.weights);
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
        let found = ranked(terms, candidates, &counts, &collection, request.rows);
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
        let keep = |hit| Candidate::new(terms, hit, self.weights);
        let search = self.search(request, candidates::MAX_CANDIDATES);
        search
            .matching(lexicon, &LexemeQuery(wanted), keep, self.pool)
            .await
    }

    /// Returns rows that contain parts of a question in Chinese or Japanese, or words of it within
    /// others, if there is an index for that. PostgreSQL does not know the words of these languages,
    /// and the parts of compounds.
    async fn by_trigrams(
        &self,
        terms: &Terms,
        request: &Request<'_>,
        known: u32,
    ) -> Result<Vec<Candidate>, QueryError> {
        let left = candidates::MAX_CANDIDATES.saturating_sub(known);
        let mut trigrams = candidates::trigrams(request.text);
        trigrams.extend(terms.within_others());
        if trigrams.is_empty() || left == 0 || !self.shape.has_trigrams(self.place) {
            return Ok(Vec::new());
        }
        let patterns: Vec<_> = trigrams.iter().map(String::as_str).collect();
        let keep = |hit| Candidate::new(terms, hit, self.weights);
        let search = self.search(request, left);
        search
            .scan(Prefilter::Text(&patterns), keep, self.pool)
            .await
    }

    /// Returns the terms of a question, without the words that the configuration leaves out.
    async fn terms(
        &self,
        configuration: &TextConfiguration,
        words: &[&str],
        request: &Request<'_>,
    ) -> Result<Terms, QueryError> {
        let words = &words[..words.len().min(MAX_WORDS)];
        let (text, prefixes) = (request.text, request.prefixes());
        let phrases = Phrases::find(text);
        let compounds = candidates::compounds(text);
        let all = words.iter().copied().chain(compounds);
        let all = all.chain(phrases.iter().flatten().map(String::as_str));
        let mut lexemes = self
            .lexemes(configuration, &all.collect::<Vec<_>>())
            .await?;
        for prefix in prefixes {
            lexemes.insert(prefix.clone(), vec![terms::any_end(prefix)]);
        }
        let question = Question::new(words.iter().filter_map(|word| lexemes.get(*word)).flatten());
        let of_phrase = |phrase: &[String]| {
            let lexemes = phrase.iter().filter_map(|word| lexemes.get(word));
            lexemes.flatten().cloned().collect()
        };
        let joins_words = request.options.compounds;
        let compounds = if joins_words.unwrap_or_else(|| configuration.joins_words()) {
            Compounds::new(words, &lexemes, &question)
        } else {
            Compounds::default()
        };
        Ok(Terms {
            beginnings: Beginnings::new(&question.words()),
            question,
            compounds,
            words: words.iter().map(|word| (*word).to_owned()).collect(),
            phrase_lexemes: phrases.iter().map(of_phrase).collect(),
            phrases,
            prefixes: prefixes.to_vec(),
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
        let mut lexemes = self.lexemes(configuration, &words).await?;
        add_prefixes(&mut lexemes, &terms.prefixes);
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
        let (mut known, mut unknown) = lock(&self.statistics.lexemes.0).split(words);
        unknown.truncate(MAX_LOOKED_UP);
        if !unknown.is_empty() {
            let lexemes = configuration.lexemes(&unknown, self.pool).await?;
            let loaded: Vec<_> = unknown.into_iter().zip(lexemes).collect();
            lock(&self.statistics.lexemes.0).add(loaded.clone());
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
            let counts = lexicon.frequencies(&unknown, most, self.place, self.shape, self.pool);
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
            excluded: &[],
            rows: 0,
        };
        let count = |column: usize, text: &str| {
            let terms = u32::try_from(tokens::terms(text).count()).unwrap_or(u32::MAX);
            terms.saturating_mul(weight(column, self.weights))
        };
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

/// Returns the weight of a column that is searched. The first column has the texts, and weight 1.
fn weight(column: usize, others: &[u32]) -> u32 {
    let other = column.checked_sub(1).and_then(|at| others.get(at));
    other.copied().unwrap_or(1)
}

fn count(candidates: &[Candidate]) -> u32 {
    u32::try_from(candidates.len()).unwrap_or(u32::MAX)
}

fn is_full(candidates: &[Candidate], limit: u32) -> bool {
    count(candidates) >= limit
}
