//! A session token in two halves, for browsers.

use base64::{Engine as _, engine::general_purpose::URL_SAFE, prelude::BASE64_URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret as _, SecretString};
use ziggurat_layers::bearer::TokenHash;

/// Size of a token in bytes.
const TOKEN_BYTES: usize = 32;

/// A session token in two halves: one for a cookie, which scripts cannot read, and one for a script,
/// which browsers do not send by themselves. Either half alone proves nothing.
///
/// ```
/// use secrecy::ExposeSecret as _;
/// use ziggurat_accounts::TokenHalves;
/// use ziggurat_tokens::secret::new_token;
///
/// let token = new_token()?;
/// let halves = TokenHalves::of(&token).expect("a token of a session");
/// let (cookie, key) = (halves.cookie.expose_secret(), halves.key.expose_secret());
/// let joined = TokenHalves::join(cookie, key).expect("halves");
/// assert_eq!(joined.expose_secret(), token.expose_secret());
/// assert!(TokenHalves::join(cookie, "").is_none());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct TokenHalves {
    /// The half of the cookie.
    pub cookie: SecretString,
    /// The half of the script.
    pub key: SecretString,
}

/// The cookie half of a request, as a digest. It is an extension of requests that came with both
/// halves, and of downloads, for which a browser sends the cookie alone; a digest alone proves only
/// that the request is of the same browser as another one with the same digest.
///
/// ```
/// use ziggurat_accounts::CookieHalf;
///
/// assert_eq!(CookieHalf::of("one"), CookieHalf::of("one"));
/// assert_ne!(CookieHalf::of("one"), CookieHalf::of("two"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CookieHalf(TokenHash);

// === impl TokenHalves ===

impl TokenHalves {
    /// Cuts a token of a session. Other tokens have no halves.
    #[must_use]
    pub fn of(token: &SecretString) -> Option<Self> {
        let bytes = URL_SAFE.decode(token.expose_secret()).ok()?;
        if bytes.len() != TOKEN_BYTES {
            return None;
        }
        let (cookie, key) = bytes.split_at(TOKEN_BYTES / 2);
        let half = |bytes: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(bytes).into();
        Some(Self {
            cookie: half(cookie),
            key: half(key),
        })
    }

    /// Joins two halves. Texts that cannot be halves are no token.
    #[must_use]
    pub fn join(cookie: &str, key: &str) -> Option<SecretString> {
        let mut token = Vec::with_capacity(TOKEN_BYTES);
        for half in [cookie, key] {
            let bytes = BASE64_URL_SAFE_NO_PAD.decode(half).ok()?;
            if bytes.len() != TOKEN_BYTES / 2 {
                return None;
            }
            token.extend(bytes);
        }
        Some(URL_SAFE.encode(token).into())
    }
}

// === impl CookieHalf ===

impl CookieHalf {
    /// Takes the digest of the value of a cookie.
    #[must_use]
    pub fn of(cookie: &str) -> Self {
        Self(TokenHash::of(cookie))
    }
}
