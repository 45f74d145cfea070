//! A server's copy of a file of tokens or users.

use std::{
    fmt, fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use tracing::{error, info, warn};
use ziggurat_runtime::watch::Stamp;

use crate::file::{Change, FileError, Loaded, Table, TableFile};

/// Age from which the last change of a file has a time of its own. Systems count this time in steps
/// of up to 10 ms.
const SETTLED: Duration = Duration::from_millis(20);

/// Traces of the last change of a file: its stamp, and the time of the change, which a change of the
/// mode sets, too.
type Traces = (Stamp, SystemTime);

/// A file, and its last readable content.
pub struct WatchedFile<T> {
    file: TableFile<T>,
    loaded: Loaded<T>,
    /// Traces of the content that was read; none if a later change may leave the same.
    read: Option<Traces>,
    /// Last warning about the file, so that it is logged once and not for every event.
    complaint: Option<String>,
    /// Error of the last attempt to write it, which is logged once.
    unwritten: Option<String>,
}

// === impl WatchedFile ===

impl<T: Table> WatchedFile<T> {
    /// Reads the file. A missing one has an empty table.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn open(path: PathBuf) -> Result<Self, FileError> {
        let read = traces(&path);
        let file = TableFile::new(path);
        let loaded = file.load()?;
        Ok(Self {
            file,
            loaded,
            read,
            complaint: None,
            unwritten: None,
        })
    }

    /// Returns the content.
    pub fn table(&self) -> &T {
        &self.loaded.table
    }

    /// Returns whether the file existed at the last read.
    pub(crate) fn is_there(&self) -> bool {
        self.loaded.text.is_some()
    }

    /// Reads the file if it has changed, and returns whether its content is new. An unreadable file
    /// changes nothing. The caller [logs](log_reload) the new content once it is in use.
    pub fn reload(&mut self) -> bool {
        let traces = traces(self.file.path());
        if traces.is_some() && traces == self.read {
            return false;
        }
        self.read = traces;
        match self.file.read_if_not(self.loaded.text) {
            Ok(None) => {
                self.complaint = None;
                false
            }
            Ok(Some(new)) if new.text.is_some() => {
                self.adopt(new);
                true
            }
            Ok(Some(_)) => {
                let path = self.file.path().display();
                let gone = format!(
                    "{path}: the file does not exist any more; its last contents \
                     stay in use"
                );
                self.complain(gone);
                false
            }
            Err(error) => {
                self.read = None;
                self.complain(error.to_string());
                false
            }
        }
    }

    /// Changes the file and the copy in memory. The copy is changed even if the file cannot be
    /// written.
    pub fn change<R>(&mut self, change: impl Fn(&mut T) -> Change<R>) -> R {
        let apply = |table: &mut T| Ok::<_, FileError>(change(table));
        match self.file.apply(self.loaded.text, apply) {
            Ok(updated) if updated.now.text.is_some() => {
                self.unwritten = None;
                if updated.before == self.loaded.text {
                    self.loaded = updated.now;
                } else {
                    self.adopt(updated.now);
                    log_reload(self.file.path());
                }
                return updated.outcome;
            }
            // The file was deleted; only an administrator may restore it.
            Ok(_) => {}
            Err(error) => {
                let reason = error.to_string();
                if self.unwritten.as_ref() != Some(&reason) {
                    error!(
                        %error,
                        "cannot write an account file; changes are kept in memory, and the same \
                         failure is not logged again"
                    );
                    self.unwritten = Some(reason);
                }
            }
        }
        match change(&mut self.loaded.table) {
            Change::Write(outcome) | Change::Leave(outcome) => outcome,
        }
    }

    fn adopt(&mut self, new: Loaded<T>) {
        self.loaded = new;
        self.complaint = None;
    }

    fn complain(&mut self, complaint: String) {
        if self.complaint.as_ref() != Some(&complaint) {
            // The complaint begins with the path.
            let path = self.file.path().display().to_string();
            let reason = complaint.strip_prefix(&path).unwrap_or(&complaint);
            let reason = reason.trim_start_matches(": ");
            warn!("[AUTH] Failed to reload {path}: {reason}");
            self.complaint = Some(complaint);
        }
    }
}

/// Logs that the content of a file is in use now.
pub fn log_reload(path: &Path) {
    info!("[AUTH] Reloaded {}", path.display());
}

/// Returns the traces of the last change of a file, if it was long enough ago.
fn traces(path: &Path) -> Option<Traces> {
    let about = fs::metadata(path).ok()?;
    let (seconds, part) = (
        about.ctime().try_into().ok()?,
        about.ctime_nsec().try_into().ok()?,
    );
    let changed = UNIX_EPOCH + Duration::new(seconds, part);
    let is_settled = changed.elapsed().ok()? >= SETTLED;
    is_settled.then_some((Stamp::of(path)?, changed))
}

impl<T> fmt::Debug for WatchedFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.file).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::Permissions, os::unix::fs::PermissionsExt as _, thread};

    use ziggurat_runtime::logs::captured::Captured;

    use super::*;
    use crate::tokens::Tokens;

    /// Waits until a later change of the file gets other traces.
    fn settle(path: &Path) {
        while traces(path).is_none() {
            thread::yield_now();
        }
    }

    #[test]
    fn a_file_is_read_and_complained_about_once_for_each_change() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("tokens.yaml");
        let set_mode = |mode| fs::set_permissions(&path, Permissions::from_mode(mode));
        fs::write(&path, "tokens: []").expect("written");
        set_mode(0o644).expect("ours");
        settle(&path);
        let (log, _guard) = Captured::start();
        let mut file = WatchedFile::<Tokens>::open(path.clone()).expect("opened");
        let complaints = |file: &mut WatchedFile<Tokens>| {
            for _ in 0..40 {
                assert!(!file.reload(), "nothing is new");
            }
            let lines = log.lines().into_iter();
            let open = lines.filter(|line| line.contains("other users can access the file"));
            open.count()
        };
        assert_eq!(complaints(&mut file), 1);
        set_mode(0o640).expect("ours");
        settle(&path);
        assert_eq!(complaints(&mut file), 1);
        set_mode(0o600).expect("ours");
        settle(&path);
        assert_eq!(complaints(&mut file), 0);
    }
}
