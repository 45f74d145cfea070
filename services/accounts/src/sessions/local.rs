//! Sessions in the memory of this process.

use std::collections::HashMap;

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;

use crate::users::UserRecord;

/// Sessions in memory, by the digest of their token. Their number is bounded, because it is limited
/// for each user and only administrators create users.
#[derive(Default)]
pub(crate) struct LocalSessions {
    by_token: HashMap<TokenHash, LocalSession>,
    opened: u64,
}

/// The session of a token.
pub(crate) struct LocalSession {
    pub(crate) user: String,
    /// Creation date of the account: a new account of the same name does not match.
    account_made: Option<Timestamp>,
    pub(crate) ends: Timestamp,
    serial: u64,
}

// === impl LocalSessions ===

impl LocalSessions {
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&TokenHash, &LocalSession)> {
        self.by_token.iter()
    }

    /// Opens a session, and ends the oldest one of a user who already has `max`.
    pub(crate) fn open(
        &mut self,
        token: TokenHash,
        user: &UserRecord,
        ends: Timestamp,
        max: usize,
    ) {
        let own = || {
            let all = self.by_token.iter();
            all.filter(|(_, session)| session.user == user.name)
        };
        if own().count() >= max
            && let Some((&oldest, _)) = own().min_by_key(|(_, session)| session.serial)
        {
            self.by_token.remove(&oldest);
        }
        self.opened += 1;
        let session = LocalSession {
            user: user.name.clone(),
            account_made: user.created_at,
            ends,
            serial: self.opened,
        };
        self.by_token.insert(token, session);
    }

    /// Removes expired sessions, and those of disabled or deleted accounts. They stay removed when
    /// an account is enabled again.
    pub(crate) fn retain_good(&mut self, now: Timestamp, users: &HashMap<&str, &UserRecord>) {
        self.by_token.retain(|_, session| {
            let user = users.get(&*session.user);
            let is_same =
                |user: &&UserRecord| user.is_enabled && user.created_at == session.account_made;
            session.ends > now && user.is_some_and(is_same)
        });
    }
}
