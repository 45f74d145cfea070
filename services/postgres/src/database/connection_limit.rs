//! Limits on the number of connections.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time,
};

/// Limit on the connections of several callers to one database.
#[derive(Debug)]
pub(crate) struct ConnectionLimit {
    free: Arc<Semaphore>,
    /// Reserved for callers without a connection, so that the others cannot take all.
    kept: Arc<Semaphore>,
    /// Number of callers that wait. Meanwhile released connections are closed.
    waiting: AtomicUsize,
    count: usize,
}

/// Permits of a connection: one from the limit of all callers, and one from its account's limit.
#[derive(Debug)]
pub(crate) struct Permits {
    pub(crate) _of_all: OwnedSemaphorePermit,
    pub(crate) _of_account: OwnedSemaphorePermit,
}

/// Caller that waits for a permit.
#[derive(Debug)]
pub(crate) struct Waiting<'a> {
    permits: &'a ConnectionLimit,
}

// === impl ConnectionLimit ===

impl ConnectionLimit {
    /// Makes the limit for all callers, each of which may have `most`. A fifth is reserved for
    /// callers that hold none, as far as `most` permits are left.
    pub(crate) fn of_all(count: u32, most: u32) -> Self {
        Self::new(count, (count / 5).min(count.saturating_sub(most)))
    }

    /// Makes the limit that the sessions of one account share.
    pub(crate) fn of_account(count: u32) -> Self {
        Self::new(count, 0)
    }

    fn new(count: u32, kept: u32) -> Self {
        let size = |count: u32| {
            let count = usize::try_from(count).unwrap_or(usize::MAX);
            count.min(Semaphore::MAX_PERMITS)
        };
        Self {
            free: Arc::new(Semaphore::new(size(count - kept))),
            kept: Arc::new(Semaphore::new(size(kept))),
            waiting: AtomicUsize::new(0),
            count: size(count),
        }
    }

    /// Returns the limit.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the number of permits that are taken.
    pub(crate) fn taken(&self) -> usize {
        let free = self.free.available_permits() + self.kept.available_permits();
        self.count.saturating_sub(free)
    }

    /// Takes a permit if one is free.
    pub(crate) fn try_take(&self, holds_some: bool) -> Option<OwnedSemaphorePermit> {
        let take = |permits: &Arc<Semaphore>| Arc::clone(permits).try_acquire_owned().ok();
        take(&self.free).or_else(|| if holds_some { None } else { take(&self.kept) })
    }

    /// Registers a waiting caller. It is called before the search for an idle connection, so that a
    /// connection released later is not kept.
    pub(crate) fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        Waiting { permits: self }
    }

    pub(crate) fn are_awaited(&self) -> bool {
        self.waiting() > 0
    }

    /// Returns the number of callers that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }
}

// === impl Waiting ===

impl Waiting<'_> {
    /// Waits for a permit; first come, first served.
    pub(crate) async fn take(
        self,
        holds_some: bool,
        limit: Duration,
    ) -> Option<OwnedSemaphorePermit> {
        let take = |permits: &Arc<Semaphore>| Arc::clone(permits).acquire_owned();
        let taken = async {
            let free = take(&self.permits.free);
            if holds_some {
                free.await
            } else {
                tokio::select! {
                    permit = free => permit,
                    permit = take(&self.permits.kept) => permit,
                }
            }
        };
        let taken = time::timeout(limit, taken).await.ok()?;
        Some(taken.expect("never closed"))
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.permits.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
