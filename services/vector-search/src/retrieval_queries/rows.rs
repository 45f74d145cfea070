//! Reads rows without an index, for callers that rank them.

use super::{Hit, Search, read_row};
use crate::{quoted, text};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery};

/// Maximum number of rows of a sample.
const SAMPLE: u32 = 300;

/// Maximum number of characters of a text in a sample.
const SAMPLED: u32 = 100_000;

/// Checks that a database answers.
///
/// # Errors
/// As [`Search::closest`].
pub async fn ping(pool: &Pool) -> Result<(), QueryError> {
    let read_query = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: "SELECT 1".to_owned(),
        values: Vec::new(),
    };
    read_query
        .read(pool.lease().await?, |_| Ok(()))
        .await
        .map(drop)
}

impl Search<'_> {
    /// Reads the rows that may be shown; with words, only those that contain one of them. `keep`
    /// gets a row without a score, and returns what to keep of it.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn scan<T>(
        &self,
        words: Option<&[&str]>,
        keep: impl Fn(Hit) -> T,
        pool: &Pool,
    ) -> Result<Vec<T>, QueryError> {
        let read_query = self.scan_query(words);
        read_query
            .read(pool.lease().await?, |row| read_row(row, &keep))
            .await
    }

    pub(super) fn scan_query(&self, words: Option<&[&str]>) -> ReadOnlyQuery {
        let mut builder = self.builder();
        let mut allowed = self.allowed(&mut builder);
        if let Some(words) = words {
            // Words are letters and digits, so no wildcard needs an escape.
            let patterns: Vec<_> = words.iter().map(|word| format!("%{word}%")).collect();
            let patterns = builder.texts(&patterns);
            let column = quoted(&self.place.text);
            allowed = format!("{allowed} AND {column}::text ILIKE ANY ({patterns})");
        }
        ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT {} FROM {} WHERE {allowed} LIMIT {}",
                builder.result_columns(),
                self.place.table,
                self.rows,
            ),
            values: builder.values,
        }
    }

    /// Reads a sample of the texts, and returns a number for each.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn sample(
        &self,
        measure: impl Fn(&str) -> u32,
        pool: &Pool,
    ) -> Result<Vec<u32>, QueryError> {
        let text_of = |row: &_| Ok(measure(&text(row, 0)?.unwrap_or_default()));
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: self.sample_query(),
            values: Vec::new(),
        };
        read_query.read(pool.lease().await?, text_of).await
    }

    fn sample_query(&self) -> String {
        let column = quoted(&self.place.text);
        // A table is sampled by pages; a view has none.
        let percent = 100.0 * 4.0 * f64::from(SAMPLE) / self.shape.rows().max(1.0);
        let pages = if self.shape.is_stored() && percent < 100.0 {
            format!(" TABLESAMPLE SYSTEM ({percent:e}) REPEATABLE (1)")
        } else {
            String::new()
        };
        format!(
            "SELECT pg_catalog.left({column}::text, {SAMPLED}) FROM {}{pages}
             WHERE {column} IS NOT NULL LIMIT {SAMPLE}",
            self.place.table
        )
    }
}
