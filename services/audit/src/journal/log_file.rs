//! A locked file to which lines are appended whole or not at all.

use std::{
    fmt,
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use tracing::error;

use crate::{
    OpenError, Settings,
    names::{self, FileId},
};

/// Attempts to open a file that others rename meanwhile.
const ATTEMPTS: usize = 10;

/// An open file; tests put one in its place that fails.
pub(crate) trait FileHandle: fmt::Debug + Send {
    /// Appends bytes; after an error, some of them may have been written.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;
    /// Waits until the content is on the disk.
    fn sync(&mut self) -> io::Result<()>;
    /// Cuts the file, if it is longer.
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Returns the number of names that the file has.
    fn links(&self) -> io::Result<u64>;
}

/// A locked file to which lines are appended whole or not at all.
#[derive(Debug)]
pub(crate) struct LogFile {
    path: PathBuf,
    /// Is `None` between a rotation and the first line of the next file.
    handle: Option<Box<dyn FileHandle>>,
    id: Option<FileId>,
    length: u64,
    /// Is true if bytes of a failed attempt may follow.
    is_torn: bool,
    rotate_at: u64,
    max_bytes: u64,
    keep: usize,
}

// === impl FileHandle ===

impl FileHandle for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        // Another program may have cut it further, and this must not make it longer.
        if self.metadata()?.len() > length {
            self.set_len(length)?;
        }
        Ok(())
    }

    fn links(&self) -> io::Result<u64> {
        Ok(self.metadata()?.nlink())
    }
}

// === impl LogFile ===

impl LogFile {
    /// Wraps a file of [`open_locked`].
    pub(crate) fn new(path: &Path, file: File, settings: &Settings) -> io::Result<Self> {
        let mut new = Self {
            path: path.to_owned(),
            handle: None,
            id: None,
            length: 0,
            is_torn: false,
            rotate_at: settings.max_bytes,
            max_bytes: settings.max_bytes,
            keep: settings.keep,
        };
        new.set(file)?;
        Ok(new)
    }

    /// Takes settings that may change while the trail goes on.
    pub(crate) fn apply(&mut self, settings: &Settings) {
        if self.max_bytes != settings.max_bytes {
            self.rotate_at = settings.max_bytes;
            self.max_bytes = settings.max_bytes;
        }
        self.keep = settings.keep;
    }

    /// Closes a file that was deleted, because further lines would be lost too. Returns its name.
    pub(crate) fn close_deleted(&mut self) -> Option<String> {
        let links = self.handle.as_ref()?.links();
        // Some file systems count no links, so the name decides.
        if links.ok()? > 0 || !self.was_renamed() {
            return None;
        }
        let path = self.path.display();
        error!(%path, "the audit file was deleted with its records, and another is begun");
        Some(self.close_renamed())
    }

    /// Opens the file if a rotation has closed it.
    pub(crate) fn ensure_open(&mut self) -> io::Result<()> {
        if self.handle.is_some() {
            return Ok(());
        }
        let file = open_locked(&self.path).map_err(|error| match error {
            OpenError::File(_, error) => error,
            error => io::Error::other(error),
        })?;
        self.rotate_at = self.max_bytes;
        self.set(file)
    }

    /// Appends lines. After an error the file is as before, at the latest at the next call.
    pub(crate) fn append(&mut self, lines: &[u8]) -> io::Result<()> {
        self.repair()?;
        let handle = self.handle.as_mut().ok_or(io::ErrorKind::NotFound)?;
        self.is_torn = true;
        match handle.append(lines) {
            Ok(()) => {
                self.is_torn = false;
                self.length += lines.len() as u64;
                Ok(())
            }
            Err(error) => {
                // If this fails too, it is tried again before the next line.
                let _ = self.repair();
                Err(error)
            }
        }
    }

    /// Takes back lines that were appended last but could not be synced.
    pub(crate) fn take_back(&mut self, lines: usize) {
        self.length = self.length.saturating_sub(lines as u64);
        self.is_torn = true;
        let _ = self.repair();
    }

    pub(crate) fn sync(&mut self) -> io::Result<()> {
        self.handle.as_mut().map_or(Ok(()), |handle| handle.sync())
    }

    /// Returns whether the next line belongs into a new file.
    pub(crate) fn is_full(&self) -> bool {
        self.max_bytes > 0 && self.length >= self.rotate_at
    }

    /// Returns the path of the file when it holds these records and is an old one.
    pub(crate) fn archive(&self, first: u64, last: u64) -> PathBuf {
        names::archive(&self.path, first, last)
    }

    /// Renames the file and deletes the oldest ones. The next file is opened by `ensure_open`.
    pub(crate) fn rotate(&mut self, archive: &Path) -> io::Result<()> {
        // Tried again after as many bytes if it fails.
        self.rotate_at = self.length.saturating_add(self.max_bytes);
        if archive.try_exists()? {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        self.sync()?;
        fs::rename(&self.path, archive)?;
        self.handle = None;
        self.id = None;
        Ok(())
    }

    /// Returns the first record that is left after old files are deleted, when this file, which
    /// begins with `first`, is one of them; `None` if none is deleted.
    pub(crate) fn kept_from(&self, first: u64) -> io::Result<Option<u64>> {
        if self.keep == 0 {
            return Ok(None);
        }
        let old = names::archives(&self.path)?;
        let surplus = (old.len() + 1).saturating_sub(self.keep);
        let oldest = old.get(surplus).and_then(|oldest| oldest.file_name());
        let oldest = oldest.and_then(|name| names::first_of(&self.path, name));
        Ok((surplus > 0).then_some(oldest.unwrap_or(first)))
    }

    /// Deletes old files beyond those that are kept.
    pub(crate) fn delete_old(&self) -> io::Result<()> {
        if self.keep == 0 {
            return Ok(());
        }
        let old = names::archives(&self.path)?;
        let surplus = old.len().saturating_sub(self.keep);
        old.iter().take(surplus).try_for_each(fs::remove_file)
    }

    /// Returns whether another program has renamed the file.
    pub(crate) fn was_renamed(&mut self) -> bool {
        let there = fs::metadata(&self.path);
        match there {
            Ok(about) if Some(FileId::from(&about)) == self.id => {
                // Some programs copy a file and empty it.
                self.length = self.length.min(about.len());
                false
            }
            _ => self.handle.is_some(),
        }
    }

    /// Closes a file that another program has renamed. Returns its present name.
    pub(crate) fn close_renamed(&mut self) -> String {
        let handle = self.handle.take();
        let id = self.id.take();
        if let Some(name) = id.and_then(|id| names::renamed(&self.path, id)) {
            return name;
        }
        let was_moved = handle.is_some_and(|it| it.links().is_ok_and(|links| links > 0));
        if was_moved {
            names::MOVED.to_owned()
        } else {
            names::of(&self.path)
        }
    }

    /// Replaces the open file, so that a test decides when it fails.
    #[cfg(test)]
    pub(crate) fn wrap(&mut self, wrap: impl FnOnce(Box<dyn FileHandle>) -> Box<dyn FileHandle>) {
        self.handle = self.handle.take().map(wrap);
    }

    fn set(&mut self, file: File) -> io::Result<()> {
        let about = file.metadata()?;
        self.id = Some(FileId::from(&about));
        self.length = about.len();
        self.is_torn = false;
        self.handle = Some(Box::new(file));
        Ok(())
    }

    fn repair(&mut self) -> io::Result<()> {
        if let (true, Some(handle)) = (self.is_torn, &mut self.handle) {
            handle.cut(self.length)?;
            self.is_torn = false;
        }
        Ok(())
    }
}

/// Opens a file that only its owner can read, and locks it.
pub(crate) fn open_locked(path: &Path) -> Result<File, OpenError> {
    opened(path, |file| match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
        Err(TryLockError::Error(error)) => Err(OpenError::File(path.to_owned(), error)),
    })
}

/// Opens a file that only its owner can read, and waits for its lock.
pub(crate) fn wait_locked(path: &Path) -> Result<File, OpenError> {
    opened(path, |file| {
        file.lock()
            .map_err(|error| OpenError::File(path.to_owned(), error))
    })
}

fn opened(path: &Path, lock: impl Fn(&File) -> Result<(), OpenError>) -> Result<File, OpenError> {
    let failed = |error| OpenError::File(path.to_owned(), error);
    for _ in 0..ATTEMPTS {
        let mut options = OpenOptions::new();
        options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(failed)?;
        lock(&file)?;
        // Between both, the file may have become an old one.
        let about = file.metadata().map_err(failed)?;
        let is_current =
            fs::metadata(path).is_ok_and(|there| FileId::from(&there) == FileId::from(&about));
        if is_current {
            return Ok(file);
        }
    }
    Err(OpenError::InUse(path.to_owned()))
}
