//! Who has logged in.

use std::collections::HashMap;

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;

use crate::users::UserRecord;

/// The sessions: in memory only, by the digest of their token. Their number is limited for each
/// user, and users are made by administrators.
#[derive(Default)]
pub(super) struct Sessions {
    by_token: HashMap<TokenHash, Session>,
    opened: u64,
}

/// The session behind a token.
pub(super) struct Session {
    pub(super) user: String,
    /// When the account was made: another of the same name is another account.
    account_made: Option<Timestamp>,
    pub(super) ends: Timestamp,
    serial: u64,
}

// === impl Sessions ===

impl Sessions {
    pub(super) fn iter(&self) -> impl Iterator<Item = (&TokenHash, &Session)> {
        self.by_token.iter()
    }

    /// Opens a session, and ends the oldest of a user who has `max` of them already.
    pub(super) fn open(
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
        let session = Session {
            user: user.name.clone(),
            account_made: user.created_at,
            ends,
            serial: self.opened,
        };
        self.by_token.insert(token, session);
    }

    /// Ends the sessions that are over, and those of accounts that are disabled or gone. Being
    /// enabled again does not bring them back.
    pub(super) fn retain_good(&mut self, now: Timestamp, users: &HashMap<&str, &UserRecord>) {
        self.by_token.retain(|_, session| {
            let user = users.get(&*session.user);
            let is_same =
                |user: &&UserRecord| user.is_enabled && user.created_at == session.account_made;
            session.ends > now && user.is_some_and(is_same)
        });
    }
}
