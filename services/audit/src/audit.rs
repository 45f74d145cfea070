//! Handle to an audit trail.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use arc_swap::{ArcSwap, Guard};
use http::Request;
use ziggurat_runtime::lock;
use ziggurat_telemetry::AuditCounts;

use crate::{
    CallStart, Caller, Destination, Methods, OpenError, Record, Settings, Verdict, WatchedRequest,
    Writer,
    journal::{
        Journal, Output,
        log_file::{self, LogFile},
        mark::{Mark, MarkFile},
        recovery,
    },
    queue::Queue,
    settings::CallSettings,
    writer::{self, LineWriter},
};

/// Handle to an audit trail; clones share the trail.
#[derive(Clone)]
pub struct Audit(Arc<Handle>);

struct Handle {
    settings: Arc<ArcSwap<Settings>>,
    queue: Arc<Queue>,
    line_writer: Arc<Mutex<Option<LineWriter>>>,
}

// === impl Audit ===

impl Audit {
    /// Opens and locks the file, continues its chain, and writes a `start` line.
    ///
    /// An incomplete last line is moved to `<file>.torn`. If the last record that was synced is
    /// gone, the chain continues after it, and so shows that records were removed. If records are
    /// required, each call without an end gets a `call` line of verdict `lost`; for this, the whole
    /// file is read.
    ///
    /// # Errors
    /// Fails if the key cannot be read, and if the file is in use, cannot be read or written, or does
    /// not end with a record.
    pub fn open(settings: Settings) -> Result<(Self, Writer), OpenError> {
        let (instance, key) = (instance(), settings.key()?);
        let (output, found, mark_file) = match &settings.destination {
            Destination::Stderr => (
                Output::Stderr { is_torn: false },
                recovery::Found::default(),
                None,
            ),
            Destination::File(path) => {
                let failed = |error| OpenError::File(path.clone(), error);
                let file = log_file::open_locked(path)?;
                let mut found = recovery::recover(path, &file, settings.required)?;
                let mark_file = MarkFile::open(settings.state_folder.as_deref(), path);
                if let Some(marked) = mark_file.as_ref().and_then(|file| file.mark) {
                    found.check(marked, path).map_err(failed)?;
                }
                let file = LogFile::new(path, file, &settings).map_err(failed)?;
                (Output::File(file), found, mark_file)
            }
        };
        let mut journal = Journal::new(output, &settings, key, &instance, &found);
        journal.mark_file = mark_file;
        journal.start(&found).map_err(OpenError::Write)?;
        let queue = Arc::new(Queue::default());
        let settings = Arc::new(ArcSwap::from_pointee(settings));
        let line_writer = LineWriter::new(Arc::clone(&queue), Arc::clone(&settings), journal);
        let line_writer = Arc::new(Mutex::new(Some(line_writer)));
        let writer = Writer::new(Arc::clone(&queue), Arc::clone(&line_writer));
        let handle = Handle {
            settings,
            queue,
            line_writer,
        };
        Ok((Self(Arc::new(handle)), writer))
    }

    /// Begins the record of a call.
    #[must_use]
    pub fn begin(&self, start: &CallStart<'_>) -> Record {
        self.begin_with(self.settings().of_call(), start)
    }

    /// Begins the record of a request that is not a call, such as a list, if the settings ask for
    /// it.
    #[must_use]
    pub fn begin_other(&self, start: &CallStart<'_>) -> Option<Record> {
        let settings = self.settings();
        let is_recorded = settings.methods == Methods::All;
        is_recorded.then(|| self.begin_with(settings.of_call(), start))
    }

    /// Keeps what the record of a refused token needs, until the response shows whether
    /// the token was refused.
    pub fn watch<B>(&self, request: &Request<B>, ip: Option<IpAddr>) -> WatchedRequest {
        WatchedRequest::new(self.clone(), request, ip)
    }

    /// Records a reload of the configuration.
    pub fn reload(&self, verdict: Verdict) {
        self.0.queue.push_reload(verdict);
    }

    /// Records an event of a sign-in. `members` is a JSON object with the facts of the event, without
    /// secrets.
    pub fn sign_in(&self, request_id: &str, ip: Option<IpAddr>, members: &serde_json::Value) {
        let start = CallStart {
            request_id,
            transport: "http",
            caller: Caller {
                ip,
                ..Caller::default()
            },
            ..CallStart::default()
        };
        let members = members.to_string();
        let members = members.get(1..members.len() - 1);
        self.0
            .queue
            .push_sign_in(&start, members.unwrap_or_default());
    }

    /// Opens the file anew if another program has renamed it.
    pub fn reopen(&self) {
        self.0.queue.reopen();
    }

    /// Takes other settings, from the next record on. The destination and the key do not change,
    /// because the chain goes on.
    pub fn apply(&self, settings: Settings) {
        let running = self.settings();
        let settings = settings.in_trail_of(&running);
        self.0.settings.store(Arc::new(settings));
    }

    /// Ends the [`Writer`]; records of calls that end later are missed.
    pub fn close(&self) {
        self.0.queue.close();
    }

    /// Returns a flag that is true while no line can be written although records are required, so
    /// that no call runs.
    #[must_use]
    pub fn unavailable(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0.queue.is_unavailable)
    }

    /// Returns the figures for a page of metrics.
    #[must_use]
    pub fn counts(&self) -> AuditCounts {
        AuditCounts {
            records: self.0.queue.records.load(Relaxed),
            missed: self.0.queue.missed.load(Relaxed),
            failures: self.0.queue.failures.load(Relaxed),
        }
    }

    fn begin_with(&self, settings: CallSettings, start: &CallStart<'_>) -> Record {
        Record::new(self.clone(), settings, self.0.queue.new_record(start))
    }

    /// Returns the position of the last line, while there is a writer. Waits for a write.
    pub(crate) fn written(&self) -> Option<Mark> {
        lock(&self.0.line_writer).as_ref()?.journal.written()
    }

    pub(crate) fn settings(&self) -> Guard<Arc<Settings>> {
        self.0.settings.load()
    }

    /// Writes the `open` lines of all calls that wait, unless another thread does.
    pub(crate) fn write_opens(&self) {
        writer::write_opens(&self.0.queue, &self.0.line_writer);
    }

    pub(crate) fn queue(&self) -> &Queue {
        &self.0.queue
    }
}

impl fmt::Debug for Audit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &*self.settings();
        f.debug_struct("Audit")
            .field("settings", settings)
            .finish_non_exhaustive()
    }
}

// === impl Handle ===

impl Drop for Handle {
    fn drop(&mut self) {
        self.queue.close();
    }
}

/// Returns four random digits that tell the processes of a trail apart.
pub(crate) fn instance() -> String {
    let mut bytes = [0; 2];
    // Without random bytes the number of the process has to do.
    if aws_lc_rs::rand::fill(&mut bytes).is_err() {
        let [.., third, fourth] = std::process::id().to_be_bytes();
        bytes = [third, fourth];
    }
    format!("{:04x}", u16::from_be_bytes(bytes))
}
