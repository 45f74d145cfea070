//! Allowance of one caller.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::time;
use ziggurat_layers::clock::{Calendar, Clock, System};

use crate::limits::{
    Refused,
    counts::{self, Counts, RunningPermit, Sent},
    fields,
    settings::Rule,
};

/// Allowance of one caller. It keeps the limits that were configured when the call began.
///
/// A call asks in this order: [`call`](Self::call), then, after its arguments are checked,
/// [`statement`](Self::statement) and [`day`](Self::day), and compares the estimate of PostgreSQL with
/// [`max_cost`](Self::max_cost).
#[derive(Debug)]
pub struct Allowance<C = System> {
    pub(crate) rule: Arc<Rule>,
    pub(crate) counts: Arc<Counts<C>>,
    pub(crate) clock: C,
}

/// Rows and bytes that the caller may still be sent today; `None` if there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Left {
    /// Number of rows.
    pub rows: Option<u64>,
    /// Number of bytes.
    pub bytes: Option<u64>,
}

/// Permit of a statement; drop it when the statement has ended.
#[derive(Debug)]
#[must_use]
pub struct StatementPermit {
    /// `None`: the caller may run any number of statements.
    _running: Option<RunningPermit>,
}

// === impl Allowance ===

impl<C: Clock + Calendar + Clone> Allowance<C> {
    /// Counts a call, with any outcome.
    ///
    /// # Errors
    /// Fails if there were too many.
    pub fn call(&self) -> Result<(), Refused> {
        let Some(quota) = self.rule.calls else {
            return Ok(());
        };
        let admitted = self.counts.calls.admit(quota, self.rule.burst(quota));
        admitted.map_err(|retry_after| Refused::Calls { quota, retry_after })
    }

    /// Returns the refusal of a caller that goes on with calls although as many were refused as it
    /// may have in a window. It is for a server that has not read the request.
    #[must_use]
    pub fn flooding(&self) -> Option<Refused> {
        let quota = self.rule.calls?;
        let retry_after = self.counts.calls.flooding()?;
        Some(Refused::Calls { quota, retry_after })
    }

    /// Waits until the caller may run a statement, but no longer than `patience`. Statements are
    /// admitted in the order in which they came; one that is dropped gives up its place.
    ///
    /// # Errors
    /// Fails if too many statements run all the time.
    pub fn statement(
        &self,
        patience: Duration,
    ) -> impl Future<Output = Result<StatementPermit, Refused>> + Send + use<C> {
        let limit = self.rule.concurrent;
        let permit = limit.map(|limit| (limit, Arc::clone(&self.counts.statements).permit()));
        async move {
            let Some((limit, permit)) = permit else {
                return Ok(StatementPermit { _running: None });
            };
            let running = time::timeout(patience, permit).await;
            let running = running.map_err(|_| Refused::Concurrent { limit })?;
            Ok(StatementPermit {
                _running: Some(running),
            })
        }
    }

    /// Checks that rows and bytes of today are left.
    ///
    /// # Errors
    /// Fails if either is used up.
    pub fn day(&self) -> Result<(), Refused> {
        let retry_after = || counts::until_midnight(&self.clock);
        match self.left() {
            Left { rows: Some(0), .. } => Err(Refused::RowsPerDay {
                retry_after: retry_after(),
            }),
            Left { bytes: Some(0), .. } => Err(Refused::BytesPerDay {
                retry_after: retry_after(),
            }),
            _ => Ok(()),
        }
    }

    /// Counts rows that were sent.
    pub fn rows(&self, rows: u64) {
        self.count(rows, 0);
    }

    /// Counts bytes that were sent.
    pub fn bytes(&self, bytes: u64) {
        self.count(0, bytes);
    }

    /// Returns the rows and bytes that the caller may still be sent today.
    #[must_use]
    pub fn left(&self) -> Left {
        if !self.has_days() {
            return Left::default();
        }
        let sent = self.sent();
        let (rows, bytes) = (self.rule.rows_per_day, self.rule.bytes_per_day);
        Left {
            rows: rows.map(|limit| limit.saturating_sub(sent.rows)),
            bytes: bytes.map(|limit| limit.saturating_sub(sent.bytes)),
        }
    }

    /// Returns the greatest cost of a statement; `None` if costs need not be estimated.
    #[must_use]
    pub fn max_cost(&self) -> Option<f64> {
        self.rule.max_cost
    }

    /// Returns the greatest number of rows that a statement may change; `None` if they need not be
    /// counted.
    #[must_use]
    pub fn max_changed_rows(&self) -> Option<u64> {
        self.rule.max_changed_rows
    }

    /// Adds the fields `RateLimit-Policy` and `RateLimit`, if something that they announce is
    /// limited: calls, rows and bytes.
    pub fn append_fields(&self, headers: &mut HeaderMap) {
        let Some(policy) = &self.rule.policy else {
            return;
        };
        let calls = self.rule.calls;
        let calls = calls.map(|quota| {
            let counts = &self.counts.calls;
            counts.remaining(quota, self.rule.burst(quota))
        });
        let until_midnight = if self.has_days() {
            counts::until_midnight(&self.clock)
        } else {
            Duration::ZERO
        };
        let Left { rows, bytes } = self.left();
        fields::append(headers, policy, calls, [rows, bytes], until_midnight);
    }

    fn has_days(&self) -> bool {
        self.rule.rows_per_day.is_some() || self.rule.bytes_per_day.is_some()
    }

    fn count(&self, rows: u64, bytes: u64) {
        if !self.has_days() {
            return;
        }
        self.counts.with_sent(counts::day(&self.clock), |sent| {
            sent.add(rows, bytes);
            sent.new_rows = sent.new_rows.saturating_add(rows);
            sent.new_bytes = sent.new_bytes.saturating_add(bytes);
        });
    }

    fn sent(&self) -> Sent {
        let day = counts::day(&self.clock);
        self.counts.with_sent(day, |sent| *sent)
    }
}

// === impl Left ===

impl Left {
    /// Returns the limit that so many rows and bytes exceed, if there is one.
    #[must_use]
    pub fn exceeded(self, rows: u64, bytes: usize) -> Option<Refused> {
        let retry_after = Duration::ZERO;
        let bytes = bytes.try_into().unwrap_or(u64::MAX);
        if self.rows.is_some_and(|left| rows > left) {
            Some(Refused::RowsPerDay { retry_after })
        } else if self.bytes.is_some_and(|left| bytes > left) {
            Some(Refused::BytesPerDay { retry_after })
        } else {
            None
        }
    }
}
