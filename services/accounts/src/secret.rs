//! Tokens that cannot be guessed.

use base64::{Engine as _, engine::general_purpose::URL_SAFE};
use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use secrecy::{ExposeSecret as _, SecretString};

/// The start of every new API token. Those that were made without it stay good.
const PREFIX: &str = "zig_";

/// As many as a SHA-256 digest has, so that guessing the token is no easier than the digest.
const RANDOM_BYTES: usize = 32;

/// Makes a token: 44 characters of URL-safe base64 with its padding, all of which may stand
/// in an `Authorization` header.
pub fn new_token() -> Result<SecretString, SysError> {
    let mut bytes = [0; RANDOM_BYTES];
    // Never from a seeded generator, which may be forked, or read from a core dump.
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(URL_SAFE.encode(bytes).into())
}

/// Makes an API token: the same behind a prefix, by which scanners of secrets know it.
pub(super) fn new_api_token() -> Result<SecretString, SysError> {
    let token = new_token()?;
    Ok(format!("{PREFIX}{}", token.expose_secret()).into())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_token_is_44_characters_that_a_header_takes_and_never_the_same() {
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
