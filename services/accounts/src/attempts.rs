//! Counts password attempts outside of logins, under the limit of logins.

use std::net::IpAddr;

use tracing::error;
use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy, Quota};
use ziggurat_state as store;

use super::{Accounts, LoginError, Settings, WallClock};

/// Counts wrong passwords by client address, in the same window as failed logins.
#[derive(Clone, Debug)]
pub struct PasswordAttempts {
    failures: FailureWindow<WallClock>,
    shared: Option<(store::Shared, Quota)>,
}

/// An attempt that counts as a failure until it is settled.
#[derive(Debug)]
#[must_use]
pub struct PasswordAttempt {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Local(<FailureWindow<WallClock> as Policy>::Permit),
    Shared(store::Shared, store::Attempt),
}

// === impl Accounts ===

impl Accounts {
    /// Returns a counter in the same window as failed logins.
    #[must_use]
    pub fn password_attempts(&self) -> PasswordAttempts {
        let shared = &self.shared;
        let together = shared.replicated.as_ref();
        PasswordAttempts {
            failures: shared.failures.clone().with_in_flight_counted(),
            shared: together.map(|together| (together.store().clone(), shared.quota)),
        }
    }
}

// === impl PasswordAttempts ===

impl PasswordAttempts {
    /// Admits an attempt of a client, unless too many of its passwords were wrong.
    ///
    /// # Errors
    /// Fails if the client has to wait, or the database shared by the replicas is unreachable.
    pub async fn admit(&self, client: IpAddr) -> Result<PasswordAttempt, LoginError> {
        let key = Key::from(client);
        let kind = match &self.shared {
            None => Kind::Local(self.failures.admit(key)?),
            Some((store, quota)) => match store.admit(key, *quota).await? {
                Ok(attempt) => Kind::Shared(store.clone(), attempt),
                Err(retry_after) => return Err(LoginError::RateLimited { retry_after }),
            },
        };
        Ok(PasswordAttempt { kind })
    }
}

impl Default for PasswordAttempts {
    /// Counts in this process only, for a server without accounts.
    fn default() -> Self {
        let settings = Settings::default();
        let failures = FailureWindow::new(settings.failed_logins).with_clock(settings.clock);
        Self {
            failures: failures.with_in_flight_counted(),
            shared: None,
        }
    }
}

// === impl PasswordAttempt ===

impl PasswordAttempt {
    /// Counts a wrong password. A right one does not clear earlier failures, because a client may
    /// own a database that accepts its password.
    pub async fn settle(self, is_wrong: bool) {
        match self.kind {
            Kind::Local(attempt) => {
                let _ = attempt.settle(if is_wrong {
                    Outcome::Failed
                } else {
                    Outcome::Neither
                });
            }
            Kind::Shared(store, attempt) => {
                let settled = if is_wrong {
                    store.attempt_failed(attempt).await
                } else {
                    store.attempt_withdrawn(attempt).await
                };
                if let Err(error) = settled {
                    let error: &dyn std::error::Error = &error;
                    error!(error, "an attempt was not counted as it should be");
                }
            }
        }
    }
}
