//! Wrong passwords, counted over all processes that share the store.

use std::time::Duration;

use ziggurat_layers::rate_limit::{Outcome, Quota};

use crate::{AccountError, store::Store};

/// An attempt, counted as a failure until it is settled.
#[derive(Debug)]
#[must_use]
pub(crate) struct Attempt {
    of_whom: String,
}

// === impl Store ===

impl Store {
    /// Admits an attempt and counts it as a failure in one step, or returns the time to wait. No
    /// more attempts run at a time than may fail.
    pub(crate) async fn admit(
        &self,
        of_whom: String,
        quota: Quota,
    ) -> Result<Result<Attempt, Duration>, AccountError> {
        let now = self.now();
        let period = i64::try_from(quota.period().as_secs()).unwrap_or(i64::MAX);
        let mut session = self.tables.write().await?;
        let counted = session
            .row(
                "INSERT INTO platform_failures AS f (of_whom, failures, ends_at) \
                 VALUES ($1, 1, $3) ON CONFLICT (of_whom) DO UPDATE SET \
                 failures = CASE WHEN f.ends_at > $2 THEN f.failures + 1 ELSE 1 END, \
                 ends_at = CASE WHEN f.ends_at > $2 THEN f.ends_at ELSE excluded.ends_at END \
                 WHERE f.ends_at <= $2 OR f.failures < $4 RETURNING failures",
                [
                    of_whom.as_str().into(),
                    now.into(),
                    now.plus(period).into(),
                    i64::from(quota.count()).into(),
                ],
            )
            .await?;
        session.commit().await?;
        if counted.is_some() {
            return Ok(Ok(Attempt { of_whom }));
        }
        let statement = "SELECT ends_at - $2 FROM platform_failures WHERE of_whom = $1";
        let values = [of_whom.into(), now.into()];
        let row = self.tables.row(statement, values).await?;
        let wait: Option<i64> = row.map(|row| row.get(0)).transpose()?;
        // If the window has ended meanwhile, the next attempt is admitted.
        let wait = wait.and_then(|wait| wait.try_into().ok()).unwrap_or(1);
        Ok(Err(Duration::from_secs(wait)))
    }

    /// Counts the outcome. A success clears earlier failures; an attempt with neither outcome is
    /// not counted.
    pub(crate) async fn settle(
        &self,
        attempt: Attempt,
        outcome: Outcome,
    ) -> Result<(), AccountError> {
        let of_whom = attempt.of_whom.into();
        let mut session = self.tables.write().await?;
        match outcome {
            // It is counted already. A window that has ended makes room for the new one: a
            // single row, so that no two sessions wait for each other.
            Outcome::Failed => {
                let statement = "DELETE FROM platform_failures WHERE of_whom = (SELECT of_whom \
                     FROM platform_failures WHERE ends_at <= $1 ORDER BY ends_at LIMIT 1)";
                session.rows(statement, [self.now().into()]).await?
            }
            Outcome::Succeeded => {
                let statement = "DELETE FROM platform_failures WHERE of_whom = $1";
                session.rows(statement, [of_whom]).await?
            }
            Outcome::Neither => {
                let statement = "UPDATE platform_failures SET failures = failures - 1 \
                     WHERE of_whom = $1 AND failures > 0";
                session.rows(statement, [of_whom]).await?
            }
        };
        Ok(session.commit().await?)
    }
}
