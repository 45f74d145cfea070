//! The tables of a pipeline, and how passages are found in them.
//!
//! Each table is searched in two ways at once: by vector, as soon as the embedding of the question
//! is ready, and by keyword, which does not wait for it. Each search returns more passages than the
//! question asks for; both orders are merged, then the tables by score, and then the best are kept.
//!
//! ```no_run
//! use ziggurat_llm::Embedder;
//! use ziggurat_postgres::pool::Pool;
//! use ziggurat_rag_service::retrieval::{
//!     Backend, RetrievalFailure, FilterColumns, SearchRequest, Retriever, SearchOptions, Table,
//! };
//!
//! # async fn example(pool: Pool, embedder: Embedder) -> Result<(), RetrievalFailure> {
//! let table = Table {
//!     name: "shop.manual".into(),
//!     text: "body".into(),
//!     vector: "embedding".into(),
//!     id: Some("id".into()),
//!     title: None,
//!     url: None,
//!     filter: None,
//!     filter_columns: FilterColumns::Shown,
//!     keyword: Backend::Auto,
//!     text_search_config: None,
//!     keyword_columns: Vec::new(),
//!     order: None,
//! };
//! let retriever = Retriever::new(pool, "support", vec![table], SearchOptions::default());
//! retriever.check().await;
//!
//! let text = "How is wool washed?";
//! let question = SearchRequest {
//!     text,
//!     filter: None,
//!     top_n: 10,
//!     disable_hybrid: false,
//!     operators: None,
//! };
//! let embedding = async { Ok(embedder.embed(text).await?.vector) };
//! for passage in retriever.find(&question, embedding).await? {
//!     println!("{:?}: {}", passage.id, passage.content);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each table and each kind of search takes one connection, as far as the pool has free ones, and a
//! search that is dropped is cancelled. A table that fails is left out as long as others return
//! results; the log names the table and the reason.

mod askers;
mod backend;
mod columns;
mod diversity;
pub(crate) mod documents;
mod excerpt;
mod expand;
mod failure;
mod fusion;
mod keywords;
mod known_tables;
mod masked_search;
mod masks;
mod operators;
mod probe_error;
mod random;
mod rare_words;
mod reading;
mod table_search;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, collections::HashMap, fmt, sync::Arc};

use futures_util::future;
use tracing::warn;
use ziggurat_llm as llm;
use ziggurat_postgres::{
    call_context::CallContext,
    database::{CallerMasks, Database},
    pool::Pool,
};
use ziggurat_telemetry::Metrics;
pub use ziggurat_vector_search::retrieval_queries::DocumentOrder;
use ziggurat_vector_search::retrieval_queries::Hit;

use crate::{
    debug::{Arm, Recorder},
    filter::{CheckedFilter, RawFilter},
    stages::Stages,
};

use self::{
    askers::Asker,
    failure::{Outcome, SearchFailure},
    fusion::Hits,
    table_search::{Request, TableSearch},
};
pub use self::{
    askers::Askers,
    backend::{Backend, UnknownBackend},
    columns::{FilterColumns, ForbiddenColumn},
    failure::{FailureKind, RetrievalFailure},
    masks::AskerMasks,
    operators::Operators,
    probe_error::ProbeError,
};
pub use ziggurat_search::fusion::{Fusion, Method};

/// A table to search, as an operator configures it.
#[derive(Clone, Debug)]
pub struct Table {
    /// The name, which may have a schema before a dot and parts in quotes.
    pub name: String,
    /// The column with the texts.
    pub text: String,
    /// The column with the vectors of the texts.
    pub vector: String,
    /// The column with the ids of the rows.
    pub id: Option<String>,
    /// The column with the titles of the rows, for citations and sources.
    pub title: Option<String>,
    /// The column with the addresses of the rows, for citations and sources.
    pub url: Option<String>,
    /// The condition on all searches of the table.
    pub filter: Option<TableFilter>,
    /// The columns a request may filter by.
    pub filter_columns: FilterColumns,
    /// The method of keyword search.
    pub keyword: Backend,
    /// The text search configuration of the texts; `None` to use the one of the index or the
    /// database.
    pub text_search_config: Option<String>,
    /// Columns that are searched by words besides the texts, and how often each of their words counts.
    pub keyword_columns: Vec<(String, u32)>,
    /// The columns that put the rows into documents, and there into an order.
    pub order: Option<DocumentOrder>,
}

/// Condition on all searches of a table.
#[derive(Clone, Debug, PartialEq)]
pub enum TableFilter {
    /// A condition in SQL.
    Raw(RawFilter),
    /// Tests of columns.
    Structured(CheckedFilter),
}

/// Search settings of a pipeline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchOptions {
    /// Combines vector search with keyword search.
    pub hybrid: bool,
    /// Permits operators in questions.
    pub operators: bool,
    /// The method that merges both searches, and their weights.
    pub fusion: Fusion,
    /// Number of passages that each search returns before they are merged.
    pub candidates: u32,
    /// Number of passages before and behind each result, of the same document, that it is joined
    /// with.
    pub expand: u32,
    /// Finds words within other words; `None` to do so if the language of a table joins words.
    pub compounds: Option<bool>,
    /// Weight of the difference to other passages against the relevance, from 0 to 1.
    pub diversity: f64,
    /// Minimum similarity of a passage that only the vector search found.
    pub min_similarity: Option<f64>,
    /// Minimum number of rows that an HNSW index examines.
    pub ef_search: Option<u32>,
    /// Limit on the rows that are read if no index serves keyword search.
    pub max_scanned: u32,
}

/// A search request.
#[derive(Clone, Copy, Debug)]
pub struct SearchRequest<'a> {
    /// The question.
    pub text: &'a str,
    /// A filter of the client, which narrows the filter of the table.
    pub filter: Option<&'a CheckedFilter>,
    /// Maximum number of passages to return; the caller bounds it.
    pub top_n: usize,
    /// Turns keyword search off for this question.
    pub disable_hybrid: bool,
    /// The operators that the question had.
    pub operators: Option<&'a Operators>,
}

/// A text that was found.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// The id of the row, if the table has an id column.
    pub id: Option<String>,
    /// The text, or the parts of a long one that have words of the question.
    pub content: String,
    /// The relevance; higher is better.
    pub score: f64,
    /// A score that can be compared between questions: the score of the reranker, else the cosine
    /// similarity; `None` if only the keyword search found it.
    pub relevance: Option<f64>,
    /// The title, if the table has a title column.
    pub title: Option<String>,
    /// The address, if the table has a column for it.
    pub url: Option<String>,
    /// The id that identifies the row, if that is not the one to show.
    pub(crate) key: Option<String>,
    /// Number of the table in the pipeline.
    pub(crate) table: usize,
}

/// The tables of a pipeline. Clones share the descriptions of the tables.
#[derive(Clone)]
pub struct Retriever {
    inner: Arc<Inner>,
    stages: Stages,
    /// The call that its statements run for.
    call: CallContext,
    /// The rules for the roles of askers, if the database knows them.
    askers: Option<Askers>,
    /// Connections of the asker, if it has some of its own.
    own_pool: Option<Pool>,
    /// Columns that are masked for askers, if there are some.
    masks: Option<Arc<AskerMasks>>,
    /// The masks that hold for the asker, if some do.
    held: Option<Arc<CallerMasks>>,
}

struct Inner {
    pool: Pool,
    options: SearchOptions,
    tables: Vec<TableSearch>,
}

// === impl SearchOptions ===

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            hybrid: true,
            operators: false,
            fusion: Fusion::default(),
            candidates: 100,
            expand: 0,
            compounds: None,
            diversity: 0.0,
            min_similarity: None,
            ef_search: None,
            max_scanned: 10_000,
        }
    }
}

impl SearchOptions {
    /// Returns whether tables are also searched by keywords.
    fn is_hybrid(&self) -> bool {
        self.hybrid && self.fusion.vector_weight < 1.0
    }

    /// Returns whether passages are also chosen by their difference to others.
    fn is_diverse(&self, top_n: usize) -> bool {
        self.diversity > 0.0 && top_n < diversity::MAX_COMPARED
    }

    /// Merges the results of all searches for a question that uses `top_n` of them, and returns the
    /// best `kept`.
    fn merge(
        &self,
        hits: Vec<Hits>,
        fusion: Option<Fusion>,
        top_n: usize,
        kept: usize,
    ) -> Vec<Passage> {
        if !self.is_diverse(top_n) {
            return fusion::fuse_hits(hits, fusion, kept);
        }
        let candidates = usize::try_from(self.candidates).unwrap_or(usize::MAX);
        let most = candidates.min(diversity::MAX_COMPARED).max(top_n);
        let passages = fusion::fuse_hits(hits, fusion, most);
        diversity::pick(passages, kept, self.diversity)
    }

    /// Returns the number of rows that each search of a table returns.
    fn rows(&self, top_n: usize, is_hybrid: bool) -> u32 {
        // Rows without an id and with equal texts are one result.
        let rows = u32::try_from(top_n.saturating_mul(2)).unwrap_or(u32::MAX);
        if (is_hybrid || self.is_diverse(top_n)) && top_n > 0 {
            rows.max(self.candidates)
        } else {
            rows
        }
    }
}

// === impl Passage ===

impl Passage {
    /// Returns the id that identifies its row.
    fn key(&self) -> Option<&str> {
        self.key.as_deref().or(self.id.as_deref())
    }
}

// === impl Retriever ===

impl Retriever {
    /// Creates the search of a pipeline's tables with a pool for their database. It opens no
    /// connection.
    #[must_use]
    pub fn new(pool: Pool, pipeline: &str, tables: Vec<Table>, options: SearchOptions) -> Self {
        let is_hybrid = options.is_hybrid();
        let tables = tables
            .into_iter()
            .map(|table| TableSearch::new(table, pipeline, is_hybrid));
        Self {
            stages: Stages::new(pipeline),
            call: CallContext::default(),
            askers: None,
            own_pool: None,
            masks: None,
            held: None,
            inner: Arc::new(Inner {
                pool,
                options,
                tables: tables.collect(),
            }),
        }
    }

    /// Measures the searches, and the other stages of questions to the pipeline.
    #[must_use]
    pub fn with_metrics(self, metrics: Metrics) -> Self {
        Self {
            stages: self.stages.with_metrics(metrics),
            ..self
        }
    }

    /// Returns it for a call, which its statements name.
    pub(super) fn with_call(&self, call: CallContext) -> Self {
        Self {
            call,
            ..self.clone()
        }
    }

    /// Returns it for a question, and records the details of this question.
    pub(super) fn with_recorder(self, recorder: Recorder) -> Self {
        Self {
            stages: self.stages.with_recorder(recorder),
            ..self
        }
    }

    pub(super) fn stages(&self) -> &Stages {
        &self.stages
    }

    pub(super) fn database(&self) -> &Arc<Database> {
        self.inner.pool.database()
    }

    /// Inspects the tables and logs what prevents a search of them or makes it slow. An unreachable
    /// database is also logged.
    pub async fn check(&self) {
        let (pool, has_askers) = (&self.inner.pool, self.has_askers());
        let tables = self.inner.tables.iter();
        future::join_all(tables.map(|table| table.check(pool, has_askers))).await;
        self.check_askers().await;
        let Some(masks) = &self.masks else { return };
        let asker = Asker {
            pool: pool.clone(),
            masks: Some(masks.all()),
        };
        let tables = self.inner.tables.iter();
        future::join_all(tables.map(|table| table.check_masks(&asker))).await;
    }

    /// Returns whether words are searched besides meanings, unless a question disables it.
    pub(super) fn is_hybrid(&self) -> bool {
        self.inner.options.is_hybrid()
    }

    /// Checks that the database responds and that at least one table can be searched with vectors
    /// of this many dimensions.
    ///
    /// # Errors
    /// Returns the reason why not.
    pub async fn probe(&self, dimensions: Option<usize>) -> Result<(), ProbeError> {
        probe_error::ping(&self.inner.pool).await?;
        let Inner { pool, tables, .. } = &*self.inner;
        probe_error::of_all(tables, dimensions, pool, self.has_askers()).await
    }

    /// Returns false if a table is known not to support vectors of this many dimensions.
    pub(super) fn is_sound(&self, dimensions: Option<usize>) -> bool {
        let mut tables = self.inner.tables.iter();
        tables.all(|table| {
            let known = table.known_probe_error(dimensions, self.has_askers());
            known.is_none()
        })
    }

    /// Checks that at least one table allows a request to filter by these columns. The other tables
    /// are not searched then.
    ///
    /// # Errors
    /// Names a column that no table allows with the others, and the allowed columns.
    pub(crate) fn check_filter(&self, filter: &CheckedFilter) -> Result<(), ForbiddenColumn> {
        let mut forbidden: Option<ForbiddenColumn> = None;
        for table in &self.inner.tables {
            let Err(now) = table.check_filter(filter) else {
                return Ok(());
            };
            forbidden = Some(match forbidden {
                Some(before) => before.or(now),
                None => now,
            });
        }
        forbidden.map_or(Ok(()), Err)
    }

    /// Returns the operators of a question, if they are permitted and it has any.
    pub(crate) fn operators(&self, question: &str) -> Option<Operators> {
        let is_permitted = self.inner.options.operators;
        is_permitted.then(|| Operators::find(question)).flatten()
    }

    /// Finds passages, best first.
    ///
    /// The vector of the question may still be pending.
    ///
    /// # Errors
    /// Fails if there is no vector, if the filter of the question fits none of the tables, or if a
    /// table fails and the others return no passages.
    pub async fn find(
        &self,
        question: &SearchRequest<'_>,
        embedding: impl Future<Output = Result<Vec<f32>, llm::Error>> + Send,
    ) -> Result<Vec<Passage>, RetrievalFailure> {
        let inner = &*self.inner;
        let is_hybrid = inner.options.is_hybrid() && !question.disable_hybrid;
        let asker = self.asker();
        let request = Request {
            text: question.text,
            filter: question.filter,
            operators: question.operators,
            rows: inner.options.rows(question.top_n, is_hybrid),
            options: &inner.options,
            asker: &asker,
        };
        let vector = async {
            let embedding = embedding.await.map_err(RetrievalFailure::Embedding)?;
            let _stage = self.stages.begin("vector");
            let arms = inner.tables.iter();
            let found = arms.map(|table| table.closest(&request, &embedding));
            let found = future::join_all(found).await;
            Ok((embedding, found))
        };
        let words = async {
            if !is_hybrid {
                return Ok(Vec::new());
            }
            let _stage = self.stages.begin("keyword");
            let arms = inner.tables.iter();
            Ok(future::join_all(arms.map(|table| table.keyword_search(&request))).await)
        };
        // If the embedding fails, the keyword search is cancelled at once.
        let ((embedding, vector), words) = future::try_join(vector, words).await?;
        self.log_unfit(&vector);
        self.record(&vector, &words);
        let fuse = self.stages.begin_detail("fuse");
        let mut outcome = Outcome::default();
        let mut words = words.into_iter();
        let hits = vector.into_iter().map(|found| Hits {
            vector: outcome.of(found),
            words: words.next().unwrap_or_default(),
            similarities: HashMap::new(),
        });
        let mut hits: Vec<_> = hits.collect();
        let fusion = is_hybrid.then_some(inner.options.fusion);
        if fusion.is_some_and(|fusion| fusion.method == Method::WeightedSum) {
            self.compare(&request, &embedding, &mut hits).await;
        }
        let kept = question.top_n.max(self.stages.recorder().depth());
        let mut passages = inner.options.merge(hits, fusion, question.top_n, kept);
        for passage in &mut passages {
            if let Cow::Owned(part) = excerpt::excerpt(&passage.content, question.text) {
                passage.content = part;
            }
        }
        drop(fuse);
        if passages.is_empty() {
            outcome.into_result()?;
        }
        Ok(passages)
    }

    /// Adds the similarities of rows that only the keyword search found.
    async fn compare(&self, request: &Request<'_>, embedding: &[f32], hits: &mut [Hits]) {
        let tables = self.inner.tables.iter().zip(hits);
        let compared = tables.map(|(table, hits)| table.compare(request, embedding, hits));
        future::join_all(compared).await;
    }

    /// Records the rows that each search found.
    fn record(&self, vector: &[Result<Vec<Hit>, SearchFailure>], words: &[Vec<Hit>]) {
        let recorder = self.stages.recorder();
        if !recorder.is_on() {
            return;
        }
        let scores = |hits: &[Hit]| -> Vec<_> {
            let hits = hits.iter();
            hits.map(|hit| (hit.id.clone(), hit.score)).collect()
        };
        for (table, found) in self.inner.tables.iter().zip(vector) {
            let hits = found.as_deref().unwrap_or_default();
            recorder.found(Arm::Vector, table.name(), scores(hits));
        }
        for (table, hits) in self.inner.tables.iter().zip(words) {
            recorder.found(Arm::Keyword, table.name(), scores(hits));
        }
    }

    /// Logs the tables that the filter of a request does not match the tables, if it fits others. If it fits
    /// none, the client gets an error.
    fn log_unfit<T>(&self, found: &[Result<T, SearchFailure>]) {
        if !found.iter().any(Result::is_ok) {
            return;
        }
        for (table, found) in self.inner.tables.iter().zip(found) {
            if matches!(found, Err(SearchFailure::Unfit)) {
                warn!(
                    pipeline = self.stages.pipeline(),
                    table = table.name(),
                    "the filter of a request does not match the table"
                );
            }
        }
    }
}

impl fmt::Debug for Retriever {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retriever")
            .field("pipeline", &self.stages.pipeline())
            .finish_non_exhaustive()
    }
}
