//! Sessions in the memory of this process.

use std::collections::HashMap;

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;

use crate::{browser_sign_in::GrantId, users::UserRecord};

/// Sessions in memory, by the digest of their token. Their number is bounded, because it is limited
/// for each user and only administrators create users.
#[derive(Default)]
pub(crate) struct LocalSessions {
    by_token: HashMap<TokenHash, LocalSession>,
    opened: u64,
}

/// The session of a token.
pub(crate) struct LocalSession {
    pub(crate) owner: SessionOwner,
    pub(crate) term: Term,
    serial: u64,
}

/// The time of a session.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Term {
    /// Time at which its user signed in.
    pub(crate) signed_in_at: Timestamp,
    pub(crate) ends: Timestamp,
    /// The grant that it ends with, if a browser signed in.
    pub(crate) grant: Option<GrantId>,
}

/// Holder of the rights of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum SessionOwner {
    /// A user.
    User {
        name: String,
        /// Id of the account: a new account of the same name does not match.
        account: String,
        /// Creation date of the account, for accounts with their names as ids.
        account_made: Option<Timestamp>,
    },
    /// An API token.
    Token(TokenHash),
}

// === impl LocalSessions ===

impl LocalSessions {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TokenHash, &LocalSession)> {
        self.by_token.iter()
    }

    /// Opens a session, and ends the oldest one of an owner who already has `max`.
    pub(crate) fn open(&mut self, token: TokenHash, owner: SessionOwner, term: Term, max: usize) {
        let own = || {
            let all = self.by_token.iter();
            all.filter(|(_, session)| session.owner.is_same(&owner))
        };
        if own().count() >= max
            && let Some((&oldest, _)) = own().min_by_key(|(_, session)| session.serial)
        {
            self.by_token.remove(&oldest);
        }
        self.opened += 1;
        let session = LocalSession {
            owner,
            term,
            serial: self.opened,
        };
        self.by_token.insert(token, session);
    }

    /// Ends a session, if there is one. Returns its grant.
    pub(crate) fn end(&mut self, token: TokenHash) -> Option<GrantId> {
        self.by_token.remove(&token)?.term.grant
    }

    /// Ends all sessions of a user.
    pub(crate) fn end_of(&mut self, user: &str) {
        self.by_token.retain(|_, session| match &session.owner {
            SessionOwner::User { name, .. } => name != user,
            SessionOwner::Token(_) => true,
        });
    }

    /// Ends the sessions of grants that have ended.
    pub(crate) fn end_granted(&mut self, has_ended: impl Fn(GrantId) -> bool) {
        let is_over = |session: &LocalSession| session.term.grant.is_some_and(&has_ended);
        self.by_token.retain(|_, session| !is_over(session));
    }

    /// Removes expired sessions, and all sessions of disabled or deleted accounts. They stay
    /// removed when an account is enabled again.
    pub(crate) fn retain_good(&mut self, now: Timestamp, users: &HashMap<&str, &UserRecord>) {
        self.by_token.retain(|_, session| {
            let is_good = match &session.owner {
                SessionOwner::User { name, .. } => {
                    let user = users.get(&**name);
                    user.is_some_and(|user| {
                        user.is_enabled && SessionOwner::of(user) == session.owner
                    })
                }
                // Looked up with every request.
                SessionOwner::Token(_) => true,
            };
            session.term.ends > now && is_good
        });
    }
}

// === impl Term ===

impl Term {
    /// Returns the time of a session with a sign-in at this moment.
    pub(crate) fn new(now: Timestamp, ends: Timestamp) -> Self {
        Self {
            signed_in_at: now,
            ends,
            grant: None,
        }
    }
}

// === impl SessionOwner ===

impl SessionOwner {
    pub(crate) fn of(user: &UserRecord) -> Self {
        Self::User {
            name: user.name.clone(),
            account: user.id.clone(),
            account_made: user.created_at,
        }
    }

    /// Returns whether sessions of both count together.
    fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::User { name, .. }, Self::User { name: other, .. }) => name == other,
            _ => self == other,
        }
    }
}
