//! Errors, with advice for each.

use std::{error::Error as StdError, fmt, io, path::PathBuf};

/// Advice for using a server without this crate's search and download.
const ADVICE: &str = "\
to use a server of your own (PostgreSQL 14 or later with pgvector, a role that may create databases), set
  ZIGGURAT_TEST_DATABASE_URL=postgres://user:password@host/database
to use binaries of your own (PostgreSQL 14 or later with pgvector), set
  ZIGGURAT_PG_BIN=/folder/with/initdb/and/postgres";

/// An error that explains why no PostgreSQL can be used.
///
/// The message lists the places that were tried, in order and with reasons, and ends with how to
/// use an own server. It never contains a password. `Debug` writes the same message and the causes,
/// because `expect` shows that in a test.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No PostgreSQL with pgvector was found, and none could be downloaded.
    #[error(
        "found no PostgreSQL with pgvector and could not fetch one; tried, in order:{tried}\n{ADVICE}"
    )]
    NotFound {
        /// The places that were searched.
        tried: Tried,
    },

    /// `ZIGGURAT_PG_BIN` or `ZIGGURAT_TEST_DATABASE_URL` names a server that cannot be used.
    #[error("{setting} cannot be used: {reason}\n{ADVICE}")]
    Setting {
        /// The variable.
        setting: &'static str,
        /// The problem with its value.
        reason: String,
        /// The error of the server or the system.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },

    /// A folder that the server needs cannot be used.
    #[error("cannot use the folder {path}: {reason}\n{ADVICE}", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The problem, and what to do.
        reason: String,
        /// The error of the system.
        source: Option<io::Error>,
    },

    /// The server did not start.
    #[error("PostgreSQL does not start: {reason}\ntried, in order:{tried}\n{ADVICE}")]
    Start {
        /// The problem, with the last lines of the server's log.
        reason: String,
        /// The places that were searched, the chosen one last.
        tried: Tried,
    },

    /// A running server refused a statement that this crate needs.
    #[error("the test server failed at {doing}\n{ADVICE}")]
    Sql {
        /// The operation that failed.
        doing: &'static str,
        /// The error of the server.
        source: sqlx::Error,
    },
}

/// The places that were searched and the reason why each was not used, in order.
#[derive(Clone, Debug, Default)]
pub struct Tried(Vec<(String, String)>);

// === impl Error ===

impl Error {
    pub(crate) fn sql(doing: &'static str) -> impl FnOnce(sqlx::Error) -> Self {
        move |source| Self::Sql { doing, source }
    }

    pub(crate) fn folder(
        path: impl Into<PathBuf>,
        reason: &'static str,
    ) -> impl FnOnce(io::Error) -> Self {
        move |source| Self::Folder {
            path: path.into(),
            reason: reason.to_owned(),
            source: Some(source),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")?;
        let mut cause = self.source();
        while let Some(error) = cause {
            write!(f, "\ncaused by: {error}")?;
            cause = error.source();
        }
        Ok(())
    }
}

// === impl Tried ===

impl Tried {
    pub(crate) fn push(&mut self, place: impl fmt::Display, reason: impl Into<String>) {
        self.0.push((place.to_string(), reason.into()));
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0
            .iter()
            .try_for_each(|(place, reason)| write!(f, "\n  - {place}: {reason}"))
    }
}

/// The last lines of a program's output, which contain the error.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n    ")
}
