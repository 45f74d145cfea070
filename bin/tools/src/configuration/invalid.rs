//! Errors of a configuration that was parsed.

use std::{error::Error as _, fmt::Write as _, iter};

use thiserror::Error;
use ziggurat_postgres::database::InvalidDatabase;

use super::databases::InvalidUrl;

/// Error of a setting. The specification fixes the first words of each message.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum Invalid {
    /// HTTPS is on without HTTP.
    #[error("TLS requires HTTP mode to be enabled")]
    TlsWithoutHttp,
    /// A connection URL was given in addition to other databases.
    #[error("a connection URL and configured databases exclude each other")]
    UrlAndDatabases,
    /// The connection URL on the command line is invalid.
    #[error("invalid connection URL: {0}")]
    Url(InvalidUrl),
    /// The connection URL in the environment is invalid.
    #[error("DATABASE_URL: invalid connection URL: {0}")]
    DatabaseUrl(InvalidUrl),
    /// A database has no name.
    #[error("database at index {0}: name is required")]
    NoName(usize),
    /// Two databases have the same name.
    #[error("duplicate database name: {0}")]
    DuplicateName(String),
    /// A database has no user.
    #[error(
        "database '{0}': user is required (set user, or ZIGGURAT_DB_USER or -db-user for the first one)"
    )]
    NoUser(String),
    /// A setting of a database is invalid.
    #[error("database '{name}': {key} {reason}")]
    Setting {
        /// Name of the database.
        name: String,
        /// Key in the file.
        key: &'static str,
        /// Reason.
        reason: String,
    },
    /// The settings of a database contradict each other.
    #[error(transparent)]
    Database(#[from] InvalidDatabase),
    /// Another setting is invalid.
    #[error("{key}: {reason}")]
    Key {
        /// Key in the file, with dots.
        key: &'static str,
        /// Reason.
        reason: String,
    },
}

/// Collects errors.
#[derive(Debug, Default)]
pub(crate) struct Problems(pub(super) Vec<Invalid>);

/// Formats an error with its causes.
pub(super) fn with_sources(problem: &Invalid) -> String {
    let mut text = problem.to_string();
    let sources = iter::successors(problem.source(), |&error| error.source());
    for source in sources {
        let _ = write!(text, ": {source}");
    }
    text
}

// === impl Problems ===

impl Problems {
    /// Returns the value, or records the error.
    pub(super) fn take<T>(&mut self, checked: Result<T, Invalid>) -> Option<T> {
        self.take_all(checked.map_err(|problem| vec![problem]))
    }

    /// Returns the value, or records several errors.
    pub(super) fn take_all<T>(&mut self, checked: Result<T, Vec<Invalid>>) -> Option<T> {
        checked.map_err(|problems| self.0.extend(problems)).ok()
    }
}

// === impl Invalid ===

impl Invalid {
    pub(super) fn key(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Key {
            key,
            reason: reason.into(),
        }
    }
}
