//! What a bearer token proves.

use std::sync::Arc;

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
pub(crate) enum Selection {
    /// In this process.
    Here,
    /// Wherever the session is known: this one, if any.
    Everywhere(Option<Arc<str>>),
}

/// To whom a token was given.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Holder {
    /// A program, with an API token an administrator made.
    Program {
        /// The one database it may use; without one, the first that is configured.
        database: Option<Arc<str>>,
    },
    /// Somebody who has logged in.
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
        /// What it may be called in the configuration: that, and what else its token names.
        names: Arc<[String]>,
        /// The databases tokens of this issuer are good for; empty for no restriction.
        databases: Arc<[String]>,
    },
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

    pub(crate) fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The digest of the token. Its hexadecimal form is the session key.
    #[must_use]
    pub fn token(&self) -> TokenHash {
        self.token
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
