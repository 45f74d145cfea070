//! Audit trail of administrative commands.

use std::io;

use thiserror::Error;
use ziggurat_runtime::console;

use crate::{
    CallStart, Caller, Destination, OpenError, Settings, Verdict,
    audit::instance,
    draft::{Draft, Field},
    journal::{
        Journal, Output,
        log_file::{self, LogFile},
        recovery,
    },
    names,
};

/// Audit trail of administrative commands, with a file and a chain of its own.
///
/// Commands may run at the same time: the file is locked for each write only.
///
/// ```
/// use ziggurat_audit::{AdminAudit, Destination, Expected, Settings, Verdict, verify};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("audit.jsonl");
/// let admin = AdminAudit::new(Settings::new(Destination::File(path.clone())));
/// let command = admin.begin("-add-token", "root")?;
/// // The command does its work here.
/// command.end(Verdict::Ok)?;
/// let report = verify(
///     &[path.with_file_name("audit-admin.jsonl")],
///     None,
///     Expected::default(),
/// );
/// assert!(report.is_good);
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct AdminAudit(Settings);

/// Reason why an administrative command is not in the audit trail, although it has to be.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum RecordError {
    /// The command has not been run.
    #[error("the command cannot be recorded")]
    Begin(#[source] OpenError),
    /// The command has been run.
    #[error("the command is not recorded")]
    End(#[source] OpenError),
}

/// A command in progress. Without an [`end`](Self::end) it counts as cancelled.
#[must_use = "a command that has no end counts as cancelled"]
pub struct AdminCall {
    settings: Settings,
    record: Option<Draft>,
}

// === impl AdminAudit ===

impl AdminAudit {
    /// Creates the trail that belongs to the settings of a server. Touches no file.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self(settings)
    }

    /// Begins the record of a command, before it changes anything.
    ///
    /// `account` is the account of the system under which the command runs. If records are
    /// required, an `open` line is written now.
    ///
    /// # Errors
    /// Fails if records are required and this one cannot be written; the command must not run then.
    pub fn begin(&self, command: &str, account: &str) -> Result<AdminCall, OpenError> {
        let mut record = Draft::new(
            "call",
            &CallStart {
                method: command,
                caller: Caller {
                    kind: "admin",
                    name: account,
                    ..Caller::default()
                },
                ..CallStart::default()
            },
        );
        if self.0.required {
            let open = write(&self.0, |journal| journal.open(&mut record))?;
            record.open = Some(open);
        }
        Ok(AdminCall {
            settings: self.0.clone(),
            record: Some(record),
        })
    }
}

impl AdminAudit {
    /// Runs a command of the account of this process, and records it in the trail of a server, if
    /// there is one.
    ///
    /// # Errors
    /// Fails if the command does, and if records are required and this one cannot be written.
    pub fn run<E: From<RecordError>>(
        trail: Option<&Settings>,
        command: &str,
        work: impl FnOnce() -> Result<(), E>,
    ) -> Result<(), E> {
        let Some(settings) = trail else {
            return work();
        };
        let record = Self::new(settings.clone()).begin(command, &console::account());
        let record = record.map_err(RecordError::Begin)?;
        let outcome = work();
        let verdict = match outcome {
            Ok(()) => Verdict::Ok,
            Err(_) => Verdict::Error,
        };
        match record.end(verdict) {
            Err(error) if settings.required => return Err(RecordError::End(error).into()),
            Err(error) => tracing::warn!("the command is not recorded: {error}"),
            Ok(()) => {}
        }
        outcome
    }
}

// === impl AdminCall ===

impl AdminCall {
    /// Writes the record.
    ///
    /// # Errors
    /// Fails if the record cannot be written.
    pub fn end(mut self, verdict: Verdict) -> Result<(), OpenError> {
        self.finish(verdict)
    }

    /// Sets the database.
    pub fn database(&mut self, name: &str) {
        if let Some(record) = &mut self.record {
            record.set(Field::Database, name);
        }
    }

    fn finish(&mut self, verdict: Verdict) -> Result<(), OpenError> {
        let Some(mut record) = self.record.take() else {
            return Ok(());
        };
        record.end(&verdict.into());
        write(&self.settings, |journal| {
            journal.record(&record);
        })
    }
}

impl Drop for AdminCall {
    fn drop(&mut self) {
        if let Err(error) = self.finish(Verdict::Cancelled) {
            tracing::error!(%error, "the end of a command cannot be recorded");
        }
    }
}

impl std::fmt::Debug for AdminCall {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AdminCall").finish_non_exhaustive()
    }
}

/// Writes one line under the lock of the file.
fn write<T>(settings: &Settings, format: impl FnOnce(&mut Journal) -> T) -> Result<T, OpenError> {
    let key = settings.key()?;
    let (output, found) = match &settings.destination {
        Destination::Stderr => (
            Output::Stderr { is_torn: false },
            recovery::Found::default(),
        ),
        Destination::File(path) => {
            let path = names::admin(path);
            let file = log_file::wait_locked(&path)?;
            let found = recovery::recover(&path, &file, false)?;
            let failed = |error: io::Error| OpenError::File(path.clone(), error);
            let file = LogFile::new(&path, file, settings).map_err(failed)?;
            (Output::File(file), found)
        }
    };
    let mut journal = Journal::new(output, settings, key, &instance(), &found);
    journal.recovered(&found);
    let formatted = format(&mut journal);
    let written = journal.commit().and_then(|_| journal.sync());
    written.map(|()| formatted).map_err(OpenError::Write)
}
