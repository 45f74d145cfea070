//! Identity of a caller with a valid bearer token.

use std::{fmt, sync::Arc};

use http::{Extensions, HeaderValue};
use jiff::Timestamp;
use ziggurat_layers::{
    bearer::TokenHash, body_limit::ByteBudget, client_ip::ClientIp, rate_limit::Key,
};

use crate::{CallerId, Claims, Grant};

/// Identity of an authenticated caller. The bearer layer adds it to the extensions of the request.
/// A server without authentication adds no identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    token: Arc<TokenDigest>,
    holder: Holder,
    /// Id of the account of a user, if it is not the name.
    account_id: Option<Arc<str>>,
    claims: Claims,
    /// None where nothing narrows the rights of the holder.
    grant: Option<Arc<Grant>>,
    toolsets: Arc<[String]>,
    selection: Selection,
    is_admin: bool,
    signed_in_at: Option<Timestamp>,
    expires_at: Option<Timestamp>,
}

/// Digest of a token. Its digits are made once, because each call needs them.
#[derive(PartialEq, Eq)]
struct TokenDigest {
    hash: TokenHash,
    /// The digest in hexadecimal digits.
    session_key: String,
}

/// Storage of the database that a session has selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// In the memory of this process.
    Local,
    /// In the session record shared by all replicas; holds the selected database, if any.
    Replicated(Option<Arc<str>>),
}

/// Holder of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// A program, with an API token that an administrator created.
    Program {
        /// Id of the token in the token file.
        id: Arc<str>,
        /// The only database it may use; `None` for the first configured one.
        database: Option<Arc<str>>,
    },
    /// A user who has logged in.
    User {
        /// Name of the user.
        name: Arc<str>,
        /// Databases that the account may use; empty for all.
        databases: Arc<[String]>,
    },
    /// A client of a trusted issuer.
    Client {
        /// Subject of the token.
        subject: Arc<str>,
        /// Client that the token was issued to, if the token names it.
        client: Option<Arc<str>>,
        /// Tenant of the client, if the token names it.
        tenant: Option<Arc<str>>,
        /// Scopes of the token that was presented.
        scopes: Arc<[String]>,
        /// Databases that tokens of this issuer give access to; empty for all.
        databases: Arc<[String]>,
    },
}

/// Account of a caller. All sessions of a user share one account, and so do all tokens of an issuer
/// for one subject; an API token is an account of its own.
///
/// It never changes, so limits for all sessions of an account are counted by it. Its text begins
/// with the kind: `user:<id>`, `token:<digest>`, `client:<subject>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Account {
    /// A user, by the id of the account.
    User(Arc<str>),
    /// An API token, by its digest.
    Token(TokenHash),
    /// A client of an issuer, by its subject.
    Client(Arc<str>),
}

// === impl Identity ===

impl Identity {
    /// Creates the identity for a token.
    #[must_use]
    pub fn new(token: TokenHash, holder: Holder) -> Self {
        let digest = TokenDigest {
            hash: token,
            session_key: token.to_string(),
        };
        Self {
            token: Arc::new(digest),
            holder,
            account_id: None,
            claims: Claims::default(),
            grant: None,
            toolsets: Arc::default(),
            selection: Selection::Local,
            is_admin: false,
            signed_in_at: None,
            expires_at: None,
        }
    }

    /// Sets the id of the account of a user, which no later account of the same name has.
    #[must_use]
    pub fn with_account_id(self, id: Arc<str>) -> Self {
        let account_id = Some(id);
        Self { account_id, ..self }
    }

    /// Sets the claims.
    #[must_use]
    pub fn with_claims(self, claims: Claims) -> Self {
        Self { claims, ..self }
    }

    /// Narrows the rights of the holder to the ones of a grant.
    #[must_use]
    pub fn with_grant(self, grant: Arc<Grant>) -> Self {
        let grant = Some(grant);
        Self { grant, ..self }
    }

    /// Sets the toolsets of an API token itself.
    #[must_use]
    pub fn with_toolsets(self, toolsets: impl Into<Arc<[String]>>) -> Self {
        let toolsets = toolsets.into();
        Self { toolsets, ..self }
    }

    /// Sets the database that a shared session has selected, if any.
    #[must_use]
    pub fn with_selection(self, database: Option<Arc<str>>) -> Self {
        let selection = Selection::Replicated(database);
        Self { selection, ..self }
    }

    /// Sets whether the holder is a user who administers the server.
    #[must_use]
    pub fn with_admin(self, is_admin: bool) -> Self {
        Self { is_admin, ..self }
    }

    /// Sets the time at which a session began.
    #[must_use]
    pub fn with_sign_in(self, at: Timestamp) -> Self {
        let signed_in_at = Some(at);
        Self {
            signed_in_at,
            ..self
        }
    }

    /// Sets the time at which the token ends, if it does.
    #[must_use]
    pub fn with_expiry(self, expires_at: Option<Timestamp>) -> Self {
        Self { expires_at, ..self }
    }

    /// Returns whether the holder is a user who administers the server.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.is_admin
    }

    /// Returns the time at which the session began; `None` if the caller has no session.
    #[must_use]
    pub fn signed_in_at(&self) -> Option<Timestamp> {
        self.signed_in_at
    }

    /// Returns the time at which the token ends; none if it does not, or if its issuer decides.
    #[must_use]
    pub fn expires_at(&self) -> Option<Timestamp> {
        self.expires_at
    }

    /// Returns the storage of the selected database.
    #[must_use]
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// Returns the digest of the token.
    #[must_use]
    pub fn token(&self) -> TokenHash {
        self.token.hash
    }

    /// Returns the session key: the digest of the token in hexadecimal digits.
    #[must_use]
    pub fn session_key(&self) -> &str {
        &self.token.session_key
    }

    /// Returns the account of the token: the same for all sessions of a user, while
    /// [`token`](Self::token) differs. Copies no text.
    #[must_use]
    pub fn account(&self) -> Account {
        match &self.holder {
            Holder::Program { .. } => Account::Token(self.token()),
            Holder::User { name, .. } => {
                Account::User(Arc::clone(self.account_id.as_ref().unwrap_or(name)))
            }
            Holder::Client { subject, .. } => Account::Client(Arc::clone(subject)),
        }
    }

    /// Returns the number by which a [`ByteBudget`] counts the bodies of a request's caller: the
    /// number of its account, or of its address if it has no identity.
    #[must_use]
    pub fn body_caller(extensions: &Extensions) -> u64 {
        let address: Option<&ClientIp> = extensions.get();
        match extensions.get::<Self>() {
            Some(identity) => ByteBudget::caller(&identity.account()),
            None => ByteBudget::caller(&address.map(|client| Key::from(*client))),
        }
    }

    /// Returns the holder of the token.
    #[must_use]
    pub fn holder(&self) -> &Holder {
        &self.holder
    }

    /// Returns whether a grant allows changes, where there is one.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.grant.as_ref().is_none_or(|grant| grant.may_write)
    }

    /// Returns the challenge for a call that would write, if the grant does not allow that and clients
    /// are sent back to the person for it.
    #[must_use]
    pub fn step_up(&self) -> Option<&HeaderValue> {
        self.grant.as_ref()?.step_up.as_ref()
    }

    /// Returns the named scopes of a grant.
    fn scopes(&self) -> &[String] {
        let grant = self.grant.as_ref();
        grant.map_or(&[], |grant| &grant.scopes)
    }

    /// Returns whether a grant allows some databases only.
    #[must_use]
    pub fn is_narrowed(&self) -> bool {
        let grant = self.grant.as_ref();
        grant.is_some_and(|grant| grant.databases.is_some())
    }

    /// Returns whether a grant allows a database, where there is one.
    #[must_use]
    pub fn may_use(&self, database: &str) -> bool {
        let grant = self.grant.as_ref();
        grant.is_none_or(|grant| grant.has_database(database))
    }

    /// Returns the claims of the token, or of the account of its user.
    #[must_use]
    pub fn claims(&self) -> &Claims {
        &self.claims
    }

    /// Returns the kind of the holder, for records and metrics.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match &self.holder {
            Holder::Program { .. } => "token",
            Holder::User { .. } => "user",
            Holder::Client { .. } => "client",
        }
    }

    /// Returns the name of the holder, for records.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.holder {
            Holder::Program { id: name, .. }
            | Holder::User { name, .. }
            | Holder::Client { subject: name, .. } => name,
        }
    }

    /// Returns the name that the holder has in lists of callers, and is counted by.
    #[must_use]
    pub fn caller_id(&self) -> CallerId<'_> {
        match &self.holder {
            Holder::Program { id, .. } => CallerId::Token {
                id,
                toolsets: &self.toolsets,
            },
            Holder::User { name, .. } => match self.scopes() {
                [] => CallerId::User(name),
                scopes => CallerId::Person { name, scopes },
            },
            Holder::Client {
                subject,
                client,
                tenant,
                scopes,
                ..
            } => CallerId::Client {
                subject,
                client: client.as_deref(),
                tenant: tenant.as_deref(),
                scopes,
            },
        }
    }

    /// Returns the id that state of the holder is kept under: the id of a user's account, or else the
    /// name. A new user of an old name has another id.
    #[must_use]
    pub fn account_id(&self) -> &str {
        self.account_id.as_deref().unwrap_or_else(|| self.name())
    }

    /// Returns the first eight digits of the digest of the token, for records.
    #[must_use]
    pub fn digits(&self) -> &str {
        self.session_key().get(..8).unwrap_or_default()
    }

    /// Returns the name of the user, if the holder is a user.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        match &self.holder {
            Holder::User { name, .. } => Some(name),
            Holder::Program { .. } | Holder::Client { .. } => None,
        }
    }
}

// === impl TokenDigest ===

impl fmt::Debug for TokenDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The hash shows its first digits only.
        fmt::Debug::fmt(&self.hash, f)
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
    fn sessions_of_a_user_share_an_account_and_kinds_of_callers_share_no_name() {
        let user = |name: &str, token: &str| {
            let name = Arc::from(name);
            let databases = Arc::default();
            Identity::new(TokenHash::of(token), Holder::User { name, databases })
        };
        let program = |token: &str| {
            let (id, database) = (token.into(), None);
            Identity::new(TokenHash::of(token), Holder::Program { id, database })
        };
        let (one, two) = (user("alice", "one"), user("alice", "two"));
        assert_ne!(one.token(), two.token());
        assert_eq!(one.account(), two.account());
        assert_eq!(one.account().to_string(), "user:alice");
        assert_ne!(one.account(), user("bob", "one").account());
        let later = user("alice", "three").with_account_id("another".into());
        assert_ne!(later.account(), one.account());
        assert_eq!((one.account_id(), later.account_id()), ("alice", "another"));
        assert_ne!(program("one").account(), program("two").account());
        assert_ne!(one.account(), program("one").account());
        let expected = format!("token:{}", TokenHash::of("one"));
        assert_eq!(program("one").account().to_string(), expected);
    }

    #[test]
    fn the_debug_form_shows_only_the_first_digits_of_the_digest() {
        let (id, database) = ("token-1".into(), None);
        let identity = Identity::new(TokenHash::of("one"), Holder::Program { id, database });
        let (key, shown) = (identity.session_key(), format!("{identity:?}"));
        assert_eq!(key, TokenHash::of("one").to_string());
        assert_eq!(identity.digits(), &key[..8]);
        assert!(shown.contains(&key[..12]) && !shown.contains(&key[..13]));
    }
}
