//! Files that only their owner may read, replaced whole or not at all.

use std::{
    fs::{self, File, OpenOptions, TryLockError},
    io::{self, Write},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use rand::{TryRng as _, rngs::SysRng};

/// Keeps other processes of this program from the same file while it is read, changed and written.
#[derive(Debug)]
pub(crate) struct Lock(#[expect(dead_code, reason = "the lock lasts as long as the file")] File);

/// How long another process may take; it writes one small file.
const PATIENCE: Duration = Duration::from_secs(10);

// === impl Lock ===

impl Lock {
    /// Waits for the lock beside a file. The lock file stays: removing it would let two in.
    pub(crate) fn of(path: &Path) -> io::Result<Self> {
        Self::within(path, PATIENCE)
    }

    /// Waits for the lock no longer than this.
    pub(crate) fn within(path: &Path, patience: Duration) -> io::Result<Self> {
        let file = private_options()
            .create(true)
            .write(true)
            .truncate(false)
            .open(beside(path, "", ".lock"))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self(file)),
                Err(TryLockError::WouldBlock) if begun.elapsed() < patience => {
                    thread::sleep(Duration::from_millis(10));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(io::Error::new(
                        io::ErrorKind::TimedOut,
                        format!("another command has held the lock for {patience:?}"),
                    ));
                }
                Err(TryLockError::Error(error)) => return Err(error),
            }
        }
    }
}

/// Replaces a file: a temporary one beside it is written, synced, and renamed over it.
///
/// The mode is set before the first byte is written, and nothing is left behind on failure.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let number = SysRng.try_next_u32().map_err(io::Error::other)?;
    let temporary = beside(path, ".", &format!(".tmp{number:08x}"));
    let written = private_options()
        .create_new(true)
        .write(true)
        .open(&temporary)
        .and_then(|mut file| {
            file.write_all(content)?;
            file.sync_all()
        })
        .and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // Whatever went wrong, this file is of no use; the first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // Without this the rename may be lost with the power. A folder that cannot be opened or
    // synced (some file systems) does not make the save a failure.
    if let Some(folder) = path.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
    Ok(())
}

/// The file behind a path: a link is followed, so that it stays a link.
pub(super) fn target(path: &Path) -> PathBuf {
    if let Ok(target) = fs::canonicalize(path) {
        return target;
    }
    match (fs::read_link(path), path.parent()) {
        (Ok(link), Some(folder)) => folder.join(link),
        _ => path.to_owned(),
    }
}

/// Creates the folder of a file for its owner alone; a folder of ours is made so again.
pub(crate) fn create_folder(path: &Path, is_ours: bool) -> io::Result<()> {
    let Some(folder) = path.parent() else {
        return Ok(());
    };
    create_private_folder(folder)?;
    if is_ours {
        make_private(folder)?;
    }
    Ok(())
}

/// `<folder>/<before><name><after>`.
fn beside(path: &Path, before: &str, after: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!("{before}{name}{after}"))
}

#[cfg(unix)]
fn private_options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

#[cfg(not(unix))]
fn private_options() -> OpenOptions {
    OpenOptions::new()
}

#[cfg(unix)]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
}

#[cfg(not(unix))]
fn create_private_folder(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

#[cfg(unix)]
fn make_private(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(folder, fs::Permissions::from_mode(0o700))
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the other system can fail")]
fn make_private(_: &Path) -> io::Result<()> {
    Ok(())
}

/// Whether accounts other than the owner's may read a file.
#[cfg(unix)]
pub(super) fn is_readable_by_others(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    fs::metadata(path).is_ok_and(|meta| meta.permissions().mode() & 0o044 != 0)
}

/// Whether accounts other than the owner's may read a file.
#[cfg(not(unix))]
pub(super) fn is_readable_by_others(_: &Path) -> bool {
    false
}
