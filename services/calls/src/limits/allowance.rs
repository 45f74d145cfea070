//! Allowance of one caller.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use tokio::time;
use ziggurat_layers::clock::{Calendar, Clock, System};

use crate::limits::{
    Refused,
    counts::{self, Counts, Running, Sent},
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

/// Permit of a statement; drop it when the statement has ended.
#[derive(Debug)]
#[must_use]
pub struct StatementPermit {
    /// `None`: the caller may run any number of statements.
    _running: Option<Running>,
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
            [Some(0), _] => Err(Refused::RowsPerDay {
                retry_after: retry_after(),
            }),
            [_, Some(0)] => Err(Refused::BytesPerDay {
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

    /// Returns the rows that can still be sent today; `None` if there is no limit.
    #[must_use]
    pub fn rows_left(&self) -> Option<u64> {
        self.left()[0]
    }

    /// Returns the bytes that can still be sent today; `None` if there is no limit.
    #[must_use]
    pub fn bytes_left(&self) -> Option<u64> {
        self.left()[1]
    }

    /// Returns the greatest cost of a statement; `None` if costs need not be estimated.
    #[must_use]
    pub fn max_cost(&self) -> Option<f64> {
        self.rule.max_cost
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
        fields::append(headers, policy, calls, self.left(), until_midnight);
    }

    fn has_days(&self) -> bool {
        self.rule.rows_per_day.is_some() || self.rule.bytes_per_day.is_some()
    }

    /// Returns the rows and the bytes that are left of the limits of the day.
    fn left(&self) -> [Option<u64>; 2] {
        if !self.has_days() {
            return [None; 2];
        }
        let sent = self.sent();
        let rows = self.rule.rows_per_day;
        let bytes = self.rule.bytes_per_day;
        [
            rows.map(|limit| limit.saturating_sub(sent.rows)),
            bytes.map(|limit| limit.saturating_sub(sent.bytes)),
        ]
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
