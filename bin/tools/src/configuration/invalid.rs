//! Problems of a configuration that can be read.

use std::{error::Error as _, fmt::Write as _, iter};

use thiserror::Error;
use ziggurat_postgres::database::InvalidDatabase;

use super::databases::InvalidUrl;

/// Why a configuration will not do. The first words are fixed by the specification.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum Invalid {
    /// HTTPS without HTTP.
    #[error("TLS requires HTTP mode to be enabled")]
    TlsWithoutHttp,
    /// A connection URL beside other databases.
    #[error("a connection URL and configured databases exclude each other")]
    UrlAndDatabases,
    /// A connection URL on the command line that will not do.
    #[error("invalid connection URL: {0}")]
    Url(InvalidUrl),
    /// And one in the environment.
    #[error("DATABASE_URL: invalid connection URL: {0}")]
    DatabaseUrl(InvalidUrl),
    /// A database without a name.
    #[error("database at index {0}: name is required")]
    NoName(usize),
    /// Two databases of one name.
    #[error("duplicate database name: {0}")]
    DuplicateName(String),
    /// A database without a user.
    #[error(
        "database '{0}': user is required (set user, or ZIGGURAT_DB_USER or -db-user for the first one)"
    )]
    NoUser(String),
    /// A setting of a database will not do.
    #[error("database '{name}': {key} {reason}")]
    Setting {
        /// Which database.
        name: String,
        /// Its key in the file.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// A database that cannot be connected to as described.
    #[error(transparent)]
    Database(#[from] InvalidDatabase),
    /// Any other setting will not do.
    #[error("{key}: {reason}")]
    Key {
        /// The key in the file, with dots.
        key: &'static str,
        /// What is wrong with it.
        reason: String,
    },
}

/// Collects what is wrong.
#[derive(Debug, Default)]
pub(crate) struct Problems(pub(super) Vec<Invalid>);

/// The message of a problem with its causes.
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
    /// Notes a problem, or gives back what is good.
    pub(super) fn take<T>(&mut self, checked: Result<T, Invalid>) -> Option<T> {
        self.take_all(checked.map_err(|problem| vec![problem]))
    }

    /// Notes several problems.
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
