//! The section `audit` of a configuration.

use std::path::{Path, PathBuf};

use ziggurat_runtime::config::Section;

use crate::{Destination, Fsync, Key, KeyError, Methods, Settings, StatementForm};

/// Limit on the size of a file of the trail that an operator can set.
const MAX_FILE: u64 = 1 << 40;

/// Limit on the number of old files that an operator can set.
const MAX_KEPT: usize = 1_000_000;

/// Settings of an audit trail as a configuration has them, with the key still in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrailSettings {
    /// Place of the records.
    pub destination: Destination,
    /// True if nothing may run that cannot be recorded.
    pub required: bool,
    /// Form in which statements are recorded.
    pub statement: StatementForm,
    /// True if the arguments of tools are recorded.
    pub arguments: bool,
    /// Methods that are recorded.
    pub methods: Methods,
    /// Times at which the file is synced.
    pub fsync: Fsync,
    /// Size from which the next record goes to a new file; 0 means never.
    pub max_bytes: u64,
    /// Number of old files that are kept; 0 means all.
    pub keep: usize,
    /// File with the key that makes the chain an HMAC.
    pub key_file: Option<PathBuf>,
}

// === impl TrailSettings ===

impl TrailSettings {
    /// Reads the section `audit`; `None` if it names no file.
    #[must_use]
    pub fn read(file: &Section<'_>) -> Option<Self> {
        let file = file.section("audit");
        let usual = Settings::new(Destination::Stderr);
        let destination = file.key("file");
        let text = destination.text();
        let trail = Self {
            destination: match text.as_deref().and_then(Destination::parse) {
                Some(Destination::File(path)) => {
                    Destination::File(destination.path().unwrap_or(path))
                }
                Some(other) => other,
                None => Destination::Stderr,
            },
            required: file.key("required").boolean().unwrap_or(usual.required),
            statement: file.key("statement").parsed(str::parse).unwrap_or_default(),
            arguments: file.key("arguments").boolean().unwrap_or(usual.arguments),
            methods: file.key("methods").parsed(str::parse).unwrap_or_default(),
            fsync: file.key("fsync").parsed(str::parse).unwrap_or_default(),
            max_bytes: file
                .key("max_bytes")
                .whole(0..=MAX_FILE)
                .unwrap_or(usual.max_bytes),
            keep: file.key("keep").whole(0..=MAX_KEPT).unwrap_or(usual.keep),
            key_file: file.key("key_file").path(),
        };
        if text.is_none() && trail.required {
            destination.problem("is missing, although `audit.required` is true");
        }
        text.map(|_| trail)
    }

    /// Takes relative paths as relative to the folder of the configuration file.
    pub fn resolve(&mut self, folder: &Path) {
        if let Destination::File(path) = &mut self.destination {
            *path = folder.join(&*path);
        }
        if let Some(path) = &mut self.key_file {
            *path = folder.join(&*path);
        }
    }

    /// Returns the settings, with the key from its file.
    ///
    /// # Errors
    /// Fails if the key cannot be read.
    pub fn settings(&self) -> Result<Settings, KeyError> {
        let key = self.key_file.as_deref().map(Key::read);
        Ok(Settings {
            required: self.required,
            statement: self.statement,
            arguments: self.arguments,
            methods: self.methods,
            fsync: self.fsync,
            max_bytes: self.max_bytes,
            keep: self.keep,
            key: key.transpose()?,
            ..Settings::new(self.destination.clone())
        })
    }
}
