//! Definition of a table in PostgreSQL's catalogue.

mod finding;
mod masked;
mod query;

use serde::Deserialize;

use crate::{number, retrieval_queries::SearchTable, text, vector};
use ziggurat_postgres::{error::QueryError, pool::Pool, single_round_trip::ReadOnlyQuery};

pub use self::finding::Finding;
pub(super) use self::query::literal;

/// Limit on the rows that are counted for a role that does not see all.
pub(super) const MAX_COUNTED: u32 = 100_000;

/// Definition of a table: its columns, its indexes, and its estimated number of rows.
#[derive(Clone, Debug, Default)]
pub struct Shape {
    pub(super) relation: Option<Relation>,
    /// Number of rows that the planner expects; if others have rows, the counted ones.
    pub(super) rows: f64,
    /// True if it was read for a caller with a role or settings of its own.
    pub(super) is_acting: bool,
}

/// Definition of a table, as the query returns it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Relation {
    #[serde(default)]
    oid: u32,
    pub(super) kind: String,
    /// True if the role may not see all rows.
    #[serde(default)]
    pub(super) hides_rows: bool,
    pub(super) columns: Vec<Column>,
    pub(super) indexes: Vec<Index>,
    /// The arguments of its triggers.
    pub(super) triggers: Vec<String>,
}

/// A column.
#[derive(Clone, Debug, Deserialize)]
pub struct Column {
    name: String,
    #[serde(default)]
    number: u16,
    /// Its type, or the base type of its domain, without a length.
    pub(super) data_type: String,
    category: String,
    dimensions: i64,
    is_readable: bool,
    /// The expression of a generated column.
    pub(super) made: Option<String>,
}

/// A valid index over all rows.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Index {
    /// With its schema, quoted.
    pub(super) name: String,
    pub(super) method: String,
    pub(super) keys: Vec<Key>,
    /// The columns that it depends on.
    pub(super) reads: Vec<String>,
    pub(super) options: Vec<String>,
}

/// A key of an index.
#[derive(Clone, Debug, Deserialize)]
pub(super) struct Key {
    /// The column, unless it is an expression.
    pub(super) column: Option<String>,
    /// Its definition in SQL.
    pub(super) definition: String,
    /// The operator class, and its extension and schema.
    pub(super) class: String,
    pub(super) extension: Option<String>,
    pub(super) schema: String,
}

// === impl Shape ===

impl Shape {
    /// Reads the definition from the catalogue.
    ///
    /// # Errors
    /// Fails when a query fails. A missing table is no error.
    pub async fn load(place: &SearchTable, pool: &Pool) -> Result<Self, QueryError> {
        let document = |row: &_| Ok(text(row, 0)?.unwrap_or_default());
        let read_query = ReadOnlyQuery {
            name: "SELECT",
            before: Some("SET LOCAL jit = off".to_owned()),
            query: query::relation(place.table()),
            values: Vec::new(),
        };
        let found = read_query.read(pool.lease().await?, document).await?;
        let Some(found) = found.first() else {
            return Ok(Self::default());
        };
        let relation: Relation = serde_json::from_str(found).map_err(QueryError::value)?;
        let mut shape = Self {
            relation: Some(relation),
            rows: 0.0,
            is_acting: pool.database().is_acting(),
        };
        shape.rows = if shape.hides_rows() {
            count(place, pool).await?
        } else {
            estimate(place, pool).await?
        };
        Ok(shape)
    }

    /// Returns the column of this name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns().iter().find(|column| column.name == name)
    }

    /// Returns all columns.
    #[must_use]
    pub fn columns(&self) -> &[Column] {
        self.relation
            .as_ref()
            .map_or(&[], |relation| &relation.columns)
    }

    /// Returns the OID of the table, if there is one.
    #[must_use]
    pub fn oid(&self) -> Option<u32> {
        Some(self.relation.as_ref()?.oid)
    }

    /// Returns the estimated number of rows; of the ones that are seen, if others are hidden.
    #[must_use]
    pub fn rows(&self) -> f64 {
        self.rows
    }

    /// Returns whether it was read for a caller that may not see all rows. What PostgreSQL estimates
    /// counts the hidden ones, too.
    #[must_use]
    pub fn hides_rows(&self) -> bool {
        let relation = self.relation.as_ref();
        self.is_acting && relation.is_some_and(|relation| relation.hides_rows)
    }

    /// Returns the expression of an index over the vectors in half precision, and its type, if there
    /// is one and none over the vectors themselves.
    pub(super) fn half_precision(&self, place: &SearchTable) -> Option<(&str, String)> {
        if self.has_vector_index(place) {
            return None;
        }
        let data_type = &self.column(&place.vector)?.data_type;
        let (start, _) = data_type.rsplit_once("vector")?;
        let mut keys = self.indexes().iter().filter_map(|index| {
            let key = index.keys.first()?;
            let is_cast = key.class == "halfvec_cosine_ops"
                && index.reads == [place.vector.as_str()]
                && key.definition.contains("::")
                && key.definition.contains("halfvec(");
            (is_cast && key.column.is_none()).then_some(&*key.definition)
        });
        keys.next().map(|key| (key, format!("{start}halfvec")))
    }

    /// Returns whether an index serves the vector column by cosine distance.
    pub(super) fn has_vector_index(&self, place: &SearchTable) -> bool {
        self.indexes().iter().any(|index| {
            index.keys.first().is_some_and(|key| {
                key.column.as_ref() == Some(&place.vector) && key.class.ends_with("_cosine_ops")
            })
        })
    }

    /// Returns whether an index over trigrams serves patterns for the texts.
    #[must_use]
    pub fn has_trigrams(&self, place: &SearchTable) -> bool {
        self.indexes().iter().any(|index| {
            let mut keys = index.keys.iter();
            keys.any(|key| {
                key.column.as_ref() == Some(&place.text) && key.class.ends_with("_trgm_ops")
            })
        })
    }

    /// Returns whether it has pages of its own, unlike a view.
    pub(super) fn is_stored(&self) -> bool {
        let relation = self.relation.as_ref();
        relation.is_some_and(|relation| matches!(&*relation.kind, "r" | "p" | "m"))
    }

    /// Returns the arguments of each of its triggers.
    pub(super) fn trigger_arguments(&self) -> impl Iterator<Item = Vec<&str>> {
        let triggers = self.relation.iter().flat_map(|relation| &relation.triggers);
        // Each argument ends with a NUL, which PostgreSQL writes in octal.
        triggers.map(|arguments| arguments.trim_end_matches("\\000").split("\\000").collect())
    }

    pub(super) fn indexes(&self) -> &[Index] {
        self.relation
            .as_ref()
            .map_or(&[], |relation| &relation.indexes)
    }
}

/// Returns the number of rows that the planner expects. It also covers views and partitions, and
/// growth since the last ANALYZE.
async fn estimate(place: &SearchTable, pool: &Pool) -> Result<f64, QueryError> {
    let read_query = ReadOnlyQuery {
        name: "EXPLAIN",
        before: None,
        query: format!("EXPLAIN (FORMAT JSON) SELECT 1 FROM {}", place.table()),
        values: Vec::new(),
    };
    let plans = read_query
        .read(pool.lease().await?, |row| text(row, 0))
        .await;
    match plans {
        Ok(plans) => Ok(plans
            .iter()
            .flatten()
            .find_map(|plan| query::rows_of(plan).first().copied())
            .unwrap_or_default()),
        // A role that may read only some columns may not run this query.
        Err(QueryError::Failed { .. }) => Ok(0.0),
        Err(error) => Err(error),
    }
}

/// Returns the number of rows that the role sees, up to a limit.
async fn count(place: &SearchTable, pool: &Pool) -> Result<f64, QueryError> {
    let read_query = ReadOnlyQuery {
        name: "SELECT",
        before: None,
        query: format!(
            "SELECT count(*)::text FROM (SELECT FROM {} LIMIT {MAX_COUNTED}) AS seen",
            place.table()
        ),
        values: Vec::new(),
    };
    let counts = read_query.read(pool.lease().await?, |row| number(row, 0));
    match counts.await {
        Ok(counts) => Ok(counts.into_iter().flatten().next().unwrap_or_default()),
        // To count them took too long, or the role may read no column.
        Err(QueryError::Failed { .. }) => Ok(f64::from(MAX_COUNTED)),
        Err(error) => Err(error),
    }
}

// === impl Column ===

impl Column {
    /// Returns its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns its number in the table.
    #[must_use]
    pub fn number(&self) -> u16 {
        self.number
    }

    /// Returns the number of dimensions of its vectors, if its type sets one.
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
