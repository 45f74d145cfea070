//! What PostgreSQL says of a table.

mod finding;
mod query;

use serde::Deserialize;

use super::SearchTable;
use crate::{text, vector};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::Flight};

pub use self::finding::Finding;
pub(super) use self::query::literal;

/// What is known of a table: its columns, its indexes, and how many rows it may have.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub(super) relation: Option<Relation>,
    /// How many rows PostgreSQL expects.
    pub(super) rows: f64,
}

/// What the catalogue has of a table.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Relation {
    pub(super) kind: String,
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
    /// The arguments of its triggers.
    pub(super) triggers: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Deserialize)]
pub struct Column {
    name: String,
    /// Its type, or what its domain is over, without a length.
    pub(super) data_type: String,
    category: String,
    dimensions: i64,
    is_readable: bool,
    /// How it is computed, if it is.
    pub(super) made: Option<String>,
}

/// An index over all rows that can be used.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Index {
    /// With its schema, quoted.
    pub(super) name: String,
    pub(super) method: String,
    pub(super) keys: Vec<Key>,
    /// The columns it is made of.
    pub(super) reads: Vec<String>,
    pub(super) options: Vec<String>,
}

/// What an index is sorted by.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    /// The column, if it is no expression.
    pub(super) column: Option<String>,
    /// What it is in SQL.
    pub(super) definition: String,
    /// The operator class, and the extension and the schema it is of.
    pub(super) class: String,
    pub(super) extension: Option<String>,
    pub(super) schema: String,
}

// === impl Shape ===

impl Shape {
    /// Asks PostgreSQL.
    ///
    /// # Errors
    /// When there is no answer. A table that is not there is an answer.
    pub async fn load(place: &SearchTable, pool: &Pool) -> Result<Self, QueryError> {
        let document = |row: &_| Ok(text(row, 0)?.unwrap_or_default());
        let flight = Flight {
            name: "SELECT",
            before: Some("SELECT pg_catalog.set_config('jit', 'off', true)".to_owned()),
            query: query::relation(place.table()),
            values: Vec::new(),
        };
        let found = flight.read(pool.lease().await?, document).await?;
        let Some(found) = found.first() else {
            return Ok(Self::default());
        };
        let relation = serde_json::from_str(found).map_err(QueryError::value)?;
        Ok(Self {
            relation: Some(relation),
            rows: estimate(place, pool).await?,
        })
    }

    /// The column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        let columns = &self.relation.as_ref()?.columns;
        columns.iter().find(|column| column.name == name)
    }

    /// How many rows there may be.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// Whether it has pages of its own.
    pub(super) fn is_stored(&self) -> bool {
        let relation = self.relation.as_ref();
        relation.is_some_and(|relation| matches!(&*relation.kind, "r" | "p" | "m"))
    }

    /// What its triggers are given, each a list.
    pub(super) fn trigger_arguments(&self) -> impl Iterator<Item = Vec<&str>> {
        let triggers = self.relation.iter().flat_map(|relation| &relation.triggers);
        // Each ends with a NUL, which PostgreSQL writes in octal.
        triggers.map(|arguments| arguments.trim_end_matches("\\000").split("\\000").collect())
    }

    pub(super) fn indexes(&self) -> &[Index] {
        self.relation
            .as_ref()
            .map_or(&[], |relation| &relation.indexes)
    }
}

/// How many rows the planner expects, which is right for views and parts too, and knows how much
/// a table has grown since it was counted.
async fn estimate(place: &SearchTable, pool: &Pool) -> Result<f64, QueryError> {
    let flight = Flight {
        name: "EXPLAIN",
        before: None,
        query: format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {}", place.table()),
        values: Vec::new(),
    };
    let plans = flight.read(pool.lease().await?, |row| text(row, 0)).await;
    match plans {
        Ok(plans) => Ok(plans
            .iter()
            .flatten()
            .find_map(|plan| query::rows_of(plan).first().copied())
            .unwrap_or_default()),
        // Whoever may read only some columns may not count the rows by none.
        Err(QueryError::Failed { .. }) => Ok(0.0),
        Err(error) => Err(error),
    }
}

// === impl Column ===

impl Column {
    /// How many dimensions its vectors have to have, if it says so.
    #[must_use]
    pub fn dimensions(&self) -> Option<usize> {
        vector::pgvector_type(&self.data_type)?;
        usize::try_from(self.dimensions).ok().filter(|&n| n > 0)
    }

    pub(super) fn is_text(&self) -> bool {
        self.category == "S"
    }

    pub(super) fn is_array(&self) -> bool {
        self.category == "A"
    }

    fn is_vector(&self) -> bool {
        vector::pgvector_type(&self.data_type).is_some()
    }
}
