//! Destinations of results that contain a secret.

use std::{
    fs::{File, OpenOptions},
    io::Write as _,
    os::unix::fs::OpenOptionsExt as _,
    path::PathBuf,
};

use anyhow::Context as _;
use serde::Serialize;
use ziggurat_runtime::flags::Flags;

/// Destination of a result.
pub(super) enum Destination {
    Screen,
    File(PathBuf, File),
}

// === impl Destination ===

impl Destination {
    /// Creates the named file, which must not exist yet, or returns the screen.
    pub(super) fn of(flags: &Flags) -> anyhow::Result<Self> {
        let Some(path) = flags.path("out") else {
            return Ok(Self::Screen);
        };
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let file = file.with_context(|| format!("-out {}", path.display()))?;
        Ok(Self::File(path, file))
    }

    /// Writes the result and returns the text for the screen.
    pub(super) fn write(self, value: &impl Serialize) -> anyhow::Result<String> {
        let text = to_json(value);
        match self {
            Self::Screen => Ok(text),
            Self::File(path, mut file) => {
                file.write_all(text.as_bytes())
                    .and_then(|()| file.sync_all())
                    .with_context(|| format!("-out {}", path.display()))?;
                Ok(String::new())
            }
        }
    }
}

/// Formats a result as it is printed.
pub(super) fn to_json(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).expect("texts, numbers and lists of them");
    text.push('\n');
    text
}
