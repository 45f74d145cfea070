//! Errors of access to databases.

use thiserror::Error;
use ziggurat_tokens::{Holder, Identity};

/// Reason why a caller has no database. The message is for the caller.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NoDatabase {
    /// The server has no database, or not the one that the token is bound to.
    #[error("no database connection configured for this token: {0}")]
    ForToken(String),
    /// This user may use no database.
    #[error("no databases are configured for user '{0}' - contact your administrator")]
    ForUser(String),
    /// No database is configured.
    #[error("no databases are configured")]
    AtAll,
}

/// Reason why a database cannot be selected. The message is for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum SelectError {
    /// No database has this name.
    #[error("Database not found")]
    NotFound,
    /// The API token of the caller is bound to another database.
    #[error("API token is bound to a different database")]
    Bound,
    /// The user may not use the database.
    #[error("Access denied to this database")]
    Denied,
    /// The selection cannot be stored, so other replicas would not use it.
    #[error("Databases cannot be selected now, try again later")]
    Unavailable,
}

/// Reason why a caller may only use configured databases. The message is for the caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AdHocDenied {
    /// The caller has an API token, which is always bound to a database.
    #[error("an API token is bound to its database and cannot connect to another one")]
    Token,
    /// The caller has a token of an issuer.
    #[error("an OAuth client cannot connect to databases that are not configured")]
    Client,
    /// The account or a database restricts access.
    #[error(
        "access to databases is restricted by account on this server, so connecting to others is \
         not allowed"
    )]
    User,
    /// A URL contains a password, which replicas do not share.
    #[error(
        "sessions are shared by several servers, which store no connection URLs; pass the URL in \
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
                Self::ForToken("no database is available to this client".to_owned())
            }
            Some(Holder::Program { database, .. }) => Self::ForToken(match database {
                Some(name) => format!("database '{name}' not configured"),
                None => "no databases are configured".to_owned(),
            }),
        }
    }
}
