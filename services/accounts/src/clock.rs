//! Clock of the accounts.

use std::time::Duration;

use jiff::Timestamp;
use ziggurat_layers::rate_limit::{self, ManualClock, Monotonic};

/// Wall clock.
///
/// Expiry dates are dates, so a change of the system clock moves them; failed logins are counted in
/// monotonic time.
///
/// ```
/// use std::time::Duration;
/// use ziggurat_accounts::WallClock;
///
/// let clock = WallClock::manual("2026-11-21T10:00:00Z".parse()?);
/// clock.clone().advance(Duration::from_secs(90));
/// assert_eq!(clock.now().to_string(), "2026-11-21T10:01:30Z", "clones show the same time");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct WallClock(Source);

#[derive(Clone, Debug, Default)]
enum Source {
    #[default]
    System,
    Manual {
        passed: ManualClock,
        start: Timestamp,
    },
}

// === impl WallClock ===

impl WallClock {
    /// Creates a clock that stands still until it is advanced, for tests.
    pub fn manual(start: Timestamp) -> Self {
        let passed = ManualClock::new();
        Self(Source::Manual { passed, start })
    }

    /// Returns the current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Source::System => Timestamp::now(),
            Source::Manual { passed, start } => *start + rate_limit::Clock::now(passed),
        }
    }

    /// Advances a manual clock; has no effect on the system clock.
    pub fn advance(&self, by: Duration) {
        if let Source::Manual { passed, .. } = &self.0 {
            passed.advance(by);
        }
    }
}

impl rate_limit::Clock for WallClock {
    fn now(&self) -> Duration {
        match &self.0 {
            Source::System => Monotonic.now(),
            Source::Manual { passed, .. } => rate_limit::Clock::now(passed),
        }
    }
}
