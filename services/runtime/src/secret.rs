//! A text that is hidden from `Debug` output.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Deserializer};

/// A password or a key. Can be compared, so that a changed secret counts as a changed
/// configuration.
#[derive(Clone, Default)]
pub struct Secret(SecretString);

// === impl Secret ===

impl Secret {
    /// Returns the text itself.
    #[must_use]
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }

    /// Returns whether the text is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.expose().is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(text.into())
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl From<Secret> for SecretString {
    fn from(secret: Secret) -> Self {
        secret.0
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.expose() == other.expose()
    }
}

impl Eq for Secret {}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Operators need to know that a secret is missing, and this reveals nothing else.
        f.write_str(if self.is_empty() {
            "Secret(none)"
        } else {
            "Secret(…)"
        })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self(text.into()))
    }
}
