//! The tables of a pipeline, and how they are searched.

use sqlx::{AssertSqlSafe, Row as _};
use thiserror::Error;

use super::filter::{CheckedFilter, InvalidFilter};
use crate::{llm, pg::lease::Pool};

/// A table.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub struct Table {
    pub name: String,
    pub text: String,
    pub vector: String,
    pub id: Option<String>,
    pub filter: Option<TableFilter>,
    pub keyword: Backend,
}

/// A filter.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum TableFilter {
    Raw(RawFilter),
    Structured(CheckedFilter),
}

/// A filter in SQL.
#[derive(Clone, Debug)]
pub struct RawFilter(#[expect(dead_code, reason = "a stand-in")] String);

impl RawFilter {
    /// Takes it.
    ///
    /// # Errors
    /// Never.
    pub fn new(text: String) -> Result<Self, InvalidFilter> {
        Ok(Self(text))
    }
}

/// A back-end.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum Backend {
    Auto,
    PgTextsearch,
    PgSearch,
    VchordBm25,
    Tsvector,
    Scan,
    Off,
}

/// How it is searched.
#[derive(Clone, Copy, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub struct Manner {
    pub hybrid: bool,
    pub vector_weight: f64,
    pub min_similarity: Option<f64>,
    pub max_scanned: u32,
}

/// The tables.
#[derive(Clone, Debug)]
pub struct Library {
    pool: Pool,
    tables: Vec<Table>,
}

/// A question.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub struct Question<'a> {
    pub text: &'a str,
    pub filter: Option<&'a CheckedFilter>,
    pub top_n: usize,
    pub disable_hybrid: bool,
}

/// Something that was found.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "a stand-in")]
pub struct Passage {
    pub id: Option<String>,
    pub content: String,
    pub score: f64,
}

/// What is wrong with the database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum Trouble {
    Unavailable,
    Refused,
    Failed,
}

/// Why nothing was searched.
#[derive(Debug, Error)]
#[expect(missing_docs, reason = "a stand-in")]
pub enum Failure {
    #[error("the question has no vector")]
    Embedding(#[source] llm::Error),
    #[error("the filter does not fit")]
    Filter,
    #[error("the database failed")]
    Database(Trouble, #[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Library {
    /// Makes it.
    #[must_use]
    pub fn new(pool: Pool, _: &str, tables: Vec<Table>, _: Manner) -> Self {
        Self { pool, tables }
    }

    /// Searches it.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn find(
        &self,
        question: &Question<'_>,
        embedding: impl Future<Output = Result<Vec<f32>, llm::Error>> + Send,
    ) -> Result<Vec<Passage>, Failure> {
        let vector = embedding.await.map_err(Failure::Embedding)?;
        let mut found = Vec::new();
        for table in &self.tables {
            let id = table.id.as_deref().unwrap_or("NULL");
            let (text, column, name) = (&table.text, &table.vector, &table.name);
            let sql = format!(
                "SELECT {id}::text, {text}, 1 - ({column} <=> $1::vector) FROM {name}
                 ORDER BY {column} <=> $1::vector LIMIT $2"
            );
            let mut lease = self
                .pool
                .lease()
                .await
                .map_err(|error| Failure::Database(Trouble::Unavailable, error.into()))?;
            let limit = i64::try_from(question.top_n).unwrap_or(i64::MAX);
            let rows = sqlx::query(AssertSqlSafe(sql))
                .bind(format!("{vector:?}"))
                .bind(limit)
                .fetch_all(lease.begin())
                .await
                .map_err(|error| Failure::Database(Trouble::Refused, error.into()))?;
            lease.settle();
            found.extend(rows.iter().map(|row| Passage {
                id: row.get(0),
                content: row.get(1),
                score: row.get(2),
            }));
        }
        Ok(found)
    }
}
