//! Tokens looked up by their SHA-256 digest.

use std::{
    collections::HashMap,
    error::Error,
    fmt,
    future::{Ready, ready},
    hash::{Hash, Hasher},
    str::FromStr,
    sync::Arc,
};

use sha2::{Digest as _, Sha256};
use subtle::{Choice, ConstantTimeEq as _};

use crate::bearer::{Denied, Verify};

/// The SHA-256 digest of a token.
///
/// Digests are compared in constant time, and a file or a database that holds them instead of
/// tokens gives no access. A fast hash is enough for tokens of 32 random bytes, which cannot be
/// guessed. Passwords can be guessed: do not use it for them.
///
/// ```
/// use ziggurat_layers::bearer::TokenHash;
///
/// let stored: TokenHash =
///     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".parse()?;
/// assert_eq!(stored, TokenHash::of("test"));
/// # Ok::<_, ziggurat_layers::bearer::InvalidTokenHash>(())
/// ```
#[derive(Clone, Copy)]
pub struct TokenHash([u8; 32]);

/// A text that is not a SHA-256 digest in hexadecimal.
///
/// ```
/// use ziggurat_layers::bearer::{InvalidTokenHash, TokenHash};
///
/// assert_eq!("open-sesame".parse::<TokenHash>(), Err(InvalidTokenHash));
/// assert_eq!(InvalidTokenHash.to_string(), "a token hash must be 64 hexadecimal digits");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidTokenHash;

/// Verifies tokens against a fixed set of digests.
///
/// Clones share the set. For a set that changes while the server runs, write a [`Verify`] that
/// looks [`TokenHash::of`] up in it.
///
/// ```
/// use ziggurat_layers::bearer::{BearerLayer, Hashed, TokenHash};
///
/// /// The identity of a token.
/// #[derive(Clone)]
/// struct User(String);
///
/// let digest: TokenHash =
///     "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08".parse()?;
/// let tokens = Hashed::from_iter([(digest, User("ali".to_owned()))]);
/// let layer = BearerLayer::new(tokens);
/// # let _ = layer;
/// # Ok::<_, ziggurat_layers::bearer::InvalidTokenHash>(())
/// ```
#[derive(Clone)]
pub struct Hashed<I> {
    identities: Arc<HashMap<TokenHash, I>>,
}

// === impl TokenHash ===

impl TokenHash {
    /// Hashes a token.
    ///
    /// ```
    /// use ziggurat_layers::bearer::TokenHash;
    ///
    /// // The line for a file of accepted tokens.
    /// assert!(format!("{} ali", TokenHash::of("test")).starts_with("9f86d081884c7d65"));
    /// ```
    #[must_use]
    pub fn of(token: &str) -> Self {
        Self(Sha256::digest(token).into())
    }

    /// Takes a digest that was computed before.
    ///
    /// ```
    /// use ziggurat_layers::bearer::TokenHash;
    ///
    /// // A column of 32 bytes in a database.
    /// let stored = *TokenHash::of("open-sesame").as_bytes();
    /// assert_eq!(TokenHash::from_bytes(stored), TokenHash::of("open-sesame"));
    /// ```
    #[must_use]
    pub const fn from_bytes(digest: [u8; 32]) -> Self {
        Self(digest)
    }

    /// The digest.
    ///
    /// ```
    /// use ziggurat_layers::bearer::TokenHash;
    ///
    /// assert_eq!(TokenHash::of("test").as_bytes()[..2], [0x9f, 0x86]);
    /// ```
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    fn words(&self) -> [u64; 4] {
        let (words, _) = self.0.as_chunks();
        std::array::from_fn(|at| u64::from_ne_bytes(words[at]))
    }
}

impl PartialEq for TokenHash {
    fn eq(&self, other: &Self) -> bool {
        // Compares words, which takes an eighth of the steps that bytes take.
        let pairs = self.words().into_iter().zip(other.words());
        let same = pairs.fold(Choice::from(1), |same, (a, b)| same & a.ct_eq(&b));
        same.into()
    }
}

impl Eq for TokenHash {}

impl Hash for TokenHash {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // Any part of a digest is as random as the whole.
        state.write_u64(self.words()[0]);
    }
}

/// Hexadecimal digits.
const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// Writes the digest in lower-case hexadecimal; `{:.12}` cuts it to the first 12 digits.
impl fmt::Display for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = f.precision().unwrap_or(64).min(64);
        let mut text = [0; 64];
        let pairs = text.chunks_exact_mut(2).zip(self.0);
        for (pair, byte) in pairs.take(digits.div_ceil(2)) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        f.write_str(str::from_utf8(&text[..digits]).map_err(|_| fmt::Error)?)
    }
}

impl fmt::Debug for TokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenHash({self:.12}…)")
    }
}

impl FromStr for TokenHash {
    type Err = InvalidTokenHash;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.len() != 64 {
            return Err(InvalidTokenHash);
        }
        let mut digest = [0; 32];
        for (place, digit) in text.chars().enumerate() {
            let digit = digit.to_digit(16).ok_or(InvalidTokenHash)?;
            let digit = u8::try_from(digit).map_err(|_| InvalidTokenHash)?;
            digest[place / 2] = digest[place / 2] << 4 | digit;
        }
        Ok(Self(digest))
    }
}

// === impl InvalidTokenHash ===

impl fmt::Display for InvalidTokenHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a token hash must be 64 hexadecimal digits")
    }
}

impl Error for InvalidTokenHash {}

// === impl Hashed ===

impl<I> Default for Hashed<I> {
    fn default() -> Self {
        Self {
            identities: Arc::default(),
        }
    }
}

impl<I> FromIterator<(TokenHash, I)> for Hashed<I> {
    fn from_iter<T: IntoIterator<Item = (TokenHash, I)>>(identities: T) -> Self {
        Self {
            identities: Arc::new(identities.into_iter().collect()),
        }
    }
}

impl<I: Clone> Hashed<I> {
    fn find(&self, token: &str) -> Result<I, Denied> {
        let identity = self.identities.get(&TokenHash::of(token));
        identity.cloned().ok_or(Denied::Invalid)
    }
}

impl<I> Verify for Hashed<I>
where
    I: Clone + Send + Sync + 'static,
{
    type Identity = I;
    type Future = Ready<Result<I, Denied>>;

    fn verify(&self, token: &str) -> Self::Future {
        ready(self.find(token))
    }

    fn verify_now(&self, token: &str) -> Option<Result<I, Denied>> {
        Some(self.find(token))
    }
}

impl<I> fmt::Debug for Hashed<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Hashed")
            .field("tokens", &self.identities.len())
            .finish_non_exhaustive()
    }
}
