//! Limits of the caller of one call.

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use ziggurat_calls::limits::{Allowance, Refused, StatementPermit};

/// Limits of the caller of one call; by default there are none.
#[derive(Clone, Debug, Default)]
pub struct CallLimits(Option<Arc<Limited>>);

#[derive(Debug)]
struct Limited {
    allowance: Arc<Allowance>,
    /// Kept to the end of the call, because a statement runs until its rows have been sent.
    permit: OnceLock<StatementPermit>,
    /// Bytes that were counted so far.
    bytes: AtomicU64,
}

/// Rows and bytes that the caller may still be sent today; `None` if there is no limit.
#[derive(Clone, Copy, Debug, Default)]
pub struct Left {
    /// Number of rows.
    pub rows: Option<u64>,
    /// Number of bytes.
    pub bytes: Option<u64>,
}

// === impl CallLimits ===

impl CallLimits {
    /// Makes the limits of a call from the allowance of its caller.
    #[must_use]
    pub fn new(allowance: Arc<Allowance>) -> Self {
        Self(Some(Arc::new(Limited {
            allowance,
            permit: OnceLock::new(),
            bytes: AtomicU64::new(0),
        })))
    }

    /// Waits until the caller may run a statement, and checks that rows and bytes are left.
    pub(crate) async fn admit(&self, patience: Duration) -> Result<(), Refused> {
        let Some(limited) = &self.0 else {
            return Ok(());
        };
        if limited.permit.get().is_none() {
            let permit = limited.allowance.statement(patience).await?;
            limited.permit.set(permit).ok();
        }
        limited.allowance.day()
    }

    /// Returns the limit on the cost of a statement.
    #[must_use]
    pub fn max_cost(&self) -> Option<f64> {
        self.0.as_ref()?.allowance.max_cost()
    }

    /// Returns what the caller may still be sent.
    #[must_use]
    pub fn left(&self) -> Left {
        self.0.as_ref().map_or_else(Left::default, |limited| Left {
            rows: limited.allowance.rows_left(),
            bytes: limited.allowance.bytes_left(),
        })
    }

    /// Counts rows, and the bytes of their text.
    pub(crate) fn count(&self, rows: u64, bytes: usize) {
        if let Some(limited) = &self.0 {
            let bytes = bytes.try_into().unwrap_or(u64::MAX);
            limited.bytes.fetch_add(bytes, Ordering::Relaxed);
            limited.allowance.rows(rows);
            limited.allowance.bytes(bytes);
        }
    }

    /// Counts the bytes of an answer that were not counted while it was sent.
    pub fn count_rest(&self, bytes: u64) {
        if let Some(limited) = &self.0 {
            let counted = limited.bytes.load(Ordering::Relaxed);
            limited.allowance.bytes(bytes.saturating_sub(counted));
        }
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
