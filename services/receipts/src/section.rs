//! The section `receipts` of a configuration.

use std::{
    io,
    path::{Path, PathBuf},
    str::FromStr,
};

use thiserror::Error;
use ziggurat_runtime::{
    config::{Section, Value},
    file::{self, FileError},
    private_file,
};

use crate::{KeyError, Keys, PublicKey, SigningKey};

/// Maximum size of a file with keys.
const MAX_BYTES: u64 = 1 << 16;

/// Checked values of the section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// File of the key that signs; without, there are no receipts.
    pub key_file: Option<PathBuf>,
    /// Files with the public halves of former keys.
    pub public_keys: Vec<PathBuf>,
    /// The calls that get receipts.
    pub mode: Mode,
    /// True if statements run on a snapshot, which the receipt names.
    pub snapshot: bool,
    /// True if calls of clients that negotiate no revision get receipts too, if they ask.
    pub v1: bool,
}

/// The calls that get receipts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Calls that ask for one.
    #[default]
    Ask,
    /// All calls that ran a statement.
    All,
}

/// A key that cannot be read.
#[derive(Debug, Error)]
#[error("{place}: {}", path.display())]
pub struct SettingsError {
    place: &'static str,
    path: PathBuf,
    source: KeyError,
}

// === impl Settings ===

impl Settings {
    /// Reads the section.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Self {
        let section = file.section("receipts");
        let usual = Self::default();
        let public_keys = section.key("public_keys");
        let files = public_keys.list().unwrap_or_default();
        Self {
            key_file: section.key("key_file").resolved_path(),
            public_keys: files.iter().filter_map(Value::resolved_path).collect(),
            mode: section.key("mode").parsed(str::parse).unwrap_or_default(),
            snapshot: section.key("snapshot").boolean().unwrap_or(usual.snapshot),
            v1: section.key("v1").boolean().unwrap_or(usual.v1),
        }
    }

    /// Reads the keys; `None` if there are no receipts.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or has no key.
    pub fn keys(&self) -> Result<Option<Keys>, SettingsError> {
        let Some(path) = &self.key_file else {
            return Ok(None);
        };
        let signing = SettingsError::of("receipts.key_file", path, |text| {
            if private_file::is_readable_by_others(path) {
                return Err(KeyError::Open);
            }
            SigningKey::of_pem(text.as_bytes())
        })?;
        let mut former = Vec::new();
        for path in &self.public_keys {
            let read = |text: &str| PublicKey::read(text.as_bytes());
            former.extend(SettingsError::of("receipts.public_keys", path, read)?);
        }
        Ok(Some(Keys::new(signing, &former)))
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            key_file: None,
            public_keys: Vec::new(),
            mode: Mode::default(),
            snapshot: true,
            v1: false,
        }
    }
}

// === impl Mode ===

impl Mode {
    /// Returns its word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ask => "ask",
            Self::All => "all",
        }
    }
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut modes = [Self::Ask, Self::All].into_iter();
        let mode = modes.find(|mode| mode.as_str() == text);
        mode.ok_or("must be ask or all")
    }
}

// === impl SettingsError ===

impl SettingsError {
    fn of<T>(
        place: &'static str,
        path: &Path,
        read: impl FnOnce(&str) -> Result<T, KeyError>,
    ) -> Result<T, Self> {
        let text = file::text(path, MAX_BYTES).map_err(|error| match error {
            FileError::Unreadable(error) => KeyError::Io(error),
            other => KeyError::Io(io::Error::other(other)),
        });
        text.and_then(|text| read(&text)).map_err(|source| Self {
            place,
            path: path.to_owned(),
            source,
        })
    }
}
