//! What can go wrong, and what to do about it.

use std::{error::Error as StdError, fmt, io, path::PathBuf};

/// How to do without everything this crate does.
const ADVICE: &str = "\
to use a server of your own (PostgreSQL 14 or later with pgvector, a role that may create databases), set
  ZIGGURAT_TEST_DATABASE_URL=postgres://user:password@host/database
to use binaries of your own (PostgreSQL 14 or later with pgvector), set
  ZIGGURAT_PG_BIN=/folder/with/initdb/and/postgres";

/// Says why there is no PostgreSQL to be had.
///
/// The message lists what was tried, in order, with the reason each was passed over, and ends
/// with how to point at a server of one's own. It never holds a password. `Debug` writes the
/// same message followed by the causes, because that is what `expect` shows in a test.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no PostgreSQL with pgvector, and none could be fetched.
    #[error(
        "found no PostgreSQL with pgvector and could not fetch one; tried, in order:{tried}\n{ADVICE}"
    )]
    NotFound {
        /// Where it was looked for.
        tried: Tried,
    },

    /// `ZIGGURAT_PG_BIN` or `ZIGGURAT_TEST_DATABASE_URL` names something that does not serve.
    #[error("{setting} cannot be used: {reason}\n{ADVICE}")]
    Setting {
        /// The variable.
        setting: &'static str,
        /// What is wrong with its value.
        reason: String,
        /// What the server or the system said.
        source: Option<Box<dyn StdError + Send + Sync>>,
    },

    /// A folder the server needs cannot be used.
    #[error("cannot use the folder {path}: {reason}\n{ADVICE}", path = path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
        /// What the system said.
        source: Option<io::Error>,
    },

    /// The server did not start.
    #[error("PostgreSQL does not start: {reason}\ntried, in order:{tried}\n{ADVICE}")]
    Start {
        /// What happened, with the last lines the server wrote.
        reason: String,
        /// Where a server was looked for, the chosen one last.
        tried: Tried,
    },

    /// A server that runs refused a statement this crate depends on.
    #[error("the test server failed at {doing}\n{ADVICE}")]
    Sql {
        /// What was being done.
        doing: &'static str,
        /// What the server said.
        source: sqlx::Error,
    },
}

/// The places looked at and why each was passed over, in order.
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

/// The end of what a program wrote, which is where it says why it ended.
pub(crate) fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.trim().lines().collect();
    lines[lines.len().saturating_sub(12)..].join("\n    ")
}
