//! Why a caller does not get the database it wants.

use thiserror::Error;
use ziggurat_accounts::{Holder, Identity};

/// Why a caller has no database. The words are for the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoDatabase {
    /// The server has none at all, or not the one a token is bound to.
    #[error("no database connection configured for this token: {0}")]
    ForToken(String),
    /// No database is there for this user.
    #[error("no databases are configured for user '{0}' - contact your administrator")]
    ForUser(String),
    /// Nothing is configured.
    #[error("no databases are configured")]
    AtAll,
}

/// Why a database cannot be selected. The words are for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SelectError {
    /// There is none of that name.
    #[error("Database not found")]
    NotFound,
    /// The caller came with a token for another one.
    #[error("API token is bound to a different database")]
    Bound,
    /// It is not there for this user.
    #[error("Access denied to this database")]
    Denied,
    /// The selection cannot be written down, so that it would not hold at other replicas.
    #[error("Databases cannot be selected now, try again later")]
    Unavailable,
}

/// Why a caller is kept to the databases that are configured. The words are for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Confined {
    /// It came with an API token, and each of those is bound to a database.
    #[error("an API token is bound to its database and cannot connect to another one")]
    Token,
    /// It came with a token of an issuer.
    #[error("an OAuth client cannot connect to databases that are not configured")]
    Client,
    /// The account, or a database, says who may use what.
    #[error(
        "access to databases is restricted by account on this server, so connecting to others is \
         not allowed"
    )]
    User,
    /// A URL has a password, and replicas share none.
    #[error(
        "sessions are shared by several servers, which keep no connection URLs; name the URL in \
         each query that needs it"
    )]
    Shared,
}

// === impl NoDatabase ===

impl NoDatabase {
    pub(super) fn of(identity: Option<&Identity>) -> Self {
        match identity.map(Identity::holder) {
            None => Self::AtAll,
            Some(Holder::User { name, .. }) => Self::ForUser(name.to_string()),
            Some(Holder::Client { .. }) => {
                Self::ForToken("no database is open to this client".to_owned())
            }
            Some(Holder::Program { database }) => Self::ForToken(match database {
                Some(name) => format!("database '{name}' not configured"),
                None => "no databases are configured".to_owned(),
            }),
        }
    }
}
