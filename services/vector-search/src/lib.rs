//! Searches tables of PostgreSQL by vectors and by words.
//!
//! [`Nearest`] finds the rows with the vectors closest to a given one; [`retrieval_queries`] has
//! the queries of retrieval pipelines. Pools and statements come from [`ziggurat_postgres`].
//!
//! ```no_run
//! use ziggurat_postgres::{error::QueryError, metadata::Metadata, pool::Pool};
//! use ziggurat_vector_search::{Metric, Nearest, Weighted};
//!
//! # async fn example(pool: Pool, metadata: &Metadata, asked: &[f32]) -> Result<(), QueryError> {
//! let table = metadata.table("public", "book").expect("it is there");
//! let column = |name| table.columns().find(|column| column.name() == name);
//! let nearest = Nearest {
//!     table,
//!     vectors: vec![Weighted::new(column("embedding").expect("it has one"), 1.0)],
//!     texts: vec![column("content").expect("it has one")],
//!     id: column("id"),
//!     metric: Metric::Cosine,
//!     rows: 10,
//!     characters: 1000,
//! };
//! for row in nearest.find(asked, &pool).await? {
//!     println!("{:?}: {:?}", row.distance, row.texts[0]);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! PostgreSQL returns distances and texts but no vectors, and of each text only the beginning.
//!
//! # One vector column
//!
//! The query orders by the bare operator, since an index serves no other expression. It also raises
//! the number of rows that the index examines, for its own transaction: pgvector's default of 40
//! would silently cut a longer result.
//!
//! # Several vector columns
//!
//! The query orders by the weighted sum of the distances, which no index serves. If each column has
//! an index, each index returns its closest rows, and these are ordered by the sum. A check then
//! proves that the result is the same as for the whole table: a row that no index returned is, in
//! each column, at least as far away as the last row of its index, so its sum is at least the sum
//! of those last distances. If the rows found have smaller sums, none is missing. If not, the
//! indexes return more rows, and after that the whole table is read. It is read at once if a column
//! has no index.

mod query;
pub mod retrieval_queries;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

use std::string::FromUtf8Error;

use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    metadata::{Column, Table, TableKind},
    pool::Pool,
    quoted,
    single_round_trip::ReadOnlyQuery,
};

use self::query::Query;
pub use self::{query::settings, vector::vector_text};

/// Maximum number of rows that an index is asked for: the limit of pgvector.
const MAX_EF_SEARCH: u32 = 1000;

/// Number of rows of a sample.
const SAMPLE_ROWS: u32 = 3;

/// Search for the rows closest to a vector.
#[derive(Clone, Debug)]
pub struct Nearest<'a> {
    /// The table.
    pub table: Table<'a>,
    /// The columns that are compared; at least one.
    pub vectors: Vec<Weighted<'a>>,
    /// The columns that are returned.
    pub texts: Vec<Column<'a>>,
    /// The column that identifies a row, if there is one.
    pub id: Option<Column<'a>>,
    /// Measure of distance.
    pub metric: Metric,
    /// Maximum number of rows.
    pub rows: u32,
    /// Maximum number of characters of a text.
    pub characters: u32,
}

/// A vector column and its weight.
#[derive(Clone, Copy, Debug)]
pub struct Weighted<'a> {
    column: Column<'a>,
    weight: f64,
}

/// Measure of distance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The angle between the vectors.
    #[default]
    Cosine,
    /// The straight line between the vectors.
    Euclidean,
    /// The inner product, negated so that less is closer.
    InnerProduct,
}

/// A row and its distance.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Its id, as text.
    pub id: Option<String>,
    /// The distance, or the weighted sum; `None` if a vector of the row is NULL.
    pub distance: Option<f64>,
    /// Its texts, in the order of the columns.
    pub texts: Vec<Option<String>>,
}

/// A row, and the distance that the indexes have covered.
struct Reached {
    row: Neighbour,
    /// Lower bound on the distance of rows that were not returned.
    reach: Option<f64>,
}

// === impl Weighted ===

impl<'a> Weighted<'a> {
    /// Gives a column a weight, which is not negative; the weights of a search add up to one.
    #[must_use]
    pub fn new(column: Column<'a>, weight: f64) -> Self {
        Self { column, weight }
    }
}

// === impl Metric ===

impl Metric {
    /// Returns the operator of pgvector.
    fn operator(self) -> &'static str {
        match self {
            Self::Cosine => "<=>",
            Self::Euclidean => "<->",
            Self::InnerProduct => "<#>",
        }
    }
}

// === impl Nearest ===

impl Nearest<'_> {
    /// Finds the rows, the closest first, in read-only transactions limited by the query timeout of
    /// the database.
    ///
    /// # Errors
    /// Fails when there is no connection, when PostgreSQL refuses or cancels the query, and when
    /// the connection breaks.
    pub async fn find(&self, asked: &[f32], pool: &Pool) -> Result<Vec<Neighbour>, QueryError> {
        let query = Query::new(self, asked);
        if self.can_join_indexes() {
            let first = self.rows.saturating_mul(4).clamp(100, MAX_EF_SEARCH);
            for reach in [first, MAX_EF_SEARCH] {
                let found = read(query.joined(reach), reach, pool).await?;
                if let Some(rows) = self.proved_closest(found) {
                    return Ok(rows);
                }
            }
        }
        let found = read(query.ordered(), self.rows, pool).await?;
        Ok(in_order(found))
    }

    /// Reads the texts of some rows, each text cut.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub async fn sample(&self, pool: &Pool) -> Result<Vec<Vec<Option<String>>>, QueryError> {
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: None,
            query: query::sample(self, SAMPLE_ROWS),
            values: Vec::new(),
        };
        read_query
            .read(pool.lease().await?, |row| texts(row, 0))
            .await
    }

    /// Returns whether each column has an index, and rows can be identified by their location in
    /// the table.
    fn can_join_indexes(&self) -> bool {
        let is_stored = matches!(
            self.table.kind(),
            TableKind::Table | TableKind::Partitioned | TableKind::MaterializedView
        );
        // With more columns, the message is so large that a scan is faster.
        (2..=4).contains(&self.vectors.len())
            && is_stored
            && self.vectors.iter().all(|vector| vector.column.is_indexed())
    }

    /// Returns the rows if they are provably the closest of the whole table.
    fn proved_closest(&self, found: Vec<Reached>) -> Option<Vec<Neighbour>> {
        // If there are fewer rows, those without a vector follow, and they are not among the rows
        // found.
        let last = usize::try_from(self.rows).ok()?.checked_sub(1)?;
        let last = found.get(last)?;
        let is_closest = match (last.row.distance, last.reach) {
            (Some(distance), Some(reach)) => distance <= reach,
            // No index has more rows.
            (_, None) => true,
            (None, Some(_)) => false,
        };
        is_closest.then(|| in_order(found))
    }
}

async fn read(query: String, reach: u32, pool: &Pool) -> Result<Vec<Reached>, QueryError> {
    let read_query = ReadOnlyQuery {
        name: "SELECT",
        before: Some(settings(reach, pool.database().is_acting())),
        query,
        values: Vec::new(),
    };
    let found = |row: &Row| {
        Ok(Reached {
            row: Neighbour {
                id: text(row, 2)?,
                distance: number(row, 0)?,
                texts: texts(row, 3)?,
            },
            reach: number(row, 1)?,
        })
    };
    read_query.read(pool.lease().await?, found).await
}

/// Sorts the rows, since an index may return rows of almost equal distance in any order.
fn in_order(found: Vec<Reached>) -> Vec<Neighbour> {
    let mut rows: Vec<_> = found.into_iter().map(|found| found.row).collect();
    // The order of PostgreSQL: numbers first, then NaN and NULL.
    let distance = |row: &Neighbour| row.distance.unwrap_or(f64::NAN);
    rows.sort_by(|one, two| {
        let (one, two) = (distance(one), distance(two));
        let by_kind = || one.is_nan().cmp(&two.is_nan());
        one.partial_cmp(&two).unwrap_or_else(by_kind)
    });
    rows
}

fn texts(row: &Row, first: usize) -> Result<Vec<Option<String>>, DriverError> {
    (first..row.fields().len())
        .map(|index| text(row, index))
        .collect()
}

/// Returns the text of a value. With the encoding `SQL_ASCII` it need not be UTF-8.
pub(crate) fn text(row: &Row, index: usize) -> Result<Option<String>, DriverError> {
    let bytes = row.value(index)?;
    // A lossy conversion takes several times as long.
    let lossy = |error: FromUtf8Error| String::from_utf8_lossy(error.as_bytes()).into_owned();
    Ok(bytes.map(|bytes| String::from_utf8(bytes.to_owned()).unwrap_or_else(lossy)))
}

pub(crate) fn number(row: &Row, index: usize) -> Result<Option<f64>, DriverError> {
    let text = text(row, index)?;
    let number = text.map(|text| text.parse::<f64>()).transpose();
    number.map_err(DriverError::value)
}
