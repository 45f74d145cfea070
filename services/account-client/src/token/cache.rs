//! The file in which a token is cached between commands.
//!
//! It contains a valid token, so only its owner may read it. An unreadable file counts as an empty
//! cache, so that it needs no repair.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use ziggurat_runtime::{
    file,
    private_file::{self, Lock},
};

use crate::token::Token;

/// Maximum size of the file.
const MAX_BYTES: u64 = 256 * 1024;

/// The token cache of one profile.
#[derive(Clone, Debug)]
pub struct Cache {
    path: PathBuf,
}

/// A token and its fingerprint.
#[derive(Clone, Debug)]
pub struct Cached {
    /// The token.
    pub token: Token,
    /// The fingerprint of its credential and address.
    pub fingerprint: String,
}

#[derive(Deserialize, Serialize)]
struct File {
    access_token: String,
    expires_at: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    issued_at: Option<Timestamp>,
    #[serde(default)]
    binding_fingerprint: String,
}

// === impl Cache ===

impl Cache {
    /// Returns the cache of a profile.
    #[must_use]
    pub fn of(folder: &Path, profile: &str) -> Self {
        Self {
            path: folder.join(format!("{profile}-platform.json")),
        }
    }

    /// Returns the token of the last command, if it can be read.
    #[must_use]
    pub fn load(&self) -> Option<Cached> {
        let text = file::text(&self.path, MAX_BYTES).ok()?;
        let file: File = serde_json::from_str(&text).ok()?;
        let is_sendable = !file.access_token.is_empty()
            && file
                .access_token
                .bytes()
                .all(|byte| byte.is_ascii_graphic());
        is_sendable.then_some(Cached {
            token: Token {
                bearer: file.access_token.into(),
                expires_at: file.expires_at,
                issued_at: file.issued_at,
            },
            fingerprint: file.binding_fingerprint,
        })
    }

    /// Stores a token for the next command.
    pub fn save(&self, token: &Token, fingerprint: &str) -> io::Result<()> {
        let file = File {
            access_token: token.bearer.expose().to_owned(),
            expires_at: token.expires_at,
            issued_at: token.issued_at,
            binding_fingerprint: fingerprint.to_owned(),
        };
        private_file::create_folder(&self.path, true)?;
        private_file::replace(&self.path, &serde_json::to_vec(&file)?)
    }

    /// Keeps other commands from exchanging while the lock is held; `None` if it cannot be obtained
    /// in time.
    pub(crate) fn lock(&self, timeout: Duration) -> Option<Lock> {
        private_file::create_folder(&self.path, true).ok()?;
        Lock::within(&self.path, timeout).ok()
    }

    /// Removes the token, and temporary files of commands that were killed.
    pub fn clear(&self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default();
        let leftover = format!(".{}.tmp", name.to_string_lossy());
        let siblings = self
            .path
            .parent()
            .and_then(|folder| fs::read_dir(folder).ok());
        for sibling in siblings.into_iter().flatten().flatten() {
            if sibling.file_name().to_string_lossy().starts_with(&leftover) {
                // Fails if the file became another command's token in the meantime, which is fine.
                let _ = fs::remove_file(sibling.path());
            }
        }
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token() -> Token {
        Token {
            bearer: "abc.def".into(),
            expires_at: "2026-01-02T03:04:05Z".parse().expect("a time"),
            issued_at: Some("2026-01-01T03:04:05Z".parse().expect("a time")),
        }
    }

    #[test]
    fn a_token_is_loaded_as_it_was_saved() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::of(&folder.path().join("cache"), "staging");
        assert!(cache.load().is_none());
        cache.save(&token(), "sha256:00").expect("a save");
        let cached = cache.load().expect("a token");
        assert_eq!(cached.token, token());
        assert_eq!(cached.fingerprint, "sha256:00");
    }

    #[cfg(unix)]
    #[test]
    fn only_its_owner_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::of(&folder.path().join("cache"), "default");
        cache.save(&token(), "x").expect("a save");
        let mode = |path: &Path| fs::metadata(path).expect("a file").permissions().mode() & 0o777;
        assert_eq!(mode(&cache.path), 0o600);
        assert_eq!(mode(&folder.path().join("cache")), 0o700);
    }

    #[test]
    fn an_unreadable_file_is_an_empty_cache() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::of(folder.path(), "default");
        for text in [
            "",
            "nonsense",
            "{}",
            r#"{"access_token":"","expires_at":"2026-01-02T03:04:05Z"}"#,
            r#"{"access_token":"a\nb","expires_at":"2026-01-02T03:04:05Z"}"#,
            r#"{"access_token":"a","expires_at":"soon"}"#,
        ] {
            fs::write(&cache.path, text).expect("a file");
            assert!(cache.load().is_none(), "{text}");
        }
        let old = r#"{"access_token":"a","expires_at":"2026-01-02T03:04:05Z"}"#;
        fs::write(&cache.path, old).expect("a file");
        assert_eq!(cache.load().expect("a token").fingerprint, "");
    }

    #[test]
    fn clearing_removes_leftover_files_and_no_others() {
        let folder = tempfile::tempdir().expect("a folder");
        let cache = Cache::of(folder.path(), "default");
        cache.save(&token(), "x").expect("a save");
        for name in [".default-platform.json.tmp1", "other-platform.json"] {
            fs::write(folder.path().join(name), "").expect("a file");
        }
        cache.clear().expect("cleared");
        cache.clear().expect("cleared again");
        let left: Vec<_> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        assert_eq!(left, ["other-platform.json"]);
    }
}
