//! Wrong passwords, counted by client address.

use tracing::error;
use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy, Quota};
use ziggurat_state::{self as store, StoreError};
use ziggurat_tokens::WallClock;

use crate::{Accounts, LoginError, Settings};

/// Limits wrong passwords by client address; logins and connection URLs count together.
///
/// Not a [`RateLimitLayer`](ziggurat_layers::rate_limit::RateLimitLayer), because a login is a part
/// of a body: one request may contain several, and other calls of a limited address are answered.
#[derive(Clone, Debug)]
pub enum PasswordAttempts {
    /// Counted by this process.
    Local(FailureWindow<WallClock>),
    /// Counted by the database that replicas share.
    Replicated(store::Shared, Quota),
}

/// An attempt that counts as a failure until it is settled.
#[derive(Debug)]
#[must_use]
pub enum PasswordAttempt {
    /// Counted by this process.
    Local(<FailureWindow<WallClock> as Policy>::Permit),
    /// Counted by the database that replicas share.
    Replicated(store::Shared, store::Attempt),
}

// === impl Accounts ===

impl Accounts {
    /// Returns the counter of failed logins.
    #[must_use]
    pub fn password_attempts(&self) -> PasswordAttempts {
        self.shared.attempts.clone()
    }
}

// === impl PasswordAttempts ===

impl PasswordAttempts {
    pub(super) fn new(settings: &Settings) -> Self {
        let quota = settings.failed_logins;
        match &settings.shared {
            Some(store) => Self::Replicated(store.clone(), quota),
            None => Self::local(quota, settings.clock.clone()),
        }
    }

    fn local(quota: Quota, clock: WallClock) -> Self {
        Self::Local(
            FailureWindow::new(quota)
                .with_forgiveness()
                .with_clock(clock),
        )
    }

    /// Returns a counter with another quota in the same place.
    pub(super) fn beside(&self, quota: Quota, clock: WallClock) -> Self {
        match self {
            Self::Local(_) => Self::local(quota, clock),
            Self::Replicated(store, _) => Self::Replicated(store.clone(), quota),
        }
    }

    /// Refuses a client after too many wrong passwords. Counts nothing.
    pub(super) async fn check(&self, client: Key) -> Result<(), LoginError> {
        match self {
            Self::Local(failures) => {
                let _ = failures.admit(client, failures.limit())?;
                Ok(())
            }
            Self::Replicated(store, quota) => match store.wait_of(client, *quota).await? {
                Some(retry_after) => Err(LoginError::RateLimited { retry_after }),
                None => Ok(()),
            },
        }
    }

    /// Admits an attempt of a client, unless too many of its passwords were wrong.
    ///
    /// The attempt counts as a failure until it is settled, so that concurrent attempts cannot
    /// exceed the limit.
    ///
    /// # Errors
    /// Fails if the client has to wait, or the database shared by the replicas is unreachable.
    pub async fn admit(&self, client: impl Into<Key>) -> Result<PasswordAttempt, LoginError> {
        let client = client.into();
        match self {
            Self::Local(failures) => {
                let strict = failures.clone().with_in_flight_counted();
                Ok(PasswordAttempt::Local(
                    strict.admit(client, strict.limit())?,
                ))
            }
            Self::Replicated(store, quota) => match store.admit(client, *quota).await? {
                Ok(attempt) => Ok(PasswordAttempt::Replicated(store.clone(), attempt)),
                Err(retry_after) => Err(LoginError::RateLimited { retry_after }),
            },
        }
    }
}

impl Default for PasswordAttempts {
    /// Counts in this process only, for a server without accounts.
    fn default() -> Self {
        Self::new(&Settings::default())
    }
}

// === impl PasswordAttempt ===

impl PasswordAttempt {
    /// Counts the outcome. A success clears earlier failures; an attempt with neither outcome is
    /// not counted.
    pub async fn settle(self, outcome: Outcome) {
        match self {
            Self::Local(attempt) => {
                let _ = attempt.settle(outcome);
            }
            Self::Replicated(store, attempt) => log_error(match outcome {
                Outcome::Failed => store.attempt_failed(attempt).await,
                Outcome::Succeeded => store.attempt_succeeded(attempt).await,
                Outcome::Neither => store.attempt_withdrawn(attempt).await,
            }),
        }
    }
}

/// Only logs the error, because the attempt has been answered already.
pub(super) fn log_error(counted: Result<(), StoreError>) {
    if let Err(error) = counted {
        let error: &dyn std::error::Error = &error;
        error!(error, "an attempt was not counted as it should be");
    }
}
