//! Figures of a queue.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use ziggurat_runtime::lock;

/// Figures of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Status {
    /// Rows in the queue.
    pub backlog: u64,
    /// Rows in the queue that have failed before.
    pub retrying: u64,
    /// Rows that have failed for good.
    pub failed: u64,
    /// Age of the oldest change in the queue.
    pub oldest: Option<Duration>,
}

/// Rows that have failed for good, for the same reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedRows {
    /// The reason.
    pub reason: String,
    /// Their number.
    pub count: u64,
    /// The id of one of them.
    pub example: String,
}

/// The latest figures that a worker has read; they are some seconds old.
#[derive(Clone, Debug)]
pub struct Watched {
    table: Arc<str>,
    latest: Arc<Mutex<Option<Status>>>,
}

// === impl Watched ===

impl Watched {
    pub(crate) fn new(table: &str) -> Self {
        Self {
            table: table.into(),
            latest: Arc::default(),
        }
    }

    /// Returns the name of the table.
    #[must_use]
    pub fn table(&self) -> &str {
        &self.table
    }

    /// Returns the figures; `None` while the worker cannot work.
    #[must_use]
    pub fn latest(&self) -> Option<Status> {
        *lock(&self.latest)
    }

    pub(crate) fn set(&self, status: Option<Status>) {
        *lock(&self.latest) = status;
    }
}
