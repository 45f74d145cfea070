//! Reads random rows, and looks for known ones.

use crate::{
    quoted,
    retrieval_queries::{Hit, Search, read_row},
};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery};

/// Maximum number of characters of a text.
const MAX_CHARS: u32 = 16_384;

impl Search<'_> {
    /// Reads random rows that may be shown and have a text of at least `min_chars` characters, of
    /// which the first 16,384 are read. It reads the whole table.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn random(&self, min_chars: u32, pool: &Pool) -> Result<Vec<Hit>, QueryError> {
        let read_query = self.random_query(min_chars);
        read_query
            .read(pool.lease().await?, |row| read_row(row, |hit| hit))
            .await
    }

    /// Returns whether there is a row with one of these ids, or, with `by_document`, one of a document
    /// with one of them: the id of a row without its last `#` and what follows.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn has_any(
        &self,
        ids: &[String],
        by_document: bool,
        pool: &Pool,
    ) -> Result<bool, QueryError> {
        let mut builder = self.builder();
        let ids = builder.texts(ids);
        let [id, ..] = builder.optional_columns();
        let id = if by_document {
            format!("pg_catalog.regexp_replace(({id})::text, '#[^#]*$', '')")
        } else {
            format!("({id})::text")
        };
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT 1 FROM {} WHERE {id} = ANY ({ids}) LIMIT 1",
                self.place.table
            ),
            values: builder.values,
        };
        let found = read_query.read(pool.lease().await?, |_| Ok(())).await;
        found.map(|rows| !rows.is_empty())
    }

    fn random_query(&self, min_chars: u32) -> ReadOnlyQuery {
        let mut builder = self.builder();
        let allowed = self.allowed(&mut builder);
        let text = format!("{}::text", quoted(&self.place.text));
        let [id, title, url] = builder.optional_columns();
        ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT ({id})::text, pg_catalog.left({text}, {MAX_CHARS}), NULL, ({title})::text, \
                 ({url})::text FROM {} WHERE {allowed} \
                 AND pg_catalog.length({text}) >= {min_chars} \
                 ORDER BY pg_catalog.random() LIMIT {}",
                self.place.table, self.rows,
            ),
            values: builder.values,
        }
    }
}
