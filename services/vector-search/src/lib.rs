//! Searches tables of PostgreSQL by vectors and by words.
//!
//! [`Nearest`] finds the rows whose vectors are closest to one; [`retrieval_queries`] are the
//! statements of retrieval pipelines. Pools and statements are those of [`ziggurat_postgres`].
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
//! Vectors never travel but the one that is asked for: what comes back is distances and texts,
//! and of each text no more than its beginning.
//!
//! # One vector column
//!
//! The order is the bare operator, since an index serves no other expression. How far an index
//! looks is set for the transaction: pgvector's own 40 would cut a longer list without a word.
//!
//! # Several
//!
//! The order is the weighted sum of the distances, which no index serves. Where each column has
//! an index, each gives its closest rows, and these are ordered by the sum. That this is the
//! order of the whole table is proven and not hoped for: a row that no column has among its
//! closest is at least as far away in each as the last of them, so its sum is at least that of
//! those last distances. If what was found is closer than that, nothing is missing. If not,
//! more is looked at, and then all of the table, as it is at once where a column has no index.

mod query;
pub mod retrieval_queries;
#[cfg(test)]
mod tests;
pub(crate) mod vector;

use ziggurat_postgres::{
    driver::{DriverError, Row},
    error::QueryError,
    metadata::{Column, Table, TableKind},
    pool::Pool,
    single_round_trip::Flight,
};

use self::query::Query;
pub use self::query::{quoted, settings};

/// How many rows an index may be asked for at once: as far as pgvector lets one look.
const MAX_REACH: u32 = 1000;

/// How many rows of a sample are read.
const SAMPLE_ROWS: u32 = 3;

/// What is looked for, and where.
#[derive(Clone, Debug)]
pub struct Nearest<'a> {
    /// The table.
    pub table: Table<'a>,
    /// The columns that are compared; there is one.
    pub vectors: Vec<Weighted<'a>>,
    /// The columns that are returned.
    pub texts: Vec<Column<'a>>,
    /// The column that names a row, if one does.
    pub id: Option<Column<'a>>,
    /// How distance is measured.
    pub metric: Metric,
    /// How many rows are returned at most.
    pub rows: u32,
    /// How many characters of a text are returned at most.
    pub characters: u32,
}

/// A vector column, and what it counts.
#[derive(Clone, Copy, Debug)]
pub struct Weighted<'a> {
    column: Column<'a>,
    weight: f64,
}

/// How distance is measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// By the angle.
    #[default]
    Cosine,
    /// By the straight line between them.
    Euclidean,
    /// By the inner product, negated so that less is closer.
    InnerProduct,
}

/// A row, and how far away it is.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// What names it, as text.
    pub id: Option<String>,
    /// The distance, or the weighted sum; none if a vector is missing in the row.
    pub distance: Option<f64>,
    /// Its texts, in the order of the columns.
    pub texts: Vec<Option<String>>,
}

/// A row, and how far the indexes have looked.
struct Hit {
    row: Neighbour,
    /// What is not among the rows has at least this distance.
    reach: Option<f64>,
}

// === impl Weighted ===

impl<'a> Weighted<'a> {
    /// Takes a weight, which is not negative; those of all columns add up to one.
    #[must_use]
    pub fn new(column: Column<'a>, weight: f64) -> Self {
        Self { column, weight }
    }
}

// === impl Metric ===

impl Metric {
    /// The operator of pgvector.
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
    /// Finds them, the closest first, in read-only transactions that the timeout of the database
    /// bounds.
    ///
    /// # Errors
    /// When there is no connection, when PostgreSQL refuses the query or gives it up, and when
    /// the connection breaks.
    pub async fn find(&self, asked: &[f32], pool: &Pool) -> Result<Vec<Neighbour>, QueryError> {
        let query = Query::new(self, asked);
        if self.can_join_indexes() {
            let first = self.rows.saturating_mul(4).clamp(100, MAX_REACH);
            for reach in [first, MAX_REACH] {
                let found = read(query.joined(reach), reach, pool).await?;
                if let Some(rows) = self.proven(found) {
                    return Ok(rows);
                }
            }
        }
        let found = read(query.ordered(), self.rows, pool).await?;
        Ok(in_order(found))
    }

    /// Reads some rows, for an impression of their texts: each text, cut, of each row.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub async fn sample(&self, pool: &Pool) -> Result<Vec<Vec<Option<String>>>, QueryError> {
        let flight = Flight {
            name: "SELECT",
            before: None,
            query: query::sample(self, SAMPLE_ROWS),
            values: Vec::new(),
        };
        flight.read(pool.lease().await?, |row| texts(row, 0)).await
    }

    /// Whether each column gives its closest rows, and rows can be told apart by where they are
    /// stored.
    fn can_join_indexes(&self) -> bool {
        let is_stored = matches!(
            self.table.kind(),
            TableKind::Table | TableKind::Partitioned | TableKind::MaterializedView
        );
        // With more of them, the message would be larger than a scan is slow.
        (2..=4).contains(&self.vectors.len())
            && is_stored
            && self.vectors.iter().all(|vector| vector.column.is_indexed())
    }

    /// The rows, if they are those of the whole table.
    fn proven(&self, found: Vec<Hit>) -> Option<Vec<Neighbour>> {
        // With fewer, rows that lack a vector come next, and those are not among them.
        let last = usize::try_from(self.rows).ok()?.checked_sub(1)?;
        let last = found.get(last)?;
        let is_closest = match (last.row.distance, last.reach) {
            (Some(distance), Some(reach)) => distance <= reach,
            // No index had more to give.
            (_, None) => true,
            (None, Some(_)) => false,
        };
        is_closest.then(|| in_order(found))
    }
}

async fn read(query: String, reach: u32, pool: &Pool) -> Result<Vec<Hit>, QueryError> {
    let flight = Flight {
        name: "SELECT",
        before: Some(settings(reach)),
        query,
        values: Vec::new(),
    };
    let found = |row: &Row| {
        Ok(Hit {
            row: Neighbour {
                id: text(row, 2)?,
                distance: number(row, 0)?,
                texts: texts(row, 3)?,
            },
            reach: number(row, 1)?,
        })
    };
    flight.read(pool.lease().await?, found).await
}

/// An index may give rows that are about as far away in any order.
fn in_order(found: Vec<Hit>) -> Vec<Neighbour> {
    let mut rows: Vec<_> = found.into_iter().map(|found| found.row).collect();
    // As PostgreSQL sorts them: numbers, what is no number, nothing.
    let distance = |row: &Neighbour| row.distance.unwrap_or(f64::NAN);
    rows.sort_by(|one, two| {
        let both = (distance(one), distance(two));
        let no_number = (both.0.is_nan(), both.1.is_nan());
        no_number.0.cmp(&no_number.1).then_with(|| {
            both.0
                .partial_cmp(&both.1)
                .unwrap_or(std::cmp::Ordering::Equal)
        })
    });
    rows
}

fn texts(row: &Row, first: usize) -> Result<Vec<Option<String>>, DriverError> {
    (first..row.fields().len())
        .map(|index| text(row, index))
        .collect()
}

/// The text of a value. In a database whose encoding is `SQL_ASCII` it may be in any.
pub(crate) fn text(row: &Row, index: usize) -> Result<Option<String>, DriverError> {
    let bytes = row.value(index)?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

pub(crate) fn number(row: &Row, index: usize) -> Result<Option<f64>, DriverError> {
    let text = text(row, index)?;
    let number = text.map(|text| text.parse::<f64>()).transpose();
    number.map_err(DriverError::value)
}
