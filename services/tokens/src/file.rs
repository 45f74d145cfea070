//! Reads and writes files of tokens and users.
//!
//! A file is replaced atomically, so readers always see the complete output of one writer, even
//! after a crash. Writers hold a lock on a separate file, and each applies its change to the
//! current content. So the server, a command of an administrator, and other threads never overwrite
//! each other's changes.

use std::{
    fmt,
    fs::{self, File},
    hash::{DefaultHasher, Hash as _, Hasher as _},
    io::{self, Read as _},
    marker::PhantomData,
    path::{Path, PathBuf},
    thread,
    time::{Duration, SystemTime},
};

use thiserror::Error;
use ziggurat_runtime::{
    private_file::{self, Lock},
    yaml::{Node, Unexpected},
};

use crate::yaml;

/// Time since its last change after which a new content counts. Editors and `cp` write a file in place,
/// so an earlier read may see a part of it.
const QUIET: Duration = Duration::from_millis(20);

/// The same time for an empty file, because most of these programs empty a file first.
const QUIET_EMPTY: Duration = Duration::from_millis(200);

/// Maximum number of reads of a file that goes on changing.
const MAX_READS: u32 = 10;

/// Content of an account file.
pub trait Table: Default {
    /// Reads the table from a document.
    ///
    /// # Errors
    /// Fails if the document has another form.
    fn from_document(document: Node) -> Result<Self, Unexpected>;

    /// Returns the document, unknown parts included.
    fn to_document(&self) -> Node;
}

/// A file that holds a table.
pub struct TableFile<T> {
    path: PathBuf,
    max_bytes: usize,
    table: PhantomData<fn() -> T>,
}

/// A table, and the fingerprint of its text.
#[derive(Clone, Default)]
pub(crate) struct Loaded<T> {
    pub(crate) table: T,
    /// `None` if the file does not exist.
    pub(crate) text: Option<Fingerprint>,
}

/// Text of a file, and the time of its last change.
struct Text {
    text: String,
    changed: Option<SystemTime>,
}

/// Hash of a text, to detect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

/// Result of a change.
#[derive(Debug)]
pub enum Change<R> {
    /// The table was changed.
    Write(R),
    /// The table is unchanged.
    Leave(R),
}

/// Result of an update.
pub(crate) struct Updated<T, R> {
    /// The result of the change.
    pub(crate) outcome: R,
    /// Current content of the file.
    pub(crate) now: Loaded<T>,
    /// Fingerprint of the file before the update.
    pub(crate) before: Option<Fingerprint>,
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
    /// Uses this file, which need not exist.
    #[must_use]
    pub fn new(path: PathBuf) -> Self {
        Self {
            path,
            max_bytes: yaml::MAX_BYTES,
            table: PhantomData,
        }
    }

    /// Sets the maximum size of the file.
    #[cfg(test)]
    pub(crate) fn with_max_bytes(self, max_bytes: usize) -> Self {
        Self { max_bytes, ..self }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the table. A missing file has an empty one.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read(&self) -> Result<T, FileError> {
        Ok(self.load()?.table)
    }

    /// Applies a change to the current content of the file. Waits for other writers.
    ///
    /// # Errors
    /// Fails if the change does, or the file cannot be read or written.
    pub fn update<R, E: From<FileError>>(
        &self,
        change: impl FnOnce(&mut T) -> Result<Change<R>, E>,
    ) -> Result<R, E> {
        Ok(self.apply(None, change)?.outcome)
    }

    /// Reads the file, if it exists.
    pub(crate) fn load(&self) -> Result<Loaded<T>, FileError> {
        self.parse(self.read_settled(None)?)
    }

    /// Reads the file, unless it has this fingerprint.
    pub(crate) fn read_if_not(
        &self,
        known: Option<Fingerprint>,
    ) -> Result<Option<Loaded<T>>, FileError> {
        let text = self.read_settled(known)?;
        if text.as_ref().map(Text::fingerprint) == known {
            return Ok(None);
        }
        self.parse(text).map(Some)
    }

    /// Applies a change as [`update`](Self::update) does, and returns also the content. `known` is the
    /// content that the caller has seen last.
    pub(crate) fn apply<R, E: From<FileError>>(
        &self,
        known: Option<Fingerprint>,
        change: impl FnOnce(&mut T) -> Result<Change<R>, E>,
    ) -> Result<Updated<T, R>, E> {
        // Replaces the target of a link, not the link.
        let target = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let _turn = self.lock(&target)?;
        let mut now = self.parse(self.read_settled(known)?)?;
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

    /// Reads the file once no other program writes it any more.
    ///
    /// An account that is missing in a part of the file would lose its sessions for ever, and a change
    /// of the part would replace the whole file.
    fn read_settled(&self, known: Option<Fingerprint>) -> Result<Option<Text>, FileError> {
        for _ in 0..MAX_READS {
            let read = self.read_text()?;
            let new = read.as_ref().filter(|it| Some(it.fingerprint()) != known);
            match new.and_then(Text::quiet_left) {
                None => return Ok(read),
                Some(left) => thread::sleep(left),
            }
        }
        Err(self.invalid(&"another program goes on writing it"))
    }

    fn read_text(&self) -> Result<Option<Text>, FileError> {
        let mut file = match File::open(&self.path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.io(error)),
        };
        let metadata = file.metadata().map_err(|error| self.io(error))?;
        private_file::warn_of_access(&self.path, &metadata);
        let mut bytes = Vec::new();
        let limit = u64::try_from(self.max_bytes).map_or(u64::MAX, |bytes| bytes.saturating_add(1));
        let part = (&mut file).take(limit).read_to_end(&mut bytes);
        part.map_err(|error| self.io(error))?;
        self.check_size(bytes.len())?;
        // After the read: a change during the read counts too.
        let changed = file.metadata().and_then(|now| now.modified()).ok();
        let text = String::from_utf8(bytes).map_err(|_| self.invalid(&"it is not UTF-8"))?;
        Ok(Some(Text { text, changed }))
    }

    fn parse(&self, text: Option<Text>) -> Result<Loaded<T>, FileError> {
        let Some(text) = text else {
            return Ok(Loaded::default());
        };
        let document = yaml::read(&text.text).map_err(|error| self.yaml(error))?;
        let table = T::from_document(document).map_err(|problem| self.invalid(&problem))?;
        let text = Some(text.fingerprint());
        Ok(Loaded { table, text })
    }

    /// Waits for other writers and locks the file.
    fn lock(&self, target: &Path) -> Result<Lock, FileError> {
        private_file::create_folder(target, false).map_err(|error| self.io(error))?;
        let name = target.file_name().unwrap_or_default().to_string_lossy();
        let path = target.with_file_name(format!(".{name}.lock"));
        Lock::wait(&path).map_err(|error| FileError::Io { path, error })
    }

    /// Replaces the file; the caller holds the lock.
    fn write(&self, target: &Path, table: &T) -> Result<Fingerprint, FileError> {
        let text = yaml::write(&table.to_document()).map_err(|error| self.yaml(error))?;
        self.check_size(text.len())?;
        private_file::replace_locked(target, text.as_bytes()).map_err(|error| self.io(error))?;
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

// === impl Text ===

impl Text {
    fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of(&self.text)
    }

    /// Returns the time until the text counts, unless it does. A change in the future is one of another
    /// clock.
    fn quiet_left(&self) -> Option<Duration> {
        let quiet = if self.text.is_empty() {
            QUIET_EMPTY
        } else {
            QUIET
        };
        let age = self.changed?.elapsed().ok()?;
        quiet.checked_sub(age).filter(|left| !left.is_zero())
    }
}

// === impl Fingerprint ===

impl Fingerprint {
    fn of(text: &str) -> Self {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        Self(hasher.finish())
    }
}
