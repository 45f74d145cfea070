//! Keys that sign receipts, and those that verify them.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use aws_lc_rs::{
    encoding::{AsDer as _, PublicKeyX509Der},
    signature::{ED25519, Ed25519KeyPair, KeyPair as _, UnparsedPublicKey},
};
use base64::{
    Engine as _,
    prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD},
};
use rustls_pki_types::{PrivatePkcs8KeyDer, SubjectPublicKeyInfoDer, pem::PemObject as _};
use serde::Deserialize;
use serde_json::json;
use thiserror::Error;
use ziggurat_runtime::private_file::{self, CreateError};

use crate::sha256;

/// The bytes before a public key of Ed25519 in the form of RFC 8410.
const PREFIX: [u8; 12] = [
    0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00,
];

/// Label of a private key in PEM.
const PRIVATE: &str = "PRIVATE KEY";

/// Label of a public key in PEM.
const PUBLIC: &str = "PUBLIC KEY";

/// Reason why a key cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A file cannot be read.
    #[error("cannot be read")]
    Io(#[from] io::Error),
    /// The files of a key cannot be written.
    #[error(transparent)]
    Unwritten(#[from] CreateError),
    /// Other accounts may read the file of the key that signs.
    #[error("must be readable by its owner only")]
    Open,
    /// There is no private key of this kind.
    #[error("is not a private key of Ed25519 (PKCS#8 in PEM)")]
    NotPrivate,
    /// There is no public key of this kind.
    #[error("is not a public key of Ed25519")]
    NotPublic,
    /// The cryptography library could not make a key.
    #[error("cannot create a key")]
    Unmade,
}

/// A key that signs receipts. `Debug` shows its id only.
pub struct SigningKey {
    pair: Ed25519KeyPair,
    public: PublicKey,
}

/// A key that verifies receipts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    bytes: [u8; 32],
    id: Arc<str>,
}

/// The key that signs, and the public keys of before. Clones share them.
#[derive(Clone, Debug)]
pub struct Keys {
    signing: Arc<SigningKey>,
    former: Arc<[PublicKey]>,
}

/// A set of public keys (RFC 7517).
#[derive(Deserialize)]
struct KeySet {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    #[serde(default)]
    crv: String,
    #[serde(default)]
    x: String,
}

// === impl SigningKey ===

impl SigningKey {
    /// Makes a key, and returns it with its text in PEM.
    ///
    /// # Errors
    /// Fails if the cryptography library cannot make one.
    pub fn generate() -> Result<(Self, String), KeyError> {
        let pkcs8 = Ed25519KeyPair::generate()
            .and_then(|pair| pair.to_pkcs8v1())
            .map_err(|_| KeyError::Unmade)?;
        let key = Self::of_pkcs8(pkcs8.as_ref()).ok_or(KeyError::Unmade)?;
        Ok((key, pem(PRIVATE, pkcs8.as_ref())))
    }

    /// Reads a key in PEM.
    ///
    /// # Errors
    /// Fails if it is no private key of Ed25519.
    pub fn of_pem(pem: &[u8]) -> Result<Self, KeyError> {
        // The error of the library is dropped, because it may quote the file.
        let der = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| KeyError::NotPrivate)?;
        Self::of_pkcs8(der.secret_pkcs8_der()).ok_or(KeyError::NotPrivate)
    }

    fn of_pkcs8(pkcs8: &[u8]) -> Option<Self> {
        let pair = Ed25519KeyPair::from_pkcs8(pkcs8).ok()?;
        let public = PublicKey::new(pair.public_key().as_ref().try_into().ok()?);
        Some(Self { pair, public })
    }

    /// Returns its public half.
    #[must_use]
    pub fn public(&self) -> &PublicKey {
        &self.public
    }

    pub(crate) fn sign(&self, message: &[u8]) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.pair.sign(message).as_ref())
    }

    fn public_pem(&self) -> Result<String, KeyError> {
        let der: PublicKeyX509Der<'_> = self
            .pair
            .public_key()
            .as_der()
            .map_err(|_| KeyError::Unmade)?;
        Ok(pem(PUBLIC, der.as_ref()))
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SigningKey").field(&self.public.id).finish()
    }
}

// === impl PublicKey ===

impl PublicKey {
    fn new(bytes: [u8; 32]) -> Self {
        let x = BASE64_URL_SAFE_NO_PAD.encode(bytes);
        // RFC 7638: the required members in the order of their names.
        let members = format!(r#"{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}"#);
        let id = BASE64_URL_SAFE_NO_PAD.encode(sha256(members.as_bytes()));
        Self {
            bytes,
            id: id.into(),
        }
    }

    /// Reads public keys: a set of keys in JSON (RFC 7517), or keys in PEM.
    ///
    /// # Errors
    /// Fails if the text has no such key.
    pub fn read(text: &[u8]) -> Result<Vec<Self>, KeyError> {
        let keys: Vec<_> = if text.trim_ascii_start().starts_with(b"{") {
            let set: KeySet = serde_json::from_slice(text).map_err(|_| KeyError::NotPublic)?;
            set.keys.iter().filter_map(Jwk::read).collect()
        } else {
            let keys = SubjectPublicKeyInfoDer::pem_slice_iter(text);
            keys.filter_map(|key| Self::of_der(&key.ok()?)).collect()
        };
        if keys.is_empty() {
            return Err(KeyError::NotPublic);
        }
        Ok(keys)
    }

    fn of_der(der: &[u8]) -> Option<Self> {
        let bytes = der.strip_prefix(&PREFIX)?;
        bytes.try_into().ok().map(Self::new)
    }

    /// Returns its id (RFC 7638).
    #[must_use]
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    pub(crate) fn has_signed(&self, message: &[u8], signature: &[u8]) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, self.bytes);
        key.verify(message, signature).is_ok()
    }
}

// === impl Jwk ===

impl Jwk {
    fn read(&self) -> Option<PublicKey> {
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(&self.x).ok()?;
        let bytes = bytes.try_into().ok()?;
        (self.crv == "Ed25519").then(|| PublicKey::new(bytes))
    }
}

// === impl Keys ===

impl Keys {
    /// Takes the key that signs, and the ones of before.
    #[must_use]
    pub fn new(signing: SigningKey, former: &[PublicKey]) -> Self {
        Self {
            signing: Arc::new(signing),
            former: former.into(),
        }
    }

    pub(crate) fn signing(&self) -> &SigningKey {
        &self.signing
    }

    /// Returns all public keys, the current one first.
    #[must_use]
    pub fn public(&self) -> Vec<PublicKey> {
        let own = self.signing.public.clone();
        let former = self.former.iter().filter(|key| **key != own).cloned();
        [own.clone()].into_iter().chain(former).collect()
    }

    /// Returns the public keys as a set of RFC 7517.
    #[must_use]
    pub fn published(&self) -> String {
        let keys = self.public().into_iter().map(|key| {
            json!({
                "alg": "EdDSA",
                "crv": "Ed25519",
                "kid": &*key.id,
                "kty": "OKP",
                "use": "sig",
                "x": BASE64_URL_SAFE_NO_PAD.encode(key.bytes),
            })
        });
        json!({"keys": keys.collect::<Vec<_>>()}).to_string()
    }
}

/// Makes a key in a new file, which only its owner may read, and beside it the file of its public
/// half. Returns the id of the key and the path of the other file.
///
/// # Errors
/// Fails if a file exists or cannot be written.
pub fn make_key_file(path: &Path) -> Result<(Arc<str>, PathBuf), KeyError> {
    let (key, private) = SigningKey::generate()?;
    let mut public = path.as_os_str().to_owned();
    public.push(".pub");
    let public = PathBuf::from(public);
    let files = [
        (path.to_owned(), &*private),
        (public.clone(), &*key.public_pem()?),
    ];
    private_file::create_all(&files)?;
    Ok((Arc::clone(key.public.id()), public))
}

/// Returns the text of a key in PEM (RFC 7468).
fn pem(label: &str, der: &[u8]) -> String {
    let mut text = format!("-----BEGIN {label}-----\n");
    let encoded = BASE64_STANDARD.encode(der);
    let mut rest = &*encoded;
    while !rest.is_empty() {
        let (line, more) = rest.split_at(rest.len().min(64));
        text.push_str(line);
        text.push('\n');
        rest = more;
    }
    text + &format!("-----END {label}-----\n")
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// The key of RFC 8037, appendix A, as `openssl` writes it.
    const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
                       MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g\n\
                       -----END PRIVATE KEY-----\n";

    #[test]
    fn the_key_of_rfc_8037_has_the_thumbprint_that_the_rfc_says() {
        let key = SigningKey::of_pem(KEY.as_bytes()).expect("a key");
        let thumbprint = "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k";
        assert_eq!(**key.public.id(), *thumbprint);
    }

    #[test]
    fn a_made_file_is_closed_to_others_and_its_public_half_reads_back() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key.pem");
        let (id, public) = make_key_file(&path).expect("made");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let key = SigningKey::of_pem(&fs::read(&path).expect("text")).expect("a key");
        assert_eq!(*key.public.id(), id);
        let read = PublicKey::read(&fs::read(public).expect("text")).expect("a key");
        assert_eq!(read, std::slice::from_ref(&key.public));
        let set = Keys::new(key, &read).published();
        assert_eq!(PublicKey::read(set.as_bytes()).expect("a set"), read);
        assert!(make_key_file(&path).is_err());
        // A file in the place of the public half leaves no key behind.
        fs::remove_file(&path).expect("removed");
        assert!(make_key_file(&path).is_err());
        assert!(!path.exists());
    }

    #[test]
    fn other_files_are_refused_without_quoting_them() {
        for text in [
            "",
            "hunter2",
            "{}",
            r#"{"keys":[]}"#,
            r#"{"keys":[{"x":"AA"}]}"#,
        ] {
            assert!(PublicKey::read(text.as_bytes()).is_err(), "{text}");
            let error = SigningKey::of_pem(text.as_bytes()).expect_err(text);
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
        let (key, private) = SigningKey::generate().expect("a key");
        assert!(PublicKey::read(private.as_bytes()).is_err());
        let public = key.public_pem().expect("a text");
        assert!(SigningKey::of_pem(public.as_bytes()).is_err());
    }
}
