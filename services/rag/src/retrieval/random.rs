//! Random passages of the tables, and known ones.

use futures_util::future;
use ziggurat_postgres::error::QueryError;
use ziggurat_vector_search::retrieval_queries::Hit;

use crate::retrieval::Retriever;

// === impl Retriever ===

impl Retriever {
    /// Reads random passages of at least `min_chars` characters, as many of each table.
    pub(crate) async fn random_passages(
        &self,
        count: usize,
        min_chars: u32,
    ) -> Result<Vec<Hit>, QueryError> {
        let rows = u32::try_from(count).unwrap_or(u32::MAX);
        let asker = self.asker();
        let tables = self.inner.tables.iter();
        let found = tables.map(|table| table.random_rows(rows, min_chars, &asker));
        let found = future::try_join_all(found).await?;
        let mut found: Vec<_> = found.into_iter().map(Vec::into_iter).collect();
        let mut passages = Vec::new();
        loop {
            let before = passages.len();
            passages.extend(found.iter_mut().filter_map(Iterator::next));
            if passages.len() >= count || passages.len() == before {
                passages.truncate(count);
                return Ok(passages);
            }
        }
    }

    /// Returns whether a table has a row with one of these ids, or of one of these documents.
    pub(crate) async fn has_any(
        &self,
        ids: &[String],
        by_document: bool,
    ) -> Result<bool, QueryError> {
        let asker = self.asker();
        let tables = self.inner.tables.iter();
        let found = tables.map(|table| table.has_any(ids, by_document, &asker));
        let found = future::try_join_all(found).await?;
        Ok(found.contains(&true))
    }
}
