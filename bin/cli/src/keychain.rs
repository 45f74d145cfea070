//! Stores client secrets: in the keychain of the operating system, or nowhere.
//!
//! A keychain is another program, and some never answer. Every call is given three seconds, in a
//! thread of its own; after one that fails the keychain is not asked again.

mod bounded;
mod os;

use std::{fmt, path::Path, sync::Arc};

pub(crate) use self::bounded::Bounded;
use crate::context::Environment;

/// A store of secrets, one per profile and configuration file.
pub(crate) trait Keychain: fmt::Debug + Send + Sync {
    /// Reads the secret of an account.
    fn read(&self, account: &str) -> Result<String, KeychainError>;
    /// Stores the secret of an account.
    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError>;
    /// Removes the secret of an account.
    fn delete(&self, account: &str) -> Result<(), KeychainError>;
}

/// The failure of a call of the keychain.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum KeychainError {
    /// It has no entry of this account.
    NotFound,
    /// It cannot be used; the cause is for the user.
    Unavailable(String),
}

/// No keychain at all: nothing is in it and nothing goes in.
#[derive(Debug)]
pub(crate) struct NoKeychain;

/// The keychain of this system, or none where it is not wanted.
pub(crate) fn of_system(environment: &Environment, is_allowed: bool) -> Arc<dyn Keychain> {
    let is_forbidden = environment
        .var("ZIGGURAT_NO_KEYCHAIN")
        .is_some_and(|value| !matches!(value, "0" | "false"));
    if is_forbidden || !is_allowed {
        Arc::new(NoKeychain)
    } else {
        Arc::new(Bounded::new(os::System))
    }
}

/// The account a secret is kept under: one per profile and configuration file.
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
