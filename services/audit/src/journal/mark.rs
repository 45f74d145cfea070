//! Position of the last record, kept apart from the trail, so that a removed end is noticed.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _},
    path::Path,
};

use tracing::warn;

use crate::{
    line::chain::{Hex, Sha},
    names,
};

/// Digits of the digest of a path, by which trails in one folder of state have files of their own.
const NAME_DIGITS: usize = 16;

/// Size of the content; no other is read.
const MAX_BYTES: u64 = 256;

/// Position of a record: its sequence number and its link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) seq: u64,
    pub(crate) link: Hex,
}

/// File with the [`Mark`] of a trail.
#[derive(Debug)]
pub(crate) struct MarkFile {
    file: File,
    /// The mark that was read or written last.
    pub(crate) mark: Option<Mark>,
}

// === impl Mark ===

impl Mark {
    fn parse(text: &str) -> Option<Self> {
        let (seq, link) = text.trim().split_once(' ')?;
        Some(Self {
            seq: seq.parse().ok()?,
            link: Hex::parse(link.as_bytes())?,
        })
    }
}

// === impl MarkFile ===

impl MarkFile {
    /// Opens the file of a trail that exists, in this folder or beside the trail. Returns `None` after
    /// a failure.
    pub(crate) fn open(folder: Option<&Path>, trail: &Path) -> Option<Self> {
        let opened = Self::read(folder, trail);
        let opened = opened.inspect_err(|error| {
            warn!(%error, "a removed end of the audit trail cannot be noticed after a restart");
        });
        opened.ok()
    }

    fn read(folder: Option<&Path>, trail: &Path) -> io::Result<Self> {
        let trail = fs::canonicalize(trail)?;
        let path = match folder {
            Some(folder) => {
                let mut builder = DirBuilder::new();
                builder.recursive(true).mode(0o700).create(folder)?;
                let digest = Sha::digest(trail.as_os_str().as_encoded_bytes()).hex();
                let digits = digest.as_str().get(..NAME_DIGITS).unwrap_or_default();
                folder.join(format!("audit-{digits}.last"))
            }
            None => names::last(&trail),
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).mode(0o600);
        let file = options.open(path)?;
        let mut text = String::new();
        (&file).take(MAX_BYTES).read_to_string(&mut text)?;
        let mark = Mark::parse(&text);
        Ok(Self { file, mark })
    }

    /// Replaces the mark. The caller has synced the record.
    pub(crate) fn write(&mut self, mark: Mark) -> io::Result<()> {
        if self.mark == Some(mark) {
            return Ok(());
        }
        // The length stays the same, so that no part of an older mark is left.
        let text = format!("{:020} {}\n", mark.seq, mark.link.as_str());
        self.file.write_all_at(text.as_bytes(), 0)?;
        self.mark = Some(mark);
        Ok(())
    }
}
