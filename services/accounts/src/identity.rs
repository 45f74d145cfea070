//! What a bearer token proves.

use std::{fmt, sync::Arc};

use ziggurat_layers::bearer::TokenHash;

/// A caller that has shown a good token. The bearer layer leaves it in the extensions of the
/// request; where nobody has to sign in there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    token: TokenHash,
    holder: Holder,
    selection: Selection,
}

/// Where it is known which database a session uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// In this process.
    Here,
    /// Wherever the session is known: this one, if any.
    Everywhere(Option<Arc<str>>),
}

/// To whom a token was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A program, with an API token an administrator made.
    Program {
        /// The one database it may use; without one, the first that is configured.
        database: Option<Arc<str>>,
    },
    /// A person who has logged in.
    User {
        /// The user name.
        name: Arc<str>,
        /// The databases the account is restricted to; empty for no restriction.
        databases: Arc<[String]>,
    },
    /// A client that an issuer vouches for.
    Client {
        /// What the issuer calls it.
        subject: Arc<str>,
        /// The client that the token was given to, if the token names it.
        client: Option<Arc<str>>,
        /// The tenant that the client belongs to, if the token names it.
        tenant: Option<Arc<str>>,
        /// The databases tokens of this issuer are good for; empty for no restriction.
        databases: Arc<[String]>,
    },
}

/// The account behind a caller. All sessions of a user have it in common, and all tokens that an
/// issuer gave to one subject; an API token is an account of its own.
///
/// It stays the same for as long as the account exists, so it is what limits for all sessions of
/// an account are counted by. Its text begins with the kind: `user:alice`, `token:<digest>`,
/// `client:<subject>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Account {
    /// A user, by name.
    User(Arc<str>),
    /// An API token, by its digest.
    Token(TokenHash),
    /// A client of an issuer, by its subject.
    Client(Arc<str>),
}

// === impl Identity ===

impl Identity {
    /// Puts together what is known of a token.
    #[must_use]
    pub fn new(token: TokenHash, holder: Holder) -> Self {
        Self {
            token,
            holder,
            selection: Selection::Here,
        }
    }

    /// Says which database a session uses that all replicas know, if it has selected one.
    #[must_use]
    pub fn with_selection(self, database: Option<Arc<str>>) -> Self {
        let selection = Selection::Everywhere(database);
        Self { selection, ..self }
    }

    /// Returns where the selection of a database is kept.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The digest of the token. Its hexadecimal form is the session key.
    #[must_use]
    pub fn token(&self) -> TokenHash {
        self.token
    }

    /// The account behind the token: the same for all sessions of a user, whereas
    /// [`token`](Self::token) is another for each. Copies no text.
    #[must_use]
    pub fn account(&self) -> Account {
        match &self.holder {
            Holder::Program { .. } => Account::Token(self.token),
            Holder::User { name, .. } => Account::User(Arc::clone(name)),
            Holder::Client { subject, .. } => Account::Client(Arc::clone(subject)),
        }
    }

    /// To whom the token was given.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// The name of the user, if it is one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match &self.holder {
            Holder::User { name, .. } => Some(name),
            Holder::Program { .. } | Holder::Client { .. } => None,
        }
    }
}

// === impl Account ===

impl fmt::Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(name) => write!(f, "user:{name}"),
            Self::Token(digest) => write!(f, "token:{digest}"),
            Self::Client(subject) => write!(f, "client:{subject}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_of_a_user_have_one_account_and_kinds_of_callers_share_no_name() {
        let user = |name: &str, token: &str| {
            let name = Arc::from(name);
            let databases = Arc::default();
            Identity::new(TokenHash::of(token), Holder::User { name, databases })
        };
        let program =
            |token: &str| Identity::new(TokenHash::of(token), Holder::Program { database: None });
        let (one, two) = (user("alice", "one"), user("alice", "two"));
        assert_ne!(one.token(), two.token());
        assert_eq!(one.account(), two.account());
        assert_eq!(one.account().to_string(), "user:alice");
        assert_ne!(one.account(), user("bob", "one").account());
        assert_ne!(program("one").account(), program("two").account());
        assert_ne!(one.account(), program("one").account());
        let expected = format!("token:{}", TokenHash::of("one"));
        assert_eq!(program("one").account().to_string(), expected);
    }
}
