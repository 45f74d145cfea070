//! Retries with backoff.

use std::time::Duration;

use rand::RngExt as _;
use tokio::time;
use tracing::debug;

use crate::{Deadline, Error, LOG_TARGET, Refusal};

/// Minimum time that must remain after a wait that the provider asked for.
const MIN_REMAINING: Duration = Duration::from_secs(1);

/// Retries transient failures.
///
/// Each wait is longer, with jitter so that clients do not retry at the same time, or as long as
/// the provider asks for. No wait exceeds the deadline: the last error is returned instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retry {
    max: u32,
    base: Duration,
    cap: Duration,
    jitter: Jitter,
}

/// Random part of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Jitter {
    /// The whole wait is random.
    Full,
    /// No part is random: the longest wait is used.
    #[cfg(test)]
    None,
}

// === impl Retry ===

impl Retry {
    /// Allows up to this many retries.
    pub const fn times(max: u32) -> Self {
        Self {
            max,
            base: Duration::from_millis(250),
            cap: Duration::from_secs(4),
            jitter: Jitter::Full,
        }
    }

    /// Allows no retry.
    pub const fn never() -> Self {
        Self::times(0)
    }

    /// Allows at least this many retries.
    pub fn at_least(self, min: u32) -> Self {
        Self {
            max: self.max.max(min),
            ..self
        }
    }

    /// Sets the maximum wait before the first retry; it doubles with each retry.
    #[cfg(test)]
    pub(crate) const fn with_base(mut self, base: Duration) -> Self {
        self.base = base;
        self
    }

    /// Attempts an operation until it succeeds, fails permanently, or no time is left.
    pub(super) async fn run<T, F>(
        self,
        deadline: Deadline,
        mut attempt: impl FnMut() -> F,
    ) -> Result<T, Error>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let mut retries = 0;
        loop {
            let error = match attempt().await {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let Some(wait) = self.wait(retries, &error, deadline) else {
                return Err(error);
            };
            debug!(target: LOG_TARGET, %error, ?wait, "a provider failed, and the request is \
                                                       repeated");
            time::sleep(wait).await;
            retries += 1;
        }
    }

    /// Returns the wait before the next attempt; `None` if this attempt was the last one.
    fn wait(self, retries: u32, error: &Error, deadline: Deadline) -> Option<Duration> {
        if retries >= self.max || !error.is_transient() {
            return None;
        }
        let remaining = deadline.remaining().unwrap_or(Duration::MAX);
        let asked = error.refusal().and_then(Refusal::retry_after);
        let (wait, limit) = match asked {
            Some(asked) => (asked, remaining.saturating_sub(MIN_REMAINING)),
            None => (self.backoff(retries), remaining),
        };
        (wait < limit).then_some(wait)
    }

    fn backoff(self, retries: u32) -> Duration {
        let longest = self.base.saturating_mul(2_u32.saturating_pow(retries));
        let longest = longest.min(self.cap);
        match self.jitter {
            Jitter::Full => longest.mul_f64(rand::rng().random_range(0.0..=1.0)),
            #[cfg(test)]
            Jitter::None => longest,
        }
    }
}

/// Two retries.
impl Default for Retry {
    fn default() -> Self {
        Self::times(2)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use http::StatusCode;
    use tokio::time::Instant;

    use super::*;
    use ziggurat_runtime::redact::Redactor;

    use crate::Provider;

    const STEADY: Retry = Retry {
        jitter: Jitter::None,
        ..Retry::times(2)
    };

    fn refused(status: StatusCode, retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_secs);
        let redactor = Redactor::default();
        Error::Refused(Box::new(Refusal::new(
            Provider::OpenAi,
            status,
            b"",
            retry_after,
            &redactor,
        )))
    }

    /// Runs an operation with these failures before its success: returns the number of attempts,
    /// the duration, and the result.
    async fn run(
        retry: Retry,
        deadline: Deadline,
        failures: u32,
        fail: fn() -> Error,
    ) -> (u32, Duration, Result<(), Error>) {
        let began = Instant::now();
        let attempts = Cell::new(0);
        let outcome = retry
            .run(deadline, || {
                attempts.set(attempts.get() + 1);
                let is_enough = attempts.get() > failures;
                async move { if is_enough { Ok(()) } else { Err(fail()) } }
            })
            .await;
        (attempts.get(), began.elapsed(), outcome)
    }

    #[tokio::test(start_paused = true)]
    async fn transient_failures_are_retried_after_a_longer_wait_each_time() {
        let unreachable = || Error::Unreachable("reset".to_owned());
        let (attempts, took, outcome) = run(STEADY, Deadline::none(), 2, unreachable).await;
        assert!(outcome.is_ok());
        assert_eq!(attempts, 3);
        assert_eq!(took, Duration::from_millis(250 + 500));

        let (attempts, _, outcome) = run(STEADY, Deadline::none(), 9, unreachable).await;
        assert!(outcome.is_err());
        assert_eq!(attempts, 3, "two more, and that is all");
    }

    #[tokio::test(start_paused = true)]
    async fn permanent_failures_are_not_retried() {
        let invalid = || refused(StatusCode::BAD_REQUEST, None);
        let (attempts, took, outcome) = run(STEADY, Deadline::none(), 9, invalid).await;
        assert!(outcome.is_err());
        assert_eq!((attempts, took), (1, Duration::ZERO));
    }

    #[tokio::test(start_paused = true)]
    async fn a_wait_is_never_longer_than_four_seconds_unless_the_provider_asks_for_it() {
        let retry = Retry { max: 6, ..STEADY };
        let busy = || refused(StatusCode::SERVICE_UNAVAILABLE, None);
        let (_, took, _) = run(retry, Deadline::none(), 6, busy).await;
        assert_eq!(
            took,
            Duration::from_millis(250 + 500 + 1000 + 2000 + 4000 + 4000)
        );

        let limited = || refused(StatusCode::TOO_MANY_REQUESTS, Some(20));
        let (attempts, took, outcome) = run(STEADY, Deadline::none(), 1, limited).await;
        assert!(outcome.is_ok());
        assert_eq!((attempts, took), (2, Duration::from_secs(20)));
    }

    #[tokio::test(start_paused = true)]
    async fn no_wait_exceeds_the_deadline_and_the_last_error_is_returned() {
        // One second must remain after a wait that the provider asks for.
        for (seconds, expected) in [(20, 1), (21, 1), (22, 2)] {
            let limited = || refused(StatusCode::TOO_MANY_REQUESTS, Some(20));
            let deadline = Deadline::after(Duration::from_secs(seconds));
            let (attempts, took, outcome) = run(STEADY, deadline, 9, limited).await;
            let error = outcome.expect_err("it never succeeds");
            assert_eq!(error.class(), crate::Class::RateLimit, "{seconds}");
            assert_eq!(attempts, expected, "{seconds}");
            assert!(took < Duration::from_secs(seconds));
        }
        let slow = || Error::Slow;
        let deadline = Deadline::after(Duration::from_millis(400));
        let (attempts, took, _) = run(STEADY, deadline, 9, slow).await;
        assert_eq!((attempts, took), (2, Duration::from_millis(250)));
    }

    #[test]
    fn jitter_shortens_a_wait_and_never_lengthens_it() {
        let waits: Vec<_> = (0..200).map(|_| Retry::default().backoff(1)).collect();
        let longest = Duration::from_millis(500);
        assert!(waits.iter().all(|wait| *wait <= longest), "{waits:?}");
        assert!(waits.iter().any(|wait| *wait < longest / 4));
        assert!(waits.iter().any(|wait| *wait > longest * 3 / 4));
    }
}
