//! Where the policies take the time from.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Tells the time.
pub trait Clock {
    /// The present moment, never earlier than one told before.
    fn now(&self) -> Instant;
}

/// The clock of the operating system, which settings of the time of day do not move.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

/// A clock that stands still until it is advanced, for tests.
///
/// Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::rate_limit::{Clock as _, ManualClock};
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now() - before, Duration::from_secs(60));
/// ```
#[derive(Clone, Debug)]
pub struct ManualClock {
    now: Arc<Mutex<Instant>>,
}

// === impl Monotonic ===

impl Clock for Monotonic {
    fn now(&self) -> Instant {
        Instant::now()
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// Starts at the present moment.
    #[must_use]
    pub fn new() -> Self {
        Self {
            now: Arc::new(Mutex::new(Instant::now())),
        }
    }

    /// Moves the time on.
    ///
    /// # Panics
    /// Panics beyond the end of time of the platform, some centuries from now.
    pub fn advance(&self, by: Duration) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Instant {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
