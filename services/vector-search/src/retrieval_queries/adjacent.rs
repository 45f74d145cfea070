//! Reads the rows next to others in the same document.

use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    pool::Pool,
    single_round_trip::ReadOnlyQuery,
};

use crate::{
    quoted,
    retrieval_queries::{Search, SearchTable, Shape},
    text,
};

/// Key in the metadata of loaded documents under which a passage has its number.
const NUMBER: &str = "_passage";

/// The columns that put the rows of a table into documents, and there into an order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DocumentOrder {
    /// The column with the id of the document.
    pub document: String,
    /// The column with the position in the document: a number, or the metadata of documents that
    /// `ziggurat-rag ingest` has loaded.
    pub position: String,
}

/// A row next to another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adjacent {
    /// The id of the other one, as text.
    pub of: String,
    /// True if it stands before the other one.
    pub is_before: bool,
    /// Its id, as text.
    pub id: String,
    /// Its text; `None` if it may not be shown.
    pub content: Option<String>,
}

// === impl SearchTable ===

impl SearchTable {
    /// Sets the columns that order its rows.
    #[must_use]
    pub fn with_order(mut self, order: DocumentOrder) -> Self {
        self.order = Some(order);
        self
    }

    /// Returns whether the rows next to one can be found.
    #[must_use]
    pub fn has_order(&self) -> bool {
        self.order.is_some() && self.id.is_some()
    }
}

// === impl DocumentOrder ===

impl DocumentOrder {
    /// Returns the position in SQL.
    pub(super) fn position(&self, shape: &Shape) -> String {
        let name = quoted(&self.position);
        match shape.column(&self.position) {
            Some(column) if matches!(&*column.data_type, "json" | "jsonb") => {
                format!("({name}->>'{NUMBER}')::numeric")
            }
            _ => name,
        }
    }
}

// === impl Search ===

impl Search<'_> {
    /// Reads up to `distance` rows before and behind each of the rows with these ids, the nearest
    /// first. A table without an order has no such rows.
    ///
    /// # Errors
    /// As [`closest`](Self::closest).
    pub async fn adjacent(
        &self,
        ids: &[String],
        distance: u32,
        pool: &Pool,
    ) -> Result<Vec<Adjacent>, QueryError> {
        let Some(read_query) = self.adjacent_query(ids, distance) else {
            return Ok(Vec::new());
        };
        let found = read_query.read(pool.lease().await?, Adjacent::read).await?;
        Ok(found)
    }

    pub(super) fn adjacent_query(&self, ids: &[String], distance: u32) -> Option<ReadOnlyQuery> {
        let (order, id) = (self.place.order.as_ref()?, self.place.id.as_ref()?);
        let mut builder = self.builder();
        let allowed = self.allowed(&mut builder);
        let ids = builder.ids(ids);
        let (table, id, text) = (&self.place.table, quoted(id), quoted(&self.place.text));
        let (document, position) = (quoted(&order.document), order.position(self.shape));
        // A row that may not be shown keeps its place, so that those behind it are not taken for
        // neighbours.
        let side = |comparison: &str, direction: &str| {
            format!(
                "(SELECT {id}::text AS id, CASE WHEN {allowed} THEN {text}::text END AS content,
                      '{comparison}' AS side,
                      row_number() OVER (ORDER BY {position} {direction}) AS distance
                  FROM {table}
                  WHERE {document} = ziggurat_hit.document
                      AND {position} {comparison} ziggurat_hit.position
                  ORDER BY {position} {direction} LIMIT {distance})"
            )
        };
        let query = format!(
            "SELECT ziggurat_hit.id, ziggurat_near.side, ziggurat_near.id, ziggurat_near.content
             FROM (SELECT {id}::text AS id, {document} AS document, {position} AS position
                   FROM {table} WHERE {id} = ANY ({ids})) AS ziggurat_hit
             CROSS JOIN LATERAL ({} UNION ALL {}) AS ziggurat_near
             ORDER BY ziggurat_hit.id, ziggurat_near.side, ziggurat_near.distance",
            side("<", "DESC"),
            side(">", "ASC"),
        );
        Some(ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query,
            values: builder.values,
        })
    }
}

// === impl Adjacent ===

impl Adjacent {
    fn read(row: &Row) -> Result<Self, DriverError> {
        let value = |index| text(row, index).map(Option::unwrap_or_default);
        Ok(Self {
            of: value(0)?,
            is_before: value(1)? == "<",
            id: value(2)?,
            content: text(row, 3)?,
        })
    }
}
