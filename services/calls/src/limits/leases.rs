//! Calls of a window that replicas lease in blocks, so that they keep a limit together.
//!
//! A caller may use a block at a replica before the replica has leased it. The replica then leases the
//! used calls, ahead of need, so no call waits for the database. All replicas together admit at most
//! a block each more than the limit.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::sync::Notify;
use ziggurat_runtime::lock;
use ziggurat_tokens::CallerDigest;

/// Number of blocks of a burst. With more of them the limit is kept more closely; with fewer, more
/// calls may come at the same moment.
const BLOCKS: u32 = 4;

/// Calls that a replica wants to lease for a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LeaseRequest {
    /// The caller.
    pub caller: CallerDigest,
    /// Time after which a call becomes available again.
    pub interval: Duration,
    /// Number of calls that all replicas together may admit at once.
    pub burst: u32,
    /// Number of calls to lease.
    pub calls: u32,
}

/// Leases of all callers at this replica.
#[derive(Debug, Default)]
pub(crate) struct Leases {
    /// False while replicas do not share their calls: each counts alone.
    is_on: AtomicBool,
    /// Callers with calls to lease, each once.
    wanted: Mutex<Vec<CallerDigest>>,
    wake: Notify,
}

/// Lease of one caller.
#[derive(Debug)]
pub(crate) struct Lease {
    leases: Arc<Leases>,
    caller: CallerDigest,
    /// Calls of the block that were used, and are to be leased.
    used: AtomicU32,
    is_wanted: AtomicBool,
}

// === impl Leases ===

impl Leases {
    pub(crate) fn share(&self, is_shared: bool) {
        self.is_on.store(is_shared, Ordering::Relaxed);
    }

    /// Waits until a caller has calls to lease, and returns such callers.
    pub(crate) async fn wanted(&self) -> Vec<CallerDigest> {
        loop {
            let woken = self.wake.notified();
            let wanted = std::mem::take(&mut *lock(&self.wanted));
            if !wanted.is_empty() {
                return wanted;
            }
            woken.await;
        }
    }
}

// === impl Lease ===

impl Lease {
    pub(crate) fn new(leases: &Arc<Leases>, caller: CallerDigest) -> Self {
        Self {
            leases: Arc::clone(leases),
            caller,
            used: AtomicU32::new(0),
            is_wanted: AtomicBool::new(false),
        }
    }

    /// Uses a call of the block, and asks for another. Returns false if the block is used up.
    pub(crate) fn take(&self, burst: u32) -> bool {
        if !self.leases.is_on.load(Ordering::Relaxed) {
            return true;
        }
        let block = burst.div_ceil(BLOCKS);
        let next = |used| (used < block).then_some(used + 1);
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, next);
        if !self.is_wanted.swap(true, Ordering::AcqRel) {
            lock(&self.leases.wanted).push(self.caller);
            self.leases.wake.notify_one();
        }
        taken.is_ok()
    }

    /// Returns the calls to lease. From now on the next call asks again.
    pub(crate) fn request(&self, interval: Duration, burst: u32) -> LeaseRequest {
        self.is_wanted.store(false, Ordering::Release);
        LeaseRequest {
            caller: self.caller,
            interval,
            burst,
            calls: self.used.load(Ordering::Acquire),
        }
    }

    /// Takes calls that were leased.
    pub(crate) fn grant(&self, calls: u32) {
        let less = |used: u32| Some(used.saturating_sub(calls));
        let _ = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less);
    }
}
