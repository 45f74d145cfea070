//! Reads rows and documents of a table without a question.

use ziggurat_postgres::{error::QueryError, pool::Pool};
use ziggurat_vector_search::retrieval_queries::{DocumentPart, Hit};

use crate::retrieval::table_search::TableSearch;

/// Maximum number of rows that one reading of a document returns.
const MAX_PARTS: u32 = 1000;

// === impl TableSearch ===

impl TableSearch {
    /// Reads random rows with a text of at least `min_chars` characters.
    pub(super) async fn random_rows(
        &self,
        rows: u32,
        min_chars: u32,
        pool: &Pool,
    ) -> Result<Vec<Hit>, QueryError> {
        let known = self.known(pool).await?;
        let search = self.whole(&known, rows);
        search.random(min_chars, pool).await
    }

    /// Returns whether there is a row with one of these ids, or of one of these documents.
    pub(super) async fn has_any(
        &self,
        ids: &[String],
        by_document: bool,
        pool: &Pool,
    ) -> Result<bool, QueryError> {
        let known = self.known(pool).await?;
        let search = self.whole(&known, 1);
        search.has_any(ids, by_document, pool).await
    }

    /// Returns whether its rows have ids.
    pub(super) fn has_ids(&self) -> bool {
        self.place().has_ids()
    }

    /// Reads a part of the document that the row with this id belongs to.
    pub(super) async fn document(
        &self,
        id: &str,
        from: usize,
        characters: usize,
        pool: &Pool,
    ) -> Result<Vec<DocumentPart>, QueryError> {
        let known = self.known(pool).await?;
        let search = self.whole(&known, MAX_PARTS);
        search.document(id, from, characters, pool).await
    }

    /// Reads the ids and titles of documents behind an id.
    pub(super) async fn documents(
        &self,
        behind: &str,
        rows: u32,
        pool: &Pool,
    ) -> Result<Vec<(String, Option<String>)>, QueryError> {
        let known = self.known(pool).await?;
        self.whole(&known, rows).documents(behind, pool).await
    }

    /// Reads ids that begin with a text.
    pub(super) async fn ids_from(
        &self,
        begun: &str,
        rows: u32,
        pool: &Pool,
    ) -> Result<Vec<String>, QueryError> {
        let known = self.known(pool).await?;
        self.whole(&known, rows).ids_from(begun, pool).await
    }
}
