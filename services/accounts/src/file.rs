//! The one way account files are read and written.
//!
//! A file is replaced as a whole: whoever reads it, at any moment and after any crash, reads
//! what one writer wrote. Writers take turns by a lock on a file beside it, and each applies its
//! change to what it finds there, so that the server and an administrator's command, or two
//! threads, never lose each other's.

use std::{
    fmt,
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _, Write as _},
    marker::PhantomData,
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
    },
    path::{Path, PathBuf},
};

use tempfile::{Builder, NamedTempFile};
use thiserror::Error;
use tracing::warn;
use ziggurat_runtime::watch::folder_of;

use crate::yaml::{self, Node, Unexpected};

/// What a file is read into.
pub(super) trait Table: Default {
    /// Makes sense of the document.
    fn from_document(document: Node) -> Result<Self, Unexpected>;

    /// The document, with all that was not understood.
    fn to_document(&self) -> Node;
}

/// A file that holds a table.
pub(super) struct TableFile<T> {
    path: PathBuf,
    max_bytes: usize,
    table: PhantomData<fn() -> T>,
}

/// A table, and of which text.
#[derive(Clone, Default)]
pub(super) struct Loaded<T> {
    pub(super) table: T,
    /// `None` if there is no file.
    pub(super) text: Option<Fingerprint>,
}

/// Tells one text from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

/// What a change came to.
pub(super) enum Change<R> {
    /// The table is another now.
    Write(R),
    /// The table is as it was.
    Leave(R),
}

/// What came of an update.
pub(super) struct Updated<T, R> {
    /// What the change said.
    pub(super) outcome: R,
    /// What the file holds now.
    pub(super) now: Loaded<T>,
    /// What it held before.
    pub(super) before: Option<Fingerprint>,
}

/// Why an account file cannot be used. The words are for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// It cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// The file, or what belongs to it.
        path: PathBuf,
        /// What the system says.
        error: io::Error,
    },
    /// It is not YAML.
    #[error("{}: {error}", path.display())]
    Yaml {
        /// The file.
        path: PathBuf,
        /// What the library says.
        error: serde_yaml::Error,
    },
    /// It is YAML, but not of accounts.
    #[error("{}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// Where, and what was expected.
        problem: String,
    },
    /// It is too large to be read, or would be.
    #[error("{}: larger than {max_bytes} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// Largest size of it.
        max_bytes: usize,
    },
}

// === impl TableFile ===

impl<T: Table> TableFile<T> {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            max_bytes: yaml::MAX_BYTES,
            table: PhantomData,
        }
    }

    /// Sets how large the file may be.
    #[cfg(test)]
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the file holds, if it is there.
    pub(super) fn read(&self) -> Result<Loaded<T>, FileError> {
        self.parse(self.read_text()?)
    }

    /// What the file holds, unless that is what is known already.
    pub(super) fn read_if_not(
        &self,
        known: Option<Fingerprint>,
    ) -> Result<Option<Loaded<T>>, FileError> {
        let text = self.read_text()?;
        if text.as_deref().map(Fingerprint::of) == known {
            return Ok(None);
        }
        self.parse(text).map(Some)
    }

    /// Applies a change to what the file holds at the moment. Waits for other writers.
    pub(super) fn update<R, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut T) -> Result<Change<R>, E>,
    ) -> Result<Updated<T, R>, E> {
        // The file a link points to is replaced, not the link.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let _turn = self.lock(&target)?;
        let mut now = self.read()?;
        let before = now.text;
        let outcome = match change(&mut now.table)? {
            Change::Leave(outcome) => outcome,
            Change::Write(outcome) => {
                now.text = Some(self.write(&target, &now.table)?);
                outcome
            }
        };
        Ok(Updated {
            outcome,
            now,
            before,
        })
    }

    fn read_text(&self) -> Result<Option<String>, FileError> {
        let file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        let about = file.metadata().map_err(|error| self.io(error))?;
        if about.mode() & 0o077 != 0 {
            let path = self.path.display();
            warn!(%path, "others than its owner have access to the file; it should have mode 0600");
        }
        let mut bytes = Vec::new();
        let limit = u64::try_from(self.max_bytes).map_or(u64::MAX, |bytes| bytes.saturating_add(1));
        file.take(limit)
            .read_to_end(&mut bytes)
            .map_err(|error| self.io(error))?;
        self.check_size(bytes.len())?;
        let text = String::from_utf8(bytes);
        text.map(Some).map_err(|_| self.invalid(&"it is not UTF-8"))
    }

    fn parse(&self, text: Option<String>) -> Result<Loaded<T>, FileError> {
        let Some(text) = text else {
            return Ok(Loaded::default());
        };
        let document = yaml::read(&text).map_err(|error| self.yaml(error))?;
        let table = T::from_document(document).map_err(|problem| self.invalid(&problem))?;
        let text = Some(Fingerprint::of(&text));
        Ok(Loaded { table, text })
    }

    /// Waits until nobody else writes.
    fn lock(&self, target: &Path) -> Result<File, FileError> {
        let folder = folder_of(target);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| self.io(error))?;
        let path = beside(target, "lock");
        // It stays: a lock on a file that may be removed excludes nobody.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        lock.and_then(|lock| lock.lock().map(|()| lock))
            .map_err(|error| FileError::Io { path, error })
    }

    /// Replaces the file, while nobody else does.
    fn write(&self, target: &Path, table: &T) -> Result<Fingerprint, FileError> {
        let text = yaml::write(&table.to_document()).map_err(|error| self.yaml(error))?;
        self.check_size(text.len())?;
        replace(target, &text).map_err(|error| self.io(error))?;
        Ok(Fingerprint::of(&text))
    }

    fn check_size(&self, bytes: usize) -> Result<(), FileError> {
        if bytes > self.max_bytes {
            return Err(FileError::TooLarge {
                path: self.path.clone(),
                max_bytes: self.max_bytes,
            });
        }
        Ok(())
    }

    fn io(&self, error: io::Error) -> FileError {
        let path = self.path.clone();
        FileError::Io { path, error }
    }

    fn yaml(&self, error: serde_yaml::Error) -> FileError {
        let path = self.path.clone();
        FileError::Yaml { path, error }
    }

    fn invalid(&self, problem: &impl ToString) -> FileError {
        FileError::Invalid {
            path: self.path.clone(),
            problem: problem.to_string(),
        }
    }
}

impl<T> fmt::Debug for TableFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("TableFile").field(&self.path).finish()
    }
}

fn replace(target: &Path, text: &str) -> io::Result<()> {
    let mut new = new_file(target)?;
    if let Ok(old) = fs::metadata(target) {
        let about = new.as_file().metadata()?;
        if (old.uid(), old.gid()) != (about.uid(), about.gid()) {
            // Root runs a command on the file of a server that is not root. Where that is not
            // permitted the new owner may read it all the same.
            let _ = fchown(new.as_file(), Some(old.uid()), Some(old.gid()));
        }
    }
    new.write_all(text.as_bytes())?;
    // Before the rename, or a crash may leave the new name with nothing in it.
    new.as_file().sync_all()?;
    new.persist(target)?;
    // And the rename itself.
    File::open(folder_of(target))?.sync_all()
}

/// Only one writer is here at a time, so one name is enough, and what a killed one left goes.
fn new_file(target: &Path) -> io::Result<NamedTempFile> {
    let path = beside(target, "new");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let name = path.file_name().expect("it was made with one");
    Builder::new()
        .prefix(name)
        .rand_bytes(0)
        .permissions(Permissions::from_mode(0o600))
        .tempfile_in(folder_of(target))
}

/// A hidden name in the same folder.
fn beside(target: &Path, suffix: &str) -> PathBuf {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    target.with_file_name(format!(".{name}.{suffix}"))
}

// === impl Fingerprint ===

impl Fingerprint {
    fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self(hasher.finish())
    }
}
