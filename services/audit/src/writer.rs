//! The thread that formats, chains and writes records.

use std::{
    fmt, io, mem,
    sync::{Arc, Mutex, TryLockError, atomic::Ordering::Relaxed},
};

use jiff::Timestamp;
use tracing::{error, info};
use ziggurat_runtime::lock;

use crate::{
    Settings,
    journal::Journal,
    line,
    queue::{Item, Orders, Queue, Written},
};

/// Number of records that are written together at most; the calls among them wait for the others.
const BATCH: usize = 512;

/// Writes the records of an [`Audit`](crate::Audit).
///
/// The program runs it on a thread of its own. If it is dropped, calls that need a record fail.
#[must_use = "records are written by `run`"]
pub struct Writer {
    queue: Arc<Queue>,
    line_writer: Arc<Mutex<Option<LineWriter>>>,
}

/// The right to write to the trail: the writer's, and for `open` lines that of a call, too.
pub(crate) struct LineWriter {
    queue: Arc<Queue>,
    journal: Journal,
    /// Is true if the file is to be opened anew.
    reopen: bool,
    opens: Vec<Item>,
    written: Written,
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(queue: Arc<Queue>, line_writer: Arc<Mutex<Option<LineWriter>>>) -> Self {
        Self { queue, line_writer }
    }

    /// Writes records until all [`Audit`](crate::Audit)s and [`Call`](crate::Call)s are gone, or
    /// until [`close`](crate::Audit::close).
    ///
    /// Blocks its thread. Before it returns, it writes what is queued and a `stop` line.
    pub fn run(self) {
        let mut batch = Vec::new();
        let mut sync_at = None;
        loop {
            let orders = self.queue.take(&mut batch, sync_at);
            let mut guard = lock(&self.line_writer);
            let Some(line_writer) = guard.as_mut() else {
                return;
            };
            line_writer.work(&mut batch, orders);
            if orders.close {
                line_writer.stop(batch);
                return;
            }
            sync_at = line_writer.journal.sync_at();
            drop(guard);
            write_opens(&self.queue, &self.line_writer);
        }
    }

    /// Replaces the open file, so that a test decides when it fails.
    #[cfg(test)]
    pub(crate) fn change(&self, change: impl FnOnce(&mut Journal)) {
        if let Some(line_writer) = lock(&self.line_writer).as_mut() {
            change(&mut line_writer.journal);
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // Also after a panic: no call may wait for a writer that is gone.
        self.queue.close();
        let line_writer = lock(&self.line_writer).take();
        let mut batch = Vec::new();
        self.queue.take(&mut batch, None);
        if let Some(line_writer) = line_writer {
            line_writer.fail(batch);
        }
    }
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer").finish_non_exhaustive()
    }
}

// === impl LineWriter ===

impl LineWriter {
    pub(crate) fn new(queue: Arc<Queue>, journal: Journal) -> Self {
        Self {
            queue,
            journal,
            reopen: false,
            opens: Vec::new(),
            written: Written::new(),
        }
    }

    /// Takes settings that may change while the trail goes on.
    pub(crate) fn apply(&mut self, settings: &Settings) {
        self.journal.apply(settings);
    }

    /// Writes the `open` lines of all calls that wait, for one of them.
    pub(crate) fn write_opens(&mut self) {
        let mut opens = mem::take(&mut self.opens);
        let missed = self.queue.take_opens(&mut opens);
        match self.write_together(&mut opens, missed) {
            Ok(count) => self.note(Ok(count)),
            Err(error) => {
                self.note(Err(error));
                self.put_back(mem::take(&mut opens), missed);
            }
        }
        self.opens = opens;
    }

    /// Does the writer's work on a batch.
    fn work(&mut self, batch: &mut Vec<Item>, orders: Orders) {
        self.write(batch, orders.missed);
        self.reopen |= orders.reopen;
        if self.reopen {
            let reopened = self.journal.reopen();
            // After an error it is tried again with the next batch.
            self.reopen = reopened.is_err();
            self.note(reopened);
        }
        let synced = self.journal.sync_if_due();
        self.note(synced.map(|()| 0));
    }

    /// Writes what has come meanwhile and the last line.
    fn stop(&mut self, mut batch: Vec<Item>) {
        let Orders { missed, .. } = self.queue.take(&mut batch, None);
        self.write(&mut batch, missed);
        let stopped = self.journal.begin().and_then(|()| {
            self.journal.event("stop", Timestamp::now(), |_| {});
            let count = self.journal.commit()?;
            self.journal.sync()?;
            Ok(count)
        });
        self.note(stopped);
    }

    /// Writes a batch. What cannot be written goes back into the queue.
    fn write(&mut self, batch: &mut Vec<Item>, mut missed: u64) {
        let mut now = Vec::new();
        while !batch.is_empty() || missed > 0 {
            now.extend(batch.drain(..batch.len().min(BATCH)));
            match self.write_together(&mut now, missed) {
                Ok(count) => {
                    missed = 0;
                    self.note(Ok(count));
                }
                Err(error) => {
                    self.note(Err(error));
                    now.append(batch);
                    self.put_back(now, missed);
                    return;
                }
            }
            let rotated = self.journal.rotate_if_full();
            self.note(rotated);
        }
    }

    /// Writes items with one write. After an error they are as before.
    fn write_together(&mut self, items: &mut Vec<Item>, missed: u64) -> io::Result<u64> {
        self.journal.begin()?;
        if missed > 0 {
            let members = |out: &mut Vec<u8>| line::number(out, "missed", missed);
            self.journal.event("gap", Timestamp::now(), members);
        }
        for item in items.iter_mut() {
            self.format(item);
        }
        let count = self.journal.commit()?;
        let mut written = mem::take(&mut self.written);
        for item in items.drain(..) {
            match item {
                Item::Call(record) => {
                    if let Some(open) = record.open {
                        self.journal.ended(open);
                    }
                    written.push(record);
                }
                Item::Open { call, seq } => {
                    if let Some(seq) = seq {
                        self.journal.opened(seq);
                    }
                    if let Some(record) = call.opened(seq) {
                        self.queue.push_late(Item::Call(record));
                    }
                }
                Item::Denied(_) | Item::Repeated(..) | Item::Reload(..) => {}
            }
        }
        self.queue.keep(&mut written);
        self.written = written;
        Ok(count)
    }

    fn format(&mut self, item: &mut Item) {
        match item {
            Item::Call(record) => self.journal.record("call", record),
            Item::Open { call, seq } => {
                *seq = call.format_open(|record| self.journal.open(record));
            }
            Item::Denied(record) => self.journal.record("denied", record),
            Item::Repeated(repeated, at) => {
                let members = |out: &mut Vec<u8>| line::number(out, "repeated", *repeated);
                self.journal.event("denied", *at, members);
            }
            Item::Reload(verdict, at) => {
                let members = |out: &mut Vec<u8>| line::member(out, "verdict", verdict.as_str());
                self.journal.event("reload", *at, members);
            }
        }
    }

    /// Puts items back into the queue; calls that wait for their `open` line fail.
    fn put_back(&self, items: Vec<Item>, missed: u64) {
        let is_open = |item: &Item| matches!(item, Item::Open { .. });
        let (opens, mut kept): (Vec<_>, Vec<_>) = items.into_iter().partition(is_open);
        self.fail(opens);
        self.queue.put_back(&mut kept, missed);
    }

    /// Counts items as missed, and fails the calls that wait for their `open` line.
    fn fail(&self, items: Vec<Item>) {
        // Counted first: a call that has failed may read the figures.
        self.queue.miss(items.len() as u64);
        for item in items {
            if let Item::Open { call, .. } = item {
                call.fail();
            }
        }
    }

    /// Counts lines or a failure, and logs when writing begins or ends to fail.
    fn note(&self, result: io::Result<u64>) {
        match result {
            Ok(0) => {}
            Ok(lines) => {
                self.queue.records.fetch_add(lines, Relaxed);
                if self.queue.set_failing(false) {
                    info!("the audit trail is written again");
                }
            }
            Err(error) => {
                self.queue.failures.fetch_add(1, Relaxed);
                if self.queue.set_failing(true) {
                    error!(%error, "the audit trail cannot be written");
                }
            }
        }
    }
}

/// Writes the `open` lines of all calls that wait, unless another thread does.
///
/// Looks again after each write: a call that came meanwhile has left its line to this thread.
pub(crate) fn write_opens(queue: &Queue, line_writer: &Mutex<Option<LineWriter>>) {
    while queue.has_opens() {
        let mut guard = match line_writer.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(guard)) => guard.into_inner(),
            Err(TryLockError::WouldBlock) => return,
        };
        let Some(line_writer) = guard.as_mut() else {
            return;
        };
        line_writer.write_opens();
    }
}
