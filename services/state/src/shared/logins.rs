//! Failed logins, by address and by account.

use std::time::Duration;

use jiff::Timestamp;
use ziggurat_layers::rate_limit::{Key, Quota};
use ziggurat_postgres::driver::query;

use crate::{StoreError, conversation::storable, shared::Shared};

/// Number of expired windows deleted at each failure, so that no request waits for a full sweep.
const DELETED_PER_FAILURE: i64 = 4;

/// A login in progress, counted as a failure until it succeeds.
#[derive(Debug)]
#[must_use]
pub struct Attempt {
    address: String,
}

// === impl Shared ===

impl Shared {
    /// Returns the time an address has to wait after too many failures.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn wait_of(&self, key: Key, quota: Quota) -> Result<Option<Duration>, StoreError> {
        let query = query(
            "SELECT pg_catalog.date_part('epoch', ends_at - clock_timestamp())::float8 \
             FROM ziggurat.failed_logins \
             WHERE address = $1 AND ends_at > clock_timestamp() AND failures >= $2",
        )
        .bind(key.to_string())
        .bind(i64::from(quota.count()));
        let wait: Option<f64> = self.state.value(query).await?;
        Ok(wait.map(|seconds| Duration::try_from_secs_f64(seconds).unwrap_or_default()))
    }

    /// Admits an attempt and counts it as a failure in one step, or returns the time the address
    /// has to wait. Over all replicas, no more attempts run at a time than may fail.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn admit(
        &self,
        key: Key,
        quota: Quota,
    ) -> Result<Result<Attempt, Duration>, StoreError> {
        let address = key.to_string();
        let query = query(
            "INSERT INTO ziggurat.failed_logins AS f (address, failures, ends_at) \
             VALUES ($1, 1, clock_timestamp() + pg_catalog.make_interval(secs => $2)) \
             ON CONFLICT (address) DO UPDATE SET \
             failures = CASE WHEN f.ends_at > clock_timestamp() THEN f.failures + 1 ELSE 1 END, \
             ends_at = CASE WHEN f.ends_at > clock_timestamp() THEN f.ends_at \
             ELSE excluded.ends_at END \
             WHERE f.ends_at <= clock_timestamp() OR f.failures < $3 RETURNING failures",
        )
        .bind(&address)
        .bind(quota.period().as_secs_f64())
        .bind(i64::from(quota.count()));
        let counted: Option<i64> = self.state.value(query).await?;
        if counted.is_some() {
            return Ok(Ok(Attempt { address }));
        }
        // If the window has ended meanwhile, the next attempt is admitted.
        let wait = self.wait_of(key, quota).await?;
        Ok(Err(wait.unwrap_or(Duration::from_secs(1))))
    }

    /// Keeps the failure of an attempt, which was counted at admission, and deletes expired
    /// windows.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn attempt_failed(&self, _: Attempt) -> Result<(), StoreError> {
        let query = query(
            "DELETE FROM ziggurat.failed_logins WHERE address IN ( \
             SELECT address FROM ziggurat.failed_logins WHERE ends_at <= clock_timestamp() \
             ORDER BY ends_at LIMIT $1 FOR UPDATE SKIP LOCKED)",
        )
        .bind(DELETED_PER_FAILURE);
        self.state.execute(query).await.map(drop)
    }

    /// Forgets the failures of an address after a successful login.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn attempt_succeeded(&self, attempt: Attempt) -> Result<(), StoreError> {
        let query =
            query("DELETE FROM ziggurat.failed_logins WHERE address = $1").bind(attempt.address);
        self.state.execute(query).await.map(drop)
    }

    /// Subtracts an attempt that failed for a reason its client did not cause.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn attempt_withdrawn(&self, attempt: Attempt) -> Result<(), StoreError> {
        let query = query(
            "UPDATE ziggurat.failed_logins SET failures = failures - 1 \
             WHERE address = $1 AND failures > 0",
        )
        .bind(attempt.address);
        self.state.execute(query).await.map(drop)
    }

    /// Counts a failed login to an account, and locks the account at the limit. Returns whether
    /// this failure locked it.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn account_failed(
        &self,
        user: &str,
        account_made: Option<Timestamp>,
        limit: u32,
    ) -> Result<bool, StoreError> {
        let query = query(
            "INSERT INTO ziggurat.failed_accounts AS f (username, account_made, failures, \
             is_locked) VALUES ($1, $2, 1, 1 >= $3) ON CONFLICT (username) DO UPDATE SET \
             failures = CASE WHEN f.account_made IS NOT DISTINCT FROM $2 \
             THEN f.failures + 1 ELSE 1 END, \
             is_locked = CASE WHEN f.account_made IS NOT DISTINCT FROM $2 \
             THEN f.failures + 1 >= $3 ELSE 1 >= $3 END, \
             account_made = $2 \
             WHERE NOT (f.is_locked AND f.account_made IS NOT DISTINCT FROM $2) \
             RETURNING is_locked",
        )
        .bind(storable(user.to_owned()))
        .bind(account_made.map(Timestamp::as_second))
        .bind(i64::from(limit));
        let is_locked = self.state.value(query).await?;
        Ok(is_locked.unwrap_or(false))
    }

    /// Returns whether an account is locked.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn is_locked(
        &self,
        user: &str,
        account_made: Option<Timestamp>,
    ) -> Result<bool, StoreError> {
        let query = query(
            "SELECT is_locked FROM ziggurat.failed_accounts \
             WHERE username = $1 AND account_made IS NOT DISTINCT FROM $2",
        )
        .bind(storable(user.to_owned()))
        .bind(account_made.map(Timestamp::as_second));
        let is_locked = self.state.value(query).await?;
        Ok(is_locked.unwrap_or(false))
    }

    /// Forgets the failures of an account after a login. A locked account stays locked.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn account_succeeded(&self, user: &str) -> Result<(), StoreError> {
        let query =
            query("DELETE FROM ziggurat.failed_accounts WHERE username = $1 AND NOT is_locked")
                .bind(storable(user.to_owned()));
        self.state.execute(query).await.map(drop)
    }

    /// Unlocks an account and forgets its failures.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn unlock(&self, user: &str) -> Result<(), StoreError> {
        let query = query("DELETE FROM ziggurat.failed_accounts WHERE username = $1")
            .bind(storable(user.to_owned()));
        self.state.execute(query).await.map(drop)
    }

    /// Lists the locked accounts: their names and creation times.
    ///
    /// # Errors
    /// Fails if the database cannot run the statement.
    pub async fn locked(&self) -> Result<Vec<(String, Option<Timestamp>)>, StoreError> {
        let query =
            query("SELECT username, account_made FROM ziggurat.failed_accounts WHERE is_locked");
        let rows = self.state.rows(query).await?;
        let made = |seconds: Option<i64>| Timestamp::from_second(seconds?).ok();
        rows.iter()
            .map(|row| Ok((row.get(0)?, made(row.get(1)?))))
            .collect()
    }
}
