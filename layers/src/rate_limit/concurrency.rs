//! A maximum of requests that are served at the same time.

use std::{num::NonZeroU32, sync::Arc, time::Duration};

use crate::{
    bounded_map::{BoundedMap, HashedKey},
    rate_limit::{AtOnce, DEFAULT_MAX_KEYS, Key, Limited, Outcome, Permit, Policy, Remaining},
};

/// Wait that is suggested to a refused client. The end of a request cannot be foretold.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Permits a number of requests at the same time.
///
/// A request counts until its response begins, or until it is abandoned: the layer keeps the type of
/// the response body, so it does not see the end of a streamed one. A service that streams can hold
/// a permit of its own: see [`InFlight`].
///
/// ```
/// use std::num::NonZeroU32;
/// use ziggurat_layers::rate_limit::{AtOnce, Concurrency, Key, Policy as _};
///
/// let policy = Concurrency::new(AtOnce(NonZeroU32::new(2).unwrap()));
/// let (alice, bob) = (Key::of(&"alice"), Key::of(&"bob"));
///
/// let first = policy.admit(alice, policy.limit()).expect("one of two");
/// let second = policy.admit(alice, policy.limit()).expect("two of two");
/// assert!(policy.admit(alice, policy.limit()).is_err());
/// assert!(policy.admit(bob, policy.limit()).is_ok());
///
/// drop(first);
/// assert!(policy.admit(alice, policy.limit()).is_ok());
/// # drop(second);
/// ```
///
/// Clones count together. Clients without a request take no memory. When too many clients have
/// requests, the client that has had requests for the longest time is dropped. It may then send its
/// whole number again.
#[derive(Clone, Debug)]
#[must_use]
pub struct Concurrency {
    limit: AtOnce,
    counts: Arc<BoundedMap<Key, u32>>,
}

/// A request that [`Concurrency`] admitted; it counts until this is dropped.
///
/// ```
/// use std::num::NonZeroU32;
/// use ziggurat_layers::rate_limit::{AtOnce, Concurrency, Key, Policy as _};
///
/// // A limit on streams: the body that is sent owns the permit.
/// struct Events {
///     _permit: <Concurrency as ziggurat_layers::rate_limit::Policy>::Permit,
/// }
///
/// let streams = Concurrency::new(AtOnce(NonZeroU32::MIN));
/// let permit = streams.admit(Key::of(&"alice"), streams.limit()).expect("the first");
/// let events = Events { _permit: permit };
/// assert!(streams.admit(Key::of(&"alice"), streams.limit()).is_err());
/// drop(events);
/// assert!(streams.is_empty());
/// ```
#[derive(Debug)]
#[must_use]
pub struct InFlight {
    counts: Arc<BoundedMap<Key, u32>>,
    key: HashedKey<Key>,
    /// Serial of the entry that counts this request.
    serial: u64,
    remaining: Remaining,
}

// === impl Concurrency ===

impl Concurrency {
    /// Permits this many requests of each client at the same time.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Concurrency, Policy as _};
    ///
    /// let four = AtOnce(NonZeroU32::new(4).unwrap());
    /// assert_eq!(Concurrency::new(four).limit(), four);
    /// ```
    pub fn new(limit: AtOnce) -> Self {
        let counts = Arc::new(BoundedMap::new(DEFAULT_MAX_KEYS));
        Self { limit, counts }
    }

    /// Sets the number of clients that are counted (100,000 by default, at least one).
    ///
    /// This forgets all requests: set it before the policy is in use. The maximum is never reached
    /// if it is at least the number of connections.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Concurrency};
    ///
    /// let policy = Concurrency::new(AtOnce(NonZeroU32::MIN)).with_max_keys(1000);
    /// # let _ = policy;
    /// ```
    pub fn with_max_keys(mut self, max_keys: usize) -> Self {
        self.counts = Arc::new(BoundedMap::new(max_keys));
        self
    }

    /// Returns the number of clients with a request.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Concurrency};
    ///
    /// assert_eq!(Concurrency::new(AtOnce(NonZeroU32::MIN)).len(), 0);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.counts.len()
    }

    /// Returns whether no client has a request.
    ///
    /// ```
    /// use std::num::NonZeroU32;
    /// use ziggurat_layers::rate_limit::{AtOnce, Concurrency};
    ///
    /// assert!(Concurrency::new(AtOnce(NonZeroU32::MIN)).is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Policy for Concurrency {
    type Limit = AtOnce;
    type Permit = InFlight;

    fn limit(&self) -> AtOnce {
        self.limit
    }

    fn admit(&self, key: Key, AtOnce(limit): AtOnce) -> Result<InFlight, Limited> {
        let key = self.counts.hashed(key);
        let mut counts = self.counts.lock(&key);
        let slot = match counts.find(&key) {
            Some(slot) if *counts.value(slot) >= limit.get() => {
                let limited = Limited::new(RETRY_AFTER);
                return Err(limited.with_message("Too many requests at the same time"));
            }
            Some(slot) => slot,
            None => counts.insert(key, 0),
        };
        let count = counts.value_mut(slot);
        *count += 1;
        Ok(InFlight {
            remaining: Remaining::new(limit.get() - *count),
            counts: Arc::clone(&self.counts),
            key,
            serial: counts.serial(slot),
        })
    }

    fn name(&self) -> &'static str {
        "concurrency"
    }
}

impl From<NonZeroU32> for AtOnce {
    fn from(count: NonZeroU32) -> Self {
        Self(count)
    }
}

// === impl InFlight ===

impl Permit for InFlight {
    fn settle(self, _: Outcome) -> Remaining {
        self.remaining
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut counts = self.counts.lock(&self.key);
        // The entry may have been dropped since, and another may count later requests.
        let own = counts.find(&self.key);
        let Some(slot) = own.filter(|&slot| counts.serial(slot) == self.serial) else {
            return;
        };
        let count = counts.value_mut(slot);
        *count = count.saturating_sub(1);
        if *count == 0 {
            counts.remove(slot);
        }
    }
}
