//! Finished spans that wait for their export.

use std::{
    mem,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use crate::traces::record::{Record, Records};

/// Maximum number of spans of a batch.
pub(super) const BATCH: usize = 512;

/// Bounded queue that drops rather than waits, and counts what it drops.
#[derive(Debug)]
pub(super) struct Queue {
    waiting: Mutex<Waiting>,
    capacity: usize,
    /// Wakes the exporter for a full batch, and at the end.
    wake: Notify,
    dropped: AtomicU64,
}

#[derive(Debug, Default)]
struct Waiting {
    records: Records,
    is_closed: bool,
}

/// Records on their way to the collector. Those that are not marked as exported count as dropped.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    records: Records,
    queue: &'a Queue,
}

// === impl Queue ===

impl Queue {
    pub(super) fn new(capacity: usize) -> Self {
        Self {
            waiting: Mutex::default(),
            capacity,
            wake: Notify::new(),
            dropped: AtomicU64::new(0),
        }
    }

    pub(super) fn push(&self, record: Box<Record>) {
        let mut waiting = self.lock();
        if waiting.is_closed || waiting.records.len() >= self.capacity {
            drop(waiting);
            self.count_dropped(1);
            return;
        }
        waiting.records.push(record);
        let is_full = waiting.records.len() == BATCH.min(self.capacity);
        drop(waiting);
        if is_full {
            self.wake.notify_one();
        }
    }

    /// Returns the oldest records, or `None` if the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Batch<'_>> {
        let mut waiting = self.lock();
        if waiting.is_closed && waiting.records.is_empty() {
            return None;
        }
        let length = BATCH.min(waiting.records.len());
        let rest = waiting.records.split_off(length);
        let records = mem::replace(&mut waiting.records, rest);
        Some(Batch {
            records,
            queue: self,
        })
    }

    /// Waits for a full batch or the end.
    pub(super) async fn filled(&self) {
        if !self.is_filled() {
            self.wake.notified().await;
        }
    }

    fn is_filled(&self) -> bool {
        let waiting = self.lock();
        waiting.is_closed || waiting.records.len() >= BATCH.min(self.capacity)
    }

    /// Takes no more records.
    pub(super) fn close(&self) {
        self.lock().is_closed = true;
        self.wake.notify_one();
    }

    pub(super) fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    pub(super) fn count_dropped(&self, count: u64) {
        self.dropped.fetch_add(count, Ordering::Relaxed);
    }

    /// Nothing panics while it holds the lock.
    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Batch ===

impl Batch<'_> {
    pub(super) const fn records(&self) -> &Records {
        &self.records
    }

    /// Ends the batch, of which the collector has refused some records.
    pub(super) fn exported(mut self, refused: u64) {
        self.queue.count_dropped(refused);
        self.records.clear();
    }
}

impl Drop for Batch<'_> {
    fn drop(&mut self) {
        self.queue.count_dropped(self.records.len() as u64);
    }
}
