//! A server's copy of a file of tokens or users.

use std::{fmt, path::PathBuf};

use tracing::{error, info, warn};

use crate::file::{Change, FileError, Loaded, Table, TableFile};

/// A file, and its last readable content.
pub struct WatchedFile<T> {
    file: TableFile<T>,
    loaded: Loaded<T>,
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
        let file = TableFile::new(path);
        let loaded = file.load()?;
        Ok(Self {
            file,
            loaded,
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

    /// Reads the file, and returns whether its content is new. An unreadable file changes nothing.
    pub fn reload(&mut self) -> bool {
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
        info!("[AUTH] Reloaded {}", self.file.path().display());
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

impl<T> fmt::Debug for WatchedFile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("WatchedFile").field(&self.file).finish()
    }
}
