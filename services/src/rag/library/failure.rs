//! Why nothing was found, when something went wrong.

use thiserror::Error;

use crate::{
    llm,
    pg::{
        error::{QueryError, Report},
        lease::{Cause, LeaseError},
    },
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
