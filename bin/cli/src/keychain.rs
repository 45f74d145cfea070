//! Stores client secrets in the keychain of the operating system, if there is one.
//!
//! A keychain is another program, and some never respond. Every call has a timeout of three
//! seconds, in a separate thread; after a failure the keychain is not used again.

mod bounded;
mod os;

use std::{fmt, path::Path, sync::Arc};

use ziggurat_runtime::Environment;

pub(crate) use self::bounded::Bounded;

/// A store of secrets, one per profile and configuration file.
pub(crate) trait Keychain: fmt::Debug + Send + Sync {
    /// Reads the secret of an account.
    fn read(&self, account: &str) -> Result<String, KeychainError>;
    /// Stores the secret of an account.
    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError>;
    /// Removes the secret of an account.
    fn delete(&self, account: &str) -> Result<(), KeychainError>;
}

/// The failure of a keychain call.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum KeychainError {
    /// It has no entry for this account.
    NotFound,
    /// It cannot be used; the reason is for the user.
    Unavailable(String),
}

/// A keychain that is always empty and stores nothing.
#[derive(Debug)]
pub(crate) struct NoKeychain;

/// Returns the keychain of this system, or none if it is disabled.
pub(crate) fn of_system(environment: &Environment, is_allowed: bool) -> Arc<dyn Keychain> {
    let is_forbidden = environment
        .get("ZIGGURAT_NO_KEYCHAIN")
        .is_some_and(|value| !matches!(value, "0" | "false"));
    if is_forbidden || !is_allowed {
        Arc::new(NoKeychain)
    } else {
        Arc::new(Bounded::new(os::System))
    }
}

/// Returns the account name for a secret: one per profile and configuration file.
pub(crate) fn account(profile: &str, config: &Path) -> String {
    format!("{profile}@{}", config.display())
}

// === impl NoKeychain ===

impl Keychain for NoKeychain {
    fn read(&self, _: &str) -> Result<String, KeychainError> {
        Err(KeychainError::NotFound)
    }

    fn store(&self, _: &str, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::Unavailable(
            "keychain: switched off".to_owned(),
        ))
    }

    fn delete(&self, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::NotFound)
    }
}

// === impl KeychainError ===

impl fmt::Display for KeychainError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => formatter.write_str("keychain: no entry"),
            Self::Unavailable(cause) => formatter.write_str(cause),
        }
    }
}
