//! Limits of all callers.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use ziggurat_layers::clock::{Calendar, Clock, System};
use ziggurat_tokens::{CallerDigest, CallerId};

use crate::limits::{Allowance, LeaseRequest, Settings, Usage, callers::Callers};

/// Limits of all callers. Clones have the same limits and count together.
pub struct Limits<C = System> {
    current: Arc<Current>,
    counted: Arc<Counted<C>>,
}

/// The limits in use.
struct Current {
    /// False if no caller has a limit, so that nothing else is looked at.
    is_on: AtomicBool,
    settings: ArcSwap<Settings>,
}

/// The counts of callers.
struct Counted<C> {
    callers: Callers<C>,
    clock: C,
}

// === impl Limits ===

impl Limits {
    /// Creates limits in the time of this machine.
    #[must_use]
    pub fn new(settings: Settings) -> Self {
        Self::with_clock(settings, System)
    }
}

impl<C: Clock + Calendar + Clone> Limits<C> {
    /// Creates limits in the time of a clock.
    ///
    /// ```
    /// use ziggurat_layers::clock::ManualClock;
    /// use ziggurat_calls::limits::{Limits, Settings};
    ///
    /// let limits = Limits::with_clock(Settings::default(), ManualClock::new());
    /// # let _ = limits;
    /// ```
    #[must_use]
    pub fn with_clock(settings: Settings, clock: C) -> Self {
        Self {
            counted: Arc::new(Counted {
                callers: Callers::new(clock.clone(), settings.max_callers),
                clock,
            }),
            current: Arc::new(Current::new(settings)),
        }
    }

    /// Returns other limits that count together with these.
    #[must_use]
    pub fn with_settings(&self, settings: Settings) -> Self {
        Self {
            current: Arc::new(Current::new(settings)),
            counted: Arc::clone(&self.counted),
        }
    }

    /// Replaces the limits in one step, also in clones. Callers keep their counts, and calls
    /// that have begun keep their limits.
    pub fn replace(&self, settings: Settings) {
        let is_on = settings.has_limits();
        self.current.settings.store(Arc::new(settings));
        self.current.is_on.store(is_on, Ordering::Release);
    }

    /// Returns whether a caller has a limit.
    #[must_use]
    pub fn is_on(&self) -> bool {
        self.current.is_on.load(Ordering::Acquire)
    }

    /// Returns the allowance of a caller, for one call; `None` if the caller has no limits.
    #[must_use]
    pub fn of(&self, caller: &CallerId<'_>) -> Option<Allowance<C>> {
        let Self { current, counted } = self;
        if !self.is_on() {
            return None;
        }
        let settings = current.settings.load();
        let rule = settings.rule_for(caller)?;
        let counts = counted.callers.counts(caller, settings.max_callers);
        counts.follow(rule);
        Some(Allowance {
            rule: Arc::clone(rule),
            counts,
            clock: counted.clock.clone(),
        })
    }

    /// Returns the rows and bytes sent since the last call, for the other replicas.
    #[must_use]
    pub fn usage_since_last(&self) -> Vec<Usage> {
        self.counted.callers.take_usage()
    }

    /// Lets this replica share calls with others, or count them alone. Calls that are shared
    /// have to be leased as they are [wanted](Self::wanted_leases).
    pub fn share_calls(&self, is_shared: bool) {
        self.counted.callers.leases.share(is_shared);
    }

    /// Waits until calls are to be leased from the shared state, and returns them.
    pub async fn wanted_leases(&self) -> Vec<LeaseRequest> {
        let callers = &self.counted.callers;
        callers.lease_requests(&callers.leases.wanted().await)
    }

    /// Takes calls of a caller that were leased.
    pub fn grant(&self, caller: CallerDigest, calls: u32) {
        self.counted.callers.grant(caller, calls);
    }

    /// Adds the rows and bytes that other replicas have sent today. Other days do not count.
    pub fn add(&self, others: impl IntoIterator<Item = Usage>) {
        for usage in others {
            self.counted.callers.add(usage);
        }
    }
}

// === impl Current ===

impl Current {
    fn new(settings: Settings) -> Self {
        Self {
            is_on: AtomicBool::new(settings.has_limits()),
            settings: ArcSwap::from_pointee(settings),
        }
    }
}

#[cfg(test)]
impl<C> Limits<C> {
    pub(crate) fn callers(&self) -> &Callers<C> {
        &self.counted.callers
    }
}

impl<C> Clone for Limits<C> {
    fn clone(&self) -> Self {
        Self {
            current: Arc::clone(&self.current),
            counted: Arc::clone(&self.counted),
        }
    }
}

impl<C> fmt::Debug for Limits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The counts are left out: they tell of people, and there are many.
        f.debug_struct("Limits")
            .field("settings", &self.current.settings)
            .finish_non_exhaustive()
    }
}
