//! Reads rows without an index, for callers that rank them.

use crate::{
    quoted,
    retrieval_queries::{Hit, Search, read_row},
    texts,
};
use ziggurat_postgres::{
    driver::Row, error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery,
};

/// Maximum number of rows of a sample.
const SAMPLE: u32 = 300;

/// Maximum number of characters of a text in a sample.
const SAMPLED: u32 = 100_000;

/// Condition that rows have to meet.
#[derive(Clone, Copy, Debug)]
pub enum Prefilter<'a> {
    /// None.
    None,
    /// Their text contains one of these words.
    Text(&'a [&'a str]),
    /// Their text, or another column that is searched by words, contains one of these words.
    AnyColumn(&'a [&'a str]),
}

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
    /// Reads the rows that may be shown, or only the rows that a prefilter lets pass. `keep` gets a
    /// row without a score, and returns the part to keep.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn scan<T>(
        &self,
        prefilter: Prefilter<'_>,
        keep: impl Fn(Hit) -> T,
        pool: &Pool,
    ) -> Result<Vec<T>, QueryError> {
        let read_query = self.scan_query(prefilter);
        read_query
            .read(pool.lease().await?, |row| read_row(row, &keep))
            .await
    }

    pub(super) fn scan_query(&self, prefilter: Prefilter<'_>) -> ReadOnlyQuery {
        let mut builder = self.builder();
        let mut allowed = self.allowed(&mut builder);
        let (words, others) = match prefilter {
            Prefilter::None => (&[][..], &[][..]),
            Prefilter::Text(words) => (words, &[][..]),
            Prefilter::AnyColumn(words) => (words, &*self.place.keyword_columns),
        };
        if !matches!(prefilter, Prefilter::None) {
            // Words are letters and digits, so no wildcard needs an escape.
            let patterns: Vec<_> = words.iter().map(|word| format!("%{word}%")).collect();
            let patterns = builder.texts(&patterns);
            let columns = std::iter::once(&self.place.text).chain(others);
            let tests =
                columns.map(|name| format!("{}::text ILIKE ANY ({patterns})", quoted(name)));
            let tests: Vec<_> = tests.collect();
            allowed = format!("{allowed} AND ({})", tests.join(" OR "));
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

    /// Reads a sample of the rows, and returns for each the sum of a number for each of its columns
    /// that are searched by words: the texts, which have the index 0, and the others.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn sample(
        &self,
        measure: impl Fn(usize, &str) -> u32,
        pool: &Pool,
    ) -> Result<Vec<u32>, QueryError> {
        let sum_of = |row: &Row| {
            let texts = texts(row, 0)?.into_iter().enumerate();
            let numbers = texts.map(|(at, text)| measure(at, text.as_deref().unwrap_or_default()));
            Ok(numbers.fold(0, u32::saturating_add))
        };
        // Else a scan may begin in the middle, and the rows of others would choose the sample.
        let in_order = || "SET LOCAL synchronize_seqscans = off".to_owned();
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: self.shape.hides_rows().then(in_order),
            query: self.sample_query(),
            values: Vec::new(),
        };
        read_query.read(pool.lease().await?, sum_of).await
    }

    fn sample_query(&self) -> String {
        let column = quoted(&self.place.text);
        // A table is sampled by pages; a view has none, and pages also have the rows of others.
        let percent = 100.0 * 4.0 * f64::from(SAMPLE) / self.shape.rows().max(1.0);
        let is_by_pages = self.shape.is_stored() && !self.shape.hides_rows();
        let pages = if is_by_pages && percent < 100.0 {
            format!(" TABLESAMPLE SYSTEM ({percent:e}) REPEATABLE (1)")
        } else {
            String::new()
        };
        let columns = std::iter::once(&self.place.text).chain(&self.place.keyword_columns);
        let columns =
            columns.map(|name| format!("pg_catalog.left({}::text, {SAMPLED})", quoted(name)));
        let columns: Vec<_> = columns.collect();
        format!(
            "SELECT {} FROM {}{pages} WHERE {column} IS NOT NULL LIMIT {SAMPLE}",
            columns.join(", "),
            self.place.table
        )
    }
}
