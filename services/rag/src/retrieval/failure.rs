//! Why nothing was found, when something went wrong.

use thiserror::Error;
use ziggurat_llm as llm;
use ziggurat_postgres::{
    error::{QueryError, Report},
    pool::{Cause, LeaseError},
};

/// Why a question has no passages.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Failure {
    /// There is no vector to search by.
    #[error("no embedding of the question")]
    Embedding(#[source] llm::Error),
    /// The filter of the request fits none of the tables.
    #[error("the filter fits none of the tables")]
    Filter,
    /// The tables could not be searched.
    #[error("document search failed")]
    Database(Trouble, #[source] QueryError),
}

/// What kind of trouble a database is in, the most severe first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Trouble {
    /// It was not reached, or has no room.
    Unavailable,
    /// It does not let us: a name or a permission is wrong.
    Refused,
    /// Anything else.
    Failed,
}

/// What became of the tables of a search.
#[derive(Debug, Default)]
pub(super) struct Verdict {
    was_searched: bool,
    was_unfit: bool,
    worst: Option<(Trouble, QueryError)>,
}

/// Why a table was not searched.
#[derive(Debug)]
pub(super) enum Missed {
    /// The filter of the request does not fit it.
    Unfit,
    /// It could not be searched.
    Failed(QueryError),
}

/// What PostgreSQL says of a filter that does not fit: an unknown column, an operator its type
/// does not have, a value that is none of its type.
const UNFIT: [&str; 10] = [
    "42703", "42883", "42804", "22P02", "22003", "22007", "22008", "22025",
    // A text that PostgreSQL cannot hold.
    "22021", "22P05",
];

// === impl Trouble ===

impl Trouble {
    /// Sorts an error by what PostgreSQL says.
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

// === impl Verdict ===

impl Verdict {
    /// Takes what a table has, or why it has nothing.
    pub(super) fn of<T: Default>(&mut self, found: Result<T, Missed>) -> T {
        match found {
            Ok(found) => {
                self.was_searched = true;
                found
            }
            Err(Missed::Unfit) => {
                self.was_unfit = true;
                T::default()
            }
            Err(Missed::Failed(error)) => {
                let trouble = Trouble::of(&error);
                if self
                    .worst
                    .as_ref()
                    .is_none_or(|(worst, _)| trouble < *worst)
                {
                    self.worst = Some((trouble, error));
                }
                T::default()
            }
        }
    }

    /// Says what nothing means: that there is nothing, or that it could not be looked for. A
    /// table the filter does not fit has no rows of that kind, unless that is so for all.
    pub(super) fn judge(self) -> Result<(), Failure> {
        match self.worst {
            Some((trouble, error)) => Err(Failure::Database(trouble, error)),
            None if self.was_unfit && !self.was_searched => Err(Failure::Filter),
            None => Ok(()),
        }
    }
}

// === impl Missed ===

impl Missed {
    /// Sorts an error of a search with a filter of the request or without.
    pub(super) fn new(error: QueryError, has_filter: bool) -> Self {
        match &error {
            QueryError::Failed { report, .. }
                if has_filter && UNFIT.contains(&&*report.sqlstate) =>
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
    fn what_postgresql_says_is_sorted_by_its_class() {
        let cases = [
            ("57014", Trouble::Unavailable),
            ("53300", Trouble::Unavailable),
            ("08006", Trouble::Unavailable),
            ("42501", Trouble::Refused),
            ("42P01", Trouble::Refused),
            ("28P01", Trouble::Refused),
            ("3D000", Trouble::Refused),
            ("3F000", Trouble::Refused),
            ("22000", Trouble::Failed),
            ("XX000", Trouble::Failed),
        ];
        for (sqlstate, expected) in cases {
            assert_eq!(Trouble::of(&failed(sqlstate)), expected, "{sqlstate}");
        }
    }

    #[test]
    fn the_most_severe_failure_of_several_tables_counts() {
        for order in [["XX000", "42501", "53300"], ["53300", "XX000", "42501"]] {
            let mut verdict = Verdict::default();
            for sqlstate in order {
                let missed = Missed::new(failed(sqlstate), false);
                assert!(verdict.of::<Vec<u8>>(Err(missed)).is_empty());
            }
            let failure = verdict.judge().expect_err("all have failed");
            assert!(
                matches!(failure, Failure::Database(Trouble::Unavailable, _)),
                "{failure:?}"
            );
        }
    }

    #[test]
    fn a_filter_is_to_blame_only_where_there_is_one_and_it_fits_nothing() {
        let mut verdict = Verdict::default();
        verdict.of::<Vec<u8>>(Err(Missed::new(failed("42703"), true)));
        assert!(matches!(verdict.judge(), Err(Failure::Filter)));

        let mut verdict = Verdict::default();
        verdict.of::<Vec<u8>>(Err(Missed::new(failed("42703"), true)));
        verdict.of::<Vec<u8>>(Ok(Vec::new()));
        assert!(verdict.judge().is_ok());

        let missed = Missed::new(failed("42703"), false);
        assert!(matches!(missed, Missed::Failed(_)));
    }
}
