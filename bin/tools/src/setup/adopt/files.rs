//! Files that a conversion reads, and new files that it writes.

use std::{
    fs,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use ziggurat_adopt::File;
use ziggurat_runtime::{file, private_file};

use crate::configuration::FILE;

/// Maximum size of a configuration.
const MAX_BYTES: u64 = 1 << 20;

/// Folder of the new files.
#[derive(Debug)]
pub(super) struct Target {
    folder: PathBuf,
    /// Path of the configuration, which clients can use from any folder.
    configuration: String,
}

/// Reads a file, or standard input.
pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    let name = || path.display().to_string();
    if path != Path::new("-") {
        return file::text(path, MAX_BYTES).with_context(name);
    }
    let mut text = String::new();
    let mut input = io::stdin().lock().take(MAX_BYTES + 1);
    input.read_to_string(&mut text).with_context(name)?;
    if text.len() as u64 > MAX_BYTES {
        bail!("standard input is larger than 1 MiB");
    }
    Ok(text)
}

// === impl Target ===

impl Target {
    pub(super) fn new(folder: &Path) -> anyhow::Result<Self> {
        let whole = fs::canonicalize(folder).with_context(|| folder.display().to_string())?;
        Ok(Self {
            folder: folder.to_owned(),
            configuration: whole.join(FILE).display().to_string(),
        })
    }

    pub(super) fn configuration(&self) -> &str {
        &self.configuration
    }

    /// Writes files that do not exist, which only their owner can read. Returns their paths.
    pub(super) fn write(&self, files: &[File]) -> anyhow::Result<Vec<String>> {
        let files = files.iter();
        let files = files.map(|file| (self.folder.join(file.name), &*file.text));
        let files: Vec<_> = files.collect();
        private_file::create_all(&files)?;
        let written = files.iter().map(|(path, _)| path.display().to_string());
        Ok(written.collect())
    }
}
