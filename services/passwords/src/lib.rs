//! Passwords: their stored hashes, rules for new ones, and the queue of their checks.
//!
//! A check takes the same time whether an account exists or not. Few checks run at the same time,
//! because each uses a core for some tenths of a second: see [`LoginLimiter`].
//!
//! ```
//! use ziggurat_passwords::Passwords;
//!
//! let passwords = Passwords::default();
//! # let passwords = Passwords::with_cost(4);
//! let hash = passwords.hash_new(&"correct horse".into(), 12, "alice")?;
//! assert!(passwords.is_right(&"correct horse".into(), Some(&hash)));
//! assert!(!passwords.is_right(&"battery staple".into(), Some(&hash)));
//! assert!(!passwords.is_right(&"correct horse".into(), None));
//! # Ok::<_, ziggurat_passwords::PasswordError>(())
//! ```

mod digest;
mod limiter;

use std::fmt;
#[cfg(any(test, feature = "test-support"))]
use std::sync::{Arc, Mutex};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use bcrypt::HashParts;
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use secrecy::{ExposeSecret as _, SecretString};
use thiserror::Error;
use tracing::warn;

use self::digest::{MAX_BYTES, Salt, kept};

pub use self::limiter::{LoginLimiter, QueueFull, Slot};

/// About 0.4 s on a machine of 2026.
const DEFAULT_COST: u32 = 12;

/// Length of a password that is made: more than 128 random bits.
const MADE_LENGTH: usize = 24;

/// Minimum of bcrypt.
const MIN_COST: u32 = 4;

/// Hashes with a higher cost are refused, because a check would take the server minutes.
const MAX_COST: u32 = 16;

/// Hashes and checks passwords, always at the same cost.
#[derive(Clone)]
#[must_use]
pub struct Passwords {
    cost: u32,
    /// The cost of each check so far.
    #[cfg(any(test, feature = "test-support"))]
    checks: Arc<Mutex<Vec<u32>>>,
}

/// Reason why a password cannot be set. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PasswordError {
    /// The password is empty.
    #[error("password is required")]
    Missing,
    /// The password is too easy to guess.
    #[error("password must have at least {0} characters")]
    TooShort(usize),
    /// bcrypt ignores all bytes after the 72nd.
    #[error("password must not be longer than 72 bytes")]
    TooLong,
    /// The password has the name of its account in it.
    #[error("password must not contain the name of the account")]
    ContainsName,
    /// The system has no random bytes.
    #[error("password could not be hashed")]
    Random(#[from] SysError),
}

/// Length from which on a name must not be in a password: any password may have one or two letters.
const SHORTEST_NAME: usize = 3;

// === impl Passwords ===

impl Passwords {
    /// Uses this bcrypt cost, an exponent of two, within the bounds of 4 and 16.
    pub fn with_cost(cost: u32) -> Self {
        Self {
            // Hashes of other costs are refused at login.
            cost: cost.clamp(MIN_COST, MAX_COST),
            #[cfg(any(test, feature = "test-support"))]
            checks: Arc::default(),
        }
    }

    /// Hashes a new password that has at least this many characters, and neither the name of its
    /// account in it nor the part of an address before the `@`, in whatever case. Blocks for long.
    ///
    /// # Errors
    /// Fails if the password breaks a rule, or there are no random bytes.
    pub fn hash_new(
        &self,
        password: &SecretString,
        min_length: usize,
        name: &str,
    ) -> Result<String, PasswordError> {
        let text = password.expose_secret();
        if (1..min_length).contains(&text.chars().count()) {
            return Err(PasswordError::TooShort(min_length));
        }
        let (text, name) = (text.to_lowercase(), name.to_lowercase());
        // The whole address has this part in it, and a name without `@` is the part itself.
        let part = name.split('@').next().unwrap_or_default();
        if part.chars().count() >= SHORTEST_NAME && text.contains(part) {
            return Err(PasswordError::ContainsName);
        }
        self.hash(password)
    }

    /// Hashes a password. Blocks for long.
    fn hash(&self, password: &SecretString) -> Result<String, PasswordError> {
        let password = password.expose_secret();
        match password.len() {
            0 => return Err(PasswordError::Missing),
            1..=MAX_BYTES => {}
            _ => return Err(PasswordError::TooLong),
        }
        let mut salt = Salt::default();
        SysRng.try_fill_bytes(&mut salt)?;
        Ok(kept(password, salt, self.cost))
    }

    /// Checks a password. Takes equally long with and without a hash, so that the time does not
    /// reveal which users exist. Blocks for long.
    #[must_use]
    pub fn is_right(&self, password: &SecretString, hash: Option<&str>) -> bool {
        let password = password.expose_secret();
        let parts = hash.and_then(usable);
        let (salt, cost) = parts
            .as_ref()
            .map_or((Salt::default(), self.cost), |parts| {
                (parts.get_salt_raw(), parts.get_cost())
            });
        let made = kept(password, salt, cost);
        #[cfg(any(test, feature = "test-support"))]
        ziggurat_runtime::lock(&self.checks).push(cost);
        let expected = parts.map_or_else(String::new, |parts| parts.to_string());
        let matches = verify_slices_are_equal(made.as_bytes(), expected.as_bytes());
        // bcrypt would accept a longer password by its first 72 bytes.
        matches.is_ok() && password.len() <= MAX_BYTES
    }

    /// Takes the cost of each check so far.
    #[cfg(any(test, feature = "test-support"))]
    #[must_use]
    pub fn checks(&self) -> Vec<u32> {
        std::mem::take(&mut *ziggurat_runtime::lock(&self.checks))
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

/// Makes a random password of 24 characters, or of `min_length` if that is more. It has no characters
/// that a shell or a URL would read in another way.
///
/// # Errors
/// Fails if there are no random bytes.
pub fn made(min_length: usize) -> Result<SecretString, PasswordError> {
    // As many bytes as make the longest password.
    let mut bytes = [0; MAX_BYTES / 4 * 3];
    SysRng.try_fill_bytes(&mut bytes)?;
    let mut password = URL_SAFE_NO_PAD.encode(bytes);
    password.truncate(min_length.max(MADE_LENGTH));
    Ok(password.into())
}

/// Returns the parts of a hash in any of its three formats, if its cost is allowed.
fn usable(hash: &str) -> Option<HashParts> {
    let parts = hash.parse::<HashParts>().ok();
    let parts = parts.filter(|parts| (MIN_COST..=MAX_COST).contains(&parts.get_cost()));
    if parts.is_none() {
        warn!("a stored password hash is not bcrypt, or its cost is too high");
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cheap() -> Passwords {
        Passwords::with_cost(4)
    }

    #[test]
    fn only_the_right_password_is_accepted() {
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
    fn the_cost_of_new_hashes_is_one_that_is_accepted() {
        for (cost, expected) in [(0, 4), (4, 4), (12, 12), (16, 16), (31, 16), (u32::MAX, 16)] {
            assert_eq!(Passwords::with_cost(cost).cost, expected, "{cost}");
        }
    }

    #[test]
    fn a_made_password_is_long_enough_and_never_repeated() {
        for (least, length) in [(0, 24), (12, 24), (30, 30), (72, 72), (500, 72)] {
            let [one, two] = [made(least), made(least)].map(|it| it.expect("random bytes"));
            assert_eq!(one.expose_secret().len(), length);
            assert_ne!(one.expose_secret(), two.expose_secret());
        }
    }

    #[test]
    fn a_new_password_is_long_enough_and_has_no_name_of_its_account() {
        let passwords = cheap();
        for (password, problem) in [
            ("short", "password must have at least 12 characters"),
            ("", "password is required"),
            (
                "a PlAnNed word",
                "password must not contain the name of the account",
            ),
        ] {
            for name in ["ann@shop.example", "Ann"] {
                let error = passwords.hash_new(&password.into(), 12, name);
                assert_eq!(error.expect_err(password).to_string(), problem);
            }
        }
        for name in ["ann", "", "tw", "@twelve"] {
            let hashed = passwords.hash_new(&"twelve chars".into(), 12, name);
            assert!(hashed.is_ok(), "{name}");
        }
    }

    #[test]
    fn the_default_cost_is_twelve() {
        assert_eq!(Passwords::default().cost, 12);
    }

    #[test]
    fn all_three_formats_of_a_hash_are_accepted() {
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
    fn seventy_two_bytes_are_accepted_and_one_more_is_not() {
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
    fn a_check_without_an_account_costs_the_same_hash_as_one_with_it() {
        for cost in [4, 5, 7] {
            let passwords = Passwords::with_cost(cost);
            let hash = passwords.hash(&"secret".into()).expect("hashed");
            for hash in [Some(&*hash), None, Some("x")] {
                for password in ["secret", "wrong", "", &"x".repeat(100)] {
                    let _ = passwords.is_right(&password.into(), hash);
                    assert_eq!(passwords.checks(), [cost], "{hash:?} {password}");
                }
            }
        }
    }

    #[test]
    fn an_invalid_or_too_costly_hash_matches_no_password() {
        let passwords = cheap();
        let hash = passwords.hash(&"secret".into()).expect("hashed");
        let [cheaper, expensive] = ["$03$", "$31$"].map(|cost| hash.replace("$04$", cost));
        for hash in [None, Some(""), Some("x"), Some(&*cheaper), Some(&expensive)] {
            assert!(!passwords.is_right(&"secret".into(), hash), "{hash:?}");
        }
    }
}
