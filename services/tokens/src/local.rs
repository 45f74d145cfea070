//! The caller of a server without authentication.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

use crate::Claims;

/// Facts about a caller without an identity: over standard input and output, without
/// authentication, and before a login.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Local {
    /// Its name, if it has one.
    pub name: Option<Box<str>>,
    /// Its claims.
    pub claims: Claims,
    /// True where callers authenticate: a caller without an identity has proved nothing, and is not
    /// the local one.
    pub is_anonymous: bool,
}

/// The facts about the local caller. Clones share them, so that a reload can exchange them.
#[derive(Clone, Debug, Default)]
pub struct LocalCaller(Arc<ArcSwap<Local>>);

// === impl LocalCaller ===

impl LocalCaller {
    /// Makes it from these facts.
    #[must_use]
    pub fn new(local: Local) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(local)))
    }

    /// Returns the facts.
    #[must_use]
    pub fn get(&self) -> Guard<Arc<Local>> {
        self.0.load()
    }

    /// Takes the facts of another one. Calls that have begun keep theirs.
    pub fn replace(&self, other: &Self) {
        self.0.store(other.0.load_full());
    }
}

impl PartialEq for LocalCaller {
    fn eq(&self, other: &Self) -> bool {
        *self.get() == *other.get()
    }
}

impl Eq for LocalCaller {}
