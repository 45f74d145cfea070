//! Names and passwords become sessions.

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

/// Longest wait of a login for its turn.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// When a login that found no room is worth another try.
pub(super) const BUSY: Duration = Duration::from_secs(5);

/// A session that was opened.
#[derive(Debug)]
pub struct Session {
    /// The token that proves it: given out once, kept nowhere.
    pub token: SecretString,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// Why nobody was logged in. The words are for the client.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginError {
    /// Too many attempts from this address have failed. The password was not looked at.
    #[error("too many failed authentication attempts from this IP address, please try again later")]
    RateLimited {
        /// When another attempt will be looked at.
        retry_after: Duration,
    },
    /// Too many logins are waiting. The password was not looked at.
    #[error("authentication failed: too many logins at the same time, please try again")]
    Busy {
        /// When another attempt is worth it.
        retry_after: Duration,
    },
    /// There is no such user, or the password is another.
    #[error("authentication failed: invalid username or password")]
    Invalid,
    /// The account is disabled, whatever the password.
    #[error("authentication failed: user account is disabled")]
    Disabled,
    /// The server could not do it.
    #[error("authentication failed: the server could not open a session")]
    Internal(#[source] LoginFault),
    /// What replicas know together cannot be reached. The password may not have been looked at.
    #[error("authentication failed: nobody can log in at the moment, please try again later")]
    Unavailable {
        /// When another attempt is worth it.
        retry_after: Duration,
        /// What went wrong.
        source: StoreError,
    },
}

/// What kept the server from opening a session.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LoginFault {
    /// The system has no random bytes.
    #[error("no random bytes for a token")]
    Random(#[from] SysError),
    /// The check of the password did not come to its end.
    #[error("the login was aborted")]
    Aborted(#[from] JoinError),
}

/// What came of the check of a password.
pub(super) enum Checked {
    /// There is no such user.
    Nobody,
    /// The account is disabled, whatever the password.
    Disabled,
    /// The password is another.
    Wrong(UserRecord),
    /// It is the password of this user.
    Right(UserRecord),
}

// === impl Accounts ===

impl Accounts {
    /// Opens a session for whoever knows the password.
    ///
    /// An address that has failed too often is turned away at once. For everybody else one
    /// password is checked, in the time it takes for one that is right, whether there is such a
    /// user or not. Without an address nothing is counted, except for the account.
    ///
    /// # Errors
    /// When no session was opened.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        client: Option<IpAddr>,
    ) -> Result<Session, LoginError> {
        let key = client.map(Key::from);
        match &self.shared.together {
            Some(together) => {
                self.log_in_together(together, username, password, key)
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
            // Before the wait: a flood from one address must not fill the room.
            let _ = failures.admit(key)?;
        }
        let turn = self.turn(username).await?;
        // Behind the wait each attempt counts until it succeeds, so that no more are made at
        // once than may fail, and those who merely wait do not look like guessers.
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

    /// Waits for the turn to have a password checked, for a few seconds at most. Accounts that
    /// have logged in before go first; what a client is told does not depend on that.
    pub(super) async fn turn(&self, username: &str) -> Result<Turn, LoginError> {
        let busy = |_| LoginError::Busy { retry_after: BUSY };
        let account = self.shared.known.load().has_logged_in(username);
        self.shared.gate.enter(account).await.map_err(busy)
    }
}

// === impl Shared ===

impl Shared {
    /// Checks a password and does what follows from it. Takes its time.
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

    /// Checks a password. Takes its time.
    pub(super) fn check(&self, username: &str, password: &SecretString) -> Checked {
        // Not held while the password is checked.
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

    /// Writes down a login, unless the account has changed while the password was checked.
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
        // Even if not: the file may have held other news.
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

/// Writes down a login that is news, unless the account has changed while the password was
/// checked.
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
