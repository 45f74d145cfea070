//! Checks regularly that the databases accept connections.

use futures_util::future;
use ziggurat_http::Readiness;
use ziggurat_postgres::pool::{Cause, LeaseError};

use crate::{Configured, Databases, old_versions};

/// Session key of the pools for these checks. Session keys of callers have no space.
const CHECK_SESSION: &str = "watching databases";

/// SQLSTATE of a server that has reached its connection limit.
const TOO_MANY_CONNECTIONS: &str = "53300";

impl Databases {
    /// Connects to each database every few seconds, and reports which of them accept connections.
    /// Never ends.
    ///
    /// The connections close at once, and count for no caller.
    pub async fn watch(self, readiness: Readiness) {
        loop {
            let list = self.shared.list.load_full();
            readiness.set_parts(list.iter().map(|configured| configured.database.name()));
            let checks = list
                .iter()
                .map(|configured| self.check_one(configured, &readiness));
            let round = async {
                future::join_all(checks).await;
                readiness.pause().await;
            };
            tokio::select! {
                () = round => {}
                () = self.shared.replaced.notified() => {}
            }
        }
    }

    async fn check_one(&self, configured: &Configured, readiness: &Readiness) {
        let database = &configured.database;
        let pool = self.shared.pools.pool(CHECK_SESSION, database);
        match pool.side_connection().await {
            Err(error) if !is_full(&error) => readiness.note(database.name(), Err(&error)),
            Err(_) => readiness.note(database.name(), Ok(())),
            Ok(client) => {
                readiness.note(database.name(), Ok(()));
                old_versions::warn_of(configured, client).await;
            }
        }
    }
}

/// Returns whether PostgreSQL has reached its connection limit: it still serves its open
/// connections.
fn is_full(error: &LeaseError) -> bool {
    let LeaseError::Connect { tried, .. } = error else {
        return false;
    };
    tried.iter().any(|host| match &host.cause {
        Cause::Report(report) => report.sqlstate == TOO_MANY_CONNECTIONS,
        _ => false,
    })
}
