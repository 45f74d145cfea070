//! Deadlines of operations.

use std::time::Duration;

use tokio::time::{self, Instant};

/// The deadline of an operation, or none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Deadline(Option<Instant>);

/// The deadline has passed before the operation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the deadline has passed")]
pub struct Elapsed;

// === impl Deadline ===

impl Deadline {
    /// Creates no deadline.
    #[must_use]
    pub const fn none() -> Self {
        Self(None)
    }

    /// Creates a deadline at this moment.
    #[must_use]
    pub const fn at(moment: Instant) -> Self {
        Self(Some(moment))
    }

    /// Creates a deadline this long from now; none if the time is too far away.
    #[must_use]
    pub fn after(time: Duration) -> Self {
        Self(Instant::now().checked_add(time))
    }

    /// Returns the earlier of the two.
    #[must_use]
    pub fn or_earlier(self, other: Self) -> Self {
        Self(self.0.into_iter().chain(other.0).min())
    }

    /// Returns the time until then; `None` without a deadline.
    #[must_use]
    pub fn remaining(self) -> Option<Duration> {
        let moment = self.0?;
        Some(moment.saturating_duration_since(Instant::now()))
    }

    /// Returns whether it has passed.
    #[must_use]
    pub(crate) fn has_passed(self) -> bool {
        self.remaining().is_some_and(|time| time.is_zero())
    }

    /// Awaits a future, and drops it at the deadline.
    ///
    /// # Errors
    /// [`Elapsed`] if the deadline came first.
    pub async fn cut<F: Future>(self, future: F) -> Result<F::Output, Elapsed> {
        match self.0 {
            Some(moment) => time::timeout_at(moment, future).await.map_err(|_| Elapsed),
            None => Ok(future.await),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_earlier_of_two_deadlines_counts_and_none_is_later_than_any() {
        let soon = Deadline::after(Duration::from_secs(1));
        let later = Deadline::after(Duration::from_secs(2));
        assert_eq!(soon.or_earlier(later), soon);
        assert_eq!(later.or_earlier(soon), soon);
        assert_eq!(Deadline::none().or_earlier(later), later);
        assert_eq!(later.or_earlier(Deadline::none()), later);
        assert_eq!(Deadline::after(Duration::MAX), Deadline::none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_future_that_takes_longer_is_dropped_and_another_is_not() {
        let deadline = Deadline::after(Duration::from_secs(1));
        assert_eq!(deadline.cut(future::ready(7)).await, Ok(7));
        assert!(!deadline.has_passed());
        assert_eq!(deadline.cut(future::pending::<()>()).await, Err(Elapsed));
        assert!(deadline.has_passed());
        assert_eq!(deadline.remaining(), Some(Duration::ZERO));
    }
}
