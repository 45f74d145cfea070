//! A steady rate with bursts.

use std::{fmt, num::NonZeroU32, sync::Arc, time::Duration};

use governor::{
    RateLimiter,
    clock::Clock as _,
    middleware::{StateInformationMiddleware, StateSnapshot},
    nanos::Nanos,
    state::StateStore,
};

use super::{DEFAULT_MAX_KEYS, Key, Limited, Outcome, Permit, Policy, Quota, Standing};
use crate::{
    bounded_map::BoundedMap,
    clock::{Clock, Monotonic},
};

/// Permits requests at a steady rate.
///
/// Each client has a bucket that holds a burst, by default the whole count of the quota, and fills
/// up evenly: with `60 per minute` a client may send sixty requests at once, and one per second
/// from then on. Every admitted request counts, with any outcome.
///
/// Clones share their buckets. When there are too many, the client whose last admitted request is
/// the oldest is dropped and starts with a full bucket.
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
/// assert_eq!(steady.admit(caller).unwrap().standing().remaining(), 1);
/// assert_eq!(steady.admit(caller).unwrap().standing().remaining(), 0);
/// assert_eq!(steady.admit(caller).unwrap_err().retry_after(), Duration::from_secs(1));
///
/// clock.advance(Duration::from_secs(1));
/// assert!(steady.admit(caller).is_ok());
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[must_use]
// The bound is here, and not on the impls alone, because governor has it on `RateLimiter`.
pub struct Steady<C: Clock = Monotonic> {
    shared: Arc<Shared<C>>,
}

/// A request that [`Steady`] admitted.
///
/// The remaining quota is computed only on request, which is rare.
#[derive(Clone, Debug)]
#[must_use]
pub struct Ticket(StateSnapshot);

struct Shared<C: Clock> {
    quota: Quota,
    burst: NonZeroU32,
    max_keys: usize,
    buckets: Buckets,
    limiter: Limiter<C>,
}

type Limiter<C> = RateLimiter<Key, Buckets, Ticks<C>, StateInformationMiddleware>;

/// The time at which each client's bucket is full again.
#[derive(Clone, Debug)]
struct Buckets(Arc<BoundedMap<Key, Nanos>>);

/// Adapts the clock to governor.
#[derive(Clone)]
struct Ticks<C>(C);

// === impl Steady ===

impl<C: Clock> Clone for Steady<C> {
    fn clone(&self) -> Self {
        Self {
            shared: Arc::clone(&self.shared),
        }
    }
}

impl Steady {
    /// Permits the whole quota at once.
    pub fn new(quota: Quota) -> Self {
        let burst = NonZeroU32::new(quota.count()).unwrap_or(NonZeroU32::MIN);
        Self::build(quota, burst, DEFAULT_MAX_KEYS, Monotonic)
    }
}

impl<C: Clock> Steady<C> {
    /// Sets the number of requests that may come at once after a pause.
    ///
    /// Like the other options this clears all buckets: set it before the policy is in use.
    pub fn with_burst(self, burst: NonZeroU32) -> Self
    where
        C: Clone,
    {
        let clock = self.shared.limiter.clock().0.clone();
        Self::build(self.shared.quota, burst, self.shared.max_keys, clock)
    }

    /// Sets the number of clients that are remembered (100,000 by default, at least one).
    pub fn with_max_keys(self, max_keys: usize) -> Self
    where
        C: Clone,
    {
        let clock = self.shared.limiter.clock().0.clone();
        Self::build(self.shared.quota, self.shared.burst, max_keys, clock)
    }

    /// Reads the time from another clock.
    pub fn with_clock<T: Clock>(self, clock: T) -> Steady<T> {
        let shared = &self.shared;
        Steady::build(shared.quota, shared.burst, shared.max_keys, clock)
    }

    /// Returns the number of clients that are remembered now.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.buckets.0.len()
    }

    /// Returns whether no client is remembered.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn build(quota: Quota, burst: NonZeroU32, max_keys: usize, clock: C) -> Self {
        let rate = rate(quota, burst);
        let buckets = Buckets(Arc::new(BoundedMap::new(max_keys)));
        let shared = Shared {
            quota,
            burst: rate.burst_size(),
            max_keys,
            buckets: buckets.clone(),
            limiter: RateLimiter::new(rate, buckets, Ticks(clock)),
        };
        Self {
            shared: Arc::new(shared),
        }
    }
}

impl<C: Clock> Policy for Steady<C> {
    type Permit = Ticket;

    fn admit(&self, key: Key) -> Result<Ticket, Limited> {
        let limiter = &self.shared.limiter;
        match limiter.check_key(&key) {
            Ok(bucket) => Ok(Ticket(bucket)),
            Err(wait) => Err(Limited::new(wait.wait_time_from(limiter.clock().now()))),
        }
    }

    fn quota(&self) -> Quota {
        self.shared.quota
    }

    fn name(&self) -> &'static str {
        "requests"
    }
}

impl<C: Clock> fmt::Debug for Steady<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Steady")
            .field("quota", &self.shared.quota)
            .field("burst", &self.shared.burst)
            .field("max_keys", &self.shared.max_keys)
            .field("buckets", &self.shared.buckets)
            .finish_non_exhaustive()
    }
}

fn interval(quota: Quota) -> Duration {
    // A rate above one per nanosecond cannot be measured.
    (quota.period() / quota.count()).max(Duration::from_nanos(1))
}

/// Converts the quota to governor's type.
fn rate(quota: Quota, burst: NonZeroU32) -> governor::Quota {
    /// A century. Governor counts nanoseconds in 64 bits, which last for five.
    const MAX_REFILL: Duration = Duration::from_secs(100 * 366 * 86_400);

    let interval = interval(quota);
    let max_burst = MAX_REFILL.as_nanos() / interval.as_nanos();
    let max_burst = u32::try_from(max_burst).unwrap_or(u32::MAX);
    let max_burst = NonZeroU32::new(max_burst).unwrap_or(NonZeroU32::MIN);
    governor::Quota::with_period(interval)
        .expect("the interval is at least a nanosecond")
        .allow_burst(burst.min(max_burst))
}

// === impl Ticket ===

impl Ticket {
    /// The remaining quota when the request was admitted.
    #[must_use]
    pub fn standing(&self) -> Standing {
        let Self(bucket) = self;
        let rate = bucket.quota();
        let remaining = bucket.remaining_burst_capacity();
        let missing = rate.burst_size().get().saturating_sub(remaining);
        Standing::new(remaining).with_reset(rate.replenish_interval().saturating_mul(missing))
    }
}

impl Permit for Ticket {
    const OBSERVES_RESPONSES: bool = false;

    fn settle(self, _: Outcome) -> Standing {
        self.standing()
    }
}

// === impl Buckets ===

impl StateStore for Buckets {
    type Key = Key;

    fn measure_and_replace<T, F, E>(&self, key: &Key, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        let key = self.0.hashed(*key);
        let mut shard = self.0.lock(&key);
        let slot = shard.find(&key);
        let (outcome, full_at) = measure(slot.map(|slot| *shard.value(slot)))?;
        match slot {
            Some(slot) => {
                *shard.value_mut(slot) = full_at;
                shard.renew(slot);
            }
            None => {
                shard.insert(key, full_at);
            }
        }
        Ok(outcome)
    }
}

// === impl Ticks ===

impl<C: Clock> governor::clock::Clock for Ticks<C> {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        self.0.now().into()
    }
}
