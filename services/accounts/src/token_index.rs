//! Every good token, as one look-up.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::SharedSession;

use crate::{
    identity::{Holder, Identity},
    sessions::Sessions,
    tokens::Tokens,
    users::Users,
};

/// The tokens that are good at a moment, and what they prove. Made anew for every change and
/// never changed, so that checking a token waits for nobody.
#[derive(Default)]
pub(super) struct TokenIndex {
    by_token: HashMap<TokenHash, Good>,
    by_name: HashMap<Arc<str>, Person>,
}

struct Good {
    identity: Identity,
    ends: Option<Timestamp>,
}

/// A user who may be logged in.
struct Person {
    /// When the account was made, in seconds: another of the same name is another account.
    made: Option<i64>,
    databases: Arc<[String]>,
    has_logged_in: bool,
}

// === impl TokenIndex ===

impl TokenIndex {
    /// Puts together what is known; ends the sessions that have nobody behind them.
    pub(super) fn new(
        now: Timestamp,
        tokens: &Tokens,
        users: &Users,
        sessions: &mut Sessions,
    ) -> Self {
        let users: HashMap<_, _> = users.records().map(|user| (&*user.name, user)).collect();
        sessions.retain_good(now, &users);

        let mut by_token = HashMap::new();
        for token in tokens.records().filter(|token| !token.is_expired(now)) {
            let database = token.database.as_deref().map(Arc::from);
            let identity = Identity::new(token.hash, Holder::Program { database });
            let ends = token.expires_at;
            by_token.insert(token.hash, Good { identity, ends });
        }
        for (&token, session) in sessions.iter() {
            let user = users[&*session.user];
            let holder = Holder::User {
                name: Arc::from(&*user.name),
                databases: Arc::from(&*user.databases),
            };
            let identity = Identity::new(token, holder);
            let ends = Some(session.ends);
            by_token.insert(token, Good { identity, ends });
        }
        let by_name = users.values().filter(|user| user.is_enabled).map(|user| {
            let person = Person {
                made: user.created_at.map(Timestamp::as_second),
                databases: Arc::from(&*user.databases),
                has_logged_in: user.last_login.is_some(),
            };
            (Arc::from(&*user.name), person)
        });
        Self {
            by_token,
            by_name: by_name.collect(),
        }
    }

    /// What a token proves, if it is good.
    pub(super) fn identity(
        &self,
        token: TokenHash,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<Identity> {
        let good = self.by_token.get(&token)?;
        match good.ends {
            Some(ends) if ends <= now() => None,
            _ => Some(good.identity.clone()),
        }
    }

    /// What a session proves that all replicas know, if its account is good. Whether it is over
    /// is decided by the clock of the database and not by this one.
    pub(super) fn member(&self, token: TokenHash, session: &SharedSession) -> Option<Identity> {
        let (name, person) = self.by_name.get_key_value(&*session.user)?;
        if !person.has(session) {
            return None;
        }
        let holder = Holder::User {
            name: Arc::clone(name),
            databases: Arc::clone(&person.databases),
        };
        Some(Identity::new(token, holder).with_selection(session.selection.clone()))
    }

    /// The name of a user who has logged in before, and may do so again.
    pub(super) fn has_logged_in(&self, user: &str) -> Option<Arc<str>> {
        let (name, person) = self.by_name.get_key_value(user)?;
        person.has_logged_in.then(|| Arc::clone(name))
    }

    /// Tells whether a session that all replicas know is of an account that is good.
    pub(super) fn is_member(&self, session: &SharedSession) -> bool {
        let person = self.by_name.get(&*session.user);
        person.is_some_and(|person| person.has(session))
    }

    /// The users who were good before and are not any more.
    pub(super) fn people_gone_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'a Arc<str>> {
        let is_gone = |(name, old): &(&Arc<str>, &Person)| {
            let new = self.by_name.get(*name);
            new.is_none_or(|new| new.made != old.made)
        };
        let people = before.by_name.iter();
        people.filter(is_gone).map(|(name, _)| name)
    }

    /// When the first of them ends.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.by_token.values().filter_map(|good| good.ends).min()
    }

    /// The tokens that are good no more, or for another database.
    pub(super) fn gone_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = TokenHash> {
        let is_gone = |(token, old): &(&TokenHash, &Good)| {
            let new = self.by_token.get(*token);
            !new.is_some_and(|new| new.is_as_good_as(old))
        };
        before
            .by_token
            .iter()
            .filter(is_gone)
            .map(|(&token, _)| token)
    }

    pub(super) fn len(&self) -> usize {
        self.by_token.len()
    }
}

// === impl Good ===

impl Good {
    /// A user may be given another list of databases and keeps the session.
    fn is_as_good_as(&self, old: &Self) -> bool {
        self.identity.user().is_some() || self.identity == old.identity
    }
}

// === impl Person ===

impl Person {
    /// Tells whether a session is of this account.
    fn has(&self, session: &SharedSession) -> bool {
        self.made == session.account_made.map(Timestamp::as_second)
    }
}
