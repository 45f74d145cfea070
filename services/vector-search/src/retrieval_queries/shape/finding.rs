//! Problems of a table, and how to fix them.

use std::fmt;

use crate::{
    quoted,
    retrieval_queries::{
        SearchTable,
        shape::{Column, Shape},
    },
};

/// Tables with more rows than this are slow without an index.
const MANY: f64 = 10_000.0;

/// Limit on the dimensions of a `vector` in an index of pgvector.
const MAX_INDEXED: usize = 2000;

/// Problem that prevents a table from being searched, or makes the search slow.
///
/// `Display` is for the operator's log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Finding {
    /// There is no such table.
    NoTable {
        /// Its name.
        table: String,
    },
    /// It has no such column.
    NoColumn {
        /// The name of the column.
        column: String,
    },
    /// The role may not read a column.
    Unreadable {
        /// The name of the column.
        column: String,
        /// The SQL to run.
        grant: String,
    },
    /// The vector column is of another type.
    NoVectors {
        /// The name of the column.
        column: String,
        /// Its type.
        data_type: String,
    },
    /// No index serves the vector column.
    Unindexed {
        /// The SQL to run.
        create: String,
    },
}

// === impl Finding ===

impl Finding {
    /// Returns whether it prevents the table from being searched.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        !matches!(self, Self::Unindexed { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoTable { table } => write!(
                f,
                "there is no table {table}: create it, or correct its name in the configuration"
            ),
            Self::NoColumn { column } => write!(
                f,
                "the table has no column {column}: add it, or correct its name in the configuration"
            ),
            Self::Unreadable { column, grant } => {
                write!(f, "the role may not read the column {column}: run {grant}")
            }
            Self::NoVectors { column, data_type } => write!(
                f,
                "the column {column} has the type {data_type} and not one of pgvector: name the \
                 column with the vectors in the configuration"
            ),
            Self::Unindexed { create } => write!(
                f,
                "no index serves the vectors, so each search reads the whole table: run {create}"
            ),
        }
    }
}

// === impl Shape ===

impl Shape {
    /// Returns the problems that the catalogue shows.
    #[must_use]
    pub fn findings(&self, place: &SearchTable) -> Vec<Finding> {
        if self.relation.is_none() {
            let table = place.table.clone();
            return vec![Finding::NoTable { table }];
        }
        let required = [&place.text, &place.vector];
        let optional = [&place.id, &place.title, &place.url];
        let ordering = place.order.iter();
        let ordering = ordering.flat_map(|order| [&order.document, &order.position]);
        let optional = optional.into_iter().flatten().chain(ordering);
        let optional = optional.chain(&place.keyword_columns);
        let names = required.into_iter().chain(optional);
        let mut findings: Vec<_> = names
            .filter_map(|name| self.finding_of(name, place))
            .collect();
        if let Some(column) = self.column(&place.vector) {
            findings.extend(self.finding_of_vectors(column, place));
        }
        findings
    }

    /// Returns whether no known problem prevents the table from being searched.
    #[must_use]
    pub fn is_sound(&self, place: &SearchTable) -> bool {
        !self.findings(place).iter().any(Finding::is_fatal)
    }

    fn finding_of(&self, name: &str, place: &SearchTable) -> Option<Finding> {
        match self.column(name) {
            None => Some(Finding::NoColumn {
                column: quoted(name),
            }),
            Some(column) if !column.is_readable => Some(Finding::Unreadable {
                column: quoted(name),
                grant: format!(
                    "GRANT SELECT ({}) ON {} TO this role",
                    quoted(name),
                    place.table
                ),
            }),
            Some(_) => None,
        }
    }

    fn finding_of_vectors(&self, column: &Column, place: &SearchTable) -> Option<Finding> {
        if !column.is_vector() {
            return Some(Finding::NoVectors {
                column: quoted(&column.name),
                data_type: column.data_type.clone(),
            });
        }
        let is_served = self.has_vector_index(place) || self.half_precision(place).is_some();
        // A view uses the indexes of its tables.
        let is_view = self.relation.as_ref().is_some_and(|r| r.kind == "v");
        (!is_served && !is_view && self.rows() > MANY).then(|| {
            let create = format!(
                "CREATE INDEX CONCURRENTLY ON {} USING hnsw ({})",
                place.table,
                index_key(column)
            );
            Finding::Unindexed { create }
        })
    }
}

/// Returns the key of an index over vectors. Vectors of too many dimensions for an index are
/// indexed in half precision.
fn index_key(column: &Column) -> String {
    let name = quoted(&column.name);
    let (start, bare) = match column.data_type.rsplit_once('.') {
        Some((schema, bare)) => (format!("{schema}."), bare),
        None => (String::new(), &*column.data_type),
    };
    match column.dimensions() {
        Some(dimensions) if bare == "vector" && dimensions > MAX_INDEXED => {
            format!("(({name})::{start}halfvec({dimensions})) {start}halfvec_cosine_ops")
        }
        _ => format!("{name} {bare}_cosine_ops"),
    }
}
