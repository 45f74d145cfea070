//! Keys that sign tokens.
//!
//! They are in a file that only its owner may read. The newest key signs; older keys stay until the
//! tokens they signed have expired, so that a key can be replaced at any time.
//!
//! ```
//! use ziggurat_account_service::Keys;
//!
//! let folder = tempfile::tempdir()?;
//! let keys = Keys::open(folder.path())?;
//! assert_eq!(keys.document()["keys"][0]["alg"], "EdDSA");
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use std::{
    fmt, fs, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{Ed25519KeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use jsonwebtoken::{DecodingKey, EncodingKey};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use ziggurat_runtime::{file, private_file};

use crate::UnixTime;

/// Name of the file.
const FILE: &str = "signing-keys.json";

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of keys.
const MAX_KEYS: usize = 32;

/// Keys that sign tokens. Clones share them.
#[derive(Clone)]
pub struct Keys {
    path: PathBuf,
    ring: Arc<ArcSwap<KeyRing>>,
}

/// Reasons the keys cannot be used, for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The file cannot be read or written.
    #[error("{}: cannot be read or written", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: io::Error,
    },
    /// The file contains no signing keys.
    #[error("{}: has no signing keys", .0.display())]
    NotUnderstood(PathBuf),
    /// The cryptography library could not make a key.
    #[error("cannot create a key")]
    Unmade,
}

/// Keys, newest first; never empty.
#[derive(Default)]
struct KeyRing {
    keys: Vec<Key>,
}

/// A pair of keys.
pub(super) struct Key {
    /// Id that tokens name the key by.
    pub(super) id: String,
    pub(super) signing: EncodingKey,
    pub(super) verifying: DecodingKey,
    public: String,
}

/// Contents of the file.
#[derive(Deserialize, Serialize)]
struct StoredKeys {
    keys: Vec<StoredKey>,
}

#[derive(Clone, Deserialize, Serialize)]
struct StoredKey {
    made_at: i64,
    pkcs8: String,
}

// === impl Keys ===

impl Keys {
    /// Reads the keys in this folder. If it has no file of keys, makes one with a first key.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, or contains no signing keys.
    pub fn open(folder: &Path) -> Result<Self, KeyError> {
        let path = folder.join(FILE);
        if !path.exists() {
            private_file::create_folder(&path, false)
                .map_err(|error| KeyError::io(folder, error))?;
            let first = StoredKeys {
                keys: vec![StoredKey::new(Timestamp::now().into())?],
            };
            match first.save(&path, private_file::create) {
                // Another process has made the file meanwhile; its keys are used.
                Err(KeyError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                saved => saved?,
            }
        }
        let keys = Self {
            ring: Arc::new(ArcSwap::from_pointee(KeyRing::read(&path)?)),
            path,
        };
        Ok(keys)
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file again.
    ///
    /// # Errors
    /// Fails like [`open`](Self::open); the keys then stay unchanged.
    pub fn reload(&self) -> Result<(), KeyError> {
        self.ring.store(Arc::new(KeyRing::read(&self.path)?));
        Ok(())
    }

    /// Makes a new key, which signs from now on. Each older key stays for `kept_for` seconds after
    /// it was replaced; zero removes all of them.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn rotate(&self, now: Timestamp, kept_for: i64) -> Result<(), KeyError> {
        let now = UnixTime::from(now).seconds();
        let mut written = StoredKeys::read(&self.path)?;
        // A key was replaced at the time the next one was made.
        let mut replaced = now;
        written.keys.retain(|key| {
            let stays = replaced.saturating_add(kept_for) > now;
            replaced = key.made_at;
            stays
        });
        written
            .keys
            .insert(0, StoredKey::new(UnixTime::from_seconds(now))?);
        written.keys.truncate(MAX_KEYS);
        written.save(&self.path, private_file::replace)?;
        self.reload()
    }

    /// Returns the public keys in the format of RFC 7517.
    #[must_use]
    pub fn document(&self) -> Value {
        let ring = self.ring.load();
        let keys = ring.keys.iter().map(|key| {
            json!({
                "alg": "EdDSA",
                "crv": "Ed25519",
                "kid": key.id,
                "kty": "OKP",
                "use": "sig",
                "x": key.public,
            })
        });
        json!({"keys": keys.collect::<Vec<_>>()})
    }

    /// Calls a function with the key that signs.
    pub(super) fn with_newest<T>(&self, act: impl FnOnce(&Key) -> T) -> Option<T> {
        self.ring.load().keys.first().map(act)
    }

    /// Calls a function with the key of this id.
    pub(super) fn with<T>(&self, id: &str, act: impl FnOnce(&Key) -> T) -> Option<T> {
        let ring = self.ring.load();
        ring.keys.iter().find(|key| key.id == id).map(act)
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.ring.load().keys.iter().map(|k| k.id.clone()).collect();
        f.debug_struct("Keys")
            .field("path", &self.path)
            .field("ids", &ids)
            .finish()
    }
}

// === impl KeyError ===

impl KeyError {
    fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }
}

// === impl KeyRing ===

impl KeyRing {
    fn read(path: &Path) -> Result<Self, KeyError> {
        let written = StoredKeys::read(path)?;
        let keys: Option<Vec<_>> = written.keys.iter().map(StoredKey::parse).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        let keys = keys.ok_or_else(|| KeyError::NotUnderstood(path.to_owned()))?;
        Ok(Self { keys })
    }
}

// === impl StoredKeys ===

impl StoredKeys {
    fn read(path: &Path) -> Result<Self, KeyError> {
        let metadata = fs::metadata(path).map_err(|error| KeyError::io(path, error))?;
        private_file::warn_of_access(path, &metadata);
        let text = file::text(path, MAX_BYTES).map_err(|error| match error {
            file::FileError::Unreadable(error) => KeyError::io(path, error),
            file::FileError::NotFound => KeyError::io(path, io::ErrorKind::NotFound.into()),
            _ => KeyError::NotUnderstood(path.to_owned()),
        })?;
        // The error of the library is dropped, because it may quote the file.
        serde_json::from_str(&text).map_err(|_| KeyError::NotUnderstood(path.to_owned()))
    }

    fn save(&self, path: &Path, write: fn(&Path, &[u8]) -> io::Result<()>) -> Result<(), KeyError> {
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        text.and_then(|text| write(path, &text))
            .map_err(|error| KeyError::io(path, error))
    }
}

// === impl StoredKey ===

impl StoredKey {
    fn new(now: UnixTime) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let pair = pair.map_err(|_| KeyError::Unmade)?;
        Ok(Self {
            made_at: now.seconds(),
            pkcs8: BASE64_URL_SAFE_NO_PAD.encode(pair.as_ref()),
        })
    }

    fn parse(&self) -> Option<Key> {
        let pkcs8 = BASE64_URL_SAFE_NO_PAD.decode(&self.pkcs8).ok()?;
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).ok()?;
        let public = pair.public_key().as_ref();
        let id = Sha256::digest(public);
        let public = BASE64_URL_SAFE_NO_PAD.encode(public);
        Some(Key {
            id: BASE64_URL_SAFE_NO_PAD.encode(&id[..16]),
            signing: EncodingKey::from_ed_der(&pkcs8),
            verifying: DecodingKey::from_ed_components(&public).ok()?,
            public,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn ids(keys: &Keys) -> Vec<String> {
        let document = keys.document();
        let keys = document["keys"].as_array().expect("a list").iter();
        keys.map(|key| key["kid"].as_str().expect("a name").to_owned())
            .collect()
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(Timestamp::now().as_second() + seconds).expect("a date")
    }

    #[test]
    fn the_first_start_makes_a_key_that_only_its_owner_may_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().join("new");
        let keys = Keys::open(&folder).expect("made");
        let mode = fs::metadata(keys.path())
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(ids(&keys), ids(&Keys::open(&folder).expect("read")));
        let shown = format!("{keys:?} {}", keys.document());
        let written = fs::read_to_string(keys.path()).expect("text");
        let secret = written.split("\"pkcs8\":\"").nth(1).expect("a key");
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }

    #[test]
    fn a_replaced_key_stays_until_its_tokens_have_expired() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = Keys::open(folder.path()).expect("made");
        let first = ids(&keys);
        keys.rotate(at(1000), 100).expect("rotated");
        let second = ids(&keys);
        assert_eq!(second.len(), 2);
        assert_eq!(second[1], first[0], "the newest comes first");
        keys.rotate(at(1050), 100).expect("rotated");
        assert_eq!(ids(&keys).len(), 3, "the first was replaced 50 s ago");
        keys.rotate(at(1120), 100).expect("rotated");
        assert_eq!(ids(&keys).len(), 3, "and then 120 s ago");
        keys.rotate(at(1121), 0).expect("rotated");
        assert_eq!(ids(&keys).len(), 1, "all tokens are to be good no more");
    }

    #[test]
    fn another_process_sees_the_new_key_after_a_reload() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = Keys::open(folder.path()).expect("made");
        let other = Keys::open(folder.path()).expect("read");
        other.rotate(at(10), 100).expect("rotated");
        assert_ne!(ids(&keys), ids(&other));
        keys.reload().expect("read");
        assert_eq!(ids(&keys), ids(&other));
    }

    #[test]
    fn a_file_without_keys_is_refused_without_quoting_it() {
        let folder = tempfile::tempdir().expect("a folder");
        for text in [
            "",
            "{}",
            r#"{"keys":[]}"#,
            r#"{"keys":[{"made_at":1,"pkcs8":"c3dvcmRmaXNo"}]}"#,
        ] {
            fs::write(folder.path().join(FILE), text).expect("written");
            let error = Keys::open(folder.path()).expect_err(text).to_string();
            assert!(error.ends_with("has no signing keys"), "{error}");
        }
    }
}
