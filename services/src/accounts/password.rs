//! Passwords, and the hashes that are kept of them.

use std::fmt;
#[cfg(test)]
use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use bcrypt::{BcryptError, HashParts};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tracing::warn;

/// About 0.4 s on a machine of 2026.
const DEFAULT_COST: u32 = 12;

/// A hash that costs more is as good as none: checking it takes the server minutes.
const MAX_COST: u32 = 16;

/// bcrypt reads no more.
const MAX_BYTES: usize = 72;

/// What follows the cost in a hash that was made of no password.
const NOBODY: &str = "abcdefghijklmnopqrstuuABCDEFGHIJKLMNOPQRSTUVWXYZabcdu";

/// Hashes passwords and checks them, always at the same expense.
#[derive(Clone)]
#[must_use]
pub(super) struct Passwords {
    cost: u32,
    /// Checked in place of a hash that is not there.
    nobody: String,
    #[cfg(test)]
    checks: Arc<AtomicUsize>,
}

/// Why a password cannot be set. The words are for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// There is none.
    #[error("password is required")]
    Missing,
    /// What is behind the 72nd byte would not count.
    #[error("password must not be longer than 72 bytes")]
    TooLong,
    /// It could not be hashed.
    #[error("password could not be hashed")]
    Hash(#[source] BcryptError),
}

// === impl Passwords ===

impl Passwords {
    pub(super) fn with_cost(cost: u32) -> Self {
        Self {
            cost,
            nobody: format!("$2b${cost:02}${NOBODY}"),
            #[cfg(test)]
            checks: Arc::default(),
        }
    }

    /// Hashes a new password. Takes its time.
    pub(super) fn hash(&self, password: &SecretString) -> Result<String, PasswordError> {
        let password = password.expose_secret();
        match password.len() {
            0 => Err(PasswordError::Missing),
            // Nothing is cut here; `non_truncating_hash` refuses this length for the lack of
            // room for a terminating zero that is not looked at.
            MAX_BYTES => bcrypt::hash(password, self.cost).map_err(PasswordError::Hash),
            _ => bcrypt::non_truncating_hash(password, self.cost).map_err(|error| match error {
                BcryptError::Truncation(_) => PasswordError::TooLong,
                error => PasswordError::Hash(error),
            }),
        }
    }

    /// Checks a password. Takes its time once, whether there is a hash or not, so that the
    /// time does not tell who has an account.
    pub(super) fn is_right(&self, password: &SecretString, hash: Option<&str>) -> bool {
        #[cfg(test)]
        self.checks.fetch_add(1, Ordering::Relaxed);
        let password = password.expose_secret();
        let usable = hash.filter(|hash| is_usable(hash));
        // A longer password would pass with its first 72 bytes.
        let counts = usable.is_some() && password.len() <= MAX_BYTES;
        let matches = bcrypt::verify(password, usable.unwrap_or(&self.nobody));
        counts && matches.unwrap_or_default()
    }

    #[cfg(test)]
    pub(super) fn checks(&self) -> usize {
        self.checks.load(Ordering::Relaxed)
    }
}

impl Default for Passwords {
    fn default() -> Self {
        Self::with_cost(DEFAULT_COST)
    }
}

impl fmt::Debug for Passwords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passwords")
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

fn is_usable(hash: &str) -> bool {
    let parts = hash.parse::<HashParts>();
    let is_usable = parts.is_ok_and(|parts| parts.get_cost() <= MAX_COST);
    if !is_usable {
        warn!("a password hash in the user file is not bcrypt, or too expensive to check");
    }
    is_usable
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> Passwords {
        Passwords::with_cost(4)
    }

    #[test]
    fn a_password_passes_and_every_other_does_not() {
        let passwords = cheap();
        let hash = passwords.hash(&"correct horse".into()).expect("hashed");
        assert!(hash.starts_with("$2b$04$"), "{hash}");
        for (password, expected) in [
            ("correct horse", true),
            ("correct horsf", false),
            ("correct horse ", false),
            ("", false),
        ] {
            let is_right = passwords.is_right(&password.into(), Some(&hash));
            assert_eq!(is_right, expected, "{password}");
        }
    }

    #[test]
    fn the_usual_cost_is_twelve() {
        assert_eq!(Passwords::default().cost, 12);
    }

    #[test]
    fn all_three_spellings_of_a_hash_are_known() {
        let passwords = cheap();
        let hash = passwords.hash(&"secret".into()).expect("hashed");
        for version in ["$2a$", "$2b$", "$2y$"] {
            let hash = hash.replace("$2b$", version);
            assert!(
                passwords.is_right(&"secret".into(), Some(&hash)),
                "{version}"
            );
        }
    }

    #[test]
    fn seventy_two_bytes_are_a_password_and_one_more_is_not() {
        let passwords = cheap();
        let longest = "x".repeat(72);
        let hash = passwords.hash(&longest.as_str().into()).expect("hashed");
        assert!(passwords.is_right(&longest.as_str().into(), Some(&hash)));

        let longer = format!("{longest}y");
        let error = passwords.hash(&longer.as_str().into()).expect_err("long");
        assert_eq!(
            error.to_string(),
            "password must not be longer than 72 bytes"
        );
        let is_right = passwords.is_right(&longer.into(), Some(&hash));
        assert!(!is_right, "its first 72 bytes are right");
        let none = passwords.hash(&"".into()).expect_err("none");
        assert_eq!(none.to_string(), "password is required");
    }

    #[test]
    fn a_hash_nobody_can_check_is_nobodys() {
        let passwords = cheap();
        let expensive = format!("$2b$31${NOBODY}");
        for hash in [None, Some(""), Some("x"), Some(&*expensive)] {
            assert!(!passwords.is_right(&"secret".into(), hash), "{hash:?}");
        }
        assert!(is_usable(&passwords.nobody), "or it would cost nothing");
    }
}
