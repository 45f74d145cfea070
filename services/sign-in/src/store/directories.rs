//! People who come from other providers, as they are kept.

use crate::store::{Digest, Seconds};

/// The account of a person at another provider.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The name of the provider in the settings.
    pub provider: String,
    /// The subject of the person there, which never changes.
    pub subject: String,
}

/// A sign-in that a browser has begun at another provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// Digest of the provider and the state.
    pub hash: Digest,
    /// The way of the person through the pages, sealed.
    pub flow: String,
    /// Digest of the number that the ID token must have.
    pub nonce: Digest,
    /// The verifier for the code of the provider, sealed.
    pub verifier: String,
    /// The moment at which it expires.
    pub ends_at: Seconds,
}

/// The person of an account at another provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Link {
    /// The account at the provider.
    pub origin: Origin,
    /// The id of the person.
    pub person: String,
    /// The name and the access of the person as the provider said at last, as JSON.
    pub claims: String,
    /// The refresh token of the provider, sealed, if it gave one.
    pub refresh: Option<String>,
    /// The moment at which the provider confirmed the person last; zero after it refused.
    pub checked_at: Seconds,
}
