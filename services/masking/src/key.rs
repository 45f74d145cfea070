//! The key of hashes.

use std::{fmt, sync::Arc};

use aws_lc_rs::{constant_time, hmac};
use thiserror::Error;

/// Shortest key, in bytes.
const SHORTEST: usize = 16;

/// Bytes of a hash that are shown, as two digits each.
const SHOWN: usize = 8;

/// Secret key of hashes. `Debug` does not show it.
#[derive(Clone)]
pub struct Key {
    key: Arc<hmac::Key>,
    bytes: Arc<[u8]>,
}

/// A key that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must have at least {SHORTEST} bytes")]
pub struct InvalidKey;

// === impl Key ===

impl Key {
    /// Makes a key of its bytes.
    ///
    /// # Errors
    /// Fails if there are too few.
    pub fn new(bytes: &[u8]) -> Result<Self, InvalidKey> {
        if bytes.len() < SHORTEST {
            return Err(InvalidKey);
        }
        Ok(Self {
            key: Arc::new(hmac::Key::new(hmac::HMAC_SHA256, bytes)),
            bytes: bytes.into(),
        })
    }

    /// Returns the first sixteen digits of the hash of a value under a label.
    pub(crate) fn hash(&self, label: &str, value: &[u8]) -> String {
        let mut context = hmac::Context::with_key(&self.key);
        context.update(label.as_bytes());
        // No value of PostgreSQL holds this byte.
        context.update(&[0]);
        context.update(value);
        let tag = context.sign();
        let mut digits = String::with_capacity(2 * SHOWN);
        for byte in &tag.as_ref()[..SHOWN] {
            for half in [byte >> 4, byte & 15] {
                digits.push(char::from_digit(half.into(), 16).expect("half a byte is a digit"));
            }
        }
        digits
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        constant_time::verify_slices_are_equal(&self.bytes, &other.bytes).is_ok()
    }
}

impl Eq for Key {}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}
