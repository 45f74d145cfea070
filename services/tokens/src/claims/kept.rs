//! The claims that are kept of an issuer's tokens.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};

/// The names of the claims that are kept of an issuer's tokens; others are forgotten. Clones share
/// them, so that a reload can exchange them.
#[derive(Clone, Debug, Default)]
pub struct KeptClaims(Arc<ArcSwap<Vec<String>>>);

// === impl KeptClaims ===

impl KeptClaims {
    /// Keeps the claims of these names.
    #[must_use]
    pub fn new(names: Vec<String>) -> Self {
        Self(Arc::new(ArcSwap::from_pointee(names)))
    }

    /// Returns the names.
    #[must_use]
    pub fn names(&self) -> Guard<Arc<Vec<String>>> {
        self.0.load()
    }

    /// Takes the names of another one. They also hold for tokens that are known already.
    pub fn replace(&self, other: &Self) {
        self.0.store(other.0.load_full());
    }
}

impl PartialEq for KeptClaims {
    fn eq(&self, other: &Self) -> bool {
        *self.names() == *other.names()
    }
}

impl Eq for KeptClaims {}
