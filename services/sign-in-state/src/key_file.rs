//! Keys that sign tokens, and the secret that seals sign-ins.
//!
//! They are in a file that only its owner may read. The newest key signs; older keys stay until the
//! tokens they signed have expired, so that a key can be replaced at any time.
//!
//! ```
//! use ziggurat_mcp_auth::Keys as _;
//! use ziggurat_sign_in_state::KeyFile;
//!
//! let folder = tempfile::tempdir()?;
//! let keys = KeyFile::open(folder.path())?;
//! assert!(keys.published().contains("EdDSA"));
//! # Ok::<_, Box<dyn std::error::Error>>(())
//! ```

use std::{
    fmt, fs, io,
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};

use arc_swap::ArcSwap;
use aws_lc_rs::{
    digest::{SHA256, digest},
    rand::{SecureRandom as _, SystemRandom},
    signature::{Ed25519KeyPair, KeyPair as _},
};
use base64::{Engine as _, prelude::BASE64_URL_SAFE_NO_PAD};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use thiserror::Error;
use ziggurat_mcp_auth::{KeyError, Keys, Seal};
use ziggurat_runtime::{file, private_file};

/// Name of the file.
const FILE: &str = "signing-keys.json";

/// Maximum size of the file.
const MAX_BYTES: u64 = 1 << 20;

/// Maximum number of keys.
const MAX_KEYS: usize = 32;

/// Keys that sign tokens. Clones share them.
#[derive(Clone)]
pub struct KeyFile {
    path: PathBuf,
    ring: Arc<ArcSwap<KeyRing>>,
}

/// Reasons the keys cannot be used, for the operator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum KeyFileError {
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
struct KeyRing {
    keys: Vec<Key>,
    seal: Seal,
    /// False for a file that an earlier version made, until a sign-in needs it. Its seal is one of
    /// this process then, and opens nothing elsewhere.
    has_seal: bool,
}

/// A pair of keys.
struct Key {
    /// Id that tokens name the key by.
    id: String,
    pair: Ed25519KeyPair,
    public: String,
}

/// Contents of the file.
#[derive(Deserialize, Serialize)]
struct StoredKeys {
    keys: Vec<StoredKey>,
    /// The secret that seals sign-ins, 32 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    seal: Option<String>,
}

#[derive(Clone, Deserialize, Serialize)]
struct StoredKey {
    made_at: i64,
    pkcs8: String,
}

// === impl KeyFile ===

impl KeyFile {
    /// Returns the path of the file in this folder.
    #[must_use]
    pub fn place(folder: &Path) -> PathBuf {
        folder.join(FILE)
    }

    /// Reads the keys in this folder. If it has no file of keys, makes one with a first key.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written, or contains no signing keys.
    pub fn open(folder: &Path) -> Result<Self, KeyFileError> {
        let path = Self::place(folder);
        if !path.exists() {
            private_file::create_folder(&path, false)
                .map_err(|error| KeyFileError::io(folder, error))?;
            let first = StoredKeys {
                keys: vec![StoredKey::new(Timestamp::now().as_second())?],
                seal: Some(new_seal()?),
            };
            match first.save(&path, private_file::create) {
                // Another process has made the file meanwhile; its keys are used.
                Err(KeyFileError::Io { source, .. })
                    if source.kind() == io::ErrorKind::AlreadyExists => {}
                saved => saved?,
            }
        }
        Ok(Self {
            ring: Arc::new(ArcSwap::from_pointee(KeyRing::read(&path)?)),
            path,
        })
    }

    /// Adds the secret of a sign-in to a file that an earlier version made.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn add_seal(&self) -> Result<(), KeyFileError> {
        if !self.ring.load().has_seal {
            let _lock = self.lock()?;
            let mut written = StoredKeys::read(&self.path)?;
            if written.seal.is_none() {
                written.seal = Some(new_seal()?);
                written.save(&self.path, private_file::replace)?;
            }
        }
        self.reload()
    }

    /// Waits until no other process changes the file.
    fn lock(&self) -> Result<fs::File, KeyFileError> {
        let lock = self.path.with_file_name(format!(".{FILE}.lock"));
        let taken = private_file::create_folder(&lock, false).and_then(|()| {
            let mut options = fs::OpenOptions::new();
            let options = options.create(true).truncate(false).write(true).mode(0o600);
            let file = options.open(&lock)?;
            file.lock()?;
            Ok(file)
        });
        taken.map_err(|error| KeyFileError::io(&lock, error))
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
    pub fn reload(&self) -> Result<(), KeyFileError> {
        self.ring.store(Arc::new(KeyRing::read(&self.path)?));
        Ok(())
    }

    /// Makes a new key, which signs from now on. Each older key stays for `kept_for` seconds after
    /// it was replaced; zero removes all of them, and replaces the secret of the sign-in, so that
    /// all grants and sessions end.
    ///
    /// # Errors
    /// Fails if the file cannot be read or written.
    pub fn rotate(&self, now: Timestamp, kept_for: i64) -> Result<(), KeyFileError> {
        let now = now.as_second();
        let _lock = self.lock()?;
        let mut written = StoredKeys::read(&self.path)?;
        // A key was replaced at the time the next one was made.
        let mut replaced = now;
        written.keys.retain(|key| {
            let stays = replaced.saturating_add(kept_for) > now;
            replaced = key.made_at;
            stays
        });
        written.keys.insert(0, StoredKey::new(now)?);
        written.keys.truncate(MAX_KEYS);
        if kept_for == 0 {
            written.seal = Some(new_seal()?);
        }
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
}

impl Keys for KeyFile {
    fn id(&self) -> String {
        let ring = self.ring.load();
        ring.keys
            .first()
            .map(|key| key.id.clone())
            .unwrap_or_default()
    }

    fn sign(&self, id: &str, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        let ring = self.ring.load();
        let key = ring.keys.iter().find(|key| key.id == id).ok_or(KeyError)?;
        Ok(key.pair.sign(message).as_ref().to_vec())
    }

    fn published(&self) -> String {
        self.document().to_string()
    }

    fn seal(&self) -> Seal {
        self.ring.load().seal.clone()
    }
}

impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<_> = self.ring.load().keys.iter().map(|k| k.id.clone()).collect();
        f.debug_struct("KeyFile")
            .field("path", &self.path)
            .field("ids", &ids)
            .finish()
    }
}

// === impl KeyFileError ===

impl KeyFileError {
    fn io(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        Self::Io { path, source }
    }
}

// === impl KeyRing ===

impl KeyRing {
    fn read(path: &Path) -> Result<Self, KeyFileError> {
        let written = StoredKeys::read(path)?;
        let keys: Option<Vec<_>> = written.keys.iter().map(StoredKey::parse).collect();
        let keys = keys.filter(|keys| !keys.is_empty());
        let not_understood = || KeyFileError::NotUnderstood(path.to_owned());
        let keys = keys.ok_or_else(not_understood)?;
        let has_seal = written.seal.is_some();
        let text = written.seal.map_or_else(new_seal, Ok)?;
        let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).unwrap_or_default();
        let bytes = bytes.try_into().map_err(|_| not_understood())?;
        Ok(Self {
            keys,
            seal: Seal::new(&bytes),
            has_seal,
        })
    }
}

// === impl StoredKeys ===

impl StoredKeys {
    fn read(path: &Path) -> Result<Self, KeyFileError> {
        let metadata = fs::metadata(path).map_err(|error| KeyFileError::io(path, error))?;
        private_file::warn_of_access(path, &metadata);
        let text = file::text(path, MAX_BYTES).map_err(|error| match error {
            file::FileError::Unreadable(error) => KeyFileError::io(path, error),
            file::FileError::NotFound => KeyFileError::io(path, io::ErrorKind::NotFound.into()),
            _ => KeyFileError::NotUnderstood(path.to_owned()),
        })?;
        // The error of the library is dropped, because it may quote the file.
        serde_json::from_str(&text).map_err(|_| KeyFileError::NotUnderstood(path.to_owned()))
    }

    fn save(
        &self,
        path: &Path,
        write: fn(&Path, &[u8]) -> io::Result<()>,
    ) -> Result<(), KeyFileError> {
        let text = serde_json::to_vec(self).map_err(io::Error::from);
        text.and_then(|text| write(path, &text))
            .map_err(|error| KeyFileError::io(path, error))
    }
}

// === impl StoredKey ===

impl StoredKey {
    fn new(now: i64) -> Result<Self, KeyFileError> {
        let pair = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new());
        let pair = pair.map_err(|_| KeyFileError::Unmade)?;
        Ok(Self {
            made_at: now,
            pkcs8: BASE64_URL_SAFE_NO_PAD.encode(pair.as_ref()),
        })
    }

    fn parse(&self) -> Option<Key> {
        let pkcs8 = BASE64_URL_SAFE_NO_PAD.decode(&self.pkcs8).ok()?;
        let pair = Ed25519KeyPair::from_pkcs8(&pkcs8).ok()?;
        let public = pair.public_key().as_ref();
        let id = digest(&SHA256, public);
        let public = BASE64_URL_SAFE_NO_PAD.encode(public);
        let id = BASE64_URL_SAFE_NO_PAD.encode(&id.as_ref()[..16]);
        Some(Key { id, pair, public })
    }
}

/// Returns a new secret.
fn new_seal() -> Result<String, KeyFileError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| KeyFileError::Unmade)?;
    Ok(BASE64_URL_SAFE_NO_PAD.encode(bytes))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn ids(keys: &KeyFile) -> Vec<String> {
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
        let keys = KeyFile::open(&folder).expect("made");
        let mode = fs::metadata(keys.path())
            .expect("there")
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(ids(&keys), ids(&KeyFile::open(&folder).expect("read")));
        let shown = format!("{keys:?} {}", keys.published());
        let written = fs::read_to_string(keys.path()).expect("text");
        let secret = written.split("\"pkcs8\":\"").nth(1).expect("a key");
        assert!(!shown.contains(&secret[..20]), "{shown}");
    }

    #[test]
    fn a_replaced_key_stays_until_its_tokens_have_expired() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = KeyFile::open(folder.path()).expect("made");
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
        let keys = KeyFile::open(folder.path()).expect("made");
        let other = KeyFile::open(folder.path()).expect("read");
        other.rotate(at(10), 100).expect("rotated");
        assert_ne!(ids(&keys), ids(&other));
        keys.reload().expect("read");
        assert_eq!(ids(&keys), ids(&other));
    }

    #[test]
    fn a_file_of_an_earlier_version_gets_a_seal_once_and_keeps_it_until_all_is_revoked() {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = KeyFile::open(folder.path()).expect("made");
        let read = || -> Value {
            let text = fs::read_to_string(keys.path()).expect("text");
            serde_json::from_str(&text).expect("JSON")
        };
        let mut old = read();
        old.as_object_mut().expect("members").remove("seal");
        fs::write(keys.path(), old.to_string()).expect("written");
        keys.reload().expect("read");
        keys.add_seal().expect("added");
        let first = read()["seal"].clone();
        assert!(first.is_string());
        keys.add_seal().expect("there");
        keys.rotate(at(10), 100).expect("rotated");
        assert_eq!(read()["seal"], first);
        keys.rotate(at(20), 0).expect("rotated");
        assert_ne!(read()["seal"], first);
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
            let error = KeyFile::open(folder.path()).expect_err(text).to_string();
            assert!(error.ends_with("has no signing keys"), "{error}");
        }
    }
}
