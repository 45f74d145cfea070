//! The secrets this program has loaded, so that none of them is ever written.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use ziggurat_runtime::redact::Redactor;

/// Everything that must not be written. Clones are one and the same.
///
/// Secrets are added and never taken away: those of a configuration that was replaced may still
/// be quoted by whoever knew them.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    known: Arc<ArcSwap<Redactor>>,
}

// === impl Secrets ===

impl Secrets {
    /// Hides these from now on.
    pub(crate) fn add(&self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        let mut known = Redactor::clone(&self.known.load());
        for secret in secrets {
            known.add(secret.as_ref());
        }
        self.known.store(Arc::new(known));
    }

    /// The text without secrets, and without what looks like one.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.known.load().redact(text)
    }

    /// The text without secrets.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.known.load().hide(text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}
