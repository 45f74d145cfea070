//! Tables that cannot be searched by meaning.

use thiserror::Error;
use ziggurat_postgres::{
    error::QueryError,
    pool::{LeaseError, Pool},
};
use ziggurat_vector_search::retrieval_queries::{self, Finding};

use super::table_search::TableSearch;

/// Something that keeps the tables of a pipeline from being searched by meaning. `Display` is for the
/// log.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Obstacle {
    /// There is no answer from the database.
    #[error("the database cannot be reached")]
    Unreachable(#[source] QueryError),
    /// A table is not as the configuration describes it.
    #[error("table {table}: {finding}")]
    Table {
        /// As the operator names it.
        table: String,
        /// The difference.
        finding: Finding,
    },
    /// The vectors of a table are of another model.
    #[error(
        "table {table}: the column {column} holds vectors of {held} dimensions and the embedding \
         model makes {made}: configure the model the table was filled with"
    )]
    Dimensions {
        /// As the operator names it.
        table: String,
        /// The column with the vectors.
        column: String,
        /// The dimensions of the column.
        held: usize,
        /// The dimensions of the model.
        made: usize,
    },
}

/// Checks that a database answers. One whose connections are all in use does.
pub(super) async fn reach(pool: &Pool) -> Result<(), Obstacle> {
    match retrieval_queries::reach(pool).await {
        Err(QueryError::Lease(
            LeaseError::Busy { .. } | LeaseError::Account { .. } | LeaseError::Full { .. },
        ))
        | Ok(()) => Ok(()),
        Err(error) => Err(Obstacle::Unreachable(error)),
    }
}

/// Checks that one of the tables can be searched by meaning.
pub(super) async fn of_all(shelves: &[TableSearch], made: Option<usize>) -> Result<(), Obstacle> {
    let mut first = None;
    for shelf in shelves {
        match shelf.look_for_obstacle(made).await {
            Ok(None) => return Ok(()),
            Ok(Some(obstacle)) => first = first.or(Some(obstacle)),
            Err(error) => return Err(Obstacle::Unreachable(error)),
        }
    }
    first.map_or(Ok(()), Err)
}
