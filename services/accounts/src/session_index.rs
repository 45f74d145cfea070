//! Index of the valid sessions, and of the users who may log in.

use std::{collections::HashMap, sync::Arc};

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_state::SharedSession;
use ziggurat_tokens::{ApiTokens, Claims, Holder, Identity};

use crate::{
    person::{AccountPerson, PersonId},
    sessions::{LocalSessions, SessionOwner, Term},
    users::Users,
};

/// The currently valid sessions and their identities. Replaced on every change and never modified, so
/// that checks never wait.
#[derive(Default)]
pub(super) struct SessionIndex {
    by_token: HashMap<TokenHash, ValidSession>,
    by_name: HashMap<Arc<str>, IndexedUser>,
}

struct ValidSession {
    rights: Rights,
    term: Term,
}

/// The rights of a session.
enum Rights {
    User(Identity),
    /// The rights of an API token, as long as it is valid.
    Token(TokenHash),
}

/// A user who may log in.
struct IndexedUser {
    /// Id of the account: a new account of the same name does not match.
    account: Arc<str>,
    /// Creation date in seconds, for accounts with their names as ids.
    made: Option<i64>,
    databases: Arc<[String]>,
    claims: Claims,
    is_admin: bool,
    has_logged_in: bool,
}

// === impl SessionIndex ===

impl SessionIndex {
    /// Builds the index; ends sessions of accounts that are no longer valid.
    pub(super) fn new(now: Timestamp, users: &Users, sessions: &mut LocalSessions) -> Self {
        let users: HashMap<_, _> = users.records().map(|user| (&*user.name, user)).collect();
        sessions.retain_good(now, &users);

        let mut by_token = HashMap::new();
        for (&token, session) in sessions.iter() {
            let rights = match &session.owner {
                SessionOwner::Token(token) => Rights::Token(*token),
                SessionOwner::User { name, .. } => {
                    let user = users[&**name];
                    let holder = Holder::User {
                        name: Arc::from(&*user.name),
                        databases: Arc::from(&*user.databases),
                    };
                    let identity = Identity::new(token, holder).with_claims(user.claims.clone());
                    let identity = identity.with_account_id(Arc::from(&*user.id));
                    Rights::User(identity.with_admin(user.is_admin))
                }
            };
            let term = session.term;
            let session = ValidSession { rights, term };
            by_token.insert(token, session);
        }
        let by_name = users.values().filter(|user| user.is_enabled).map(|user| {
            let person = IndexedUser {
                account: Arc::from(&*user.id),
                made: user.created_at.map(Timestamp::as_second),
                databases: Arc::from(&*user.databases),
                claims: user.claims.clone(),
                is_admin: user.is_admin,
                has_logged_in: user.last_login.is_some(),
            };
            (Arc::from(&*user.name), person)
        });
        Self {
            by_token,
            by_name: by_name.collect(),
        }
    }

    /// Returns the identity of a session, if it is valid.
    pub(super) fn identity(
        &self,
        token: TokenHash,
        tokens: &ApiTokens,
        now: impl FnOnce() -> Timestamp,
    ) -> Option<Identity> {
        let session = self.by_token.get(&token)?;
        if session.term.ends <= now() {
            return None;
        }
        let identity = match &session.rights {
            Rights::User(identity) => identity.clone(),
            Rights::Token(token) => tokens.find(*token)?,
        };
        let Term {
            signed_in_at, ends, ..
        } = session.term;
        let identity = identity.with_sign_in(signed_in_at);
        Some(identity.with_expiry(Some(ends)))
    }

    /// Returns the identity of a shared session, if its account is valid. The clock of the database
    /// decides whether the session has expired, not this one.
    pub(super) fn member(&self, token: TokenHash, session: &SharedSession) -> Option<Identity> {
        let (name, person) = self.by_name.get_key_value(&*session.user)?;
        if !person.has(session) {
            return None;
        }
        let identity = person
            .identity(token, name)
            .with_admin(person.is_admin)
            .with_sign_in(session.signed_in_at)
            .with_expiry(Some(session.ends_at));
        Some(identity.with_selection(session.selection.clone()))
    }

    /// Returns the identity of a user who may log in, for a token of a session that is kept elsewhere.
    /// An account that was made after `made_by`, in seconds, is another one of the same name.
    pub(super) fn user(&self, token: TokenHash, name: &str, made_by: i64) -> Option<Identity> {
        let (name, person) = self.by_name.get_key_value(name)?;
        let is_it = person.made.is_none_or(|made| made <= made_by);
        is_it.then(|| person.identity(token, name))
    }

    /// Returns whether there is a user of this name who may log in.
    pub(super) fn has_user(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    /// Returns a user who may log in.
    pub(super) fn person(&self, id: &PersonId) -> Option<AccountPerson> {
        let (name, person) = self.by_name.get_key_value(&*id.name)?;
        let found = PersonId::new(name, &person.account, person.made);
        (found == *id).then(|| AccountPerson {
            name: Arc::clone(name),
            databases: Arc::clone(&person.databases),
            claims: person.claims.clone(),
        })
    }

    /// Returns the name of an enabled user who has logged in before.
    pub(super) fn has_logged_in(&self, user: &str) -> Option<Arc<str>> {
        let (name, person) = self.by_name.get_key_value(user)?;
        person.has_logged_in.then(|| Arc::clone(name))
    }

    /// Returns whether a shared session belongs to a valid account. The API token of any other is
    /// looked up with every request.
    pub(super) fn is_member(&self, session: &SharedSession) -> bool {
        if session.api_token.is_some() {
            return true;
        }
        let person = self.by_name.get(&*session.user);
        person.is_some_and(|person| person.has(session))
    }

    /// Returns the users who were valid before and no longer are.
    pub(super) fn people_gone_since<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = &'a Arc<str>> {
        self.gone_people(before).map(|(name, _)| name)
    }

    /// Returns the ids of the users who were valid before and no longer are.
    pub(super) fn person_ids_gone_since(&self, before: &Self) -> Vec<PersonId> {
        let gone = self.gone_people(before);
        gone.map(|(name, person)| PersonId::new(name, &person.account, person.made))
            .collect()
    }

    fn gone_people<'a>(
        &'a self,
        before: &'a Self,
    ) -> impl Iterator<Item = (&'a Arc<str>, &'a IndexedUser)> {
        let is_gone = |(name, old): &(&Arc<str>, &IndexedUser)| {
            let new = self.by_name.get(*name);
            new.is_none_or(|new| (new.made, &new.account) != (old.made, &old.account))
        };
        before.by_name.iter().filter(is_gone)
    }

    /// Returns the number of valid sessions of each user who has some.
    pub(super) fn counts(&self, now: Timestamp) -> HashMap<String, u64> {
        let mut counts = HashMap::new();
        for session in self.by_token.values().filter(|it| it.term.ends > now) {
            if let Rights::User(identity) = &session.rights {
                *counts.entry(identity.name().to_owned()).or_default() += 1;
            }
        }
        counts
    }

    /// Returns the earliest expiry date.
    pub(super) fn next_end(&self) -> Option<Timestamp> {
        self.by_token
            .values()
            .map(|session| session.term.ends)
            .min()
    }

    /// Returns the sessions that are no longer valid. They stay when the databases or the claims of
    /// their user change.
    pub(super) fn gone_since<'a>(&'a self, before: &'a Self) -> impl Iterator<Item = TokenHash> {
        let is_gone = |token: &&TokenHash| !self.by_token.contains_key(*token);
        before.by_token.keys().filter(is_gone).copied()
    }
}

// === impl IndexedUser ===

impl IndexedUser {
    fn identity(&self, token: TokenHash, name: &Arc<str>) -> Identity {
        let holder = Holder::User {
            name: Arc::clone(name),
            databases: Arc::clone(&self.databases),
        };
        Identity::new(token, holder)
            .with_account_id(Arc::clone(&self.account))
            .with_claims(self.claims.clone())
    }

    /// Returns whether a session belongs to this account.
    fn has(&self, session: &SharedSession) -> bool {
        // A session that an earlier version opened has no id.
        let account = session.account.as_ref();
        self.made == session.account_made.map(Timestamp::as_second)
            && account.is_none_or(|account| *account == self.account)
    }
}
