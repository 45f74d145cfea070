//! Used tickets, which no replica accepts again.

use std::time::Duration;

use ziggurat_postgres::driver::query;

use crate::{StoreError, shared::Shared};

/// Number of expired tickets deleted with each new one, so that the table stays small.
const DELETED_PER_TICKET: i64 = 4;

// === impl Shared ===

impl Shared {
    /// Uses up a ticket that expires after `time`. Returns whether it was still unused: of all
    /// attempts at all replicas, only one succeeds.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn use_up(&self, ticket: [u8; 16], time: Duration) -> Result<bool, StoreError> {
        let query = query(
            "WITH dropped AS (DELETE FROM ziggurat.spent WHERE ticket IN ( \
             SELECT ticket FROM ziggurat.spent WHERE ends_at <= clock_timestamp() \
             ORDER BY ends_at LIMIT $3 FOR UPDATE SKIP LOCKED)) \
             INSERT INTO ziggurat.spent (ticket, ends_at) \
             VALUES ($1, clock_timestamp() + pg_catalog.make_interval(secs => $2)) \
             ON CONFLICT DO NOTHING",
        )
        .bind(&ticket[..])
        .bind(time.as_secs_f64())
        .bind(DELETED_PER_TICKET);
        Ok(self.state.execute(query).await? > 0)
    }
}
