//! Opens sessions for names and passwords.

use std::{net::IpAddr, sync::Arc, time::Duration};

use jiff::{SignedDuration, Timestamp};
use rand::rngs::SysError;
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tokio::task::{JoinError, spawn_blocking};
use tracing::warn;
use ziggurat_layers::{
    bearer::TokenHash,
    rate_limit::{Key, Limited, Outcome, Permit as _, Policy as _},
};
use ziggurat_state::StoreError;

use super::{Accounts, Shared};
use crate::{
    file::Change,
    login_limiter::Turn,
    secret,
    tokens::whole_seconds,
    users::{UserRecord, Users},
};

pub(super) const SESSION: SignedDuration = SignedDuration::from_hours(24);

/// Longest wait of a login for its password check.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// `Retry-After` of a login that got no turn.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// A session that was opened.
#[derive(Debug)]
pub struct Session {
    /// The session token: returned once, stored only as a digest.
    pub token: SecretString,
    /// Expiry date.
    pub expires_at: Timestamp,
}

/// Reason why a login failed. The message is for the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// Too many attempts from this address have failed. The password was not checked.
    #[error("too many failed authentication attempts from this IP address, please try again later")]
    RateLimited {
        /// Time until the next attempt is allowed.
        retry_after: Duration,
    },
    /// Too many logins are waiting. The password was not checked.
    #[error("authentication failed: too many logins at the same time, please try again")]
    Busy {
        /// Time until a retry is useful.
        retry_after: Duration,
    },
    /// The user does not exist, or the password is wrong.
    #[error("authentication failed: invalid username or password")]
    Invalid,
    /// The account is disabled, whatever the password.
    #[error("authentication failed: user account is disabled")]
    Disabled,
    /// The server failed.
    #[error("authentication failed: the server could not open a session")]
    Internal(#[source] LoginFault),
    /// The database shared by the replicas is unreachable. The password may not have been checked.
    #[error("authentication failed: logins are unavailable at the moment, please try again later")]
    Unavailable {
        /// Time until a retry is useful.
        retry_after: Duration,
        /// Error of the database.
        source: StoreError,
    },
}

/// Server fault that prevented a session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginFault {
    /// The system has no random bytes.
    #[error("no random bytes for a token")]
    Random(#[from] SysError),
    /// The password check was aborted.
    #[error("the login was aborted")]
    Aborted(#[from] JoinError),
}

/// Result of a password check.
pub(super) enum Checked {
    /// The user does not exist.
    Nobody,
    /// The account is disabled, whatever the password.
    Disabled,
    /// The password is wrong.
    Wrong(UserRecord),
    /// The password is right.
    Right(UserRecord),
}

// === impl Accounts ===

impl Accounts {
    /// Opens a session for a user with the right password.
    ///
    /// An address with too many failures is refused at once. Otherwise one password is checked,
    /// which takes the same time whether the user exists or not. Without an address, failures are
    /// counted for the account only.
    ///
    /// # Errors
    /// Fails if no session was opened.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        client: Option<IpAddr>,
    ) -> Result<Session, LoginError> {
        let key = client.map(Key::from);
        match &self.shared.replicated {
            Some(together) => {
                self.log_in_replicated(together, username, password, key)
                    .await
            }
            None => self.log_in_alone(username, password, key).await,
        }
    }

    async fn log_in_alone(
        &self,
        username: &str,
        password: SecretString,
        key: Option<Key>,
    ) -> Result<Session, LoginError> {
        let failures = &self.shared.failures;
        if let Some(key) = key {
            // Checked before the wait, so that a flood from one address does not fill the queue.
            let _ = failures.admit(key)?;
        }
        let turn = self.turn(username).await?;
        // After the wait each attempt counts as a failure until it succeeds: so concurrent attempts
        // cannot exceed the limit, and waiting logins do not count.
        let strict = failures.clone().with_in_flight_counted();
        let attempt = key.map(|key| strict.admit(key)).transpose()?;

        let shared = Arc::clone(&self.shared);
        let username = username.to_owned();
        let checked = spawn_blocking(move || {
            let _turn = turn;
            shared.log_in(&username, &password)
        });
        let result = checked
            .await
            .unwrap_or_else(|error| Err(LoginFault::from(error).into()));
        if let Some(attempt) = attempt {
            let _ = attempt.settle(match &result {
                Ok(_) => Outcome::Succeeded,
                Err(LoginError::Invalid | LoginError::Disabled) => Outcome::Failed,
                Err(_) => Outcome::Neither,
            });
        }
        result
    }

    /// Waits a few seconds at most for a password check. Accounts that have logged in before go
    /// first; the response does not depend on that.
    pub(super) async fn turn(&self, username: &str) -> Result<Turn, LoginError> {
        let busy = |_| LoginError::Busy { retry_after: BUSY };
        let account = self.shared.known.load().has_logged_in(username);
        self.shared.gate.enter(account).await.map_err(busy)
    }
}

// === impl Shared ===

impl Shared {
    /// Checks a password and opens a session. Blocks for long.
    fn log_in(&self, username: &str, password: &SecretString) -> Result<Session, LoginError> {
        match self.check(username, password) {
            Checked::Nobody => Err(LoginError::Invalid),
            Checked::Disabled => Err(LoginError::Disabled),
            Checked::Right(user) => self.open_session(username, &user.password_hash),
            Checked::Wrong(_) => {
                self.count_failure(username);
                Err(LoginError::Invalid)
            }
        }
    }

    /// Checks a password. Blocks for long.
    pub(super) fn check(&self, username: &str, password: &SecretString) -> Checked {
        // The lock is not held during the password check.
        let user = self.state().users.table().find(username).cloned();
        let hash = user.as_ref().map(|user| &*user.password_hash);
        let is_right = self.passwords.is_right(password, hash);
        match user {
            None => Checked::Nobody,
            Some(user) if !user.is_enabled => Checked::Disabled,
            Some(user) if is_right => Checked::Right(user),
            Some(user) => Checked::Wrong(user),
        }
    }

    /// Records a login, unless the account has changed during the password check.
    pub(super) fn note_login(&self, username: &str, checked: &str) -> Result<(), LoginError> {
        let now = self.clock.now();
        let mut state = self.state();
        let admitted = state
            .users
            .change(|users| admit(users, username, checked, now));
        self.publish(state);
        admitted
    }

    fn open_session(&self, username: &str, checked: &str) -> Result<Session, LoginError> {
        let now = self.clock.now();
        let token = secret::new_token().map_err(LoginFault::from)?;
        let expires_at = whole_seconds(now + SESSION);
        let mut state = self.state();
        let admitted = state
            .users
            .change(|users| admit(users, username, checked, now));
        if admitted.is_ok() {
            let state = &mut *state;
            if let Some(user) = state.users.table().find(username) {
                let hash = TokenHash::of(token.expose_secret());
                state
                    .sessions
                    .open(hash, user, expires_at, self.max_sessions);
            }
        }
        // Also after a failure, because the file may contain other changes.
        self.publish(state);
        admitted.map(|()| Session { token, expires_at })
    }

    fn count_failure(&self, username: &str) {
        if self.max_failed_attempts == 0 {
            return;
        }
        let mut state = self.state();
        let limit = self.max_failed_attempts.into();
        let is_locked = state
            .users
            .change(|users| users.note_failure(username, limit));
        if is_locked {
            warn!(username, "account disabled after too many failed logins");
        }
        self.publish(state);
    }
}

/// Records a login if needed, unless the account has changed during the password check.
fn admit(
    users: &mut Users,
    username: &str,
    checked: &str,
    now: Timestamp,
) -> Change<Result<(), LoginError>> {
    match users.find(username) {
        Some(user) if !user.is_enabled => Change::Leave(Err(LoginError::Disabled)),
        Some(user) if user.password_hash == checked => {
            if users.note_success(username, now) {
                Change::Write(Ok(()))
            } else {
                Change::Leave(Ok(()))
            }
        }
        _ => Change::Leave(Err(LoginError::Invalid)),
    }
}

// === impl LoginError ===

impl From<Limited> for LoginError {
    fn from(limited: Limited) -> Self {
        let retry_after = limited.retry_after();
        Self::RateLimited { retry_after }
    }
}

impl From<LoginFault> for LoginError {
    fn from(fault: LoginFault) -> Self {
        Self::Internal(fault)
    }
}

impl From<StoreError> for LoginError {
    fn from(source: StoreError) -> Self {
        let retry_after = BUSY;
        Self::Unavailable {
            retry_after,
            source,
        }
    }
}
