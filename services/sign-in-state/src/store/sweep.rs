//! Removes ended rows.

use std::time::Duration;

use tokio::time;
use tracing::warn;
use ziggurat_mcp_auth::Seconds;
use ziggurat_state::StoreError;

use crate::store::{SignInStore, columns::moment};

/// Interval between two sweeps.
const INTERVAL: Duration = Duration::from_hours(1);

/// Seconds of a day.
const DAY: Seconds = 86_400;

/// Rules for rows that have ended.
#[derive(Clone, Copy, Debug)]
pub struct SweepRules {
    /// Time after which an unused grant has ended.
    pub idle: Duration,
}

/// Removes 1,000 rows at most: `$1` is a week ago.
const ENDED: [&str; 7] = [
    "DELETE FROM oauth_grants WHERE id IN (SELECT id FROM oauth_grants \
     WHERE ended_at < $1 OR ends_at < $1 LIMIT 1000) RETURNING id",
    "DELETE FROM oauth_codes WHERE hash IN (SELECT hash FROM oauth_codes \
     WHERE ends_at < $1 LIMIT 1000) RETURNING hash",
    "DELETE FROM oauth_sessions WHERE hash IN (SELECT hash FROM oauth_sessions \
     WHERE ends_at < $1 LIMIT 1000) RETURNING hash",
    "DELETE FROM oauth_devices WHERE hash IN (SELECT hash FROM oauth_devices \
     WHERE ends_at < $1 LIMIT 1000) RETURNING hash",
    "DELETE FROM oauth_seen WHERE hash IN (SELECT hash FROM oauth_seen \
     WHERE ends_at < $1 LIMIT 1000) RETURNING hash",
    "DELETE FROM oauth_documents WHERE url IN (SELECT url FROM oauth_documents \
     WHERE fresh_until < $1 AND failed_at < $1 LIMIT 1000) RETURNING url",
    "DELETE FROM oauth_upstream_attempts WHERE state_hash IN (SELECT state_hash \
     FROM oauth_upstream_attempts WHERE ends_at < $1 LIMIT 1000) RETURNING state_hash",
];

/// Notes the end of grants at their clients before the rows go: `$1` is a week ago.
const NOTE_END: &str = "UPDATE oauth_clients SET used_at = $1 WHERE used_at < $1 AND id IN ( \
     SELECT client_id FROM oauth_grants WHERE ended_at < $1 OR ends_at < $1)";

/// Removes clients that registered themselves: without a grant after a day, which is `$1`, else 90
/// days after the last one ended, which are `$2`.
const CLIENTS: &str = "DELETE FROM oauth_clients WHERE id IN (SELECT c.id FROM oauth_clients c \
     WHERE c.kind = 'dynamic' AND c.used_at < CASE WHEN c.has_grants = 0 THEN $1 ELSE $2 END \
     AND NOT EXISTS (SELECT 1 FROM oauth_grants g WHERE g.client_id = c.id) \
     LIMIT 1000) RETURNING id";

// === impl SignInStore ===

impl SignInStore {
    /// Removes ended rows every hour. Never ends; drop the future to stop.
    pub async fn sweep(self, rules: SweepRules, now: impl Fn() -> Seconds) {
        loop {
            if let Err(error) = self.sweep_once(rules, now()).await {
                let error: &dyn std::error::Error = &error;
                warn!(error, "ended sign-ins could not be removed");
            }
            time::sleep(INTERVAL).await;
        }
    }

    /// Removes the rows that ended a week ago, in transactions of 1,000 rows at most.
    ///
    /// # Errors
    /// Fails if the store cannot be written.
    pub(crate) async fn sweep_once(
        &self,
        rules: SweepRules,
        now: Seconds,
    ) -> Result<(), StoreError> {
        let idle = now.saturating_sub(rules.idle.as_secs());
        let mut ended = self.tables.write().await?;
        ended
            .rows(
                "UPDATE oauth_grants SET ended_at = $2, why = 'idle' \
                 WHERE ended_at IS NULL AND used_at < $1 AND ends_at > $2",
                [moment(idle), moment(now)],
            )
            .await?;
        let week = now.saturating_sub(7 * DAY);
        ended.rows(NOTE_END, [moment(week)]).await?;
        ended.commit().await?;
        for statement in ENDED {
            self.remove(statement, [moment(week)]).await?;
        }
        let (day, quarter) = (now.saturating_sub(DAY), now.saturating_sub(90 * DAY));
        self.remove(CLIENTS, [moment(day), moment(quarter)]).await
    }

    /// Runs a statement until it removes nothing more.
    async fn remove<const N: usize>(
        &self,
        statement: &'static str,
        values: [ziggurat_state::Value; N],
    ) -> Result<(), StoreError> {
        loop {
            let mut writing = self.tables.write().await?;
            let removed = writing.rows(statement, values.clone()).await?;
            writing.commit().await?;
            if removed.is_empty() {
                return Ok(());
            }
        }
    }
}
