//! Failures of a search.

use thiserror::Error;
use ziggurat_llm as llm;
use ziggurat_postgres::{
    error::{QueryError, Report},
    pool::{Cause, LeaseError},
};

/// The reason why a search failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RetrievalFailure {
    /// There is no vector of the question.
    #[error("failed to embed the question")]
    Embedding(#[source] llm::Error),
    /// The filter of the request fits none of the tables.
    #[error("the filter matches none of the tables")]
    Filter,
    /// The tables could not be searched.
    #[error("document search failed")]
    Database(FailureKind, #[source] QueryError),
}

/// Kinds of database failures, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum FailureKind {
    /// The database is unreachable or has no free connection.
    Unavailable,
    /// The database refuses the login, a name or a permission.
    Refused,
    /// Any other failure.
    Failed,
}

/// The outcome of a search over all tables.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    was_searched: bool,
    was_unfit: bool,
    worst: Option<(FailureKind, QueryError)>,
}

/// The reason why a table was not searched.
#[derive(Debug)]
pub(super) enum SearchFailure {
    /// The filter of the request does not fit the table.
    Unfit,
    /// A column of the table is masked for the asker.
    LeftOut,
    /// The search failed.
    Failed(QueryError),
}

/// Error codes (`SQLSTATE`) for a filter that does not fit: an unknown column, an operator that the
/// type lacks, or a value that is invalid for the type.
const FILTER_ERRORS: [&str; 10] = [
    "42703", "42883", "42804", "22P02", "22003", "22007", "22008", "22025",
    // Codes for a text that PostgreSQL cannot store.
    "22021", "22P05",
];

/// Error codes for a table and a column that do not exist.
const MISSING: [&str; 2] = ["42P01", "42703"];

// === impl RetrievalFailure ===

impl RetrievalFailure {
    /// Returns whether a table or a column does not exist.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Database(_, QueryError::Failed { report, .. })
            if MISSING.contains(&&*report.sqlstate))
    }

    /// Returns whether the database is not open to the asker.
    pub(crate) fn is_not_open(&self) -> bool {
        let Self::Database(_, QueryError::Lease(error)) = self else {
            return false;
        };
        matches!(error, LeaseError::NotOpen { .. })
    }
}

// === impl FailureKind ===

impl FailureKind {
    /// Classifies an error by its `SQLSTATE`.
    #[must_use]
    pub fn of(error: &QueryError) -> Self {
        match error {
            QueryError::Failed { report, .. } => Self::of_report(report),
            QueryError::Lease(LeaseError::Connect { tried, .. }) => {
                let refused = tried.iter().any(|tried| match &tried.cause {
                    Cause::Report(report) => Self::of_report(report) == Self::Refused,
                    _ => false,
                });
                if refused {
                    Self::Refused
                } else {
                    Self::Unavailable
                }
            }
            QueryError::Lease(_) | QueryError::Connection(_) => Self::Unavailable,
            _ => Self::Failed,
        }
    }

    fn of_report(report: &Report) -> Self {
        match report.sqlstate.get(..2) {
            Some("08" | "53" | "57") => Self::Unavailable,
            Some("28" | "3D" | "3F" | "42") => Self::Refused,
            _ => Self::Failed,
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// Records the outcome of one table and returns its rows.
    pub(super) fn of<T: Default>(&mut self, found: Result<T, SearchFailure>) -> T {
        match found {
            Ok(found) => {
                self.was_searched = true;
                found
            }
            Err(SearchFailure::Unfit) => {
                self.was_unfit = true;
                T::default()
            }
            Err(SearchFailure::LeftOut) => T::default(),
            Err(SearchFailure::Failed(error)) => {
                let kind = FailureKind::of(&error);
                if self.worst.as_ref().is_none_or(|(worst, _)| kind < *worst) {
                    self.worst = Some((kind, error));
                }
                T::default()
            }
        }
    }

    /// Decides whether an empty result is a failure. A table that the filter does not fit has no
    /// matching rows, unless the filter matches none of the tables.
    pub(super) fn into_result(self) -> Result<(), RetrievalFailure> {
        match self.worst {
            Some((kind, error)) => Err(RetrievalFailure::Database(kind, error)),
            None if self.was_unfit && !self.was_searched => Err(RetrievalFailure::Filter),
            None => Ok(()),
        }
    }
}

// === impl SearchFailure ===

impl SearchFailure {
    /// Classifies an error of a search with or without a filter of the request.
    pub(super) fn new(error: QueryError, has_filter: bool) -> Self {
        match &error {
            QueryError::Failed { report, .. }
                if has_filter && FILTER_ERRORS.contains(&&*report.sqlstate) =>
            {
                Self::Unfit
            }
            _ => Self::Failed(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ziggurat_postgres::error::Phase;

    fn failed(sqlstate: &str) -> QueryError {
        let report = Report::with_sqlstate(sqlstate);
        QueryError::Failed {
            phase: Phase::Run,
            report: Box::new(report),
        }
    }

    #[test]
    fn errors_of_postgresql_are_classified_by_sqlstate() {
        let cases = [
            ("57014", FailureKind::Unavailable),
            ("53300", FailureKind::Unavailable),
            ("08006", FailureKind::Unavailable),
            ("42501", FailureKind::Refused),
            ("42P01", FailureKind::Refused),
            ("28P01", FailureKind::Refused),
            ("3D000", FailureKind::Refused),
            ("3F000", FailureKind::Refused),
            ("22000", FailureKind::Failed),
            ("XX000", FailureKind::Failed),
        ];
        for (sqlstate, expected) in cases {
            assert_eq!(FailureKind::of(&failed(sqlstate)), expected, "{sqlstate}");
        }
    }

    #[test]
    fn the_most_severe_failure_of_several_tables_counts() {
        for order in [["XX000", "42501", "53300"], ["53300", "XX000", "42501"]] {
            let mut outcome = Outcome::default();
            for sqlstate in order {
                let missed = SearchFailure::new(failed(sqlstate), false);
                assert!(outcome.of::<Vec<u8>>(Err(missed)).is_empty());
            }
            let failure = outcome.into_result().expect_err("all have failed");
            assert!(
                matches!(
                    failure,
                    RetrievalFailure::Database(FailureKind::Unavailable, _)
                ),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_filter_error_needs_a_filter_that_fits_no_table() {
        let mut outcome = Outcome::default();
        outcome.of::<Vec<u8>>(Err(SearchFailure::new(failed("42703"), true)));
        assert!(matches!(
            outcome.into_result(),
            Err(RetrievalFailure::Filter)
        ));

        let mut outcome = Outcome::default();
        outcome.of::<Vec<u8>>(Err(SearchFailure::new(failed("42703"), true)));
        outcome.of::<Vec<u8>>(Ok(Vec::new()));
        assert!(outcome.into_result().is_ok());

        let missed = SearchFailure::new(failed("42703"), false);
        assert!(matches!(missed, SearchFailure::Failed(_)));
    }
}
