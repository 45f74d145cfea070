//! The tables of a pipeline, and how passages are found in them.
//!
//! Each table is searched in two ways at once: by vector, as soon as the embedding of the question
//! is ready, and by keyword, which does not wait for it. Reciprocal rank fusion merges both orders,
//! and the tables are merged by score.
//!
//! ```no_run
//! use ziggurat_llm::Embedder;
//! use ziggurat_postgres::pool::Pool;
//! use ziggurat_rag_service::retrieval::{
//!     Backend, Failure, FilterColumns, Library, SearchOptions, Question, Table,
//! };
//!
//! # async fn example(pool: Pool, embedder: Embedder) -> Result<(), Failure> {
//! let table = Table {
//!     name: "shop.manual".into(),
//!     text: "body".into(),
//!     vector: "embedding".into(),
//!     id: Some("id".into()),
//!     filter: None,
//!     filter_columns: FilterColumns::Shown,
//!     keyword: Backend::Auto,
//! };
//! let library = Library::new(pool, "support", vec![table], SearchOptions::default());
//! library.check().await;
//!
//! let text = "How is wool washed?";
//! let question = Question {
//!     text,
//!     filter: None,
//!     top_n: 10,
//!     disable_hybrid: false,
//! };
//! let embedding = async { Ok(embedder.embed(text).await?.vector) };
//! for passage in library.find(&question, embedding).await? {
//!     println!("{:?}: {}", passage.id, passage.content);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each table and each kind of search takes one connection, as far as the pool has free ones, and a
//! search that is dropped is cancelled. A table that fails is left out as long as others return
//! results; the log names the table and the reason.

mod backend;
mod columns;
mod failure;
mod fusion;
mod obstacle;
mod table_search;
#[cfg(test)]
mod tests;
mod words;

use std::{fmt, iter, sync::Arc};

use futures_util::future;
use tracing::warn;
use ziggurat_llm as llm;
use ziggurat_postgres::pool::Pool;

use super::filter::{CheckedFilter, RawFilter};

pub use self::{
    backend::{Backend, UnknownBackend},
    columns::{FilterColumns, ForbiddenColumn},
    failure::{Failure, Trouble},
    obstacle::Obstacle,
};
use self::{
    failure::{Missed, Verdict},
    fusion::Hits,
    table_search::{Request, TableSearch},
};

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
    /// The condition on all searches of the table.
    pub filter: Option<TableFilter>,
    /// The columns a request may filter by.
    pub filter_columns: FilterColumns,
    /// The method of keyword search.
    pub keyword: Backend,
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
    /// Weight of the vector search, from 0 to 1; keyword search has the rest.
    pub vector_weight: f64,
    /// Minimum similarity of a passage that only the vector search found.
    pub min_similarity: Option<f64>,
    /// Limit on the rows that are read if no index serves keyword search.
    pub max_scanned: u32,
}

/// A search request.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The question.
    pub text: &'a str,
    /// A filter of the client, which narrows the filter of the table.
    pub filter: Option<&'a CheckedFilter>,
    /// Maximum number of passages to return; the caller bounds it.
    pub top_n: usize,
    /// Turns keyword search off for this question.
    pub disable_hybrid: bool,
}

/// A text that was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The id of the row, if the table has an id column.
    pub id: Option<String>,
    /// The text.
    pub content: String,
    /// The relevance; higher is better.
    pub score: f64,
}

/// The tables of a pipeline. Clones share what was learned about the tables.
#[derive(Clone)]
pub struct Library {
    inner: Arc<Inner>,
}

struct Inner {
    pipeline: String,
    pool: Pool,
    manner: SearchOptions,
    shelves: Vec<TableSearch>,
}

// === impl SearchOptions ===

impl Default for SearchOptions {
    fn default() -> Self {
        Self {
            hybrid: true,
            vector_weight: 0.5,
            min_similarity: None,
            max_scanned: 10_000,
        }
    }
}

// === impl Library ===

impl Library {
    /// Creates the search of a pipeline's tables with a pool for their database. It opens no
    /// connection.
    #[must_use]
    pub fn new(pool: Pool, pipeline: &str, tables: Vec<Table>, manner: SearchOptions) -> Self {
        let is_hybrid = manner.hybrid && manner.vector_weight < 1.0;
        let shelves = tables
            .into_iter()
            .zip(iter::repeat(pool.clone()))
            .map(|(table, pool)| TableSearch::new(table, pipeline, pool, is_hybrid));
        Self {
            inner: Arc::new(Inner {
                pipeline: pipeline.to_owned(),
                pool,
                manner,
                shelves: shelves.collect(),
            }),
        }
    }

    /// Inspects the tables and logs what prevents a search of them or makes it slow. An unreachable
    /// database is also logged.
    pub async fn check(&self) {
        future::join_all(self.inner.shelves.iter().map(TableSearch::check)).await;
    }

    /// Checks that the database responds and that at least one table can be searched with vectors
    /// of this many dimensions.
    ///
    /// # Errors
    /// Returns the reason why not.
    pub async fn probe(&self, dimensions: Option<usize>) -> Result<(), Obstacle> {
        obstacle::reach(&self.inner.pool).await?;
        obstacle::of_all(&self.inner.shelves, dimensions).await
    }

    /// Returns false if a table is known not to support vectors of this many dimensions.
    pub(super) fn is_sound(&self, dimensions: Option<usize>) -> bool {
        let mut shelves = self.inner.shelves.iter();
        shelves.all(|shelf| shelf.known_obstacle(dimensions).is_none())
    }

    /// Checks that at least one table allows a request to filter by these columns. The other tables
    /// are not searched then.
    ///
    /// # Errors
    /// Names a column that no table allows with the others, and the allowed columns.
    pub(crate) fn check_filter(&self, filter: &CheckedFilter) -> Result<(), ForbiddenColumn> {
        let mut forbidden: Option<ForbiddenColumn> = None;
        for shelf in &self.inner.shelves {
            let Err(now) = shelf.check_filter(filter) else {
                return Ok(());
            };
            forbidden = Some(match forbidden {
                Some(before) => before.or(now),
                None => now,
            });
        }
        forbidden.map_or(Ok(()), Err)
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
        question: &Question<'_>,
        embedding: impl Future<Output = Result<Vec<f32>, llm::Error>> + Send,
    ) -> Result<Vec<Passage>, Failure> {
        let inner = &*self.inner;
        let request = Request {
            text: question.text,
            filter: question.filter,
            rows: u32::try_from(question.top_n.saturating_mul(2)).unwrap_or(u32::MAX),
            manner: &inner.manner,
        };
        let is_hybrid =
            inner.manner.hybrid && inner.manner.vector_weight < 1.0 && !question.disable_hybrid;
        let vector = async {
            let embedding = embedding.await.map_err(Failure::Embedding)?;
            let arms = inner.shelves.iter();
            Ok(future::join_all(arms.map(|shelf| shelf.closest(&request, &embedding))).await)
        };
        let words = async {
            if !is_hybrid {
                return Ok(Vec::new());
            }
            let arms = inner.shelves.iter();
            Ok(future::join_all(arms.map(|shelf| shelf.wordwise(&request))).await)
        };
        // If the embedding fails, the keyword search is cancelled at once.
        let (vector, words) = future::try_join(vector, words).await?;
        inner.say_unfit(&vector);
        let mut verdict = Verdict::default();
        let mut words = words.into_iter();
        let hits = vector.into_iter().map(|found| Hits {
            vector: verdict.of(found),
            words: words.next().unwrap_or_default(),
        });
        let hits: Vec<_> = hits.collect();
        let weight = is_hybrid.then_some(inner.manner.vector_weight);
        let passages = fusion::blend(hits, weight, question.top_n);
        if passages.is_empty() {
            verdict.judge()?;
        }
        Ok(passages)
    }
}

impl fmt::Debug for Library {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Library")
            .field("pipeline", &self.inner.pipeline)
            .finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    /// Logs the tables that the filter of a request does not fit, if it fits others. If it fits
    /// none, the client gets an error.
    fn say_unfit<T>(&self, found: &[Result<T, Missed>]) {
        if !found.iter().any(Result::is_ok) {
            return;
        }
        for (shelf, found) in self.shelves.iter().zip(found) {
            if matches!(found, Err(Missed::Unfit)) {
                warn!(
                    pipeline = self.pipeline,
                    table = shelf.name(),
                    "the filter of a request does not fit the table"
                );
            }
        }
    }
}
