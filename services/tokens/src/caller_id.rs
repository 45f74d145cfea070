//! Names of callers, and the digests that they are counted by.

use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};

/// Name of a caller, by its kind. A token, an address or a connection is no part of it, so a new
/// one does not bring a new allowance.
///
/// ```
/// use ziggurat_tokens::CallerId;
///
/// let alice = CallerId::User("alice");
/// assert_eq!(alice.digest(), CallerId::User("alice").digest());
/// let token = CallerId::Token { id: "alice", toolsets: &[] };
/// assert_ne!(alice.digest(), token.digest());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallerId<'a> {
    /// An API token, by its id and never by the token itself.
    Token {
        /// Id of the token.
        id: &'a str,
        /// Toolsets of the token itself. They name no caller, and its digest does not depend on
        /// them.
        toolsets: &'a [String],
    },
    /// A user, by name.
    User(&'a str),
    /// A user who allowed scopes to a program. All programs of one user share an allowance.
    Person {
        /// Name of the user.
        name: &'a str,
        /// Scopes that were allowed. They name no caller, and the digest does not depend on them.
        scopes: &'a [String],
    },
    /// A client of an issuer. All clients with one subject share an allowance.
    Client {
        /// Subject of the token.
        subject: &'a str,
        /// Client that the token was issued to.
        client: Option<&'a str>,
        /// Tenant of the client.
        tenant: Option<&'a str>,
        /// Scopes of the token. They name no caller, and its digest does not depend on them.
        scopes: &'a [String],
    },
    /// The local user, of standard input and of servers without authentication.
    Local,
}

/// SHA-256 of the kind and the name of a caller, equal in all replicas.
///
/// ```
/// use ziggurat_tokens::{CallerDigest, CallerId};
///
/// let digest = CallerId::User("alice").digest();
/// let stored: [u8; 32] = digest.0;
/// assert_eq!(CallerDigest(stored), digest);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CallerDigest(pub [u8; 32]);

// === impl CallerId ===

impl CallerId<'_> {
    /// Returns the digest that the caller is counted by.
    #[must_use]
    pub fn digest(&self) -> CallerDigest {
        let (kind, name) = self.parts();
        let mut context = Context::new(&SHA256);
        context.update(kind.as_bytes());
        context.update(name.as_bytes());
        let mut digest = [0; 32];
        digest.copy_from_slice(context.finish().as_ref());
        CallerDigest(digest)
    }
}

impl<'a> CallerId<'a> {
    /// Returns the toolsets of an API token itself.
    #[must_use]
    pub fn toolsets(&self) -> &'a [String] {
        match *self {
            Self::Token { toolsets, .. } => toolsets,
            _ => &[],
        }
    }

    /// Returns the kind and the name, which the digest is made of.
    #[must_use]
    pub fn parts(&self) -> (&'static str, &'a str) {
        match *self {
            Self::Token { id, .. } => ("token:", id),
            Self::User(name) | Self::Person { name, .. } => ("user:", name),
            Self::Client { subject, .. } => ("client:", subject),
            Self::Local => ("local:", ""),
        }
    }
}

// === impl CallerDigest ===

impl fmt::Debug for CallerDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = self.0.iter();
        digits.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
