//! Keys that sign tokens, and a secret that seals requests on their way through a browser.

pub(crate) mod totp;

use std::{error::Error, fmt};

use aws_lc_rs::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    digest, hmac,
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::json;

/// Signs tokens and seals texts. A program implements it over the file of its keys.
pub trait Keys: Send + Sync + 'static {
    /// Returns the id of the key that signs.
    fn id(&self) -> String;

    /// Signs with the key of this id.
    ///
    /// # Errors
    /// Fails if there is no such key any more.
    fn sign(&self, id: &str, message: &[u8]) -> Result<Vec<u8>, KeyError>;

    /// Returns the published keys, as JSON of RFC 7517.
    fn published(&self) -> String;

    /// Returns the current secret.
    fn seal(&self) -> Seal;

    /// Signs claims as an access token (RFC 9068) with the current key.
    ///
    /// # Errors
    /// Fails if the key cannot sign.
    fn sign_token(&self, claims: &impl Serialize) -> Result<String, KeyError> {
        let id = self.id();
        let header = json!({"alg": "EdDSA", "typ": TYPE, "kid": id}).to_string();
        let claims = serde_json::to_vec(claims).map_err(|_| KeyError)?;
        let encoded = |part: &[u8]| BASE64_URL_SAFE_NO_PAD.encode(part);
        let signed = format!("{}.{}", encoded(header.as_bytes()), encoded(&claims));
        let signature = self.sign(&id, signed.as_bytes())?;
        Ok(format!("{signed}.{}", encoded(&signature)))
    }

    /// Returns the claims of an access token that one of these keys has signed, expired or not.
    fn read_token<T: DeserializeOwned>(&self, token: &str) -> Option<T> {
        let (signed, signature) = token.rsplit_once('.')?;
        let (header, claims) = signed.split_once('.')?;
        let decoded = |part: &str| BASE64_URL_SAFE_NO_PAD.decode(part).ok();
        let header: Header = serde_json::from_slice(&decoded(header)?).ok()?;
        if header.typ != TYPE || header.alg != "EdDSA" {
            return None;
        }
        // Signatures of Ed25519 are always the same for a text.
        let right = self.sign(&header.kid, signed.as_bytes()).ok()?;
        if digest(&right) != digest(&decoded(signature)?) {
            return None;
        }
        serde_json::from_slice(&decoded(claims)?).ok()
    }
}

/// Type of access tokens (RFC 9068, section 2.1).
const TYPE: &str = "at+jwt";

#[derive(Deserialize)]
struct Header {
    alg: String,
    typ: String,
    kid: String,
}

/// A secret that seals texts and proves ids.
#[derive(Clone)]
pub struct Seal {
    mac: hmac::Key,
    cipher: [u8; 32],
}

/// A key that could not be made or used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyError;

/// One key in memory: for tests, examples, and one process that may forget.
pub struct OwnKeys {
    pair: Ed25519KeyPair,
    id: String,
    seal: Seal,
}

// === impl Seal ===

impl Seal {
    /// Creates a seal from its 32 bytes.
    #[must_use]
    pub fn new(secret: &[u8; 32]) -> Self {
        let mac = hmac::Key::new(hmac::HMAC_SHA256, secret);
        let mut cipher = [0; 32];
        cipher.copy_from_slice(hmac::sign(&mac, b"cipher").as_ref());
        Self { mac, cipher }
    }

    /// Returns the proof of a text, for one use.
    pub(crate) fn prove(&self, what_for: &str, text: &[u8]) -> [u8; 32] {
        let mut context = hmac::Context::with_key(&self.mac);
        context.update(what_for.as_bytes());
        context.update(&[0]);
        context.update(text);
        let mut proof = [0; 32];
        proof.copy_from_slice(context.sign().as_ref());
        proof
    }

    /// Seals a text for one use.
    pub(crate) fn close(&self, what_for: &str, mut text: Vec<u8>) -> Result<String, KeyError> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let associated = Aad::from(what_for.as_bytes());
        let key = UnboundKey::new(&AES_256_GCM, &self.cipher).map_err(|_| KeyError)?;
        LessSafeKey::new(key)
            .seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), associated, &mut text)
            .map_err(|_| KeyError)?;
        let sealed = [&nonce[..], &text].concat();
        Ok(BASE64_URL_SAFE_NO_PAD.encode(sealed))
    }

    /// Opens a text that was sealed for this use; `None` for any other.
    pub(crate) fn open(&self, what_for: &str, sealed: &str) -> Option<Vec<u8>> {
        let sealed = BASE64_URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce, text) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut text = text.to_vec();
        let key = UnboundKey::new(&AES_256_GCM, &self.cipher).ok()?;
        let opened = LessSafeKey::new(key)
            .open_in_place(
                Nonce::assume_unique_for_key(*nonce),
                Aad::from(what_for.as_bytes()),
                &mut text,
            )
            .ok()?
            .len();
        text.truncate(opened);
        Some(text)
    }
}

impl fmt::Debug for Seal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seal(..)")
    }
}

// === impl OwnKeys ===

impl OwnKeys {
    /// Makes a key and a secret.
    ///
    /// # Errors
    /// Fails if the system has no random numbers.
    pub fn new() -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyError)?;
        let id = digest(pair.public_key().as_ref());
        Ok(Self {
            id: BASE64_URL_SAFE_NO_PAD.encode(&id[..12]),
            pair,
            seal: Seal::new(&random()?),
        })
    }
}

impl Keys for OwnKeys {
    fn id(&self) -> String {
        self.id.clone()
    }

    fn sign(&self, id: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        if id != self.id {
            return Err(KeyError);
        }
        Ok(self.pair.sign(message).as_ref().to_vec())
    }

    fn published(&self) -> String {
        let public = BASE64_URL_SAFE_NO_PAD.encode(self.pair.public_key().as_ref());
        let id = &self.id;
        format!(
            "{{\"keys\":[{{\"alg\":\"EdDSA\",\"crv\":\"Ed25519\",\"kid\":\"{id}\",\"kty\":\"OKP\",\
             \"use\":\"sig\",\"x\":\"{public}\"}}]}}"
        )
    }

    fn seal(&self) -> Seal {
        self.seal.clone()
    }
}

impl fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OwnKeys")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

// === impl KeyError ===

impl fmt::Display for KeyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key could not be made or used")
    }
}

impl Error for KeyError {}

/// Returns random bytes.
pub(crate) fn random<const N: usize>() -> Result<[u8; N], KeyError> {
    let mut bytes = [0; N];
    SystemRandom::new().fill(&mut bytes).map_err(|_| KeyError)?;
    Ok(bytes)
}

/// Returns a random secret with a prefix that says its kind.
pub(crate) fn secret(prefix: &str) -> Result<String, KeyError> {
    let bytes: [u8; 32] = random()?;
    Ok(format!("{prefix}{}", BASE64_URL_SAFE_NO_PAD.encode(bytes)))
}

/// Returns random letters of an alphabet.
pub(crate) fn letters<const N: usize>(alphabet: &[u8]) -> Result<[u8; N], KeyError> {
    let mut letters = [0; N];
    // The largest multiple of the size that a byte holds: a remainder above it is no even choice.
    let even = 256 - 256 % alphabet.len();
    let mut place = 0;
    while place < N {
        let [byte] = random()?;
        if usize::from(byte) < even {
            letters[place] = alphabet[usize::from(byte) % alphabet.len()];
            place += 1;
        }
    }
    Ok(letters)
}

/// Returns the first letters of bytes in base32.
pub(crate) fn base32(bytes: &[u8], letters: usize) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let letter = |at: usize| {
        let value = (0..5).fold(0, |value, place| value << 1 | bit(at * 5 + place));
        char::from(LETTERS[value])
    };
    (0..letters).map(letter).collect()
}

/// Returns the SHA-256 of bytes.
pub(crate) fn digest(bytes: &[u8]) -> [u8; 32] {
    let mut hash = [0; 32];
    hash.copy_from_slice(digest::digest(&digest::SHA256, bytes).as_ref());
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_letters_of_an_alphabet_are_equally_likely() {
        // With a plain remainder the first 56 of 200 are twice as likely: 44 of 100 instead of 28.
        let alphabet: Vec<u8> = (0..200).collect();
        let letters: [u8; 8192] = letters(&alphabet).expect("letters");
        let first = letters.iter().filter(|letter| **letter < 56).count();
        assert!((1800..2900).contains(&first), "{first}");
    }

    #[test]
    fn only_the_same_seal_and_use_open_a_text() {
        let seal = Seal::new(&[1; 32]);
        let closed = seal.close("flow", b"text".to_vec()).expect("closed");
        assert_eq!(seal.open("flow", &closed).as_deref(), Some(&b"text"[..]));
        assert_eq!(seal.open("other", &closed), None);
        assert_eq!(Seal::new(&[2; 32]).open("flow", &closed), None);
        for place in 0..closed.len() {
            let mut bent = closed.clone().into_bytes();
            bent[place] = if bent[place] == b'A' { b'B' } else { b'A' };
            let bent = String::from_utf8(bent).expect("ASCII");
            let opened = seal.open("flow", &bent);
            // The last letter of base64 may have bits that count nothing.
            assert!(opened.is_none() || place + 1 == closed.len(), "{place}");
        }
    }
}
