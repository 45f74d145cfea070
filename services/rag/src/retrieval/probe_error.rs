//! Checks of the tables, and reasons why vector search of the tables is impossible.

use std::sync::atomic::Ordering;

use thiserror::Error;
use tracing::{error, warn};
use ziggurat_postgres::{
    error::QueryError,
    pool::{LeaseError, Pool},
};
use ziggurat_vector_search::retrieval_queries::{self, Column, Finding};

use crate::retrieval::{
    askers::Asker,
    known_tables::KnownTable,
    table_search::{MIN_RELOAD_AGE, TableSearch},
};

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

// === impl TableSearch ===

impl TableSearch {
    /// Logs what prevents a search of the table or makes it slow. With `has_askers`, its own user
    /// need not be able to read it.
    pub(super) async fn check(&self, pool: &Pool, has_askers: bool) {
        let known = match self.load(self.known.own(), &Asker::of_server(pool)).await {
            Ok(known) => known,
            Err(error) => {
                error!(
                    error = &error as &dyn std::error::Error,
                    pipeline = self.pipeline,
                    table = self.name,
                    "cannot inspect the table; its searches fail until this succeeds"
                );
                return;
            }
        };
        for finding in self.findings(&known, has_askers) {
            let (pipeline, table) = (&*self.pipeline, &*self.name);
            if finding.is_fatal() {
                error!(pipeline, table, %finding, "the table cannot be searched");
            } else {
                warn!(pipeline, table, %finding, "searches of the table will be slow");
            }
        }
    }

    /// Returns the reason why vectors of this many dimensions cannot be searched. It loads the
    /// description again before it reports one.
    pub(super) async fn check_probe(
        &self,
        made: Option<usize>,
        pool: &Pool,
        has_askers: bool,
    ) -> Result<Option<ProbeError>, QueryError> {
        let asker = Asker::of_server(pool);
        let known = self.known(&asker).await?;
        let Some(probe_error) = self.probe_error(&known, made, has_askers) else {
            return Ok(None);
        };
        if known.since.elapsed() < MIN_RELOAD_AGE {
            return Ok(Some(probe_error));
        }
        let known = self.load(self.known.own(), &asker).await?;
        Ok(self.probe_error(&known, made, has_askers))
    }

    /// Returns a known reason why vectors of this many dimensions cannot be searched.
    pub(super) fn known_probe_error(
        &self,
        made: Option<usize>,
        has_askers: bool,
    ) -> Option<ProbeError> {
        let known = self.known.own().table.load();
        self.probe_error(known.as_deref()?, made, has_askers)
    }

    fn findings(&self, known: &KnownTable, has_askers: bool) -> Vec<Finding> {
        let mut findings = known.shape.findings(&self.place);
        findings.retain(|it| !has_askers || !matches!(it, Finding::Unreadable { .. }));
        findings
    }

    fn probe_error(
        &self,
        known: &KnownTable,
        made: Option<usize>,
        has_askers: bool,
    ) -> Option<ProbeError> {
        let table = self.name.clone();
        let mut findings = self.findings(known, has_askers).into_iter();
        if let Some(finding) = findings.find(Finding::is_fatal) {
            return Some(ProbeError::Table { table, finding });
        }
        let made = made?;
        self.compare_sizes(known, made);
        let column = self.place.vector();
        let held = known.shape.column(column).and_then(Column::dimensions)?;
        (held != made).then(|| ProbeError::Dimensions {
            table,
            column: column.to_owned(),
            held,
            made,
        })
    }

    /// Logs once that vectors of the provider and of the table differ in size.
    pub(super) fn compare_sizes(&self, known: &KnownTable, made: usize) {
        let column = known.shape.column(self.place.vector());
        let Some(expected) = column.and_then(Column::dimensions) else {
            return;
        };
        if expected != made && !self.has_warned_of_size.swap(true, Ordering::Relaxed) {
            error!(
                pipeline = self.pipeline,
                table = self.name,
                column = self.place.vector(),
                "the column has vectors of {expected} dimensions and the embedding model returns \
                 {made}: configure the model that filled the table"
            );
        }
    }
}
