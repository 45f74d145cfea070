//! A steady rate with bursts.

use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

use crate::{
    bounded_map::BoundedMap,
    clock::{Clock, Monotonic},
    rate_limit::{DEFAULT_MAX_KEYS, Key, Limited, Policy, Quota, Remaining},
};

/// Maximum time in which a bucket fills up: a century, in nanoseconds. With it no sum overflows
/// before the clock has run for four centuries.
const MAX_REFILL: u64 = 100 * 366 * 86_400 * 1_000_000_000;

/// Permits requests at a steady rate.
///
/// Each client has a bucket that holds a burst, by default the whole count of its quota, and fills
/// up evenly: with `60 per minute` a client may send sixty requests at once, and one per second
/// from then on. Every admitted request counts, with any outcome.
///
/// Clones share their buckets. When there are too many buckets, the client that was admitted least
/// recently is dropped and starts with a full bucket.
///
/// ```
/// use std::{net::IpAddr, num::NonZeroU32, time::Duration};
/// use ziggurat_layers::{
///     clock::ManualClock,
///     rate_limit::{Key, Policy as _, Steady},
/// };
///
/// let clock = ManualClock::new();
/// let steady = Steady::new("60 per minute".parse()?)
///     .with_burst(NonZeroU32::new(2).unwrap())
///     .with_clock(clock.clone());
///
/// let caller = Key::from("192.0.2.1".parse::<IpAddr>()?);
/// assert_eq!(steady.admit(caller, steady.limit()).unwrap().count(), 1);
/// assert_eq!(steady.admit(caller, steady.limit()).unwrap().count(), 0);
/// let limited = steady.admit(caller, steady.limit()).unwrap_err();
/// assert_eq!(limited.retry_after(), Duration::from_secs(1));
///
/// clock.advance(Duration::from_secs(1));
/// assert!(steady.admit(caller, steady.limit()).is_ok());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct Steady<C = Monotonic> {
    quota: Quota,
    burst: Option<NonZeroU32>,
    clock: C,
    /// The time at which each client's bucket is full again, in nanoseconds.
    buckets: Arc<BoundedMap<Key, u64>>,
}

/// The size of a bucket: the times in which one request and a whole burst flow in again.
#[derive(Clone, Copy)]
struct Bucket {
    interval: u64,
    refill: u64,
}

// === impl Steady ===

impl Steady {
    /// Permits the whole quota at once.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{RateLimitLayer, Steady};
    ///
    /// let layer = RateLimitLayer::new(Steady::new("600 per minute".parse()?));
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn new(quota: Quota) -> Self {
        Self {
            quota,
            burst: None,
            clock: Monotonic,
            buckets: Arc::new(BoundedMap::new(DEFAULT_MAX_KEYS)),
        }
    }
}

impl<C> Steady<C> {
    /// Sets the number of requests that may come at once after a pause, for every quota.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::Steady;
    ///
    /// let steady = Steady::new("600 per minute".parse()?).with_burst(NonZeroU32::new(20).unwrap());
    /// # let _ = steady;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_burst(mut self, burst: NonZeroU32) -> Self {
        self.burst = Some(burst);
        self
    }

    /// Sets the number of clients that are remembered (100,000 by default, at least one).
    ///
    /// This clears all buckets: set it before the policy is in use.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Steady;
    ///
    /// let steady = Steady::new("5/s".parse()?).with_max_keys(1_000_000);
    /// assert!(steady.is_empty());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_max_keys(mut self, max_keys: usize) -> Self {
        self.buckets = Arc::new(BoundedMap::new(max_keys));
        self
    }

    /// Reads the time from another clock.
    ///
    /// ```
    /// use ziggurat_layers::{clock::ManualClock, rate_limit::Steady};
    ///
    /// let steady = Steady::new("5/s".parse()?).with_clock(ManualClock::new());
    /// # let _ = steady;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_clock<T>(self, clock: T) -> Steady<T> {
        Steady {
            quota: self.quota,
            burst: self.burst,
            clock,
            buckets: self.buckets,
        }
    }

    /// Returns the number of clients that are remembered now.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{Key, Policy as _, Steady};
    ///
    /// let steady = Steady::new("5/s".parse()?);
    /// let _ = steady.admit(Key::of(&"alice"), steady.limit());
    /// assert_eq!(steady.len(), 1);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.buckets.len()
    }

    /// Returns whether no client is remembered.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::Steady;
    ///
    /// assert!(Steady::new("5/s".parse()?).is_empty());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<C: Clock> Policy for Steady<C> {
    type Limit = Quota;
    type Permit = Remaining;

    fn limit(&self) -> Quota {
        self.quota
    }

    #[inline]
    fn admit(&self, key: Key, limit: Quota) -> Result<Remaining, Limited> {
        let bucket = Bucket::new(limit, self.burst);
        let now = nanos(self.clock.now());
        let key = self.buckets.hashed(key);
        let mut buckets = self.buckets.lock(&key);
        let slot = buckets.find(&key);
        let full_at = slot.map_or(now, |slot| now.max(*buckets.value(slot)));
        let full_at = bucket.take(full_at, now)?;
        match slot {
            Some(slot) => {
                *buckets.value_mut(slot) = full_at;
                buckets.renew(slot);
            }
            None => {
                buckets.insert(key, full_at);
            }
        }
        drop(buckets);
        Ok(bucket.remaining(full_at - now))
    }

    fn name(&self) -> &'static str {
        "requests"
    }
}

impl<C> fmt::Debug for Steady<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steady")
            .field("quota", &self.quota)
            .field("burst", &self.burst)
            .field("buckets", &self.buckets)
            .finish_non_exhaustive()
    }
}

// === impl Bucket ===

impl Bucket {
    #[inline]
    fn new(quota: Quota, burst: Option<NonZeroU32>) -> Self {
        let burst = burst.map_or(quota.count(), NonZeroU32::get);
        // A rate above one per nanosecond cannot be measured.
        let interval = (nanos(quota.period()) / u64::from(quota.count())).max(1);
        let refill = interval.saturating_mul(burst.into());
        Self {
            interval,
            refill: refill.min(MAX_REFILL).max(interval),
        }
    }

    /// Takes one request out of a bucket that would be full at this time, and returns the time at
    /// which it is full afterwards.
    #[inline]
    fn take(self, full_at: u64, now: u64) -> Result<u64, Limited> {
        let full_at = full_at.saturating_add(self.interval);
        match full_at.saturating_sub(now).checked_sub(self.refill) {
            None | Some(0) => Ok(full_at),
            Some(missing) => Err(Limited::new(Duration::from_nanos(missing))),
        }
    }

    #[inline]
    fn remaining(self, until_full: u64) -> Remaining {
        let left = (self.refill - until_full) / self.interval;
        Remaining::new(u32::try_from(left).unwrap_or(u32::MAX))
            .with_reset(Duration::from_nanos(until_full))
    }
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}
