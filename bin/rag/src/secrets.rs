//! The secrets that this program has loaded, to redact them from the log.

use std::{fmt, sync::Arc};

use arc_swap::ArcSwap;
use ziggurat_runtime::redact::Redactor;

/// The secrets to redact. Clones share them.
///
/// Secrets are never removed, because libraries may still log secrets of a replaced configuration.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    known: Arc<ArcSwap<Redactor>>,
}

// === impl Secrets ===

impl Secrets {
    /// Adds secrets to redact.
    pub(crate) fn add(&self, secrets: impl IntoIterator<Item = impl AsRef<[u8]>>) {
        let mut known = Redactor::clone(&self.known.load());
        for secret in secrets {
            known.add(secret.as_ref());
        }
        self.known.store(Arc::new(known));
    }

    /// Redacts the secrets in a text, and all that looks like a secret.
    pub(crate) fn redact(&self, text: &str) -> String {
        self.known.load().redact(text)
    }

    /// Redacts the secrets in a text.
    pub(crate) fn hide(&self, text: &str) -> String {
        self.known.load().hide(text)
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(…)")
    }
}
