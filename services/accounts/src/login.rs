//! Opens sessions for names and passwords.

use std::{net::IpAddr, sync::Arc, time::Duration};

use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::spawn_blocking;
use tracing::warn;
use ziggurat_layers::{
    bearer::TokenHash,
    rate_limit::{Key, Limited, Outcome},
};
use ziggurat_passwords::Slot;
use ziggurat_runtime::lock;
use ziggurat_tokens::{file::Change, secret};

use crate::{
    Accounts, PasswordAttempt, Shared, State,
    browser_sign_in::outcome_of,
    login_error::{BUSY, LoginError, LoginFault},
    person::PersonId,
    sessions::LocalSessions,
    users::{UserRecord, Users},
};

/// Longest wait of a login for its password check.
pub(super) const MAX_WAIT: Duration = Duration::from_secs(5);

/// A session that was opened.
#[derive(Debug)]
pub struct Session {
    /// The session token: returned once, stored only as a digest.
    pub token: SecretString,
    /// Expiry date.
    pub expires_at: Timestamp,
}

/// Result of a password check.
enum Checked {
    /// The user does not exist, or is disabled and the password is wrong.
    Unknown,
    /// The password is right, and the account is disabled.
    Disabled,
    /// The password is wrong.
    Wrong(UserRecord),
    /// The password is right.
    Right(UserRecord),
}

// === impl Accounts ===

impl Accounts {
    /// Opens a session for a user with the right password, after the check of
    /// [`authenticate`](Self::authenticate).
    ///
    /// # Errors
    /// Fails if no session was opened.
    pub async fn login(
        &self,
        username: &str,
        password: SecretString,
        client: Option<IpAddr>,
    ) -> Result<Session, LoginError> {
        let shared = &self.shared;
        let open = async |user: UserRecord| {
            if let Some(rules) = shared.browser_sign_in.get() {
                rules.check(PersonId::of(&user)).await?;
            }
            let token = secret::new_token().map_err(LoginFault::from)?;
            let hash = TokenHash::of(token.expose_secret());
            let expires_at = shared.sessions.open(shared, hash, user).await?;
            Ok(Session { token, expires_at })
        };
        self.attempt(username, password, client, open).await
    }

    /// Checks the password of a user, and returns who it is. Opens no session.
    ///
    /// An address with too many failures is refused at once. Otherwise one password is checked,
    /// which takes the same time whether the user exists or not. Without an address, failures are
    /// counted for the account only. All entrances share this check: a failure at one counts at
    /// all, and so does a success.
    ///
    /// # Errors
    /// Fails if the user may not log in.
    pub async fn authenticate(
        &self,
        username: &str,
        password: SecretString,
        client: Option<IpAddr>,
    ) -> Result<PersonId, LoginError> {
        let shared = &self.shared;
        let admit = async |user| shared.sessions.admit(shared, user).await;
        self.attempt(username, password, client, admit).await
    }

    /// Checks a password, and completes the login if it is right.
    pub(super) async fn attempt<T>(
        &self,
        username: &str,
        password: SecretString,
        client: Option<IpAddr>,
        complete: impl AsyncFnOnce(UserRecord) -> Result<T, LoginError>,
    ) -> Result<T, LoginError> {
        let (attempts, client) = (&self.shared.attempts, client.map(Key::from));
        if let Some(client) = client {
            // Checked before the wait, so that a flood from one address does not fill the queue.
            attempts.check(client).await?;
        }
        let slot = self.slot(username).await?;
        // Admitted after the wait, so that waiting logins do not count.
        let admitted = self.admit_attempt(client, username).await?;
        let shared = Arc::clone(&self.shared);
        let username = username.to_owned();
        let checked = spawn_blocking(move || {
            let _slot = slot;
            shared.check(&username, &password)
        });
        let result = match checked.await {
            Ok(checked) => match self.admitted(checked).await {
                Ok(user) => complete(user).await,
                Err(error) => Err(error),
            },
            Err(error) => Err(LoginFault::from(error).into()),
        };
        settle(admitted, outcome_of(&result)).await;
        result
    }

    /// Admits an attempt of an address, and for an account where browsers sign in too.
    async fn admit_attempt(
        &self,
        client: Option<Key>,
        username: &str,
    ) -> Result<[Option<PasswordAttempt>; 2], LoginError> {
        let of_address = match client {
            Some(client) => Some(self.shared.attempts.admit(client).await?),
            None => None,
        };
        let Some(rules) = self.shared.browser_sign_in.get() else {
            return Ok([of_address, None]);
        };
        match rules.admit(username).await {
            Ok(of_account) => Ok([of_address, Some(of_account)]),
            Err(error) => {
                settle([of_address], Outcome::Neither).await;
                Err(error)
            }
        }
    }

    /// Opens a session with the rights of an API token, which it does not outlive. Guesses are not
    /// counted: a token is as hard to guess as its digest.
    ///
    /// # Errors
    /// Fails if no session was opened.
    pub async fn exchange(&self, api_token: &SecretString) -> Result<Session, LoginError> {
        let api_token = TokenHash::of(api_token.expose_secret());
        let identity = self.shared.tokens.find(api_token);
        let identity = identity.ok_or(LoginError::UnknownToken)?;
        let token = secret::new_token().map_err(LoginFault::from)?;
        let hash = TokenHash::of(token.expose_secret());
        let sessions = &self.shared.sessions;
        let expires_at = sessions
            .open_for_token(&self.shared, hash, &identity)
            .await?;
        Ok(Session { token, expires_at })
    }

    /// Ends a session, for all replicas, and its grant. Without effect on other tokens.
    ///
    /// # Errors
    /// Fails if the session could not be ended.
    pub async fn log_out(&self, session: TokenHash) -> Result<(), LoginError> {
        let grant = self.shared.sessions.end(&self.shared, session).await?;
        if let (Some(grant), Some(rules)) = (grant, self.shared.browser_sign_in.get()) {
            rules.signed_out(grant);
        }
        Ok(())
    }

    /// Waits a few seconds at most for a password check. Accounts that have logged in before go
    /// first; the response does not depend on that.
    pub(super) async fn slot(&self, username: &str) -> Result<Slot, LoginError> {
        let busy = |_| LoginError::Busy { retry_after: BUSY };
        let account = self.shared.known.load().has_logged_in(username);
        self.shared.limiter.enter(account).await.map_err(busy)
    }

    /// Returns the user of a right password who may log in, and counts a wrong one.
    async fn admitted(&self, checked: Checked) -> Result<UserRecord, LoginError> {
        let (user, is_right) = match checked {
            Checked::Unknown => return Err(LoginError::Invalid),
            Checked::Disabled => return Err(LoginError::Disabled),
            Checked::Wrong(user) => (user, false),
            Checked::Right(user) => (user, true),
        };
        let sessions = &self.shared.sessions;
        let is_locked = sessions.is_locked(&user).await?;
        if is_locked && is_right {
            return Err(LoginError::Disabled);
        }
        if is_locked {
            return Err(LoginError::Invalid);
        }
        if !is_right {
            sessions.count_failure(&self.shared, user).await?;
            return Err(LoginError::Invalid);
        }
        Ok(user)
    }
}

// === impl Shared ===

impl Shared {
    /// Checks a password. Blocks for long.
    fn check(&self, username: &str, password: &SecretString) -> Checked {
        // The lock is not held during the password check.
        let user = lock(&self.state).users.table().find(username).cloned();
        let hash = user.as_ref().map(|user| &*user.password_hash);
        let is_right = self.passwords.is_right(password, hash);
        match user {
            None => Checked::Unknown,
            // Who cannot log in learns no state of an account.
            Some(user) if !user.is_enabled && !is_right => Checked::Unknown,
            Some(user) if !user.is_enabled => Checked::Disabled,
            Some(user) if is_right => Checked::Right(user),
            Some(user) => Checked::Wrong(user),
        }
    }

    /// Records a login, unless the account has changed during the password check. `open` gets the
    /// current record of the user.
    pub(super) fn record_login(
        &self,
        checked: &UserRecord,
        open: impl FnOnce(&mut LocalSessions, &UserRecord),
    ) -> Result<(), LoginError> {
        let now = self.clock.now();
        let mut state = lock(&self.state);
        let admitted = state.users.change(|users| admit(users, checked, now));
        let State { users, sessions } = &mut *state;
        if admitted.is_ok()
            && let Some(user) = users.table().find(&checked.name)
        {
            open(sessions, user);
        }
        // Also after a failure, because the file may contain other changes.
        self.publish(state);
        admitted
    }

    /// Counts a wrong password in the user file, and disables the account at the limit.
    pub(super) fn count_failure(&self, username: &str, limit: u32) {
        let mut state = lock(&self.state);
        let is_locked = state
            .users
            .change(|users| users.note_failure(username, limit.into()));
        if is_locked {
            warn!(username, "account disabled after too many failed logins");
        }
        self.publish(state);
    }
}

/// Counts the outcome of attempts.
async fn settle<const N: usize>(attempts: [Option<PasswordAttempt>; N], outcome: Outcome) {
    for attempt in attempts.into_iter().flatten() {
        attempt.settle(outcome).await;
    }
}

/// Records a login if needed, unless the account has changed during the password check.
fn admit(
    users: &mut Users,
    checked: &UserRecord,
    now: Timestamp,
) -> Change<Result<(), LoginError>> {
    match users.find(&checked.name) {
        Some(user) if !user.is_enabled => Change::Leave(Err(LoginError::Disabled)),
        Some(user) if user.password_hash == checked.password_hash => {
            if users.note_success(&checked.name, now) {
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
