//! The tables of a pipeline, and how passages are found in them.
//!
//! Each table is searched in two ways at once: by the meaning of the question, as soon as its
//! vector is there, and by its words, which need not wait for that. Reciprocal rank fusion makes
//! one order of both, and the tables are merged by score.
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
//! A search of several tables takes a connection for each table and way, as far as the pool has
//! room, and one that is dropped is cancelled. A table that fails is left out as long as others
//! have something to say; which ones fail, and why, goes to the log.

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

/// A table to search, as an operator describes it.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name, which may have a schema before a dot and parts in quotes.
    pub name: String,
    /// The column with the texts.
    pub text: String,
    /// The column with their vectors.
    pub vector: String,
    /// The column that tells the rows apart.
    pub id: Option<String>,
    /// Which rows are searched at all.
    pub filter: Option<TableFilter>,
    /// The columns a request may filter by.
    pub filter_columns: FilterColumns,
    /// How words are searched for.
    pub keyword: Backend,
}

/// Which rows of a table are searched at all.
#[derive(Clone, Debug, PartialEq)]
pub enum TableFilter {
    /// By a condition in SQL.
    Raw(RawFilter),
    /// By tests of columns.
    Structured(CheckedFilter),
}

/// How a pipeline searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchOptions {
    /// Whether it also searches by words.
    pub hybrid: bool,
    /// What the order by meaning weighs, from 0 to 1; the order by words weighs the rest.
    pub vector_weight: f64,
    /// How similar a passage has to be at least that is found by its meaning alone.
    pub min_similarity: Option<f64>,
    /// How many rows are read at most where no index serves the words.
    pub max_scanned: u32,
}

/// What is looked for.
#[derive(Clone, Copy, Debug)]
pub struct Question<'a> {
    /// The question.
    pub text: &'a str,
    /// Which rows the client wants. It narrows what the operator allows.
    pub filter: Option<&'a CheckedFilter>,
    /// How many passages are returned at most; whoever asks bounds it.
    pub top_n: usize,
    /// Whether it is searched by meaning alone.
    pub disable_hybrid: bool,
}

/// A text that answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// What names it, if something does.
    pub id: Option<String>,
    /// The text.
    pub content: String,
    /// How well it answers; more is better.
    pub score: f64,
}

/// The tables of a pipeline. Clones share what is known of them.
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
    /// Takes the tables of a pipeline, and connections to the database they are in. Connects to
    /// nothing.
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

    /// Looks at the tables, and says in the log what keeps them from being searched, or from
    /// being searched quickly. A database that is down is one of these things.
    pub async fn check(&self) {
        future::join_all(self.inner.shelves.iter().map(TableSearch::check)).await;
    }

    /// Checks that the database answers, and that one of the tables can be searched by vectors of
    /// so many dimensions.
    ///
    /// # Errors
    /// Says why not.
    pub async fn probe(&self, dimensions: Option<usize>) -> Result<(), Obstacle> {
        obstacle::reach(&self.inner.pool).await?;
        obstacle::of_all(&self.inner.shelves, dimensions).await
    }

    /// True if nothing is known that keeps a table from a search by vectors of so many dimensions.
    pub(super) fn is_sound(&self, dimensions: Option<usize>) -> bool {
        let mut shelves = self.inner.shelves.iter();
        shelves.all(|shelf| shelf.known_obstacle(dimensions).is_none())
    }

    /// Checks that one of the tables allows a request to filter by these columns. The others are
    /// not searched then.
    ///
    /// # Errors
    /// Names a column no table allows together with the others, and the columns that are allowed.
    pub fn check_filter(&self, filter: &CheckedFilter) -> Result<(), ForbiddenColumn> {
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

    /// Finds passages, the best first.
    ///
    /// The vector of the question may still be in the making.
    ///
    /// # Errors
    /// When there is no vector, when the filter of the question fits none of the tables, and when
    /// a table fails and the others have nothing to say.
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
        // Without a vector nobody waits for the words.
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
    /// Says which tables the filter of a request does not fit, where it fits others. If it fits
    /// none, the client is told.
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
