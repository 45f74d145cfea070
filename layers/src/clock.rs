//! The clocks of the layers that measure time.
//!
//! Time is an argument of every layer that needs it, so tests need not wait.

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use quanta::Instant;

/// Returns the current time.
pub trait Clock {
    /// The time since a fixed moment in the past.
    fn now(&self) -> Duration;
}

/// The time since this clock was first read; changes of the system time do not affect it.
///
/// Read from the processor if its counter is the same on all cores, else from the operating system,
/// which takes several times as long.
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

/// The time since 1970 in UTC, as the operating system has it, for dates that others wrote.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// A clock that stands still until it is advanced, for tests.
///
/// Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_layers::clock::{Clock as _, ManualClock};
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now() - before, Duration::from_secs(60));
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock {
    now: Arc<Mutex<Duration>>,
}

// === impl Monotonic ===

impl Clock for Monotonic {
    #[inline]
    fn now(&self) -> Duration {
        // Calibrating the processor's counter against the system clock takes a millisecond, once.
        static EPOCH: LazyLock<Instant> = LazyLock::new(Instant::now);
        EPOCH.elapsed()
    }
}

// === impl System ===

impl Clock for System {
    fn now(&self) -> Duration {
        // A clock before 1970 is not set: all dates are in its future.
        SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// Starts at zero.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the time forward.
    ///
    /// # Panics
    /// Panics on overflow.
    pub fn advance(&self, by: Duration) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) += by;
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Duration {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
