//! Reads and writes account files.
//!
//! A file is replaced atomically, so readers always see the complete output of one writer, even
//! after a crash. Writers hold a lock on a separate file, and each applies its change to the
//! current content. So the server, a command of an administrator, and other threads never overwrite
//! each other's changes.

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

/// Content of an account file.
pub(super) trait Table: Default {
    /// Reads the table from a document.
    fn from_document(document: Node) -> Result<Self, Unexpected>;

    /// Returns the document, unknown parts included.
    fn to_document(&self) -> Node;
}

/// A file that holds a table.
pub(super) struct TableFile<T> {
    path: PathBuf,
    max_bytes: usize,
    table: PhantomData<fn() -> T>,
}

/// A table, and the fingerprint of its text.
#[derive(Clone, Default)]
pub(super) struct Loaded<T> {
    pub(super) table: T,
    /// `None` if the file does not exist.
    pub(super) text: Option<Fingerprint>,
}

/// Hash of a text, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fingerprint(u64);

/// Result of a change.
pub(super) enum Change<R> {
    /// The table was changed.
    Write(R),
    /// The table is unchanged.
    Leave(R),
}

/// Result of an update.
pub(super) struct Updated<T, R> {
    /// The result of the change.
    pub(super) outcome: R,
    /// Current content of the file.
    pub(super) now: Loaded<T>,
    /// Fingerprint of the file before the update.
    pub(super) before: Option<Fingerprint>,
}

/// Reason why an account file cannot be used. The message is for the administrator.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum FileError {
    /// The file cannot be read or written.
    #[error("{}: {error}", path.display())]
    Io {
        /// Path of the file, its lock file or its temporary file.
        path: PathBuf,
        /// Error of the system.
        error: io::Error,
    },
    /// The file is not YAML.
    #[error("{}: {error}", path.display())]
    Yaml {
        /// Path of the file.
        path: PathBuf,
        /// Error of the library.
        error: serde_yaml::Error,
    },
    /// The file is YAML, but not an account file.
    #[error("{}: {problem}", path.display())]
    Invalid {
        /// Path of the file.
        path: PathBuf,
        /// Position, and the expected value.
        problem: String,
    },
    /// The file is too large to be read, or would be after the change.
    #[error("{}: larger than {max_bytes} bytes", path.display())]
    TooLarge {
        /// Path of the file.
        path: PathBuf,
        /// Maximum size of the file.
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

    /// Sets the maximum size of the file.
    #[cfg(test)]
    pub(super) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file, if it exists.
    pub(super) fn read(&self) -> Result<Loaded<T>, FileError> {
        self.parse(self.read_text()?)
    }

    /// Reads the file, unless it has this fingerprint.
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

    /// Applies a change to the current content of the file. Waits for other writers.
    pub(super) fn update<R, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut T) -> Result<Change<R>, E>,
    ) -> Result<Updated<T, R>, E> {
        // Replaces the target of a link, not the link.
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

    /// Waits for other writers and locks the file.
    fn lock(&self, target: &Path) -> Result<File, FileError> {
        let folder = folder_of(target);
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| self.io(error))?;
        let path = sibling(target, "lock");
        // The lock file is never removed: otherwise two writers could hold the lock.
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path);
        lock.and_then(|lock| lock.lock().map(|()| lock))
            .map_err(|error| FileError::Io { path, error })
    }

    /// Replaces the file; the caller holds the lock.
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
            // Keeps the owner if root runs a command on the file of another account. If that is not
            // permitted, the new owner can still read the file.
            let _ = fchown(new.as_file(), Some(old.uid()), Some(old.gid()));
        }
    }
    new.write_all(text.as_bytes())?;
    // Synced before the rename; otherwise a crash may leave an empty file under the new name.
    new.as_file().sync_all()?;
    new.persist(target)?;
    // Syncs the rename too.
    File::open(folder_of(target))?.sync_all()
}

/// One name is enough, because only one writer runs at a time; also removes the file of a killed
/// one.
fn new_file(target: &Path) -> io::Result<NamedTempFile> {
    let path = sibling(target, "new");
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

/// Returns a hidden name in the same folder.
fn sibling(target: &Path, suffix: &str) -> PathBuf {
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
