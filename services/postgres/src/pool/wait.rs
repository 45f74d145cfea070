//! Limits the whole time a caller waits for a connection.

use std::time::Duration;

use tokio::time::Instant;

use crate::database::Database;

/// Time to get a connection in addition to the time limit of the statement.
const CONNECT_ALLOWANCE: Duration = Duration::from_secs(2);

/// Minimum time for connecting, even after a long wait.
const MIN_CONNECT_TIME: Duration = Duration::from_secs(1);

/// Wait of one caller for a connection: for a permit from its own limit, for a permit from the
/// limit of all callers, and for PostgreSQL.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Time of its start.
    pub(super) since: Instant,
    until: Instant,
}

// === impl Wait ===

impl Wait {
    pub(super) fn begin(database: &Database) -> Self {
        let settings = database.settings();
        let longest = settings.lease_timeout.max(settings.connect_timeout);
        let limit = match database.query_timeout() {
            Some(timeout) => longest.min(timeout + CONNECT_ALLOWANCE),
            None => longest,
        };
        let since = Instant::now();
        Self {
            since,
            until: since + limit,
        }
    }

    /// Returns `limit`, or the rest of the wait if that is less.
    pub(super) fn at_most(self, limit: Duration) -> Duration {
        limit.min(self.until.saturating_duration_since(Instant::now()))
    }

    /// Returns the deadline for connecting.
    pub(super) fn end_of_connecting(self) -> Instant {
        self.until.max(Instant::now() + MIN_CONNECT_TIME)
    }

    /// Returns its length so far, in tenths of a second, for messages.
    pub(super) fn taken(self) -> Duration {
        let tenths = (self.since.elapsed().as_secs_f64() * 10.0).round();
        Duration::from_secs_f64(tenths / 10.0)
    }
}
