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

use crate::{Allowance, CallerId, Settings, Usage, callers::Callers};

/// Limits of all callers. Clones count together.
pub struct Limits<C = System> {
    shared: Arc<Shared<C>>,
}

struct Shared<C> {
    /// False if no caller has a limit, so that nothing else is looked at.
    is_on: AtomicBool,
    settings: ArcSwap<Settings>,
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
    /// use ziggurat_limits::{Limits, Settings};
    ///
    /// let limits = Limits::with_clock(Settings::default(), ManualClock::new());
    /// # let _ = limits;
    /// ```
    #[must_use]
    pub fn with_clock(settings: Settings, clock: C) -> Self {
        Self {
            shared: Arc::new(Shared {
                is_on: AtomicBool::new(settings.has_limits()),
                callers: Callers::new(clock.clone(), settings.max_callers),
                settings: ArcSwap::from_pointee(settings),
                clock,
            }),
        }
    }

    /// Replaces the limits in one step. Callers keep their counts, and calls that have begun keep
    /// their limits.
    pub fn replace(&self, settings: Settings) {
        let shared = &self.shared;
        let is_on = settings.has_limits();
        shared.callers.set_max(settings.max_callers);
        shared.settings.store(Arc::new(settings));
        shared.is_on.store(is_on, Ordering::Release);
    }

    /// Returns the allowance of a caller, for one call; `None` if the caller has no limits.
    #[must_use]
    pub fn of(&self, caller: &CallerId<'_>) -> Option<Allowance<C>> {
        let shared = &self.shared;
        if !shared.is_on.load(Ordering::Acquire) {
            return None;
        }
        let settings = shared.settings.load();
        let rule = settings.rule_for(caller)?;
        let counts = shared.callers.counts(caller);
        counts.follow(rule);
        Some(Allowance {
            rule: Arc::clone(rule),
            counts,
            clock: shared.clock.clone(),
        })
    }

    /// Returns what was sent since this was called last, for the other replicas.
    #[must_use]
    pub fn usage_since_last(&self) -> Vec<Usage> {
        self.shared.callers.take_usage()
    }

    /// Adds what other replicas have sent. What is not of today does not count.
    pub fn add(&self, others: impl IntoIterator<Item = Usage>) {
        for usage in others {
            self.shared.callers.add(usage);
        }
    }
}

#[cfg(test)]
impl<C> Limits<C> {
    pub(crate) fn callers(&self) -> &Callers<C> {
        &self.shared.callers
    }
}

impl<C> Clone for Limits<C> {
    fn clone(&self) -> Self {
        let shared = Arc::clone(&self.shared);
        Self { shared }
    }
}

impl<C> fmt::Debug for Limits<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The counts are left out: they tell of people, and there are many.
        f.debug_struct("Limits")
            .field("settings", &self.shared.settings)
            .finish_non_exhaustive()
    }
}
