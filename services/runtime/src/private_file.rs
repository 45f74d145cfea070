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
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Write as _},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// Locks a file against other processes while it is read, changed and written.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "the lock lasts as long as the file")] File);

// === impl Lock ===

impl Lock {
    /// Waits for the lock of a file, at most for `timeout`.
    ///
    /// The lock file is never removed: otherwise two processes could hold the lock.
    ///
    /// # Errors
    /// Fails if the lock file cannot be opened, or another process holds the lock for too long.
    pub fn within(path: &Path, timeout: Duration) -> io::Result<Self> {
        let file = private_options()
            .create(true)
            .truncate(false)
            .open(sibling(path, "", ".lock"))?;
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
                        format!("another command has held the lock for {timeout:?}"),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Replaces a file: writes and syncs a temporary file in the same folder, then renames it.
///
/// The mode is set before the first byte is written, and a failure leaves no file behind.
///
/// # Errors
/// Fails if the new file cannot be written or renamed.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let mut new = tempfile::Builder::new()
        .prefix(sibling(path, ".", ".tmp").file_name().unwrap_or_default())
        .make_in(folder, |path| private_options().create_new(true).open(path))?;
    // Written through the plain file, whose errors do not contain the temporary path.
    new.as_file_mut().write_all(content)?;
    // Synced before the rename; otherwise a crash may leave an empty file under the new name.
    new.as_file().sync_all()?;
    new.persist(path)?;
    // Without this a power failure may undo the rename. Some file systems cannot open or sync a
    // folder; the file is saved nevertheless.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
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
#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has modes"))]
pub fn create_folder(path: &Path, is_ours: bool) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(folder)?;
    #[cfg(unix)]
    if is_ours {
        let mode = std::os::unix::fs::PermissionsExt::from_mode(0o700);
        fs::set_permissions(folder, mode)?;
    }
    Ok(())
}

/// Returns whether accounts other than the owner may read a file.
#[must_use]
#[cfg_attr(not(unix), expect(unused_variables, reason = "only Unix has modes"))]
pub fn is_readable_by_others(path: &Path) -> bool {
    #[cfg(unix)]
    return fs::metadata(path).is_ok_and(|about| {
        std::os::unix::fs::PermissionsExt::mode(&about.permissions()) & 0o044 != 0
    });
    #[cfg(not(unix))]
    false
}

fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

/// Returns `<folder>/<before><name><after>`.
fn sibling(path: &Path, before: &str, after: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{before}{name}{after}"))
}
