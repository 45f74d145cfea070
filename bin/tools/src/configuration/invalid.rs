//! What is wrong with a configuration that can be read.

use thiserror::Error;
use ziggurat_services::pg::database::InvalidDatabase;

/// Why a configuration will not do. The first words are fixed by the specification.
#[derive(Debug, Error)]
#[non_exhaustive]
pub(crate) enum Invalid {
    /// HTTPS without HTTP.
    #[error("TLS requires HTTP mode to be enabled")]
    TlsWithoutHttp,
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

// === impl Invalid ===

impl Invalid {
    pub(super) fn key(key: &'static str, reason: impl Into<String>) -> Self {
        Self::Key {
            key,
            reason: reason.into(),
        }
    }
}
