//! Reasons for a failed lease of a connection.

use std::time::Duration;

use thiserror::Error;
use tracing::{error, warn};
use ziggurat_layers::sanitize::RequestId;

use crate::{
    driver::DriverError,
    pool::cause::{Cause, HostCauses, TriedHost},
};

/// The whole of what a caller learns about a database that knows its callers, and not this one.
const NOT_OPEN: &str = "This database is not open to you.";

/// Reasons for a failed lease of a connection.
///
/// `Display` is for the log. Callers see less.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LeaseError {
    /// The caller's pools were closed, because its token expired or the server is stopping.
    #[error("the connections to the database were closed")]
    Closed,
    /// The caller's own connections are all in use.
    #[error(
        "all {connections} connections of this caller to database '{database}' were busy for \
         {limit:?}: run fewer statements at once, or raise pool_max_conns"
    )]
    Busy {
        /// The configured name.
        database: String,
        /// Maximum number for the caller.
        connections: u32,
        /// Length of the wait.
        limit: Duration,
    },
    /// Callers use all the pairs of connections that there may be.
    #[error("Too many previews at once. Try again.")]
    TooManyPairs,
    /// The sessions of the caller's account use all the connections they may have.
    #[error(
        "all {connections} connections of the sessions of one account to database '{database}' \
         were busy for {limit:?}"
    )]
    Account {
        /// The configured name.
        database: String,
        /// Maximum number for the account.
        connections: usize,
        /// Length of the wait.
        limit: Duration,
    },
    /// Other callers use all the connections of the database.
    #[error("too many connections to database '{database}': none was free within {limit:?}")]
    Full {
        /// The configured name.
        database: String,
        /// Length of the wait.
        limit: Duration,
    },
    /// The database knows its callers, and this one has no role there, or none that may be used.
    #[error("database '{database}' is not open to a caller: {why}")]
    NotOpen {
        /// The configured name.
        database: String,
        /// The reason, for the log.
        why: String,
    },
    /// PostgreSQL is unreachable, or refuses the login.
    #[error("failed to connect to database '{database}': {}", HostCauses(tried))]
    Connect {
        /// The configured name.
        database: String,
        /// True if callers see the cause.
        is_shown: bool,
        /// The hosts, in the order they were tried.
        tried: Vec<TriedHost>,
        /// Error of the driver for the last host that has one.
        source: Option<DriverError>,
    },
}

// === impl LeaseError ===

impl LeaseError {
    /// Returns the message for a caller, and logs a failed connection. The caller sees its cause
    /// only if the operator allows that; else it gets the request id of the line in the log.
    pub fn public_message(&self) -> String {
        if let Self::NotOpen { database, why } = self {
            warn!(database, why, "a database is not open to a caller");
            return NOT_OPEN.to_owned();
        }
        let Self::Connect {
            database,
            is_shown,
            tried,
            ..
        } = self
        else {
            return self.to_string();
        };
        let id = RequestId::generate();
        let (database, request_id) = (&**database, id.as_str());
        let cause = HostCauses(tried).to_string();
        error!(database, cause, request_id, "no connection to a database");
        let why = if self.is_full() {
            "it has no free connection; try again later"
        } else {
            "it is unreachable, or rejects the login of the server"
        };
        if *is_shown {
            format!("failed to connect to database '{database}': {cause}")
        } else {
            format!(
                "failed to connect to database '{database}': {why} (see the log of the server for \
                 request id {request_id})"
            )
        }
    }

    /// Returns whether PostgreSQL has no connection left (`too_many_connections`).
    pub(super) fn is_full(&self) -> bool {
        match self {
            Self::Connect { tried, .. } => tried.iter().any(
                |tried| matches!(&tried.cause, Cause::Report(report) if report.sqlstate == "53300"),
            ),
            _ => false,
        }
    }

    /// Returns the cause, for messages that name the database themselves.
    #[must_use]
    pub fn cause(&self) -> String {
        match self {
            Self::Connect { tried, .. } => HostCauses(tried).to_string(),
            other => other.to_string(),
        }
    }
}
