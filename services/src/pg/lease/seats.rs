//! How many connections all callers together may have to a database.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The connections of all callers to one database; each takes a seat.
#[derive(Debug)]
pub(in crate::pg) struct Seats {
    free: Arc<Semaphore>,
    /// How many wait for one. While somebody does, a connection nobody uses is not kept.
    waiting: AtomicUsize,
}

/// Somebody who waits for a seat.
#[derive(Debug)]
pub(super) struct Waiting<'a> {
    seats: &'a Seats,
}

// === impl Seats ===

impl Seats {
    pub(in crate::pg) fn new(count: u32) -> Self {
        let count = count.try_into().unwrap_or(usize::MAX);
        Self {
            free: Arc::new(Semaphore::new(count.min(Semaphore::MAX_PERMITS))),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Takes a seat that is free.
    pub(super) fn try_take(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.free).try_acquire_owned().ok()
    }

    /// Says that somebody waits, before looking for a connection that nobody uses: one that
    /// comes back afterwards is not kept.
    pub(super) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting { seats: self }
    }

    pub(super) fn are_awaited(&self) -> bool {
        self.waiting.load(Ordering::SeqCst) > 0
    }
}

// === impl Waiting ===

impl Waiting<'_> {
    /// Waits for a seat; those who came first get theirs first.
    pub(super) async fn take(self) -> OwnedSemaphorePermit {
        let free = Arc::clone(&self.seats.free);
        free.acquire_owned().await.expect("never closed")
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.seats.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
