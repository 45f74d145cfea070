//! Clock of the accounts.

use std::time::Duration;

use jiff::Timestamp;
#[cfg(any(test, feature = "test-support"))]
use ziggurat_layers::clock::ManualClock;
use ziggurat_layers::clock::{Calendar, Clock, Monotonic};

/// Wall clock.
///
/// Expiry dates are dates, so a change of the system clock moves them; failed logins are counted in
/// monotonic time.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WallClock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    #[cfg(any(test, feature = "test-support"))]
    Manual {
        passed: ManualClock,
        start: Timestamp,
    },
}

// === impl WallClock ===

impl WallClock {
    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            #[cfg(any(test, feature = "test-support"))]
            Source::Manual { passed, start } => *start + Clock::now(passed),
        }
    }
}

#[cfg(any(test, feature = "test-support"))]
impl WallClock {
    /// Creates a clock that stands still until it is advanced, for tests.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_tokens::WallClock;
    ///
    /// let clock = WallClock::manual("2026-11-21T10:00:00Z".parse()?);
    /// clock.clone().advance(Duration::from_secs(90));
    /// assert_eq!(clock.now().to_string(), "2026-11-21T10:01:30Z", "clones show the same time");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// ```
    pub fn manual(start: Timestamp) -> Self {
        let passed = ManualClock::new();
        Self(Source::Manual { passed, start })
    }

    /// Advances a manual clock; has no effect on the system clock.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual { passed, .. } = &self.0 {
            passed.advance(by);
        }
    }
}

impl Clock for WallClock {
    fn now(&self) -> Duration {
        match &self.0 {
            Source::System => Monotonic.now(),
            #[cfg(any(test, feature = "test-support"))]
            Source::Manual { passed, .. } => Clock::now(passed),
        }
    }
}

impl Calendar for WallClock {
    fn date(&self) -> Duration {
        // A clock before 1970 is not set: all dates are in its future.
        let date = WallClock::now(self).duration_since(Timestamp::UNIX_EPOCH);
        date.try_into().unwrap_or_default()
    }
}
