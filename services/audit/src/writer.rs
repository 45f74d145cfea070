//! The thread that formats, chains and writes records.

use std::{
    fmt, io, mem,
    sync::{Arc, Mutex, TryLockError, atomic::Ordering::Relaxed},
};

use arc_swap::ArcSwap;
use jiff::Timestamp;
use tracing::{error, info};
use ziggurat_runtime::lock;

use crate::{
    Settings,
    journal::Journal,
    queue::{Batch, Open, Orders, Queue, Records},
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

/// The right to write to the trail. The writer takes it; for `open` lines a call may take it too.
pub(crate) struct LineWriter {
    queue: Arc<Queue>,
    settings: Arc<ArcSwap<Settings>>,
    pub(crate) journal: Journal,
    /// Is true if the file is to be opened anew.
    reopen: bool,
    /// Is true after an attempt to write has failed. The queue has a copy, behind its lock.
    is_failing: bool,
    opens: Vec<Open>,
    /// Records that are written together.
    records: Records,
}

// === impl Writer ===

impl Writer {
    pub(crate) fn new(queue: Arc<Queue>, line_writer: Arc<Mutex<Option<LineWriter>>>) -> Self {
        Self { queue, line_writer }
    }

    /// Writes records until all [`Audit`](crate::Audit)s and [`Record`](crate::Record)s are gone, or
    /// until [`close`](crate::Audit::close).
    ///
    /// Blocks its thread. Before it returns, it writes the queued records and a `stop` line.
    pub fn run(self) {
        let mut batch = Batch::default();
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
        let mut batch = Batch::default();
        self.queue.take(&mut batch, None);
        if let Some(line_writer) = line_writer {
            line_writer.fail(batch.opens.into_iter(), batch.records.len());
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
    pub(crate) fn new(
        queue: Arc<Queue>,
        settings: Arc<ArcSwap<Settings>>,
        journal: Journal,
    ) -> Self {
        Self {
            queue,
            settings,
            journal,
            reopen: false,
            is_failing: false,
            opens: Vec::new(),
            records: Records::default(),
        }
    }

    /// Writes the `open` lines of all calls that wait, for one of them.
    pub(crate) fn write_opens(&mut self) {
        let mut opens = mem::take(&mut self.opens);
        let missed = self.queue.take_opens(&mut opens);
        match self.write_together(&mut opens, &mut Records::default(), missed) {
            Ok(count) => self.note(Ok(count)),
            Err(error) => {
                self.note(Err(error));
                self.put_back(&mut opens, &mut Records::default(), missed);
            }
        }
        self.opens = opens;
    }

    /// Does the writer's work on a batch.
    fn work(&mut self, batch: &mut Batch, orders: Orders) {
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
        self.journal.mark();
    }

    /// Writes the records that have come meanwhile, and the last line.
    fn stop(&mut self, mut batch: Batch) {
        let Orders { missed, .. } = self.queue.take(&mut batch, None);
        self.write(&mut batch, missed);
        let missed = self.queue.unwritten();
        if missed > 0 {
            error!(
                records = missed,
                "the audit trail ends without records that could not be written"
            );
        }
        let stopped = self.journal.begin().and_then(|()| {
            // These lines are short, and may fit where the records did not.
            self.journal.missed(missed);
            self.journal.event("stop", Timestamp::now(), |_| {});
            let count = self.journal.commit()?;
            self.journal.sync()?;
            Ok(count)
        });
        self.note(stopped);
        self.journal.mark();
    }

    /// Writes a batch. What cannot be written goes back into the queue.
    fn write(&mut self, batch: &mut Batch, mut missed: u64) {
        let Batch { opens, records } = batch;
        let mut now = mem::take(&mut self.records);
        while !opens.is_empty() || !records.is_empty() || missed > 0 {
            now.extend(records.drain(..records.len().min(BATCH)));
            match self.write_together(opens, &mut now, missed) {
                Ok(count) => {
                    missed = 0;
                    self.note(Ok(count));
                }
                Err(error) => {
                    self.note(Err(error));
                    now.append(records);
                    self.put_back(opens, &mut now, missed);
                    break;
                }
            }
            let rotated = self.journal.rotate_if_full();
            self.note(rotated);
        }
        self.records = now;
    }

    /// Writes records with one write. After an error they are as before.
    fn write_together(
        &mut self,
        opens: &mut Vec<Open>,
        records: &mut Records,
        missed: u64,
    ) -> io::Result<u64> {
        // Settings may change while the trail goes on.
        self.journal.apply(&self.settings.load());
        self.journal.begin()?;
        self.journal.missed(missed);
        for Open { call, seq } in &mut *opens {
            *seq = call.format_open(|record| self.journal.open(record));
        }
        for record in &*records {
            self.journal.record(record);
        }
        let count = self.journal.commit()?;
        for open in records.iter().filter_map(|record| record.open) {
            self.journal.ended(open);
        }
        if !records.is_empty() {
            self.queue.keep(records);
        }
        for Open { call, seq } in opens.drain(..) {
            if let Some(seq) = seq {
                self.journal.opened(seq);
            }
            if let Some(record) = call.opened(seq) {
                self.queue.push_late(record);
            }
        }
        Ok(count)
    }

    /// Puts records back into the queue; calls that wait for their `open` line fail.
    fn put_back(&self, opens: &mut Vec<Open>, records: &mut Records, missed: u64) {
        self.fail(opens.drain(..), 0);
        self.queue.put_back(records, missed);
    }

    /// Counts lines as missed, and fails the calls that wait for their `open` line.
    fn fail(&self, opens: impl ExactSizeIterator<Item = Open>, lines: usize) {
        let is_required = self.settings.load().required;
        self.queue.is_unavailable.store(is_required, Relaxed);
        // Counted first: a call that has failed may read the figures.
        self.queue.miss((opens.len() + lines) as u64);
        for Open { call, .. } in opens {
            call.fail();
        }
    }

    fn set_failing(&mut self, is_failing: bool) {
        self.is_failing = is_failing;
        self.queue.set_failing(is_failing);
    }

    /// Counts lines or a failure, and logs when writing begins or ends to fail.
    fn note(&mut self, result: io::Result<u64>) {
        match result {
            Ok(0) => {}
            Ok(lines) => {
                self.queue.is_unavailable.store(false, Relaxed);
                self.queue.records.fetch_add(lines, Relaxed);
                if self.is_failing {
                    self.set_failing(false);
                    info!("the audit trail is written again");
                }
            }
            Err(error) => {
                self.queue.failures.fetch_add(1, Relaxed);
                if !self.is_failing {
                    self.set_failing(true);
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
