//! Links of the chain: each covers a line and the link before.

use std::{
    fmt,
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use aws_lc_rs::hmac;
use sha2::{Digest as _, Sha256};
use thiserror::Error;

/// Largest key file; a longer file is probably not one.
const MAX_KEY_BYTES: u64 = 4096;

/// Key of a chain, without which its links cannot be computed.
#[derive(Clone)]
pub struct Key(hmac::Key);

/// Reason why a key file cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read.
    #[error("the key file cannot be read")]
    Read(#[source] io::Error),
    /// The file contains nothing but white space.
    #[error("the key file is empty")]
    Empty,
    /// The file is larger than a key.
    #[error("the key file is larger than 4 KiB")]
    TooLarge,
}

/// Digest of a text.
#[derive(Clone, Copy)]
pub(crate) struct Sha([u8; 32]);

/// Digest in hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Hex([u8; 64]);

// === impl Key ===

impl Key {
    /// Creates a key from its bytes.
    #[must_use]
    pub fn new(bytes: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// Reads a key from a file; white space around it does not count.
    ///
    /// # Errors
    /// Fails if the file cannot be read, is empty, or is larger than 4 KiB.
    pub fn read(path: &Path) -> Result<Self, KeyError> {
        let mut bytes = Vec::new();
        File::open(path)
            .and_then(|file| file.take(MAX_KEY_BYTES + 1).read_to_end(&mut bytes))
            .map_err(KeyError::Read)?;
        if bytes.len() as u64 > MAX_KEY_BYTES {
            return Err(KeyError::TooLarge);
        }
        match bytes.trim_ascii() {
            [] => Err(KeyError::Empty),
            key => Ok(Self::new(key)),
        }
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

// === impl Sha ===

impl Sha {
    pub(crate) fn digest(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    pub(crate) fn hex(&self) -> Hex {
        Hex::encode(&self.0)
    }
}

// === impl Hex ===

impl Hex {
    #[cfg(test)]
    pub(crate) fn digest(bytes: &[u8]) -> Self {
        Sha::digest(bytes).hex()
    }

    /// Reads 64 lower-case hexadecimal digits.
    pub(crate) fn parse(text: &[u8]) -> Option<Self> {
        let digits: [u8; 64] = text.try_into().ok()?;
        let is_digit = |byte: &u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        digits.iter().all(is_digit).then_some(Self(digits))
    }

    /// Computes the link of a line, given without its member `chain`.
    pub(crate) fn link(key: Option<&Key>, before: Option<&Self>, line: &[u8]) -> Self {
        let before = before.map_or(&[][..], |link| &link.0);
        if let Some(Key(key)) = key {
            let mut context = hmac::Context::with_key(key);
            context.update(before);
            context.update(line);
            Self::encode(context.sign().as_ref())
        } else {
            let mut context = Sha256::new();
            context.update(before);
            context.update(line);
            Self::encode(&context.finalize())
        }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(&self.0).expect("digits are ASCII")
    }

    fn encode(bytes: &[u8]) -> Self {
        let digit = |nibble: u8| nibble + if nibble < 10 { b'0' } else { b'a' - 10 };
        let mut digits = [b'0'; 64];
        for (pair, byte) in digits.as_chunks_mut::<2>().0.iter_mut().zip(bytes) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        Self(digits)
    }
}

impl fmt::Debug for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_link_is_the_digest_of_the_link_before_and_the_line() {
        let first = Hex::link(None, None, b"abc");
        let known = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(first.as_str(), known);
        let joined = format!("{known}line");
        assert_eq!(
            Hex::link(None, Some(&first), b"line"),
            Hex::digest(joined.as_bytes())
        );
        assert_eq!(Hex::parse(known.as_bytes()), Some(first));
        assert_eq!(Hex::parse(known.to_uppercase().as_bytes()), None);
    }

    #[test]
    fn a_key_makes_it_an_hmac() {
        // Test case 2 of RFC 4231.
        let link = Hex::link(
            Some(&Key::new(b"Jefe")),
            None,
            b"what do ya want for nothing?",
        );
        let known = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(link.as_str(), known);
    }

    #[test]
    fn a_key_file_is_read_without_the_line_break_at_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        assert!(matches!(Key::read(&path), Err(KeyError::Read(_))));
        fs::write(&path, "Jefe\n").expect("written");
        let read = Key::read(&path).expect("a key");
        let link = |key: &Key| Hex::link(Some(key), None, b"line");
        assert_eq!(link(&read), link(&Key::new(b"Jefe")));
        assert_eq!(format!("{read:?}"), "Key(…)");
        fs::write(&path, " \n").expect("written");
        assert!(matches!(Key::read(&path), Err(KeyError::Empty)));
        fs::write(&path, [b'k'; 5000]).expect("written");
        assert!(matches!(Key::read(&path), Err(KeyError::TooLarge)));
    }
}
