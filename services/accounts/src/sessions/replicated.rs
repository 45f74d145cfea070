//! Sessions shared by several replicas.
//!
//! The sessions are in a database that every replica queries for every request: a session that one
//! replica ends is invalid on all, and so is its selected database shared. Results are cached for
//! the time in which the database is unreachable.

use std::{collections::HashMap, sync::Mutex, time::Duration};

use jiff::{SignedDuration, Timestamp};
use tracing::warn;
use ziggurat_layers::{
    bearer::{Denied, TokenHash},
    clock::Clock,
};
use ziggurat_runtime::lock;
use ziggurat_state::{Answer, NewSession, Shared, SharedSession};
use ziggurat_tokens::{ApiTokens, Identity};

use crate::{LoginError, attempts::log_error, session_index::SessionIndex, users::UserRecord};

/// Time for which a cached session is valid while the database is unreachable.
const GRACE: Duration = Duration::from_mins(5);

/// Limit on cached sessions. Beyond it, outdated sessions are dropped; if that is not enough, new
/// sessions are not cached.
const MAX_REMEMBERED: usize = 1 << 16;

/// This replica's view of the shared sessions.
pub(crate) struct ReplicatedSessions {
    pub(super) store: Shared,
    remembered: Mutex<HashMap<TokenHash, Remembered>>,
}

/// A session that was valid at the last query.
struct Remembered {
    session: SharedSession,
    asked: Duration,
}

// === impl ReplicatedSessions ===

impl ReplicatedSessions {
    pub(super) fn new(store: Shared) -> Self {
        Self {
            store,
            remembered: Mutex::default(),
        }
    }

    /// Opens a session, unless the account is locked. Returns its end.
    pub(super) async fn open(
        &self,
        token: TokenHash,
        new: &NewSession<'_>,
    ) -> Result<Timestamp, LoginError> {
        let ends = self.store.open_session(token, new).await?;
        ends.ok_or(LoginError::Disabled)
    }

    /// Forgets the failures of an account.
    pub(super) async fn note_success(&self, username: &str) {
        log_error(self.store.account_succeeded(username).await);
    }

    /// Opens a session with the rights of an API token. Returns its end.
    pub(super) async fn open_for_token(
        &self,
        session: TokenHash,
        api_token: TokenHash,
        lifetime: SignedDuration,
        max_per_token: usize,
    ) -> Result<Timestamp, LoginError> {
        let new = NewSession {
            // Its sessions are counted by the digest; no account is looked up for them.
            user: &api_token.to_string(),
            account: None,
            account_made: None,
            api_token: Some(api_token),
            grant: None,
            signed_in_at: None,
            seconds: lifetime.as_secs(),
            max_per_user: max_per_token,
        };
        self.open(session, &new).await
    }

    /// Drops a session from the cache, and returns it if it was there.
    pub(super) fn forget(&self, token: TokenHash) -> Option<TokenHash> {
        lock(&self.remembered).remove(&token).map(|_| token)
    }

    /// Counts a wrong password, and locks the account at the limit.
    pub(super) async fn count_failure(
        &self,
        user: &UserRecord,
        limit: u32,
    ) -> Result<(), LoginError> {
        let (username, made) = (&*user.name, user.created_at);
        if self.store.account_failed(username, made, limit).await? {
            warn!(username, "account locked after too many failed logins");
            self.store.end_sessions_of(username);
        }
        Ok(())
    }

    /// Converts the result of a look-up into an identity. Also returns the tokens that turned out
    /// to be no longer valid.
    pub(crate) fn conclude(
        &self,
        token: TokenHash,
        answer: Answer,
        accounts: &crate::Shared,
    ) -> (Result<Identity, Denied>, Vec<TokenHash>) {
        let (now, known) = (Clock::now(&accounts.clock), accounts.known.load());
        let (session, is_new) = match answer {
            Answer::Session(session) => (Some(session), true),
            Answer::Missing => (None, true),
            Answer::Unknown => match self.recall(token, now) {
                Some(session) => (Some(session), false),
                None => return (Err(Denied::Unavailable), Vec::new()),
            },
        };
        let valid = session.filter(|session| !accounts.has_ended(session.grant));
        let valid = valid.and_then(|session| {
            let holder = holder(token, &session, &known, &accounts.tokens)?;
            Some((holder, session))
        });
        match valid {
            Some((identity, session)) if is_new => {
                (Ok(identity), self.remember(token, session, now))
            }
            Some((identity, _)) => (Ok(identity), Vec::new()),
            None => {
                let gone = self.forget(token).into_iter().collect();
                (Err(Denied::Invalid), gone)
            }
        }
    }

    /// Returns a cached session, if it is recent enough.
    fn recall(&self, token: TokenHash, now: Duration) -> Option<SharedSession> {
        let remembered = lock(&self.remembered);
        let known = remembered.get(&token)?;
        known.is_recent(now).then(|| known.session.clone())
    }

    /// Caches a session, and returns the sessions that were dropped for it.
    fn remember(&self, token: TokenHash, session: SharedSession, now: Duration) -> Vec<TokenHash> {
        let mut remembered = lock(&self.remembered);
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
    pub(super) fn retain(
        &self,
        now: Duration,
        mut is_good: impl FnMut(&SharedSession) -> bool,
    ) -> Vec<TokenHash> {
        let mut gone = Vec::new();
        lock(&self.remembered).retain(|&token, known| {
            let stays = known.age(now) < known.session.left && is_good(&known.session);
            if !stays {
                gone.push(token);
            }
            stays
        });
        gone
    }
}

/// Returns the identity of a session, if its account or its API token is valid.
fn holder(
    token: TokenHash,
    session: &SharedSession,
    known: &SessionIndex,
    tokens: &ApiTokens,
) -> Option<Identity> {
    match session.api_token {
        None => known.member(token, session),
        Some(api_token) => {
            let identity = tokens.find(api_token)?;
            Some(
                identity
                    .with_sign_in(session.signed_in_at)
                    .with_expiry(Some(session.ends_at)),
            )
        }
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
