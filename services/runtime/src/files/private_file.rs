//! Files that only their owner may read, with atomic replacement.
//!
//! ```
//! # fn main() -> std::io::Result<()> {
//! use ziggurat_runtime::private_file;
//!
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("ours/token");
//! private_file::create_folder(&path, true)?;
//! private_file::replace(&path, b"swordfish")?;
//! assert_eq!(std::fs::read(&path)?, b"swordfish");
//! assert!(!private_file::is_readable_by_others(&path));
//! # Ok(())
//! # }
//! ```

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions, TryLockError},
    io::{self, Write as _},
    os::unix::fs::{
        DirBuilderExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _, fchown,
    },
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use tempfile::{Builder, NamedTempFile};
use thiserror::Error;
use tracing::warn;

use crate::files::watch::folder_of;

/// Random letters in the name of a temporary file.
const RANDOM_LETTERS: usize = 6;

/// Reason why new files were not written.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CreateError {
    /// A file exists.
    #[error("{} exists: nothing was written", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {}", .0.display())]
    Unwritable(PathBuf, #[source] io::Error),
}

/// Locks a file against other processes while it is read, changed and written.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lasts as long as the file")] File);

// === impl Lock ===

impl Lock {
    /// Waits for a lock on the file `path` itself.
    ///
    /// # Errors
    /// Fails if the lock file cannot be opened or locked.
    pub fn wait(path: &Path) -> io::Result<Self> {
        let file = open_lock(path)?;
        file.lock()?;
        Ok(Self(file))
    }

    /// Waits for the lock of a file, at most for `timeout`.
    ///
    /// # Errors
    /// Fails if the lock file cannot be opened, or another process holds the lock for too long.
    pub fn within(path: &Path, timeout: Duration) -> io::Result<Self> {
        let file = open_lock(&sibling(path, "", ".lock"))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < timeout => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("another command held the lock for more than {timeout:?}"),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Replaces a file: writes and syncs a temporary file in the same folder, then renames it.
///
/// The mode is set before the first byte is written, and a failure leaves no file behind. The owner
/// stays the same, as far as this process may set it.
///
/// # Errors
/// Fails if the new file cannot be written or renamed.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = temporary(path, ".tmp", RANDOM_LETTERS)?;
    written(new, path, content)?.persist(path)?;
    sync_folder(path)
}

/// Replaces a file like [`replace`], for a caller that holds a lock.
///
/// The temporary file is always `.<name>.new`, so that the one of a killed writer does not stay.
///
/// # Errors
/// Fails if the new file cannot be written or renamed.
pub fn replace_locked(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(sibling(path, ".", ".new")) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let new = temporary(path, ".new", 0)?;
    written(new, path, content)?.persist(path)?;
    sync_folder(path)
}

/// Creates a file like [`replace`], unless it exists.
///
/// # Errors
/// Fails if the new file cannot be written, or with [`io::ErrorKind::AlreadyExists`].
pub fn create(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = temporary(path, ".tmp", RANDOM_LETTERS)?;
    written(new, path, content)?.persist_noclobber(path)?;
    sync_folder(path)
}

/// Creates files like [`create`]: all of them, or none.
///
/// # Errors
/// Fails if one of them exists or cannot be written.
pub fn create_all(files: &[(PathBuf, &str)]) -> Result<(), CreateError> {
    for (path, _) in files {
        if path.symlink_metadata().is_ok() {
            return Err(CreateError::Exists(path.clone()));
        }
    }
    for (index, (path, text)) in files.iter().enumerate() {
        if let Err(error) = create(path, text.as_bytes()) {
            for (path, _) in &files[..index] {
                fs::remove_file(path).ok();
            }
            return Err(CreateError::Unwritable(path.clone(), error));
        }
    }
    Ok(())
}

/// Resolves a path, so that a symbolic link is kept and its target is replaced.
#[must_use]
pub fn target(path: &Path) -> PathBuf {
    if let Ok(target) = fs::canonicalize(path) {
        return target;
    }
    match (fs::read_link(path), path.parent()) {
        (Ok(link), Some(folder)) => folder.join(link),
        _ => path.to_owned(),
    }
}

/// Creates the private folder of a file; `is_ours` makes an existing folder private too.
///
/// # Errors
/// Fails if the folder cannot be created or its mode cannot be set.
pub fn create_folder(path: &Path, is_ours: bool) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    builder.recursive(true).mode(0o700).create(folder)?;
    if is_ours {
        fs::set_permissions(folder, Permissions::from_mode(0o700))?;
    }
    Ok(())
}

/// Returns whether accounts other than the owner may read a file.
#[must_use]
pub fn is_readable_by_others(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.mode() & 0o044 != 0)
}

/// Logs a warning if accounts other than the owner have access to a file.
pub fn warn_of_access(path: &Path, metadata: &fs::Metadata) {
    if metadata.mode() & 0o077 != 0 {
        let path = path.display();
        warn!(%path, "other users can access the file; set its mode to 0600");
    }
}

/// The lock file is never removed: otherwise two processes could hold the lock.
fn open_lock(path: &Path) -> io::Result<File> {
    private_options().create(true).truncate(false).open(path)
}

fn temporary(path: &Path, suffix: &str, random_letters: usize) -> io::Result<NamedTempFile> {
    Builder::new()
        .prefix(sibling(path, ".", suffix).file_name().unwrap_or_default())
        .rand_bytes(random_letters)
        .make_in(folder_of(path), |path| {
            private_options().create_new(true).open(path)
        })
}

/// Writes the content that is to replace `path`.
fn written(mut new: NamedTempFile, path: &Path, content: &[u8]) -> io::Result<NamedTempFile> {
    keep_owner(new.as_file(), path)?;
    // Written through the plain file: its errors do not contain the temporary path.
    new.as_file_mut().write_all(content)?;
    // Synced before the rename; otherwise a crash may leave an empty file under the new name.
    new.as_file().sync_all()?;
    Ok(new)
}

/// Gives a new file to the owner of the old file, since root may replace a file of another user.
fn keep_owner(new: &File, old: &Path) -> io::Result<()> {
    if let Ok(old) = fs::metadata(old) {
        let about = new.metadata()?;
        if (old.uid(), old.gid()) != (about.uid(), about.gid()) {
            // If that is not permitted, the new owner can still read the file.
            let _ = fchown(new, Some(old.uid()), Some(old.gid()));
        }
    }
    Ok(())
}

/// Syncs a rename, which a power failure may undo otherwise.
fn sync_folder(path: &Path) -> io::Result<()> {
    use io::ErrorKind::{InvalidInput, PermissionDenied, Unsupported};

    match File::open(folder_of(path)).and_then(|folder| folder.sync_all()) {
        // Some file systems cannot open or sync a folder; the file is saved nevertheless.
        Err(error) if matches!(error.kind(), InvalidInput | PermissionDenied | Unsupported) => {
            Ok(())
        }
        synced => synced,
    }
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).mode(0o600);
    options
}

/// Returns `<folder>/<before><name><after>`.
fn sibling(path: &Path, before: &str, after: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{before}{name}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_exists_is_replaced_but_not_created() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        create(&path, b"first").expect("created");
        let error = create(&path, b"second").expect_err("it exists");
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&path).expect("there"), b"first");
        replace(&path, b"second").expect("replaced");
        replace_locked(&path, b"third").expect("replaced");
        assert_eq!(fs::read(&path).expect("there"), b"third");
        assert!(!is_readable_by_others(&path));
        assert_eq!(fs::read_dir(&folder).expect("there").count(), 1);
    }

    #[test]
    fn a_lock_keeps_others_waiting() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("keys");
        let lock = Lock::wait(&path.with_file_name("keys.lock")).expect("free");
        let error = Lock::within(&path, Duration::ZERO).expect_err("it is held");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        drop(lock);
        Lock::within(&path, Duration::ZERO).expect("free again");
    }
}
