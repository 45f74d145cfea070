//! Sessions shared by several replicas.
//!
//! The sessions are in a database that every replica queries for every request: a session that one
//! replica ends is invalid on all, and so is its selected database shared. Results are cached for
//! the time in which the database is unreachable.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use secrecy::{ExposeSecret as _, SecretString};
use tokio::task::spawn_blocking;
use tracing::{error, warn};
use ziggurat_layers::{
    bearer::{Denied, TokenHash},
    rate_limit::{Clock, Key},
};
use ziggurat_state::{
    self as store, Answer, Attempt, LookUp, NewSession, SharedSession, StoreError,
};

use super::{
    Accounts, Identity, LoginError, LoginFault, Session, Shared,
    login::{Checked, SESSION},
    token_index::TokenIndex,
};
use crate::secret;

/// Time for which a cached session is valid while the database is unreachable.
const GRACE: Duration = Duration::from_mins(5);

/// Limit on cached sessions. Beyond it, outdated sessions are dropped; if that is not enough, new
/// sessions are not cached.
const MAX_REMEMBERED: usize = 1 << 16;

/// This replica's view of the shared sessions.
pub(super) struct Replicated {
    store: store::Shared,
    remembered: Mutex<HashMap<TokenHash, Remembered>>,
}

/// A session that was valid at the last query.
struct Remembered {
    session: SharedSession,
    asked: Duration,
}

// === impl Replicated ===

impl Replicated {
    pub(super) fn new(store: store::Shared) -> Self {
        Self {
            store,
            remembered: Mutex::default(),
        }
    }

    pub(super) fn store(&self) -> &store::Shared {
        &self.store
    }

    pub(super) fn look_up(&self, token: TokenHash) -> LookUp {
        self.store.look_up(token)
    }

    fn remembered(&self) -> MutexGuard<'_, HashMap<TokenHash, Remembered>> {
        // No code panics while it holds the lock, and the map is always consistent.
        self.remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a cached session, if it is recent enough.
    fn recall(&self, token: TokenHash, now: Duration) -> Option<SharedSession> {
        let remembered = self.remembered();
        let known = remembered.get(&token)?;
        known.is_recent(now).then(|| known.session.clone())
    }

    /// Caches a session, and returns the sessions that were dropped for it.
    fn remember(&self, token: TokenHash, session: SharedSession, now: Duration) -> Vec<TokenHash> {
        let mut remembered = self.remembered();
        let mut gone = Vec::new();
        if remembered.len() >= MAX_REMEMBERED && !remembered.contains_key(&token) {
            remembered.retain(|&token, known| {
                let stays = known.is_recent(now);
                if !stays {
                    gone.push(token);
                }
                stays
            });
            if remembered.len() >= MAX_REMEMBERED {
                return gone;
            }
        }
        let asked = now;
        remembered.insert(token, Remembered { session, asked });
        gone
    }

    /// Drops and returns the sessions that are outdated or do not match `is_good`.
    fn retain(
        &self,
        now: Duration,
        mut is_good: impl FnMut(&SharedSession) -> bool,
    ) -> Vec<TokenHash> {
        let mut gone = Vec::new();
        self.remembered().retain(|&token, known| {
            let stays = known.age(now) < known.session.left && is_good(&known.session);
            if !stays {
                gone.push(token);
            }
            stays
        });
        gone
    }
}

// === impl Remembered ===

impl Remembered {
    /// Returns the monotonic time since the query, which does not depend on the system clock.
    fn age(&self, now: Duration) -> Duration {
        now.saturating_sub(self.asked)
    }

    /// Returns whether the session may be used without a query.
    fn is_recent(&self, now: Duration) -> bool {
        self.age(now) < GRACE.min(self.session.left)
    }
}

// === impl Accounts ===

impl Accounts {
    /// Same as `log_in_alone`, but counts in the state shared by all replicas.
    pub(super) async fn log_in_replicated(
        &self,
        together: &Replicated,
        username: &str,
        password: SecretString,
        key: Option<Key>,
    ) -> Result<Session, LoginError> {
        let (store, quota) = (&together.store, self.shared.quota);
        if let Some(key) = key
            && let Some(retry_after) = store.wait_of(key, quota).await?
        {
            // Checked before the wait, so that a flood from one address does not fill the queue.
            return Err(LoginError::RateLimited { retry_after });
        }
        let turn = self.turn(username).await?;
        let attempt = match key {
            None => None,
            Some(key) => match store.admit(key, quota).await? {
                Ok(attempt) => Some(attempt),
                Err(retry_after) => return Err(LoginError::RateLimited { retry_after }),
            },
        };
        let shared = Arc::clone(&self.shared);
        let name = username.to_owned();
        let checked = spawn_blocking(move || {
            let _turn = turn;
            shared.check(&name, &password)
        });
        let result = match checked.await {
            Ok(checked) => self.follow(store, username, checked).await,
            Err(error) => Err(LoginFault::from(error).into()),
        };
        if let Some(attempt) = attempt {
            settle(store, attempt, &result).await;
        }
        result
    }

    /// Completes a login after the password check.
    async fn follow(
        &self,
        store: &store::Shared,
        username: &str,
        checked: Checked,
    ) -> Result<Session, LoginError> {
        let (user, is_right) = match checked {
            Checked::Nobody => return Err(LoginError::Invalid),
            Checked::Disabled => return Err(LoginError::Disabled),
            Checked::Wrong(user) => (user, false),
            Checked::Right(user) => (user, true),
        };
        if store.is_locked(username, user.created_at).await? {
            return Err(LoginError::Disabled);
        }
        if !is_right {
            let limit = self.shared.max_failed_attempts;
            if limit > 0
                && store
                    .account_failed(username, user.created_at, limit)
                    .await?
            {
                warn!(username, "account locked after too many failed logins");
                store.end_sessions_of(username);
            }
            return Err(LoginError::Invalid);
        }
        let shared = Arc::clone(&self.shared);
        let (name, hash) = (username.to_owned(), user.password_hash.clone());
        let noted = spawn_blocking(move || shared.note_login(&name, &hash)).await;
        noted.map_err(LoginFault::from)??;
        let new = NewSession {
            user: username,
            account_made: user.created_at,
            seconds: SESSION.as_secs(),
            max_per_user: self.shared.max_sessions,
        };
        let token = secret::new_token().map_err(LoginFault::from)?;
        let hash = TokenHash::of(token.expose_secret());
        let ends = store.open_session(hash, &new).await?;
        let expires_at = ends.ok_or(LoginError::Disabled)?;
        // The session is open even if the counter cannot be reset.
        say(store.account_succeeded(username).await);
        Ok(Session { token, expires_at })
    }
}

async fn settle(store: &store::Shared, attempt: Attempt, result: &Result<Session, LoginError>) {
    say(match result {
        Ok(_) => store.attempt_succeeded(attempt).await,
        Err(LoginError::Invalid | LoginError::Disabled) => store.attempt_failed(attempt).await,
        Err(_) => store.attempt_withdrawn(attempt).await,
    });
}

/// Only logs the error, because the login has been decided already.
fn say(result: Result<(), StoreError>) {
    if let Err(error) = result {
        let error: &dyn std::error::Error = &error;
        error!(error, "a login was not counted as it should be");
    }
}

// === impl Shared ===

impl Shared {
    /// Converts the result of a lookup into an identity.
    pub(super) fn conclude(&self, token: TokenHash, answer: Answer) -> Result<Identity, Denied> {
        let Some(together) = &self.replicated else {
            return Err(Denied::Invalid);
        };
        let now = Clock::now(&self.clock);
        let (session, is_new) = match answer {
            Answer::Session(session) => (Some(session), true),
            Answer::Nobody => (None, true),
            Answer::Unknown => {
                let recalled = together.recall(token, now);
                (Some(recalled.ok_or(Denied::Unavailable)?), false)
            }
        };
        let known = self.known.load();
        let good = session.and_then(|session| {
            let identity = known.member(token, &session)?;
            Some((identity, session))
        });
        let (identity, gone) = match good {
            Some((identity, session)) if is_new => {
                (Some(identity), together.remember(token, session, now))
            }
            Some((identity, _)) => (Some(identity), Vec::new()),
            None => {
                let forgotten = together.remembered().remove(&token);
                (None, forgotten.map(|_| token).into_iter().collect())
            }
        };
        self.tell_gone(gone);
        identity.ok_or(Denied::Invalid)
    }

    /// Ends the sessions of disabled accounts now, because they must not return when the account is
    /// enabled again.
    pub(super) fn end_sessions_of_the_disabled(&self) {
        if let Some(together) = &self.replicated {
            let state = self.state();
            for user in state
                .users
                .table()
                .records()
                .filter(|user| !user.is_enabled)
            {
                together.store.end_sessions_of(&user.name);
            }
        }
    }

    /// Ends the sessions of disabled and deleted users, and drops outdated sessions from the cache.
    pub(super) fn end_sessions_of_the_gone(&self, before: &TokenIndex, known: &TokenIndex) {
        let Some(together) = &self.replicated else {
            return;
        };
        for user in known.people_gone_since(before) {
            together.store.end_sessions_of(user);
        }
        let now = Clock::now(&self.clock);
        self.tell_gone(together.retain(now, |session| known.is_member(session)));
    }

    fn tell_gone(&self, tokens: Vec<TokenHash>) {
        for token in tokens {
            (self.gone)(&token.to_string());
        }
    }
}
