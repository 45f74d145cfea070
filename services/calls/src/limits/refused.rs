//! Refusals, with their sentences for the caller.

use std::time::Duration;

use thiserror::Error;
use ziggurat_layers::rate_limit::Quota;

/// Wait that is suggested when statements run. Their end cannot be foretold.
const RETRY: Duration = Duration::from_secs(1);

/// Refusal by a limit. Its text is the sentence for the caller.
///
/// ```
/// use ziggurat_calls::limits::Refused;
///
/// let refused = Refused::Concurrent { limit: 4 };
/// assert_eq!(refused.to_string(), "Too many statements at once: 4.");
/// // For the metric `limits_reached_total`.
/// assert_eq!(refused.key(), "concurrent");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum Refused {
    /// Too many calls in the window.
    #[error("Too many calls: {quota}. Try again in {} s.", whole_seconds(*retry_after))]
    Calls {
        /// The limit.
        quota: Quota,
        /// Time until the next call.
        retry_after: Duration,
    },
    /// Too many statements that run at the same time.
    #[error("Too many statements at once: {limit}.")]
    Concurrent {
        /// The limit.
        limit: u32,
    },
    /// The rows of the day are used up.
    #[error("The allowance of rows for today is used up. It starts anew at 00:00 UTC.")]
    RowsPerDay {
        /// Time until midnight.
        retry_after: Duration,
    },
    /// The bytes of the day are used up.
    #[error("The allowance of bytes for today is used up. It starts anew at 00:00 UTC.")]
    BytesPerDay {
        /// Time until midnight.
        retry_after: Duration,
    },
    /// The statement is too expensive.
    #[error("The statement was not run: its estimated cost {cost} is above {max}.")]
    MaxCost {
        /// Estimate of PostgreSQL.
        cost: f64,
        /// The limit.
        max: f64,
    },
    /// The cost of the statement is unknown.
    #[error(
        "The statement was not run: its cost is above {max}, or cannot be estimated. Send one query \
         or change at a time."
    )]
    UnknownCost {
        /// The limit.
        max: f64,
    },
}

// === impl Refused ===

impl Refused {
    /// Returns the key of the limit in the configuration, which is also its name in metrics.
    #[must_use]
    pub fn key(&self) -> &'static str {
        match self {
            Self::Calls { .. } => "calls",
            Self::Concurrent { .. } => "concurrent",
            Self::RowsPerDay { .. } => "rows_per_day",
            Self::BytesPerDay { .. } => "bytes_per_day",
            Self::MaxCost { .. } | Self::UnknownCost { .. } => "max_cost",
        }
    }

    /// Returns the whole seconds for `Retry-After`; `None` if waiting does not help.
    ///
    /// ```
    /// use std::time::Duration;
    /// use ziggurat_calls::limits::Refused;
    ///
    /// let retry_after = Duration::from_millis(1500);
    /// assert_eq!(Refused::RowsPerDay { retry_after }.retry_after_seconds(), Some(2));
    /// assert_eq!(Refused::MaxCost { cost: 2.0, max: 1.0 }.retry_after_seconds(), None);
    /// ```
    #[must_use]
    pub fn retry_after_seconds(&self) -> Option<u64> {
        match *self {
            Self::Calls { retry_after, .. }
            | Self::RowsPerDay { retry_after }
            | Self::BytesPerDay { retry_after } => Some(whole_seconds(retry_after)),
            Self::Concurrent { .. } => Some(whole_seconds(RETRY)),
            Self::MaxCost { .. } | Self::UnknownCost { .. } => None,
        }
    }
}

/// Rounds up: a client that comes back a moment early would be refused again.
pub(crate) fn whole_seconds(duration: Duration) -> u64 {
    duration.as_secs() + u64::from(duration.subsec_nanos() > 0)
}
