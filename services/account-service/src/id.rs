//! Random ids of fixed length.

use std::{fmt, str::FromStr};

use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use thiserror::Error;
use uuid::{Builder, Uuid};

/// Letters and digits, for ids that users type and paste.
const ALPHABET: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

/// A UUID.
///
/// ```
/// use ziggurat_account_service::Id;
///
/// let id: Id = "B0C1D2E3-F4A5-6789-BCDE-890123456789".parse()?;
/// assert_eq!(id.to_string(), "b0c1d2e3-f4a5-6789-bcde-890123456789");
/// assert!("b0c1d2e3".parse::<Id>().is_err());
/// # Ok::<_, ziggurat_account_service::InvalidId>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Id(Uuid);

/// A text that is no UUID in its usual form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("not an id of 36 hexadecimal digits and hyphens")]
pub struct InvalidId;

// === impl Id ===

impl Id {
    /// Makes a random UUID: version 4 of RFC 9562.
    ///
    /// # Errors
    /// Fails if the operating system has no random bytes.
    pub fn random() -> Result<Self, SysError> {
        let mut bytes = [0; 16];
        SysRng.try_fill_bytes(&mut bytes)?;
        Ok(Self(Builder::from_random_bytes(bytes).into_uuid()))
    }
}

impl FromStr for Id {
    type Err = InvalidId;

    fn from_str(text: &str) -> Result<Self, InvalidId> {
        // The library also accepts other lengths: without hyphens, in braces, as a URN.
        let id = Uuid::try_parse(text).ok().filter(|_| text.len() == 36);
        id.map(Self).ok_or(InvalidId)
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0.hyphenated().encode_lower(&mut Uuid::encode_buffer()))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({self})")
    }
}

impl serde::Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Makes a random id of 32 letters and digits.
pub(super) fn credential_id() -> Result<String, SysError> {
    let mut name = String::with_capacity(32);
    while name.len() < 32 {
        let mut bytes = [0; 48];
        SysRng.try_fill_bytes(&mut bytes)?;
        // Bytes from 248 on are dropped: with them, some letters would be more likely than others.
        let fair = bytes.into_iter().filter(|byte| *byte < 248);
        let letters = fair.map(|byte| char::from(ALPHABET[usize::from(byte) % ALPHABET.len()]));
        name.extend(letters.take(32 - name.len()));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_new_id_is_of_version_4_and_reads_back() {
        let mut seen = HashSet::new();
        for _ in 0..100 {
            let id = Id::random().expect("random bytes");
            let text = id.to_string();
            assert_eq!(text.parse(), Ok(id));
            assert_eq!(&text[14..15], "4", "{text}");
            assert!("89ab".contains(&text[19..20]), "{text}");
            assert!(seen.insert(id), "twice the same");
        }
    }

    #[test]
    fn an_invalid_id_is_refused() {
        for text in [
            "",
            "b0c1d2e3f4a56789bcde890123456789",
            "{b0c1d2e3-f4a5-6789-bcde-890123456789}",
            "b0c1d2e3-f4a5-6789-bcde-89012345678g",
            "b0c1d2e3-f4a5-6789-bcde-8901234567890",
            "b0c1d2e3xf4a5-6789-bcde-890123456789",
            "b0c1d2e3-f4a5-6789-bcde-89012345678\u{e9}",
        ] {
            assert_eq!(text.parse::<Id>(), Err(InvalidId), "{text}");
        }
    }

    #[test]
    fn a_credential_id_is_32_letters_and_digits() {
        let mut seen = HashSet::new();
        for _ in 0..100 {
            let id = credential_id().expect("random bytes");
            assert_eq!(id.len(), 32);
            assert!(id.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{id}");
            assert!(seen.insert(id), "twice the same");
        }
    }
}
