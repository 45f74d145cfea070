//! Position of the last record, kept apart from the trail, so that a removed end is noticed.

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io::{self, Read as _},
    os::unix::fs::{DirBuilderExt as _, FileExt as _, OpenOptionsExt as _},
    path::Path,
};

use tracing::warn;

use crate::{
    chain::{Hex, Sha},
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
    /// Is `None` after a failure: an old mark says less, and nothing wrong.
    file: Option<File>,
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
    /// Opens the file of a trail that exists, in this folder or beside the trail.
    pub(crate) fn open(folder: Option<&Path>, trail: &Path) -> Self {
        let opened = Self::read(folder, trail);
        opened.unwrap_or_else(|error| {
            warn!(%error, "a removed end of the audit trail cannot be noticed after a restart");
            let (file, mark) = (None, None);
            Self { file, mark }
        })
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
        let (file, mark) = (Some(file), Mark::parse(&text));
        Ok(Self { file, mark })
    }

    /// Replaces the mark. The caller has synced the record.
    pub(crate) fn write(&mut self, mark: Mark) {
        let Some(file) = self.file.as_ref().filter(|_| self.mark != Some(mark)) else {
            return;
        };
        // The length stays the same, so that no part of an older mark is left.
        let text = format!("{:020} {}\n", mark.seq, mark.link.as_str());
        match file.write_all_at(text.as_bytes(), 0) {
            Ok(()) => self.mark = Some(mark),
            Err(error) => {
                warn!(%error, "the position of the last audit record cannot be kept");
                self.file = None;
            }
        }
    }
}
