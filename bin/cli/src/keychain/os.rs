//! The keychain of the operating system: macOS Keychain, Windows Credential Manager, or the Secret
//! Service. Never the kernel's keyring, which loses its entries on a restart.

use keyring::v1::{Entry, Error};

use crate::keychain::{Keychain, KeychainError};

/// The service name of the entries.
const SERVICE: &str = "ziggurat-cli";

/// The keychain of the operating system. It may block forever.
#[derive(Debug)]
pub(super) struct System;

// === impl System ===

impl Keychain for System {
    fn read(&self, account: &str) -> Result<String, KeychainError> {
        entry(account)?.get_password().map_err(described)
    }

    fn store(&self, account: &str, secret: &str) -> Result<(), KeychainError> {
        entry(account)?.set_password(secret).map_err(described)
    }

    fn delete(&self, account: &str) -> Result<(), KeychainError> {
        entry(account)?.delete_credential().map_err(described)
    }
}

fn entry(account: &str) -> Result<Entry, KeychainError> {
    // `new` itself would only report that there is no store, without the reason.
    if let Err(error) = Entry::store_status() {
        return Err(unavailable(error));
    }
    Entry::new(SERVICE, account).map_err(described)
}

fn unavailable(error: &Error) -> KeychainError {
    KeychainError::Unavailable(format!("keychain: unavailable: {error}"))
}

fn described(error: Error) -> KeychainError {
    match error {
        Error::NoEntry => KeychainError::NotFound,
        // The bytes may still be a secret, although they are not text.
        Error::BadEncoding(_) => {
            KeychainError::Unavailable("keychain: unavailable: the entry is not text".to_owned())
        }
        error => unavailable(&error),
    }
}
