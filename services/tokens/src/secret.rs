//! Random tokens.

use base64::{Engine as _, engine::general_purpose::URL_SAFE};
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use secrecy::{ExposeSecret as _, SecretString};

/// Prefix of new API tokens. Older tokens without it stay valid.
const PREFIX: &str = "zig_";

/// Same size as a SHA-256 digest, so that a token is as hard to guess as its digest.
const RANDOM_BYTES: usize = 32;

/// Creates a token: 44 characters of URL-safe base64 with padding, all of them allowed in an
/// `Authorization` header.
pub fn new_token() -> Result<SecretString, SysError> {
    let mut bytes = [0; RANDOM_BYTES];
    // Never from a seeded generator: its state may be forked, or leak in a core dump.
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(URL_SAFE.encode(bytes).into())
}

/// Creates an API token, with a prefix that secret scanners recognize.
pub(crate) fn new_api_token() -> Result<SecretString, SysError> {
    let token = new_token()?;
    Ok(format!("{PREFIX}{}", token.expose_secret()).into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_token_has_44_characters_allowed_in_a_header_and_is_never_repeated() {
        let mut seen = HashSet::new();
        for _ in 0..100 {
            let token = new_token().expect("random bytes");
            let token = token.expose_secret();
            assert_eq!(token.len(), 44);
            assert!(token.ends_with('='), "32 bytes leave one character over");
            let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"-_=".contains(&byte);
            assert!(token.bytes().all(legal));
            assert!(seen.insert(token.to_owned()), "twice the same");
        }
    }
}
