//! Calls of a caller in a window.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ziggurat_layers::{
    clock::Clock,
    rate_limit::{Quota, Remaining},
};

use crate::limits::{
    counts::nanos,
    leases::{Lease, LeaseRequest},
};

/// Calls of one caller: a window of them at most is available at once, and each becomes available
/// again after its part of the window.
#[derive(Debug)]
pub(crate) struct CallWindow<C> {
    clock: C,
    /// Time of the clock at which all calls are available again, in nanoseconds.
    full_at: AtomicU64,
    /// The same for refused calls, of which a window is allowed: beyond both, the caller is flooding.
    refused_full_at: AtomicU64,
    /// Time of the clock up to which the caller is flooding, in nanoseconds.
    flooding_until: AtomicU64,
    /// Calls that replicas share; `None` for the counts of several callers.
    lease: Option<Lease>,
}

// === impl CallWindow ===

impl<C: Clock + Clone> CallWindow<C> {
    pub(super) fn new(clock: &C, lease: Option<Lease>) -> Self {
        Self {
            full_at: AtomicU64::new(0),
            refused_full_at: AtomicU64::new(0),
            flooding_until: AtomicU64::new(0),
            lease,
            clock: clock.clone(),
        }
    }

    /// Admits a call if fewer than `burst` were made at once, or returns the time until the next.
    pub(crate) fn admit(&self, quota: Quota, burst: u32) -> Result<(), Duration> {
        let (now, interval) = (self.now(), interval(quota));
        let wait = match take(&self.full_at, now, interval, burst) {
            Ok(()) if self.lease.as_ref().is_none_or(|it| it.take(burst)) => return Ok(()),
            // Other replicas have used the rest.
            Ok(()) => {
                self.full_at.fetch_sub(interval, Ordering::Relaxed);
                interval
            }
            Err(wait) => wait,
        };
        // A window of refused calls is no flood. With its last one the flood begins, and it ends when
        // that one is available again.
        let _ = take(&self.refused_full_at, now, interval, quota.count());
        let others = interval.saturating_mul(u64::from(quota.count()) - 1);
        let until = self.refused_full_at.load(Ordering::Relaxed);
        self.flooding_until
            .fetch_max(until.saturating_sub(others), Ordering::Relaxed);
        Err(Duration::from_nanos(wait))
    }

    /// Returns the time for which the caller is flooding.
    pub(crate) fn flooding(&self) -> Option<Duration> {
        let until = self.flooding_until.load(Ordering::Relaxed);
        // Most callers never flood, and need no look at the clock.
        let wait = if until == 0 {
            0
        } else {
            until.saturating_sub(self.now())
        };
        (wait > 0).then(|| Duration::from_nanos(wait))
    }

    /// Returns the calls that are left, and the time until all are available.
    pub(crate) fn remaining(&self, quota: Quota, burst: u32) -> Remaining {
        let until_full = self.until_full();
        let used = until_full.div_ceil(interval(quota));
        let left = u64::from(burst).saturating_sub(used);
        let remaining = Remaining::new(u32::try_from(left).unwrap_or(u32::MAX));
        if until_full == 0 {
            return remaining;
        }
        remaining.with_reset(Duration::from_nanos(until_full))
    }

    /// Returns the calls to lease for a quota, if there are some.
    pub(super) fn lease_request(&self, quota: Quota, burst: u32) -> Option<LeaseRequest> {
        let interval = Duration::from_nanos(interval(quota));
        let request = self.lease.as_ref()?.request(interval, burst);
        (request.calls > 0).then_some(request)
    }

    /// Takes calls that were leased.
    pub(crate) fn grant(&self, calls: u32) {
        if let Some(lease) = &self.lease {
            lease.grant(calls);
        }
    }

    /// Returns the time of the clock at which all calls of a window are available.
    pub(super) fn full_at(&self) -> Duration {
        Duration::from_nanos(self.full_at.load(Ordering::Relaxed))
    }

    /// Returns the nanoseconds until all calls of a window are available.
    pub(super) fn until_full(&self) -> u64 {
        let full_at = self.full_at.load(Ordering::Relaxed);
        full_at.saturating_sub(self.now())
    }

    /// Uses the calls up to a time of the clock, but no more calls than one window has.
    pub(super) fn use_until(&self, time: Duration, quota: Quota) {
        let latest = self.clock.now().saturating_add(quota.period());
        self.full_at
            .fetch_max(nanos(time.min(latest)), Ordering::Relaxed);
    }

    fn now(&self) -> u64 {
        nanos(self.clock.now())
    }
}

/// Uses one of `most` calls, or returns the nanoseconds until one is available.
fn take(full_at: &AtomicU64, now: u64, interval: u64, most: u32) -> Result<(), u64> {
    let most = interval.saturating_mul(most.into());
    let after = |full_at: u64| full_at.max(now).saturating_add(interval);
    let taken = full_at.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |full_at| {
        Some(after(full_at)).filter(|after| after - now <= most)
    });
    match taken {
        Ok(_) => Ok(()),
        Err(full_at) => Err(after(full_at) - now - most),
    }
}

/// Returns the period of a quota in nanoseconds.
pub(super) fn period_nanos(quota: Quota) -> u64 {
    nanos(quota.period())
}

/// Returns the nanoseconds in which one call becomes available.
fn interval(quota: Quota) -> u64 {
    (period_nanos(quota) / u64::from(quota.count())).max(1)
}
