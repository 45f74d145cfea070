//! A fixed window that counts failures only.

use std::{sync::Arc, time::Duration};

use crate::{
    bounded_map::{BoundedMap, HashedKey, Shard, Slot},
    clock::{Clock, Monotonic},
    rate_limit::{DEFAULT_MAX_KEYS, Key, Limited, Outcome, Permit, Policy, Quota, Remaining},
};

/// Number of ended windows that are dropped whenever a new one begins.
///
/// More than one, so that the store shrinks; a constant, so that no request waits for a full sweep.
const DROPPED_PER_WINDOW: usize = 2;

const MESSAGE: &str =
    "too many failed authentication attempts from this IP address, please try again later";

/// Refuses clients that fail too often.
///
/// Counts the responses that carry [`AuthFailed`](crate::reject::AuthFailed). The first failure
/// begins a window of the period of the quota. Once the count is reached, no request with that
/// [`Key`] is admitted until the window ends, even with valid credentials. Refused requests are not
/// counted again, so the end does not move.
///
/// ```
/// use std::{net::IpAddr, time::Duration};
/// use ziggurat_layers::{
///     clock::ManualClock,
///     rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _},
/// };
///
/// let clock = ManualClock::new();
/// let failures = FailureWindow::new("2 per 15 minutes".parse()?).with_clock(clock.clone());
///
/// let caller = Key::from("192.0.2.1".parse::<IpAddr>()?);
/// for _ in 0..2 {
///     let attempt = failures.admit(caller, failures.limit()).unwrap();
///     attempt.settle(Outcome::Failed);
///     clock.advance(Duration::from_secs(60));
/// }
///
/// let limited = failures.admit(caller, failures.limit()).unwrap_err();
/// assert_eq!(limited.retry_after(), Duration::from_secs(13 * 60));
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
///
/// Clones share their windows. Clients without failures take no memory. When too many clients have
/// failed, the oldest window, which is the next to end, is dropped.
#[derive(Clone, Debug)]
#[must_use]
pub struct FailureWindow<C = Monotonic> {
    quota: Quota,
    counts_in_flight: bool,
    forgives: bool,
    clock: C,
    windows: Arc<BoundedMap<Key, Window>>,
}

/// An admitted request that may turn out to be a failure.
///
/// ```
/// use ziggurat_layers::rate_limit::{Attempt, FailureWindow, Key, Outcome, Permit as _, Policy as _};
///
/// fn finish(attempt: Attempt, is_right: bool) {
///     attempt.settle(if is_right { Outcome::Succeeded } else { Outcome::Failed });
/// }
///
/// let logins = FailureWindow::new("1 per hour".parse()?);
/// let attempt = logins.admit(Key::of(&"ali"), logins.limit()).expect("the first");
/// finish(attempt, false);
/// assert!(logins.admit(Key::of(&"ali"), logins.limit()).is_err());
/// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Attempt<C = Monotonic> {
    policy: FailureWindow<C>,
    key: HashedKey<Key>,
    limit: Quota,
    remaining: Remaining,
    /// Serial of the window that already counts this request.
    counted_in: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Window {
    ends: Duration,
    failures: u32,
}

// === impl FailureWindow ===

impl FailureWindow {
    /// Permits as many failures as the quota allows.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, RateLimitLayer};
    ///
    /// let layer = RateLimitLayer::new(FailureWindow::new("10 per 15 minutes".parse()?));
    /// # let _ = layer;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn new(quota: Quota) -> Self {
        Self {
            quota,
            counts_in_flight: false,
            forgives: false,
            clock: Monotonic,
            windows: Arc::new(BoundedMap::new(DEFAULT_MAX_KEYS)),
        }
    }
}

impl<C> FailureWindow<C> {
    /// Counts every request as a failure until its response proves otherwise.
    ///
    /// Without it a client can send a thousand guesses at once and have them all admitted before
    /// the first has failed. With it no more than the count of the quota are in flight at a time;
    /// one more is told to wait for the end of the window, though an answer may let it in earlier.
    /// A request stays counted if it is abandoned before it is answered, or if the service returns
    /// an error.
    ///
    /// Meant for routes that only check credentials: on other routes, a page that loads twenty
    /// images at once would look like twenty guesses.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Key, Policy as _};
    ///
    /// let logins = FailureWindow::new("1 per hour".parse()?).with_in_flight_counted();
    /// let guess = logins.admit(Key::of(&"ali"), logins.limit());
    /// let guess_at_the_same_time = logins.admit(Key::of(&"ali"), logins.limit());
    /// assert!(guess.is_ok() && guess_at_the_same_time.is_err());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_in_flight_counted(mut self) -> Self {
        self.counts_in_flight = true;
        self
    }

    /// Forgets a client's failures when a response carries
    /// [`AuthSucceeded`](super::AuthSucceeded).
    ///
    /// This is good for users who mistype, and for attackers who own one valid account: every
    /// success gives them a full count of failures. Lock accounts out as well.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
    ///
    /// let logins = FailureWindow::new("2 per hour".parse()?).with_forgiveness();
    /// for outcome in [Outcome::Failed, Outcome::Succeeded, Outcome::Failed] {
    ///     let attempt = logins.admit(Key::of(&"ali"), logins.limit()).expect("less than two in a row");
    ///     attempt.settle(outcome);
    /// }
    /// assert!(logins.admit(Key::of(&"ali"), logins.limit()).is_ok());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_forgiveness(mut self) -> Self {
        self.forgives = true;
        self
    }

    /// Sets the number of clients that are remembered (100,000 by default, at least one).
    ///
    /// This forgets all failures: set it before the policy is in use.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::FailureWindow;
    ///
    /// let logins = FailureWindow::new("10 per 15 minutes".parse()?).with_max_keys(1_000_000);
    /// # let _ = logins;
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_max_keys(mut self, max_keys: usize) -> Self {
        self.windows = Arc::new(BoundedMap::new(max_keys));
        self
    }

    /// Reads the time from another clock.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::{
    ///     clock::ManualClock,
    ///     rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _},
    /// };
    ///
    /// let clock = ManualClock::new();
    /// let logins = FailureWindow::new("1 per hour".parse()?).with_clock(clock.clone());
    /// logins.admit(Key::UNKNOWN, logins.limit()).expect("the first").settle(Outcome::Failed);
    /// assert!(logins.admit(Key::UNKNOWN, logins.limit()).is_err());
    ///
    /// clock.advance(Duration::from_secs(3600));
    /// assert!(logins.admit(Key::UNKNOWN, logins.limit()).is_ok());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    pub fn with_clock<T>(self, clock: T) -> FailureWindow<T> {
        FailureWindow {
            quota: self.quota,
            counts_in_flight: self.counts_in_flight,
            forgives: self.forgives,
            clock,
            windows: self.windows,
        }
    }

    /// Returns the number of clients that are remembered; some of their windows may have ended.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
    ///
    /// let logins = FailureWindow::new("10 per 15 minutes".parse()?);
    /// for user in ["ali", "bob"] {
    ///     let attempt = logins.admit(Key::of(&user), logins.limit()).expect("the first");
    ///     attempt.settle(Outcome::Failed);
    /// }
    /// assert_eq!(logins.len(), 2);
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.windows.len()
    }

    /// Returns whether no failures are remembered.
    ///
    /// ```
    /// use ziggurat_layers::rate_limit::{FailureWindow, Key, Outcome, Permit as _, Policy as _};
    ///
    /// let logins = FailureWindow::new("10 per 15 minutes".parse()?);
    /// let attempt = logins.admit(Key::UNKNOWN, logins.limit()).expect("the first");
    /// attempt.settle(Outcome::Succeeded);
    /// assert!(logins.is_empty());
    /// # Ok::<_, ziggurat_layers::rate_limit::InvalidQuota>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<C: Clock + Clone> Policy for FailureWindow<C> {
    type Limit = Quota;
    type Permit = Attempt<C>;

    fn limit(&self) -> Quota {
        self.quota
    }

    fn admit(&self, key: Key, limit: Quota) -> Result<Attempt<C>, Limited> {
        let now = self.clock.now();
        let key = self.windows.hashed(key);
        let mut windows = self.windows.lock(&key);
        let mut open = find_open(&mut windows, key, now);
        if let Some(slot) = open {
            let window = windows.value(slot);
            if window.failures >= limit.count() {
                let wait = window.ends.saturating_sub(now);
                return Err(Limited::new(wait).with_message(MESSAGE));
            }
        }
        if self.counts_in_flight {
            open = Some(count(&mut windows, key, limit, open, now));
        }
        Ok(Attempt {
            policy: self.clone(),
            key,
            limit,
            remaining: remaining(&windows, limit, open, now),
            counted_in: open
                .filter(|_| self.counts_in_flight)
                .map(|slot| windows.serial(slot)),
        })
    }

    fn name(&self) -> &'static str {
        "failures"
    }
}

// === impl Attempt ===

impl<C: Clock> Permit for Attempt<C> {
    fn settle(self, outcome: Outcome) -> Remaining {
        let outcome = match outcome {
            Outcome::Succeeded if !self.policy.forgives => Outcome::Neither,
            outcome => outcome,
        };
        if outcome == Outcome::Neither && self.counted_in.is_none() {
            // By far the most frequent case changes nothing.
            return self.remaining;
        }
        let policy = &self.policy;
        let now = policy.clock.now();
        let mut windows = policy.windows.lock(&self.key);
        let open = find_open(&mut windows, self.key, now);
        // The window may have ended, or been reset or dropped since, and another may have begun.
        let own = open.filter(|&slot| Some(windows.serial(slot)) == self.counted_in);
        let open = match (outcome, open, own) {
            (Outcome::Failed, _, Some(_)) | (Outcome::Neither, _, None) => open,
            (Outcome::Failed, _, None) => {
                Some(count(&mut windows, self.key, self.limit, open, now))
            }
            (Outcome::Succeeded, open, _) => {
                if let Some(slot) = open {
                    windows.remove(slot);
                }
                None
            }
            (Outcome::Neither, _, Some(slot)) => uncount(&mut windows, slot),
        };
        remaining(&windows, self.limit, open, now)
    }
}

/// Finds the client's window, and drops it if it has ended.
fn find_open(windows: &mut Shard<Key, Window>, key: HashedKey<Key>, now: Duration) -> Option<Slot> {
    let slot = windows.find(&key)?;
    if windows.value(slot).has_ended(now) {
        windows.remove(slot);
        return None;
    }
    Some(slot)
}

fn count(
    windows: &mut Shard<Key, Window>,
    key: HashedKey<Key>,
    limit: Quota,
    open: Option<Slot>,
    now: Duration,
) -> Slot {
    if let Some(slot) = open {
        let failures = &mut windows.value_mut(slot).failures;
        *failures = failures.saturating_add(1);
        return slot;
    }
    drop_ended(windows, now);
    let window = Window {
        ends: now.saturating_add(limit.period()),
        failures: 1,
    };
    windows.insert(key, window)
}

fn remaining(
    windows: &Shard<Key, Window>,
    limit: Quota,
    open: Option<Slot>,
    now: Duration,
) -> Remaining {
    let Some(slot) = open else {
        return Remaining::new(limit.count());
    };
    let window = windows.value(slot);
    let count = limit.count().saturating_sub(window.failures);
    Remaining::new(count).with_reset(window.ends.saturating_sub(now))
}

fn uncount(windows: &mut Shard<Key, Window>, slot: Slot) -> Option<Slot> {
    let window = windows.value_mut(slot);
    window.failures = window.failures.saturating_sub(1);
    if window.failures > 0 {
        return Some(slot);
    }
    windows.remove(slot);
    None
}

/// Drops ended windows without a search: where all clients have one period, the oldest ends first.
fn drop_ended(windows: &mut Shard<Key, Window>, now: Duration) {
    for _ in 0..DROPPED_PER_WINDOW {
        match windows.oldest() {
            Some(oldest) if windows.value(oldest).has_ended(now) => {
                windows.remove(oldest);
            }
            _ => break,
        }
    }
}

// === impl Window ===

impl Window {
    fn has_ended(self, now: Duration) -> bool {
        self.ends <= now
    }
}
