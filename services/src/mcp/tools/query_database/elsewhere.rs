//! Databases that are not configured: a caller brings a URL along.
//!
//! What the caller did not bring it does not get: no password of the server's, no password file,
//! no environment, and no write.

use std::{sync::Arc, time::Duration};

use tokio::time;

use crate::{
    accounts::Identity,
    databases::{Databases, Visit},
    mcp::Reported,
    pg::{
        database::{Database, MAX_ROWS, Settings},
        error::QueryError,
        metadata::Metadata,
    },
};

/// What is said where an operator wants none of it.
const SWITCHED_OFF: &str =
    "Connection URLs in queries are switched off on this server; use a configured database.";

/// How long a server nobody here knows may take for one call, its statement included.
pub(super) const PATIENCE: Duration = Duration::from_mins(1);

/// The way to databases that are not configured.
#[derive(Clone, Copy, Debug)]
pub(super) struct Elsewhere<'a> {
    pub(super) databases: &'a Databases,
    pub(super) identity: Option<&'a Identity>,
    pub(super) is_on: bool,
}

// === impl Elsewhere ===

impl Elsewhere<'_> {
    /// Makes a database the default of the session, if it answers.
    pub(super) async fn set_default(&self, url: &str) -> Result<String, Reported> {
        let (shown, database) = self.described(url)?;
        let set = async {
            let database = database?;
            let tables = self.count(&database).await?;
            self.databases
                .bring(self.identity, database)
                .map_err(|error| error.to_string())?;
            Ok(tables)
        };
        match in_time(set).await {
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
    pub(super) async fn connect(&self, url: &str) -> Result<(Arc<Database>, Visit), Reported> {
        let (shown, database) = self.described(url)?;
        let connect = async {
            let database = database?;
            let visit = self.databases.visit(&database).await;
            visit
                .map(|visit| (database, visit))
                .map_err(|error| error.cause())
        };
        in_time(connect)
            .await
            .map_err(|why| Reported::new(format!("Failed to connect to {shown}: {why}")))
    }

    /// How a URL is shown, and its database if the caller may use one.
    fn described(&self, url: &str) -> Result<(String, Result<Arc<Database>, String>), Reported> {
        if !self.is_on {
            return Err(Reported::new(SWITCHED_OFF));
        }
        let described = Database::from_url(url, &self.base());
        let shown = match &described {
            Ok(database) => database.name().to_owned(),
            // Where its password is cannot be told.
            Err(_) => "postgres://***".to_owned(),
        };
        let allowed = self.databases.may_leave(self.identity);
        let database = match (allowed, described) {
            (Err(confined), _) => Err(confined.to_string()),
            (_, Err(invalid)) => Err(invalid.to_string()),
            (Ok(()), Ok(database)) => Ok(Arc::new(database)),
        };
        Ok((shown, database))
    }

    /// The limits and times of the first database of the configuration, but nothing so large
    /// that it would be streamed: what is not configured is used for one call at a time.
    fn base(&self) -> Settings {
        let visible = self.databases.visible(self.identity);
        let base = visible.first().map(|first| first.database().settings());
        let base = base.cloned().unwrap_or_default();
        Settings {
            row_limit: base.row_limit.min(MAX_ROWS),
            ..base
        }
    }

    async fn count(&self, database: &Arc<Database>) -> Result<usize, String> {
        let visit = self.databases.visit(database).await;
        let (lease, _room) = visit.map_err(|error| error.cause())?.into_parts();
        match Metadata::load(lease).await {
            Ok(metadata) => Ok(metadata
                .tables()
                .filter(|table| !table.is_partition())
                .count()),
            Err(QueryError::Failed { report, .. }) => Err(report.to_string()),
            Err(_) => Err("the connection was lost".to_owned()),
        }
    }
}

async fn in_time<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    match time::timeout(PATIENCE, work).await {
        Ok(done) => done,
        Err(_) => Err(format!("no answer within {PATIENCE:?}")),
    }
}
