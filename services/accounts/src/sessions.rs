//! Sessions and locks of accounts, in this process or shared by replicas.

mod local;
mod replicated;

use std::{collections::HashMap, sync::Arc};

use jiff::{SignedDuration, Timestamp};
use tokio::task::spawn_blocking;
use ziggurat_layers::{bearer::TokenHash, clock::Clock};
use ziggurat_runtime::lock;
use ziggurat_state::{self as store, LookUp, NewSession, StoreError};
use ziggurat_tokens::{Identity, whole_seconds};

use crate::{
    BrowserLogin, GrantId, LoginError, LoginFault, Shared, person::PersonId,
    session_index::SessionIndex, users::UserRecord,
};

pub(super) use self::{
    local::{LocalSessions, SessionOwner, Term},
    replicated::ReplicatedSessions,
};

/// Lifetime of a session.
const LIFETIME: SignedDuration = SignedDuration::from_hours(24);

/// Sessions and locks of accounts. The kind is chosen when the accounts are opened.
pub(super) enum Sessions {
    /// Sessions are in the [`LocalSessions`] of this process, and locks in its user file.
    Local,
    /// Both are in a database that replicas share.
    Replicated(Arc<ReplicatedSessions>),
}

// === impl Sessions ===

impl Sessions {
    pub(super) fn new(shared: Option<store::Shared>) -> Self {
        shared.map_or(Self::Local, |store| {
            Self::Replicated(Arc::new(ReplicatedSessions::new(store)))
        })
    }

    /// Returns whether a token may be valid that is not in the token index.
    pub(super) fn is_replicated(&self) -> bool {
        matches!(self, Self::Replicated(_))
    }

    /// Looks up a token that is not in the token index.
    pub(super) fn look_up(&self, token: TokenHash) -> Option<(LookUp, Arc<ReplicatedSessions>)> {
        match self {
            Self::Local => None,
            Self::Replicated(sessions) => {
                Some((sessions.store.look_up(token), Arc::clone(sessions)))
            }
        }
    }

    /// Returns whether an account is locked. A lock in the user file was found with the account.
    pub(super) async fn is_locked(&self, user: &UserRecord) -> Result<bool, StoreError> {
        match self {
            Self::Local => Ok(false),
            Self::Replicated(sessions) => {
                let store = &sessions.store;
                store.is_locked(&user.name, user.created_at).await
            }
        }
    }

    /// Counts a wrong password, and locks the account at the limit.
    pub(super) async fn count_failure(
        &self,
        accounts: &Arc<Shared>,
        user: UserRecord,
    ) -> Result<(), LoginError> {
        let limit = accounts.max_failed_attempts;
        match self {
            _ if limit == 0 => Ok(()),
            Self::Local => {
                let accounts = Arc::clone(accounts);
                let counted = spawn_blocking(move || accounts.count_failure(&user.name, limit));
                Ok(counted.await.map_err(LoginFault::from)?)
            }
            Self::Replicated(sessions) => sessions.count_failure(&user, limit).await,
        }
    }

    /// Records a login without a session. Returns who it is.
    pub(super) async fn admit(
        &self,
        accounts: &Arc<Shared>,
        user: UserRecord,
    ) -> Result<PersonId, LoginError> {
        let recording = Arc::clone(accounts);
        let recorded = spawn_blocking(move || {
            recording.record_login(&user, |_, _| {})?;
            Ok::<_, LoginError>(user)
        });
        let user = recorded.await.map_err(LoginFault::from)??;
        if let Self::Replicated(sessions) = self {
            sessions.note_success(&user.name).await;
        }
        Ok(PersonId::of(&user))
    }

    /// Records a login and opens its session. Returns the end of the session.
    pub(super) async fn open(
        &self,
        accounts: &Arc<Shared>,
        token: TokenHash,
        user: UserRecord,
    ) -> Result<Timestamp, LoginError> {
        let max = accounts.max_sessions;
        let recording = Arc::clone(accounts);
        let is_local = !self.is_replicated();
        let recorded = spawn_blocking(move || {
            let now = whole_seconds(recording.clock.now());
            let ends = now + LIFETIME;
            recording.record_login(&user, |sessions, user| {
                if is_local {
                    let term = Term::new(now, ends);
                    sessions.open(token, SessionOwner::of(user), term, max);
                }
            })?;
            Ok::<_, LoginError>((user, ends))
        });
        let (user, ends) = recorded.await.map_err(LoginFault::from)??;
        match self {
            Self::Local => Ok(ends),
            Self::Replicated(sessions) => {
                let ends = sessions.open(token, &new_session(&user, max)).await?;
                // The session is open even if the counter cannot be reset.
                sessions.note_success(&user.name).await;
                Ok(ends)
            }
        }
    }

    /// Opens a session for a user who signed in with a browser. Returns the end of the session, which
    /// is at most the end of its grant.
    pub(super) async fn open_by_browser(
        &self,
        accounts: &Arc<Shared>,
        token: TokenHash,
        login: BrowserLogin,
    ) -> Result<Timestamp, LoginError> {
        let max = accounts.max_sessions;
        let now = whole_seconds(accounts.clock.now());
        let term = Term {
            signed_in_at: login.signed_in_at,
            ends: login.ends_at.min(now + LIFETIME),
            grant: Some(login.grant),
        };
        let (opening, is_local) = (Arc::clone(accounts), !self.is_replicated());
        let opened = spawn_blocking(move || {
            let mut state = lock(&opening.state);
            let user = Shared::enabled(&state, &login.person)?;
            if is_local {
                let owner = SessionOwner::of(&user);
                state.sessions.open(token, owner, term, max);
            }
            opening.publish(state);
            Ok::<_, LoginError>(user)
        });
        let user = opened.await.map_err(LoginFault::from)??;
        match self {
            Self::Local => Ok(term.ends),
            Self::Replicated(sessions) => {
                let seconds = term.ends.duration_since(now).as_secs();
                let new = NewSession {
                    grant: term.grant,
                    signed_in_at: Some(term.signed_in_at),
                    seconds,
                    ..new_session(&user, max)
                };
                sessions.open(token, &new).await
            }
        }
    }

    /// Opens a session with the rights of an API token. Returns the end of the session, which is at
    /// most the end of the token.
    pub(super) async fn open_for_token(
        &self,
        accounts: &Arc<Shared>,
        session: TokenHash,
        api_token: &Identity,
    ) -> Result<Timestamp, LoginError> {
        let (owner, max) = (api_token.token(), accounts.max_sessions);
        let now = whole_seconds(accounts.clock.now());
        let ends = api_token
            .expires_at()
            .map_or(now + LIFETIME, |ends| ends.min(now + LIFETIME));
        match self {
            Self::Local => {
                let accounts = Arc::clone(accounts);
                let opened = spawn_blocking(move || {
                    let mut state = lock(&accounts.state);
                    let owner = SessionOwner::Token(owner);
                    let term = Term::new(now, ends);
                    state.sessions.open(session, owner, term, max);
                    accounts.publish(state);
                });
                opened.await.map_err(LoginFault::from)?;
                Ok(ends)
            }
            Self::Replicated(sessions) => {
                let lifetime = ends.duration_since(now);
                sessions.open_for_token(session, owner, lifetime, max).await
            }
        }
    }

    /// Ends a session, if there is one. Returns its grant.
    pub(super) async fn end(
        &self,
        accounts: &Arc<Shared>,
        session: TokenHash,
    ) -> Result<Option<GrantId>, LoginError> {
        match self {
            Self::Local => {
                let accounts = Arc::clone(accounts);
                let ended = spawn_blocking(move || {
                    let mut state = lock(&accounts.state);
                    let grant = state.sessions.end(session);
                    accounts.publish(state);
                    grant
                });
                Ok(ended.await.map_err(LoginFault::from)?)
            }
            Self::Replicated(sessions) => {
                let grant = sessions.store.end_session(session).await?;
                accounts.notify_ended(sessions.forget(session));
                Ok(grant)
            }
        }
    }

    /// Ends all sessions of a user.
    pub(super) async fn end_all_of(
        &self,
        accounts: &Arc<Shared>,
        user: &str,
    ) -> Result<(), LoginError> {
        match self {
            Self::Local => {
                let (accounts, user) = (Arc::clone(accounts), user.to_owned());
                let ended = spawn_blocking(move || {
                    let mut state = lock(&accounts.state);
                    state.sessions.end_of(&user);
                    accounts.publish(state);
                });
                Ok(ended.await.map_err(LoginFault::from)?)
            }
            Self::Replicated(sessions) => {
                sessions.store.end_all_sessions_of(user).await?;
                let now = Clock::now(&accounts.clock);
                let is_other =
                    |it: &store::SharedSession| it.api_token.is_some() || *it.user != *user;
                accounts.notify_ended(sessions.retain(now, is_other));
                Ok(())
            }
        }
    }

    /// Returns the number of valid sessions of each user who has some.
    pub(super) async fn counts(
        &self,
        accounts: &Shared,
    ) -> Result<HashMap<String, u64>, StoreError> {
        match self {
            Self::Local => Ok(accounts.known.load().counts(accounts.clock.now())),
            Self::Replicated(sessions) => sessions.store.session_counts().await,
        }
    }

    /// Returns the database that holds them, if replicas share it.
    pub(super) fn store(&self) -> Option<&store::Shared> {
        match self {
            Self::Local => None,
            Self::Replicated(sessions) => Some(&sessions.store),
        }
    }

    /// Ends the sessions of users who may no longer log in, because they must not return when the
    /// account is enabled again. Local ones end with the next token index.
    pub(super) fn end_of(&self, users: impl Iterator<Item = impl AsRef<str>>) {
        if let Self::Replicated(sessions) = self {
            users.for_each(|user| sessions.store.end_sessions_of(user.as_ref()));
        }
    }

    /// Drops and returns cached sessions that are outdated, or of users who may no longer log in.
    pub(super) fn drop_outdated(&self, accounts: &Shared, known: &SessionIndex) -> Vec<TokenHash> {
        match self {
            Self::Local => Vec::new(),
            Self::Replicated(sessions) => {
                let now = Clock::now(&accounts.clock);
                sessions.retain(now, |session| {
                    known.is_member(session) && !accounts.has_ended(session.grant)
                })
            }
        }
    }
}

/// Describes a new session of a user.
fn new_session(user: &UserRecord, max_per_user: usize) -> NewSession<'_> {
    NewSession {
        user: &user.name,
        account: Some(&user.id),
        account_made: user.created_at,
        api_token: None,
        grant: None,
        signed_in_at: None,
        seconds: LIFETIME.as_secs(),
        max_per_user,
    }
}
