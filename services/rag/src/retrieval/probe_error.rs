//! Reasons why vector search of the tables is impossible.

use thiserror::Error;
use ziggurat_postgres::{
    error::QueryError,
    pool::{LeaseError, Pool},
};
use ziggurat_vector_search::retrieval_queries::{self, Finding};

use crate::retrieval::table_search::TableSearch;

/// The reason why vector search of a pipeline's tables is impossible. `Display` is for the log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ProbeError {
    /// The database does not respond.
    #[error("the database is unreachable")]
    Unreachable(#[source] QueryError),
    /// The table differs from its configuration.
    #[error("table {table}: {finding}")]
    Table {
        /// Name of the table, as configured.
        table: String,
        /// The difference.
        finding: Finding,
    },
    /// The vectors of the table have other dimensions than the vectors of the model.
    #[error(
        "table {table}: the column {column} has vectors of {held} dimensions and the embedding \
         model returns {made}: configure the model that filled the table"
    )]
    Dimensions {
        /// Name of the table, as configured.
        table: String,
        /// The column with the vectors.
        column: String,
        /// The dimensions of the column.
        held: usize,
        /// The dimensions of the model.
        made: usize,
    },
}

/// Checks that a database responds. A database without a free connection passes.
pub(super) async fn ping(pool: &Pool) -> Result<(), ProbeError> {
    match retrieval_queries::ping(pool).await {
        Err(QueryError::Lease(
            LeaseError::Busy { .. } | LeaseError::Account { .. } | LeaseError::Full { .. },
        ))
        | Ok(()) => Ok(()),
        Err(error) => Err(ProbeError::Unreachable(error)),
    }
}

/// Checks that at least one of the tables supports vector search.
pub(super) async fn of_all(
    tables: &[TableSearch],
    made: Option<usize>,
    pool: &Pool,
    has_askers: bool,
) -> Result<(), ProbeError> {
    let mut first = None;
    for table in tables {
        match table.check_probe(made, pool, has_askers).await {
            Ok(None) => return Ok(()),
            Ok(Some(probe_error)) => first = first.or(Some(probe_error)),
            Err(error) => return Err(ProbeError::Unreachable(error)),
        }
    }
    first.map_or(Ok(()), Err)
}
