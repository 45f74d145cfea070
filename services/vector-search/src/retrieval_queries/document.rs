//! Reads the document that a row belongs to.

use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    pool::Pool,
    single_round_trip::ReadOnlyQuery,
};

use crate::{
    quoted,
    retrieval_queries::{QueryBuilder, Search},
    text,
};

/// Error codes for a text that is no value of the type of the ids.
const NOT_OF_THE_TYPE: [&str; 4] = ["22P02", "22003", "22007", "22008"];

/// A part of a document: the text of one row, or the part of it that was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentPart {
    /// The text.
    pub content: String,
    /// Number of characters of the document before the text.
    pub start: usize,
    /// Number of characters of the whole document.
    pub total: usize,
    /// The title of the row, if the table has titles.
    pub title: Option<String>,
    /// The address of the row, if the table has addresses.
    pub url: Option<String>,
}

impl Search<'_> {
    /// Reads the document that the row with this id belongs to, from a character on, at most this
    /// many characters. In a table without an order each row is a document.
    ///
    /// The first part is always there, even if its text is not asked for. There is no part if no row
    /// that may be shown has this id.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn document(
        &self,
        id: &str,
        from: usize,
        characters: usize,
        pool: &Pool,
    ) -> Result<Vec<DocumentPart>, QueryError> {
        let Some(read_query) = self.document_query(id, from, characters) else {
            return Ok(Vec::new());
        };
        match read_query
            .read(pool.lease().await?, DocumentPart::read)
            .await
        {
            Err(QueryError::Failed { report, .. })
                if NOT_OF_THE_TYPE.contains(&&*report.sqlstate) =>
            {
                Ok(Vec::new())
            }
            read => read,
        }
    }

    pub(super) fn document_query(
        &self,
        id: &str,
        from: usize,
        characters: usize,
    ) -> Option<ReadOnlyQuery> {
        let mut builder = self.builder();
        let (row, table) = (self.row_with(id, &mut builder)?, &self.place.table);
        let allowed = self.allowed(&mut builder);
        let [id, title, url] = builder.optional_columns();
        let content = quoted(&self.place.text);
        let (rows, place) = match &self.place.order {
            None => (row, "0".to_owned()),
            Some(order) => {
                let document = quoted(&order.document);
                let asked =
                    format!("SELECT {document} FROM {table} WHERE {row} AND {allowed} LIMIT 1");
                (
                    format!("{document} = ({asked})"),
                    order.position(self.shape),
                )
            }
        };
        let to = from.saturating_add(characters);
        let query = format!(
            "SELECT pg_catalog.substr(content, greatest({from} - start, 0)::int + 1,
                        greatest(least({to} - start, size) - greatest({from} - start, 0), 0)::int),
                    start::text, total::text, title::text, url::text
             FROM (SELECT content, title, url, size, sum(size) OVER () AS total,
                        sum(size) OVER (ORDER BY place, id ROWS UNBOUNDED PRECEDING) - size AS start
                   FROM (SELECT {content}::text AS content, {title} AS title, {url} AS url,
                              {id}::text AS id, {place} AS place,
                              pg_catalog.length({content}::text)::bigint AS size
                         FROM {table} WHERE {rows} AND {allowed}) AS ziggurat_row) AS ziggurat_part
             WHERE start = 0 OR (start < {to} AND start + size > {from})
             ORDER BY start LIMIT {}",
            self.rows,
        );
        Some(ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query,
            values: builder.values,
        })
    }

    /// Reads the documents behind an id, in the order of their first ids: their ids and titles.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn documents(
        &self,
        behind: &str,
        pool: &Pool,
    ) -> Result<Vec<(String, Option<String>)>, QueryError> {
        let mut builder = self.builder();
        let [id, title, _] = builder.optional_columns();
        let behind = builder.text(behind);
        let allowed = self.allowed(&mut builder);
        let document = match &self.place.order {
            Some(order) => format!("({})::text", quoted(&order.document)),
            None => format!("({id})::text"),
        };
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT id, title FROM (
                     SELECT DISTINCT ON ({document}) ({id})::text AS id, ({title})::text AS title
                     FROM {} WHERE {allowed} ORDER BY {document}, ({id})::text) AS ziggurat_document
                 WHERE id > {behind} ORDER BY id LIMIT {}",
                self.place.table, self.rows,
            ),
            values: builder.values,
        };
        let read = |row: &Row| Ok((text(row, 0)?.unwrap_or_default(), text(row, 1)?));
        read_query.read(pool.lease().await?, read).await
    }

    /// Reads ids that begin with a text, in their order.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn ids_from(&self, begun: &str, pool: &Pool) -> Result<Vec<String>, QueryError> {
        let mut builder = self.builder();
        let [id, ..] = builder.optional_columns();
        let begun = builder.text(begun);
        let allowed = self.allowed(&mut builder);
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: format!(
                "SELECT DISTINCT ({id})::text FROM {}
                 WHERE pg_catalog.starts_with(({id})::text, {begun}) AND {allowed}
                 ORDER BY 1 LIMIT {}",
                self.place.table, self.rows,
            ),
            values: builder.values,
        };
        let ids = read_query
            .read(pool.lease().await?, |row| text(row, 0))
            .await?;
        Ok(ids.into_iter().flatten().collect())
    }

    /// Returns the condition for the row with an id, if rows have ids.
    fn row_with(&self, id: &str, builder: &mut QueryBuilder<'_>) -> Option<String> {
        let name = self.place.id.as_ref()?;
        let known = self.shape.column(name);
        let cast = known.map_or_else(String::new, |column| format!("::{}", column.data_type));
        Some(format!("{} = {}{cast}", quoted(name), builder.text(id)))
    }
}

// === impl DocumentPart ===

impl DocumentPart {
    fn read(row: &Row) -> Result<Self, DriverError> {
        let number = |index| -> Result<usize, DriverError> {
            let digits = text(row, index)?;
            Ok(digits
                .and_then(|digits| digits.parse().ok())
                .unwrap_or_default())
        };
        Ok(Self {
            content: text(row, 0)?.unwrap_or_default(),
            start: number(1)?,
            total: number(2)?,
            title: text(row, 3)?,
            url: text(row, 4)?,
        })
    }
}
