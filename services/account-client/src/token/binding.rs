//! Binds a cached token to one address, one credential and one login.
//!
//! The fingerprint contains the id of the login instead of the secret, so that a cached token needs
//! no keychain. A new login has a new id, and a token of the old one is never sent again.

use rand::{
    TryRng as _,
    rngs::{SysError, SysRng},
};
use sha2::{Digest as _, Sha256};

use crate::{credential::Credential, error::Error, http::address::Address};

/// Domain separation: distinguishes this use of the hash from all others.
const DOMAIN: &str = "ziggurat-cli/token-cache/v3";

/// Returns the fingerprint that binds a token to a credential at an address.
///
/// # Errors
///
/// Fails if the secret is needed and cannot be read.
pub fn of(address: &Address, credential: &mut impl Credential) -> Result<String, Error> {
    if let Some(login) = credential.login_id() {
        return Ok(of_login(address, credential.client_id(), login));
    }
    let secret = credential.secret()?;
    Ok(of_secret(address, credential.client_id(), secret.expose()))
}

/// Returns the fingerprint of a login, with its id.
#[must_use]
pub fn of_login(address: &Address, client_id: &str, login_id: &str) -> String {
    fingerprint(address, client_id, login_id)
}

/// Returns the fingerprint of a credential without a login: with the hash of the secret instead.
fn of_secret(address: &Address, client_id: &str, secret: &str) -> String {
    fingerprint(address, client_id, &hex(&Sha256::digest(secret.as_bytes())))
}

/// Creates the id of a new login: 128 random bits.
///
/// # Errors
///
/// Fails if the system has no random bytes.
pub fn new_login_id() -> Result<String, SysError> {
    let mut bytes = [0; 16];
    SysRng.try_fill_bytes(&mut bytes)?;
    Ok(hex(&bytes))
}

fn fingerprint(address: &Address, client_id: &str, login: &str) -> String {
    let parts = [DOMAIN, address.as_str(), client_id, login];
    let digest = Sha256::digest(parts.join("\0").as_bytes());
    format!("sha256:{}", hex(&digest))
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_a_connection_changes_the_fingerprint() {
        let address = |text| Address::parse(text).expect("an address");
        let (here, there) = (address("http://h"), address("http://h/base"));
        let prints = [
            of_login(&here, "id", "login"),
            of_login(&there, "id", "login"),
            of_login(&here, "other", "login"),
            of_login(&here, "id", "another"),
            of_secret(&here, "id", "login"),
            of_secret(&here, "id", "secret"),
        ];
        for (at, print) in prints.iter().enumerate() {
            assert_eq!(print.len(), "sha256:".len() + 64);
            assert!(!prints[..at].contains(print), "{at}");
        }
        assert_eq!(prints[0], of_login(&here, "id", "login"));
    }

    #[test]
    fn two_logins_have_two_ids() {
        let id = || new_login_id().expect("random bytes");
        let one = id();
        assert_eq!(one.len(), 32);
        assert_ne!(one, id());
    }
}
