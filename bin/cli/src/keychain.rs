//! Where a client secret is kept.

use std::fmt;

/// A store of secrets, one per profile and configuration file.
pub(crate) trait Keychain: fmt::Debug + Send + Sync {
    /// Reads the secret of an account.
    fn read(&self, account: &str) -> Result<String, KeychainError>;
    /// Stores the secret of an account.
    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError>;
    /// Removes the secret of an account.
    fn delete(&self, account: &str) -> Result<(), KeychainError>;
}

/// Why the keychain did not answer with a secret.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum KeychainError {
    /// It has no entry of this account.
    NotFound,
    /// It cannot be used.
    Unavailable(String),
}

/// No keychain at all.
#[derive(Debug)]
pub(crate) struct NoKeychain;

impl Keychain for NoKeychain {
    fn read(&self, _: &str) -> Result<String, KeychainError> {
        Err(KeychainError::NotFound)
    }

    fn store(&self, _: &str, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::Unavailable(
            "keychain: not wanted".to_owned(),
        ))
    }

    fn delete(&self, _: &str) -> Result<(), KeychainError> {
        Err(KeychainError::NotFound)
    }
}
