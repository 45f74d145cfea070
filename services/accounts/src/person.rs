//! Users as the people of a sign-in.

use std::{fmt, sync::Arc};

use jiff::Timestamp;
use ziggurat_layers::bearer::TokenHash;
use ziggurat_tokens::{Claims, Identity};

use crate::{Accounts, users::UserRecord};

/// Name of a user, with a mark that a later account of the same name does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonId {
    pub(crate) name: String,
    /// Id of the account; its creation date where the file has no ids.
    mark: String,
}

/// A user who may log in.
#[derive(Clone, Debug)]
pub struct AccountPerson {
    /// Name of the user.
    pub name: Arc<str>,
    /// Databases that the account may use; empty for all.
    pub databases: Arc<[String]>,
    /// Claims of the account.
    pub claims: Claims,
}

// === impl PersonId ===

impl PersonId {
    pub(crate) fn new(name: &str, account: &str, made: Option<i64>) -> Self {
        let mark = if account == name {
            made.unwrap_or_default().to_string()
        } else {
            account.to_owned()
        };
        Self {
            name: name.to_owned(),
            mark,
        }
    }

    pub(crate) fn of(user: &UserRecord) -> Self {
        let made = user.created_at.map(Timestamp::as_second);
        Self::new(&user.name, &user.id, made)
    }

    /// Reads the text of an id.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let (mark, name) = text.split_once(':')?;
        Some(Self {
            name: name.to_owned(),
            mark: mark.to_owned(),
        })
    }

    /// Returns the name of the user.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl fmt::Display for PersonId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.mark, self.name)
    }
}

// === impl UserRecord ===

impl UserRecord {
    /// Returns the id of the user as a person of a sign-in.
    #[must_use]
    pub fn person_id(&self) -> PersonId {
        PersonId::of(self)
    }
}

// === impl Accounts ===

impl Accounts {
    /// Returns a user who may log in. A later account of the same name is another person.
    #[must_use]
    pub fn person(&self, id: &PersonId) -> Option<AccountPerson> {
        self.shared.known.load().person(id)
    }

    /// Returns whether the user file has a user of this name who may log in.
    #[must_use]
    pub fn has_user(&self, name: &str) -> bool {
        self.shared.known.load().has_user(name)
    }

    /// Returns the identity of a user who may log in, for the holder of a grant, which is kept
    /// elsewhere. An account that was made after `made_by`, in seconds, is another one.
    #[must_use]
    pub fn holder_of_grant(&self, token: TokenHash, name: &str, made_by: i64) -> Option<Identity> {
        self.shared.known.load().user(token, name, made_by)
    }
}
