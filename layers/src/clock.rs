//! The clocks of the layers that measure time.
//!
//! Time is an argument of every layer that needs it, so tests need not wait.
//!
//! ```
//! use std::time::Duration;
//! use ziggurat_layers::clock::{Clock as _, ManualClock};
//!
//! let clock = ManualClock::new();
//! let seen_by_a_layer = clock.clone();
//! clock.advance(Duration::from_secs(3600));
//! assert_eq!(seen_by_a_layer.now(), Duration::from_secs(3600));
//! ```

use std::{
    sync::{Arc, LazyLock, Mutex, PoisonError},
    time::{Duration, SystemTime},
};

use quanta::Instant;

/// Returns the current time.
///
/// ```
/// use ziggurat_layers::clock::{Clock as _, Monotonic};
///
/// let start = Monotonic.now();
/// let elapsed = Monotonic.now() - start;
/// # let _ = elapsed;
/// ```
pub trait Clock {
    /// The time since a fixed moment in the past.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::clock::{Clock, ManualClock};
    ///
    /// fn is_over(clock: &impl Clock, deadline: Duration) -> bool {
    ///     clock.now() >= deadline
    /// }
    ///
    /// let clock = ManualClock::new();
    /// assert!(!is_over(&clock, Duration::from_secs(1)));
    /// clock.advance(Duration::from_secs(1));
    /// assert!(is_over(&clock, Duration::from_secs(1)));
    /// ```
    fn now(&self) -> Duration;
}

/// Returns the current date.
///
/// ```
/// use ziggurat_layers::clock::{Calendar as _, System};
///
/// let year = 1970 + System.date().as_secs() / (365 * 86_400);
/// assert!(year > 2025);
/// ```
pub trait Calendar {
    /// The time since 1970 in UTC. Unlike the time of a [`Clock`], it may go back.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::clock::{Calendar, ManualClock};
    ///
    /// fn day(calendar: &impl Calendar) -> u64 {
    ///     calendar.date().as_secs() / 86_400
    /// }
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_secs(3 * 86_400));
    /// assert_eq!(day(&clock), 3);
    /// ```
    fn date(&self) -> Duration;
}

/// The time since this clock was first read; changes of the system time do not affect it.
///
/// Read from the processor if its counter is the same on all cores, else from the operating system,
/// which takes several times as long.
///
/// ```
/// use ziggurat_layers::clock::{Clock as _, Monotonic};
///
/// assert!(Monotonic.now() <= Monotonic.now());
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Monotonic;

/// The clock and the calendar of this machine: [`Monotonic`] time, and the date of the operating
/// system.
///
/// ```
/// use ziggurat_layers::clock::{Calendar as _, Clock as _, System};
///
/// let (moment, date) = (System.now(), System.date());
/// assert!(System.now() >= moment);
/// # let _ = date;
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// A clock that stands still until it is advanced, for tests.
///
/// Clones show the same time. The date is the same time, counted from 1970.
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
    #[inline]
    fn now(&self) -> Duration {
        Monotonic.now()
    }
}

impl Calendar for System {
    fn date(&self) -> Duration {
        // A clock before 1970 is not set: all dates are in its future.
        SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default()
    }
}

// === impl ManualClock ===

impl ManualClock {
    /// Starts at zero.
    ///
    /// ```
    /// use ziggurat_layers::clock::{Clock as _, ManualClock};
    ///
    /// assert!(ManualClock::new().now().is_zero());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the time forward.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_layers::clock::{Clock as _, ManualClock};
    ///
    /// let clock = ManualClock::new();
    /// clock.advance(Duration::from_secs(60));
    /// assert_eq!(clock.now().as_secs(), 60);
    /// ```
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

impl Calendar for ManualClock {
    fn date(&self) -> Duration {
        self.now()
    }
}
