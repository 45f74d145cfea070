//! Settings of the audit trail.

use std::path::{Path, PathBuf};

use anyhow::Context as _;
use ziggurat_audit::{Destination, Fsync, Key, Methods, Settings, StatementForm};
use ziggurat_runtime::config::Section;

/// Limit on the size of a file of the trail that an operator can set.
const MAX_FILE: u64 = 1 << 40;

/// Limit on the number of old files that an operator can set.
const MAX_KEPT: usize = 1_000_000;

/// Settings of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AuditTrail {
    /// Place of the records.
    pub(crate) destination: Destination,
    /// True if nothing may run that cannot be recorded.
    pub(crate) required: bool,
    /// Form in which statements are recorded.
    pub(crate) statement: StatementForm,
    /// True if the arguments of tools are recorded.
    pub(crate) arguments: bool,
    /// Methods that are recorded.
    pub(crate) methods: Methods,
    /// Times at which the file is synced.
    pub(crate) fsync: Fsync,
    /// Size from which the next record goes to a new file; 0 means never.
    pub(crate) max_bytes: u64,
    /// Number of old files that are kept; 0 means all.
    pub(crate) keep: usize,
    /// File with the key that makes the chain an HMAC.
    pub(crate) key_file: Option<PathBuf>,
}

// === impl AuditTrail ===

impl AuditTrail {
    /// Reads the section; `None` if it names no file.
    pub(super) fn read(file: &Section<'_>) -> Option<Self> {
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
    pub(super) fn resolve(&mut self, folder: &Path) {
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
    pub(crate) fn settings(&self) -> anyhow::Result<Settings> {
        let key = self.key_file.as_deref().map(Key::read);
        Ok(Settings {
            required: self.required,
            statement: self.statement,
            arguments: self.arguments,
            methods: self.methods,
            fsync: self.fsync,
            max_bytes: self.max_bytes,
            keep: self.keep,
            key: key.transpose().context("audit.key_file")?,
            ..Settings::new(self.destination.clone())
        })
    }
}
