//! What was used up, and is good for nothing at any replica.

use std::time::Duration;

pub(super) use ziggurat_postgres::driver::query;

use super::Shared;
use crate::{StoreError, postgres::within};

/// How many of those that have ended are dropped for each that comes, so that there are never
/// many of them.
const DROPPED: i64 = 4;

// === impl Shared ===

impl Shared {
    /// Uses up a ticket that nobody takes any more after this time. Says whether it was still
    /// good: of all who try at all replicas, that is one.
    ///
    /// # Errors
    /// When the database did not say.
    pub async fn spend(&self, ticket: [u8; 16], time: Duration) -> Result<bool, StoreError> {
        let mut lease = self.state.front_lease().await?;
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
        .bind(DROPPED);
        let done = within(query.execute(lease.begin())).await?;
        lease.settle();
        Ok(done > 0)
    }
}
