//! Connections to databases that are not configured, by a URL of the caller.
//!
//! The caller gets only what its URL contains: no password of the server, no password file, no
//! environment variables, and no write access. [`ConnectionUrls`] limits the hosts. A failed
//! connection is described in one sentence for all causes, so that callers cannot scan ports, and a
//! wrong password counts like a failed login.

pub(super) use std::{net::IpAddr, sync::Arc, time::Duration};

use thiserror::Error;
use tokio::time::{self, error::Elapsed};
use tracing::{info, warn};
use ziggurat_accounts::{LoginError, PasswordAttempt, PasswordAttempts};
use ziggurat_databases::{AdHocConnection, AdHocDenied, Databases};
use ziggurat_layers::rate_limit::Outcome;
use ziggurat_mcp::{Caller, Reported};
use ziggurat_postgres::{
    database::{Database, Host, MAX_ROWS, Settings},
    error::{QueryError, Report},
    metadata::Metadata,
    pool::{Cause, LeaseError},
    url::InvalidUrl,
};
use ziggurat_tokens::Identity;

use crate::query_database::url_hosts::ConnectionUrls;

/// Message if the operator has disabled connection URLs.
const SWITCHED_OFF: &str =
    "Connection URLs in queries are switched off on this server; use a configured database.";

/// Timeout of one call to an unknown server, statement included.
pub(super) const CALL_TIMEOUT: Duration = Duration::from_mins(1);

/// Connects to databases that are not configured.
#[derive(Clone, Copy, Debug)]
pub(super) struct AdHocConnections<'a> {
    databases: &'a Databases,
    identity: Option<&'a Identity>,
    client: Option<IpAddr>,
    rules: &'a UrlRules,
}

/// The callers that may connect by URL, and the hosts they may connect to.
#[derive(Clone, Debug)]
pub(super) struct UrlRules {
    pub(super) urls: ConnectionUrls,
    /// True if callers without authentication are on this machine.
    pub(super) is_local: bool,
    pub(super) attempts: PasswordAttempts,
}

/// Reason why a URL gives no connection. The message is for the caller.
#[derive(Debug, Error)]
enum UrlError {
    #[error(
        "connection URLs in queries are for users who have signed in, and without authentication \
         for clients on the same machine"
    )]
    NotLocal,
    #[error(transparent)]
    Denied(#[from] AdHocDenied),
    #[error(transparent)]
    Invalid(#[from] InvalidUrl),
    #[error(
        "{0} is no host and port that connection URLs may name on this server; its operator \
         decides which are"
    )]
    Host(Host),
    #[error(transparent)]
    Attempts(#[from] LoginError),
    /// All failed connections have the same message.
    #[error(
        "no connection could be made; check the host, port, user, password and database of the URL"
    )]
    NoConnection,
    #[error("no response within {CALL_TIMEOUT:?}")]
    Slow(#[from] Elapsed),
    #[error(transparent)]
    Statement(Box<Report>),
    #[error("the connection was lost")]
    Lost,
}

// === impl UrlRules ===

impl Default for UrlRules {
    fn default() -> Self {
        Self {
            urls: ConnectionUrls::default(),
            is_local: true,
            attempts: PasswordAttempts::default(),
        }
    }
}

// === impl AdHocConnections ===

impl<'a> AdHocConnections<'a> {
    pub(super) fn new(databases: &'a Databases, caller: &'a Caller, rules: &'a UrlRules) -> Self {
        Self {
            databases,
            identity: caller.extension::<Identity>(),
            client: caller.client_ip(),
            rules,
        }
    }

    /// Makes a database the default of the session, if it can be reached.
    pub(super) async fn set_default(&self, url: &str) -> Result<String, Reported> {
        let (shown, database) = self.described(url)?;
        let set = async {
            let database = database?;
            let connection = self.open(&database).await?;
            let tables = time::timeout(CALL_TIMEOUT, count(connection)).await??;
            self.databases.select_ad_hoc(self.identity, database)?;
            Ok::<_, UrlError>(tables)
        };
        match set.await {
            Ok(tables) => Ok(format!(
                "Successfully set default database connection to:\n{shown}\n\n\
                 Metadata loaded: {tables} tables/views available."
            )),
            Err(why) => Err(Reported::new(format!(
                "Failed to set default connection to {shown}: {why}"
            ))),
        }
    }

    /// Connects for one call.
    pub(super) async fn connect(
        &self,
        url: &str,
    ) -> Result<(Arc<Database>, AdHocConnection), Reported> {
        let (shown, database) = self.described(url)?;
        let connect = async {
            let database = database?;
            let connection = self.open(&database).await?;
            Ok::<_, UrlError>((database, connection))
        };
        let connected = connect.await;
        connected.map_err(|why| Reported::new(format!("Failed to connect to {shown}: {why}")))
    }

    /// Connects, logs the result, and counts a wrong password.
    async fn open(&self, database: &Arc<Database>) -> Result<AdHocConnection, UrlError> {
        let attempt = self.admit().await?;
        let settings = database.settings();
        let hosts = settings.all_hosts();
        let hosts: Vec<String> = hosts.iter().map(Host::to_string).collect();
        let (hosts, user, database_name) = (hosts.join(","), &*settings.user, &*settings.database);
        let connection = time::timeout(CALL_TIMEOUT, self.databases.connect_once(database)).await;
        let is_wrong = matches!(&connection, Ok(Err(error)) if is_about_the_password(error));
        if let Some(attempt) = attempt {
            // A right password clears nothing: a client may own a database that accepts it.
            let outcome = if is_wrong {
                Outcome::Failed
            } else {
                Outcome::Neither
            };
            attempt.settle(outcome).await;
        }
        let cause = match connection {
            Ok(Ok(connection)) => {
                info!(
                    hosts,
                    user,
                    database = database_name,
                    "connected by a URL in a query"
                );
                return Ok(connection);
            }
            Ok(Err(error)) => error.cause(),
            Err(slow) => UrlError::from(slow).to_string(),
        };
        warn!(
            hosts,
            user,
            database = database_name,
            cause,
            "no connection by a URL in a query"
        );
        Err(UrlError::NoConnection)
    }

    /// Admits a password attempt. Without a client address attempts are not counted, as at a login.
    async fn admit(&self) -> Result<Option<PasswordAttempt>, UrlError> {
        let Some(client) = self.client else {
            return Ok(None);
        };
        Ok(Some(self.rules.attempts.admit(client).await?))
    }

    /// Returns the URL as shown to the caller, and its database if the caller may use it.
    fn described(&self, url: &str) -> Result<(String, Result<Arc<Database>, UrlError>), Reported> {
        if self.rules.urls == ConnectionUrls::Off {
            return Err(Reported::new(SWITCHED_OFF));
        }
        let described = Database::from_url(url, &self.base());
        let shown = match &described {
            Ok(database) => database.name().to_owned(),
            // The URL is invalid, so the position of its password is unknown.
            Err(_) => "postgres://***".to_owned(),
        };
        let database = self.allowed().and_then(|()| {
            let database = described?;
            let hosts = database.settings().all_hosts();
            let configured = self.databases.visible(self.identity);
            match self.rules.urls.refused(&hosts, &configured) {
                Some(host) => Err(UrlError::Host(host.clone())),
                None => Ok(Arc::new(database)),
            }
        });
        Ok((shown, database))
    }

    fn allowed(&self) -> Result<(), UrlError> {
        if self.identity.is_none() && !self.rules.is_local {
            return Err(UrlError::NotLocal);
        }
        Ok(self.databases.may_connect_ad_hoc(self.identity)?)
    }

    /// Returns the limits and timeouts of the first configured database, but without streaming:
    /// such a connection is used for one call at a time.
    fn base(&self) -> Settings {
        let visible = self.databases.visible(self.identity);
        let base = visible.first().map(|first| first.database().settings());
        let base = base.cloned().unwrap_or_default();
        Settings {
            row_limit: base.row_limit.min(MAX_ROWS),
            ..base
        }
    }
}

/// Returns true if PostgreSQL refused the user or the password (class 28 of its errors).
fn is_about_the_password(error: &LeaseError) -> bool {
    let LeaseError::Connect { tried, .. } = error else {
        return false;
    };
    tried.iter().any(|tried| match &tried.cause {
        Cause::Report(report) => report.sqlstate.starts_with("28"),
        _ => false,
    })
}

async fn count(connection: AdHocConnection) -> Result<usize, UrlError> {
    let (lease, _permit) = connection.into_parts();
    match Metadata::load(lease).await {
        Ok(metadata) => Ok(metadata
            .tables()
            .filter(|table| !table.is_partition())
            .count()),
        Err(QueryError::Failed { report, .. }) => Err(UrlError::Statement(report)),
        Err(_) => Err(UrlError::Lost),
    }
}
